import HomeKitPairing

/// The bytes of a connection that is clear at first and encrypted from some byte on, in both directions
/// (`Protocols/airplay/README.md`, “Encrypted connection”). Pure: no I/O.
///
/// What has come in and was not consumed yet when `encrypt` is called is taken for frames: hence whoever reads messages
/// consumes them one by one, and calls `encrypt` before looking at the next.
public struct EncryptedByteStream: Sendable {
    /// Whose end of the connection this is.
    public enum Side: Sendable, Hashable {
        /// The sender of audio.
        case controller
        /// The receiver.
        case accessory
    }

    private let side: Side
    private var opener: FrameOpener?
    private var sealer: FrameSealer?
    /// Of frames that are not whole yet.
    private var sealed: [UInt8] = []
    private var plain: [UInt8] = []
    private var consumed = 0

    /// - Parameter keys: nil: clear until `encrypt`.
    public init(_ side: Side, keys: ChannelKeys? = nil) {
        self.side = side
        if let keys { install(keys) }
    }

    public var isEncrypted: Bool { opener != nil }

    /// What has come in and was not consumed, in the clear.
    public var readable: ArraySlice<UInt8> { plain[consumed...] }

    /// Takes bytes from the network. Throws where a frame is broken; the connection is of no use then.
    public mutating func receive(_ bytes: some Collection<UInt8>) throws(FrameError) {
        guard isEncrypted else {
            plain.append(contentsOf: bytes)
            return
        }
        sealed.append(contentsOf: bytes)
        try open()
    }

    /// - Parameter count: at most as many as are readable.
    public mutating func consume(_ count: Int) {
        precondition(count >= 0 && consumed + count <= plain.count)
        consumed += count
        // Not at every message, for the rest is moved.
        if consumed == plain.count || consumed > 65_536 {
            plain.removeFirst(consumed)
            consumed = 0
        }
    }

    /// From the next byte on, both ways. Throws where what has come in already is no frame.
    public mutating func encrypt(with keys: ChannelKeys) throws(FrameError) {
        install(keys)
        sealed = Array(readable)
        plain = []
        consumed = 0
        try open()
    }

    /// Bytes as they go out.
    public mutating func seal(_ bytes: [UInt8]) -> [UInt8] { sealer?.seal(bytes) ?? bytes }

    private mutating func install(_ keys: ChannelKeys) {
        let (ours, theirs) =
            side == .controller
            ? (keys.controllerWrites, keys.accessoryWrites) : (keys.accessoryWrites, keys.controllerWrites)
        sealer = FrameSealer(key: ours)
        opener = FrameOpener(key: theirs)
    }

    private mutating func open() throws(FrameError) {
        var start = 0
        while let frame = try opener?.open(sealed[start...]) {
            plain += frame.plaintext
            start += frame.used
        }
        sealed.removeFirst(start)
    }
}
