import AirPlay
import Foundation
import HomeKitPairing
import NIOCore
import NIOPosix
import RouteBackend
import RouterTestKit
import Testing

@testable import SimulatedReceivers

@Suite("A10 MRP between our sender and the simulated device", .timeLimit(.minutes(1)))
struct MRPTests {
    static let keys = ChannelKeys.dataStream([UInt8](repeating: 7, count: 32), seed: 0xFFFF_FFFF_FFFF_FFFF)
    static let song = SimulatedMRPDevice.Playing(
        title: "東京は夜の七時", artist: "Пицикато", album: "Nr. 5", duration: 240, elapsed: 12)

    private static func controller() -> MRPDeviceInfo {
        var info = MRPDeviceInfo()
        info.name = "router"
        info.uniqueIdentifier = "router"
        return info
    }

    // MARK: Without a network

    /// A client and a device, and what goes between them.
    private struct Pair {
        var client = MRPClientStateMachine(device: MRPTests.controller(), firstSequence: 1 << 32, prefix: "us")
        var device = SimulatedMRPDevice(name: "Wohnzimmer", playing: MRPTests.song)
        var held: [UInt8] = []
        var news: [MRPClientStateMachine.Action] = []

        mutating func carry(_ actions: [MRPClientStateMachine.Action]) throws {
            for action in actions {
                guard case .send(let frame) = action else {
                    news.append(action)
                    continue
                }
                try hear(try device.receive(frame.encoded()))
            }
        }

        mutating func hear(_ bytes: [UInt8]) throws {
            held += bytes
            while let (frame, used) = try MRPFrame.decode(held[...]) {
                held.removeFirst(used)
                try carry(try client.receive(frame))
            }
        }
    }

    @Test("who is there, connected, what is wanted, keyboard: in this order, and then it is ready")
    func order() throws {
        var pair = Pair()
        try pair.carry(pair.client.begin())
        #expect(pair.client.stage == .ready)
        #expect(pair.device.heard.prefix(4) == [15, 38, 16, 24])
        #expect(pair.device.controller == "router")
        #expect(pair.client.device.name == "Wohnzimmer")
        #expect(pair.news.contains(.ready(pair.client.device)))
    }

    @Test("titles that aren't Latin, state, commands and volume are followed")
    func following() throws {
        var pair = Pair()
        try pair.carry(pair.client.begin())
        #expect(pair.client.playback.title == "東京は夜の七時")
        #expect(pair.client.playback.item?.metadata.trackArtistName == "Пицикато")
        #expect(pair.client.playback.app == "Player")
        #expect(pair.client.playback.state == .playing)
        #expect(pair.client.playback.commands.contains(.nextTrack))
        #expect(pair.client.playback.volume == 0.5)
        #expect(pair.client.playback.setsVolume)
        try pair.hear(pair.device.turn(to: 0.75))
        #expect(pair.client.playback.volume == 0.75)
        try pair.hear(pair.device.play(nil))
        #expect(pair.client.playback.title == nil)
        #expect(pair.client.playback.state == .unknown)
    }

