import CastV2
import Testing

@Suite("Cast Streaming: the sender's state machine")
struct StreamSenderTests {
    static let millisecond: Int64 = 1_000_000
    static let (ours, theirs): (UInt32, UInt32) = (1, 2)

    /// The machine where a test's expectations can turn it.
    @dynamicMemberLookup
    final class Bench {
        private var machine: CastStreamSender

        init(_ machine: CastStreamSender) { self.machine = machine }

        subscript<Value>(dynamicMember path: KeyPath<CastStreamSender, Value>) -> Value { machine[keyPath: path] }

        func take(_ payload: [UInt8], timestamp: Int64, sendAt: Int64) -> CastStreamSender.Taken {
            machine.take(payload, timestamp: timestamp, sendAt: sendAt)
        }
        func received(_ bytes: [UInt8], now: Int64) -> [CastStreamSender.Action] { machine.received(bytes, now: now) }
        func timePassed(now: Int64) -> [CastStreamSender.Action] { machine.timePassed(now: now) }
        func withdraw(_ count: Int, now: Int64) -> [CastStreamSender.Action] { machine.withdraw(count, now: now) }
    }

    static func sender(cipher: CastFrameCipher? = nil, maximumBytes: Int = 1472) -> Bench {
        var configuration = CastStreamSender.Configuration(
            senderSSRC: ours, receiverSSRC: theirs, payloadType: 127, cipher: cipher, timeBase: 48_000,
            firstSequence: 0xFFFE)
        configuration.maximumBytes = maximumBytes
        return Bench(CastStreamSender(configuration, now: 0))
    }

    static func feedback(
        _ checkpoint: Int, losses: [CastFeedback.Loss] = [], acknowledged: [Int]? = nil, delay: UInt16 = 400
    ) -> [UInt8] {
        CastRTCP.encode([
            .feedback(
                CastFeedback(
                    receiverSSRC: theirs, senderSSRC: ours, checkpoint: CastFrameID.wire(checkpoint),
                    playoutDelay: delay, losses: losses,
                    acknowledgements: acknowledged.map {
                        CastFeedback.Acknowledgements(count: 0, frames: $0, after: checkpoint)
                    }))
        ])
    }

    /// Takes frames 20 ms apart, the first sent at 0.
    static func fill(_ sender: Bench, _ count: Int, bytes: Int = 4) -> [[UInt8]] {
        let first = sender.nextFrame
        return (first..<(first + count)).flatMap { number -> [[UInt8]] in
            let taken = sender.take(
                [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes), timestamp: Int64(number) * 960,
                sendAt: Int64(number) * 20 * millisecond)
            guard case .queued(let datagrams) = taken else { return [] }
            return datagrams.map(\.bytes)
        }
    }

    @Test("R5 frames go out numbered, encrypted each by itself, and no more than may be on the way")
    func taking() throws {
        let cipher = CastFrameCipher.random()
        let sender = Self.sender(cipher: cipher)
        let datagrams = Self.fill(sender, 130)
        #expect(datagrams.count == 120 && sender.inFlight == 120)
        for (number, datagram) in datagrams.enumerated() {
            let packet = try CastRTPPacket(decoding: datagram)
            #expect(packet.frameID == UInt8(number) && packet.timestamp == UInt32(number * 960))
            #expect(packet.sequence == 0xFFFE &+ UInt16(number) && packet.keyFrame && packet.marker)
            #expect(cipher.crypt(packet.payload, frame: number) == [UInt8](repeating: UInt8(number), count: 4))
        }
        #expect(sender.received(Self.feedback(0), now: 2_400 * Self.millisecond) == [])
        #expect(sender.inFlight == 119 && sender.checkpoint == 0)
        #expect(Self.fill(sender, 2).count == 1)
        // Past 8 bits, an acknowledgement still means the frame that it means.
        _ = sender.received(Self.feedback(119), now: 2_400 * Self.millisecond)
        #expect(Self.fill(sender, 120).count == 120 - 1)
        _ = sender.received(Self.feedback(239), now: 4_800 * Self.millisecond)
        _ = Self.fill(sender, 40)
        _ = sender.received(Self.feedback(270), now: 5_600 * Self.millisecond)
        #expect(sender.checkpoint == 270 && sender.statistics.acknowledged == 271)
    }

