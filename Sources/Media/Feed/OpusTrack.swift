import RouteBackend
import RouteModel

/// Makes a feed's frames into Opus packets at 48,000 Hz, such that the decoded packet n has exactly the sound of its
/// own time: resampled without delay, and the encoder's own delay taken off.
///
/// Owned by one actor and never leaves it.
final class OpusTrack {
    private let format: AudioPacketFormat
    private let resampler: Resampler
    private var encoder: OpusEncoder
    /// The packet that the encoder expects.
    private var next: Int64?
    private var input: [Float]

    init(_ format: AudioPacketFormat, feedRate: Int) throws {
        self.format = format
        resampler = Resampler(from: feedRate, to: format.sampleRate)
        encoder = try Self.encoder(format)
        input = []
        input.reserveCapacity(2 * (format.framesPerPacket + Resampler.taps))
    }

    private static func encoder(_ format: AudioPacketFormat) throws -> OpusEncoder {
        try OpusEncoder(
            framesPerPacket: format.framesPerPacket, bitRate: format.bitRate ?? OpusEncoder.defaultBitRate)
    }

    /// The feed's frames that a packet is made of; those below 0 are silence.
    func source(of packet: Int64) -> Range<Int64> { resampler.input(of: frames(of: packet)) }

    func packet(_ index: Int64, of window: SampleWindow) throws -> [UInt8] {
        if next != index {
            encoder = try Self.encoder(format)
            // What the encoder has heard before has its share in what it makes of this one.
            if source(of: index - 1).lowerBound >= window.start || index == 0 { _ = try encode(index - 1, window) }
        }
        next = index + 1
        return try encode(index, window)
    }

    private func frames(of packet: Int64) -> Range<Int64> {
        let first = packet * Int64(format.framesPerPacket) + Int64(encoder.delay)
        return first..<(first + Int64(format.framesPerPacket))
    }

    private func encode(_ index: Int64, _ window: SampleWindow) throws -> [UInt8] {
        let range = frames(of: index)
        let source = resampler.input(of: range)
        let silent = Int(min(max(0, -source.lowerBound), Int64(source.count)))
        input.removeAll(keepingCapacity: true)
        input.append(contentsOf: repeatElement(0, count: 2 * silent))
        if silent < source.count {
            window.withFrames(from: source.lowerBound + Int64(silent), count: source.count - silent) { run, _ in
                for both in run {
                    input.append(Float(Int16(truncatingIfNeeded: both)) / 32_768)
                    input.append(Float(Int16(truncatingIfNeeded: both >> 16)) / 32_768)
                }
            }
        }
        return try encoder.encode { output in
            input.withUnsafeBufferPointer { input in
                guard let first = input.baseAddress else { return }
                for channel in 0..<2 {
                    resampler.run(range, input: first + channel, into: output + channel, stride: 2)
                }
            }
        }
    }
}
