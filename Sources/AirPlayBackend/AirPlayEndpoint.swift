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
        let advertisement = RAOPAdvertisement(txt: uri.query, stated: true)
        let kind: RouteProtocol = raop ? .raop : .airplay2
        let key = "\(uri.scheme)://\(uri.host):\(port)"
        let endpoint = Endpoint(
            id: EndpointID(rawValue: "\(kind.rawValue):\(key.lowercased())"), protocol: kind, name: name,
            host: uri.host, port: port, model: advertisement.model, firmware: advertisement.firmware,
            strongKeys: [StrongKey(.statedURI, key)], access: advertisement.passwordRequired ? .password : .open,
            facts: uri.query, origin: .stated,
            capabilities: raop ? capabilities(advertisement) : unavailable(.airplay2))
        if raop { _ = try RAOPPlan(endpoint: endpoint) }
        return endpoint
    }

    /// Why an endpoint of this protocol cannot be played on.
    static func unsupportedReason(_ kind: RouteProtocol) -> String {
        "\(kind.displayName) is not supported by this version"
    }

    private static func raop(_ record: ServiceRecord, host: String) -> Endpoint {
        let advertisement = RAOPAdvertisement(txt: record.txt)
        let parts = record.key.name.split(separator: "@", maxSplits: 1)
        let mac = parts.count == 2 ? macKey(String(parts[0])) : nil
        let name = mac == nil ? record.key.name : String(parts[1])
        let unique = mac ?? record.key.name.lowercased()
        var access = RouteAccess.open
        if advertisement.passwordRequired { access = .password }
        if advertisement.statusFlags.contains(.oneTimePairingRequired) { access = .pairingNeeded }
        return Endpoint(
            id: EndpointID(rawValue: "raop:\(unique)"), protocol: .raop, name: name, host: host, port: record.port,
            model: advertisement.model, firmware: advertisement.firmware,
            strongKeys: keys(mac: mac, publicKey: advertisement.publicKey),
            deviceType: deviceType(advertisement.model), access: access, facts: record.txt, origin: .discovered,
            interface: record.interface, capabilities: capabilities(advertisement))
    }

    private static func airPlay(_ record: ServiceRecord, host: String) -> Endpoint {
        let txt = record.txt
        let mac = txt["deviceid"].flatMap(macKey)
        let features =
            (txt["features"] ?? txt["ft"]).flatMap(AirPlayFeatures.init(text:))
            ?? txt["fex"].flatMap(AirPlayFeatures.init(extendedText:)) ?? []
        let flags = (txt["flags"] ?? txt["sf"]).flatMap(AirPlayStatusFlags.init(text:)) ?? []
        // Without AirPlay 2 the record speaks of video and photos; audio has a record of its own.
        let video = !features.supportsAirPlay2 && !features.isDisjoint(with: [.videoV1, .photo])
        let kind: RouteProtocol = video ? .airplayVideo : .airplay2
        var access = RouteAccess.open
        if flags.contains(.passwordRequired) || txt["pw"] == "1" || txt["pw"]?.lowercased() == "true" {
            access = .password
        }
        if flags.contains(.pinRequired) { access = .pin }
        if flags.contains(.oneTimePairingRequired) { access = .pairingNeeded }
        return Endpoint(
            id: EndpointID(rawValue: "\(kind.rawValue):\(mac ?? record.key.name.lowercased())"), protocol: kind,
            name: record.key.name, host: host, port: record.port, model: txt["model"],
            firmware: txt["fv"] ?? txt["srcvers"], strongKeys: keys(mac: mac, publicKey: txt["pk"]),
            deviceType: deviceType(txt["model"]), kind: txt["tsid"] == nil ? .device : .stereoPair, access: access,
            facts: txt, origin: .discovered, interface: record.interface, capabilities: unavailable(kind))
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

    private static func capabilities(_ advertisement: RAOPAdvertisement) -> RouteCapabilities {
        var result = RouteCapabilities(
            available: [
                .playsSenderOnlyFiles, .playAudioStream, .pause, .seek, .seekRelative, .gapless, .volumeDevice, .mute,
                .groupMember,
            ], sync: .tight)
        if advertisement.metadataKinds.contains(.text) { result[.metadataPush] = .available }
        if advertisement.metadataKinds.contains(.artwork) { result[.artwork] = .available }
        if advertisement.encryption == nil {
            result[.playAudioStream] = .unavailable(reason: "it takes only audio protected by FairPlay")
        } else if advertisement.codec == nil {
            result[.playAudioStream] = .unavailable(reason: "it takes neither Apple Lossless nor PCM")
        }
        return result
    }

    private static func unavailable(_ kind: RouteProtocol) -> RouteCapabilities {
        let reason = unsupportedReason(kind)
        let wanted: [RouteCapability] = kind == .airplayVideo ? [.playURL, .video] : [.playAudioStream]
        return RouteCapabilities(
            Dictionary(uniqueKeysWithValues: wanted.map { ($0, .unavailable(reason: reason)) }), sync: .none)
    }
}
