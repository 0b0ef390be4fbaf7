import CastV2
import Foundation
import NIOCore
import NIOPosix
import RouterTestKit
import Testing

@testable import SimulatedReceivers

/// Encoded sound and pictures, made by ffmpeg: packets of Opus or VP8.
enum CastTestMedia {
    struct Failed: Error { var what: String }

    /// 10 ms frames of one tone at 48 kHz, stereo.
    static func opus(tone: Int, seconds: Double) async throws -> [[UInt8]] {
        let bytes = try await ffmpeg([
            "-f", "lavfi", "-i", "sine=frequency=\(tone):sample_rate=48000:duration=\(seconds)", "-af", "volume=4",
            "-ac", "2", "-c:a", "libopus", "-frame_duration", "10", "-b:a", "96k", "-f", "ogg",
        ])
        // Without the two packets of headers.
        return Array(oggPackets(bytes).dropFirst(2))
    }

    /// 25 pictures a second of one colour; each fifth a key frame.
    static func vp8(colour: String, pictures: Int) async throws -> [[UInt8]] {
        let bytes = try await ffmpeg([
            "-f", "lavfi", "-i", "color=c=\(colour):s=320x180:r=25", "-frames:v", "\(pictures)", "-c:v", "libvpx",
            "-g", "5", "-deadline", "realtime", "-f", "ivf",
        ])
        var frames: [[UInt8]] = []
        var place = 32
        while place + 12 <= bytes.count {
            let length = (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
            guard place + 12 + length <= bytes.count else { break }
            frames.append(Array(bytes[(place + 12)..<(place + 12 + length)]))
            place += 12 + length
        }
        return frames
    }

    /// One key frame of H.264.
    static func h264(colour: String) async throws -> [UInt8] {
        try await ffmpeg([
            "-f", "lavfi", "-i", "color=c=\(colour):s=320x180:r=25", "-frames:v", "1", "-pix_fmt", "yuv420p", "-c:v",
            "libx264", "-profile:v", "baseline", "-f", "h264",
        ])
    }

    private static func ffmpeg(_ arguments: [String]) async throws -> [UInt8] {
        let file = FileManager.default.temporaryDirectory.appending(path: "cast-media-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ffmpeg", "-y", "-v", "error", "-nostdin"] + arguments + [file.path]
        let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
        for await _ in ended {}
        guard process.terminationStatus == 0 else { throw Failed(what: "ffmpeg") }
        return Array(try Data(contentsOf: file))
    }

    /// The packets of an Ogg file (RFC 3533): pages of segments, of which one shorter than 255 ends a packet.
    private static func oggPackets(_ bytes: [UInt8]) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var packet: [UInt8] = []
        var page = 0
        while page + 27 <= bytes.count {
            let segments = Int(bytes[page + 26])
            var place = page + 27 + segments
            for segment in 0..<segments {
                let length = Int(bytes[page + 27 + segment])
                packet += bytes[place..<(place + length)]
                place += length
                if length < 255 {
                    packets.append(packet)
                    packet = []
                }
            }
            page = place
        }
        return packets
    }
}

/// A sender of one session: the messages a test says, datagrams in real time, repeats for what is asked for.
///
/// Not the product's sender: it keeps every packet and does as it is asked.
actor CastStreamTestSender {
    struct Stream: Sendable {
        var ssrc: UInt32
        var payloadType: UInt8
        var clockRate: Int
        var cipher: CastFrameCipher
    }

    private let channel: any Channel
    private let receiver: SocketAddress
    private let streams: [Stream]
    private var kept: [UInt32: [UInt8: [CastRTPPacket]]] = [:]
    private var sequence: [UInt32: UInt16] = [:]
    private var sent: [UInt32: Int] = [:]
    private(set) var repeated = 0
    private(set) var feedbacks: [CastFeedback] = []
    private(set) var reports = 0
    private(set) var keyRequests = 0

    init(port: Int, streams: [Stream]) async throws {
        self.streams = streams
        receiver = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        let (datagrams, writer) = AsyncStream.makeStream(of: [UInt8].self)
        channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Reader(datagrams: writer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        Task { for await bytes in datagrams { self.hear(bytes) } }
    }

    func close() async { try? await channel.close() }

    /// Sends a frame that was captured at `host` nanoseconds; its timestamps begin at 0 for 0.
    func send(_ payload: [UInt8], of index: Int, key: Bool, at host: Int64) {
        let stream = streams[index]
        let number = sent[stream.ssrc, default: 0]
        sent[stream.ssrc] = number + 1
        let room = 1_400
        let encrypted = stream.cipher.crypt(payload, frame: number) ?? []
        let count = max(1, (encrypted.count + room - 1) / room)
        let packets = (0..<count).map { place in
            CastRTPPacket(
                payloadType: stream.payloadType, marker: place == count - 1, sequence: next(stream.ssrc),
                timestamp: timestamp(host, stream), ssrc: stream.ssrc, keyFrame: key,
                frameID: CastFrameID.wire(number), packetID: UInt16(place), lastPacketID: UInt16(count - 1),
                referencedFrameID: CastFrameID.wire(key ? number : number - 1),
                payload: Array(encrypted[place * room..<min(encrypted.count, (place + 1) * room)]))
        }
        kept[stream.ssrc, default: [:]][CastFrameID.wire(number)] = packets
        for packet in packets { write(packet.encoded()) }
    }

    func report(at host: Int64) {
        for stream in streams {
            let report = CastSenderReport(
                ssrc: stream.ssrc, time: CastNTPTime(nanoseconds: host), timestamp: timestamp(host, stream))
            write(CastRTCP.encode([.senderReport(report)]))
        }
    }

    func write(_ bytes: [UInt8]) {
        channel.writeAndFlush(AddressedEnvelope(remoteAddress: receiver, data: ByteBuffer(bytes: bytes)), promise: nil)
    }

    /// The last packet of each stream, under a new number.
    func repeatLast() {
        for (ssrc, count) in sent {
            guard var packet = kept[ssrc]?[CastFrameID.wire(count - 1)]?.last else { continue }
            packet.sequence = next(ssrc)
            write(packet.encoded())
        }
    }

    private func timestamp(_ host: Int64, _ stream: Stream) -> UInt32 {
        UInt32(truncatingIfNeeded: host / 1_000 * Int64(stream.clockRate) / 1_000_000)
    }

    private func next(_ ssrc: UInt32) -> UInt16 {
        sequence[ssrc, default: 0] &+= 1
        return sequence[ssrc, default: 0]
    }

    private func hear(_ bytes: [UInt8]) {
        for packet in (try? CastRTCP.decode(bytes)) ?? [] {
            switch packet {
            case .feedback(let feedback):
                feedbacks.append(feedback)
                for loss in feedback.losses { again(loss, feedback.senderSSRC) }
            case .receiverReport: reports += 1
            case .pictureLoss: keyRequests += 1
            default: break
            }
        }
    }

    private func again(_ loss: CastFeedback.Loss, _ ssrc: UInt32) {
        for packet in kept[ssrc]?[loss.frameID] ?? [] where loss.packets?.contains(packet.packetID) ?? true {
            var packet = packet
            packet.sequence = next(ssrc)
            repeated += 1
            write(packet.encoded())
        }
    }
}

private final class Reader: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let datagrams: AsyncStream<[UInt8]>.Continuation

    init(datagrams: AsyncStream<[UInt8]>.Continuation) { self.datagrams = datagrams }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        datagrams.yield(Array(unwrapInboundIn(data).data.readableBytesView))
    }

    func channelInactive(context: ChannelHandlerContext) { datagrams.finish() }

    /// From a closed port.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
