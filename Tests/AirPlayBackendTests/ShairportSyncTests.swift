import AirPlay
import AirPlayBackend
import Foundation
import Pacing
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

/// Against Debian's shairport-sync: an independent reading of everything the sender does.
@Suite(
    "RAOP against shairport-sync", .serialized,
    .enabled(if: ShairportSync.missing == nil, "shairport-sync cannot be run here"))
struct ShairportSyncTests {
    static let picture: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    @Test("A1 Every sample arrives", arguments: ["", "&cn=0", "&et=1", "&cn=0&et=1"])
    func everySample(query: String) async throws {
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let session = try await Self.open(receiver, query: query)
        let feed = SignalFeed(frames: 352 * 250 + 100)
        try await Self.play(feed, on: session)
        try await session.present(Self.nowPlaying(feed))
        #expect(await Self.finished(session))
        let heard = receiver.samples
        await session.end(.stop)
        let report = Self.compare(heard, feed.frames)
        #expect(report.matching == Int(feed.frames), "\(report)")
        #expect(await eventually { receiver.metadata["core minm"] == [Data("Title ü".utf8)] })
        #expect(receiver.metadata["core asar"]?.last == Data("Artist".utf8))
        #expect(receiver.metadata["core asal"]?.last == Data("Album".utf8))
        #expect(await eventually { receiver.metadata["ssnc PICT"]?.last == Data(Self.picture) })
        #expect(receiver.metadata["ssnc prgr"]?.isEmpty == false)
    }

    // MARK: - Steps

    static func open(_ receiver: ShairportSync, query: String = "", password: String? = nil, host: String = "127.0.0.1")
        async throws
        -> any RouteSession
    {
        let provider = AirPlayProvider(clock: SystemHostClock(), pacer: try Pacer())
        let uri = try DeviceURI("raop://\(host):\(receiver.port)?name=Test\(query)")
        return try await provider.open(
            provider.endpoint(from: uri), options: OpenOptions(password: password.map(Secret.init)))
    }

    static func play(_ feed: SignalFeed, on session: any RouteSession, fromFrame: Int64 = 0) async throws {
        try await session.load(
            .push(PushMedia(feed: feed, fromFrame: fromFrame)), timeline: timeline(fromFrame), autoplay: true)
    }

    /// A little over two seconds from now.
    static func timeline(_ fromFrame: Int64) -> Timeline {
        Timeline(
            hostNanoseconds: SystemHostClock().now() + 2_050_000_000,
            mediaTime: MediaTime(frames: fromFrame, sampleRate: 44_100))
    }

    static func nowPlaying(_ feed: SignalFeed) -> NowPlaying {
        NowPlaying(
            item: ItemID(rawValue: "01"),
            metadata: MediaMetadata(kind: .music, title: "Title ü", artist: "Artist", album: "Album"),
            artwork: Artwork(mimeType: "image/jpeg", bytes: picture), startFrame: 0, durationFrames: feed.frames)
    }

    static func finished(_ session: any RouteSession) async -> Bool {
        for await update in session.updates() where update.media == .stopped { return update.stopReason == .finished }
        return false
    }

    struct Report: CustomStringConvertible {
        var first: Int?
        var matching = 0
        var worst = 0
        /// The packets, counted from the first frame wanted, that have a frame which does not match.
        var missing: [Int64] = []
        var description: String {
            "begins at \(first ?? -1), \(matching) frames within 2, worst \(worst), missing \(missing.prefix(40))"
        }
    }

    /// How many frames of the signal, from its first one on, were written within 2 of what they should be.
    static func compare(_ heard: [Int16], _ frames: Int64, from firstFrame: Int64 = 0) -> Report {
        var report = Report()
        func matches(_ position: Int, _ frame: Int64) -> Bool {
            guard position >= 0, position * 2 + 1 < heard.count else { return false }
            let wanted = SignalFeed.samples(frame)
            return abs(Int(heard[position * 2]) - Int(wanted.0)) <= 2
                && abs(Int(heard[position * 2 + 1]) - Int(wanted.1)) <= 2
        }
        report.first = (0..<(heard.count / 2)).first { position in
            (0..<8).allSatisfy { matches(position + $0, firstFrame + Int64($0)) }
        }
        guard let first = report.first else { return report }
        for frame in firstFrame..<frames {
            guard !matches(first + Int(frame - firstFrame), frame) else {
                report.matching += 1
                continue
            }
            let packet = (frame - firstFrame) / 352
            if report.missing.last != packet { report.missing.append(packet) }
        }
        return report
    }
}
