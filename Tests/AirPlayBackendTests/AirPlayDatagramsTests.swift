import AirPlay
import Foundation
import Pacing
import RouteBackend
import RouterTestKit
import Testing

@testable import AirPlayBackend

@Suite("The UDP side of a session, and who may ask what of it", .timeLimit(.minutes(1)))
struct AirPlayDatagramsTests {
    @Test("A1 Strangers are told no time and sent no packets; the receiver is")
    func strangers() async throws {
        let receiver = try Probe("127.0.0.1")
        let stranger = try Probe("127.0.0.2")
        let (datagrams, stream) = try await Self.playing(to: receiver)
        let question = RAOPTimingPacket(
            kind: .request, origin: NTPTime(nanoseconds: 0), receive: NTPTime(nanoseconds: 0),
            transmit: NTPTime(nanoseconds: 7)
        ).encoded()
        let request = RAOPResendRequest(firstSequence: 10, count: 2).encoded()
        // In this order, so that the stranger's have been looked at when the receiver is answered.
        stranger.send(question, to: datagrams.timing.port)
        stranger.send(request, to: datagrams.control.port)
        receiver.send(question, to: datagrams.timing.port)
        receiver.send(request, to: datagrams.control.port)
        var kinds: [UInt8] = []
        #expect(
            await eventually {
                kinds += receiver.received().map { $0[1] }
                return kinds.count == 3
            })
        #expect(kinds.sorted() == [0xD3, 0xD6, 0xD6])
        #expect(stranger.received().isEmpty)
        #expect(datagrams.witness.timing.questions == 1)
        #expect(datagrams.witness.resends == 1)
        await datagrams.close(stream)
    }

    @Test("A1 Whoever asks for everything again and again gets a second's share, and no more")
    func everything() async throws {
        let witness = DatagramWitness()
        #expect(witness.grant(7, at: 5) == 7)
        #expect((0..<100).map { _ in witness.grant(65_536, at: 6) }.reduce(0, +) == 1024 - 7)
        #expect(witness.grant(1, at: 1_000_000_004) == 0)
        #expect(witness.grant(1, at: 1_000_000_005) == 1)

        let receiver = try Probe("127.0.0.1")
        let (datagrams, stream) = try await Self.playing(to: receiver)
        for _ in 0..<200 {
            receiver.send(RAOPResendRequest(firstSequence: 0, count: .max).encoded(), to: datagrams.control.port)
        }
        // Garbage in between: too short, of another kind, too long.
        for bytes in [
            [], [0x80], [0x80, 0xD5, 0, 1], [0x80, 0xD6, 0, 1, 0, 0, 0, 1], [UInt8](repeating: 0xD5, count: 2000),
        ] {
            receiver.send(bytes, to: datagrams.control.port)
            receiver.send(bytes, to: datagrams.timing.port)
        }
        #expect(await eventually { datagrams.witness.resends == 200 })
        #expect(datagrams.ring.statistics.resent <= 2 * DatagramWitness.resendsPerSecond)
        #expect(datagrams.ring.statistics.resent > 0)
        // It answers as before.
        receiver.send(
            RAOPTimingPacket(
                kind: .request, origin: NTPTime(nanoseconds: 0), receive: NTPTime(nanoseconds: 0),
                transmit: NTPTime(nanoseconds: 7)
            ).encoded(), to: datagrams.timing.port)
        #expect(await eventually { datagrams.witness.timing.questions == 1 })
        await datagrams.close(stream)
    }

    /// A hundred packets, all of them sent.
    private static func playing(to receiver: Probe) async throws -> (AirPlayDatagrams, PacedStream) {
        let remote = try #require(DatagramAddress(host: "127.0.0.1", port: receiver.port))
        let clock = SystemHostClock()
        let datagrams = try AirPlayDatagrams(remote: remote, pacer: Pacer()) { clock.now() }
        let stream = try datagrams.start(audioPort: receiver.port, controlPort: receiver.port) { _ in }
        for number in 0..<100 {
            let header: [UInt8] = [0x80, 0x60, 0, UInt8(number)]
            let taken = datagrams.ring.append(
                header + [UInt8](repeating: 0, count: 60), sequence: UInt16(number), deadline: clock.now(),
                now: clock.now())
            #expect(taken != .full)
        }
        datagrams.wake()
        var heard = 0
        #expect(
            await eventually {
                heard += receiver.received().count
                return heard == 100
            })
        return (datagrams, stream)
    }
}

/// A UDP socket at an address of this host, that never waits.
private final class Probe: Sendable {
    private let descriptor: Int32
    let port: Int

    init(_ host: String) throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = Self.address(host, 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(bound)
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8], to port: Int) {
        var address = Self.address("127.0.0.1", UInt16(port))
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// What has come by now.
    func received() -> [[UInt8]] {
        var all: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 2048)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { return all }
            all.append(Array(buffer.prefix(count)))
        }
    }

    private static func address(_ host: String, _ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        return address
    }
}
