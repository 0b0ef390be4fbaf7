import Foundation
import NIOCore
import RouteBackend
import RouterTestKit
import Synchronization
import Testing

@testable import SimulatedReceivers

@Suite("Datagram sockets with the kernel's stamps", .timeLimit(.minutes(2)))
struct StampedDatagramSocketTests {
    typealias Datagram = StampedDatagramSocket.Datagram

    /// A socket, and what it received.
    struct Listener {
        let socket: StampedDatagramSocket
        let heard: LatestValue<[Datagram]>

        init(
            _ host: String = "127.0.9.9", port: UInt16 = 0, capacity: Int = 2048,
            onEach: @escaping @Sendable (Datagram) -> Void = { _ in }
        ) throws {
            let heard = LatestValue<[Datagram]>([])
            socket = try StampedDatagramSocket(host: host, port: port, capacity: capacity) { datagram in
                heard.update { $0.append(datagram) }
                onEach(datagram)
            }
            self.heard = heard
        }

        var address: SocketAddress { socket.localAddress }
        var bytes: [[UInt8]] { heard.value.map(\.bytes) }
    }

    private func needsIPv6(_ host: String) throws {
        guard host.contains(":"), (try? Listener(host)) == nil else { return }
        try Test.cancel("this host has no IPv6")
    }

    /// Stops a reader where it stands.
    private final class Gate: Sendable {
        private let isShut = Atomic<Bool>(false)

        func shut() { isShut.store(true, ordering: .releasing) }
        func open() { isShut.store(false, ordering: .releasing) }
        func pass() { while isShut.load(ordering: .acquiring) { usleep(500) } }
    }

    @Test("R5 a datagram arrives when the kernel gets it, however late it is read")
    func stamps() async throws {
        let clock = SystemHostClock()
        let gate = Gate()
        let listener = try Listener { if $0.bytes == [0] { gate.pass() } }
        let sender = try Listener()
        /// Sends one while nobody reads, for 20 ms. Nil where the machine stood still for so long that a stamp is void.
        func round() async -> (sent: ClosedRange<Int64>, arrival: Int64)? {
            let before = listener.heard.value.count
            gate.shut()
            sender.socket.send([0], to: listener.address)
            #expect(await eventually { listener.heard.value.count == before + 1 })
            let start = clock.now()
            sender.socket.send([1], to: listener.address)
            let end = clock.now()
            #expect(await eventually { clock.now() - end >= 20_000_000 })
            #expect(listener.heard.value.count == before + 1)
            gate.open()
            #expect(await eventually { listener.heard.value.count == before + 2 })
            guard clock.now() - start < 900_000_000, let last = listener.heard.value.last else { return nil }
            #expect(last.bytes == [1])
            return (start...end, last.arrival)
        }
        /// Reading two clocks one after the other may be interrupted; 20 ms are far from it.
        func isStamped(_ round: (sent: ClosedRange<Int64>, arrival: Int64)) -> Bool {
            round.arrival > round.sent.lowerBound - 1_000_000 && round.arrival < round.sent.upperBound + 1_000_000
        }
        // The kernel begins to stamp a moment after the first who asks for it.
        #expect(await eventually { await round().map(isStamped) ?? false })
        var rounds = 0
        for _ in 0..<20 where rounds < 5 {
            guard let round = await round() else { continue }
            rounds += 1
            let late = round.arrival - round.sent.upperBound
            #expect(isStamped(round), "stamped \(late) ns after it was sent")
        }
        #expect(rounds == 5)
        await listener.socket.close()
        await sender.socket.close()
    }

    @Test("R5 an arrival is the kernel's for the system's clock alone; a clock turned by hand tells when it is read")
    func clocks() throws {
        let sender = try SocketAddress(ipAddress: "127.0.0.1", port: 9)
        let datagram = Datagram(bytes: [], sender: sender, arrival: 5)
        let manual = ManualClock()
        manual.advance(nanoseconds: 77)
        #expect(datagram.arrival(by: SystemHostClock()) == 5)
        #expect(datagram.arrival(by: manual) == manual.now())
    }

