import Testing

@testable import SimulatedReceivers

@Suite("AirPlay 2 receiver: the buffered stream")
struct AirPlay2BufferedPlayoutTests {
    /// Of 1,024 frames, each of which holds its own number; a packet's payload is where it begins.
    static func samples(_ start: Int) -> [Int32] { (start..<(start + 1_024)).flatMap { [Int32($0), -Int32($0)] } }

    struct Stream {
        var playout = BufferedPlayout(sampleRate: 48_000)
        /// The sender's clock is so far ahead.
        static let offset: Int64 = 7_000_000_000
        var decoded = 0

        mutating func insert(_ index: Int, sequence: UInt32? = nil) -> Bool {
            let start = index * 1_024
            return playout.insert(
                .init(
                    sequence: sequence ?? UInt32(index), ssrc: 1,
                    payload: (0..<4).map { UInt8(truncatingIfNeeded: start >> ($0 * 8)) }),
                rtpTime: UInt32(start))
        }

        /// In steps of 10 ms, as a receiver does.
        mutating func render(milliseconds: ClosedRange<Int64>) -> FrameRendering<Int32> {
            var all = FrameRendering<Int32>()
            for now in stride(from: milliseconds.lowerBound, through: milliseconds.upperBound, by: 10) {
                var count = 0
                let part = playout.render(at: now * 1_000_000, offset: Self.offset) { packet in
                    count += 1
                    let start = packet.payload.reversed().reduce(0) { $0 << 8 | Int($1) }
                    return packet.ssrc == 1 ? samples(start) : nil
                }
                decoded += count
                all.samples += part.samples
                all.lostFrames += part.lostFrames
                all.marks += part.marks
            }
            return all
        }

        mutating func play(from rtpTime: UInt32, atMilliseconds host: Int64, arrival: Int64) {
            playout.play(from: rtpTime, at: host * 1_000_000 + Self.offset, arrival: arrival * 1_000_000)
        }
    }

    func expected(_ frames: Range<Int>) -> [Int32] { frames.flatMap { [Int32($0), -Int32($0)] } }

    @Test("A1 nothing is heard without an anchor; then every frame at its time, decoded when it is due and not before")
    func anchored() {
        var stream = Stream()
        for index in 0..<100 { _ = stream.insert(index) }
        #expect(stream.playout.queued == 100)
        #expect(stream.render(milliseconds: 0...500).samples.isEmpty)
        #expect(stream.decoded == 0)
        stream.play(from: 0, atMilliseconds: 1_000, arrival: 500)
        let heard = stream.render(milliseconds: 510...1_500)
        #expect(heard.samples == expected(0..<24_000))
        #expect(heard.lostFrames == 0 && stream.playout.skippedFrames == 0)
        #expect(heard.marks == [FrameMark(frame: 0, rtpTime: 0, hostNanoseconds: 1_000_000_000)])
        #expect(stream.decoded == 24, "24,000 frames are in 24 packets")
        let more = stream.render(milliseconds: 1_510...2_100)
        #expect(more.marks == [FrameMark(frame: 48_000, rtpTime: 48_000, hostNanoseconds: 2_000_000_000)])
    }

    @Test("A1 a pause keeps what waits; it goes on where it stood, at the new instant")
    func pause() {
        var stream = Stream()
        for index in 0..<100 { _ = stream.insert(index) }
        stream.play(from: 0, atMilliseconds: 100, arrival: 0)
        var heard = stream.render(milliseconds: 10...600).samples
        stream.playout.pause()
        #expect(stream.render(milliseconds: 610...5_000).samples.isEmpty)
        stream.play(from: 24_000, atMilliseconds: 6_000, arrival: 5_000)
        let resumed = stream.render(milliseconds: 5_010...6_500)
        heard += resumed.samples
        #expect(heard == expected(0..<48_000))
        #expect(resumed.marks.first == FrameMark(frame: 24_000, rtpTime: 24_000, hostNanoseconds: 6_000_000_000))
    }

    @Test("A1 an anchor that lies in the past leaves out what is over")
    func lateAnchor() {
        var stream = Stream()
        for index in 0..<100 { _ = stream.insert(index) }
        stream.play(from: 0, atMilliseconds: 900, arrival: 1_000)
        let heard = stream.render(milliseconds: 1_010...1_100)
        #expect(stream.playout.skippedFrames == 4_800)
        #expect(heard.samples == expected(4_800..<9_600))
    }

