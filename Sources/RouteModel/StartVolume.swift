/// How loud a room is when something begins to play there (`model.md` section 6). Its limit and its quiet hours hold on
/// top, and a volume that is asked for with what is to be played goes before it.
public enum StartVolume: Sendable, Hashable {
    /// As its device is: that is not told anything, where it says how loud it is.
    case preserve
    /// As it was last set, by us or on the device while we played there; before it ever was, as its device is.
    case last
    /// This loud.
    case set(VolumePosition)
    /// As its device is, and this loud at most.
    case cap(VolumePosition)
}

/// As people write it: `preserve`, `last`, `40 %`, `at most 40 %`.
extension StartVolume: CustomStringConvertible {
    /// Levels are whole numbers from 0 to 100, with or without a per cent sign after them. Throws `configuration` with
    /// what is wrong.
    public init(_ text: String) throws {
        let words = text.split(separator: " ").map(String.init)
        switch words {
        case ["preserve"]: self = .preserve
        case ["last"]: self = .last
        case _ where words.prefix(2) == ["at", "most"]: self = .cap(try Self.level(words.dropFirst(2), of: text))
        default: self = .set(try Self.level(words[...], of: text))
        }
    }

    public var description: String {
        switch self {
        case .preserve: "preserve"
        case .last: "last"
        case .set(let level): "\(level.percent) %"
        case .cap(let level): "at most \(level.percent) %"
        }
    }

    private static func level(_ words: ArraySlice<String>, of text: String) throws -> VolumePosition {
        guard (1...2).contains(words.count), let first = words.first?.utf8.first, isDigit(first) else {
            throw form(text)
        }
        var number = words.joined()
        if number.hasSuffix("%") { number.removeLast() }
        guard number.utf8.allSatisfy(isDigit), let percent = Int(number), (0...100).contains(percent) else {
            throw RouterError(
                .configuration, "the start volume “\(text)” is no level",
                hint: "Give a whole number from 0 to 100, such as “40 %”")
        }
        return VolumePosition(percent: Double(percent))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func form(_ text: String) -> RouterError {
        let near = NearNames.of(text, among: ["preserve", "last", "at most 40 %"]).first
        return RouterError(
            .configuration, "“\(text)” is no form of a start volume",
            hint: (near.map { "Did you mean “\($0)”? " } ?? "")
                + "Write preserve, last, a level such as “40 %”, or “at most 40 %”")
    }
}

extension StartVolume: TaggedCodable {
    public static let tags = ["preserve", "last", "set", "cap"]

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: TaggedKey.self)
        let tag = try fields.decode(String.self, forKey: .type)
        switch tag {
        case "preserve": self = .preserve
        case "last": self = .last
        case "set": self = .set(try fields.decode(VolumePosition.self, forKey: "level"))
        case "cap": self = .cap(try fields.decode(VolumePosition.self, forKey: "level"))
        default: throw unknownTag(tag, of: Self.self, in: fields)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: TaggedKey.self)
        switch self {
        case .preserve: try fields.encode("preserve", forKey: .type)
        case .last: try fields.encode("last", forKey: .type)
        case .set(let level):
            try fields.encode("set", forKey: .type)
            try fields.encode(level, forKey: "level")
        case .cap(let level):
            try fields.encode("cap", forKey: .type)
            try fields.encode(level, forKey: "level")
        }
    }
}
