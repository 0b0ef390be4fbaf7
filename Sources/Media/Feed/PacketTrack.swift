import RouteBackend
import RouteModel

/// The packets of one format, each encoded once, kept for as long as the window keeps their samples.
///
/// Owned by one actor and never leaves it.
final class PacketTrack {
    let format: AudioPacketFormat
    private let encoder: ALACEncoder?
    /// Packet n is at n modulo the count.
    private var slots: [AudioPacket?]

    init(_ format: AudioPacketFormat, windowFrames: Int) throws {
        self.format = format
        encoder =
            switch format.codec {
            case .alac: try ALACEncoder(sampleRate: format.sampleRate, framesPerPacket: format.framesPerPacket)
            case .l16: nil
            }
        slots = Array(repeating: nil, count: windowFrames / format.framesPerPacket + 2)
    }

    /// Packet number `index`, whose first frame must still be in the window.
    func packet(_ index: Int64, of window: SampleWindow) throws -> AudioPacket {
        let slot = Int(index % Int64(slots.count))
        let frame = index * Int64(format.framesPerPacket)
        if let known = slots[slot], known.frame == frame { return known }
        let payload =
            try encoder.map { try Self.compressed($0, frame, format, window) } ?? Self.plain(frame, format, window)
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
