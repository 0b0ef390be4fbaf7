import Foundation
import RouteModel

/// How a person names live input.
enum LiveWord {
    /// The input that a word means; nil where it means something else.
    ///
    /// `-` is standard input, `pulse://SINK` what applications play into a sink. `pcm://-` and `pcm:///path` are samples
    /// without a header, with `format`, `rate` and `channels` as query. Throws `configuration` for a word of these that is
    /// not right. A named pipe of another format is named by its path alone.
    static func parse(_ word: String) throws -> LiveInput? {
        if word == "-" { return LiveInput(.standardInput) }
        guard let mark = word.range(of: "://") else { return nil }
        let rest = word[mark.upperBound...]
        switch word[..<mark.lowerBound].lowercased() {
        case "pulse": return LiveInput(.pulse, name: try sink(String(rest)))
        case "pcm": return try samples(rest)
        default: return nil
        }
    }

    private static func sink(_ text: String) throws -> String {
        let name = text.removingPercentEncoding ?? text
        // The default sink has the alert sounds of the machine in it: nobody is given that by leaving a name out.
        guard !name.isEmpty, !name.hasPrefix("@") else {
            throw RouterError(
                .configuration, "“pulse://\(text)” names no sink",
                hint: "Name one, such as pulse://router, after: pactl load-module module-null-sink sink_name=router",
                scope: .item)
        }
        guard name.utf8.count <= 128, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }) else {
            throw RouterError(
                .configuration, "“\(text)” is no name of a sink", hint: "See them with: pactl list short sinks",
                scope: .item)
        }
        return name
    }

    private static func samples(_ text: Substring) throws -> LiveInput {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let place = parts[0].removingPercentEncoding ?? String(parts[0])
        guard place == "-" || place.hasPrefix("/") else {
            throw RouterError(
                .configuration, "“pcm://\(place)” names neither standard input nor a pipe",
                hint: "Write pcm://- or pcm:///run/user/1000/pipe", scope: .item)
        }
        var raw = RawAudio()
        for field in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let pair = field.split(separator: "=", maxSplits: 1).map(String.init)
            let value = pair.count == 2 ? pair[1] : ""
            switch pair.first ?? "" {
            case "format":
                guard let sample = RawAudio.Sample(rawValue: value.lowercased()) else {
                    throw wrong(field, "one of \(RawAudio.Sample.allCases.map(\.rawValue).joined(separator: ", "))")
                }
                raw.sample = sample
            case "rate":
                guard let rate = Int(value), RawAudio.rates.contains(rate) else {
                    throw wrong(field, "from \(RawAudio.rates.lowerBound) to \(RawAudio.rates.upperBound)")
                }
                raw.rate = rate
            case "channels":
                guard let channels = Int(value), RawAudio.channelCounts.contains(channels) else {
                    throw wrong(field, "from 1 to 8")
                }
                raw.channels = channels
            default:
                throw RouterError(
                    .configuration, "“\(field)” is nothing that samples have",
                    hint: "format, rate and channels can be said: pcm://-?format=s16le&rate=48000&channels=2",
                    scope: .item)
            }
        }
        return place == "-" ? LiveInput(.standardInput, raw: raw) : LiveInput(.pipe, name: place, raw: raw)
    }

    private static func wrong(_ field: Substring, _ range: String) -> RouterError {
        RouterError(
            .configuration, "“\(field)” is not possible", hint: "It must be \(range)", scope: .item)
    }
}
