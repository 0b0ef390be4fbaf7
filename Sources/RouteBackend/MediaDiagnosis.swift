import Foundation
import RouteModel

/// Why a receiver that fetches did not play: from what it said, what it asked of us, and what the media is (C21).
///
/// Pure. The message names the most certain cause and the hint what to do about it; what else is known is in `causes`.
public struct MediaDiagnosis: Sendable, Hashable {
    /// What the receiver said, as far as it said anything.
    public enum Failure: Sendable, Hashable {
        /// It could not fetch.
        case unreachable
        case unsupported
        case decoding
        /// Keys or licences of a protected stream.
        case keys
        case aborted
        case other
    }

    public var failure: Failure
    /// The receiver's name.
    public var device: String
    /// Its numeric address as we reach it, without a port.
    public var deviceAddress: String
    /// What it was told to fetch.
    public var url: String
    public var contentType: String
    /// Whether that is served by our own media server.
    public var isOurs: Bool
    public var facts: MediaFacts?
    public var fetches: FetchRecord?
    public var plays: PlayableFormats

    public init(
        failure: Failure, device: String, deviceAddress: String, url: String, contentType: String, isOurs: Bool,
        facts: MediaFacts? = nil, fetches: FetchRecord? = nil, plays: PlayableFormats
    ) {
        self.failure = failure
        self.device = device
        self.deviceAddress = deviceAddress
        self.url = url
        self.contentType = contentType
        self.isOurs = isOurs
        self.facts = facts
        self.fetches = fetches
        self.plays = plays
    }

    /// The error for people. Always of scope `item`.
    public var error: RouterError {
        var error = isOurs ? ofOurs : ofTheirs
        error.causes += observations
        return error
    }

    // MARK: Served by us

    private var asked: [FetchExchange] { fetches?.exchanges.filter { $0.key.target == .media } ?? [] }

    private var ofOurs: RouterError {
        let asked = asked
        guard !asked.isEmpty else {
            // The type that it is told of may be enough for a refusal.
            let refusal = failure == .unsupported ? formatRefusal(sure: true) ?? formatRefusal(sure: false) : nil
            return refusal ?? neverFetched
        }
        let served = asked.filter { (200..<300).contains($0.key.status) || $0.key.status == 304 }
        if let blocked = asked.last(where: { $0.key.origin != nil && !$0.key.allowedOrigin }) {
            return crossOrigin(blocked.key.origin ?? "")
        }
        if served.isEmpty, let last = asked.last { return refusedByUs(last.key) }
        if let refusal = formatRefusal(sure: true) { return refusal }
        if failure == .unsupported || failure == .decoding { return refused }
        if served.allSatisfy({ $0.completed == 0 }), served.contains(where: { $0.brokenOff > 0 }) { return brokenOff }
        if let refusal = formatRefusal(sure: false) { return refusal }
        return refused
    }

    private var neverFetched: RouterError {
        let host = Self.host(of: url)
        let port = Self.port(of: url)
        if !Self.isNumeric(host) { return hostName(host) }
        if Self.isLoopback(host), !Self.isLoopback(deviceAddress) {
            return unreachable(
                "\(device) was given the address \(host), which only this machine can reach",
                "Name the device by its address in the network, not by one of this machine")
        }
        if !Self.near(host, deviceAddress) {
            return unreachable(
                "\(device) never asked for the media: \(host) and \(deviceAddress) are in different networks",
                "Put this machine and the device in one network, or let TCP port \(port) through between them")
        }
        return unreachable(
            "\(device) never asked for the media at \(host), port \(port)",
            "Allow incoming TCP connections to port \(port) in this machine's firewall, and check that the access "
                + "point lets its clients talk to each other")
    }

    private func refusedByUs(_ key: FetchExchange.Key) -> RouterError {
        switch key.status {
        case 403 where key.address != deviceAddress:
            return RouterError(
                .mediaForbidden,
                "the media was asked for from \(key.address), not from \(deviceAddress), and was not given",
                hint: "Name the device by the address that it asks from; a group's leader or a router's address "
                    + "translation may stand between", scope: .item, retry: .afterUserAction)
        case 403, 401:
            return RouterError(
                .mediaForbidden, "\(device) asked for the media and was refused (\(key.status))",
                hint: "Play it again", scope: .item, retry: .now)
        case 404, 410:
            return RouterError(
                .mediaNotFound, "the media was gone when \(device) asked for it (\(key.status))",
                hint: "Check that the file is still there and can be read, and play it again", scope: .item)
        case 416:
            return RouterError(
                .itemFailed, "\(device) asked for a part of the media that is not there (416)",
                hint: "The file may have become shorter: play it again from its beginning", scope: .item, retry: .now)
        default:
            return RouterError(
                .itemFailed, "\(device) asked for the media and was answered \(key.status)",
                hint: "Play it again, and see with --log 'Media*=debug' what happens", scope: .item, retry: .now)
        }
    }

