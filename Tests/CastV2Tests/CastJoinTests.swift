import CastV2
import Logging
import RouterTestKit
import Synchronization
import Testing

/// Launching, joining, and how it ends (C3 to C5).
@Suite(.timeLimit(.minutes(1))) struct CastJoinTests {
    @Test("C4 join attaches to exactly that app session") func joins() async throws {
        let device = try await ScriptedCastDevice(app: .init())
        let session = try await CastSession.connect(device)
        guard case .joined(let app) = try await session.join(sessionID: "s", appID: "cc1ad845") else {
            Issue.record("not joined")
            return
        }
        #expect(app.origin == .joined)
        #expect(try await session.join(sessionID: "s", appID: "CC1AD845") == .joined(app))
        #expect(await session.current.runningApp == app)
        await session.end(stopApp: false)
        #expect(device.count("CONNECT>app") == 1)
        #expect(device.count("LAUNCH>receiver-0") == 0)
        await device.stop()
    }

    @Test("C4 an app session that is gone, and one that another has taken the place of") func joinsNothing()
        async throws
    {
        for (running, expected) in [
            (nil, nil), (ScriptedCastDevice.App(session: "newer"), "newer"),
            (ScriptedCastDevice.App(id: "233637DE", session: "s"), "s"),
        ] {
            let device = try await ScriptedCastDevice(app: running)
            let session = try await CastSession.connect(device)
            switch try await session.join(sessionID: "s", appID: "CC1AD845") {
            case .gone: #expect(expected == nil)
            case .other(let app): #expect(app.sessionID == expected)
            case .joined: Issue.record("joined \(String(describing: running))")
            }
            #expect(await session.current.app == .none)
            await session.end(stopApp: true)
            // Nobody was displaced and nothing was stopped.
            #expect(!device.heard.contains { $0.hasPrefix("LAUNCH") || $0.hasPrefix("STOP") })
            await device.stop()
        }
    }

    @Test("C4 an app that is only just starting is asked for once more") func joinsStarting() async throws {
        let device = try await ScriptedCastDevice(app: .init(transport: "")) { message, json, device in
            if json["type"] == "GET_STATUS", device.count("GET_STATUS>receiver-0") == 2 { device.run(.init()) }
            return false
        }
        let session = try await CastSession.connect(device)
        guard case .joined = try await session.join(sessionID: "s", appID: "CC1AD845") else {
            Issue.record("not joined")
            return
        }
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C4 one more sender joins whatever runs, if it speaks what is wanted") func joinsRunning() async throws {
        let device = try await ScriptedCastDevice(app: .init(id: "X", namespaces: [CastNamespace.media]))
        let session = try await CastSession.connect(device) { $0.appConnections = .weak }
        guard case .other(let app) = try await session.joinRunning(speaking: "urn:x-cast:else") else {
            Issue.record("joined")
            return
        }
        #expect(app.appID == "X")
        guard case .joined(let joined) = try await session.joinRunning(speaking: CastNamespace.media) else {
            Issue.record("not joined")
            return
        }
        #expect(joined.appID == "X")
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C3 a device that never tells what runs") func joinWithoutStatus() async throws {
        let device = try await ScriptedCastDevice { _, json, _ in json["type"] == "GET_STATUS" }
        let clock = ManualClock()
        let session = try await CastSession.connect(device, clock: clock)
        let joining = Task { try await session.join(sessionID: "s", appID: "A") }
        for _ in 0..<9 {
            #expect(await eventually { clock.sleepers > 0 })
            clock.advance(seconds: 1)
        }
        await #expect(throws: CastRequestFailure.timedOut) { try await joining.value }
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C3 an app that must be left alone first is, and CONNECT comes after") func quirk() async throws {
        let device = try await ScriptedCastDevice(app: .init(id: "25456794"))
        let clock = ManualClock()
        let session = try await CastSession.connect(device, clock: clock)
        let joining = Task { try await session.launchOrJoin(appID: "25456794") }
        #expect(await eventually { clock.sleepers == 2 })
        #expect(device.count("CONNECT>app") == 0)
        clock.advance(seconds: 1)
        #expect(try await joining.value.appID == "25456794")
        #expect(await eventually { device.count("CONNECT>app") == 1 })
        // Given up while it waits.
        await session.leave()
        let again = Task { try await session.launchOrJoin(appID: "25456794") }
        #expect(await eventually { clock.sleepers == 2 })
        again.cancel()
        await #expect(throws: CancellationError.self) { try await again.value }
        await session.end(stopApp: false)
        #expect(clock.sleepers == 0)
        await device.stop()
        #expect(CastAppQuirks.of(appID: "CC1AD845") == CastAppQuirks())
    }

    @Test("C3 a launch in full, refused by a person in the newer way") func refused() async throws {
        let device = try await ScriptedCastDevice { _, json, device in
            guard json["type"] == "LAUNCH", let id = json["requestId"].int else { return false }
            device.say(
                #"{"type":"LAUNCH_STATUS","launchRequestId":\#(id),"status":"USER_PENDING_AUTHORIZATION"}"#,
                in: CastNamespace.receiver)
            device.say(
                #"{"type":"LAUNCH_ERROR","requestId":\#(id),"reason":"CANCELLED","extendedError":"USER_NOT_ALLOWED"}"#,
                in: CastNamespace.receiver)
            return true
        }
        let session = try await CastSession.connect(device)
        let asked = Mutex(false)
        await #expect(throws: CastRequestFailure.launchDenied(status: "USER_NOT_ALLOWED")) {
            try await session.launchOrJoin(
                CastLaunch(appID: "A", parameters: ["a": 1], credentials: "x")
            ) { asked.withLock { $0 = true } }
        }
        #expect(asked.withLock { $0 })
        // A no is a no: nobody is asked twice.
        #expect(device.count("LAUNCH>receiver-0") == 1)
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C5 left and stopped: the app goes on, or does not") func leavesAndStops() async throws {
        let device = try await ScriptedCastDevice()
        let session = try await CastSession.connect(device)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        await session.leave()
        #expect(await session.current.end == nil)
        #expect(await eventually { device.count("CLOSE>app") == 1 })
        #expect(try await session.launchOrJoin(appID: "CC1AD845").origin == .joined)
        guard case .completed = await session.stopApp() else {
            Issue.record("not stopped")
            return
        }
        #expect(await eventually { await session.current.end == .ended })
        #expect(await session.current.connection == .open)
        guard case .completed = await session.stopApp() else {
            Issue.record("nothing to stop is no failure")
            return
        }
        #expect(try await session.launchOrJoin(appID: "CC1AD845").origin == .launched)
        #expect(await session.current.end == nil)
        await session.end(stopApp: true)
        await device.stop()
    }

    // MARK: Ends

    /// How it ends when this happens to a session that has joined the app.
    private func end(
        logger: Logger = Logger(label: "test"), _ deed: @escaping @Sendable (ScriptedCastDevice) -> Void
    ) async throws -> CastSessionEnd? {
        let device = try await ScriptedCastDevice(app: .init()) { _, json, device in
            if json["type"] == "PAUSE" {
                deed(device)
                return true
            }
            return false
        }
        let session = try await CastSession.connect(device, logger: logger)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        _ = await session.media(.pause(mediaSessionID: 1))
        #expect(await eventually { await session.current.end != nil })
        let end = await session.current.end
        await session.end(stopApp: false)
        await device.stop()
        return end
    }

    @Test("C5 what ended it is told apart") func ends() async throws {
        #expect(try await end { $0.run(nil) } == .appStopped)
        guard case .takenOver(let other)? = try await end({ $0.run(.init(id: "Y", name: "Other", session: "o")) })
        else {
            Issue.record("not taken over")
            return
        }
        #expect(other.displayName == "Other")
        #expect(try await end { $0.hangUp() } == .deviceClosed(nil))
        #expect(try await end { $0.close("receiver-0") } == .deviceClosed(nil))
        #expect(try await end { $0.close("receiver-0", reason: 4) } == .deviceClosed(.idle))
        #expect(try await end { $0.close("receiver-0", reason: 99) } == .deviceClosed(.unknown))
        #expect(try await end { $0.write([0, 0, 0, 0]) } == .network(.notCast(.emptyFrame)))
    }

    @Test("C5 an app that closes the connection and lives is asked once more, then left") func appLeaves() async throws
    {
        let device = try await ScriptedCastDevice(app: .init()) { message, json, device in
            guard json["type"] == "CONNECT", message.destinationID == "app" else { return false }
            device.close("app", reason: 3)
            return true
        }
        let session = try await CastSession.connect(device)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(await eventually { await session.current.end == .appLeft(.invalidMessage) })
        await session.end(stopApp: false)
        #expect(device.count("CONNECT>app") == 2)
        await device.stop()
    }

    @Test("C5 only where the app may still run is it worth connecting again") func mayResume() {
        let other = CastApplication(appID: "Y", sessionID: "y", transportID: "y")
        for (end, resumes) in [
            (CastSessionEnd.ended, false), (.appStopped, false), (.appLeft(.aborted), false),
            (.takenOver(by: other), false),
            (.deviceClosed(.idle), true), (.silent, true), (.network(.refused), true),
        ] {
            #expect(end.mayResume == resumes)
            #expect(!end.description.isEmpty)
        }
    }

    @Test("C22 a device that restarts is one line, at info; our own end is none") func oneLine() async throws {
        let lines = Mutex<[(Logger.Level, String)]>([])
        let logger = Logger(label: "test") { _ in
            RecordingLog { level, text in lines.withLock { $0.append((level, text)) } }
        }
        _ = try await end(logger: logger) { $0.hangUp() }
        #expect(lines.withLock { $0.filter { $0.0 >= .info }.map(\.0) } == [.info])
        #expect(lines.withLock { $0.first { $0.0 >= .info }?.1 } == "connection over: the device closed the connection")
        lines.withLock { $0 = [] }
        let device = try await ScriptedCastDevice(app: .init())
        let session = try await CastSession.connect(device, logger: logger)
        await session.end(stopApp: false)
        #expect(lines.withLock { $0.filter { $0.0 >= .info }.isEmpty })
        await device.stop()
    }

    @Test("C3 protocol versions are agreed where they were offered") func protocolVersions() async throws {
        let device = try await ScriptedCastDevice { message, json, device in
            guard json["type"] == "CONNECT", let version = json["protocolVersionList"].elements.compactMap(\.int).max()
            else { return false }
            device.say(
                #"{"type":"CONNECTED","protocolVersion":\#(version)}"#, in: CastNamespace.connection,
                from: message.destinationID)
            return true
        }
        let session = try await CastSession.connect(device) { $0.sender.protocolVersions = [0, 1, 2, 3] }
        let app = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(await eventually { await session.protocolVersion(of: app.transportID) == 3 })
        await session.leave()
        #expect(await session.protocolVersion(of: app.transportID) == nil)
        await session.end(stopApp: false)
        await device.stop()
    }
}

/// Hands over what is logged.
struct RecordingLog: LogHandler {
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]
    private let take: @Sendable (Logger.Level, String) -> Void

    init(_ take: @escaping @Sendable (Logger.Level, String) -> Void) { self.take = take }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { take(event.level, "\(event.message)") }
}
