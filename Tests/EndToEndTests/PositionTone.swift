import Foundation
import RouteBackend
import Synchronization

/// Sound of which any one frame tells where in it it is: the left channel counts within 4,000 frames, the right channel
/// counts those. Good for six minutes.
enum PositionTone {
    static let sampleRate = 44_100
    private static let base: Int64 = 4000
    private static let step: Int64 = 8
    private static let floor: Int64 = 384

    /// A WAV file of so many seconds.
    static func write(seconds: Int, to path: String) throws {
        let frames = seconds * sampleRate
        var data = Data("RIFF".utf8)
        func number(_ value: Int, _ size: Int) {
            for byte in 0..<size { data.append(UInt8(value >> (8 * byte) & 0xFF)) }
        }
        number(36 + frames * 4, 4)
        data.append(Data("WAVEfmt ".utf8))
        for (value, size) in [(16, 4), (1, 2), (2, 2), (sampleRate, 4), (sampleRate * 4, 4), (4, 2), (16, 2)] {
            number(value, size)
        }
        data.append(Data("data".utf8))
        number(frames * 4, 4)
        data.append(
            contentsOf: [UInt8](unsafeUninitializedCapacity: frames * 4) { bytes, count in
                bytes.withMemoryRebound(to: Int16.self) { samples in
                    for frame in 0..<Int64(frames) {
                        samples[Int(2 * frame)] = Int16(floor + frame % base * step)
                        samples[Int(2 * frame + 1)] = Int16(floor + frame / base * step)
                    }
                }
                count = frames * 4
            })
        try data.write(to: URL(fileURLWithPath: path))
    }

    /// The frame that two samples are, or nil for silence and for what was altered.
    static func frame(_ left: Int16, _ right: Int16) -> Int64? {
        func digit(_ sample: Int16) -> Int64? {
            let above = Int64(sample) - floor
            let value = (above + step / 2) / step
            return above >= -2 && value < base && abs(above - value * step) <= 2 ? value : nil
        }
        guard let low = digit(left), let high = digit(right) else { return nil }
        return high * base + low
    }
}

/// What comes out of a receiver, with the instant of each piece: how rooms are compared.
final class OutputTap: Sendable {
    struct Piece: Sendable {
        /// Host monotonic nanoseconds at which it was read.
        var instant: Int64
        /// The frame of `PositionTone` that it begins with, and the one after its last.
        var frame: Int64
        var end: Int64
        /// When the tone's first frame would have been heard, by this piece.
        var origin: Double { Double(instant) - Double(frame) * 1e9 / Double(PositionTone.sampleRate) }
    }

    let writing: FileHandle
    private let pipe = Pipe()
    private let pieces = Mutex<[Piece]>([])

    init() {
        writing = pipe.fileHandleForWriting
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        let take: @Sendable (Piece) -> Void = { [weak self] piece in self?.pieces.withLock { $0.append(piece) } }
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            var carried = 0
            while true {
                let count = buffer.withUnsafeMutableBytes { raw in
                    read(descriptor, raw.baseAddress! + carried, raw.count - carried)
                }
                guard count > 0 else { return }
                let instant = SystemHostClock().now()
                let whole = (carried + count) / 4
                buffer.withUnsafeBytes { raw in
                    // The first frame that this read brought to its end.
                    guard whole > 0 else { return }
                    func frame(_ place: Int) -> Int64? {
                        PositionTone.frame(
                            Int16(littleEndian: raw.loadUnaligned(fromByteOffset: place * 4, as: Int16.self)),
                            Int16(littleEndian: raw.loadUnaligned(fromByteOffset: place * 4 + 2, as: Int16.self)))
                    }
                    if let first = frame(0) {
                        take(Piece(instant: instant, frame: first, end: (frame(whole - 1) ?? first) + 1))
                    }
                }
                let rest = carried + count - whole * 4
                for index in 0..<rest { buffer[index] = buffer[whole * 4 + index] }
                carried = rest
            }
        }
    }

    /// So far.
    var heard: [Piece] { pieces.withLock { $0 } }
}

extension Sequence<OutputTap.Piece> {
    /// Frames between the first and the last that did not come out.
    var unheard: Int64 { zip(self, dropFirst()).reduce(0) { $0 + Swift.max(0, $1.1.frame - $1.0.end) } }
}

/// How far two rooms are apart, in milliseconds.
struct Skew: CustomStringConvertible {
    var median = Double.infinity
    var p99 = Double.infinity
    var count = 0

    /// Of what both heard: each piece of one beside the nearest of the other.
    init(_ one: [OutputTap.Piece], _ other: [OutputTap.Piece]) {
        var place = 0
        var apart: [Double] = []
        for piece in one {
            while place + 1 < other.count,
                abs(other[place + 1].instant - piece.instant) <= abs(other[place].instant - piece.instant)
            {
                place += 1
            }
            guard place < other.count, abs(other[place].instant - piece.instant) < 50_000_000 else { continue }
            apart.append(abs(piece.origin - other[place].origin) / 1e6)
        }
        self.init(apart)
    }

    /// By the earliest pieces of each second: 3.3.8 looks only every two thirds of a packet, 5.3 ms, whether one is due,
    /// so that each is up to so much late, and by how much says nothing of when it should have been.
    ///
    /// Nothing that a sender does wrong hides behind that: it tells the time of a frame once a second, and what it says
    /// moves every piece of that second. Packets that it sends too late leave silence, which `unheard` counts.
    init(earliest one: [OutputTap.Piece], _ other: [OutputTap.Piece]) {
        func earliest(_ pieces: [OutputTap.Piece]) -> [Int64: Double] {
            var result: [Int64: Double] = [:]
            for piece in pieces {
                let second = piece.instant / 1_000_000_000
                result[second] = min(result[second] ?? .infinity, piece.origin)
            }
            return result
        }
        let (first, second) = (earliest(one), earliest(other))
        self.init(first.compactMap { entry in second[entry.key].map { abs($0 - entry.value) / 1e6 } })
    }

    init(_ apart: [Double]) {
        let sorted = apart.sorted()
        count = sorted.count
        guard count > 0 else { return }
        median = sorted[count / 2]
        p99 = sorted[min(count - 1, count * 99 / 100)]
    }

    var description: String {
        "median \(String(format: "%.3f", median)) ms, 99th percentile \(String(format: "%.3f", p99)) ms, of \(count)"
    }
}
