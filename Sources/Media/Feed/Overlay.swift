/// Something short that is heard over a feed, which is less loud meanwhile. A value that knows no feed.
struct Overlay: Sendable {
    /// Two minutes: what is longer is no announcement, and would have to be kept whole.
    static let maximumFrames = 120 * FeedBuffer.sampleRate
    /// How long what is under it takes to become less loud, and loud again.
    static let rampFrames: Int64 = 8820

    private let samples: [SampleWindow.Frame]
    private let share: Float

    /// - Parameter share: how loud what is under it is, 0 to 1.
    init(_ samples: [SampleWindow.Frame], share: Double) {
        self.samples = samples
        self.share = Float(min(1, max(0, share)))
    }

    /// Of both ramps and the clip between them.
    var count: Int64 { Int64(samples.count) + 2 * Self.rampFrames }

    /// The clip's own place in it.
    var clip: Range<Int64> { Self.rampFrames..<(Self.rampFrames + Int64(samples.count)) }

    /// A frame with what is over it.
    ///
    /// - Parameter place: 0 to `count`.
    func over(_ frame: SampleWindow.Frame, at place: Int64) -> SampleWindow.Frame {
        let edge = min(place, count - 1 - place)
        let down = min(1, Float(edge) / Float(Self.rampFrames))
        let gain = 1 - (1 - share) * down
        let own = clip.contains(place) ? samples[Int(place - Self.rampFrames)] : .zero
        return SampleWindow.Frame(Self.sum(frame.x, gain, own.x), Self.sum(frame.y, gain, own.y))
    }

    /// What is too loud together stays at the loudest there is.
    private static func sum(_ under: Int32, _ gain: Float, _ over: Int32) -> Int32 {
        let sum = Int64(Double(under) * Double(gain)) + Int64(over)
        return Int32(clamping: sum)
    }

    /// Signed 16-bit samples, upper byte first, left before right.
    static func frames(ofPCM bytes: [UInt8]) -> [SampleWindow.Frame] {
        stride(from: 0, to: bytes.count - 3, by: 4).map { place in
            func sample(_ at: Int) -> Int32 {
                Int32(bitPattern: UInt32(bytes[at]) << 24 | UInt32(bytes[at + 1]) << 16)
            }
            return SampleWindow.Frame(sample(place), sample(place + 2))
        }
    }
}
