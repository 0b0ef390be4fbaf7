import AirPlay
import Foundation
import RouteBackend
import RouterTestKit
import Testing

@testable import SimulatedReceivers

@Suite("Simulated PTP slave")
struct PTPSlaveTests {
    private static let masterID: UInt64 = 0xAABB_CCDD_EEFF_0011
    private static let master = PTPPortIdentity(clockID: masterID, port: 0x8005)
    private static let address = "192.0.2.1"
    /// The master's clock minus the host's, in nanoseconds.
    private static let offset: Int64 = 1_700_000_000_000_000_000

    /// A master's side of the exchange, written from the layouts alone.
    private struct Sender {
        var slave: PTPSlaveMachine
        var sequence: UInt16 = 0

        init(_ manner: PTPSlaveConfiguration.Manner = .listening, wakes: Bool = false) {
            slave = PTPSlaveMachine(
                PTPSlaveConfiguration(host: "127.0.0.2", manner: manner, wakesMaster: wakes, clockID: 42))
        }

        mutating func announce(
            _ identity: PTPPortIdentity = PTPSlaveTests.master, from source: String = PTPSlaveTests.address
        ) {
            let message = PTPMessage(
                PTPHeader(source: identity, sequence: 0),
                .announce(PTPAnnounce(grandmasterID: identity.clockID, quality: .airPlaySender)))
            slave.received(message.encoded(), from: source, at: 0)
        }

        /// A Sync and its Follow_Up.
        mutating func sync(
            at host: Int64, delayed: Int64, identity: PTPPortIdentity = PTPSlaveTests.master, correction: Int64 = 0,
            overtaken: Bool = false
        ) {
            sequence &+= 1
            let header = PTPHeader(source: identity, sequence: sequence, flags: .twoStep, correction: correction << 16)
            let time = PTPTimestamp(nanosecondsSinceEpoch: UInt64(host + PTPSlaveTests.offset - correction))
            var plain = header
            plain.correction = 0
            let messages = [
                (PTPMessage(header, .sync(origin: .zero)), host + delayed),
                (PTPMessage(plain, .followUp(preciseOrigin: time)), host + delayed + 200_000),
            ]
            for (message, arrival) in overtaken ? messages.reversed() : messages {
                slave.received(message.encoded(), from: PTPSlaveTests.address, at: arrival)
            }
        }
    }

    @Test("R5 PTP the least delayed Sync counts, and a clock is settled after four")
    func minimum() throws {
        var sender = Sender()
        _ = sender.slave.follow(clockID: Self.masterID, addresses: [Self.address])
        sender.announce()
        sender.sync(at: 1_000_000_000, delayed: 50_000)
        // Nobody is master after one Announce.
        #expect(sender.slave.estimate == nil)
        sender.announce()
        for (number, delayed) in [900_000, 80_000, 5_000_000].enumerated() as EnumeratedSequence<[Int64]> {
            sender.sync(at: 2_000_000_000 + Int64(number) * 125_000_000, delayed: delayed)
        }
        #expect(!sender.slave.isSettled)
        sender.sync(at: 3_000_000_000, delayed: 700_000)
        #expect(sender.slave.isSettled)
        let estimate = try #require(sender.slave.estimate)
        #expect(estimate.masterID == Self.masterID)
        #expect(estimate.offset == Self.offset - 80_000)
        #expect(estimate.delay == nil)
        #expect(estimate.masterTime(atHost: 80_000) == UInt64(Self.offset))
        #expect(estimate.host(atMaster: estimate.masterTime(atHost: 77)) == 77)
        // After four seconds the good one is forgotten.
        for number in 0..<32 as Range<Int64> { sender.sync(at: 4_000_000_000 + number, delayed: 90_000) }
        #expect(sender.slave.estimate?.offset == Self.offset - 90_000)
    }

    @Test("R5 PTP a Follow_Up that overtakes its Sync counts all the same")
    func overtaken() throws {
        var sender = Sender()
        _ = sender.slave.follow(clockID: Self.masterID, addresses: [Self.address])
        for _ in 1...2 { sender.announce() }
        for number in 0..<4 as Range<Int64> {
            sender.sync(at: 1_000_000_000 + number * 40_000_000, delayed: 50_000, overtaken: number % 2 == 0)
        }
        #expect(sender.slave.isSettled)
        #expect(sender.slave.estimate?.offset == Self.offset - 50_000)
    }

