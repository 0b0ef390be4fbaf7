/// One direction of an encrypted channel: frames of at most 1024 bytes, each under a nonce that counts up from zero
/// (`Protocols/pairing/README.md`, “Frames”).
public struct FrameSealer: Sendable {
    private let key: [UInt8]
    private var counter: UInt64 = 0

    /// - Parameter key: 32 bytes.
    public init(key: [UInt8]) { self.key = key }

    /// The frames that carry these bytes.
    public mutating func seal(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let part = rest.prefix(FrameOpener.maximumFrame)
            let length = [UInt8(part.count & 0xFF), UInt8(part.count >> 8)]
            result += length
            result += PairingCrypto.seal(
                part, key: key, nonce: counter.littleEndianBytes, authenticating: length)
            counter += 1
            rest = rest.dropFirst(part.count)
        }
        return result
    }
}

/// The other direction.
public struct FrameOpener: Sendable {
    /// Bytes of plaintext in a frame at most.
    public static let maximumFrame = 1024

    private let key: [UInt8]
    private var counter: UInt64 = 0

    /// - Parameter key: 32 bytes.
    public init(key: [UInt8]) { self.key = key }

    /// What a frame holds, and how many bytes it took; nil where it is not whole yet.
    ///
    /// Throws for a frame that is too long, or was not sealed by this key as the next one: replayed, left out or
    /// tampered with. The channel is of no use then.
    public mutating func open(_ bytes: some Collection<UInt8>) throws(FrameError) -> (plaintext: [UInt8], used: Int)? {
        guard bytes.count >= 2 else { return nil }
        let header = Array(bytes.prefix(2))
        let length = Int(header[0]) | Int(header[1]) << 8
        guard length <= Self.maximumFrame else { throw .tooLong(length) }
        guard bytes.count >= 2 + length + 16 else { return nil }
        let sealed = bytes.dropFirst(2).prefix(length + 16)
        guard
            let plaintext = PairingCrypto.open(
                sealed, key: key, nonce: counter.littleEndianBytes, authenticating: header)
        else { throw .notAuthentic(frame: counter) }
        counter += 1
        return (plaintext, 2 + length + 16)
    }
}

public enum FrameError: Error, Sendable, Hashable {
    case tooLong(Int)
    /// Counted from zero.
    case notAuthentic(frame: UInt64)
}

/// The keys of the two directions of a channel, as the controller has them.
public struct ChannelKeys: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// 32 bytes each. Secret.
    public let controllerWrites: [UInt8]
    public let accessoryWrites: [UInt8]

    public init(controllerWrites: [UInt8], accessoryWrites: [UInt8]) {
        self.controllerWrites = controllerWrites
        self.accessoryWrites = accessoryWrites
    }

    /// Of the control channel. `secret` is that of pair-verify (32 bytes) or of transient pair-setup (64).
    public static func control(_ secret: [UInt8]) -> ChannelKeys {
        ChannelKeys(
            controllerWrites: PairingCrypto.hkdf(
                secret, salt: "Control-Salt", info: "Control-Write-Encryption-Key"),
            accessoryWrites: PairingCrypto.hkdf(secret, salt: "Control-Salt", info: "Control-Read-Encryption-Key"))
    }

    /// Of the event channel, where the receiver asks and the names are the other way round.
    public static func events(_ secret: [UInt8]) -> ChannelKeys {
        ChannelKeys(
            controllerWrites: PairingCrypto.hkdf(secret, salt: "Events-Salt", info: "Events-Read-Encryption-Key"),
            accessoryWrites: PairingCrypto.hkdf(secret, salt: "Events-Salt", info: "Events-Write-Encryption-Key"))
    }

    /// Of a data stream.
    public static func dataStream(_ secret: [UInt8], seed: UInt64) -> ChannelKeys {
        let salt = "DataStream-Salt\(seed)"
        return ChannelKeys(
            controllerWrites: PairingCrypto.hkdf(secret, salt: salt, info: "DataStream-Output-Encryption-Key"),
            accessoryWrites: PairingCrypto.hkdf(secret, salt: salt, info: "DataStream-Input-Encryption-Key"))
    }

    public var description: String { "ChannelKeys(••••)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UInt64 {
    var littleEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) } }
}
