import Testing

@testable import AirPlay

@Suite("PTP grandmaster")
struct PTPGrandmasterTests {
    private static let clockID: UInt64 = 0xAABB_CCDD_EEFF_0011
    private static let second: Int64 = 1_000_000_000
    private let peer = PTPAddress(host: "192.0.2.7")!
    private let other = PTPAddress(host: "2001:db8::7")!
    private let asker = PTPPortIdentity(clockID: 0x1112_1314_1516_1718, port: 1)

    private func machine(at now: Int64 = 0, peers: [PTPAddress]) -> PTPGrandmaster {
        var machine = PTPGrandmaster(clockID: Self.clockID, timebase: PTPTimebase(offset: 1_000_000))
        for peer in peers { machine.add(peer, localAddress: "192.0.2.1", at: now) }
        return machine
    }

    private func request(_ content: PTPMessage.Content, sequence: UInt16 = 9, tlvs: [PTPTLV] = []) -> [UInt8] {
        PTPMessage(PTPHeader(source: asker, sequence: sequence, correction: 77 << 16), content, tlvs: tlvs).encoded()
    }

    /// Everything that goes until `end`, with when.
    private func run(_ machine: inout PTPGrandmaster, until end: Int64) -> [(at: Int64, PTPGrandmaster.Outgoing)] {
        var went: [(at: Int64, PTPGrandmaster.Outgoing)] = []
        while let now = machine.deadline, now < end { went += machine.due(at: now).map { (now, $0) } }
        return went
    }

    @Test("R5 PTP each peer gets eight Syncs a second and an Announce each second, with numbers of its own")
    func schedule() {
        var machine = machine(at: 40_000_000, peers: [peer])
        let first = run(&machine, until: 41_000_000)
        #expect(first.map(\.1.message.content.kind) == [.announce, .signaling, .sync])
        machine.add(other, localAddress: "2001:db8::1", at: 2 * Self.second)
        let went = run(&machine, until: 12 * Self.second)
        for (address, from) in [(peer, Int64(0)), (other, 2 * Self.second)] {
            let own = (first + went).filter { $0.1.peer == address }
            let seconds = Double(12 * Self.second - max(from, 40_000_000)) / 1e9
            let syncs = own.map(\.1.message).filter { $0.content.kind == .sync }
            let announces = own.map(\.1.message).filter { $0.content.kind == .announce }
            // Six more than eight each second: those at the start, 40 ms apart.
            #expect(abs(Double(syncs.count) - 8 * seconds - 6) <= 2)
            let times = own.filter { $0.1.message.content.kind == .sync }.map(\.at)
            #expect(zip(times, times.dropFirst()).prefix(8).allSatisfy { $1 - $0 <= 40_000_000 })
            // Two more than one each second: those at the start.
            #expect(abs(Double(announces.count) - seconds - 2) <= 1)
            #expect(syncs.map(\.header.sequence) == (0..<UInt16(syncs.count)).map { $0 })
            #expect(announces.map(\.header.sequence) == (0..<UInt16(announces.count)).map { $0 })
            #expect(machine.status(of: address)?.syncsSent == syncs.count)
            #expect(machine.status(of: address)?.announcesSent == announces.count)
        }
        // Both are told at the same instants, so that the host wakes once.
        #expect(Set(went.map(\.at)).count <= 8 * 12 + 2 + 2 * PTPGrandmaster.openingSyncs)
        #expect(machine.deadline == 12 * Self.second)
    }

    @Test("R5 PTP an Announce is Apple's: priority 128, class 6, 0x21, 0x436A, GPS, with a path trace")
    func announce() throws {
        var machine = machine(peers: [peer])
        let message = try #require(machine.due(at: 0).first?.message)
        #expect(message.content == .announce(PTPAnnounce(grandmasterID: Self.clockID, quality: .airPlaySender)))
        #expect(message.tlvs == [.pathTrace([Self.clockID])])
        #expect(message.header.flags == [.unicast, .ptpTimescale])
        #expect(message.header.source == PTPPortIdentity(clockID: Self.clockID, port: 0x8005))
    }

