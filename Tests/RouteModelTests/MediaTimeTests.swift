import RouteModel
import Testing

@Suite("Media time")
struct MediaTimeTests {
    private static let rates = [8000, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 192_000]

    @Test("frames go to ticks and back without loss at every rate", arguments: rates)
    func frames(rate: Int) {
        for _ in 0..<2000 {
            let frame = Int64.random(in: -(1 << 40)...(1 << 40))
            let time = MediaTime(frames: frame, sampleRate: rate)
            #expect(time.frames(sampleRate: rate) == frame)
            // One tick less is still the frame before: rounding is down on both sides of zero.
            #expect(MediaTime(ticks: time.ticks - 1).frames(sampleRate: rate) == frame - 1)
        }
    }

    @Test("a second is a second in every unit")
    func second() {
        let second = MediaTime(milliseconds: 1000)
        #expect(second.ticks == MediaTime.ticksPerSecond)
        #expect(second.seconds == 1)
        #expect(second.nanoseconds == 1_000_000_000)
        #expect(MediaTime(nanoseconds: 1_000_000_000) == second)
        #expect(MediaTime(seconds: 1) == second)
        for rate in Self.rates {
            #expect(MediaTime.ticksPerSecond % Int64(rate) == 0, "\(rate)")
            #expect(MediaTime(frames: Int64(rate), sampleRate: rate) == second)
        }
    }

    @Test("no number that a device may send overflows a time, nor a position that grows from it")
    func extremes() {
        let (most, least) = (MediaTime(seconds: 1e300), MediaTime(seconds: -1e300))
        #expect(most - least == most && most + most == most && least - most == least)
        #expect(MediaTime(frames: .max, sampleRate: 8000) == most && MediaTime(milliseconds: .min) == least)
        #expect(MediaTime(nanoseconds: .max) > .zero && MediaTime(ticks: .min) == least)
        // A few of them can be added in nanoseconds, too.
        #expect(most.nanoseconds > 100 * 31_557_600 * 1_000_000_000 && most.nanoseconds < .max / 2)
        for rate in [1e300, -1e300, .infinity, .nan] {
            let anchor = PlaybackAnchor(
                item: ItemID(rawValue: "a"), time: most, instant: 0, rate: rate, quality: .deviceReported)
            #expect(anchor.position(at: 9_000_000_000_000) >= .zero)
        }
    }

    @Test("times add up over item borders without drift")
    func sums() {
        // A thousand packets of 352 frames are one of 352,000.
        var sum = MediaTime.zero
        for _ in 0..<1000 { sum += MediaTime(frames: 352, sampleRate: 44_100) }
        #expect(sum == MediaTime(frames: 352_000, sampleRate: 44_100))
        #expect(sum - sum == .zero)
    }

    @Test("nanoseconds are within one of the truth, and never run backwards")
    func nanoseconds() {
        for _ in 0..<2000 {
            let ticks = Int64.random(in: -(1 << 50)...(1 << 50))
            let exact = Double(ticks % 28_224_000) * 1e9 / 28_224_000
            let whole = (ticks / 28_224_000) * 1_000_000_000
            #expect(abs(Double(MediaTime(ticks: ticks).nanoseconds - whole) - exact) <= 1)
        }
        for start: Int64 in [-10_000, 0, 1 << 45] {
            var last = MediaTime(ticks: start).nanoseconds
            for ticks in (start + 1)...(start + 10_000) {
                let next = MediaTime(ticks: ticks).nanoseconds
                #expect(next > last)
                last = next
            }
        }
    }

    @Test("nanoseconds to ticks never run backwards, and come back within one tick")
    func fromNanoseconds() {
        for start: Int64 in [-200_000, 0, 1 << 50] {
            var last = MediaTime(nanoseconds: start)
            for nanoseconds in (start + 1)...(start + 20_000) {
                let next = MediaTime(nanoseconds: nanoseconds)
                #expect(next >= last)
                #expect(abs(next.nanoseconds - nanoseconds) <= 36)
                last = next
            }
        }
    }

    @Test("a hundred years do not overflow")
    func long() {
        let century: Int64 = 100 * 366 * 86_400
        let time = MediaTime(milliseconds: century * 1000)
        #expect(time.nanoseconds == century * 1_000_000_000)
        #expect(MediaTime(nanoseconds: century * 1_000_000_000) == time)
        #expect(time.frames(sampleRate: 192_000) == century * 192_000)
    }

    @Test("seconds that are no number or beyond range are clamped")
    func clamped() {
        #expect(MediaTime(seconds: .nan) == .zero)
        #expect(MediaTime(seconds: .infinity).ticks == MediaTime.mostTicks)
        #expect(MediaTime(seconds: -.infinity).ticks == -MediaTime.mostTicks)
        #expect(MediaTime(seconds: 1e300) == MediaTime(seconds: .infinity))
    }
}

@Suite("Playback anchors")
struct PlaybackAnchorTests {
    private func anchor(rate: Double, duration: MediaTime? = nil) -> PlaybackAnchor {
        PlaybackAnchor(
            item: ItemID(rawValue: "01"), time: MediaTime(milliseconds: 10_000), instant: 5_000_000_000, rate: rate,
            quality: .exact, duration: duration)
    }

    @Test("a position is the anchor's time and what has gone by since, at its rate")
    func extrapolation() {
        #expect(anchor(rate: 1).position(at: 5_000_000_000) == MediaTime(milliseconds: 10_000))
        #expect(anchor(rate: 1).position(at: 7_500_000_000) == MediaTime(milliseconds: 12_500))
        #expect(anchor(rate: 2).position(at: 7_500_000_000) == MediaTime(milliseconds: 15_000))
        #expect(anchor(rate: 1).position(at: 4_000_000_000) == MediaTime(milliseconds: 9000))
    }

    @Test("paused it stands still")
    func paused() {
        #expect(anchor(rate: 0).position(at: .max / 2) == MediaTime(milliseconds: 10_000))
    }

    @Test("it never leaves the item")
    func clamped() {
        let length = MediaTime(milliseconds: 11_000)
        #expect(anchor(rate: 1, duration: length).position(at: 9_000_000_000_000) == length)
        #expect(anchor(rate: 1).position(at: -9_000_000_000_000) == .zero)
        #expect(anchor(rate: -1, duration: length).position(at: 9_000_000_000_000) == .zero)
    }

    @Test("A9 a session's snapshot tells its position by its own clock")
    func snapshot() {
        var snapshot = SessionSnapshot(
            id: SessionID(rawValue: "se"), queue: QueueSnapshot(version: 0, items: [], current: nil), now: 6_000_000_000
        )
        #expect(snapshot.position == nil)
        snapshot.anchor = anchor(rate: 1)
        #expect(snapshot.position == MediaTime(milliseconds: 11_000))
    }
}
