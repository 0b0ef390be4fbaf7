import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@Suite("Secrets")
struct SecretTests {
    @Test("a secret never prints, whatever prints it")
    func never() {
        let options = OpenOptions(password: Secret("s3cret"))
        var dumped = ""
        dump(options, to: &dumped)
        dump([Secret("s3cret")], to: &dumped)
        debugPrint(Secret("s3cret"), ["a": Secret("s3cret")], to: &dumped)
        print(Secret("s3cret"), Optional(Secret("s3cret")) as Any, options, to: &dumped)
        dumped += "\(Secret("s3cret"))" + String(reflecting: options) + String(describing: Secret("s3cret"))
        #expect(!dumped.contains("s3cret"))
        #expect(dumped.contains("••••"))
        #expect(Secret("s3cret").revealed == "s3cret")
    }

    @Test("neither does the token of a loaded URL")
    func token() {
        let token = MediaToken.random()
        let update = RouteSessionUpdate(loaded: token)
        #expect(!"\(update)".contains(token.rawValue))
    }
}

@Suite("Timeline")
struct TimelineTests {
    private static let rates = [44_100, 48_000]

    @Test("an instant of a frame gives that frame again, at any anchor", arguments: rates)
    func inverse(rate: Int) {
        for _ in 0..<2000 {
            let timeline = Timeline(
                hostNanoseconds: .random(in: 0...(1 << 50)),
                mediaTime: MediaTime(frames: .random(in: 0...(1 << 32)), sampleRate: rate))
            let frame = Int64.random(in: 0...(1 << 33))
            let instant = timeline.instant(ofFrame: frame, sampleRate: rate)
            // An instant is a whole nanosecond and a tick has 35.4 of them: a frame begins within 40 ns of it.
            #expect(timeline.frame(at: instant + 40, sampleRate: rate) == frame)
            #expect(timeline.frame(at: instant - 40, sampleRate: rate) == frame - 1)
        }
    }

    @Test("at the anchor it is the anchor's frame, a second later a second's frames on", arguments: rates)
    func anchor(rate: Int) {
        let timeline = Timeline(
            hostNanoseconds: 7_000_000_000, mediaTime: MediaTime(frames: 1000, sampleRate: rate))
        #expect(timeline.instant(ofFrame: 1000, sampleRate: rate) == 7_000_000_000)
        #expect(timeline.frame(at: 7_000_000_000, sampleRate: rate) == 1000)
        #expect(timeline.frame(at: 8_000_000_000, sampleRate: rate) == 1000 + Int64(rate))
        #expect(timeline.instant(ofFrame: 1000 + Int64(rate), sampleRate: rate) == 8_000_000_000)
        #expect(timeline.frame(at: 6_000_000_000, sampleRate: rate) == 1000 - Int64(rate))
        #expect(timeline.mediaTime(at: 8_000_000_000) == timeline.mediaTime + MediaTime(milliseconds: 1000))
    }

    @Test("frames never run backwards as time goes on", arguments: rates)
    func monotone(rate: Int) {
        let timeline = Timeline(hostNanoseconds: 1_000_003, mediaTime: .zero)
        var last = timeline.frame(at: 0, sampleRate: rate)
        for instant in stride(from: Int64(0), to: 100_000_000, by: 997) {
            let frame = timeline.frame(at: instant, sampleRate: rate)
            #expect(frame >= last && frame - last <= 1)
            last = frame
        }
    }

    @Test("instants of packets keep their spacing for days: no drift", arguments: rates)
    func spacing(rate: Int) {
        let timeline = Timeline(hostNanoseconds: 12_345, mediaTime: .zero)
        let day = Int64(rate) * 86_400
        #expect(timeline.instant(ofFrame: day * 3, sampleRate: rate) == 12_345 + 3 * 86_400 * 1_000_000_000)
    }

    @Test("R5 a room's offset moves all of its instants by that much")
    func shifted() {
        let timeline = Timeline(hostNanoseconds: 1000, mediaTime: .zero)
        let later = timeline.shifted(byNanoseconds: 20_000_000)
        for frame in [Int64(0), 352, 44_100] {
            #expect(
                later.instant(ofFrame: frame, sampleRate: 44_100)
                    == timeline.instant(ofFrame: frame, sampleRate: 44_100) + 20_000_000)
        }
        #expect(later.shifted(byNanoseconds: -20_000_000) == timeline)
    }

    @Test("C14 at double rate a frame is heard in half the time")
    func rate() {
        let timeline = Timeline(hostNanoseconds: 0, mediaTime: .zero, rate: 2)
        #expect(timeline.instant(ofFrame: 44_100, sampleRate: 44_100) == 500_000_000)
        #expect(timeline.frame(at: 500_000_000, sampleRate: 44_100) == 44_100)
    }
}

@Suite("Host clocks")
struct HostClockTests {
    @Test("the system's clock goes forward, and a sleep ends at or after its instant")
    func system() async throws {
        let clock = SystemHostClock()
        let start = clock.now()
        try await clock.sleep(nanoseconds: 1_000_000)
        #expect(clock.now() >= start + 1_000_000)
        try await clock.sleep(until: start)
    }

    @Test("a cancelled sleep throws, on both clocks")
    func cancelled() async {
        for clock in [SystemHostClock(), ManualClock()] as [any HostClock] {
            await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    do {
                        try await clock.sleep(nanoseconds: 3_600_000_000_000)
                        return false
                    } catch {
                        return error is CancellationError
                    }
                }
                group.cancelAll()
                for await thrown in group { #expect(thrown) }
            }
        }
    }

    @Test("the manual clock wakes who is due and nobody else")
    func manual() async throws {
        let clock = ManualClock(now: 0)
        try await withThrowingTaskGroup(of: Int64.self) { group in
            for instant: Int64 in [100, 200] {
                group.addTask {
                    try await clock.sleep(until: instant)
                    return instant
                }
            }
            #expect(await eventually { clock.sleepers == 2 })
            #expect(clock.nextDeadline == 100)
            clock.advance(nanoseconds: 150)
            let first = try await group.next()
            #expect(first == 100)
            #expect(clock.sleepers == 1)
            clock.advance(nanoseconds: 50)
            let second = try await group.next()
            #expect(second == 200)
        }
        try await clock.sleep(until: 200)
    }
}
