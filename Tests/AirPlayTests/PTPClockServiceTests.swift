import Foundation
import NIOCore
import NIOPosix
import RouterTestKit
import Testing

@testable import AirPlay

/// On loopback, and on ports that need no privilege.
@Suite("PTP clock service", .serialized)
struct PTPClockServiceTests {
    /// Two ports that are free on the loopback interface.
    static func freePorts() throws -> PTPPorts {
        // Nobody hands these out by himself, and each test process has its own.
        for _ in 0..<100 {
            let event = UInt16.random(in: 20_000..<30_000)
            let addresses = [event, event + 1].compactMap { PTPAddress(host: "0.0.0.0", port: $0) }
            if (try? addresses.map { try PTPSocket(bound: $0, stampsDepartures: false) }) != nil {
                return PTPPorts(event: event, general: event + 1)
            }
        }
        throw PTPError.portsInUse(PTPPorts(event: 20_000, general: 20_001), address: "0.0.0.0")
    }

    /// A socket of a peer that keeps what it hears.
    struct Ear {
        let socket: PTPSocket

        init(_ host: String, _ port: UInt16) throws {
            socket = try PTPSocket(bound: PTPAddress(host: host, port: port)!, stampsDepartures: false)
        }

        /// The next message of this kind; nil when it does not come.
        func message(_ kind: PTPMessageKind) async -> (message: PTPMessage, arrival: Int64, source: String)? {
            var found: (PTPMessage, Int64, String)?
            _ = await eventually {
                while let datagram = socket.receive() {
                    guard let message = try? PTPMessage(decoding: datagram.bytes) else { continue }
                    guard message.content.kind == kind else { continue }
                    found = (message, datagram.arrival, datagram.source.host.description)
                    return true
                }
                return false
            }
            return found
        }

        func send(_ message: PTPMessage, to address: String, port: UInt16) {
            _ = socket.send(message.encoded(), to: PTPAddress(host: address, port: port)!) { _, _ in }
        }
    }

    static let asker = PTPPortIdentity(clockID: 42, port: 1)

