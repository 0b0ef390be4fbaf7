import CastV2
import Foundation
import RouterTestKit
import SimulatedReceivers
import Testing

/// What a simulated receiver does as time goes by, with a clock that is turned by hand.
@Suite struct CastHeartbeatTests {
    @Test("R8 a silent sender is asked after five seconds and dropped after fifteen")
    func silence() async throws {
        let clock = ManualClock()
        let receiver = try SimulatedCastReceiver(
            SimulatedCastConfiguration(name: "asleep", port: 0, httpPort: nil), clock: clock)
        let port = try await receiver.start().port
        let sender = try await CastTestSender(port: port)
        #expect(await eventually { await receiver.record().words.contains("senderJoined") })

        await turn(clock, seconds: 4.5)
        await sender.say(CastTestSender.ping, in: CastNamespace.heartbeat)
        #expect(await sender.hear("PONG") != nil)
        await turn(clock, seconds: 4.5)
        #expect(await sender.received.contains { $0.type == "PING" } == false)
        await turn(clock, seconds: 1)
        #expect(await sender.hear("PING") != nil)
        await turn(clock, seconds: 8.5)
        #expect(await sender.closed == false)
        await turn(clock, seconds: 1.5)
        #expect(await eventually { await sender.closed })
        #expect(await receiver.record().words.contains("silent"))
        await receiver.stop()
        #expect(clock.sleepers == 0)
    }

    /// Turns the clock in steps that the receiver's ticks can follow.
    private func turn(_ clock: ManualClock, seconds: Double) async {
        for _ in 0..<Int(seconds * 4) {
            _ = await eventually { clock.sleepers > 0 }
            clock.advance(seconds: 0.25)
        }
        _ = await eventually { clock.sleepers > 0 }
    }

    @Test("a playing receiver that is stopped leaves no timer, connection or event stream behind")
    func stopLeavesNothing() async throws {
        let tone = try await CastTestTone.make(seconds: 60)
        let server = try await CastTestMediaServer(tone)
        let clock = ManualClock()
        let receiver = try SimulatedCastReceiver(
            SimulatedCastConfiguration(name: "stopped", port: 0, httpPort: nil), clock: clock)
        let port = try await receiver.start().port
        let sender = try await CastTestSender(port: port)
        let transport = try #require(await sender.launchPlayer())
        await sender.say(CastMediaTests.load(server.url, request: 2), in: CastNamespace.media, to: transport)
        #expect(await sender.hearState("PLAYING") != nil)
        let events = await receiver.events()
        await receiver.stop()
        #expect(await eventually { clock.sleepers == 0 })
        #expect(await eventually { await sender.closed })
        // The stream ends with the receiver.
        for await _ in events {}
        await server.stop()
    }

    @Test("exactly what the clock allows is heard")
    func heardByTheClock() async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 10))
        let clock = ManualClock()
        let receiver = try SimulatedCastReceiver(
            SimulatedCastConfiguration(name: "exact", port: 0, httpPort: nil), clock: clock)
        let port = try await receiver.start().port
        let sender = try await CastTestSender(port: port)
        let transport = try #require(await sender.launchPlayer())
        await sender.say(CastMediaTests.load(server.url, request: 2), in: CastNamespace.media, to: transport)
        #expect(await sender.hearState("PLAYING") != nil)
        for step in 1...5 {
            clock.advance(seconds: 0.1)
            #expect(await eventually { await receiver.record().heardFrames == step * 4_410 })
        }
        #expect(abs(await receiver.record().position - 0.5) < 1e-6)
        await sender.say(
            ["type": "PAUSE", "requestId": 3, "mediaSessionId": 1], in: CastNamespace.media, to: transport)
        #expect(await sender.hearState("PAUSED") != nil)
        clock.advance(seconds: 3)
        #expect(await receiver.record().heardFrames == 22_050)
        await sender.close()
        await receiver.stop()
        await server.stop()
    }
}
