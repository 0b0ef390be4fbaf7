import Foundation

/// Takes audio from one sample rate to another, exactly: output frame n lies at input frame n × `from` / `to`, for ever.
///
/// A polyphase filter (windowed sinc, Kaiser, some 90 dB) that keeps no state: any stretch of the output can be had
/// whose input is at hand, in any order, and is the same whoever asks. So packets of a second rate fit the same feed.
struct Resampler: Sendable {
    /// Input frames that one output frame is made of.
    static let taps = 48
    private static let kaiserBeta = 9.0

    /// The rates, without common factors.
    let from: Int64
    let to: Int64
    /// For each of `to` phases, `taps` coefficients.
    private let coefficients: [Float]

    /// - Parameters: samples per second.
    init(from source: Int, to target: Int) {
        let divisor = Self.greatestCommonDivisor(source, target)
        from = Int64(source / divisor)
        to = Int64(target / divisor)
        coefficients = Self.filter(phases: target / divisor, cutoff: min(1, Double(target) / Double(source)))
    }

    /// The input that these output frames are made of: from before the first to after the last, so that it may begin
    /// below 0.
    func input(of output: Range<Int64>) -> Range<Int64> {
        let half = Int64(Self.taps / 2)
        return (position(output.lowerBound) - half + 1)..<(position(output.upperBound - 1) + half + 1)
    }

    /// The output frame at an input frame, rounded down.
    func output(atInput frame: Int64) -> Int64 { Self.floor(frame * to, from) }

    /// How many output frames there are of so much input.
    func output(ofInputFrames count: Int64) -> Int64 { -Self.floor(-count * to, from) }

    /// Makes output frames of one channel.
    ///
    /// - Parameters:
    ///   - input: the frames that `input(of:)` names, `stride` apart.
    ///   - output: receives the frames, `stride` apart.
    func run(
        _ range: Range<Int64>, input: UnsafePointer<Float>, into output: UnsafeMutablePointer<Float>, stride: Int
    ) {
        let origin = position(range.lowerBound)
        coefficients.withUnsafeBufferPointer { coefficients in
            guard let table = coefficients.baseAddress else { return }
            for frame in range {
                let at = Self.floor(frame * from, to)
                let phase = Int(frame * from - at * to)
                let row = table + phase * Self.taps
                let first = input + Int(at - origin) * stride
                var sum: Float = 0
                for tap in 0..<Self.taps { sum += row[tap] * first[tap * stride] }
                output[Int(frame - range.lowerBound) * stride] = sum
            }
        }
    }

    /// The input frame at or before an output frame.
    private func position(_ output: Int64) -> Int64 { Self.floor(output * from, to) }

    private static func filter(phases: Int, cutoff: Double) -> [Float] {
        let half = Double(taps / 2)
        // A little below the edge, for the slope of the filter to fit in.
        let edge = cutoff * 0.95
        var table: [Float] = []
        table.reserveCapacity(phases * taps)
        for phase in 0..<phases {
            let row = (0..<taps).map { tap in
                let x = Double(tap) - half + 1 - Double(phase) / Double(phases)
                let sinc = x == 0 ? 1 : sin(.pi * edge * x) / (.pi * edge * x)
                let window = bessel(kaiserBeta * max(0, 1 - x * x / (half * half)).squareRoot()) / bessel(kaiserBeta)
                return sinc * window
            }
            // Each phase passes a constant unchanged.
            let sum = row.reduce(0, +)
            table += row.map { Float($0 / sum) }
        }
        return table
    }

    /// The modified Bessel function of order zero.
    private static func bessel(_ x: Double) -> Double {
        var sum = 1.0
        var term = 1.0
        for k in 1..<40 {
            term *= (x / 2 / Double(k)) * (x / 2 / Double(k))
            sum += term
        }
        return sum
    }

    private static func floor(_ number: Int64, _ by: Int64) -> Int64 {
        number >= 0 ? number / by : -((-number + by - 1) / by)
    }

    private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : greatestCommonDivisor(b, a % b) }
}