    @Test("R5 an address that is not ours, none at all, and a port that another has: cannotListen says which and why")
    func refusals() async throws {
        #expect(
            throws: SimulatedReceiverError.cannotListen(
                host: "203.0.113.1", port: 4000, reason: "bind: Cannot assign requested address")
        ) { try Listener("203.0.113.1", port: 4000) }
        for host in ["", "fe80::1%nosuch"] {
            let error = #expect(throws: SimulatedReceiverError.self) { try Listener(host) }
            guard case .cannotListen(host, 0, _) = error else {
                Issue.record("\(String(describing: error)) for “\(host)”")
                continue
            }
        }
        let first = try Listener()
        let port = UInt16(first.socket.port)
        #expect(
            throws: SimulatedReceiverError.cannotListen(
                host: "127.0.9.9", port: Int(port), reason: "bind: Address already in use")
        ) { try Listener(port: port) }
        await first.socket.close()
    }

    @Test(
        "R5 what is sent comes with its sender, whole up to the capacity, by both families",
        arguments: [
            "127.0.0.1", "::1", "localhost",
        ])
    func both(host: String) async throws {
        try needsIPv6(host)
        let one = try Listener(host)
        let other = try Listener(host, capacity: 4)
        one.socket.send([], to: other.address)
        one.socket.send([1, 2, 3, 4], to: other.address)
        one.socket.send([1, 2, 3, 4, 5, 6], to: other.address)
        #expect(await eventually { other.bytes.count == 3 })
        #expect(other.bytes == [[], [1, 2, 3, 4], [1, 2, 3, 4]])
        for datagram in other.heard.value {
            #expect(datagram.sender.port == one.socket.port)
            #expect(datagram.sender.ipAddress == one.address.ipAddress)
        }
        let sender = try #require(other.heard.value.first).sender
        other.socket.send([7], to: sender)
        #expect(await eventually { one.bytes == [[7]] })
        // Not even an address of the other family is a reason to stop.
        let foreign = host == "::1" ? "127.0.0.1" : "::1"
        other.socket.send([8], to: try SocketAddress(ipAddress: foreign, port: one.socket.port))
        other.socket.send([9], to: sender)
        #expect(await eventually { one.bytes == [[7], [9]] })
        await one.socket.close()
        await other.socket.close()
    }

    @Test("R5 ports that refuse what is sent to them lose no datagram, in or out", arguments: ["127.0.0.1", "::1"])
    func refused(host: String) async throws {
        try needsIPv6(host)
        let gone = try Listener(host)
        await gone.socket.close()
        let one = try Listener(host)
        let other = try Listener(host)
        for index in 0..<100 {
            one.socket.send([0xFF], to: gone.address)
            one.socket.send([UInt8(index)], to: other.address)
            other.socket.send([UInt8(index)], to: one.address)
            // Neither is to fall behind by more than the kernel holds.
            if index % 10 == 9 { #expect(await eventually { other.bytes.count == index + 1 }) }
        }
        let all = (0..<100).map { [UInt8($0)] }
        #expect(await eventually { one.bytes == all && other.bytes == all })
        await one.socket.close()
        await other.socket.close()
    }

    @Test("R5 closing amid sending and receiving: the port is free at once, and what is sent after goes nowhere")
    func closing() async throws {
        let witness = try Listener()
        // None of those that the system gives to others.
        let port = UInt16.random(in: 20_000..<30_000)
        for _ in 0..<20 {
            let listener = try Listener(port: port)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        while !Task.isCancelled {
                            listener.socket.send([1], to: listener.address)
                            await Task.yield()
                        }
                    }
                }
                #expect(await eventually { listener.bytes.count > 20 })
                async let twice: Void = listener.socket.close()
                await listener.socket.close()
                await twice
                let heard = listener.bytes.count
                // The same port, and in all likelihood the same number of a descriptor.
                if let next = try? Listener(port: port) {
                    for _ in 0..<100 { listener.socket.send([2], to: witness.address) }
                    await next.socket.close()
                } else {
                    Issue.record("port \(port) is still taken")
                }
                group.cancelAll()
                await group.waitForAll()
                #expect(listener.bytes.count == heard)
            }
            await listener.socket.close()
        }
        let last = try Listener(port: port)
        last.socket.send([3], to: witness.address)
        #expect(await eventually { !witness.bytes.isEmpty })
        #expect(witness.bytes == [[3]])
        await last.socket.close()
        await witness.socket.close()
    }

    @Test("R5 a socket that nobody holds any more gives its port back")
    func release() async throws {
        var listener: Listener? = try Listener()
        let port = UInt16(try #require(listener).socket.port)
        #expect(throws: SimulatedReceiverError.self) { try Listener(port: port) }
        listener = nil
        #expect(await eventually { (try? Listener(port: port)) != nil })
    }
}
