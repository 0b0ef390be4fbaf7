import AirPlay
import NIOCore
import NIOPosix
import RouteBackend
import Testing

/// A sender made of the codecs alone, which does exactly what a test says, in step or out of it.
actor RAOPTestSender {
    struct Closed: Error {}

    /// Of the sender's clock, which is 100 s ahead of the host's.
    static let clockOffset: Int64 = 100_000_000_000

    private let host: String
    private let connection: any Channel
    private let received: AsyncStream<[UInt8]>.Iterator
    private let control: any Channel
    private let timing: any Channel
    private let audio: any Channel
    private var next = 1
    private var buffer: [UInt8] = []
    private var serverPort = 0
    private var controlPort = 0
    /// What a resend asks for is found here.
    private let sent: SentPackets
    var password: String?
    private var challenge: DigestChallenge?
    let uri = "rtsp://127.0.0.1/4242"

    init(port: Int, host: String = "127.0.0.1") async throws {
        self.host = host
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        received = stream.makeAsyncIterator()
        connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(continuation))
                }
            }
            .connect(host: host, port: port).get()
        let sent = SentPackets()
        self.sent = sent
        timing = try await Self.bind(host) { bytes in
            guard let request = RAOPTimingPacket(decoding: bytes), request.kind == .request else { return [] }
            let now = NTPTime(nanoseconds: SystemHostClock().now() + Self.clockOffset)
            return [request.reply(received: now, transmitted: now).encoded()]
        }
        control = try await Self.bind(host) { bytes in
            guard let request = RAOPResendRequest(decoding: bytes) else { return [] }
            return (0..<request.count).compactMap { index in
                let sequence = request.firstSequence &+ index
                return sent.find(sequence).map { RAOPResendAnswer(sequence: sequence, packet: $0).encoded() }
            }
        }
        audio = try await Self.bind(host) { _ in [] }
    }

    private static func bind(
        _ host: String, _ answer: @escaping @Sendable ([UInt8]) -> [[UInt8]]
    ) async throws -> any Channel {
        try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answerer(answer: answer))
                }
            }
            .bind(host: host, port: 0).get()
    }

    func setPassword(_ password: String?) { self.password = password }

    func close() async {
        for channel in [connection, control, timing, audio] { try? await channel.close() }
    }

    /// Sends a request and waits for its answer. Throws `Closed` when the receiver hangs up instead.
    func ask(
        _ method: String, uri: String? = nil, _ headers: RTSPHeaders = [:], body: [UInt8] = []
    ) async throws -> RTSPResponse {
        var request = RTSPRequest(method: method, uri: uri ?? self.uri, headers: headers, body: body)
        request.headers["CSeq"] = String(next)
        next += 1
        if let password, let challenge {
            request.headers["Authorization"] =
                DigestAuthorization(
                    challenge: challenge, user: "iTunes", password: password, method: method, uri: request.uri
                ).text
        }
        try await connection.writeAndFlush(ByteBuffer(bytes: request.encoded()))
        while true {
            if let (message, used) = try RTSPMessageDecoder().decode(buffer[...]) {
                buffer.removeFirst(used)
                guard case .response(let response) = message else { continue }
                if response.status == 401, let text = response.headers["WWW-Authenticate"] {
                    challenge = DigestChallenge(parsing: text)
                }
                return response
            }
            // A copy reads from the same stream, and the actor's own may not be changed across an await.
            var received = received
            guard let chunk = await received.next(isolation: self) else { throw Closed() }
            buffer.append(contentsOf: chunk)
        }
    }

    /// ANNOUNCE to RECORD. Answers the first status that isn't 200, or 200.
    func begin(
        _ codec: RAOPSessionDescription.Codec = .l16(sampleRate: 44_100, channels: 2),
        encryption: RAOPSessionDescription.RSAEncryption? = nil, sequence: UInt16 = 0, rtpTime: UInt32 = 0
    ) async throws -> Int {
        let description = RAOPSessionDescription(
            sessionID: 4242, senderAddress: "127.0.0.1", receiverAddress: host, codec: codec, encryption: encryption)
        let announced = try await ask(
            "ANNOUNCE", ["Content-Type": RAOPSessionDescription.contentType], body: description.encoded())
        guard announced.status == 200 else { return announced.status }
        let transport = RTSPTransport(
            controlPort: control.localAddress?.port, timingPort: timing.localAddress?.port)
        let setUp = try await ask("SETUP", ["Transport": transport.text])
        guard setUp.status == 200 else { return setUp.status }
        let answer = RTSPTransport(parsing: setUp.headers["Transport"] ?? "")
        serverPort = answer.serverPort ?? 0
        controlPort = answer.controlPort ?? 0
        return try await ask(
            "RECORD", ["Range": "npt=0-", "RTP-Info": RTPInfo(sequence: sequence, timestamp: rtpTime).text]
        ).status
    }

    /// Where it takes requests to send again, and questions for its time.
    var ports: (control: Int, timing: Int) {
        (control.localAddress?.port ?? 0, timing.localAddress?.port ?? 0)
    }

    /// The receiver's ports, where RTSP did not tell them.
    func use(serverPort: Int, controlPort: Int) {
        self.serverPort = serverPort
        self.controlPort = controlPort
    }

    /// Sends a packet that is whole already.
    /// - Parameter loses: it is kept for resends, and not sent.
    func packet(_ bytes: [UInt8], sequence: UInt16, loses: Bool = false) throws {
        sent.keep(bytes, sequence)
        if !loses { try send(bytes, from: audio, to: serverPort) }
    }

    /// Says that `rtpTime` is heard `delay` from now, beside the receiver's own latency.
    func sync(rtpTime: UInt32, delay: Duration, first: Bool = true) throws {
        let wait = delay.components.seconds * 1_000_000_000 + delay.components.attoseconds / 1_000_000_000
        let time = NTPTime(nanoseconds: SystemHostClock().now() + wait + Self.clockOffset)
        try send(
            RAOPSyncPacket(first: first, playing: rtpTime, time: time, next: rtpTime &+ 11_025).encoded(),
            from: control, to: controlPort)
    }

    /// - Parameter loses: it is kept for resends, and not sent.
    func packet(_ sequence: UInt16, rtpTime: UInt32, payload: [UInt8], first: Bool = false, loses: Bool = false) throws
    {
        let header = RTPAudioHeader(marker: first, sequence: sequence, timestamp: rtpTime, ssrc: 7)
        let bytes = header.encoded() + payload
        sent.keep(bytes, sequence)
        if !loses { try send(bytes, from: audio, to: serverPort) }
    }

    private func send(_ bytes: [UInt8], from channel: any Channel, to port: Int) throws {
        let address = try SocketAddress(ipAddress: host, port: port)
        channel.writeAndFlush(
            AddressedEnvelope(remoteAddress: address, data: channel.allocator.buffer(bytes: bytes)), promise: nil)
    }
}

