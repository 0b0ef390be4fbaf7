import NIOCore
import NIOPosix
import RouterTestKit
import Testing

@testable import AirPlay

@Suite("A10 the DACP server", .timeLimit(.minutes(1)))
struct DACPServerTests {
    /// Sends bytes on a connection of its own, in lumps, and gives all that came until the other end, or we, closed.
    private func talk(
        _ text: String, to server: DACPServer, lumps: Int = .max, answers: Int = 1
    ) async throws -> [RTSPResponse] {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: server.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                try await outbound.write(ByteBuffer(bytes: rest.prefix(lumps)))
                rest = rest.dropFirst(min(lumps, rest.count))
            }
            var held: [UInt8] = []
            var responses: [RTSPResponse] = []
            for try await part in inbound {
                held += part.readableBytesView
                while let (message, used) = try RTSPMessageDecoder().decode(held[...]) {
                    if case .response(let response) = message { responses.append(response) }
                    held.removeFirst(used)
                }
                if responses.count >= answers { break }
            }
            return responses
        }
    }

    private func get(_ target: String, _ remote: UInt32) -> String {
        "GET /ctrl-int/1/\(target) HTTP/1.1\r\nHost: lab\r\nActive-Remote: \(remote)\r\n\r\n"
    }

    @Test("many sessions at one server: commands arrive in order at the one that is meant, byte by byte too")
    func commands() async throws {
        let server = try await DACPServer.start(hosts: ["127.0.0.1"])
        let kitchen = await server.open()
        let lounge = await server.open()
        #expect(kitchen.address.dacpID == lounge.address.dacpID)
        #expect(kitchen.address.activeRemote != lounge.address.activeRemote)
        let remote = kitchen.address.activeRemote
        let texts = ["playpause", "nextitem", "setproperty?dmcp.device-volume=-15.0"].map { get($0, remote) }
        let answers = try await talk(texts.joined(), to: server, lumps: 1, answers: 3)
        #expect(answers.map(\.status) == [204, 204, 204])
        _ = try await talk(get("pause", lounge.address.activeRemote), to: server)
        kitchen.close()
        lounge.close()
        var asked: [AirPlayRemoteCommand] = []
        for await command in kitchen.commands { asked.append(command) }
        #expect(asked == [.toggle, .next, .setDeviceVolume(-15)])
        var elsewhere: [AirPlayRemoteCommand] = []
        for await command in lounge.commands { elsewhere.append(command) }
        #expect(elsewhere == [.pause])
        await server.stop()
    }

    @Test("a closed session is unknown; a stranger is refused with 403")
    func strangers() async throws {
        let server = try await DACPServer.start(hosts: ["127.0.0.1"])
        let session = await server.open()
        #expect(try await talk(get("stop", session.address.activeRemote &+ 1), to: server).first?.status == 403)
        session.close()
        #expect(
            try await talk(get("stop", session.address.activeRemote), to: server).first?.status == 403)
        await server.stop()
    }

    @Test("news is waited for on the connection, and requests behind it wait their turn")
    func news() async throws {
        let server = try await DACPServer.start(hosts: ["127.0.0.1"])
        let session = await server.open()
        let remote = session.address.activeRemote
        async let answers = talk(
            get("playstatusupdate?revision-number=2", remote) + get("getproperty?properties=dmcp.volume", remote),
            to: server, answers: 2)
        // Whichever comes first, the request or the report: it is answered with what was reported.
        session.report(DACPStatus(playing: .playing, volumePercent: 60))
        let bodies = try await answers.map { try DMAPDecoder().decode($0.body).first }
        #expect(bodies.first??["caps"]?.number == 4)
        #expect(bodies.last??["cmvo"]?.number == 60)
        await server.stop()
    }

    @Test(
        "bad input is answered once and the connection closed; the server goes on",
        arguments: [
            "\u{16}\u{3}\u{1}no HTTP at all\r\n\r\n", "GET\r\n\r\n", "GET /ctrl-int/1/play HTTP/9\r\n\r\n",
            "GET /ctrl-int/1/play HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
            "GET /ctrl-int/1/play HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "GET /" + String(repeating: "a", count: 1 << 20) + " HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 1000) + "\r\n",
        ])
    func badInput(_ text: String) async throws {
        let server = try await DACPServer.start(hosts: ["127.0.0.1"])
        let session = await server.open()
        // A megabyte may be cut off by the close before all of it is written.
        let answers = try? await talk(text, to: server)
        #expect(answers?.first?.status ?? 400 == 400)
        #expect(try await talk(get("play", session.address.activeRemote), to: server).first?.status == 204)
        await server.stop()
    }

    @Test("more connections than there may be are closed at once")
    func flood() async throws {
        let server = try await DACPServer.start(hosts: ["127.0.0.1"])
        let session = await server.open()
        var channels: [any Channel] = []
        for _ in 0..<DACPServer.maximumConnections {
            channels.append(
                try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(host: "127.0.0.1", port: server.port).get())
        }
        let remote = session.address.activeRemote
        // The last of them may not have been taken in yet.
        #expect(await eventually { (try? await talk(get("play", remote), to: server))?.isEmpty ?? true })
        for channel in channels { try? await channel.close() }
        #expect(await eventually { (try? await talk(get("play", remote), to: server))?.first?.status == 204 })
        await server.stop()
    }

    @Test("a port that is taken is said so")
    func taken() async throws {
        let server = try await DACPServer.start(hosts: ["127.0.0.1"])
        await #expect(throws: DACPServerError.self) {
            _ = try await DACPServer.start(hosts: ["127.0.0.1"], port: server.port)
        }
        await server.stop()
    }

    @Test("the name that is published is the one that requests carry, and begins with no zero")
    func identity() async throws {
        let server = try await DACPServer.start(hosts: ["127.0.0.1"])
        #expect(server.serviceName == "iTunes_Ctrl_" + server.dacpID)
        #expect(server.dacpID.count == 16)
        for _ in 0..<200 { #expect(DACPAddress.randomID().wholeMatch(of: /[1-9A-F][0-9A-F]{15}/) != nil) }
        #expect(server.serviceText["Ver"] == "131075")
        await server.stop()
    }
}
