import Foundation

/// How a slider's position becomes what a device takes (`model.md` section 6). Every curve has an inverse.
///
/// The first two are what protocols want. A room may name one of the others, or `linear`, for a device whose own slider
/// is not as people hear it: position and device value are both 0 to 1 then, and 0 is 0.
public enum VolumeCurve: Sendable, Hashable {
    /// The device takes 0 to 1 itself.
    case linear
    /// The AirPlay number: position p > 0 is −30 + 30·p, mute is −144. It is a slider position in decibel clothes: the
    /// receiver applies its own curve after it, so it is never converted by 10^(dB/20) (`model.md` section 6).
    case airplay
    /// For a device that takes a factor: position p > 0 is −range · (1 − p)^taper decibels. `range` is 10 to 100; `taper`
    /// is 0.5 to 3, 1 is even, and what is above spends more of the slider on loud levels.
    case decibel(range: Double, taper: Double)
    /// Device values at positions that are evenly apart, with straight lines between: 2 to 32, the first 0, each higher
    /// than the one before, and 1 at most.
    case table([Double])

    public static let ranges = 10.0...100.0
    public static let tapers = 0.5...3.0
    public static let tableSizes = 2...32

    /// Whether it rises all the way within its range, as a curve must that is to have an inverse.
    public var isSound: Bool {
        switch self {
        case .linear, .airplay: true
        case .decibel(let range, let taper): Self.ranges.contains(range) && Self.tapers.contains(taper)
        case .table(let values):
            Self.tableSizes.contains(values.count) && values.first == 0 && values.allSatisfy { (0...1).contains($0) }
                && zip(values, values.dropFirst()).allSatisfy { $0 < $1 }
        }
    }

    public func deviceValue(_ position: VolumePosition, muted: Bool = false) -> Double {
        let p = position.value
        switch self {
        case .linear: return muted ? 0 : p
        case .airplay: return muted || p == 0 ? -144 : -30 + 30 * p
        case .decibel(let range, let taper):
            return muted || p == 0 ? 0 : pow(10, -range * pow(1 - p, taper) / 20)
        case .table(let values):
            guard !muted, let last = values.last else { return 0 }
            let place = p * Double(values.count - 1)
            let index = Int(place)
            guard index + 1 < values.count else { return last }
            return values[index] + (values[index + 1] - values[index]) * (place - Double(index))
        }
    }

    /// What the curve does not reach is its nearest position.
    public func position(deviceValue: Double) -> (position: VolumePosition, muted: Bool) {
        switch self {
        case .linear: return (VolumePosition(deviceValue), false)
        case .airplay:
            return deviceValue <= -144
                ? (VolumePosition(0), true) : (VolumePosition((deviceValue + 30) / 30), false)
        case .decibel(let range, let taper):
            guard deviceValue > 0 else { return (VolumePosition(0), false) }
            let down = min(1, max(0, -20 * log10(deviceValue) / range))
            return (VolumePosition(1 - pow(down, 1 / taper)), false)
        case .table(let values):
            guard let upper = values.firstIndex(where: { $0 >= deviceValue }) else {
                return (VolumePosition(values.isEmpty ? 0 : 1), false)
            }
            guard upper > 0 else { return (VolumePosition(0), false) }
            let (low, high) = (values[upper - 1], values[upper])
            let share = high > low ? (deviceValue - low) / (high - low) : 0
            return (VolumePosition((Double(upper - 1) + share) / Double(values.count - 1)), false)
        }
    }
}

/// As people write it for a room: `linear`, `decibel 50`, `decibel 50 taper 2`, `table 0 5 20 50 100`.
extension VolumeCurve: CustomStringConvertible {
    /// Decibels are whole numbers, a taper may have a fraction, and the levels of a table are in per cent. Throws
    /// `configuration` with what is wrong.
    public init(_ text: String) throws {
        let words = text.split(separator: " ").map(String.init)
        switch words.first {
        case "linear"? where words.count == 1: self = .linear
        case "decibel"? where words.count == 2: self = .decibel(range: try Self.number(words[1], text), taper: 1)
        case "decibel"? where words.count == 4 && words[2] == "taper":
            self = .decibel(range: try Self.number(words[1], text), taper: try Self.number(words[3], text))
        case "table"? where words.count > 1:
            self = .table(try words.dropFirst().map { try Self.number($0, text) / 100 })
        default: throw Self.form(text)
        }
        guard isSound else { throw Self.unsound(self, text) }
    }

    public var description: String {
        switch self {
        case .linear: "linear"
        case .airplay: "airplay"
        case .decibel(let range, 1): "decibel \(Self.short(range))"
        case .decibel(let range, let taper): "decibel \(Self.short(range)) taper \(Self.short(taper))"
        case .table(let values): "table " + values.map { Self.short($0 * 100) }.joined(separator: " ")
        }
    }

    /// Digits with at most one point among them: no sign, no exponent, no name.
    private static func number(_ word: String, _ text: String) throws -> Double {
        guard word.utf8.count <= 8, word.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
            let number = Double(word)
        else { throw form(text) }
        return number
    }

    private static func short(_ number: Double) -> String {
        let rounded = (number * 1000).rounded() / 1000
        return Int(exactly: rounded).map { String($0) } ?? String(rounded)
    }

    private static func form(_ text: String) -> RouterError {
        let near = NearNames.of(
            String(text.split(separator: " ").first ?? ""), among: ["linear", "decibel", "table"]
        ).first
        return RouterError(
            .configuration, "“\(text)” is no form of a volume curve",
            hint: (near.map { text.hasPrefix($0) ? "" : "Did you mean “\($0)”? " } ?? "")
                + "Write linear, “decibel 50”, “decibel 50 taper 2” or “table 0 5 20 50 100”")
    }

    private static func unsound(_ curve: VolumeCurve, _ text: String) -> RouterError {
        let hint =
            switch curve {
            case .table:
                "Give \(tableSizes.lowerBound) to \(tableSizes.upperBound) levels in per cent, from 0 on, each higher "
                    + "than the one before"
            default: "Choose from 10 to 100 dB, and a taper from 0.5 to 3"
            }
        return RouterError(.configuration, "the volume curve “\(text)” is out of range", hint: hint)
    }
}

extension VolumeCurve: TaggedCodable {
    public static let tags = ["linear", "airplay", "decibel", "table"]

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: TaggedKey.self)
        let tag = try fields.decode(String.self, forKey: .type)
        switch tag {
        case "linear": self = .linear
        case "airplay": self = .airplay
        case "decibel":
            self = .decibel(
                range: try fields.decode(Double.self, forKey: "range"),
                taper: try fields.decode(Double.self, forKey: "taper"))
        case "table": self = .table(try fields.decode([Double].self, forKey: "levels"))
        default: throw unknownTag(tag, of: Self.self, in: fields)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: TaggedKey.self)
        switch self {
        case .linear: try fields.encode("linear", forKey: .type)
        case .airplay: try fields.encode("airplay", forKey: .type)
        case .decibel(let range, let taper):
            try fields.encode("decibel", forKey: .type)
            try fields.encode(range, forKey: "range")
            try fields.encode(taper, forKey: "taper")
        case .table(let values):
            try fields.encode("table", forKey: .type)
            try fields.encode(values, forKey: "levels")
        }
    }
}