/// Runs `body` with a sender that is connected to the port, and disconnects it.
func sending(to port: Int, _ body: (RAOPTestSender) async throws -> Void) async throws {
    let sender = try await RAOPTestSender(port: port)
    do {
        try await body(sender)
    } catch {
        await sender.close()
        throw error
    }
    await sender.close()
}

private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: AsyncStream<[UInt8]>.Continuation

    init(_ received: AsyncStream<[UInt8]>.Continuation) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.yield(Array(unwrapInboundIn(data).readableBytesView))
    }

    func channelInactive(context: ChannelHandlerContext) { received.finish() }
}

/// Answers a datagram by none or some to where it came from.
private final class Answerer: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let answer: @Sendable ([UInt8]) -> [[UInt8]]

    init(answer: @escaping @Sendable ([UInt8]) -> [[UInt8]]) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        for bytes in answer(Array(envelope.data.readableBytesView)) {
            let reply = AddressedEnvelope(
                remoteAddress: envelope.remoteAddress, data: context.channel.allocator.buffer(bytes: bytes))
            context.writeAndFlush(wrapOutboundOut(reply), promise: nil)
        }
    }
}

/// What was sent, by its sequence number.
private final class SentPackets: Sendable {
    private let packets = LatestValue<[UInt16: [UInt8]]>([:])

    func keep(_ bytes: [UInt8], _ sequence: UInt16) { packets.update { $0[sequence] = bytes } }
    func find(_ sequence: UInt16) -> [UInt8]? { packets.value[sequence] }
}

/// Payloads as a sender makes them.
enum RAOPTestPayload {
    static func l16(_ samples: [Int16]) -> [UInt8] {
        samples.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }

    /// Apple Lossless's uncompressed form, for a whole packet of 352 frames (`airplay.md` 3).
    static func uncompressedLossless(_ samples: [Int16]) -> [UInt8] {
        var bytes: [UInt8] = []
        var pending: UInt32 = 0
        var count = 0
        func put(_ value: UInt32, _ bits: Int) {
            for bit in stride(from: bits - 1, through: 0, by: -1) {
                pending = pending << 1 | (value >> UInt32(bit) & 1)
                count += 1
                if count == 8 {
                    bytes.append(UInt8(truncatingIfNeeded: pending))
                    pending = 0
                    count = 0
                }
            }
        }
        put(1, 3)  // two channels
        put(0, 4)
        put(0, 12)
        put(0, 1)  // the usual number of frames
        put(0, 2)
        put(1, 1)  // not compressed
        for sample in samples { put(UInt32(UInt16(bitPattern: sample)), 16) }
        put(7, 3)  // end
        if count > 0 { put(0, 8 - count) }
        return bytes
    }
}
