import AirPlay
import RouteBackend
import RouteModel

/// A feed of a signal that can be recomputed: each sample follows from its frame.
struct SignalFeed: AudioFeed {
    let frames: Int64
    /// Frames at which the feed waits until `gate` lets it go on.
    var gate: (@Sendable (Int64) async -> Void)?
    /// Breaks at this frame.
    var failsAt: Int64?

    var sampleRate: Int { 44_100 }

    init(frames: Int64, failsAt: Int64? = nil, gate: (@Sendable (Int64) async -> Void)? = nil) {
        self.frames = frames
        self.failsAt = failsAt
        self.gate = gate
    }

    /// Two samples that are never both zero, so that the beginning shows, and that differ from frame to frame.
    static func samples(_ frame: Int64) -> (Int16, Int16) {
        var hash = UInt64(bitPattern: frame) &+ 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return (
            Int16(truncatingIfNeeded: 1000 + Int64(hash & 0x3FFF)),
            Int16(truncatingIfNeeded: -1000 - Int64((hash >> 20) & 0x3FFF))
        )
    }

    func packets(_ format: AudioPacketFormat, from frame: Int64) async throws -> any AudioPacketCursor {
        Cursor(feed: self, format: format, next: frame / 352 * 352)
    }

    func retained() async -> Range<Int64> { 0..<frames }

    actor Cursor: AudioPacketCursor {
        let feed: SignalFeed
        let format: AudioPacketFormat
        var next: Int64

        init(feed: SignalFeed, format: AudioPacketFormat, next: Int64) {
            self.feed = feed
            self.format = format
            self.next = next
        }

        func next() async throws -> AudioPacket? {
            let frame = next
            await feed.gate?(frame)
            try Task.checkCancellation()
            if let failsAt = feed.failsAt, frame >= failsAt {
                throw RouterError(.itemFailed, "the file broke")
            }
            guard frame < feed.frames else { return nil }
            next += 352
            var samples: [Int16] = []
            for index in frame..<(frame + 352) {
                let (left, right) = index < feed.frames ? SignalFeed.samples(index) : (0, 0)
                samples += [left, right]
            }
            let payload = format.codec == .l16 ? Self.l16(samples) : Self.uncompressedALAC(samples)
            return AudioPacket(frame: frame, frameCount: 352, payload: payload)
        }

        static func l16(_ samples: [Int16]) -> [UInt8] {
            samples.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        }

        /// An Apple Lossless frame that holds its samples as they are.
        static func uncompressedALAC(_ samples: [Int16]) -> [UInt8] {
            var bits = BitWriter()
            bits.write(1, 3)
            bits.write(0, 4)
            bits.write(0, 8)
            bits.write(0, 4)
            bits.write(0, 1)
            bits.write(0, 2)
            bits.write(1, 1)
            for sample in samples { bits.write(UInt32(UInt16(bitPattern: sample)), 16) }
            bits.write(7, 3)
            return bits.bytes
        }
    }
}

private struct BitWriter {
    var bytes: [UInt8] = []
    private var free = 0

    mutating func write(_ value: UInt32, _ count: Int) {
        for bit in stride(from: count - 1, through: 0, by: -1) {
            if free == 0 {
                bytes.append(0)
                free = 8
            }
            free -= 1
            if value >> UInt32(bit) & 1 == 1 { bytes[bytes.count - 1] |= 1 << UInt8(free) }
        }
    }
}
