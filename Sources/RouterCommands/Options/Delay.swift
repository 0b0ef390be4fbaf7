import ArgumentParser
import RouteModel

/// A length of time as people type it: `500ms`, `10s`, `2m`, `1h`. Without a unit it is seconds.
struct Delay: Sendable, Equatable, ExpressibleByArgument {
    /// More than nothing, and at most a day.
    var seconds: Double

    init?(argument: String) {
        guard let seconds = Self.seconds(argument), (0.001...86_400).contains(seconds) else { return nil }
        self.seconds = seconds
    }

    /// A length of time with or without a unit, also of nothing: `500ms`, `10s`, `2m`, `1h`, `10`.
    static func seconds(_ argument: String) -> Double? {
        let units: [(suffix: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("", 1)]
        guard let unit = units.first(where: { argument.hasSuffix($0.suffix) }) else { return nil }
        let digits = argument.dropLast(unit.suffix.count)
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
            let value = Double(digits)
        else { return nil }
        return value * unit.seconds
    }

    init(seconds: Double) { self.seconds = seconds }

    var defaultValueDescription: String { ClockTime.words(seconds) }
    var duration: Duration { .milliseconds(Int64((seconds * 1000).rounded())) }
    var mediaTime: MediaTime { MediaTime(seconds: seconds) }
}

/// What `--wait` waits for.
enum WaitCondition: String, Sendable, CaseIterable, ExpressibleByArgument {
    /// What the command asked for is seen.
    case observed
    case playing, paused
    /// Another item plays than before.
    case item
    /// The queue has come to its end, or was stopped.
    case ended
}
