import CastV2
import Logging
import RouterTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct CastSessionTests {
    private let logger = Logger(label: "test")

    private func connect(
        _ port: Int, host: String = "127.0.0.1", clock: ManualClock = ManualClock(),
        timeouts: CastTimeouts = CastTimeouts()
    ) async throws
        -> CastSession
    {
        try await CastSession.connect(
            CastSession.Configuration(host: host, port: port, sourceID: "me", timeouts: timeouts),
            clock: CastClock(clock), logger: logger)
    }

    /// How connecting and the first status end.
    private func failure(_ port: Int, host: String = "127.0.0.1") async -> CastConnectionError? {
        do {
            let session = try await connect(port, host: host)
            let result = await session.receiverStatus()
            await session.end(stopApp: false)
            guard case .failed(.connectionLost(let error)) = result else { return nil }
            return error
        } catch {
            return error as? CastConnectionError
        }
    }

    // MARK: What is no Cast device

    @Test("C21 a closed port") func closedPort() async throws {
        let server = try await ScriptedReceiver { _, _ in }
        let port = server.port
        await server.stop()
        #expect(await failure(port) == .refused)
        #expect(await failure(port, host: "localhost") == .refused)
    }

    @Test("C21 a name without an address") func noSuchName() async {
        #expect(await failure(8009, host: "no-such-host.invalid") == .nameNotFound)
    }

    @Test("C21 a plain HTTP server") func plainHTTP() async throws {
        let server = try await ScriptedReceiver(tls: false) { bytes, reply in
            if !bytes.isEmpty {
                reply.send(Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8))
            }
        }
        #expect(await failure(server.port) == .notTLS)
        await server.stop()
    }

    @Test("C21 a port that closes at once, and one that closes when spoken to") func closes() async throws {
        for when in [true, false] {
            let server = try await ScriptedReceiver(tls: false) { bytes, reply in
                if bytes.isEmpty == when { reply.close() }
            }
            #expect(await failure(server.port) == .closedByPeer)
            await server.stop()
        }
    }

    @Test(
        "C21 TLS that is not Cast, and frames of length 0 and 4 GiB",
        arguments: [
            (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), CastFramingError.frameTooLong(announced: 0x4854_5450)),
            ([0, 0, 0, 0], .emptyFrame),
            ([0xff, 0xff, 0xff, 0xff], .frameTooLong(announced: 0xffff_ffff)),
            ([0, 0, 0, 2, 0xff, 0xff], .malformedMessage),
        ])
    func notCast(bytes: [UInt8], error: CastFramingError) async throws {
        let server = try await ScriptedReceiver { received, reply in if !received.isEmpty { reply.send(bytes) } }
        #expect(await failure(server.port) == .notCast(error))
        await server.stop()
    }

    @Test("C21 TLS that closes without a word") func tlsCloses() async throws {
        let server = try await ScriptedReceiver { bytes, reply in if !bytes.isEmpty { reply.close() } }
        #expect(await failure(server.port) == .closedByPeer)
        await server.stop()
    }

    @Test("C21 TCP that never becomes TLS ends with the time to connect") func neverTLS() async throws {
        let server = try await ScriptedReceiver(tls: false) { _, _ in }
        let clock = ManualClock()
        let session = Task { try await connect(server.port, clock: clock) }
        #expect(await eventually { clock.sleepers == 1 })
        clock.advance(seconds: 10)
        await #expect(throws: CastConnectionError.timedOut) { try await session.value }
        #expect(clock.sleepers == 0)
        await server.stop()
    }

    @Test("cancelling while connecting") func cancelledWhileConnecting() async throws {
        let server = try await ScriptedReceiver(tls: false) { _, _ in }
        let clock = ManualClock()
        let session = Task { try await connect(server.port, clock: clock) }
        #expect(await eventually { clock.sleepers == 1 })
        session.cancel()
        await #expect(throws: (any Error).self) { try await session.value }
        #expect(clock.sleepers == 0)
        await server.stop()
    }

    // MARK: What is one

    /// Answers GET_STATUS with what runs and LAUNCH by starting it, in as few TLS records as it can.
    private func receiver(
        running: Bool, host: String = "127.0.0.1",
        also: @escaping @Sendable (CastJSON, CastMessage, ScriptedReceiver.Reply) -> Void = { _, _, _ in }
    ) async throws -> ScriptedReceiver {
        let app = #"{"appId":"CC1AD845","sessionId":"s","transportId":"app"}"#
        @Sendable func status(_ id: Int, _ apps: String) -> CastMessage {
            CastMessage(
                sourceID: "receiver-0", destinationID: id == 0 ? "*" : "me", namespace: CastNamespace.receiver,
                payload: .text(
                    #"{"type":"RECEIVER_STATUS","requestId":\#(id),"status":{"applications":[\#(apps)]}}"#))
        }
        return try await ScriptedReceiver(host: host) { bytes, reply in
            var decoder = CastFrameDecoder()
            decoder.append(bytes)
            while let message = try? decoder.next() {
                guard let json = message.text.flatMap(CastJSON.init(text:)), let id = json["requestId"].int else {
                    also(message.text.flatMap(CastJSON.init(text:)) ?? .null, message, reply)
                    continue
                }
                switch (message.namespace, json["type"].string) {
                case (CastNamespace.receiver, "GET_STATUS"): try? reply.send([status(id, running ? app : "")])
                case (CastNamespace.receiver, "LAUNCH"):
                    let allowed = CastMessage(
                        sourceID: "receiver-0", destinationID: "me", namespace: CastNamespace.receiver,
                        payload: .text(#"{"type":"LAUNCH_STATUS","launchRequestId":\#(id),"status":"USER_ALLOWED"}"#))
                    try? reply.send([status(0, app), allowed, status(id, app)])
                case (CastNamespace.receiver, "STOP"): try? reply.send([status(0, "")])
                default: also(json, message, reply)
                }
            }
        }
    }

    @Test("C3 launch or join says which it was, with the session id", arguments: [true, false])
    func launchOrJoin(running: Bool) async throws {
        let server = try await receiver(running: running)
        let session = try await connect(server.port)
        #expect(session.remoteAddress == "127.0.0.1")
        #expect(session.peerCertificate.first == 0x30)
        let app = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(app.origin == (running ? .joined : .launched))
        #expect(app.sessionID == "s")
        #expect(app.transportID == "app")
        #expect(try await session.launchOrJoin(appID: "CC1AD845") == app)
        await session.end(stopApp: true)
        #expect(await session.current.connection == .closed(.ended))
        await server.stop()
    }

    @Test("by name, and over IPv6") func otherAddresses() async throws {
        for host in ["localhost", "::1"] {
            let server = try await receiver(running: true, host: host == "::1" ? "::1" : "127.0.0.1")
            let session = try await connect(server.port, host: host)
            #expect(session.remoteAddress == (host == "::1" ? "::1" : "127.0.0.1"))
            #expect(try await session.launchOrJoin(appID: "CC1AD845").origin == .joined)
            await session.end(stopApp: false)
            await server.stop()
        }
    }

    @Test("C7 what is pending ends with the session, and with a connection that breaks")
    func pendingAtTheEnd() async throws {
        let server = try await receiver(running: true) { json, _, reply in
            if json["type"].string == "PLAY" { reply.close() }
        }
        var session = try await connect(server.port)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        let pausing = await session.media(.pause(mediaSessionID: 1))
        await session.end(stopApp: false)
        #expect(await pausing.result() == .cancelled)
        // For as many as ask, as often as they ask; and after the end nothing more is begun.
        #expect(await pausing.result() == .cancelled)
        #expect(await session.request(.receiver(.getStatus)).result() == .failed(.connectionLost(.ended)))

        session = try await connect(server.port)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        let playing = await session.media(.play(mediaSessionID: 1))
        #expect(await playing.result() == .failed(.connectionLost(.closedByPeer)))
        #expect(await session.current.connection == .closed(.closedByPeer))
        await session.end(stopApp: true)
        await server.stop()
    }

    @Test("C7 a task that gives up waiting gives the request up") func cancelledRequest() async throws {
        let server = try await receiver(running: true)
        let session = try await connect(server.port)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        let handle = await session.media(.pause(mediaSessionID: 1))
        let waiting = Task { await handle.result() }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        #expect(await handle.result() == .cancelled)
        await session.end(stopApp: false)
        await server.stop()
    }

    @Test("C21 a device that falls silent is given up by the clock") func silence() async throws {
        let server = try await receiver(running: true)
        let clock = ManualClock()
        let session = try await connect(server.port, clock: clock)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        let states = await session.states()
        for _ in 0..<16 {
            clock.advance(seconds: 1)
            // Each wake-up has been dealt with before the clock goes on.
            #expect(await eventually { clock.sleepers == 1 || clock.now() >= 17_000_000_000 })
        }
        var last: CastSessionState?
        for await state in states { last = state }
        #expect(last?.connection == .closed(.silent))
        await session.end(stopApp: true)
        #expect(clock.sleepers == 0)
        await server.stop()
    }

    @Test("the position is asked for when a player has said nothing for ten seconds") func refreshes() async throws {
        let playing = #"{"type":"MEDIA_STATUS","requestId":ID,"status":[{"mediaSessionId":1,"playerState":"PLAYING"}]}"#
        let server = try await receiver(running: true) { json, message, reply in
            let isMedia = message.namespace == CastNamespace.media
            let text =
                isMedia
                ? playing.replacing("ID", with: String(json["requestId"].int ?? 0)) : #"{"type":"PONG"}"#
            guard isMedia || message.namespace == CastNamespace.heartbeat else { return }
            try? reply.send([
                CastMessage(
                    sourceID: message.destinationID, destinationID: "me", namespace: message.namespace,
                    payload: .text(text))
            ])
        }
        let clock = ManualClock()
        // The clock of this test runs ahead of answers to heartbeats.
        var timeouts = CastTimeouts()
        timeouts.giveUpAfter = .max / 2
        let session = try await connect(server.port, clock: clock, timeouts: timeouts)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(await eventually { await session.current.media.current?.playerState == .playing })
        let observed = await session.current.media.current?.observed
        #expect(
            await eventually {
                clock.advance(seconds: 0.5)
                return await session.current.media.current?.observed != observed
            })
        #expect(clock.now() - (observed ?? 0) >= 10_000_000_000)
        await session.end(stopApp: false)
        await server.stop()
    }

    @Test(
        "C3 a launch that fails in passing is tried once more, and one that cannot succeed is not",
        arguments: [
            ("SYSTEM_ERROR", 1, true), ("SYSTEM_ERROR", 2, false), ("CANCELLED", 1, true), ("NOT_FOUND", 1, false),
        ])
    func launchRetry(reason: String, failures: Int, succeeds: Bool) async throws {
        let launches = Mutex(0)
        let server = try await ScriptedReceiver { bytes, reply in
            var decoder = CastFrameDecoder()
            decoder.append(bytes)
            while let message = try? decoder.next() {
                guard let json = message.text.flatMap(CastJSON.init(text:)), let id = json["requestId"].int,
                    message.namespace == CastNamespace.receiver
                else { continue }
                let launch = json["type"] == "LAUNCH"
                let count = launches.withLock { count in
                    if launch { count += 1 }
                    return count
                }
                let app = launch ? #"{"appId":"A","sessionId":"s","transportId":"app"}"# : ""
                let text =
                    launch && count <= failures
                    ? #"{"type":"LAUNCH_ERROR","requestId":\#(id),"reason":"\#(reason)"}"#
                    : #"{"type":"RECEIVER_STATUS","requestId":\#(id),"status":{"applications":[\#(app)]}}"#
                try? reply.send([
                    CastMessage(
                        sourceID: "receiver-0", destinationID: "me", namespace: CastNamespace.receiver,
                        payload: .text(text))
                ])
            }
        }
        let session = try await connect(server.port)
        if succeeds {
            #expect(try await session.launchOrJoin(appID: "A").origin == .launched)
        } else {
            await #expect(throws: CastRequestFailure.launchFailed(reason: reason)) {
                try await session.launchOrJoin(appID: "A")
            }
        }
        #expect(launches.withLock { $0 } == (reason == "NOT_FOUND" ? 1 : 2))
        await session.end(stopApp: false)
        await server.stop()
    }

    @Test("an app that closes the connection and still runs is talked to once more, and no more") func tiredApp()
        async throws
    {
        let connects = Mutex(0)
        let server = try await receiver(running: true) { json, message, reply in
            if json["type"] == "CONNECT", message.destinationID == "app" { connects.withLock { $0 += 1 } }
            guard json["type"] == "PAUSE" else { return }
            try? reply.send([
                CastMessage(
                    sourceID: "app", destinationID: "me", namespace: CastNamespace.connection,
                    payload: .text(#"{"type":"CLOSE"}"#))
            ])
        }
        let session = try await connect(server.port)
        let app = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(await session.media(.pause(mediaSessionID: 1)).result() == .failed(.appClosed))
        #expect(await eventually { connects.withLock { $0 } == 2 })
        #expect(await session.current.runningApp == app)
        #expect(await session.media(.pause(mediaSessionID: 1)).result() == .failed(.appClosed))
        #expect(await eventually { await session.current.app == .gone(by: nil) })
        await session.end(stopApp: false)
        await server.stop()
    }

    @Test("C3 an app that another takes the place of is gone, and by whom is known") func takenOver() async throws {
        let other = #"{"appId":"233637DE","displayName":"YouTube","sessionId":"y","transportId":"yt"}"#
        let server = try await receiver(running: true) { json, message, reply in
            guard json["type"].string == "PAUSE" else { return }
            try? reply.send([
                CastMessage(
                    sourceID: "app", destinationID: "me", namespace: CastNamespace.connection,
                    payload: .text(#"{"type":"CLOSE"}"#)),
                CastMessage(
                    sourceID: "receiver-0", destinationID: "*", namespace: CastNamespace.receiver,
                    payload: .text(#"{"type":"RECEIVER_STATUS","status":{"applications":[\#(other)]}}"#)),
            ])
        }
        let session = try await connect(server.port)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(await session.media(.pause(mediaSessionID: 1)).result() == .failed(.appClosed))
        #expect(
            await eventually {
                guard case .gone(let app) = await session.current.app else { return false }
                return app?.displayName == "YouTube"
            })
        #expect(await session.media(.play(mediaSessionID: 1)).result() == .failed(.appClosed))
        await session.end(stopApp: true)
        await server.stop()
    }
}

extension CastClock {
    init(_ clock: ManualClock) {
        self.init(now: { clock.now() }, sleepUntil: { try await clock.sleep(until: $0) })
    }
}
