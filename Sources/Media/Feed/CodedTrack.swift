import RouteBackend
import RouteModel

/// An encoder whose packets depend on the ones before them.
///
/// Not to be used from two tasks at once.
protocol PacketEncoder: AnyObject {
    /// Frames by which the packet that `encode` gives decodes to earlier sound than what it was given.
    var delay: Int { get }
    /// Packets that have to go before one for that to sound right, made and thrown away.
    var history: Int { get }

    /// One packet; `fill` writes `framesPerPacket` frames, each channel's `stride` apart, -1 to 1. Nil: it holds them back,
    /// as it may for the first of its `history`.
    func encode(
        _ fill: (_ left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>, _ stride: Int) -> Void
    ) throws -> [UInt8]?
}

/// Makes a feed's frames into packets of a lossy codec, such that the decoded packet n has exactly the sound of its own
/// time: resampled without delay, and the encoder's own delay taken off.
///
/// Owned by one actor and never leaves it.
final class CodedTrack {
    private let format: AudioPacketFormat
    private let reader: RateReader
    private let makeEncoder: () throws -> any PacketEncoder
    private var encoder: any PacketEncoder
    /// The packet that the encoder expects.
    private var next: Int64?

    init(_ format: AudioPacketFormat, feedRate: Int, makeEncoder: @escaping () throws -> any PacketEncoder) throws {
        self.format = format
        self.makeEncoder = makeEncoder
        reader = RateReader(from: feedRate, to: format.sampleRate)
        encoder = try makeEncoder()
    }

    /// The feed's frames that a packet is made of; those below 0 are silence.
    func source(of packet: Int64) -> Range<Int64> { reader.source(of: frames(of: packet)) }

    func packet(_ index: Int64, of window: SampleWindow) throws -> [UInt8] {
        if next != index {
            encoder = try makeEncoder()
            // What the encoder has heard before has its share in what it makes of this one.
            for before in (1...max(1, encoder.history)).reversed() { _ = try encode(index - Int64(before), window) }
        }
        next = index + 1
        guard let packet = try encode(index, window) else {
            throw RouterError(.internal, "the encoder held back a packet", scope: .item)
        }
        return packet
    }

    private func frames(of packet: Int64) -> Range<Int64> {
        let first = packet * Int64(format.framesPerPacket) + Int64(encoder.delay)
        return first..<(first + Int64(format.framesPerPacket))
    }

    private func encode(_ index: Int64, _ window: SampleWindow) throws -> [UInt8]? {
        let frames = frames(of: index)
        return try encoder.encode { left, right, stride in
            reader.read(frames, of: window, left: left, right: right, stride: stride)
        }
    }
}
