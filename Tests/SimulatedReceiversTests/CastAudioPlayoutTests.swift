import Testing

@testable import SimulatedReceivers

@Suite("R5 Cast Streaming receiver: what is heard, and when")
struct CastAudioPlayoutTests {
    /// 10 ms frames whose samples tell their own place; frame 0 is captured at 0 and heard 200 ms later.
    private final class Stream {
        var playout = CastAudioPlayout()
        var clock = CastSenderClock(clockRate: 48_000)

        init() { clock.report(time: 0, timestamp: 0, arrival: 0) }

        static func samples(_ frames: Range<Int>) -> [Int16] {
            frames.flatMap { [Int16(truncatingIfNeeded: $0 + 1), Int16(truncatingIfNeeded: ~$0)] }
        }

        func insert(_ frame: Int, delay: Int = 200, afterLoss: Bool = false) -> Bool {
            playout.insert(
                start: Int64(frame * 480), samples: Self.samples(frame * 480..<(frame + 1) * 480), delay: delay,
                isAfterLoss: afterLoss)
        }

        func render(until end: Int, from start: Int = 0) -> CastAudioPlayout.Rendering {
            var all = CastAudioPlayout.Rendering()
            for milliseconds in stride(from: start, through: end, by: 10) {
                let part = playout.render(at: Int64(milliseconds) * 1_000_000, clock)
                all.samples += part.samples
                all.lostFrames += part.lostFrames
                all.unsentFrames += part.unsentFrames
                all.marks += part.marks
            }
            return all
        }
    }

    @Test("R5 nothing before its time, then every sample once, with a mark each second")
    func inOrder() {
        let stream = Stream()
        for frame in 0..<250 { #expect(stream.insert(frame)) }
        #expect(stream.render(until: 200).samples.isEmpty)
        let half = stream.render(until: 1_205, from: 210)
        #expect(half.samples.count == 2 * 48_000)
        let rest = stream.render(until: 4_000, from: 1_210)
        #expect(same(half.samples + rest.samples, Stream.samples(0..<120_000)))
        #expect(half.lostFrames + rest.lostFrames == 0)
        let marks = half.marks + rest.marks
        #expect(marks.map(\.frame) == [0, 48_000, 96_000])
        #expect(marks.map(\.timestamp) == [0, 48_000, 96_000])
        #expect(marks.map(\.hostNanoseconds) == [200_000_000, 1_200_000_000, 2_200_000_000])
        #expect(stream.playout.waiting == 0)
    }

    @Test("R5 what was lost is silence of its length and counted; what was never sent is silence and counted apart")
    func gaps() {
        let stream = Stream()
        for frame in [0, 1, 3, 4, 6] { #expect(stream.insert(frame, afterLoss: frame == 3)) }
        let heard = stream.render(until: 400)
        let silence = [Int16](repeating: 0, count: 960)
        let expected =
            Stream.samples(0..<960) + silence + Stream.samples(1_440..<2_400) + silence + Stream.samples(2_880..<3_360)
        #expect(same(heard.samples, expected))
        #expect(heard.lostFrames == 480 && heard.unsentFrames == 480)
    }

    @Test("R5 what comes after its time is not heard late: silence in its place, and the rest in time")
    func late() {
        let stream = Stream()
        #expect(stream.insert(0))
        var all = stream.render(until: 250)
        #expect(stream.insert(1))
        #expect(stream.insert(2))
        #expect(stream.insert(3))
        #expect(stream.insert(4))
        #expect(stream.insert(5))
        let rest = stream.render(until: 400, from: 260)
        all.samples += rest.samples
        // At 250 ms the loudspeaker had come to the end of frame 4.
        let expected = Stream.samples(0..<480) + [Int16](repeating: 0, count: 8 * 480) + Stream.samples(2_400..<2_880)
        #expect(same(all.samples, expected))
        #expect(rest.lostFrames == 4 * 480)
    }

    @Test("R5 a longer delay is heard as silence of the difference, a shorter one leaves sound out")
    func delays() {
        let stream = Stream()
        for frame in 0..<10 { #expect(stream.insert(frame, delay: frame < 5 ? 200 : 230)) }
        let longer = stream.render(until: 340)
        #expect(
            same(
                longer.samples,
                Stream.samples(0..<2_400) + [Int16](repeating: 0, count: 2 * 1_440) + Stream.samples(2_400..<4_800)))
        #expect(longer.lostFrames == 0)
        #expect(longer.marks.map(\.frame) == [0, 2_400 + 1_440])
        #expect(longer.marks.map(\.hostNanoseconds) == [200_000_000, 280_000_000])

        let shorter = Stream()
        for frame in 0..<10 { #expect(shorter.insert(frame, delay: frame < 5 ? 200 : 180)) }
        let heard = shorter.render(until: 400)
        #expect(same(heard.samples, Stream.samples(0..<2_400) + Stream.samples(3_360..<4_800)))
    }

    @Test("R5 what goes back in time, and what is too much, is not taken")
    func limits() {
        let stream = Stream()
        #expect(stream.insert(1))
        #expect(!stream.insert(0))
        #expect(!stream.insert(1))
        for frame in 2...1_000 { #expect(stream.insert(frame)) }
        #expect(!stream.insert(1_001))
        #expect(stream.playout.waiting == 480_000)
    }

    @Test("R5 after a pause longer than ten seconds the sound begins anew, without as much silence")
    func restart() {
        let stream = Stream()
        #expect(stream.insert(0))
        _ = stream.render(until: 300)
        #expect(stream.insert(2_000))
        let heard = stream.render(until: 21_000, from: 310)
        #expect(heard.samples.count == 960)
        #expect(heard.marks.map(\.hostNanoseconds) == [20_200_000_000])
    }
}
