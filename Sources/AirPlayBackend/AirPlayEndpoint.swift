import AirPlay
import RouteBackend
import RouteModel

/// Reads records and URIs into endpoints. Pure.
enum AirPlayEndpoint {
    static let raopType = "_raop._tcp"
    static let airPlayType = "_airplay._tcp"

    static func endpoint(from record: ServiceRecord) -> Endpoint? {
        guard let host = record.addresses.first ?? (record.hostName.isEmpty ? nil : record.hostName),
            (1...65535).contains(record.port)
        else { return nil }
        switch record.key.type {
        case raopType: return raop(record, host: host)
        case airPlayType: return airPlay(record, host: host)
        default: return nil
        }
    }

    static func endpoint(from uri: DeviceURI) throws -> Endpoint {
        let name = uri.query["name"].flatMap { $0.isEmpty ? nil : $0 } ?? uri.host
        let raop = uri.scheme == "raop"
        let port = uri.port ?? (raop ? 5000 : 7000)
        let kind: RouteProtocol = raop ? .raop : .airplay2
        let key = "\(uri.scheme)://\(uri.host):\(port)"
        var endpoint = Endpoint(
            id: EndpointID(rawValue: "\(kind.rawValue):\(key.lowercased())"), protocol: kind, name: name,
            host: uri.host, port: port, strongKeys: [StrongKey(.statedURI, key)], facts: uri.query, origin: .stated)
        if raop {
            let advertisement = RAOPAdvertisement(txt: uri.query, stated: true)
            endpoint.model = advertisement.model
            endpoint.firmware = advertisement.firmware
            endpoint.access = advertisement.passwordRequired ? .password : .open
            endpoint.capabilities = capabilities(advertisement)
            _ = try RAOPPlan(endpoint: endpoint)
        } else {
            let facts = AirPlay2Facts(txt: uri.query)
            endpoint.model = facts.model
            endpoint.firmware = uri.query["fv"]
            endpoint.access = facts.access
            endpoint.capabilities = capabilities(facts)
            try AirPlay2Plan.check(wishes: uri.query, of: name)
        }
        return endpoint
    }

    /// The fact that holds the addresses of a device beside its `host`, with commas between. Keys of records are in lower
    /// case, so it is nobody's.
    static let otherAddresses = "otherAddresses"

    private static func others(_ record: ServiceRecord) -> String? {
        record.addresses.count > 1 ? record.addresses.dropFirst().joined(separator: ",") : nil
    }

    /// Addresses to try, best first, one of each family: a device that does not answer at one of it hardly does at another.
    static func hosts(_ endpoint: Endpoint) -> [(family: AirPlay2Way.Family, host: String)] {
        let others = endpoint.facts[otherAddresses]?.split(separator: ",").map(String.init) ?? []
        var hosts: [(family: AirPlay2Way.Family, host: String)] = []
        for host in [endpoint.host] + others {
            let family = AirPlay2Way.Family(host: host)
            if !hosts.contains(where: { $0.family == family }) { hosts.append((family, host)) }
        }
        return hosts
    }

    /// Why an endpoint of this protocol cannot be played on.
    static func unsupportedReason(_ kind: RouteProtocol) -> String {
        kind == .airplay2
            ? "this service does not offer AirPlay 2; the device may have an AirPlay 1 service beside it"
            : "\(kind.displayName) is not supported by this version"
    }

    private static func raop(_ record: ServiceRecord, host: String) -> Endpoint {
        let advertisement = RAOPAdvertisement(txt: record.txt)
        let parts = record.key.name.split(separator: "@", maxSplits: 1)
        let mac = parts.count == 2 ? macKey(String(parts[0])) : nil
        let name = mac == nil ? record.key.name : String(parts[1])
        let unique = mac ?? record.key.name.lowercased()
        // Its other record says more, of a stereo pair for one, and may come later.
        var facts = record.txt
        facts["expects"] =
            AirPlay2Facts(txt: record.txt).features?.supportsAirPlay2 == true ? RouteProtocol.airplay2.rawValue : nil
        var access = RouteAccess.open
        if advertisement.passwordRequired { access = .password }
        if advertisement.statusFlags.contains(.pinRequired) { access = .pin }
        if advertisement.statusFlags.contains(.oneTimePairingRequired) { access = .pairingNeeded }
        facts[otherAddresses] = others(record)
        return Endpoint(
            id: EndpointID(rawValue: "raop:\(unique)"), protocol: .raop, name: name, host: host, port: record.port,
            model: advertisement.model, firmware: advertisement.firmware,
            strongKeys: keys(mac: mac, publicKey: advertisement.publicKey),
            deviceType: deviceType(advertisement.model), access: access, facts: facts, origin: .discovered,
            interface: record.interface, capabilities: capabilities(advertisement))
    }