    @Test("what plays here is shown whole, then only what moves; a device that asks for it is told")
    func showing() throws {
        var pair = Pair()
        try pair.carry(pair.client.begin())
        var presenter = MRPNowPlayingSender(device: Self.controller())
        func item(_ title: String, _ elapsed: Double, at instant: Double, _ state: AirPlayNowPlaying.State)
            -> AirPlayNowPlaying
        {
            var item = AirPlayNowPlaying(
                identifier: title == "東京" ? 0xAB : 0xCD, title: title, artist: "Кино", duration: 200,
                elapsed: elapsed, instant: instant, state: state)
            item.artwork = .init(mimeType: "image/jpeg", bytes: [0xFF, 0xD8, 1], identifier: "art")
            return item
        }
        func show(_ item: AirPlayNowPlaying) throws -> [MRPKind?] {
            let messages = presenter.show(item)
            for message in messages { try pair.carry([.send(pair.client.tell(message))]) }
            return messages.map(\.kind)
        }
        #expect(presenter.queue(answering: "a") == nil)
        #expect(
            try show(item("東京", 0, at: 1000, .playing)) == [.setNowPlayingClient, .setNowPlayingPlayer, .setState])
        #expect(pair.device.shown?.title == "東京")
        #expect(pair.device.shown?.artist == "Кино")
        #expect(pair.device.shown?.identifier == "ab")
        #expect(pair.device.shown?.artwork == [0xFF, 0xD8, 1])
        #expect(pair.device.shown?.commands.contains(45) == true)
        // Ten seconds on, as it counts by itself.
        #expect(try show(item("東京", 10.1, at: 1010, .playing)) == [])
        #expect(try show(item("東京", 60, at: 1010, .playing)) == [.updateContentItem])
        #expect(pair.device.shown?.elapsed == 60)
        #expect(pair.device.shown?.title == "東京")
        #expect(try show(item("東京", 61, at: 1011, .paused)) == [.updateContentItem, .setState])
        #expect(pair.device.shown?.state == 2)
        #expect(pair.device.shown?.title == "東京", "the state alone leaves the item")
        #expect(try show(item("Ленинград", 0, at: 1012, .playing)) == [.setState])
        #expect(pair.device.shown?.identifier == "cd")
        let queue = try #require(presenter.queue(answering: "a"))
        #expect(queue.identifier == "a")
        #expect(queue.setState.playbackQueue.contentItems.first?.metadata.title == "Ленинград")
        #expect(try show(item("Ленинград", 5, at: 1017, .stopped)) == [.setState])
    }

    @Test("a press at the device is answered and handed on; what we have no use for is refused")
    func pressing() throws {
        var pair = Pair()
        #expect(pair.device.press(2).isEmpty, "nobody is there yet")
        try pair.carry(pair.client.begin())
        pair.news = []
        try pair.hear(pair.device.press(2))
        try pair.hear(pair.device.press(45, position: 12.5))
        try pair.hear(pair.device.press(45))
        try pair.hear(pair.device.press(999))
        #expect(pair.news == [.asked(.pause), .asked(.seek(to: 12.5))])
        #expect(pair.device.results == [0, 0, 3, 3])
        let asks = MRPProtocolMessage(.playbackQueueRequest, identifier: "q")
        let answer = try pair.client.receive(
            MRPFrame(kind: .sync, sequence: 77, payload: MRPPayload.encode([asks])))
        #expect(answer == [.send(MRPFrame(kind: .reply, sequence: 77)), .askedQueue(identifier: "q")])
    }

    @Test("a device that says nothing leaves the client waiting; what is malformed is passed over")
    func silence() throws {
        var pair = Pair()
        pair.device.faults.staysSilent = true
        try pair.carry(pair.client.begin())
        #expect(pair.client.stage == .introducing)
        let malformed = MRPFrame(kind: .sync, sequence: 9, payload: [1, 2, 3])
        #expect(throws: MRPDecodingError.malformedPayload) { try pair.client.receive(malformed) }
        #expect(pair.client.stage == .introducing)
    }

    @Test("messages of kinds that nobody knows, and of players without end, change nothing and are not kept")
    func strangers() throws {
        var pair = Pair()
        try pair.carry(pair.client.begin())
        let before = pair.client.playback
        var unknown = MRPProtocolMessage()
        unknown.type = 1000
        try pair.carry(
            try pair.client.receive(MRPFrame(kind: .sync, sequence: 1, payload: MRPPayload.encode([unknown]))))
        #expect(pair.client.playback == before)
        for number in 0..<10_000 {
            var message = MRPProtocolMessage(.setState)
            message.setState.playerPath.client.bundleIdentifier = "app \(number)"
            message.setState.playbackState = 1
            try pair.carry(
                try pair.client.receive(MRPFrame(kind: .sync, sequence: 1, payload: MRPPayload.encode([message]))))
        }
        #expect(pair.client.playback.keptPlayers <= 64)
    }

    @Test("bytes that are no frame end the device's stream")
    func noFrames() {
        var device = SimulatedMRPDevice(name: "Wohnzimmer")
        #expect(throws: MRPDecodingError.frameTooShort(1)) { try device.receive([0, 0, 0, 1]) }
    }

    // MARK: Over an encrypted connection

    /// Serves one device to whoever connects.
    private actor Served {
        var device = SimulatedMRPDevice(name: "Wohnzimmer", playing: MRPTests.song)

        init(_ faults: SimulatedMRPDevice.Faults) { device.faults = faults }

        func receive(_ bytes: [UInt8]) throws -> [UInt8] { try device.receive(bytes) }
    }

    private func served(
        _ faults: SimulatedMRPDevice.Faults = .init(), clock: ManualClock = ManualClock(),
        _ body: @escaping @Sendable (MRPSession, Served) async throws -> Void
    ) async throws {
        let device = Served(faults)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        EncryptedChannelHandler(.accessory, keys: Self.keys))
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let port = try #require(server.channel.localAddress?.port)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await server.executeThenClose { connections in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await connection in connections {
                            group.addTask {
                                try? await connection.executeThenClose { inbound, outbound in
                                    for try await part in inbound {
                                        let answer = try await device.receive(Array(part.readableBytesView))
                                        if !answer.isEmpty { try await outbound.write(ByteBuffer(bytes: answer)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            let control = try await RTSPConnection.connect(host: "127.0.0.1", port: port, password: nil)
            let connection = try await ByteConnection.connect(beside: control, port: port, keys: Self.keys)
            let session = MRPSession(device: Self.controller()) { duration in
                try await clock.sleep(nanoseconds: Int64(duration.components.seconds) * 1_000_000_000)
            }
            group.addTask { await session.run(on: connection) }
            try await body(session, device)
            await session.close()
            connection.abort()
            await control.close()
            group.cancelAll()
        }
    }

    private func ready(_ session: MRPSession) async -> MRPSession.Status? {
        for await status in session.statuses where status.isReady && status.playback.title != nil { return status }
        return nil
    }

    @Test("commands are done and their results come back")
    func commands() async throws {
        try await served { session, device in
            #expect(await ready(session)?.playback.title == "東京は夜の七時")
            try await session.perform(.pause)
            try await session.perform(.next)
            try await session.perform(.seek(to: 60))
            #expect(await device.device.pressed == [2, 5, 45])
            #expect(await device.device.playing?.elapsed == 60)
            #expect(await device.device.playing?.state == 2)
            try await session.perform(.setVolumePercent(25))
            #expect(await eventually { await device.device.volume == 0.25 })
            try await session.keepAlive()
            await #expect(throws: MRPSessionError.noSuchCommand) { try await session.perform(.volumeUp) }
        }
    }

    @Test("a refusal has its numbers")
    func refusal() async throws {
        var faults = SimulatedMRPDevice.Faults()
        faults.refusesCommands = 10
        try await served(faults) { session, _ in
            _ = await ready(session)
            await #expect(throws: MRPSessionError.refused(sendError: 10, status: 0)) {
                try await session.perform(.pause)
            }
        }
    }

    @Test("no answer in time is said, and what is asked before it is ready, or after its end")
    func noAnswer() async throws {
        var faults = SimulatedMRPDevice.Faults()
        faults.ignoresCommands = true
        let clock = ManualClock()
        try await served(faults, clock: clock) { session, device in
            _ = await ready(session)
            let answer = Task { try await session.perform(.pause) }
            #expect(await eventually { await !device.device.pressed.isEmpty && clock.sleepers == 1 })
            clock.advance(seconds: 6)
            await #expect(throws: MRPSessionError.timedOut) { try await answer.value }
            await session.close()
            await #expect(throws: MRPSessionError.closed) { try await session.perform(.pause) }
        }
        let fresh = MRPSession(device: Self.controller()) { _ in }
        await #expect(throws: MRPSessionError.notReady) { try await fresh.perform(.play) }
    }
}
