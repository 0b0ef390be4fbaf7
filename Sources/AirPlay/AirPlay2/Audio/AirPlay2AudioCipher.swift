import HomeKitPairing

/// Hides the audio of an AirPlay 2 stream: ChaCha20-Poly1305, with the timestamp and the SSRC of the header
/// authenticated (`Protocols/airplay/README.md`, “AirPlay 2 audio”). Printing it shows no key.
public struct AirPlay2AudioCipher: Sendable, CustomStringConvertible, CustomReflectable {
    /// Bytes that a packet is longer than its payload and header: a tag of 16, a nonce of 8.
    public static let overhead = 24

    private let key: [UInt8]

    /// - Parameter key: 32 bytes.
    public init(key: [UInt8]) {
        precondition(key.count == 32)
        self.key = key
    }

    /// The packet: header, ciphertext, tag, nonce.
    ///
    /// - Parameter number: never used twice with this key for different packets that are sent.
    public func seal(_ payload: [UInt8], header: [UInt8], number: UInt64) -> [UInt8] {
        let nonce = (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        return header + PairingCrypto.seal(payload, key: key, nonce: nonce, authenticating: Array(header[4..<12]))
            + nonce
    }

    /// The payload of a packet of 12 bytes of header; nil where it is too short or was not sealed by this key.
    public func open(_ packet: [UInt8]) -> [UInt8]? {
        guard packet.count >= RTPAudioHeader.byteCount + Self.overhead else { return nil }
        return PairingCrypto.open(
            packet[12..<(packet.count - 8)], key: key, nonce: Array(packet.suffix(8)),
            authenticating: Array(packet[4..<12]))
    }

    public var description: String { "AirPlay2AudioCipher(••••)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