    private var brokenOff: RouterError {
        let sent = fetches?.bytes ?? 0
        return RouterError(
            .mediaUnreachable, "the connection that \(device) fetched by broke off after \(Self.size(sent))",
            hint: "Check the network between this machine and the device; over Wi-Fi, move it nearer", scope: .item,
            retry: .later)
    }

    private var refused: RouterError {
        RouterError(
            .mediaUnsupported, "\(device) fetched the media and did not play it (\(described))",
            hint: "Check that it plays elsewhere; this device plays \(plays.summary)", scope: .item)
    }

    // MARK: Served by others

    private var ofTheirs: RouterError {
        let host = Self.host(of: url)
        if failure == .keys {
            return RouterError(
                .mediaForbidden, "\(device) has no key for this protected stream",
                hint: "Play it with the app of who offers it", scope: .item)
        }
        if failure != .unsupported, failure != .decoding {
            if Self.isPrivateName(host) { return hostName(host) }
            if Self.isLoopback(host), !Self.isLoopback(deviceAddress) {
                return unreachable(
                    "\(host) is this machine only to itself: \(device) cannot fetch from there",
                    "Give the address that this machine has in the network")
            }
        }
        if let refusal = formatRefusal(sure: true) { return refusal }
        if Self.isAdaptive(contentType), failure != .unsupported, failure != .decoding {
            return RouterError(
                .mediaUnreachable, "\(device) could not play the stream from \(host)",
                hint: "Its server has to send Access-Control-Allow-Origin (CORS) with the list and all segments",
                scope: .item)
        }
        if failure == .unreachable {
            let secure = url.lowercased().hasPrefix("https:")
            return unreachable(
                "\(device) could not fetch from \(host)",
                secure
                    ? "Check that the address works, and that its certificate is one that devices know: not self-signed"
                    : "Check that the address works from the device's network; it asks the name server 8.8.8.8")
        }
        return refused
    }

    // MARK: Causes that both have

    private func hostName(_ host: String) -> RouterError {
        unreachable(
            "\(device) does not know the name “\(host)”: Cast devices ask the public name server 8.8.8.8",
            "Give the numeric address in place of the name")
    }

    private func crossOrigin(_ origin: String) -> RouterError {
        RouterError(
            .mediaForbidden, "the receiver app of \(origin) needs CORS, and the answer did not allow it",
            hint: "Use the Default Media Receiver, or a server that sends Access-Control-Allow-Origin", scope: .item)
    }

    /// The part of the media that this kind of device does not play: surely, or only on some models.
    private func formatRefusal(sure: Bool) -> RouterError? {
        let wanted: PlayableFormats.Verdict = sure ? .doesNot : .someModels
        guard failure != .keys else { return nil }
        let audio = facts?.tracks.filter { $0.kind == .audio } ?? []
        let video = facts?.tracks.filter { $0.kind == .video } ?? []
        // One that plays is enough: it chooses.
        let bad = [audio, video].first { tracks in
            !tracks.isEmpty && !tracks.contains { plays.verdict($0) == .plays }
                && tracks.contains { plays.verdict($0) == wanted }
        }
        let what: String
        if let codec = bad?.first(where: { plays.verdict($0) == wanted })?.codec {
            what = "\(bad?.first?.kind == .video ? "video" : "audio") in \(Self.codecName(codec))"
        } else if plays.verdict(container: contentType) == wanted {
            what = contentType
        } else {
            return nil
        }
        let claim = sure ? "plays no \(what)" : "did not play it: only some models play \(what)"
        return RouterError(
            .mediaUnsupported, "\(device) \(claim)",
            hint: "Convert it: this device plays \(plays.summary); or play it by AirPlay, which is sent decoded",
            scope: .item)
    }

