import Foundation
import RouteBackend
import RouterTestKit
import Testing

@testable import SimulatedReceivers

@Suite("R8 the simulated player")
struct SimulatedPlayerTests {
    @Test("R8 between what a device hears and what it does about it, no sound passes, however long that is")
    func held() async throws {
        let clock = ManualClock()
        let player = try SimulatedPlayer(clock: clock, recording: nil, bufferingNanoseconds: 0)
        await player.load(
            PlayerLoad(url: "", contentType: "audio/flac", start: 0, end: nil, silence: 3), generation: 1)
        for await event in player.events {
            if case .buffered = event.kind { break }
        }
        await player.play(since: clock.now())
        clock.advance(nanoseconds: 500_000_000)
        let (instant, ending) = await player.hold()
        #expect(instant == clock.now() && ending == nil)
        #expect(await player.recordedFrames == 22_050)
        // Ticks go by while the owner makes up its mind.
        for _ in 0..<50 {
            clock.advance(nanoseconds: SimulatedPlayer.tickNanoseconds)
            await Task.yield()
        }
        await player.halt(at: instant)
        #expect(await player.recordedFrames == 22_050)
        await player.release()

        // What ends meanwhile is told with the hold, and no later than its last frame.
        await player.play(since: clock.now())
        clock.advance(nanoseconds: 9_000_000_000)
        let last = await player.hold().ending
        #expect(last?.kind == .ended(heardFrames: 5 * 22_050))
        #expect(await player.recordedFrames == 3 * 44_100)
        // Once: generations begin anew with the next app, and it would be taken for an end of that one's media.
        #expect(await player.hold().ending == nil)
        await player.shutDown()
    }
}
