import AirPlay
import HomeKitPairing
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

@testable import AirPlayBackend

/// The same of AirPlay 1 speakers, which take one way only.
@Suite("RAOP sessions: faults of receivers", .serialized, .timeLimit(.minutes(2)))
struct RAOPFaultTests {
    struct Played: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var query = "&latency=700"
        var password: String?
        var packets: Int64 = 40
        var change: @Sendable (inout SimulatedRAOPConfiguration) -> Void
    }

    static let played: [Played] = [
        Played(testDescription: "answers without CSeq") { $0.faults.sequenceHeader = .missing },
        Played(testDescription: "answers with a wrong CSeq") { $0.faults.sequenceHeader = .wrong },
        Played(testDescription: "SETUP is answered without Session") { $0.faults.omitsSession = true },
        Played(testDescription: "ports below zero") { $0.faults.writesNegativePorts = true },
        Played(testDescription: "the first sync is lost", query: "&latency=1500") { $0.faults.dropSyncs = 1 },
        Played(testDescription: "401 once", password: "open sesame") { $0.password = "open sesame" },
        Played(testDescription: "401 twice", password: "open sesame") {
            $0.password = "open sesame"
            $0.faults.extraChallenges = 1
        },
        Played(testDescription: "auth-setup first") { $0.encryption = [.none, .authSetup] },
        Played(testDescription: "signs of life are refused") { $0.faults.refusals = ["POST": 501] },
        Played(testDescription: "a tenth of the packets is lost", query: "", packets: 250) {
            $0.faults.dropAudio = 0.1
        },
    ]

    @Test("A1 It plays all the same, bit for bit", arguments: played)
    func plays(fault: Played) async throws {
        let room = try await RAOPRoom(query: fault.query, fault.change)
        let session = try await room.open(password: fault.password)
        let feed = SignalFeed(frames: 352 * fault.packets)
        let ahead: Int64 = fault.query.contains("1500") ? 1550 : fault.query.contains("700") ? 750 : 2050
        try await HeardSignal.play(feed, on: session, after: ahead)
        #expect(await ShairportSyncTests.finished(session))
        await session.end(.stop)
        await room.receiver.stop()
        #expect(room.exactFrames(feed.frames) == Int(feed.frames))
        await room.stop()
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var password: String?
        var code: RouterError.Code
        var message: String
        var hint: String
        var change: @Sendable (inout SimulatedRAOPConfiguration) -> Void
    }

    static let refused: [Refused] = [
        Refused(
            testDescription: "453", code: .routeBusy, message: "somebody else plays there", hint: "Stop the other"
        ) { $0.faults.isBusy = true },
        Refused(
            testDescription: "401 and no password", code: .authRequired, message: "wants a password",
            hint: "ROUTER_PASSWORD"
        ) { $0.password = "open sesame" },
        Refused(
            testDescription: "401 and the wrong password", password: "wrong", code: .authFailed,
            message: "refused the password", hint: "ROUTER_PASSWORD"
        ) { $0.password = "open sesame" },
        Refused(
            testDescription: "403", code: .authFailed, message: "does not let this sender in", hint: "Allow access"
        ) { $0.faults.refusals = ["ANNOUNCE": 403] },
        Refused(
            testDescription: "470", code: .authRequired, message: "wants to be paired", hint: "router pair Room"
        ) { $0.faults.refusals = ["ANNOUNCE": 470] },
        Refused(
            testDescription: "455", code: .protocolViolation, message: "refused SETUP with 455", hint: "--via"
        ) { $0.faults.refusals = ["SETUP": 455] },
        Refused(
            testDescription: "SETUP without ports", code: .protocolViolation, message: "no port for audio",
            hint: "--via"
        ) { $0.faults.omitsTransport = true },
        Refused(
            testDescription: "it hangs up at once", code: .routeUnreachable, message: "closed the connection",
            hint: "try again"
        ) { $0.faults.refusesConnections = true },
        Refused(
            testDescription: "it hangs up at the third request", code: .routeUnreachable,
            message: "closed the connection", hint: "try again"
        ) { $0.faults.closesAfterRequests = 3 },
        Refused(
            testDescription: "nobody has paired with it yet", code: .authRequired, message: "wants to be paired",
            hint: "router pair Room"
        ) { $0.pairing = .code(.fixed("1234")) },
    ]

    @Test("A1 R6 It cannot be played to: why, and what to do", arguments: refused)
    func refuses(fault: Refused) async throws {
        let room = try await RAOPRoom(fault.change)
        let error = await #expect(throws: RouterError.self) { _ = try await room.open(password: fault.password) }
        #expect(error?.code == fault.code)
        #expect(error?.message.contains(fault.message) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("Room") == true)
        #expect(error?.hint?.contains(fault.hint) == true, "\(error?.hint ?? "")")
        await room.stop()
    }

    @Test("A1 It hangs up in the middle: the room says so, and takes us again at once")
    func hangsUp() async throws {
        let room = try await RAOPRoom(query: "&latency=700") { $0.faults.closesAfterSeconds = 0.4 }
        let session = try await room.open()
        let updates = session.updates()
        try await HeardSignal.play(SignalFeed(frames: 44_100 * 60), on: session, after: 750)
        var last: RouteSessionUpdate?
        for await update in updates { last = update }
        #expect(last?.connection == .failed)
        #expect(last?.error?.code == .routeLost)
        await session.end(.stop)
        let second = try await room.open()
        await second.end(.stop)
        #expect(await room.receiver.record().busyAnswers == 0)
        await room.stop()
    }

    @Test("A1 Where its IPv6 address does not answer, IPv4 is tried")
    func families() async throws {
        let room = try await RAOPRoom()
        var endpoint = room.endpoint
        endpoint.facts[AirPlayEndpoint.otherAddresses] = endpoint.host
        endpoint.host = "::1"
        let session = try await room.provider.open(endpoint, options: room.options())
        #expect(room.story.phases.contains { $0.contains("trying IPv4") })
        await session.end(.stop)
        await room.stop()
    }

    @Test("R6 The older pairing, then RAOP on a connection that is verified by it", arguments: RTSPSpelling.allCases)
    func legacy(spelling: RTSPSpelling) async throws {
        let room = try await RAOPRoom(query: "&latency=700") {
            $0.pairing = .code(.fixed("1234"))
            $0.faults.spelling = spelling
        }
        let flow = try await room.provider.pairing(with: room.endpoint, options: room.options())
        #expect(flow.kind == .legacyPin)
        guard case .needsCode = try await flow.begin() else {
            Issue.record("no code was asked for")
            return
        }
        let error = await #expect(throws: RouterError.self) { _ = try await flow.supply(Secret("4321")) }
        #expect(error?.code == .authFailed)
        _ = try await flow.begin()
        guard case .done(let credentials) = try await flow.supply(Secret("1234")) else {
            Issue.record("the pairing is not done")
            return
        }
        await flow.end()
        #expect(room.story.facts[AirPlayPairingFlow.spellingFact] == (spelling == .http ? "http" : nil))
        // Without what was learnt: the spelling is found out again.
        let session = try await room.open(credentials: credentials)
        let feed = SignalFeed(frames: 352 * 40)
        try await HeardSignal.play(feed, on: session, after: 750)
        #expect(await ShairportSyncTests.finished(session))
        await session.end(.stop)
        await room.receiver.stop()
        #expect(room.exactFrames(feed.frames) == Int(feed.frames))
        await room.stop()
    }

    @Test("R6 HomeKit's pair-verify before RAOP")
    func homeKit() async throws {
        let controller = try AirPlayPairing.controller(AirPlay2Room.identity)
        let room = try await RAOPRoom {
            $0.pairing = .open
            $0.controllers = [
                PairingServerBook.Controller(
                    identifier: controller.identifier, publicKey: controller.signingKey.publicKey)
            ]
        }
        let book = await room.receiver.pairings()
        func credentials(_ identity: ControllerIdentity) -> DeviceCredentials {
            DeviceCredentials(
                kind: .pin,
                secret: HomeKitCredentials(
                    controller: identity, accessoryIdentifier: Array(book.identifier.utf8),
                    accessoryKey: book.key.publicKey
                ).encoded())
        }
        let session = try await room.open(credentials: credentials(controller))
        await session.end(.stop)
        let requests = await room.receiver.record().requests
        #expect(requests.filter { $0.contains("/pair-verify") }.count == 2)
        #expect(requests.contains("ANNOUNCE"))
        let stranger = ControllerIdentity(
            identifier: "stranger", signingKey: SigningKey(seed: (0..<32).map { UInt8($0) ^ 0x5A }))
        let error = await #expect(throws: RouterError.self) {
            _ = try await room.open(credentials: credentials(stranger))
        }
        #expect(error?.code == .authRequired)
        #expect(error?.hint?.contains("router pair Room") == true)
        await room.stop()

        // Whoever knows nothing of it is played to all the same.
        let open = try await RAOPRoom()
        let second = try await open.open(credentials: credentials(controller))
        await second.end(.stop)
        #expect(open.story.phases.contains { $0.contains("going on without") })
        #expect(open.story.facts.isEmpty)
        await open.stop()
    }
}