    @Test(
        "R5 what is missing goes again: single packets, packets by their mask, whole frames, each at most once a while")
    func repair() throws {
        let sender = Self.sender(maximumBytes: 33)
        let datagrams = Self.fill(sender, 4, bytes: 45)
        #expect(datagrams.count == 20)
        let losses = [
            CastFeedback.Loss(frameID: 1, packetID: 0, following: 0b1010),
            CastFeedback.Loss(frameID: 2, packetID: CastFeedback.Loss.wholeFrame),
        ]
        let wanted = ([5, 7, 9] + Array(10..<15)).map { CastStreamSender.Action.send(datagrams[$0]) }
        let asked = Self.feedback(0, losses: losses)
        #expect(sender.received(asked, now: 100 * Self.millisecond) == wanted)
        #expect(sender.received(asked, now: 109 * Self.millisecond) == [])
        #expect(sender.received(asked, now: 110 * Self.millisecond) == wanted)
        #expect(sender.statistics.resent == 16)
        // What it has by now, what is still to be sent, and what never was.
        let odd = [
            CastFeedback.Loss(frameID: 3, packetID: 0), CastFeedback.Loss(frameID: 9, packetID: 0),
            CastFeedback.Loss(frameID: 1, packetID: 77),
        ]
        #expect(sender.received(Self.feedback(1, losses: odd, acknowledged: [3]), now: 200 * Self.millisecond) == [])
        #expect(sender.statistics.missed == 2 && sender.inFlight == 1)
        let early = Self.sender()
        _ = Self.fill(early, 10)
        let notYet = CastFeedback.Loss(frameID: 9, packetID: 0)
        #expect(early.received(Self.feedback(2, losses: [notYet]), now: 60 * Self.millisecond) == [])
    }

    @Test("R5 reports that overtake each other, are of others, or make no sense change nothing")
    func strangers() {
        let sender = Self.sender()
        _ = Self.fill(sender, 10)
        _ = sender.received(Self.feedback(5), now: 0)
        let before = sender.inFlight
        #expect(sender.received(Self.feedback(3, losses: [CastFeedback.Loss(frameID: 4, packetID: 0)]), now: 0) == [])
        var foreign = CastFeedback(receiverSSRC: 9, senderSSRC: Self.ours, checkpoint: 7, playoutDelay: 1)
        #expect(sender.received(CastRTCP.encode([.feedback(foreign)]), now: 0) == [])
        foreign.receiverSSRC = Self.theirs
        foreign.senderSSRC = 9
        #expect(sender.received(CastRTCP.encode([.feedback(foreign)]), now: 0) == [])
        // Beyond what was ever sent: 8 bits make a frame before the checkpoint of it.
        #expect(sender.received(Self.feedback(12), now: 0) == [])
        #expect(sender.inFlight == before && sender.checkpoint == 5)
        for bytes in [[], [0x80], [0x80, 206, 0, 9], [UInt8](repeating: 0xFF, count: 2000), Array("GET /".utf8)] {
            #expect(sender.received(bytes, now: 0) == [])
        }
        #expect(sender.statistics.malformed == 1)
    }

    @Test("R5 the round trip and the delay are measured, and nonsense is no measurement")
    func measuring() {
        let sender = Self.sender()
        _ = Self.fill(sender, 3)
        #expect(sender.networkDelay == nil && sender.statistics.playoutDelay == nil)
        func report(_ last: UInt32, _ delay: UInt32) -> [UInt8] {
            CastRTCP.encode([
                .receiverReport(
                    ssrc: Self.theirs,
                    CastReceptionBlock(
                        senderSSRC: Self.ours, fractionLost: 64, cumulativeLost: 7, jitter: 48, lastReport: last,
                        delay: delay)),
                .referenceTime(ssrc: Self.theirs, CastNTPTime(nanoseconds: 70_000_000_000)),
            ])
        }
        // Sent at 10 s, held for half a second, back after 8 ms.
        let sent = CastNTPTime(nanoseconds: 10_000_000_000).middle
        _ = sender.received(report(sent, 32_768), now: 10_508 * Self.millisecond)
        let trip = sender.statistics.roundTrip ?? 0
        #expect(abs(trip - 8 * Self.millisecond) < 20_000)
        #expect(sender.statistics.fractionLost == 0.25 && sender.statistics.cumulativeLost == 7)
        #expect(sender.statistics.jitter == Self.millisecond)
        _ = sender.received(Self.feedback(0, delay: 420), now: 10_508 * Self.millisecond)
        #expect(sender.statistics.playoutDelay == 420 * Self.millisecond)
        // One trip may have waited somewhere; of several sender reports, the shortest counts.
        #expect(sender.networkDelay == nil)
        for later in [1, 2] as [UInt32] {
            #expect(sender.networkDelay == nil)
            _ = sender.received(report(sent &+ later * 6_554, 0), now: 10_900 * Self.millisecond)
        }
        #expect(sender.networkDelay == trip / 2)
        _ = sender.received(report(sent, 0), now: 11_000 * Self.millisecond)
        #expect(sender.networkDelay == trip / 2)
        // Before any sender report, after more than was waited, and from the future.
        for (last, delay) in [(0, 0), (sent &- 65_536 * 60, 0), (sent, 65_536 * 5)] as [(UInt32, UInt32)] {
            _ = sender.received(report(last, delay), now: 11_000 * Self.millisecond)
            #expect(sender.statistics.roundTrip == 1_000_000_000)
        }
        let offset = sender.statistics.clockOffset ?? 0
        #expect(abs(offset - 59_000 * Self.millisecond - trip / 2) <= 1)
    }

