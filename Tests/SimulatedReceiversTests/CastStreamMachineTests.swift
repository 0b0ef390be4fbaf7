import CastV2
import Testing

@testable import SimulatedReceivers

/// One stream of 10 ms frames at 48 kHz from a sender whose clock is 5 s ahead of ours.
final class CastTestStream {
    static let senderAhead: Int64 = 5_000_000_000
    var machine: CastStreamMachine
    var sequence: UInt16 = 100
    var firstTimestamp: UInt32

    init(firstTimestamp: UInt32 = 1_000, delay: Int = 200, knowsTime: Bool = true) {
        self.firstTimestamp = firstTimestamp
        let stream = CastOfferedStream(
            index: 0, kind: .audio, codec: "opus", payloadType: 127, ssrc: 7, targetDelay: delay, clockRate: 48_000,
            channels: 2, encryption: nil)
        machine = CastStreamMachine(stream: stream, receiverSSRC: 8, at: 0)
        if knowsTime { report() }
    }

    /// Frame 0 is captured at 0 of our clock.
    func report(at now: Int64 = 0) {
        machine.receive(
            CastSenderReport(
                ssrc: 7, time: CastNTPTime(nanoseconds: Self.senderAhead + now),
                timestamp: firstTimestamp &+ UInt32(truncatingIfNeeded: now / 1_000 * 48 / 1_000)), at: now)
    }

    func packet(
        _ frame: Int, _ place: UInt16 = 0, of count: UInt16 = 1, key: Bool = true, delay: UInt16? = nil,
        payload: [UInt8]? = nil
    ) -> CastRTPPacket {
        sequence &+= 1
        return CastRTPPacket(
            payloadType: 127, marker: place == count - 1, sequence: sequence,
            timestamp: firstTimestamp &+ UInt32(frame * 480), ssrc: 7, keyFrame: key,
            frameID: UInt8(truncatingIfNeeded: frame), packetID: place, lastPacketID: count - 1,
            referencedFrameID: UInt8(truncatingIfNeeded: key ? frame : frame - 1), playoutDelay: delay,
            payload: payload ?? [UInt8(truncatingIfNeeded: frame), UInt8(place)])
    }

    func receive(_ packet: CastRTPPacket, at milliseconds: Int64) -> CastStreamMachine.Insertion {
        machine.receive(packet, at: milliseconds * 1_000_000)
    }

    func frames(at milliseconds: Int64) -> [CastStreamMachine.Frame] {
        var frames: [CastStreamMachine.Frame] = []
        while let frame = machine.nextFrame(at: milliseconds * 1_000_000) { frames.append(frame) }
        return frames
    }

    func reports(at milliseconds: Int64) -> [CastRTCP]? { machine.feedback(at: milliseconds * 1_000_000) }

    func feedback(at milliseconds: Int64) -> CastFeedback? {
        reports(at: milliseconds)?.compactMap { packet -> CastFeedback? in
            if case .feedback(let feedback) = packet { feedback } else { nil }
        }.first
    }
}

@Suite("R5 Cast Streaming receiver: frames, feedback and limits")
struct CastStreamMachineTests {
    @Test("R5 packets in any order make frames in order; a frame comes out once it is whole")
    func reassembly() {
        let stream = CastTestStream()
        let packets = (0..<3).map { stream.packet(0, UInt16($0), of: 3, payload: [UInt8($0), 9]) }
        #expect(stream.receive(packets[2], at: 1) == .stored)
        #expect(stream.receive(packets[0], at: 1) == .stored)
        #expect(stream.receive(packets[0], at: 1) == .superfluous)
        #expect(stream.frames(at: 1).isEmpty)
        let second = stream.packet(1)
        #expect(stream.receive(second, at: 1) == .completed)
        #expect(stream.frames(at: 1).isEmpty)
        #expect(stream.receive(packets[1], at: 2) == .completed)
        let frames = stream.frames(at: 2)
        #expect(frames.map(\.id) == [0, 1])
        #expect(frames[0].payload == [0, 9, 1, 9, 2, 9])
        #expect(frames.map(\.timestamp) == [1_000, 1_480])
        #expect(stream.receive(packets[1], at: 3) == .superfluous)
    }

    @Test("R5 ids and timestamps go on across their wrap")
    func wrapping() {
        let stream = CastTestStream(firstTimestamp: .max - 10_000)
        for frame in 0..<600 {
            let packet = stream.packet(frame)
            #expect(stream.receive(packet, at: Int64(frame * 10)) == .completed)
            let out = stream.frames(at: Int64(frame * 10))
            #expect(out.map(\.id) == [frame])
            #expect(out.first?.timestamp == Int64(UInt32.max - 10_000) + Int64(frame * 480))
        }
    }

    @Test("R5 nothing comes out before a sender report; then all that is whole does")
    func waitsForTime() {
        let stream = CastTestStream(knowsTime: false)
        let packet = stream.packet(0)
        #expect(stream.receive(packet, at: 1) == .completed)
        #expect(stream.frames(at: 5_000).isEmpty)
        stream.report(at: 5_000_000_000)
        #expect(stream.frames(at: 5_000).map(\.id) == [0])
    }

