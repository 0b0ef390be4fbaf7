/// A feed's frames at any rate, as an encoder takes them: resampled exactly where the rate is another.
///
/// Owned by one actor and never leaves it.
final class RateReader {
    /// Nil where the rate is the feed's own.
    private let resampler: Resampler?
    private var input: [Float] = []

    init(from feedRate: Int, to rate: Int) {
        resampler = feedRate == rate ? nil : Resampler(from: feedRate, to: rate)
    }

    /// The feed's frames that these are made of; those below 0 are silence.
    func source(of frames: Range<Int64>) -> Range<Int64> { resampler?.input(of: frames) ?? frames }

    /// Writes these frames, -1 to 1, each channel's `stride` apart. What the window does not hold is silence.
    func read(
        _ frames: Range<Int64>, of window: SampleWindow, left: UnsafeMutablePointer<Float>,
        right: UnsafeMutablePointer<Float>, stride: Int
    ) {
        let source = source(of: frames)
        let silent = Int(min(max(0, window.start - source.lowerBound), Int64(source.count)))
        input.removeAll(keepingCapacity: true)
        input.append(contentsOf: repeatElement(0, count: 2 * silent))
        if silent < source.count {
            window.withFrames(from: source.lowerBound + Int64(silent), count: source.count - silent) { run, _ in
                for frame in run {
                    input.append(PCM.float(frame.x))
                    input.append(PCM.float(frame.y))
                }
            }
        }
        input.withUnsafeBufferPointer { input in
            guard let first = input.baseAddress else { return }
            if let resampler {
                // The input lies two apart, and so does the output as the resampler writes it.
                withUnsafeTemporaryAllocation(of: Float.self, capacity: 2 * frames.count) { both in
                    guard let made = both.baseAddress else { return }
                    for channel in 0..<2 {
                        resampler.run(frames, input: first + channel, into: made + channel, stride: 2)
                    }
                    Self.spread(made, frames.count, left, right, stride)
                }
            } else {
                Self.spread(first, frames.count, left, right, stride)
            }
        }
    }

    private static func spread(
        _ both: UnsafePointer<Float>, _ count: Int, _ left: UnsafeMutablePointer<Float>,
        _ right: UnsafeMutablePointer<Float>, _ stride: Int
    ) {
        for index in 0..<count {
            left[index * stride] = both[2 * index]
            right[index * stride] = both[2 * index + 1]
        }
    }
}
