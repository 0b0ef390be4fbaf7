import RouteBackend
import RouteModel

/// The packets of one format, each encoded once, kept for as long as the window keeps their samples.
///
/// Owned by one actor and never leaves it.
final class PacketTrack {
    private enum Encoder {
        case plain
        case lossless(ALACEncoder, RateReader)
        case coded(CodedTrack)
    }

    let format: AudioPacketFormat
    private let encoder: Encoder
    private let feedRate: Int64
    /// Packet n is at n modulo the count.
    private var slots: [AudioPacket?]

    /// - Parameter format: one that `supports` holds for.
    init(_ format: AudioPacketFormat, feedRate: Int, windowFrames: Int) throws {
        self.format = format
        self.feedRate = Int64(feedRate)
        encoder =
            switch format.codec {
            case .alac:
                .lossless(
                    try ALACEncoder(
                        sampleRate: format.sampleRate, framesPerPacket: format.framesPerPacket,
                        bitDepth: format.bitDepth), RateReader(from: feedRate, to: format.sampleRate))
            case .l16: .plain
            case .opus:
                .coded(
                    try CodedTrack(format, feedRate: feedRate) {
                        try OpusEncoder(
                            framesPerPacket: format.framesPerPacket,
                            bitRate: format.bitRate ?? OpusEncoder.defaultBitRate)
                    })
            case .aac:
                .coded(
                    try CodedTrack(format, feedRate: feedRate) {
                        try AACEncoder(
                            sampleRate: format.sampleRate, bitRate: format.bitRate ?? AACEncoder.defaultBitRate)
                    })
            }
        slots = Array(
            repeating: nil, count: windowFrames * format.sampleRate / feedRate / format.framesPerPacket + 2)
    }

    static func supports(_ format: AudioPacketFormat, feedRate: Int) -> Bool {
        guard format.channels == 2 else { return false }
        switch format.codec {
        case .alac:
            return [44_100, 48_000].contains(format.sampleRate) && (1...4096).contains(format.framesPerPacket)
                && ALACEncoder.bitDepths.contains(format.bitDepth)
        case .l16:
            return format.sampleRate == feedRate && (1...4096).contains(format.framesPerPacket)
                && format.bitDepth == 16
        case .opus:
            return format.bitDepth == 16 && format.sampleRate == OpusEncoder.sampleRate
                && OpusEncoder.packetSizes.contains(format.framesPerPacket)
                && OpusEncoder.bitRates.contains(format.bitRate ?? OpusEncoder.defaultBitRate)
        case .aac:
            return format.bitDepth == 16 && AACEncoder.sampleRates.contains(format.sampleRate)
                && format.framesPerPacket == AACEncoder.framesPerPacket
                && AACEncoder.bitRates.contains(format.bitRate ?? AACEncoder.defaultBitRate)
        }
    }

    // MARK: Which packet has which of the feed's frames

    /// The feed's frames that a packet is made of, from 0 on.
    func source(of index: Int64) -> Range<Int64> {
        switch encoder {
        case .plain: return frames(of: index)
        case .lossless(_, let reader): return Self.fromZero(reader.source(of: frames(of: index)))
        case .coded(let track): return Self.fromZero(track.source(of: index))
        }
    }

    /// The frames that a packet has, at the format's own rate.
    private func frames(of index: Int64) -> Range<Int64> {
        let size = Int64(format.framesPerPacket)
        return (index * size)..<((index + 1) * size)
    }

    private static func fromZero(_ frames: Range<Int64>) -> Range<Int64> {
        max(0, frames.lowerBound)..<max(0, frames.upperBound)
    }

    /// The packet in whose time a frame of the feed is.
    func packet(at frame: Int64) -> Int64 {
        frame * Int64(format.sampleRate) / feedRate / Int64(format.framesPerPacket)
    }

    /// The first packet that can be made while the feed's frames are held from `start` on.
    func first(heldFrom start: Int64) -> Int64 {
        var index = packet(at: start)
        while source(of: index).lowerBound < start { index += 1 }
        return index
    }

    /// How many packets the first `end` frames of the feed make; once it has `finished`, the last is filled up.
    func count(upTo end: Int64, finished: Bool) -> Int64 {
        if finished {
            let (rate, size) = (Int64(format.sampleRate), Int64(format.framesPerPacket))
            let frames = (end * rate + feedRate - 1) / feedRate
            return (frames + size - 1) / size
        }
        var count = packet(at: end) + 1
        while count > 0, source(of: count - 1).upperBound > end { count -= 1 }
        return count
    }

    /// Packet number `index`, whose source must still be in the window.
    func packet(_ index: Int64, of window: SampleWindow) throws -> AudioPacket {
        let slot = Int(index % Int64(slots.count))
        let frame = index * Int64(format.framesPerPacket)
        if let known = slots[slot], known.frame == frame { return known }
        let payload =
            switch encoder {
            case .plain: Self.plain(frame, format, window)
            case .lossless(let encoder, let reader): try compressed(encoder, reader, index, window)
            case .coded(let track): try track.packet(index, of: window)
            }
        let packet = AudioPacket(frame: frame, frameCount: format.framesPerPacket, payload: payload)
        slots[slot] = packet
        return packet
    }

    private func compressed(
        _ encoder: ALACEncoder, _ reader: RateReader, _ index: Int64, _ window: SampleWindow
    ) throws -> [UInt8] {
        let frames = frames(of: index)
        return try encoder.encode { left, right in
            guard Int64(format.sampleRate) != feedRate else {
                window.withFrames(from: frames.lowerBound, count: frames.count) { run, offset in
                    for index in 0..<run.count {
                        left[offset + index] = run[index].x
                        right[offset + index] = run[index].y
                    }
                }
                return
            }
            withUnsafeTemporaryAllocation(of: Float.self, capacity: 2 * frames.count) { both in
                guard let base = both.baseAddress else { return }
                reader.read(frames, of: window, left: base, right: base + 1, stride: 2)
                for index in 0..<frames.count {
                    left[index] = PCM.int32(base[2 * index])
                    right[index] = PCM.int32(base[2 * index + 1])
                }
            }
        }
    }

    private static func plain(_ frame: Int64, _ format: AudioPacketFormat, _ window: SampleWindow) -> [UInt8] {
        let size = format.framesPerPacket * 4
        return [UInt8](unsafeUninitializedCapacity: size) { bytes, count in
            window.withFrames(from: frame, count: format.framesPerPacket) { run, offset in
                for index in 0..<run.count {
                    // Left first, each with its upper byte first.
                    let left = UInt32(UInt16(bitPattern: PCM.int16(run[index].x)))
                    let right = UInt32(UInt16(bitPattern: PCM.int16(run[index].y)))
                    UnsafeMutableRawPointer(bytes.baseAddress!)
                        .storeBytes(
                            of: (left << 16 | right).bigEndian, toByteOffset: (offset + index) * 4, as: UInt32.self)
                }
            }
            count = size
        }
    }
}
