import AirPlay
import AirPlayBackend
import Foundation
import Pacing
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

extension ShairportSyncTests {
    @Test("A1 A password is asked for, checked and used for all requests")
    func password() async throws {
        let receiver = try await ShairportSync(general: "password = \"open sesame\";")
        defer { receiver.stop() }
        await #expect(throws: RouterError.self) { _ = try await Self.open(receiver) }
        do {
            _ = try await Self.open(receiver)
        } catch let error as RouterError {
            #expect(error.code == .authRequired)
            #expect(error.hint?.contains("ROUTER_PASSWORD") == true)
        }
        do {
            _ = try await Self.open(receiver, password: "wrong")
            Issue.record("a wrong password was taken")
        } catch let error as RouterError {
            #expect(error.code == .authFailed)
            #expect(error.code.exitStatus == 4)
            #expect(!error.description.contains("wrong"))
        }
        let session = try await Self.open(receiver, password: "open sesame")
        let feed = SignalFeed(frames: 352 * 30)
        try await Self.play(feed, on: session)
        #expect(await Self.finished(session))
        await session.end(.stop)
        #expect(Self.compare(receiver.samples, feed.frames).matching == Int(feed.frames))
    }

    @Test("A1 Pause is quick, and playing on begins at the frame asked for")
    func pauseAndResume() async throws {
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let session = try await Self.open(receiver)
        let feed = SignalFeed(frames: 44_100 * 60)
        try await Self.play(feed, on: session)
        #expect(await eventually { Self.compare(receiver.samples, 4000).matching == 4000 })
        #expect(try await session.perform(.pause) == .succeeded)
        #expect(session.descriptor.endpoint.name == "Test")
        #expect(receiver.log.contains("FLUSH"))
        // Whole frames: half of one would make left of right.
        let before = receiver.samples.count / 2 * 2
        let from: Int64 = 352 * 1000
        #expect(try await session.perform(.play(Self.timeline(from), fromFrame: from)) == .succeeded)
        #expect(
            await eventually {
                Self.compare(Array(receiver.samples.dropFirst(before)), from + 8000, from: from).matching == 8000
            })
        await session.end(.stop)
    }

    @Test("A1 Ending the session ends a load that waits for its audio")
    func endWhileLoading() async throws {
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let session = try await Self.open(receiver)
        let asked = AsyncStream.makeStream(of: Void.self)
        let never = AsyncStream.makeStream(of: Void.self)
        let feed = SignalFeed(frames: 44_100) { _ in
            asked.continuation.yield()
            for await _ in never.stream {}
        }
        let loading = Task { try await Self.play(feed, on: session) }
        for await _ in asked.stream { break }
        await session.end(.stop)
        let error = await #expect(throws: RouterError.self) { try await loading.value }
        #expect(error?.code == .cancelled)
        never.continuation.finish()
    }

    @Test("A1 A seek, which is a new feed, replaces the old one")
    func newFeed() async throws {
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let session = try await Self.open(receiver, query: "&cn=0")
        try await Self.play(SignalFeed(frames: 44_100 * 60), on: session)
        #expect(await eventually { Self.compare(receiver.samples, 4000).matching == 4000 })
        let from: Int64 = 352 * 2000
        let feed = SignalFeed(frames: from + 352 * 40)
        try await Self.play(feed, on: session, fromFrame: from)
        #expect(await Self.finished(session))
        let report = Self.compare(receiver.samples, feed.frames, from: from)
        #expect(report.matching == 352 * 40, "\(report)")
        await session.end(.stop)
    }

    @Test("A1 Lost packets are asked for and sent again")
    func lostPackets() async throws {
        // On a busy machine 3.3.8 does not ask for all that it misses; so it may try three times.
        var report = Report()
        let feed = SignalFeed(frames: 352 * 400)
        for _ in 1...3 where report.matching < Int(feed.frames) * 99 / 100 {
            let receiver = try await ShairportSync(diagnostics: "drop_this_fraction_of_audio_packets = 0.05;")
            defer { receiver.stop() }
            let session = try await Self.open(receiver)
            try await Self.play(feed, on: session)
            #expect(await Self.finished(session))
            let statistics = try #require(session as? AirPlayRouteSession).statistics
            await session.end(.stop)
            #expect(statistics.resent > 0)
            #expect(statistics.resendsMissed == 0)
            report = Self.compare(receiver.samples, feed.frames)
        }
        #expect(report.matching >= Int(feed.frames) * 99 / 100, "\(report)")
    }

    @Test("A1 A receiver that dies is told at once, once, and nothing hangs")
    func killed() async throws {
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let session = try await Self.open(receiver)
        try await Self.play(SignalFeed(frames: 44_100 * 60), on: session)
        let updates = session.updates()
        receiver.kill()
        var last: RouteSessionUpdate?
        for await update in updates { last = update }
        #expect(last?.connection == .failed)
        #expect(last?.stopReason == .deviceGone)
        #expect(last?.error?.code == .routeLost)
        await #expect(throws: RouterError.self) { _ = try await session.perform(.pause) }
        await session.end(.stop)
    }

    @Test("A1 A second sender is told that the device is busy")
    func busy() async throws {
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let session = try await Self.open(receiver)
        try await Self.play(SignalFeed(frames: 44_100 * 60), on: session)
        do {
            _ = try await Self.open(receiver)
            Issue.record("a second sender was let in")
        } catch let error as RouterError {
            #expect(error.code == .routeBusy)
        }
        await session.end(.stop)
        // The lock is gone with the session.
        let next = try await Self.open(receiver)
        await next.end(.stop)
    }

    @Test("A1 By IPv6")
    func version6() async throws {
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let session = try await Self.open(receiver, host: "[::1]")
        let feed = SignalFeed(frames: 352 * 30)
        try await Self.play(feed, on: session)
        #expect(await Self.finished(session))
        await session.end(.stop)
        #expect(Self.compare(receiver.samples, feed.frames).matching == Int(feed.frames))
    }

    @Test("A1 Volume is left alone at first and set when asked")
    func volume() async throws {
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let session = try await Self.open(receiver)
        try await Self.play(SignalFeed(frames: 44_100 * 60), on: session)
        // The receiver says by itself how loud it is; nobody has told it to be.
        #expect(!receiver.log.contains("SET_PARAMETER"))
        try await session.setVolume(VolumeState(level: VolumePosition(0.5)))
        #expect(
            await eventually {
                receiver.metadata["ssnc pvol"]?.contains { String(decoding: $0, as: UTF8.self).hasPrefix("-15.00") }
                    == true
            })
        await session.end(.stop)
    }
}