    @Test("R5 the last packet of the last frame goes again while nobody has it, and nothing while frames follow")
    func kickstart() {
        let sender = Self.sender()
        #expect(sender.nextDeadline == 15_000 * Self.millisecond)
        let datagrams = Self.fill(sender, 5)
        // The last is sent at 80 ms.
        #expect(sender.nextDeadline == 180 * Self.millisecond)
        #expect(sender.timePassed(now: 179 * Self.millisecond) == [])
        #expect(sender.timePassed(now: 180 * Self.millisecond) == [.send(datagrams[4])])
        #expect(sender.timePassed(now: 181 * Self.millisecond) == [])
        #expect(sender.nextDeadline == 280 * Self.millisecond)
        #expect(sender.timePassed(now: 280 * Self.millisecond) == [.send(datagrams[4])])
        _ = sender.received(Self.feedback(4), now: 281 * Self.millisecond)
        #expect(sender.nextDeadline == 15_281 * Self.millisecond)
        #expect(sender.statistics.kickstarts == 2)
    }

    @Test("R5 a receiver that reports nothing for 15 s is lost, once, and nothing follows")
    func silence() {
        let sender = Self.sender()
        _ = Self.fill(sender, 1)
        _ = sender.received(Self.feedback(0), now: 1_000 * Self.millisecond)
        #expect(sender.timePassed(now: 15_999 * Self.millisecond) == [])
        #expect(sender.timePassed(now: 16_000 * Self.millisecond) == [.lost])
        #expect(sender.timePassed(now: 17_000 * Self.millisecond) == [])
        #expect(sender.nextDeadline == nil && sender.inFlight == 0)
        #expect(sender.take([1], timestamp: 1, sendAt: 0) == .full)
        #expect(sender.received(Self.feedback(0), now: 0) == [])
    }

    @Test("R5 frames that were not sent are taken back, their numbers used again")
    func withdrawing() throws {
        let sender = Self.sender()
        let first = Self.fill(sender, 10)
        #expect(sender.withdraw(4, now: 0) == [])
        #expect(sender.nextFrame == 6 && sender.statistics.frames == 6)
        let second = Self.fill(sender, 4)
        #expect(second == Array(first.suffix(4)))
        #expect(sender.withdraw(0, now: 0) == [])
        // A frame of five packets of which two went: the rest must follow, for the number is used.
        let long = Self.sender(maximumBytes: 33)
        let datagrams = Self.fill(long, 2, bytes: 45)
        #expect(long.withdraw(3, now: 0) == datagrams.suffix(3).map { .send($0) })
        #expect(long.nextFrame == 2)
        #expect(long.withdraw(100, now: 0) == [])
        #expect(long.nextFrame == 0)
    }

    @Test("R5 a stream's clock is exact in both directions, for days and before its anchor")
    func clock() {
        let clock = CastStreamClock(instant: 5, timestamp: 1000, timeBase: 48_000)
        for seconds in [-86_400, -1, 0, 1, 600_000] as [Int64] {
            let instant = 5 + seconds * 1_000_000_000
            #expect(clock.timestamp(at: instant) == 1000 + seconds * 48_000)
            #expect(clock.instant(of: 1000 + seconds * 48_000) == instant)
        }
        for timestamp in [-5_000, 0, 999, 1001, 1960] as [Int64] {
            #expect(clock.timestamp(at: clock.instant(of: timestamp) + 1) == timestamp)
        }
        let report = clock.report(ssrc: 3, at: 5 + 1_000_010_000, packets: 7, octets: 9)
        #expect(report.timestamp == 49_000 && report.time.nanoseconds == 1_000_000_005)
        #expect(report.packets == 7 && report.octets == 9 && report.ssrc == 3)
    }

    @Test("R5 what the delay is more than agreed is made up for, in steps that nobody hears where somebody could")
    func correction() {
        var correction = CastDelayCorrection()
        let agreed = 400 * Self.millisecond
        func update(_ delay: Int64?, _ network: Int64? = nil, heard: Bool = true) -> Bool {
            correction.update(delay: delay, network: network, agreed: agreed, isHeard: heard)
        }
        #expect(!update(nil))
        #expect(!update(agreed + 50_000) && correction.current == 0)
        #expect(update(agreed + 2 * Self.millisecond) && correction.current == 500_000)
        for _ in 0..<10 { _ = update(agreed + 2 * Self.millisecond) }
        #expect(correction.current == 2 * Self.millisecond)
        // The receiver has changed by then, and can be heard to.
        #expect(update(agreed + 300 * Self.millisecond) && correction.current == 300 * Self.millisecond)
        #expect(update(agreed - 100 * Self.millisecond) && correction.current == -100 * Self.millisecond)
        #expect(update(agreed) && correction.current == 0)
        // A network that only seems slow tears no hole into the sound.
        #expect(update(agreed, 179 * Self.millisecond) && correction.current == 500_000)
        #expect(update(agreed, 0) && correction.current == 0)
        #expect(update(agreed, 579 * Self.millisecond, heard: false) && correction.current == 500_000)
        #expect(update(agreed, 20 * Self.millisecond, heard: false) && correction.current == 20 * Self.millisecond)
        #expect(!update(agreed, 20 * Self.millisecond))
        #expect(update(agreed, 10 * Self.millisecond) && correction.current == 19_500_000)
    }
}