    @Test("R5 PTP one that asks takes the way's delay out")
    func asking() throws {
        var sender = Sender(.asking(timesPerSecond: 4))
        _ = sender.slave.follow(clockID: Self.masterID, addresses: [Self.address])
        #expect(sender.slave.ask() == nil)
        sender.announce()
        sender.announce()
        for number in 0..<4 as Range<Int64> { sender.sync(at: number * 125_000_000, delayed: 60_000) }
        for lateness in [400_000, 60_000, 90_000] as [Int64] {
            let asked = sender.slave.ask()
            let question = try #require(asked)
            #expect(question.content.kind == .delayRequest)
            sender.slave.asked(at: 1_000_000_000)
            let came = PTPTimestamp(nanosecondsSinceEpoch: UInt64(1_000_000_000 + lateness + Self.offset))
            let answer = PTPMessage(
                PTPHeader(source: Self.master, sequence: question.header.sequence),
                .delayResponse(received: came, requester: question.header.source))
            sender.slave.received(answer.encoded(), from: Self.address, at: 1_001_000_000)
            // The same once more, and one that answers somebody else.
            sender.slave.received(answer.encoded(), from: Self.address, at: 1_001_000_000)
        }
        let estimate = try #require(sender.slave.estimate)
        #expect(estimate.offset == Self.offset)
        #expect(estimate.delay == 60_000)
    }

    @Test("R5 PTP corrections on the way are added")
    func corrections() {
        var sender = Sender()
        _ = sender.slave.follow(clockID: Self.masterID, addresses: [Self.address])
        sender.announce()
        sender.announce()
        sender.sync(at: 1_000_000_000, delayed: 10_000, correction: 4000)
        #expect(sender.slave.estimate?.offset == Self.offset - 10_000)
    }

    @Test("R5 PTP only the clock that SETUP named, only the addresses of SETPEERS, is followed")
    func strangers() {
        var sender = Sender()
        _ = sender.slave.follow(clockID: Self.masterID, addresses: [Self.address])
        let other = PTPPortIdentity(clockID: 7, port: 1)
        for _ in 0..<3 { sender.announce(other) }
        sender.sync(at: 1_000_000_000, delayed: 0, identity: other)
        #expect(sender.slave.estimate == nil)
        #expect(sender.slave.record.strangers == 5)
        // Without a clock named, the address counts.
        _ = sender.slave.follow(clockID: nil, addresses: [Self.address])
        for _ in 0..<3 { sender.announce(other, from: "192.0.2.9") }
        sender.sync(at: 1_000_000_000, delayed: 0, identity: other)
        #expect(sender.slave.estimate == nil)
        for _ in 0..<3 { sender.announce(other) }
        sender.sync(at: 1_000_000_000, delayed: 0, identity: other)
        #expect(sender.slave.estimate?.masterID == 7)
        // Another session: what was known is forgotten.
        _ = sender.slave.follow(clockID: Self.masterID, addresses: [Self.address])
        #expect(sender.slave.estimate == nil)
    }

    @Test("R5 PTP rubbish, Follow_Ups of no Sync and times beyond measure change nothing")
    func rubbish() {
        var sender = Sender()
        _ = sender.slave.follow(clockID: Self.masterID, addresses: [Self.address])
        sender.announce()
        sender.announce()
        sender.slave.received([0x10, 2, 0], from: Self.address, at: 0)
        sender.slave.received([UInt8](repeating: 0x10, count: 2000), from: Self.address, at: 0)
        #expect(sender.slave.record.malformed == 2)
        for sequence in 0..<100 as Range<UInt16> {
            // Syncs whose Follow_Up never comes.
            let sync = PTPMessage(
                PTPHeader(source: Self.master, sequence: 1000 + sequence, flags: .twoStep), .sync(origin: .zero))
            sender.slave.received(sync.encoded(), from: Self.address, at: 5)
        }
        let lone = PTPMessage(PTPHeader(source: Self.master, sequence: 1), .followUp(preciseOrigin: .zero))
        sender.slave.received(lone.encoded(), from: Self.address, at: 5)
        var late = PTPMessage(
            PTPHeader(source: Self.master, sequence: 1099), .followUp(preciseOrigin: .zero)
        ).encoded()
        // 48 bits of seconds, all set.
        late.replaceSubrange(34..<40, with: [UInt8](repeating: 0xFF, count: 6))
        sender.slave.received(late, from: Self.address, at: 5)
        #expect(sender.slave.estimate == nil)
    }