    private static func airPlay(_ record: ServiceRecord, host: String) -> Endpoint {
        let txt = record.txt
        let mac = txt["deviceid"].flatMap(macKey)
        let told = AirPlay2Facts(txt: txt)
        let kind: RouteProtocol = told.videoOnly ? .airplayVideo : .airplay2
        let group = AirPlayGroup(txt: txt)
        var facts = txt.merging(group?.facts ?? [:]) { $1 }
        facts[otherAddresses] = others(record)
        let usable = told.features?.supportsAirPlay2 == true
        return Endpoint(
            id: EndpointID(rawValue: "\(kind.rawValue):\(mac ?? record.key.name.lowercased())"), protocol: kind,
            name: record.key.name, host: host, port: record.port, model: told.model,
            firmware: txt["fv"] ?? txt["srcvers"], strongKeys: keys(mac: mac, publicKey: txt["pk"]),
            deviceType: deviceType(told.model), kind: group.map { $0.stereoPair ? .stereoPair : .group } ?? .device,
            access: told.access, facts: facts, origin: .discovered, interface: record.interface,
            capabilities: usable ? capabilities(told) : unavailable(kind))
    }

    private static func keys(mac: String?, publicKey: String?) -> [StrongKey] {
        var keys: [StrongKey] = []
        if let mac { keys.append(StrongKey(.mac, mac)) }
        if let publicKey, publicKey.utf8.count == 64, publicKey.allSatisfy(\.isHexDigit) {
            keys.append(StrongKey(.publicKey, publicKey))
        }
        return keys
    }

    /// 12 hex digits in lower case, from any writing of a MAC; nil where it is none.
    private static func macKey(_ text: String) -> String? {
        let digits = text.filter { $0 != ":" && $0 != "-" }.lowercased()
        return digits.utf8.count == 12 && digits.allSatisfy(\.isHexDigit) ? digits : nil
    }

    private static func deviceType(_ model: String?) -> DeviceType {
        guard let model = model?.lowercased() else { return .unknown }
        if model.hasPrefix("appletv") || model.contains("tv") { return .tv }
        if model.hasPrefix("audioaccessory") || model.hasPrefix("airport") || model.contains("sonos")
            || model.contains("shairport")
        {
            return .speaker
        }
        if model.hasPrefix("mac") || model.hasPrefix("imac") { return .computer }
        return .unknown
    }

    private static let pushed: [RouteCapability] = [
        .playsSenderOnlyFiles, .playAudioStream, .pause, .seek, .seekRelative, .gapless, .volumeDevice, .mute,
        .groupMember,
    ]

    private static func capabilities(_ advertisement: RAOPAdvertisement) -> RouteCapabilities {
        var result = capabilities(drawing: advertisement.metadataKinds)
        if advertisement.encryption == nil {
            result[.playAudioStream] = .unavailable(reason: "it takes only audio protected by FairPlay")
        } else if advertisement.codec == nil {
            result[.playAudioStream] = .unavailable(reason: "it takes neither Apple Lossless nor PCM")
        }
        return result
    }

    private static func capabilities(_ facts: AirPlay2Facts) -> RouteCapabilities {
        capabilities(drawing: facts.metadataKinds)
    }

    private static func capabilities(drawing kinds: Set<RAOPAdvertisement.MetadataKind>) -> RouteCapabilities {
        var result = RouteCapabilities(available: pushed, sync: .tight)
        if kinds.contains(.text) { result[.metadataPush] = .available }
        if kinds.contains(.artwork) { result[.artwork] = .available }
        return result
    }

    private static func unavailable(_ kind: RouteProtocol) -> RouteCapabilities {
        let reason = unsupportedReason(kind)
        let wanted: [RouteCapability] = kind == .airplayVideo ? [.playURL, .video] : [.playAudioStream]
        return RouteCapabilities(
            Dictionary(uniqueKeysWithValues: wanted.map { ($0, .unavailable(reason: reason)) }), sync: .none)
    }
}