    private static func monotonic() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }

    @Test("R5 PTP a peer hears Announce, Sync and a Follow_Up of the time at which the Sync left")
    func tells() async throws {
        let ports = try Self.freePorts()
        let service = try PTPClockService(ports: ports)
        try await service.start()
        let event = try Ear("127.0.0.2", ports.event)
        let general = try Ear("127.0.0.2", ports.general)
        let local = try await service.add(peer: "127.0.0.2")
        #expect(local == PTPClockService.ownHostAddress)
        let announce = try #require(await general.message(.announce))
        #expect(announce.source == local)
        guard case .announce(let content) = announce.message.content else { return }
        #expect(content.grandmasterID == service.clockID)
        // The third Follow_Up: by then everything is warm.
        for _ in 0..<3 {
            let sync = try #require(await event.message(.sync))
            let followUp = try #require(await general.message(.followUp))
            #expect(followUp.message.header.sequence == sync.message.header.sequence)
            guard case .followUp(let time) = followUp.message.content else { return }
            let left = service.timebase.host(atTime: try #require(time.nanosecondsSinceEpoch))
            // Both by the kernel's stamps, on the loopback interface: it cannot come before it left, nor long after.
            #expect(sync.arrival - left > -20_000)
            #expect(sync.arrival - left < 50_000_000)
        }
        await service.stop()
    }

    @Test("R5 PTP questions are answered to where peers listen, and the status tells that they asked")
    func answers() async throws {
        let ports = try Self.freePorts()
        let service = try PTPClockService(ports: ports)
        try await service.start()
        let event = try Ear("127.0.0.2", ports.event)
        let general = try Ear("127.0.0.2", ports.general)
        let local = try await service.add(peer: "127.0.0.2")
        #expect(await service.status(of: "127.0.0.2")?.hasAsked == false)
        let before = service.time(atHost: Self.monotonic())
        event.send(
            PTPMessage(PTPHeader(source: Self.asker, sequence: 5), .delayRequest(origin: .zero)), to: local,
            port: ports.event)
        let answer = try #require(await general.message(.delayResponse))
        guard case .delayResponse(let time, let requester) = answer.message.content else { return }
        #expect(requester == Self.asker)
        #expect(answer.message.header.sequence == 5)
        #expect(try #require(time.nanosecondsSinceEpoch) + 20_000 > before)
        event.send(
            PTPMessage(PTPHeader(source: Self.asker, sequence: 6), .peerDelayRequest(origin: .zero)), to: local,
            port: ports.event)
        #expect(await event.message(.peerDelayResponse)?.message.header.sequence == 6)
        #expect(await general.message(.peerDelayFollowUp)?.message.header.sequence == 6)
        general.send(
            PTPMessage(
                PTPHeader(source: Self.asker, sequence: 7), .signaling(target: .all),
                tlvs: [.requestUnicast(.sync, logInterval: -3, seconds: 60)]),
            to: local, port: ports.general)
        var granted = false
        while !granted {
            let signaling = try #require(await general.message(.signaling))
            granted = signaling.message.tlvs == [.grantUnicast(.sync, logInterval: -3, seconds: 60, renewable: true)]
        }
        let status = try #require(await service.status(of: "127.0.0.2"))
        #expect(status.delayRequests == 2)
        #expect(status.signalings == 1)
        #expect(status.hasAsked && status.askingInterval != nil)
        #expect(status.sendError == nil)
        await service.stop()
    }

    @Test("R5 PTP strangers hear nothing and are counted, removed peers are strangers")
    func strangers() async throws {
        let ports = try Self.freePorts()
        let service = try PTPClockService(ports: ports)
        try await service.start()
        let local = try await service.add(peer: "127.0.0.2")
        let stranger = try Ear("127.0.0.9", ports.event)
        let question = PTPMessage(PTPHeader(source: Self.asker, sequence: 5), .delayRequest(origin: .zero))
        stranger.send(question, to: local, port: ports.event)
        #expect(await eventually { await service.statistics.strangers == 1 })
        #expect(await service.statistics.lastStranger == "127.0.0.9")
        #expect(await service.status(of: "127.0.0.9") == nil)
        // Added twice, removed once: still a peer.
        try await service.add(peer: "127.0.0.9")
        try await service.add(peer: "127.0.0.9")
        await service.remove(peer: "127.0.0.9")
        #expect(await stranger.message(.sync) != nil)
        await service.remove(peer: "127.0.0.9")
        #expect(await service.status(of: "127.0.0.9") == nil)
        await service.remove(peer: "127.0.0.9")
        await service.stop()
    }

    @Test("R5 PTP a host that says that nothing listens there is known to have said so")
    func closedPorts() async throws {
        let service = try PTPClockService(ports: try Self.freePorts())
        try await service.start()
        try await service.add(peer: "127.0.0.3")
        #expect(await eventually { await service.status(of: "127.0.0.3")?.refusedAt != nil })
        await service.stop()
    }

    @Test("R5 PTP ports that another program holds, on all addresses or on this one, are named with the cure")
    func portsInUse() async throws {
        let ports = try Self.freePorts()
        do {
            let everywhere = try Ear("0.0.0.0", ports.general)
            let service = try PTPClockService(ports: ports)
            let error = await #expect(throws: PTPError.self) { try await service.start() }
            #expect(error == .portsInUse(ports, address: PTPClockService.ownHostAddress))
            #expect(error?.cure.contains("nqptp") == true)
            await #expect(throws: PTPError.notRunning) { try await service.add(peer: "127.0.0.2") }
            _ = everywhere.socket.descriptor
        }
        let first = try PTPClockService(ports: ports)
        try await first.start()
        let second = try PTPClockService(ports: ports)
        await #expect(throws: PTPError.portsInUse(ports, address: PTPClockService.ownHostAddress)) {
            try await second.start()
        }
        // A receiver on another address of this host is no hindrance, nor is the clock one for it.
        _ = try Ear("127.0.0.2", ports.event)
        await first.stop()
        try await second.start()
        await second.stop()
    }

    @Test("R5 PTP after stop the ports are free, and it can start again with the same time")
    func restart() async throws {
        let ports = try Self.freePorts()
        let service = try PTPClockService(ports: ports)
        try await service.start()
        try await service.start()
        try await service.add(peer: "127.0.0.2")
        let before = service.time(atHost: 7)
        await service.stop()
        await service.stop()
        #expect(await service.status(of: "127.0.0.2") == nil)
        _ = try Ear("0.0.0.0", ports.event)
        try await service.start()
        #expect(service.time(atHost: 7) == before)
        let event = try Ear("127.0.0.2", ports.event)
        try await service.add(peer: "127.0.0.2")
        #expect(await event.message(.sync) != nil)
        await service.stop()
    }

    @Test("R5 PTP over IPv6")
    func ipv6() async throws {
        let ports = try Self.freePorts()
        guard (try? Ear("::1", ports.event)) != nil else { try Test.cancel("this host has no IPv6") }
        let service = try PTPClockService(ports: ports)
        try await service.start()
        #expect(try await service.add(peer: "::1") == "::1")
        // The only address there is, so the clock hears itself; it is not fooled by that.
        #expect(await eventually { (await service.status(of: "::1")?.syncsSent ?? 0) >= 3 })
        #expect(await service.status(of: "::1")?.lastHeardAt == nil)
        #expect(await service.status(of: "::1")?.sendError == nil)
        await service.stop()
    }

    @Test(
        "R5 PTP what is no address to send to is refused with the cure",
        arguments: [
            "", "kitchen.local", "1.2.3", "fe80::1", "fe80::1%nosuchif0", "::ffff:1.2.3.4.5", "127.0.0.1:319",
            "0.0.0.0",
            "255.255.255.255", "224.0.1.129", "::", "ff02::1",
        ])
    func addresses(_ address: String) async throws {
        let service = try PTPClockService(ports: try Self.freePorts())
        try await service.start()
        let error = await #expect(throws: PTPError.self) { try await service.add(peer: address) }
        #expect(error == .unusableAddress(address))
        #expect(error?.cure.contains("fe80::1%eth0") == true)
        #expect(await service.status(of: address) == nil)
        await service.remove(peer: address)
        await service.stop()
    }

    @Test("R5 PTP no more than 128 peers")
    func manyPeers() async throws {
        let service = try PTPClockService(ports: try Self.freePorts())
        try await service.start()
        for number in 0..<PTPClockService.maximumPeers { try await service.add(peer: "127.0.1.\(number + 1)") }
        await #expect(throws: PTPError.tooManyPeers(limit: 128)) { try await service.add(peer: "127.0.2.1") }
        #expect(await eventually { (await service.status(of: "127.0.1.128")?.syncsSent ?? 0) > 0 })
        await service.stop()
    }

    @Test("R5 PTP the errors say what to do")
    func cures() {
        let refused = PTPError.notPermitted(.standard)
        #expect(refused.description.contains("319 and 320"))
        #expect(refused.cure.contains("setcap cap_net_bind_service=+ep /"))
        #expect(refused.cure.contains("AmbientCapabilities=CAP_NET_BIND_SERVICE"))
        for error in [
            refused, .portsInUse(.standard, address: "192.0.2.1"), .unusableAddress("x"),
            .unreachable("192.0.2.1", reason: "no"), .tooManyPeers(limit: 128), .notRunning,
            .system(operation: "socket", code: EMFILE),
        ] {
            #expect(!error.description.isEmpty && !error.cure.isEmpty)
        }
    }
}
