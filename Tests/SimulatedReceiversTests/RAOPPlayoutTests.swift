import Testing

@testable import SimulatedReceivers

/// Compared as a truth: a failure must not print a hundred thousand samples.
func same(_ left: some Sequence<Int16>, _ right: some Sequence<Int16>) -> Bool { left.elementsEqual(right) }

@Suite("RAOP receiver: order, gaps and due times")
struct RAOPPlayoutTests {
    /// A packet's worth of frames, each holding its own number.
    func samples(_ start: UInt32, count: Int = 352) -> [Int16] {
        (0..<count).flatMap { index -> [Int16] in
            let value = Int16(truncatingIfNeeded: start &+ UInt32(index))
            return [value, ~value]
        }
    }

    /// Stream of `sequence` and `rtp`, whose first frame is heard at 1 s of the host's clock, with a sender's clock that
    /// is 5 s ahead.
    struct Stream {
        var playout = RAOPPlayout(latencyFrames: 11_025)
        var sequence: UInt16 = 100
        var rtp: UInt32 = 44_100
        static let offset: Int64 = 5_000_000_000

        init(sequence: UInt16 = 100, rtp: UInt32 = 44_100) {
            self.sequence = sequence
            self.rtp = rtp
            playout.expect(sequence: sequence)
            // Heard 11,025 frames after the sync's own time, which is a quarter of a second.
            playout.sync(playing: rtp, senderTime: Self.offset + 750_000_000, addsLatency: true, arrival: 0)
        }

        mutating func render(atMilliseconds now: Int64) -> RAOPPlayout.Rendering {
            playout.render(at: now * 1_000_000, offset: Self.offset)
        }

        /// Renders in small steps, as a receiver does.
        mutating func renderAll(until end: Int64, from start: Int64 = 0) -> RAOPPlayout.Rendering {
            var all = RAOPPlayout.Rendering()
            for now in stride(from: start, through: end, by: 10) {
                let part = render(atMilliseconds: now)
                all.samples += part.samples
                all.lostFrames += part.lostFrames
                all.marks += part.marks
            }
            return all
        }
    }

    func insert(_ index: Int, into stream: inout Stream) -> RAOPPlayout.Insertion {
        let start = stream.rtp &+ UInt32(index * 352)
        return stream.playout.insert(
            sequence: stream.sequence &+ UInt16(index), rtpTime: start, samples: samples(start))
    }

    func expected(_ stream: Stream, packets: Range<Int>) -> [Int16] {
        packets.flatMap { samples(stream.rtp &+ UInt32($0 * 352)) }
    }

