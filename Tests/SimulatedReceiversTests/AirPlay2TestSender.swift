import AirPlay
import Foundation
import HomeKitPairing
import NIOCore
import NIOPosix
import RouteBackend
import Testing

@testable import SimulatedReceivers

/// Property lists, packets and seals as an AirPlay 2 sender makes them, written from their layouts.
enum AirPlay2TestMessage {
    static let key = [UInt8](1...32)
    static let listType: RTSPHeaders = ["Content-Type": "application/x-apple-binary-plist"]

    static func session(timingPort: Int) -> PropertyList {
        .dictionary([
            "deviceID": .string("AA:BB:CC:DD:EE:FF"), "sessionUUID": .string("S"), "name": .string("a test"),
            "timingPort": .integer(Int64(timingPort)), "timingProtocol": .string("NTP"),
        ])
    }

    static func stream(
        _ type: Int64, _ audioFormat: Int64, rate: Int64 = 44_100, controlPort: Int = 0
    ) -> PropertyList {
        .dictionary([
            "streams": .array([
                .dictionary([
                    "type": .integer(type), "ct": .integer(2), "audioFormat": .integer(audioFormat),
                    "spf": .integer(352), "sr": .integer(rate), "shk": .data(key),
                    "controlPort": .integer(Int64(controlPort)), "latencyMin": .integer(11_025),
                    "latencyMax": .integer(88_200),
                ])
            ])
        ])
    }

    /// The header, and what it covers sealed: `number` is the nonce.
    static func sealed(_ header: [UInt8], _ payload: [UInt8], number: UInt64, key: [UInt8] = key) -> [UInt8] {
        let nonce = (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        return header
            + PairingCrypto.seal(payload, key: key, nonce: nonce, authenticating: Array(header[4..<12])) + nonce
    }

    static func buffered(
        _ sequence: UInt32, rtpTime: UInt32, ssrc: UInt32, payload: [UInt8], key: [UInt8] = key
    ) -> [UInt8] {
        func big(_ number: UInt32, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
        }
        let header = big(0x8080_0000 | sequence, 4) + big(rtpTime, 4) + big(ssrc, 4)
        let packet = sealed(header, payload, number: UInt64(sequence), key: key)
        return big(UInt32(packet.count + 2), 2) + packet
    }

    /// The frame `rtpTime` is heard at `time`, nanoseconds of the sender's clock.
    static func anchor(rtpTime: UInt32, time: Int64) -> PropertyList {
        let fraction = UInt64(1_000_000_000).dividingFullWidth((UInt64(time % 1_000_000_000), 0)).quotient
        return .dictionary([
            "rate": .integer(1), "rtpTime": .integer(Int64(rtpTime)), "networkTimeSecs": .integer(time / 1_000_000_000),
            "networkTimeFrac": .integer(Int64(bitPattern: fraction)), "networkTimeTimelineID": .integer(5),
        ])
    }

    static let pause = PropertyList.dictionary(["rate": .integer(0)])
}

extension RAOPTestSender {
    /// Asks by a property list, and reads the one of the answer.
    func tell(_ method: String, uri: String? = nil, _ list: PropertyList) async throws -> (Int, PropertyList?) {
        let answer = try await ask(method, uri: uri, AirPlay2TestMessage.listType, body: list.encoded())
        return (answer.status, try? PropertyList(parsing: answer.body))
    }

    /// Both SETUPs and RECORD, without pairing. Answers the port of the stream's data and of events.
    func beginAirPlay2(
        _ type: Int64 = 96, _ audioFormat: Int64, rate: Int64 = 44_100
    ) async throws -> (data: Int, events: Int) {
        let session = try await tell("SETUP", AirPlay2TestMessage.session(timingPort: ports.timing))
        #expect(session.0 == 200)
        let stream = try await tell(
            "SETUP", AirPlay2TestMessage.stream(type, audioFormat, rate: rate, controlPort: ports.control))
        #expect(stream.0 == 200)
        let answer = try #require(stream.1?["streams"]?.array?.first)
        let data = try #require(answer["dataPort"]?.port)
        use(serverPort: data, controlPort: try #require(answer["controlPort"]?.port))
        #expect(try await ask("RECORD").status == 200)
        return (data, try #require(session.1?["eventPort"]?.port))
    }
}

/// A connection for bytes alone: to an event port, or to that of a buffered stream.
actor AirPlay2TestSocket {
    private let channel: any Channel
    private let received: AsyncStream<[UInt8]>.Iterator
    private var buffer: [UInt8] = []

    init(port: Int) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        received = stream.makeAsyncIterator()
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AirPlay2TestCollector(continuation))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// The next request that comes in.
    func request() async throws -> RTSPRequest {
        while true {
            if case .request(let request) = try await message() { return request }
        }
    }

    /// The next answer that comes in.
    func response() async throws -> RTSPResponse {
        while true {
            if case .response(let response) = try await message() { return response }
        }
    }

    /// Returns when the other side has hung up, whatever it said before.
    func waitUntilClosed() async {
        var received = received
        while await received.next(isolation: self) != nil {}
    }

    private func message() async throws -> RTSPMessage {
        while true {
            if let (message, used) = try RTSPMessageDecoder().decode(buffer[...]) {
                buffer.removeFirst(used)
                return message
            }
            var received = received
            guard let chunk = await received.next(isolation: self) else { throw RAOPTestSender.Closed() }
            buffer.append(contentsOf: chunk)
        }
    }

    func close() async { try? await channel.close() }
}

private final class AirPlay2TestCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: AsyncStream<[UInt8]>.Continuation

    init(_ received: AsyncStream<[UInt8]>.Continuation) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.yield(Array(unwrapInboundIn(data).readableBytesView))
    }

    func channelInactive(context: ChannelHandlerContext) { received.finish() }
}
