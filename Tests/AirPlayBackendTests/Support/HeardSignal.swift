import Foundation
import RouteBackend
import RouteModel

/// What a simulated receiver recorded of a `SignalFeed`.
struct HeardSignal {
    /// Left and right in turn.
    let samples: [Int16]

    init(_ file: URL) {
        guard let data = try? Data(contentsOf: file), data.count > 44 else {
            samples = []
            return
        }
        let body = Array(data.dropFirst(44))
        samples = (0..<(body.count / 2)).map {
            Int16(bitPattern: UInt16(body[$0 * 2]) | UInt16(body[$0 * 2 + 1]) << 8)
        }
    }

    /// How many frames of the signal were heard exactly, from its first one on.
    func exactFrames(_ frames: Int64, from first: Int64 = 0) -> Int {
        func matches(_ position: Int, _ frame: Int64) -> Bool {
            guard position * 2 + 1 < samples.count else { return false }
            let wanted = SignalFeed.samples(frame)
            return samples[position * 2] == wanted.0 && samples[position * 2 + 1] == wanted.1
        }
        guard
            let start = (0..<(samples.count / 2)).first(where: { position in
                (0..<8).allSatisfy { matches(position + $0, first + Int64($0)) }
            })
        else { return 0 }
        return (first..<frames).count { matches(start + Int($0 - first), $0) }
    }

    static func play(_ feed: SignalFeed, on session: any RouteSession, after milliseconds: Int64) async throws {
        let timeline = Timeline(
            hostNanoseconds: SystemHostClock().now() + milliseconds * 1_000_000,
            mediaTime: MediaTime(frames: 0, sampleRate: 44_100))
        try await session.load(.push(PushMedia(feed: feed, fromFrame: 0)), timeline: timeline, autoplay: true)
    }
}
