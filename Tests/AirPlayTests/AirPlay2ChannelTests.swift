import HomeKitPairing
import NIOCore
import NIOPosix
import RouterTestKit
import Synchronization
import Testing

@testable import AirPlay

@Suite("AirPlay 2 event channel and buffered streams")
struct AirPlay2ChannelTests {
    typealias Receiver = AirPlay2ScriptedReceiver

    /// One end of a connection that a test plays the receiver on.
    struct Peer: Sendable {
        let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

        /// Listens for one connection on the loop-back.
        static func listen(
            port: Int = 0, keys: ChannelKeys? = nil
        ) async throws -> NIOAsyncChannel<Peer, Never> {
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let keys {
                            try channel.pipeline.syncOperations.addHandler(
                                EncryptedChannelHandler(.accessory, keys: keys))
                        }
                        return Peer(channel: try NIOAsyncChannel(wrappingChannelSynchronously: channel))
                    }
                }
        }
    }

    static func request(_ number: Int, _ body: [UInt8]) -> [UInt8] {
        RTSPRequest(
            method: "POST", uri: "/command", headers: ["CSeq": "\(number)", "Content-Type": PropertyList.contentType],
            body: body
        ).encoded()
    }

    static func button(_ value: String) -> AirPlay2Command {
        AirPlay2Command(type: "sendMediaRemoteCommand", ["value": .string(value)])
    }

    @Test("A10 What the receiver asks is answered with its number, and told: cut anywhere", arguments: [1, 5, 10_000])
    func machine(size: Int) throws {
        let wire =
            Self.request(7, Self.button("paus").body) + Self.request(8, [1, 2, 3])
            + RTSPRequest(method: "POST", uri: "/something", headers: ["CSeq": "9"]).encoded()
            + RTSPRequest(method: "POST", uri: "/command", body: Self.button("plps").body).encoded()
        var machine = AirPlay2EventMachine()
        var answers: [UInt8] = []
        var commands: [AirPlay2Command] = []
        for start in stride(from: 0, to: wire.count, by: size) {
            let (more, received) = try machine.receive(Array(wire[start..<min(wire.count, start + size)]))
            answers += more
            commands += received
        }
        #expect(commands == [Self.button("paus"), Self.button("plps")])
        #expect(commands.first?.value == "paus")
        let text = String(decoding: answers, as: UTF8.self)
        #expect(
            text
                == ["7", "8", "9"].map { "RTSP/1.0 200 OK\r\nCSeq: \($0)\r\nContent-Length: 0\r\n\r\n" }.joined()
                + "RTSP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(throws: RTSPDecodingError.malformedStartLine) { try machine.receive(Array("hello\r\n\r\n".utf8)) }
    }

    @Test("A10 Over a real connection with the reversed keys; when the receiver closes it, the session goes on")
    func served() async throws {
        let secret = AirPlay2ClientTests.secret
        let events = try await Peer.listen(keys: .events(secret))
        let port = try #require(events.channel.localAddress?.port)
        let receiver = Receiver { AirPlay2ClientTests.usual($0, eventPort: port) }
        try await receiver.serve { control in
            let client = try await AirPlay2ClientTests.client(control)
            _ = try await client.pair("/pair-setup", hkp: 4, contentType: "application/octet-stream", body: [9])
            try await client.encrypt(secret)
            _ = try await client.setUp(AirPlay2ClientTests.session)
            try await events.executeThenClose { peers in
                for try await peer in peers {
                    try await peer.channel.executeThenClose { inbound, outbound in
                        try await outbound.write(ByteBuffer(bytes: Self.request(4, Self.button("nitm").body)))
                        var answer = ""
                        for try await chunk in inbound {
                            answer += String(buffer: chunk)
                            if answer.hasSuffix("\r\n\r\n") { break }
                        }
                        #expect(answer == "RTSP/1.0 200 OK\r\nCSeq: 4\r\nContent-Length: 0\r\n\r\n")
                    }
                    break
                }
            }
            var commands = client.commands.makeAsyncIterator()
            #expect(await commands.next() == Self.button("nitm"))
            #expect(await eventually { await client.eventChannel == .closed })
            _ = try await client.start([AirPlay2ClientTests.stream])
            await client.end()
            #expect(await commands.next() == nil)
        }
    }

    @Test("A10 A port that opens late is tried again, five times a second apart, and then given up in words")
    func late() async throws {
        let probe = try await Peer.listen()
        let port = try #require(probe.channel.localAddress?.port)
        try await probe.channel.close()
        let pauses = Mutex<[Duration]>([])
        let receiver = Receiver { AirPlay2ClientTests.usual($0, eventPort: port) }
        try await receiver.serve { control in
            let client = try await AirPlay2ClientTests.client(
                control, AirPlay2ClientTests.options { pause in pauses.withLock { $0.append(pause) } })
            _ = try await client.setUp(AirPlay2ClientTests.session)
            #expect(await eventually { await client.eventChannel == .unreachable(reason: "the port is closed") })
            #expect(pauses.withLock { $0 } == [.seconds(1), .seconds(1), .seconds(1), .seconds(1)])
            await client.end()
        }

        let opened = Mutex<NIOAsyncChannel<Peer, Never>?>(nil)
        try await receiver.serve { control in
            let client = try await AirPlay2ClientTests.client(
                control,
                AirPlay2ClientTests.options { _ in
                    guard opened.withLock({ $0 == nil }) else { return }
                    let events = try await Peer.listen(port: port)
                    opened.withLock { $0 = events }
                })
            _ = try await client.setUp(AirPlay2ClientTests.session)
            #expect(await eventually { await client.eventChannel == .open })
            await client.end()
        }
        let events = try #require(opened.withLock { $0 })
        try await events.executeThenClose { peers in
            for try await peer in peers {
                try await peer.channel.executeThenClose { _, _ in }
                break
            }
        }
    }

    @Test("A8 A buffered stream over a real connection: as fast as it is read, and it ends in words")
    func buffered() async throws {
        let data = try await Peer.listen()
        let port = try #require(data.channel.localAddress?.port)
        let receiver = Receiver { AirPlay2ClientTests.usual($0) }
        try await receiver.serve { control in
            let client = try await AirPlay2ClientTests.client(control)
            let writer = try await client.openBuffered(port: port)
            let cipher = AirPlay2AudioCipher(key: await client.streamKey())
            try await data.executeThenClose { peers in
                for try await peer in peers {
                    try await peer.channel.executeThenClose { inbound, _ in
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            group.addTask {
                                var packetizer = BufferedAudioPacketizer(cipher: cipher, ssrc: 0x1600_0000)
                                for index in 0..<2000 {
                                    try await writer.write([
                                        packetizer.packet(
                                            [UInt8](repeating: UInt8(index & 0xFF), count: 300),
                                            timestamp: UInt32(index) * 1024)
                                    ])
                                }
                            }
                            var held: [UInt8] = []
                            var count = 0
                            reading: for try await chunk in inbound {
                                held += chunk.readableBytesView
                                var start = 0
                                while let (packet, used) = try BufferedAudioPacket.decode(held[start...]) {
                                    start += used
                                    #expect(packet.sequence == UInt32(count))
                                    #expect(
                                        cipher.open(packet.sealed)
                                            == [UInt8](repeating: UInt8(count & 0xFF), count: 300))
                                    count += 1
                                }
                                held.removeFirst(start)
                                if count == 2000 { break reading }
                            }
                            try await group.waitForAll()
                        }
                    }
                    break
                }
            }
            await writer.waitUntilClosed()
            await #expect(throws: RAOPError.closed) { try await writer.write([[1]]) }
            await #expect(throws: AirPlay2Error.rtsp(.unreachable(reason: "the port is closed"))) {
                _ = try await client.openBuffered(port: port)
            }
            await #expect(throws: AirPlay2Error.self) { _ = try await client.openBuffered(port: 0) }
            await client.end()
        }
    }
}
