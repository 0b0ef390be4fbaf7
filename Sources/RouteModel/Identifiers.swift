import Foundation

/// Ids are distinct types, so that a session's id can never be handed in where a route's is asked for.
///
/// On the wire (JSON, SQLite) each is its plain string.
public protocol StringIdentifier: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible, Comparable
where RawValue == String {
    init(rawValue: String)
}

extension StringIdentifier {
    public var description: String { rawValue }

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// A device as the engine sees it. Random, minted once and stored; every strong key of the device is an alias of it.
public struct RouteID: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A new id of 12 random hex digits after `rt-`.
    public static func random() -> RouteID { RouteID(rawValue: "rt-" + randomHex(bytes: 6)) }
}

/// One session: one queue, one timeline, and the routes that play from it.
public struct SessionID: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static func random() -> SessionID { SessionID(rawValue: "se-" + randomHex(bytes: 6)) }
}

/// One *occurrence* of an item in a queue (a ULID): the same file queued twice has two.
public struct ItemID: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A ULID: 48 bits of `milliseconds` since 1970, then 80 random bits, in Crockford's base 32.
    public static func ulid(milliseconds: UInt64) -> ItemID {
        let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        var text = ""
        for shift in stride(from: 45, through: 0, by: -5) {
            text.append(alphabet[Int((milliseconds >> UInt64(shift)) & 31)])
        }
        // Two draws and not sixteen: a queue may be of many thousand items, and each draw asks the kernel.
        var bits = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        for _ in 0..<8 {
            text.append(alphabet[Int(bits.0 & 31)])
            text.append(alphabet[Int(bits.1 & 31)])
            bits = (bits.0 >> 5, bits.1 >> 5)
        }
        return ItemID(rawValue: text)
    }
}

/// One endpoint (a service that a device offers), named by protocol and the strongest key known of it.
public struct EndpointID: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// One remote command, so that its result can be told apart from another's.
public struct CommandID: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static func random() -> CommandID { CommandID(rawValue: "co-" + randomHex(bytes: 6)) }
}

/// The secret part of a media URL: 128 random bits in hex. It is a key: it goes into URLs and the store, never a log.
public struct MediaToken: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static func random() -> MediaToken { MediaToken(rawValue: randomHex(bytes: 16)) }
    public var description: String { "<media token>" }
}

func randomHex(bytes count: Int) -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in
        let byte = UInt8.random(in: 0...255, using: &generator)
        return (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
}
