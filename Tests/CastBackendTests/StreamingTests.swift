import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

/// Cast Streaming against the simulated receiver, whose streaming side Chromium has proven.
@Suite("Cast Streaming to the simulated receiver", .serialized, .timeLimit(.minutes(10)))
struct StreamingTests {
    private static let seconds = Streaming.isLong ? 60 : 6

    @Test("R5 everything is heard, in time, whatever part is lost on the way", arguments: [0, 0.01, 0.05, 0.1])
    func loss(share: Double) async throws {
        var faults = CastStreamingFaults()
        faults.lose = share
        try await Streaming.withDevices(configure: { $1.faults.streaming = faults }) { devices in
            try await Streaming.withFeed(seconds: Self.seconds) { feed in
                let timeline = try await Streaming.play(feed, on: devices)
                #expect(await devices[0].isFinished())
                // The last frames are heard as the session says so.
                try await Streaming.clock.sleep(nanoseconds: 300_000_000)
                let record = await devices[0].receiver.streamingRecord()
                let sent = devices[0].session.delivered
                let late = try Streaming.lateness(record, timeline)
                let worst = late.map(abs).max() ?? .max
                print(
                    "cast-streaming", "loss=\(share)", "seconds=\(Self.seconds)", "heard=\(record.heardFrames)",
                    "lost=\(record.lostFrames)", "glitches=\(record.glitches)", "missed=\(record.audio.missedFrames)",
                    "datagrams-lost=\(record.lostDatagrams)", "sent=\(sent?.packetsSent ?? 0)",
                    "resent=\(sent?.packetsResent ?? 0)", "delay=\(record.playoutDelay)ms",
                    "worst=\(worst / 1000)us")
                await devices[0].session.end(.stop)
                print("cast-streaming", "sender:", devices[0].report.lines.joined(separator: "; "))
                #expect(record.audio.missedFrames == 0 && record.lostFrames == 0 && record.glitches == 0)
                // What was not sent is no loss, and a hole all the same.
                #expect(record.audio.frames >= Self.seconds * 50, "\(record.unsentFrames) frames of silence")
                #expect(record.audio.refusedPackets == 0 && record.audio.undecodableFrames == 0)
                #expect(record.malformedDatagrams == 0)
                #expect(record.heardFrames >= Self.seconds * 48_000)
                #expect(record.playoutDelay == 400)
                #expect(late.count >= Self.seconds - 2 && worst < 1_000_000)
                #expect((share > 0) == (record.lostDatagrams > 0))
            }
        }
    }

    @Test("R5 a receiver that is slow to report at first is no reason for a hole in the sound")
    func busyAtFirst() async throws {
        try await Streaming.withDevices(configure: { $1.faults.streaming.busyAtFirst = .milliseconds(1_160) }) {
            devices in
            try await Streaming.withFeed(seconds: 6) { feed in
                let timeline = try await Streaming.play(feed, on: devices)
                #expect(await devices[0].isFinished())
                let record = await devices[0].receiver.streamingRecord()
                let late = try Streaming.lateness(record, timeline)
                #expect(record.glitches == 0 && record.audio.missedFrames == 0)
                // The tone's period is 10 ms, and what is followed in small steps is far less.
                #expect(!late.isEmpty && late.allSatisfy { abs($0) < 4_000_000 })
            }
        }
    }

    @Test("R5 two receivers play within a millisecond of each other, however they lose")
    func together() async throws {
        var losing = CastStreamingFaults()
        losing.lose = 0.05
        try await Streaming.withDevices(2, configure: { if $0 == 1 { $1.faults.streaming = losing } }) { devices in
            try await Streaming.withFeed(seconds: Self.seconds) { feed in
                let timeline = try await Streaming.play(feed, on: devices)
                for device in devices { #expect(await device.isFinished()) }
                var all: [[Int64]] = []
                for device in devices {
                    all.append(try Streaming.lateness(await device.receiver.streamingRecord(), timeline))
                }
                let both = all.flatMap { $0 }
                let spread = (both.max() ?? .max) - (both.min() ?? 0)
                print("cast-streaming", "receivers=2", "seconds=\(Self.seconds)", "spread=\(spread / 1000)us")
                #expect(all.allSatisfy { $0.count >= Self.seconds - 2 } && spread < 1_000_000)
            }
        }
    }

    @Test("R5 a pause stops the sound, and it goes on where it was, in time")
    func pausing() async throws {
        try await Streaming.withDevices { devices in
            let (session, receiver) = (devices[0].session, devices[0].receiver)
            try await Streaming.withFeed(seconds: 4) { feed in
                _ = try await Streaming.play(feed, on: devices)
                #expect(await eventually { await receiver.streamingRecord().heardFrames > 48_000 })
                #expect(try await session.perform(.pause) == .succeeded)
                let timeline = Timeline(
                    hostNanoseconds: Streaming.clock.now() + 2_500_000_000, mediaTime: MediaTime(seconds: 2))
                #expect(try await session.perform(.play(timeline, fromFrame: 88_200)) == .succeeded)
                #expect(await devices[0].isFinished())
                let record = await receiver.streamingRecord()
                #expect(record.glitches == 0 && record.audio.missedFrames == 0)
                let resumed = try Streaming.lateness(record, timeline).suffix(1)
                #expect(!resumed.isEmpty && resumed.allSatisfy { abs($0) < 1_000_000 })
            }
        }
    }

    @Test("R5 a receiver that refuses, says nothing, or is gone is told in words")
    func refusals() async throws {
        var refusing = CastStreamingFaults()
        refusing.errorCode = 7
        let refusal = await #expect(throws: RouterError.self) {
            try await Streaming.withDevices(configure: { $1.faults.streaming = refusing }) { _ in }
        }
        #expect(refusal?.code == .unsupported && refusal?.message.contains("code 7") == true)
        try await Streaming.withDevices { devices in
            await devices[0].receiver.appCrashes()
            #expect(
                await eventually {
                    for await update in devices[0].session.updates() { return update.connection == .ended }
                    return false
                })
            await #expect(throws: RouterError.self) { try await devices[0].session.perform(.pause) }
        }
        let wrong = await #expect(throws: RouterError.self) {
            try await Streaming.withDevices(query: "&delay=20") { _ in }
        }
        #expect(wrong?.code == .configuration)
    }

    @Test("R5 a stopped session leaves nothing on the device")
    func stopping() async throws {
        try await Streaming.withDevices { devices in
            #expect(await eventually { await devices[0].receiver.streamingRecord().isRunning })
            await devices[0].session.end(.stop)
            #expect(await eventually { await !devices[0].receiver.streamingRecord().isRunning })
            await devices[0].session.end(.stop)
        }
    }
}