    private func unreachable(_ message: String, _ hint: String) -> RouterError {
        RouterError(.mediaUnreachable, message, hint: hint, scope: .item, retry: .afterUserAction)
    }

    // MARK: What was seen

    /// The container and codecs in words.
    private var described: String {
        let codecs = facts?.tracks.filter { $0.kind != .text }.map { Self.codecName($0.codec) } ?? []
        var unique: [String] = []
        for codec in codecs where !unique.contains(codec) { unique.append(codec) }
        return unique.isEmpty ? contentType : "\(contentType) with \(unique.joined(separator: ", "))"
    }

    private var observations: [String] {
        guard isOurs else { return [] }
        var lines: [String] = []
        for exchange in asked {
            let range = exchange.key.range.map { " (\($0))" } ?? ""
            let end = exchange.brokenOff > 0 ? ", broken off \(exchange.brokenOff)×" : ""
            lines.append(
                "\(exchange.key.address) asked \(exchange.count)× \(exchange.key.method)\(range), answered "
                    + "\(exchange.key.status), \(Self.size(exchange.bytes)) sent\(end)")
        }
        let strangers = Set(asked.map(\.key.address)).subtracting([deviceAddress])
        if !strangers.isEmpty {
            lines.append(
                "fetched from \(strangers.sorted().joined(separator: ", ")), though the device is at "
                    + "\(deviceAddress): a group's leader, a second interface or address translation")
        }
        return lines
    }

    private static func size(_ bytes: Int64) -> String {
        bytes >= 1_000_000 ? "\(bytes / 1_000_000) MB" : bytes >= 1000 ? "\(bytes / 1000) kB" : "\(bytes) bytes"
    }

    private static func codecName(_ codec: String) -> String {
        let names = [
            "h264": "H.264", "hevc": "HEVC", "aac": "AAC", "mp3": "MP3", "flac": "FLAC", "alac": "ALAC", "dts": "DTS",
            "ac3": "Dolby Digital", "eac3": "Dolby Digital Plus", "opus": "Opus", "vorbis": "Vorbis", "vp8": "VP8",
            "vp9": "VP9", "av1": "AV1", "mpeg2video": "MPEG-2", "mpeg4": "MPEG-4 Part 2", "truehd": "Dolby TrueHD",
            "wmav2": "WMA", "ape": "Monkey's Audio", "wavpack": "WavPack",
        ]
        return names[codec] ?? codec
    }
}

extension MediaDiagnosis {
    /// The host of an address, without brackets; empty if there is none.
    static func host(of url: String) -> String {
        guard let start = url.range(of: "://") else { return "" }
        let authority = url[start.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = authority.split(separator: "@").last ?? ""
        if host.first == "[" { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }

    static func port(of url: String) -> String {
        guard let start = url.range(of: "://") else { return "" }
        let authority = url[start.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let after = authority.split(separator: "]").last ?? ""
        let parts = after.split(separator: ":")
        if let last = parts.last, authority.contains(":"), Int(last) != nil { return String(last) }
        return url.lowercased().hasPrefix("https:") ? "443" : "80"
    }

    static func isNumeric(_ host: String) -> Bool { host.contains(":") || octets(host) != nil }

    private static func octets(_ host: String) -> [Int]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        return parts.count == 4 && parts.allSatisfy((0...255).contains) ? parts : nil
    }

    static func isLoopback(_ host: String) -> Bool {
        host == "::1" || host == "localhost" || octets(host)?.first == 127
    }

    /// A name that no public name server knows.
    static func isPrivateName(_ host: String) -> Bool {
        guard !host.isEmpty, !isNumeric(host), host != "localhost" else { return false }
        let endings = [".local", ".lan", ".home", ".internal", ".fritz.box", ".home.arpa"]
        return !host.contains(".") || endings.contains { host.lowercased().hasSuffix($0) }
    }

    /// Whether two addresses can be of one network: the same /16, or both IPv6.
    private static func near(_ one: String, _ other: String) -> Bool {
        guard let one = octets(one), let other = octets(other) else { return one.contains(":") == other.contains(":") }
        return one.prefix(2) == other.prefix(2) || (one[0] == 127 && other[0] == 127)
    }

    private static func isAdaptive(_ type: String) -> Bool {
        [
            "application/vnd.apple.mpegurl", "application/x-mpegurl", "application/dash+xml",
            "application/vnd.ms-sstr+xml",
        ]
        .contains(type.lowercased())
    }
}