    @Test("A1 Frames are heard at their time, once, and marked with it")
    func dueTime() {
        var stream = Stream()
        for index in 0..<10 { #expect(insert(index, into: &stream) == .queued) }
        #expect(stream.renderAll(until: 999).samples.isEmpty)
        let first = stream.render(atMilliseconds: 1010)
        #expect(first.samples.count / 2 == 441)
        #expect(first.marks == [RAOPPlayout.Mark(frame: 0, rtpTime: 44_100, hostNanoseconds: 1_000_000_000)])
        let rest = stream.renderAll(until: 2000, from: 1020)
        #expect(same(first.samples + rest.samples, expected(stream, packets: 0..<10)))
        #expect(rest.lostFrames == 0)
    }

    @Test(
        "A1 Sequence numbers and RTP times that come round make no difference",
        arguments: [(65_530, 44_100), (100, UInt32.max - 1000), (65_534, UInt32.max - 351)])
    func wrap(sequence: Int, rtp: UInt32) {
        var stream = Stream(sequence: UInt16(sequence), rtp: rtp)
        for index in 0..<20 { #expect(insert(index, into: &stream) == .queued) }
        let all = stream.renderAll(until: 3000)
        #expect(same(all.samples, expected(stream, packets: 0..<20)))
    }

    @Test("A1 What comes in another order is heard in the right one")
    func order() {
        var stream = Stream()
        for index in [0, 2, 1, 4, 3] { #expect(insert(index, into: &stream) == .queued) }
        #expect(insert(3, into: &stream) == .superfluous)
        #expect(same(stream.renderAll(until: 3000).samples, expected(stream, packets: 0..<5)))
        #expect(stream.playout.lostPackets == 0)
    }

    @Test("A1 A gap is asked for again and again until it is filled")
    func gap() {
        var stream = Stream()
        for index in [0, 1, 4, 6] { _ = insert(index, into: &stream) }
        let asked = [RAOPPlayout.Gap(first: 102, count: 2), RAOPPlayout.Gap(first: 105, count: 1)]
        #expect(stream.playout.gapsToAskFor(at: 0) == asked)
        #expect(stream.playout.gapsToAskFor(at: 50_000_000).isEmpty, "not every time")
        #expect(insert(2, into: &stream) == .recovered)
        #expect(
            stream.playout.gapsToAskFor(at: 100_000_000)
                == [RAOPPlayout.Gap(first: 103, count: 1), RAOPPlayout.Gap(first: 105, count: 1)])
        #expect(insert(3, into: &stream) == .recovered)
        #expect(insert(5, into: &stream) == .recovered)
        #expect(same(stream.renderAll(until: 3000).samples, expected(stream, packets: 0..<7)))
    }

    @Test("A1 What stays lost is silence of the same length")
    func lost() {
        var stream = Stream()
        for index in [0, 2] { _ = insert(index, into: &stream) }
        let all = stream.renderAll(until: 3000)
        let silence = [Int16](repeating: 0, count: 704)
        #expect(same(all.samples, expected(stream, packets: 0..<1) + silence + expected(stream, packets: 2..<3)))
        #expect(all.lostFrames == 352)
        #expect(stream.playout.lostPackets == 1)
        #expect(stream.playout.gapsToAskFor(at: 9_000_000_000).isEmpty, "its time has passed")
    }

    @Test("A1 A lost first packet is missed too")
    func lostFirst() {
        var stream = Stream()
        _ = insert(2, into: &stream)
        #expect(stream.playout.gapsToAskFor(at: 0) == [RAOPPlayout.Gap(first: 100, count: 2)])
        #expect(insert(0, into: &stream) == .recovered)
        #expect(insert(1, into: &stream) == .recovered)
        #expect(same(stream.renderAll(until: 3000).samples, expected(stream, packets: 0..<3)))
    }

    @Test("A1 What comes after its time is not heard, but keeps its place")
    func late() {
        var stream = Stream()
        _ = insert(0, into: &stream)
        let before = stream.renderAll(until: 1100)
        #expect(same(before.samples, expected(stream, packets: 0..<1)))
        #expect(insert(1, into: &stream) == .late)
        for index in 2..<30 { _ = insert(index, into: &stream) }
        let after = stream.renderAll(until: 3000, from: 1110)
        #expect(before.samples.count + after.samples.count == 30 * 704)
        #expect(same(after.samples.suffix(10 * 704), expected(stream, packets: 20..<30)))
        #expect(after.lostFrames >= 352)
    }

    @Test("A1 After a stall of the receiver itself nothing is lost: it catches up in steps")
    func stall() {
        var stream = Stream()
        for index in 0..<8 { _ = insert(index, into: &stream) }
        var heard = stream.renderAll(until: 1010).samples
        heard += stream.render(atMilliseconds: 1500).samples
        // What waited in the socket comes only now.
        for index in 8..<20 { #expect(insert(index, into: &stream) == .queued) }
        heard += stream.renderAll(until: 3000, from: 1500).samples
        #expect(same(heard, expected(stream, packets: 0..<20)))
    }

    @Test("A1 A flush drops what waits, and old packets after it; the next sync says when it goes on")
    func flush() {
        var stream = Stream()
        for index in 0..<20 { _ = insert(index, into: &stream) }
        let heard = stream.renderAll(until: 1050)
        stream.playout.flush(before: 120)
        #expect(stream.playout.queued == 0)
        #expect(insert(19, into: &stream) == .superfluous)
        #expect(stream.renderAll(until: 2000, from: 1060).samples.isEmpty)
        // Two seconds later than it would have been.
        stream.playout.sync(
            playing: stream.rtp &+ 20 * 352, senderTime: Stream.offset + 2_750_000_000, addsLatency: true,
            arrival: 2_000_000_000)
        for index in 20..<30 { #expect(insert(index, into: &stream) == .queued) }
        let after = stream.renderAll(until: 5000, from: 2010)
        #expect(same(after.samples, expected(stream, packets: 20..<30)))
        let resumed = UInt32(44_100 + 20 * 352)
        #expect(
            after.marks == [
                RAOPPlayout.Mark(frame: heard.samples.count / 2, rtpTime: resumed, hostNanoseconds: 3_000_000_000)
            ])
    }

    @Test("A1 Without a sync nothing is heard; one that comes too late costs what should have been heard before it")
    func lateSync() {
        var playout = RAOPPlayout(latencyFrames: 0)
        for index in 0..<200 {
            let start = UInt32(index * 352)
            _ = playout.insert(sequence: UInt16(index), rtpTime: start, samples: samples(start))
        }
        #expect(playout.render(at: 1_000_000_000, offset: 0).samples.isEmpty)
        playout.sync(playing: 35_200, senderTime: 1_000_000_000, addsLatency: false, arrival: 1_000_000_000)
        var heard: [Int16] = []
        for now in stride(from: Int64(1000), to: 3000, by: 10) {
            heard += playout.render(at: now * 1_000_000, offset: 0).samples
        }
        #expect(same(heard, (100..<200).flatMap { samples(UInt32($0 * 352)) }))
        #expect(playout.lostPackets == 100)
    }

    @Test("A1 A stream that jumps far without a flush is a new one")
    func jump() {
        var stream = Stream()
        for index in 0..<5 { _ = insert(index, into: &stream) }
        let before = stream.renderAll(until: 2000)
        let start: UInt32 = 100_000_000
        stream.playout.sync(
            playing: start, senderTime: Stream.offset + 2_750_000_000, addsLatency: true,
            arrival: 2_000_000_000)
        for index in 0..<5 {
            let rtp = start + UInt32(index * 352)
            #expect(
                stream.playout.insert(sequence: UInt16(40_000 + index), rtpTime: rtp, samples: samples(rtp)) == .queued)
        }
        let after = stream.renderAll(until: 4000, from: 2010)
        #expect(same(before.samples, expected(stream, packets: 0..<5)))
        #expect(same(after.samples, (0..<5).flatMap { samples(start + UInt32($0 * 352)) }))
    }
}

@Suite("RAOP receiver: the sender's clock")
struct RAOPClockEstimateTests {
    @Test("A1 The exchange with the shortest way counts, and strangers' answers don't")
    func shortest() {
        var estimate = RAOPClockEstimate()
        #expect(estimate.offset == nil)
        estimate.sawSync(sender: 7_000, at: 1_000)
        #expect(estimate.offset == 6_000, "a guess is better than nothing")
        // The way back takes 40 µs longer than the way there.
        estimate.asked(at: 0)
        estimate.answered(origin: 0, received: 5_010_000, transmitted: 5_020_000, at: 70_000)
        #expect(estimate.offset == 4_980_000)
        estimate.asked(at: 1_000_000)
        estimate.answered(origin: 1_000_000, received: 6_010_000, transmitted: 6_020_000, at: 1_030_000)
        #expect(estimate.offset == 5_000_000)
        estimate.answered(origin: 1_000_000, received: 9_010_000, transmitted: 9_020_000, at: 1_030_000)
        estimate.asked(at: 3_000_000)
        estimate.answered(origin: 2_000_000, received: 9_010_000, transmitted: 9_020_000, at: 3_030_000)
        #expect(estimate.offset == 5_000_000)
        #expect(estimate.exchanges == 2)
    }
}
