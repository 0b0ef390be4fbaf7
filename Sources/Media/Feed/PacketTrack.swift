import RouteBackend
import RouteModel

/// The packets of one format, each encoded once, kept for as long as the window keeps their samples.
///
/// Owned by one actor and never leaves it.
final class PacketTrack {
    private enum Encoder {
        case plain
        case lossless(ALACEncoder)
        case opus(OpusTrack)
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
                .lossless(try ALACEncoder(sampleRate: format.sampleRate, framesPerPacket: format.framesPerPacket))
            case .l16: .plain
            case .opus: .opus(try OpusTrack(format, feedRate: feedRate))
            case .aac: throw RouterError(.unsupported, "AAC is not encoded", scope: .session)
            }
        slots = Array(
            repeating: nil, count: windowFrames * format.sampleRate / feedRate / format.framesPerPacket + 2)
    }

    static func supports(_ format: AudioPacketFormat, feedRate: Int) -> Bool {
        guard format.channels == 2, format.bitDepth == 16 else { return false }
        switch format.codec {
        case .alac, .l16: return format.sampleRate == feedRate && (1...4096).contains(format.framesPerPacket)
        case .opus:
            return format.sampleRate == OpusEncoder.sampleRate
                && OpusEncoder.packetSizes.contains(format.framesPerPacket)
                && OpusEncoder.bitRates.contains(format.bitRate ?? OpusEncoder.defaultBitRate)
        case .aac: return false
        }
    }

    // MARK: Which packet has which of the feed's frames

    /// The feed's frames that a packet is made of, from 0 on.
    func source(of index: Int64) -> Range<Int64> {
        switch encoder {
        case .plain, .lossless:
            let size = Int64(format.framesPerPacket)
            return (index * size)..<((index + 1) * size)
        case .opus(let track):
            let source = track.source(of: index)
            return max(0, source.lowerBound)..<max(0, source.upperBound)
        }
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
            case .lossless(let encoder): try Self.compressed(encoder, frame, format, window)
            case .opus(let track): try track.packet(index, of: window)
            }
        let packet = AudioPacket(frame: frame, frameCount: format.framesPerPacket, payload: payload)
        slots[slot] = packet
        return packet
    }

    private static func compressed(
        _ encoder: ALACEncoder, _ frame: Int64, _ format: AudioPacketFormat, _ window: SampleWindow
    ) throws -> [UInt8] {
        try encoder.encode { left, right in
            window.withFrames(from: frame, count: format.framesPerPacket) { run, offset in
                let left = left + offset
                let right = right + offset
                for index in 0..<run.count {
                    let both = run[index]
                    left[index] = Int16(truncatingIfNeeded: both)
                    right[index] = Int16(truncatingIfNeeded: both >> 16)
                }
            }
        }
    }

    private static func plain(_ frame: Int64, _ format: AudioPacketFormat, _ window: SampleWindow) -> [UInt8] {
        let size = format.framesPerPacket * MemoryLayout<SampleWindow.Frame>.size
        return [UInt8](unsafeUninitializedCapacity: size) { bytes, count in
            window.withFrames(from: frame, count: format.framesPerPacket) { run, offset in
                for index in 0..<run.count {
                    // Each 16-bit half turned round, the left one staying first.
                    let turned = (run[index] & 0x00FF_00FF) << 8 | (run[index] >> 8) & 0x00FF_00FF
                    UnsafeMutableRawPointer(bytes.baseAddress!)
                        .storeBytes(of: turned.littleEndian, toByteOffset: (offset + index) * 4, as: UInt32.self)
                }
            }
            count = size
        }
    }
}