    @Test("R5 PTP the way to wake a master is nqptp's: better than 128, then worse")
    func waking() {
        var sender = Sender(.listening, wakes: true)
        let woken = sender.slave.follow(clockID: Self.masterID, addresses: [Self.address])
        let priorities = woken.compactMap { outgoing -> UInt8? in
            guard case .announce(let announce) = outgoing.message.content else { return nil }
            return announce.quality.priority1
        }
        #expect(priorities == [127, 129])
        var deaf = Sender(.deaf, wakes: true)
        #expect(deaf.slave.follow(clockID: Self.masterID, addresses: [Self.address]).isEmpty)
        deaf.announce()
        deaf.announce()
        deaf.sync(at: 1, delayed: 0)
        #expect(deaf.slave.estimate == nil)
        #expect(deaf.slave.record == PTPSlaveRecord())
    }
}

/// Our grandmaster and simulated slaves on one host, by real sockets.
@Suite("Simulated PTP slaves on sockets", .serialized)
struct PTPSlaveSocketTests {
    static func start(_ slaves: [PTPSlaveConfiguration.Manner], wakes: Bool = false) async throws -> (
        PTPClockService, [PTPSlave]
    ) {
        for _ in 0..<50 {
            let event = UInt16.random(in: 20_000..<30_000)
            let ports = PTPPorts(event: event, general: event + 1)
            let service = try PTPClockService(ports: ports)
            guard (try? await service.start()) != nil else { continue }
            var started: [PTPSlave] = []
            for (number, manner) in slaves.enumerated() {
                let slave = PTPSlave(
                    PTPSlaveConfiguration(
                        host: "127.0.5.\(number + 1)", ports: ports, manner: manner, wakesMaster: wakes))
                try await slave.start()
                started.append(slave)
            }
            return (service, started)
        }
        throw PTPError.notRunning
    }

    @Test("R5 PTP slaves on one host follow the clock: listening, asking and deaf", .timeLimit(.minutes(1)))
    func follows() async throws {
        let (service, slaves) = try await Self.start([.listening, .asking(timesPerSecond: 8), .deaf], wakes: true)
        for slave in slaves {
            let local = try await service.add(peer: slave.configuration.host)
            await slave.follow(clockID: service.clockID, addresses: [local])
        }
        #expect(await eventually { await slaves[0].isSettled })
        #expect(
            await eventually {
                guard await slaves[1].isSettled, let estimate = await slaves[1].estimate else { return false }
                return estimate.delay != nil
            })
        let now = SystemHostClock().now()
        for slave in slaves.prefix(2) {
            let estimate = try #require(await slave.estimate)
            let error = Int64(bitPattern: estimate.masterTime(atHost: now) &- service.time(atHost: now))
            print("a slave that is \(slave.configuration.manner) is off by \(error) ns")
            // One clock of one kernel: what is left is how late a busy test machine wakes a thread.
            #expect(abs(error) < 20_000_000)
        }
        #expect(await slaves[2].estimate == nil)
        let asked = try #require(await service.status(of: slaves[1].configuration.host))
        #expect(asked.hasAsked)
        #expect(asked.announces == 2 && asked.lastAnnounce?.quality.priority1 == 129)
        let silent = try #require(await service.status(of: slaves[0].configuration.host))
        #expect(!silent.hasAsked && silent.announces == 2 && silent.lastHeardAt != nil)
        #expect(await service.status(of: slaves[2].configuration.host)?.lastHeardAt == nil)
        for slave in slaves { await slave.stop() }
        await service.stop()
    }

    @Test("R5 PTP a slave's ports held by another: cannotListen; after stop they are free")
    func ports() async throws {
        let (service, slaves) = try await Self.start([.listening])
        let again = PTPSlave(slaves[0].configuration)
        await #expect(throws: SimulatedReceiverError.self) { try await again.start() }
        await slaves[0].stop()
        try await again.start()
        await again.stop()
        await service.stop()
    }
}