    @Test("R5 PTP a Follow_Up tells when its Sync left")
    func followUp() throws {
        var machine = machine(peers: [peer])
        let sync = try #require(machine.due(at: 0).first { $0.message.content.kind == .sync })
        #expect(sync.message.content == .sync(origin: .zero))
        #expect(sync.message.header.flags == [.unicast, .ptpTimescale, .twoStep])
        let departure = try #require(sync.departure)
        let follower = machine.left(departure, to: peer, at: 5_000_000_123)
        #expect(
            follower.message.content
                == .followUp(preciseOrigin: PTPTimestamp(nanosecondsSinceEpoch: 5_001_000_123)))
        #expect(follower.message.header.sequence == sync.message.header.sequence)
        #expect(
            follower.message.tlvs == [
                .followUpInformation(PTPFollowUpInformation()),
                .appleClock(PTPPortIdentity(clockID: Self.clockID, port: 0)),
            ])
        #expect(follower.departure == nil)
    }

    @Test("R5 PTP Delay_Req and Pdelay_Req are answered with when they came")
    func questions() throws {
        var machine = machine(peers: [peer])
        let came = PTPTimestamp(nanosecondsSinceEpoch: 3_000_000 + 1_000_000)
        let answer = try #require(
            machine.received(request(.delayRequest(origin: .zero)), from: peer, at: 3_000_000).first)
        #expect(answer.message.content == .delayResponse(received: came, requester: asker))
        #expect(answer.message.header.sequence == 9)
        #expect(answer.message.header.correction == 77 << 16)
        #expect(answer.departure == nil)
        let response = try #require(
            machine.received(request(.peerDelayRequest(origin: .zero)), from: peer, at: 3_000_000).first)
        #expect(response.message.content == .peerDelayResponse(received: came, requester: asker))
        let follower = machine.left(try #require(response.departure), to: peer, at: 4_000_000)
        #expect(
            follower.message.content
                == .peerDelayFollowUp(sent: PTPTimestamp(nanosecondsSinceEpoch: 5_000_000), requester: asker))
        let status = try #require(machine.status(of: peer))
        #expect(status.delayRequests == 2)
        #expect(status.hasAsked)
        #expect(status.lastHeardAt == 3_000_000)
    }

    @Test("R5 PTP Signaling: wishes are granted, in the interval asked for, and end")
    func negotiation() throws {
        var machine = machine(peers: [peer])
        _ = run(&machine, until: Self.second)
        let now = Self.second
        let wish = request(
            .signaling(target: .all),
            tlvs: [
                .requestUnicast(.announce, logInterval: 1, seconds: 10),
                .requestUnicast(.sync, logInterval: -4, seconds: 2),
                .requestUnicast(.delayResponse, logInterval: 0, seconds: 9999),
            ])
        let answer = try #require(machine.received(wish, from: peer, at: now).first)
        #expect(answer.message.content == .signaling(target: asker))
        #expect(
            answer.message.tlvs == [
                .grantUnicast(.announce, logInterval: 1, seconds: 10, renewable: true),
                .grantUnicast(.sync, logInterval: -4, seconds: 2, renewable: true),
                .grantUnicast(.delayResponse, logInterval: 0, seconds: 3600, renewable: true),
            ])
        let granted = run(&machine, until: now + 2 * Self.second)
        #expect(granted.count { $0.1.message.content.kind == .sync } == 32)
        #expect(granted.count { $0.1.message.content.kind == .announce } <= 2)
        let after = run(&machine, until: now + 4 * Self.second)
        #expect(abs(after.count { $0.1.message.content.kind == .sync } - 16) <= 1)
        #expect(machine.status(of: peer)?.signalings == 1)
    }

    @Test("R5 PTP Signaling: what is impossible is refused, what is cancelled comes no more until asked for again")
    func refusals() throws {
        var machine = machine(peers: [peer])
        let impossible: [PTPTLV] = [
            .requestUnicast(.sync, logInterval: -7, seconds: 10), .requestUnicast(.sync, logInterval: 127, seconds: 10),
            .requestUnicast(.announce, logInterval: 0, seconds: 0),
            .requestUnicast(.followUp, logInterval: 0, seconds: 10),
        ]
        let refusal = try #require(
            machine.received(request(.signaling(target: .all), tlvs: impossible), from: peer, at: 0).first)
        for answer in refusal.message.tlvs {
            guard case .grantUnicast(_, _, let seconds, _) = answer else {
                Issue.record("\(answer)")
                continue
            }
            #expect(seconds == 0)
        }
        #expect(refusal.message.tlvs.count == 4)
        let cancel = request(.signaling(target: .all), tlvs: [.cancelUnicast(.sync), .cancelUnicast(.announce)])
        let acknowledgement = try #require(machine.received(cancel, from: peer, at: 0).first)
        #expect(
            acknowledgement.message.tlvs == [.acknowledgeCancelUnicast(.sync), .acknowledgeCancelUnicast(.announce)])
        #expect(run(&machine, until: 5 * Self.second).allSatisfy { $0.1.message.content.kind == .signaling })
        let again = request(.signaling(target: .all), tlvs: [.requestUnicast(.sync, logInterval: -3, seconds: 60)])
        _ = machine.received(again, from: peer, at: 5 * Self.second)
        #expect(run(&machine, until: 6 * Self.second).contains { $0.1.message.content.kind == .sync })
        // For another clock.
        let elsewhere = request(
            .signaling(target: asker), tlvs: [.requestUnicast(.sync, logInterval: -3, seconds: 60)])
        #expect(machine.received(elsewhere, from: peer, at: 6 * Self.second).isEmpty)
    }

    @Test("R5 PTP mastership is held whatever others announce, and their Announce is known")
    func mastership() {
        var machine = machine(peers: [peer])
        let better = PTPAnnounce(
            grandmasterID: asker.clockID,
            quality: PTPClockQuality(priority1: 0, clockClass: 6, accuracy: 0x20, variance: 0, priority2: 0))
        #expect(machine.received(request(.announce(better)), from: peer, at: 5).isEmpty)
        #expect(machine.received(request(.sync(origin: .zero)), from: peer, at: 6).isEmpty)
        #expect(machine.status(of: peer)?.lastAnnounce == better)
        #expect(machine.status(of: peer)?.lastHeardAt == 6)
        #expect(machine.status(of: peer)?.hasAsked == false)
        #expect(run(&machine, until: Self.second).contains { $0.1.message.content.kind == .sync })
    }

    @Test("R5 PTP strangers are counted and not answered; nothing of them is kept but the last one's address")
    func strangers() {
        var machine = machine(peers: [peer])
        for number in 1...200 {
            let stranger = PTPAddress(host: "198.51.100.\(number)")!
            #expect(machine.received(request(.delayRequest(origin: .zero)), from: stranger, at: 0).isEmpty)
        }
        #expect(machine.statistics.strangers == 200)
        #expect(machine.statistics.lastStranger == "198.51.100.200")
        #expect(machine.status(of: PTPAddress(host: "198.51.100.1")!) == nil)
    }

    @Test("R5 PTP a peer's flood is answered 64 times a second, its rubbish counted, its other domains left alone")
    func limits() throws {
        var machine = machine(peers: [peer])
        var answers = 0
        for _ in 0..<1000 {
            answers += machine.received(request(.delayRequest(origin: .zero)), from: peer, at: 5).count
        }
        #expect(answers == 64)
        #expect(machine.status(of: peer)?.excess == 936)
        let later = 2 * Self.second
        #expect(machine.received(request(.delayRequest(origin: .zero)), from: peer, at: later).count == 1)
        #expect(machine.received([1, 2, 3], from: peer, at: later).isEmpty)
        #expect(machine.received([UInt8](repeating: 0xFF, count: 1501), from: peer, at: later).isEmpty)
        #expect(machine.status(of: peer)?.malformed == 2)
        let elsewhere = PTPMessage(PTPHeader(source: asker, sequence: 1, domain: 1), .delayRequest(origin: .zero))
        #expect(machine.received(elsewhere.encoded(), from: peer, at: later).isEmpty)
        // What is our own message, sent back.
        let own = PTPMessage(
            PTPHeader(source: PTPPortIdentity(clockID: Self.clockID, port: 1), sequence: 1),
            .delayRequest(origin: .zero))
        #expect(machine.received(own.encoded(), from: peer, at: later).isEmpty)
        #expect(machine.status(of: peer)?.delayRequests == 65)
    }

    @Test("R5 PTP a peer that is removed is a stranger")
    func removal() {
        var machine = machine(peers: [peer, other])
        machine.remove(peer)
        #expect(machine.status(of: peer) == nil)
        #expect(machine.received(request(.delayRequest(origin: .zero)), from: peer, at: 0).isEmpty)
        #expect(machine.due(at: 0).allSatisfy { $0.peer == other })
        machine.remove(other)
        #expect(machine.deadline == nil)
        #expect(machine.due(at: Self.second).isEmpty)
    }

    @Test("R5 PTP after a sleep of the host one Sync goes, not all that were missed")
    func oversleeping() {
        var machine = machine(peers: [peer])
        _ = run(&machine, until: Self.second)
        let went = machine.due(at: 60 * Self.second)
        #expect(went.count { $0.message.content.kind == .sync } == 1)
        #expect(went.count { $0.message.content.kind == .announce } == 1)
        #expect(machine.deadline == 60 * Self.second + Self.second / 8)
    }

    @Test("R5 PTP the clock looks like TAI at its start and is the host's monotonic clock from there on")
    func timebase() {
        let base = PTPTimebase(host: 5 * Self.second, secondsSince1970: 1_800_000_000)
        #expect(base.time(atHost: 5 * Self.second) == 1_800_000_037_000_000_000)
        #expect(base.time(atHost: 6 * Self.second) - base.time(atHost: 5 * Self.second) == 1_000_000_000)
        #expect(base.host(atTime: base.time(atHost: 123_456_789)) == 123_456_789)
        // A host whose time of day was never set.
        #expect(PTPTimebase(host: 90 * Self.second, secondsSince1970: 0).offset == 0)
    }
}
