import CPosix
import Foundation
import Synchronization
import Testing

@testable import Pacing

@Suite("Packet ring and sending thread")
struct PacketRingTests {
    static func packet(_ sequence: UInt16) -> [UInt8] {
        [UInt8(sequence >> 8), UInt8(sequence & 0xFF)] + [UInt8](repeating: UInt8(sequence & 0x7F), count: 100)
    }

    /// Sends everything due until nothing waits, and gives what went.
    static func drain(_ ring: PacketRing, from start: Int64) -> [[UInt8]] {
        var went: [[UInt8]] = []
        var now = start
        while ring.pending > 0 {
            let served = ring.serve(at: now, beat: { _ in }) { burst in
                for datagram in burst {
                    went.append(Array(UnsafeRawBufferPointer(start: datagram.bytes, count: datagram.length)))
                }
                return (burst.count, 0)
            }
            now = served.next ?? now
        }
        return went
    }

    @Test("a beat is told what has gone, resends apart")
    func counting() {
        let ring = PacketRing()
        for sequence in 0..<3 as Range<UInt16> {
            _ = ring.append(Self.packet(sequence), sequence: sequence, deadline: 0, now: 0)
        }
        _ = Self.drain(ring, from: 0)
        _ = Self.resent(ring, 0, 2)
        ring.beat(
            BeatSchedule(start: 50, opening: [0], period: 100),
            counting: { _, _, sent in
                [UInt8(sent.packets), UInt8(sent.bytes / 3)]
            })
        let told = Mutex<[UInt8]>([])
        _ = ring.serve(at: 50, beat: { packet in told.withLock { $0 = packet } }) { ($0.count, 0) }
        #expect(told.withLock { $0 } == [3, 102])
    }

    static func resent(_ ring: PacketRing, _ from: UInt16, _ count: Int) -> [[UInt8]] {
        var result: [[UInt8]] = []
        ring.resend(from: from, count: count) { sequence, packet in
            #expect(Array(packet.prefix(2)) == [UInt8(sequence >> 8), UInt8(sequence & 0xFF)])
            result.append(Array(packet))
        }
        return result
    }

    @Test("The last thousand packets can be had again, over the wrap of sequence numbers")
    func resends() {
        let ring = PacketRing()
        var sequence: UInt16 = 65_000
        for _ in 0..<10 {
            for _ in 0..<200 {
                #expect(ring.append(Self.packet(sequence), sequence: sequence, deadline: 0, now: 0) != .full)
                sequence &+= 1
            }
            #expect(Self.drain(ring, from: 1).count == 200)
        }
        let last = sequence &- 1
        #expect(Self.resent(ring, last &- 999, 1000).count == 1000)
        #expect(Self.resent(ring, last, 1) == [Self.packet(last)])
        #expect(Self.resent(ring, last &+ 1, 1).isEmpty)
        #expect(Self.resent(ring, last &- 1700, 1).isEmpty)
        #expect(ring.statistics.resent == 1001)
        #expect(ring.statistics.resendsMissed == 2)
    }

    @Test("What was dropped is neither sent nor had again, and its numbers are used anew")
    func dropping() {
        let ring = PacketRing()
        for sequence in UInt16(10)..<20 {
            _ = ring.append(Self.packet(sequence), sequence: sequence, deadline: 0, now: 0)
        }
        #expect(Self.drain(ring, from: 1).count == 10)
        for sequence in UInt16(20)..<25 {
            _ = ring.append(Self.packet(sequence), sequence: sequence, deadline: 99, now: 0)
        }
        #expect(Self.resent(ring, 20, 5).isEmpty)
        #expect(ring.dropPending() == 5)
        #expect(ring.pending == 0)
        _ = ring.append(Self.packet(20), sequence: 20, deadline: 0, now: 0)
        #expect(Self.drain(ring, from: 100) == [Self.packet(20)])
        #expect(Self.resent(ring, 18, 4).count == 3)
    }

    @Test("Only a packet that is due sooner than the next look wakes the thread")
    func waking() {
        let ring = PacketRing()
        #expect(ring.append(Self.packet(1), sequence: 1, deadline: 100, now: 0) == .queuedSooner)
        #expect(ring.append(Self.packet(2), sequence: 2, deadline: 200_000_000, now: 0) == .queued)
        _ = ring.serve(at: 100, beat: { _ in }) { ($0.count, 0) }
        #expect(ring.append(Self.packet(3), sequence: 3, deadline: 300_000_000, now: 0) == .queued)
        #expect(ring.append(Self.packet(4), sequence: 4, deadline: 400_000_000, now: 300_000_001) == .queued)
    }