    @Test("R5 a missing frame is waited for until the next one is due, then given up")
    func givingUp() {
        let stream = CastTestStream()
        for frame in [0, 2, 3] {
            let packet = stream.packet(frame)
            _ = stream.receive(packet, at: Int64(frame * 10))
        }
        #expect(stream.frames(at: 30).map(\.id) == [0])
        // Frame 2 is captured at 20 ms and due at 220.
        #expect(stream.frames(at: 219).isEmpty)
        let frames = stream.frames(at: 220)
        #expect(frames.map(\.id) == [2, 3])
        #expect(frames.map(\.skipped) == [1, 0])
        let late = stream.packet(1)
        #expect(stream.receive(late, at: 221) == .superfluous)
        #expect(stream.machine.statistics.skippedFrames == 1)
    }

    @Test(
        "R5 of pictures that need what is missing none is shown; a key frame is asked for, each half second, and helps")
    func keyFrames() {
        let stream = CastTestStream()
        for frame in [0, 2] {
            let packet = stream.packet(frame, key: frame == 0)
            _ = stream.receive(packet, at: 20)
        }
        #expect(stream.frames(at: 20).map(\.id) == [0])
        func asks(_ milliseconds: Int64) -> Bool {
            stream.reports(at: milliseconds)?.contains(
                .pictureLoss(receiverSSRC: 8, senderSSRC: 7)) ?? false
        }
        #expect(!asks(100))
        #expect(stream.frames(at: 300).isEmpty)
        #expect(asks(300))
        #expect(!asks(400))
        #expect(asks(800))
        let key = stream.packet(3, key: true)
        _ = stream.receive(key, at: 810)
        #expect(stream.frames(at: 810).map(\.id) == [3])
        #expect(!asks(2_000))
    }

