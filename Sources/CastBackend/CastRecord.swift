import CastV2
import Foundation
import RouteBackend
import RouteModel

/// Reads Cast devices out of service records and URIs (`Protocols/cast` section 9).
enum CastRecord {
    static let serviceType = "_googlecast._tcp"
    static let defaultPort = 8009

    /// Bits of `ca`. Others are seen and mean nothing to us.
    struct Capabilities: OptionSet {
        let rawValue: Int
        static let videoOut = Capabilities(rawValue: 1)
        static let audioOut = Capabilities(rawValue: 4)
        static let group = Capabilities(rawValue: 32)
    }

    static func endpoint(from record: ServiceRecord) -> Endpoint? {
        let type = record.key.type.hasSuffix(".") ? String(record.key.type.dropLast()) : record.key.type
        guard type == serviceType || type == serviceType + ".local", (1...65535).contains(record.port) else {
            return nil
        }
        let host = record.addresses.first { !$0.isEmpty } ?? record.hostName
        guard !host.isEmpty else { return nil }
        // Keys are in lower case by contract; who reads records by other means may not keep it.
        let facts = Dictionary(
            record.txt.sorted { $0.key > $1.key }.map { ($0.key.lowercased(), $0.value) },
            uniquingKeysWith: { first, _ in first })
        let name = facts["fn"].flatMap(nonEmpty) ?? nonEmpty(record.key.name) ?? host
        let keys = castKey(facts["id"]).map { [$0] } ?? []
        let id = keys.first.map { "cast:\($0.value)" } ?? "cast:\(record.key.name)"
        return endpoint(
            id: EndpointID(rawValue: id), name: name, host: host, port: record.port, keys: keys, facts: facts,
            origin: .discovered, interface: record.interface)
    }

    static func endpoint(from uri: DeviceURI) throws -> Endpoint {
        guard uri.scheme == "cast" else {
            throw RouterError(
                .configuration, "“\(uri.scheme)” is no scheme of a Cast device",
                hint: "Write it like cast://192.168.1.21")
        }
        if let app = uri.query["app"], !isAppID(app) {
            throw RouterError(
                .configuration, "“\(app)” is no Cast app id", hint: "An app id has 8 letters and digits, like CC1AD845")
        }
        let port = uri.port ?? defaultPort
        let host = uri.host.contains(":") ? "[\(uri.host)]" : uri.host
        let stated = StrongKey(.statedURI, "cast://\(host):\(port)")
        let name = ["name", "fn"].compactMap { uri.query[$0].flatMap(nonEmpty) }.first ?? uri.host
        return endpoint(
            id: EndpointID(rawValue: "cast:\(stated.value)"), name: name, host: uri.host, port: port,
            keys: (castKey(uri.query["id"]).map { [$0] } ?? []) + [stated], facts: uri.query, origin: .stated,
            interface: nil)
    }

    private static func endpoint(
        id: EndpointID, name: String, host: String, port: Int, keys: [StrongKey], facts: [String: String],
        origin: EndpointOrigin, interface: String?
    ) -> Endpoint {
        let bits = capabilityBits(facts["ca"])
        let model = facts["md"].flatMap(nonEmpty)
        let isGroup = bits?.contains(.group) == true || model?.lowercased() == "google cast group"
        let type: DeviceType =
            isGroup ? .group : deviceType(bits: bits, model: model?.lowercased() ?? "")
        // `rs` is what people see on the device; a device that says it is idle has left an old one there.
        let state = facts["st"]?.trimmingCharacters(in: .whitespaces)
        let busy = state == "0" ? nil : facts["rs"].flatMap(nonEmpty) ?? (state == "1" ? "something" : nil)
        return Endpoint(
            id: id, protocol: .cast, name: name, host: host, port: port, model: model, strongKeys: keys,
            deviceType: type, kind: isGroup ? .group : .device, busyWith: busy, facts: facts, origin: origin,
            interface: interface, capabilities: capabilities(video: bits.map { $0.contains(.videoOut) }))
    }

    /// Decimal by the rules; hexadecimal with its mark is understood too. What is no number says nothing.
    private static func capabilityBits(_ text: String?) -> Capabilities? {
        guard let text = text?.trimmingCharacters(in: .whitespaces).lowercased() else { return nil }
        let value = text.hasPrefix("0x") ? Int(text.dropFirst(2), radix: 16) : Int(text)
        return value.flatMap { $0 >= 0 ? Capabilities(rawValue: $0) : nil }
    }

    private static func deviceType(bits: Capabilities?, model: String) -> DeviceType {
        if ["hub", "display", "smart clock"].contains(where: model.contains) { return .display }
        if let bits {
            if bits.contains(.videoOut) { return .tv }
            if bits.contains(.audioOut) { return .speaker }
        }
        if ["home", "speaker", "audio", "mini", "soundbar"].contains(where: model.contains) { return .speaker }
        if ["chromecast", "tv", "shield", "bravia"].contains(where: model.contains) { return .tv }
        return .unknown
    }

    /// What can be done, as far as a record tells; `video` is nil where it does not.
    static func capabilities(video: Bool?) -> RouteCapabilities {
        var result = RouteCapabilities(
            available: [
                .continuesWithoutSender, .acceptsManySenders, .playURL, .pause, .seek, .volumeDevice, .mute,
                .observeForeignSession, .remoteCommandsBack, .queueOnDevice, .preload, .gapless, .rate, .tracks,
                .adSkip, .liveWindow, .volumeStream,
            ], sync: .loose)
        // K3 and K4: no by themselves, and the router fills in for both.
        result[.playsSenderOnlyFiles] = .unavailable(
            reason: "the device fetches by itself: the router serves the file while it plays")
        result[.observableInBackground] = .unavailable(
            reason: "a sender that was away has to rejoin: the router's daemon stays and watches")
        for capability in [RouteCapability.video, .photo, .artwork] {
            result[capability] =
                switch video {
                case true?: .available
                case false?: .unsupported
                case nil: .unknown
                }
        }
        return result
    }

    /// The device id as a key. Written with hyphens, in braces, in capitals or percent-encoded it is still the same.
    private static func castKey(_ id: String?) -> StrongKey? {
        guard let id else { return nil }
        let plain = (id.removingPercentEncoding ?? id).filter { !"-:{} ".contains($0) }
        guard !plain.isEmpty, plain.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else { return nil }
        // Zeros all through are a device that has no id yet: as a key they would make one device of several.
        guard plain.contains(where: { $0 != "0" }) else { return nil }
        return StrongKey(.castID, plain)
    }

    static func isAppID(_ text: String) -> Bool {
        (1...64).contains(text.count) && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    }

    private static func nonEmpty(_ text: String) -> String? {
        // A name that was cut in the middle of a character ends in the mark for that.
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines.union(CharacterSet(charactersIn: "\u{FFFD}")))
        return trimmed.isEmpty ? nil : trimmed
    }
}