    @Test("Beats go before the packets of the same instant, and say who they are")
    func beating() {
        let ring = PacketRing()
        ring.beat(BeatSchedule(start: 50, opening: [0], period: 100)) { beat, now in
            [beat.opening ? 1 : 0, UInt8(now)]
        }
        _ = ring.append(Self.packet(1), sequence: 1, deadline: 50, now: 0)
        let order = Mutex<[String]>([])
        let served = ring.serve(at: 50, beat: { packet in order.withLock { $0.append("beat \(packet)") } }) { burst in
            order.withLock { $0.append("audio") }
            return (burst.count, 0)
        }
        #expect(order.withLock { $0 } == ["beat [1, 50]", "audio"])
        #expect(served.next == 150)
        ring.dropPending()
        #expect(ring.serve(at: 150, beat: { _ in Issue.record("it beats on") }) { ($0.count, 0) }.next == nil)
    }

    @Test("Addresses")
    func addresses() throws {
        let four = try #require(DatagramAddress(host: "127.0.0.1", port: 6000))
        #expect(four.port == 6000)
        #expect(four.with(port: 1).sameHost(as: four))
        #expect(try !four.sameHost(as: #require(DatagramAddress(host: "127.0.0.2", port: 6000))))
        let six = try #require(DatagramAddress(host: "::1", port: 6000))
        #expect(six.sameHost(as: six.with(port: 9)))
        #expect(!six.sameHost(as: four))
        #expect(DatagramAddress(host: "nonsense", port: 1) == nil)
        #expect(DatagramAddress(socketAddress: [1]) == nil)
    }

    @Test("The thread sends in order, answers, and lets go", arguments: ["127.0.0.1", "::1"])
    func thread(host: String) async throws {
        let pacer = try Pacer()
        let home = try #require(DatagramAddress(host: host, port: 0))
        let receiver = try DatagramSocket(towards: home)
        let audio = try DatagramSocket(towards: home)
        try audio.connect(to: home.with(port: receiver.port))
        let control = try DatagramSocket(towards: home)
        let ring = PacketRing()
        let stream = PacedStream(
            output: PacedStream.Output(ring: ring, socket: audio, beat: { _ in }, failed: { _ in }),
            listeners: [
                PacedStream.Listener(socket: control) { datagram, source, _ in
                    control.send(Array(datagram.reversed()), to: source)
                }
            ])
        pacer.add(stream)
        let now = cposix_monotonic_nanoseconds()
        for sequence in UInt16(0)..<50 {
            let appended = ring.append(
                Self.packet(sequence), sequence: sequence, deadline: now + Int64(sequence) * 1_000_000, now: now)
            if appended == .queuedSooner { pacer.wake() }
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)
        defer { buffer.deallocate() }
        func next(_ socket: DatagramSocket) -> [UInt8]? {
            var descriptors = [pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)]
            guard cposix_poll_until(&descriptors, 1, cposix_monotonic_nanoseconds() + 20_000_000_000) > 0 else {
                return nil
            }
            return socket.receive(into: buffer).map { Array(buffer[..<$0.count]) }
        }
        for sequence in UInt16(0)..<50 { #expect(next(receiver) == Self.packet(sequence)) }
        receiver.send([1, 2, 3], to: home.with(port: control.port))
        #expect(next(receiver) == [3, 2, 1])
        await pacer.remove(stream)
        #expect(ring.statistics.sent == 50)
    }

    @Test("A closed port is reported")
    func closedPort() async throws {
        let pacer = try Pacer()
        let home = try #require(DatagramAddress(host: "127.0.0.1", port: 0))
        let audio = try DatagramSocket(towards: home)
        do {
            let gone = try DatagramSocket(towards: home)
            try audio.connect(to: home.with(port: gone.port))
        }
        let (errors, continuation) = AsyncStream.makeStream(of: Int32.self)
        let ring = PacketRing()
        let stream = PacedStream(
            output: PacedStream.Output(
                ring: ring, socket: audio, beat: { _ in }, failed: { continuation.yield($0) }), listeners: [])
        pacer.add(stream)
        for sequence in UInt16(0)..<20 {
            _ = ring.append(Self.packet(sequence), sequence: sequence, deadline: Int64(sequence), now: 0)
        }
        pacer.wake()
        for await error in errors {
            #expect(error == ECONNREFUSED)
            break
        }
        await pacer.remove(stream)
    }
}
