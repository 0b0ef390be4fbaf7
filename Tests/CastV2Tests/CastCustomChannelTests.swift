import CastV2
import RouterTestKit
import Synchronization
import Testing

private let chat = "urn:x-cast:com.example.chat"
private let other = "urn:x-cast:com.example.other"

/// Custom channels (C16).
@Suite(.timeLimit(.minutes(1))) struct CastCustomChannelTests {
    private func app(_ namespaces: [String], session: String = "s", transport: String = "app") -> ScriptedCastDevice.App
    {
        ScriptedCastDevice.App(session: session, transport: transport, namespaces: namespaces)
    }

    private func message(_ payload: CastMessage.Payload, to destination: String = "me", from source: String = "app")
        -> CastMessage
    {
        CastMessage(sourceID: source, destinationID: destination, namespace: chat, payload: payload)
    }

    @Test("C16 attached with the app, heard in text, binary and broadcast, and detached with it") func wholeLife()
        async throws
    {
        let device = try await ScriptedCastDevice(app: app([chat]))
        let session = try await CastSession.connect(device)
        let channel = try await session.channel(chat)
        var events = channel.events.makeAsyncIterator()
        let joined = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(await events.next() == .attached(joined))
        device.push(
            message(.text("not JSON")), message(.binary([0, 255])), message(.text(#"{"a":1}"#), to: "*"),
            message(.text("for somebody else"), to: "another-sender"), message(.text("from nobody"), from: "stranger"))
        #expect(
            await events.next() == .message(CastChannelMessage(payload: .text("not JSON"), isBroadcast: false)))
        #expect(
            await events.next() == .message(CastChannelMessage(payload: .binary([0, 255]), isBroadcast: false)))
        guard case .message(let broadcast) = await events.next() else {
            Issue.record("no broadcast")
            return
        }
        #expect(broadcast.isBroadcast)
        #expect(broadcast.json?["a"].int == 1)
        // Neither of the other two came in between.
        device.run(nil)
        #expect(await events.next() == .detached(.appGone))
        await #expect(throws: CastChannelError.notAttached) { try await channel.send(text: "x") }
        await session.end(stopApp: false)
        #expect(await events.next() == nil)
        await device.stop()
    }

    @Test("C16 what is sent arrives as it is, text and binary") func sends() async throws {
        let heard = Mutex<[CastMessage.Payload]>([])
        let device = try await ScriptedCastDevice(app: app([chat])) { message, _, _ in
            guard message.namespace == chat else { return false }
            heard.withLock { $0.append(message.payload) }
            return true
        }
        let session = try await CastSession.connect(device)
        let channel = try await session.channel(chat)
        await #expect(throws: CastChannelError.notAttached) { try await channel.send(text: "too early") }
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        try await channel.send(text: "a")
        try await channel.send(.binary([1, 2, 3]))
        try await channel.send(json: ["k": [1, nil]])
        #expect(
            await eventually {
                heard.withLock { $0 } == [.text("a"), .binary([1, 2, 3]), .text(#"{"k":[1,null]}"#)]
            })
        // One byte more than fits, with all the addresses.
        let frame = try CastFraming.encode(
            CastMessage(sourceID: "me", destinationID: "app", namespace: chat, payload: .binary([]))
        ).count
        // Between them lie the tag and the length of the payload that an empty one has shorter.
        let fits = CastFraming.maximumBody - (frame - CastFraming.prefixLength) - 2
        try await channel.send(.binary([UInt8](repeating: 7, count: fits)))
        #expect(await eventually { heard.withLock { $0.last } == .binary([UInt8](repeating: 7, count: fits)) })
        await #expect(
            throws: CastChannelError.unsendable(.frameTooLong(announced: UInt32(CastFraming.maximumBody + 1)))
        ) { try await channel.send(.binary([UInt8](repeating: 7, count: fits + 1))) }
        await session.end(stopApp: false)
        await #expect(throws: CastChannelError.connectionLost(.ended)) { try await channel.send(text: "x") }
        await #expect(throws: CastChannelError.connectionLost(.ended)) { try await session.channel(chat) }
        await device.stop()
    }

    @Test("C16 a namespace that the app lists later attaches then, and detaches when the app drops it") func later()
        async throws
    {
        let device = try await ScriptedCastDevice(app: app([]))
        let session = try await CastSession.connect(device)
        let app = try await session.launchOrJoin(appID: "CC1AD845")
        let one = try await session.channel(chat)
        let two = try await session.channel(other)
        var ones = one.events.makeAsyncIterator()
        var twos = two.events.makeAsyncIterator()
        device.run(self.app([chat, other]))
        #expect(await ones.next() == .attached(app))
        #expect(await twos.next() == .attached(app))
        device.run(self.app([other]))
        #expect(await ones.next() == .detached(.namespaceGone))
        device.hangUp()
        #expect(await twos.next() == .detached(.connectionLost(.closedByPeer)))
        #expect(await ones.next() == nil)
        #expect(await twos.next() == nil)
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C16 from app to app, and after leaving") func acrossApps() async throws {
        let device = try await ScriptedCastDevice(
            app: app([chat]), launches: app([chat], session: "n", transport: "new"))
        let session = try await CastSession.connect(device)
        let channel = try await session.channel(chat)
        var events = channel.events.makeAsyncIterator()
        let first = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(await events.next() == .attached(first))
        let second = try await session.launch(CastLaunch(appID: "CC1AD845"))
        #expect(second.sessionID == "n")
        #expect(await events.next() == .detached(.appGone))
        #expect(await events.next() == .attached(second))
        await session.leave()
        #expect(await events.next() == .detached(.appGone))
        await channel.close()
        #expect(await events.next() == nil)
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C16 who does not listen loses messages, and is told how many") func missed() async throws {
        let count = CastLimits.channelBacklog + 100
        let device = try await ScriptedCastDevice(app: app([chat]))
        let session = try await CastSession.connect(device)
        let channel = try await session.channel(chat)
        let witness = try await session.channel(other)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        for index in 0..<count { device.push(message(.text("\(index)"))) }
        // Behind all of those.
        device.run(app([chat, other]))
        var seen = witness.events.makeAsyncIterator()
        _ = await seen.next()
        var events = channel.events.makeAsyncIterator()
        for _ in 0..<CastLimits.channelBacklog { _ = await events.next() }
        device.push(message(.text("last")))
        // The first place in the backlog was taken by the news of attaching.
        #expect(await events.next() == .missed(101))
        #expect(await events.next() == .message(CastChannelMessage(payload: .text("last"), isBroadcast: false)))
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test(
        "C16 what is no namespace, and what is not for apps",
        arguments: [
            ("", CastChannelError.notANamespace), ("urn:x-cast:", .notANamespace), ("com.example", .notANamespace),
            ("urn:x-cast:a b", .notANamespace), ("urn:x-cast:a\u{0}", .notANamespace),
            ("urn:x-cast:" + String(repeating: "a", count: 200), .notANamespace),
            (CastNamespace.media, .reserved), (CastNamespace.receiver, .reserved),
            (CastNamespace.connection, .reserved),
        ])
    func refusedNamespaces(namespace: String, error: CastChannelError) async throws {
        #expect(throws: error) { try CastChannel.check(namespace: namespace) }
        #expect(!error.description.isEmpty)
    }

    /// Counts, and answers: a state of its own.
    private actor Echo: CastChannelHandler {
        nonisolated let namespace = chat
        private var channel: CastChannel?
        private(set) var log: [String] = []

        func attached(to app: CastAppSession, by channel: CastChannel) async {
            self.channel = channel
            log.append("attached \(app.sessionID)")
        }

        func received(_ message: CastChannelMessage) async {
            log.append(message.text ?? "binary")
            try? await channel?.send(text: "echo \(log.count)")
        }

        func detached(_ why: CastChannelDetachment) async { log.append("detached \(why)") }
    }

    @Test("C16 a handler with a state of its own, for as long as the connection lasts") func handler() async throws {
        let heard = Mutex<[String]>([])
        let device = try await ScriptedCastDevice(app: app([chat])) { message, _, _ in
            if message.namespace == chat { heard.withLock { $0.append(message.text ?? "") } }
            return message.namespace == chat
        }
        let session = try await CastSession.connect(device)
        let echo = Echo()
        let serving = Task { try await session.serve(echo) }
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(await eventually { await echo.log == ["attached s"] })
        device.push(message(.text("hello")))
        #expect(await eventually { heard.withLock { $0 } == ["echo 2"] })
        device.run(nil)
        #expect(await eventually { await echo.log.last == "detached appGone" })
        await session.end(stopApp: false)
        try await serving.value
        // Another one, whose task is given up.
        let again = try await CastSession.connect(device)
        let cancelled = Task { try await again.serve(Echo()) }
        cancelled.cancel()
        try? await cancelled.value
        await again.end(stopApp: false)
        await device.stop()
    }

    @Test("C16 a device that reads nothing fills no memory here") func congested() async throws {
        let device = try await ScriptedCastDevice(app: app([chat])) { message, _, device in
            // The first message of the channel stops the reading.
            if message.namespace == chat { device.stopReading() }
            return message.namespace == chat
        }
        let session = try await CastSession.connect(device)
        let channel = try await session.channel(chat)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        let big = CastMessage.Payload.binary([UInt8](repeating: 1, count: 60_000))
        var error: CastChannelError?
        for _ in 0..<2000 where error == nil {
            do { try await channel.send(big) } catch let thrown as CastChannelError { error = thrown }
        }
        #expect(error == .congested)
        await session.end(stopApp: false)
        await device.stop()
    }
}