    @Test("A1 what comes after its time is silence of its length, and what follows is in its place")
    func underrun() {
        var stream = Stream()
        _ = stream.insert(0)
        stream.play(from: 0, atMilliseconds: 0, arrival: 0)
        var heard = stream.render(milliseconds: 10...200)
        #expect(heard.samples == expected(0..<1_024))
        for index in 1..<40 { _ = stream.insert(index) }
        let rest = stream.render(milliseconds: 210...400)
        heard.samples += rest.samples
        #expect(rest.lostFrames == 9_600 - 1_024)
        #expect(heard.samples.count == 19_200 * 2)
        #expect(heard.samples[(9_600 * 2)...].elementsEqual(expected(9_600..<19_200)))
    }

    @Test("A1 a flush at once stands still and drops what waits and what is on its way; then another place is heard")
    func flush() {
        var stream = Stream()
        for index in 0..<20 { _ = stream.insert(index) }
        stream.play(from: 0, atMilliseconds: 0, arrival: 0)
        _ = stream.render(milliseconds: 10...100)
        stream.playout.flush(from: nil, until: 30)
        #expect(!stream.playout.isPlaying && stream.playout.queued == 0 && stream.playout.heldBytes == 0)
        #expect(!stream.insert(20) && !stream.insert(29), "on its way when the flush was said")
        // A seek to frame 90,112: the packets go on counting.
        for index in 88..<120 { _ = stream.insert(index, sequence: UInt32(index - 58)) }
        #expect(stream.playout.queued == 32)
        stream.play(from: 90_112, atMilliseconds: 500, arrival: 400)
        let heard = stream.render(milliseconds: 410...600)
        #expect(heard.samples == expected(90_112..<94_912))
        #expect(heard.marks.first?.rtpTime == 90_112)
    }

    @Test("A1 a flush of a stretch drops that and plays on")
    func stretch() {
        var stream = Stream()
        for index in 0..<40 { _ = stream.insert(index) }
        stream.play(from: 0, atMilliseconds: 0, arrival: 0)
        var heard = stream.render(milliseconds: 10...50).samples
        stream.playout.flush(from: 5, until: 10)
        #expect(stream.playout.isPlaying)
        let rest = stream.render(milliseconds: 60...400)
        heard += rest.samples
        #expect(heard[..<(5 * 2_048)].elementsEqual(expected(0..<5_120)))
        #expect(heard[(5 * 2_048)..<(10 * 2_048)].allSatisfy { $0 == 0 })
        #expect(heard[(10 * 2_048)...].elementsEqual(expected(10_240..<19_200)))
        #expect(rest.lostFrames == 5_120)
    }

    @Test("A1 sequence numbers come round at 2^23, also over a flush")
    func wrap() {
        var stream = Stream()
        let last = BufferedPlayout.sequences - 1
        #expect(stream.insert(0, sequence: last) && stream.insert(1, sequence: 0))
        stream.playout.flush(from: nil, until: 3)
        #expect(!stream.insert(2, sequence: last) && !stream.insert(3, sequence: 2))
        #expect(stream.insert(4, sequence: 3) && stream.insert(5, sequence: last))
        #expect(stream.playout.queued == 2)
    }

    @Test("A1 an anchor of nonsense is no crash and no noise", arguments: [Int64.min / 4, Int64.max / 4, 0])
    func nonsense(time: Int64) {
        var stream = Stream()
        for index in 0..<10 { _ = stream.insert(index) }
        stream.playout.play(from: 0xFFFF_FFF0, at: time, arrival: 0)
        _ = stream.render(milliseconds: 10...200)
        stream.playout.play(from: 0, at: Stream.offset, arrival: 0)
        _ = stream.render(milliseconds: 210...400)
        #expect(stream.playout.framesOut <= 10 * 1_024)
    }

    @Test("A1 a packet that cannot be decoded is counted, and silence")
    func undecodable() {
        var stream = Stream()
        _ = stream.insert(0)
        stream.playout.insert(.init(sequence: 1, ssrc: 0, payload: [1]), rtpTime: 1_024)
        _ = stream.insert(2)
        stream.play(from: 0, atMilliseconds: 0, arrival: 0)
        let heard = stream.render(milliseconds: 10...60)
        #expect(stream.playout.undecodable == 1)
        #expect(heard.lostFrames == 1_024 || heard.lostFrames > 0)
        #expect(heard.samples[..<2_048].elementsEqual(expected(0..<1_024)))
    }
}
