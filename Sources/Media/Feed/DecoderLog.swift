import Foundation
import RouteModel

/// What `ffmpeg -v level+info` said about one input: its length, and what went wrong.
///
/// Pure. Tags of a hostile file are repeated in the log; all they can do is spoil this story of their own file.
struct DecoderLog: Sendable, Hashable {
    /// The demuxer: `flac`, `mp3`, `mov,mp4,m4a,3gp,3g2,mj2`.
    var container: String?
    /// Seconds, where the file says it and ffmpeg did not have to guess.
    var duration: Double?
    /// Without the address of the part that speaks; at most 20.
    var errors: [String] = []

    init(_ text: String) {
        var guessed = false
        for line in text.split(whereSeparator: \.isNewline) {
            if container == nil, let start = line.range(of: "[info] Input #0, ") {
                container = line[start.upperBound...].components(separatedBy: ", from ").first
            } else if duration == nil, line.hasPrefix("[info]   Duration: ") {
                let clock = line.dropFirst("[info]   Duration: ".count).prefix { $0 != "," }.split(separator: ":")
                let parts = clock.compactMap { Double($0) }
                if parts.count == 3, clock.count == 3 { duration = parts[0] * 3600 + parts[1] * 60 + parts[2] }
            } else if line.contains("Estimating duration from bitrate") {
                guessed = true
            } else if let mark = line.range(of: "[error] ") ?? line.range(of: "[fatal] "), errors.count < 20 {
                errors.append(Self.redacted(line[mark.upperBound...].prefix(300)))
            }
        }
        if guessed { duration = nil }
    }

    /// Why an input gave no sample at all.
    func refusal(of source: MediaSource) -> RouterError {
        let label = source.label
        let all = errors.joined(separator: "\n")
        func has(_ texts: String...) -> Bool { texts.contains { all.localizedCaseInsensitiveContains($0) } }
        if has("matches no streams") {
            return RouterError(
                .mediaUnsupported, "“\(label)” has no audio", hint: "Play something with a sound track", scope: .item)
        }
        if has("No such file", "404 Not Found", "410 Gone") {
            return RouterError(
                .mediaNotFound, "“\(label)” is not there", hint: "Check the name or the address", scope: .item)
        }
        if has("Permission denied", "401 Unauthorized", "403 Forbidden") {
            return RouterError(
                .mediaForbidden, "“\(label)” must not be read", hint: "Check who may read it", scope: .item)
        }
        if case .url = source, isOfNetwork {
            return RouterError(
                .itemFailed, "“\(label)” could not be fetched", hint: "Check that its server answers", scope: .item,
                retry: .later, causes: Array(errors.prefix(1)))
        }
        return RouterError(
            .mediaUnsupported, "“\(label)” is not audio that ffmpeg can read",
            hint: "Check what it is: file -- \(label)", scope: .item, causes: Array(errors.prefix(1)))
    }

    /// Whether the way to the server has failed, and not what it gave.
    private var isOfNetwork: Bool {
        let words = [
            "Connection refused", "timed out", "Failed to resolve", "Network is unreachable", "No route to host", "5XX",
            "Connection reset", "Stream ends prematurely",
        ]
        return errors.contains { error in words.contains { error.localizedCaseInsensitiveContains($0) } }
    }

    /// What is to be told of an input that gave samples: nil when it was whole.
    ///
    /// - Parameters:
    ///   - decoded: seconds of samples that came.
    ///   - start: seconds into the item at which decoding began.
    ///   - end: seconds into the item at which it was to stop; nil for its end.
    func damage(
        of source: MediaSource, decoded: Double, start: Double, end: Double? = nil, succeeded: Bool
    ) -> RouterError? {
        let reached = start + decoded
        // Where nothing but audio is inside, a length that is not reached is damage even if no decoder complained.
        let audioOnly: Set<String> = ["flac", "wav", "w64", "aiff", "mp3", "caf", "wv", "ape", "tta"]
        let missing = duration.map { min($0, end ?? $0) - reached } ?? 0
        let broken = !succeeded || (!errors.isEmpty && missing > 0.25)
        guard broken || (missing > 1 && audioOnly.contains(container ?? "")) else { return nil }
        let whole = duration.map { " of \(Self.clock($0))" } ?? ""
        if case .url = source, isOfNetwork {
            return RouterError(
                .itemFailed, "“\(source.label)” broke off at \(Self.clock(reached))\(whole)",
                hint: "Check the network and that its server answers", scope: .item, retry: .later,
                causes: Array(errors.prefix(1)))
        }
        return RouterError(
            .itemFailed, "“\(source.label)” is damaged: it breaks off at \(Self.clock(reached))\(whole)",
            hint: "Get a whole copy of it", scope: .item, causes: Array(errors.prefix(1)))
    }

    /// Addresses without user name, password and query: they may be secret.
    static func redacted(_ line: Substring) -> String {
        line.split(separator: " ", omittingEmptySubsequences: false).map { word in
            guard let scheme = word.range(of: "://") else { return String(word) }
            var rest = word[scheme.upperBound...]
            let host = rest.prefix { $0 != "/" && $0 != "?" }
            if let user = host.lastIndex(of: "@") { rest = rest[rest.index(after: user)...] }
            let query = rest.firstIndex(of: "?").map { String(rest[..<$0]) + "?…" + (rest.hasSuffix(":") ? ":" : "") }
            return String(word[..<scheme.upperBound]) + (query ?? String(rest))
        }.joined(separator: " ")
    }

    static func clock(_ seconds: Double) -> String {
        let whole = Int(max(0, min(seconds, 359_999)))
        let tail = whole % 60 < 10 ? "0\(whole % 60)" : "\(whole % 60)"
        guard whole >= 3600 else { return "\(whole / 60):\(tail)" }
        let minutes = whole / 60 % 60
        return "\(whole / 3600):\(minutes < 10 ? "0" : "")\(minutes):\(tail)"
    }
}
