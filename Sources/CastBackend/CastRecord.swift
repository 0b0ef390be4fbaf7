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
        let name = record.txt["fn"].flatMap(nonEmpty) ?? record.key.name
        let keys = castKey(record.txt["id"]).map { [$0] } ?? []
        let id = keys.first.map { "cast:\($0.value)" } ?? "cast:\(record.key.name)"
        return endpoint(
            id: EndpointID(rawValue: id), name: name, host: host, port: record.port, keys: keys, facts: record.txt,
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
        let bits = facts["ca"].flatMap { Int($0.trimmingCharacters(in: .whitespaces)) }.map(Capabilities.init)
        let model = facts["md"].flatMap(nonEmpty)
        let isGroup = bits?.contains(.group) == true || model?.lowercased() == "google cast group"
        let type: DeviceType =
            isGroup ? .group : deviceType(bits: bits, model: model?.lowercased() ?? "")
        // `rs` is what people see on the device; a device that says it is idle has left an old one there.
        let busy = facts["st"]?.trimmingCharacters(in: .whitespaces) == "0" ? nil : facts["rs"].flatMap(nonEmpty)
        return Endpoint(
            id: id, protocol: .cast, name: name, host: host, port: port, model: model, strongKeys: keys,
            deviceType: type, kind: isGroup ? .group : .device, busyWith: busy, facts: facts, origin: origin,
            interface: interface, capabilities: capabilities(video: bits.map { $0.contains(.videoOut) }))
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
                .observeForeignSession, .remoteCommandsBack,
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
        let plain = (id.removingPercentEncoding ?? id).filter { !"-{} ".contains($0) }
        guard !plain.isEmpty, plain.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else { return nil }
        return StrongKey(.castID, plain)
    }

    private static func isAppID(_ text: String) -> Bool {
        (1...64).contains(text.count) && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    }

    private static func nonEmpty(_ text: String) -> String? {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return trimmed.isEmpty ? nil : trimmed
    }
}