    @Test("R5 feedback names what is missing, and what came beyond the checkpoint, byte for byte")
    func feedbackBytes() throws {
        let stream = CastTestStream()
        let first = stream.packet(0)
        _ = stream.receive(first, at: 0)
        _ = stream.frames(at: 0)
        for place in [0, 3, 4] {
            let packet = stream.packet(1, UInt16(place), of: 6)
            _ = stream.receive(packet, at: 10)
        }
        let beyond = stream.packet(4)
        _ = stream.receive(beyond, at: 20)
        let packets = try #require(stream.reports(at: 40))
        guard case .feedback(let feedback)? = packets.last else { return #expect(Bool(false)) }
        #expect(feedback.checkpoint == 0 && feedback.playoutDelay == 200)
        // Of frame 1 packets 1, 2 and 5; all of 2 and 3.
        #expect(
            feedback.losses == [
                CastFeedback.Loss(frameID: 1, packetID: 1, following: 0b1001),
                CastFeedback.Loss(frameID: 2, packetID: 0xFFFF), CastFeedback.Loss(frameID: 3, packetID: 0xFFFF),
            ])
        #expect(feedback.acknowledgements?.frames(after: 0) == [4])
        let bytes = CastRTCP.encode([.feedback(feedback)])
        #expect(
            bytes == [
                0x8F, 206, 0, 9, 0, 0, 0, 8, 0, 0, 0, 7, 0x43, 0x41, 0x53, 0x54, 0, 3, 0, 200, 1, 0, 1, 0b1001,
                2, 0xFF, 0xFF, 0, 3, 0xFF, 0xFF, 0, 0x43, 0x53, 0x54, 0x32, 1, 2, 0b100, 0,
            ])
    }

    @Test("R5 reports: at once on progress, each 30 ms while packets are missing, else each 500 ms")
    func cadence() {
        let stream = CastTestStream()
        #expect(stream.feedback(at: 0)?.checkpoint == 255)
        #expect(stream.feedback(at: 1) == nil)
        let first = stream.packet(0)
        _ = stream.receive(first, at: 5)
        _ = stream.frames(at: 5)
        #expect(stream.feedback(at: 5)?.checkpoint == 0)
        #expect(stream.feedback(at: 504) == nil)
        #expect(stream.feedback(at: 505) != nil)
        let third = stream.packet(2)
        _ = stream.receive(third, at: 510)
        // It may have been overtaken only.
        #expect(stream.feedback(at: 519) == nil)
        #expect(stream.feedback(at: 534) == nil)
        #expect(stream.feedback(at: 535)?.losses.map(\.frameID) == [1])
        #expect(stream.feedback(at: 564) == nil)
        #expect(stream.feedback(at: 565)?.losses.map(\.frameID) == [1])
    }

    @Test("R5 the end of the latest frame is not missed yet")
    func tail() {
        let stream = CastTestStream()
        for place in [0, 2] {
            let packet = stream.packet(0, UInt16(place), of: 5)
            _ = stream.receive(packet, at: 0)
        }
        #expect(stream.feedback(at: 40)?.losses == [CastFeedback.Loss(frameID: 0, packetID: 1)])
    }

    @Test("R5 a new playout delay holds from its frame on; one beyond 5 s is not heeded")
    func delays() {
        let stream = CastTestStream()
        for (frame, delay) in [(0, nil), (1, 400), (2, nil), (3, 5_001)] as [(Int, UInt16?)] {
            let packet = stream.packet(frame, delay: delay)
            _ = stream.receive(packet, at: 0)
        }
        #expect(stream.frames(at: 0).map(\.delay) == [200, 400, 400, 400])
        #expect(stream.feedback(at: 0)?.playoutDelay == 400)
    }

    @Test("R5 refused: another payload type, a frame too far ahead, too many packets, contradictions, too much at once")
    func refusals() {
        let stream = CastTestStream()
        var packet = stream.packet(0)
        packet.payloadType = 96
        #expect(stream.receive(packet, at: 0) == .refused(.payloadType))
        packet = stream.packet(120)
        #expect(stream.receive(packet, at: 0) == .refused(.farAhead))
        packet = stream.packet(0, 0, of: 3_001)
        #expect(stream.receive(packet, at: 0) == .refused(.manyPackets))
        packet = stream.packet(0, 0, of: 3)
        #expect(stream.receive(packet, at: 0) == .stored)
        packet = stream.packet(0, 1, of: 4)
        #expect(stream.receive(packet, at: 0) == .refused(.contradiction))
        packet = stream.packet(0, 1, of: 3)
        packet.timestamp &+= 1
        #expect(stream.receive(packet, at: 0) == .refused(.contradiction))
        #expect(stream.machine.statistics.refusedPackets == 5)

        let greedy = CastTestStream()
        let payload = [UInt8](repeating: 0, count: 8_900)
        var outcomes: Set<CastStreamMachine.Insertion> = []
        for place in 0..<2_999 {
            let packet = greedy.packet(0, UInt16(place), of: 3_000, payload: payload)
            outcomes.insert(greedy.receive(packet, at: 0))
        }
        #expect(outcomes == [.stored, .refused(.full)])
    }

    @Test(
        "R5 whatever times a sender claims, nothing breaks", arguments: [0, 1, UInt64.max, 1 << 63, 0x1234_5678 << 32])
    func absurdTimes(_ raw: UInt64) {
        let stream = CastTestStream(knowsTime: false)
        for (index, time) in [raw, .max - raw, raw, 0, .max].enumerated() {
            stream.machine.receive(
                CastSenderReport(
                    ssrc: 7, time: CastNTPTime(rawValue: time), timestamp: UInt32(truncatingIfNeeded: raw) &* 77),
                at: Int64(index))
            let packet = stream.packet(index)
            _ = stream.receive(packet, at: Int64(index))
            _ = stream.frames(at: Int64.max / 4_000_000)
            _ = stream.feedback(at: Int64(index) * 600)
        }
        #expect(stream.machine.checkpoint <= 4)
    }

    @Test("R5 a report counts loss and names the last sender report")
    func receptionReport() throws {
        let stream = CastTestStream()
        for frame in 0..<4 {
            let packet = stream.packet(frame)
            if frame != 2 { _ = stream.receive(packet, at: Int64(frame * 10)) }
        }
        let packets = try #require(stream.reports(at: 500))
        guard case .receiverReport(8, let block?)? = packets.first else { return #expect(Bool(false)) }
        #expect(block.senderSSRC == 7 && block.cumulativeLost == 1 && block.fractionLost == 64)
        #expect(block.highestSequence == 104)
        #expect(block.lastReport == CastNTPTime(nanoseconds: CastTestStream.senderAhead).middle)
        #expect(block.delay == 32_768)
        #expect(packets.contains(.referenceTime(ssrc: 8, CastNTPTime(nanoseconds: 500_000_000))))
    }
}

@Suite("R5 Cast Streaming receiver: the sender's clock")
struct CastSenderClockTests {
    @Test("R5 the least delayed report counts, and timestamps map to host time and back")
    func mapping() {
        var clock = CastSenderClock(clockRate: 48_000)
        #expect(clock.captured(0) == nil)
        clock.report(time: 1_000_000_000, timestamp: 48_000, arrival: 3_040_000_000)
        clock.report(time: 1_500_000_000, timestamp: 72_000, arrival: 3_503_000_000)
        clock.report(time: 2_000_000_000, timestamp: 96_000, arrival: 4_090_000_000)
        // The second was delayed least: the sender's clock is 2.003 s behind.
        #expect(clock.captured(48_000) == 3_003_000_000)
        #expect(abs((clock.captured(48_001) ?? 0) - 3_003_020_833) <= 1)
        #expect(clock.timestamp(at: 3_003_000_000) == 48_000)
        #expect(clock.captured(96_000 + 86_400 * 48_000) != nil)
        #expect(clock.captured(96_001 + 86_400 * 48_000) == nil)
    }

    @Test("R5 a sender that sets its clock is followed")
    func step() {
        var clock = CastSenderClock(clockRate: 48_000)
        clock.report(time: 1_000_000_000, timestamp: 0, arrival: 1_000_000_000)
        clock.report(time: 500_000_000_000, timestamp: 24_000, arrival: 1_500_000_000)
        #expect(clock.captured(24_000) == 1_500_000_000)
    }
}
