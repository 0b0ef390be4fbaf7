import AirPlay
import Foundation
import HomeKitPairing
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

@testable import AirPlayBackend

/// What a person gets of each fault of an AirPlay 2 receiver: the sound all the same, and the way to it remembered; or a
/// sentence that says what to do.
@Suite("AirPlay 2 sessions: faults of receivers", .serialized, .timeLimit(.minutes(3)))
struct AirPlay2FaultTests {
    struct Played: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var query = "&latency=1500"
        var password: String?
        /// The way of last time.
        var learnt: String?
        /// Words of the way that is remembered.
        var remembers: [String] = []
        /// Of what is told on the way.
        var tells: String?
        var packets: Int64 = 40
        var change: @Sendable (inout SimulatedAirPlay2Configuration) -> Void
    }

    static let played: [Played] = [
        Played(testDescription: "the event port opens late") { $0.faults.eventPortDelay = 0.7 },
        Played(testDescription: "answers without CSeq") { $0.faults.sequenceHeader = .missing },
        Played(testDescription: "answers with a wrong CSeq") { $0.faults.sequenceHeader = .wrong },
        Played(testDescription: "ports below zero") { $0.faults.writesNegativePorts = true },
        Played(testDescription: "the first sync is lost") { $0.faults.dropSyncs = 1 },
        Played(testDescription: "the first four syncs are lost") { $0.faults.dropSyncs = 4 },
        Played(testDescription: "the first sync is lost, by NTP", query: "&latency=1500&clock=ntp") {
            $0.faults.dropSyncs = 1
        },
        Played(testDescription: "401 once", password: "open sesame", tells: "without it") {
            $0.headerPassword = "open sesame"
        },
        Played(testDescription: "401 twice", password: "open sesame") {
            $0.headerPassword = "open sesame"
            $0.faults.extraChallenges = 1
        },
        Played(
            testDescription: "NTP is refused, which was the way last time", learnt: "ntp realtime before rtsp ipv4",
            remembers: ["ptp"], tells: "trying PTP"
        ) { $0.timing = [.ptp] },
        Played(
            testDescription: "peers are refused, so that only NTP is left", query: "&latency=1500",
            remembers: ["ntp", "realtime"], tells: "trying NTP"
        ) { $0.faults.refusals = ["SETPEERS": 500] },
        Played(
            testDescription: "RECORD gets 455 before the stream", remembers: ["after"], tells: "another order"
        ) { $0.recordOrder = .after },
        Played(
            testDescription: "RECORD gets 455 after the stream, which was the way last time",
            learnt: "ptp realtime after rtsp ipv4", remembers: ["before"], tells: "another order"
        ) { $0.recordOrder = .before },
        Played(
            testDescription: "pairing is understood as HTTP only", remembers: ["http"], tells: "the other spelling"
        ) { $0.faults.spelling = .http },
        Played(
            testDescription: "pairing is understood as RTSP only, and HTTP was the way last time",
            learnt: "ptp realtime before http ipv4", remembers: ["rtsp"], tells: "the other spelling"
        ) { $0.faults.spelling = .rtsp },
        Played(testDescription: "signs of life are refused") { $0.faults.refusals = ["/feedback": 501] },
        Played(testDescription: "the volume is a secret") { $0.faults.refusals = ["GET_PARAMETER": 455] },
        Played(testDescription: "a tenth of the packets is lost", query: "", packets: 250) {
            $0.faults.dropAudio = 0.1
        },
    ]

    @Test("A8 It plays all the same, bit for bit, and the way to it is remembered", arguments: played)
    func plays(fault: Played) async throws {
        let room = try await AirPlay2Room(query: fault.query, fault.change)
        let learnt = fault.learnt.map { [AirPlay2FallBack.fact: $0] } ?? [:]
        let session = try await room.open(password: fault.password, learnt: learnt)
        let feed = SignalFeed(frames: 352 * fault.packets)
        let ahead: Int64 = fault.query.contains("1500") ? 1550 : 2050
        try await room.play(feed, on: session, after: ahead)
        #expect(await ShairportSyncTests.finished(session))
        // The last of them may have been opened late.
        #expect(await eventually { await room.receiver.record().eventConnections >= 1 })
        await session.end(.stop)
        await room.receiver.stop()
        #expect(room.exactFrames(feed.frames) == Int(feed.frames))
        let way = room.story.facts[AirPlay2FallBack.fact] ?? ""
        for word in fault.remembers {
            #expect(way.split(separator: " ").contains(Substring(word)), "\(way)")
        }
        if let words = fault.tells { #expect(room.story.phases.contains { $0.contains(words) }) }
        await room.stop()
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var query = ""
        var password: String?
        var code: RouterError.Code
        /// Of the error: what is the matter, and what to do.
        var message: String
        var hint: String
        var change: @Sendable (inout SimulatedAirPlay2Configuration) -> Void
    }

    private static func failing(
        _ step: PairingServerStep, _ kind: PairingServerFault.Kind
    ) -> @Sendable (inout SimulatedAirPlay2Configuration) -> Void {
        { $0.pairing.faults[step] = PairingServerFault(kind) }
    }

    static let refused: [Refused] = [
        Refused(
            testDescription: "453", code: .routeBusy, message: "somebody else plays there", hint: "Stop the other"
        ) { $0.faults.isBusy = true },
        Refused(
            testDescription: "455 to every RECORD", code: .unavailable, message: "takes no RECORD",
            hint: "Try again when it plays"
        ) { $0.faults.refusals = ["RECORD": 455] },
        Refused(
            testDescription: "470 to SETUP", code: .authRequired, message: "wants to be paired",
            hint: "router pair Room"
        ) { $0.faults.refusals = ["SETUP": 470] },
        Refused(
            testDescription: "470 to GET /info", code: .authRequired, message: "wants to be paired",
            hint: "router pair Room"
        ) { $0.faults.refusals = ["/info": 470] },
        Refused(
            testDescription: "470 to a pairing for one connection", code: .authRequired,
            message: "wants to be paired", hint: "router pair Room"
        ) { $0.pairing = PairingServerPolicy(code: nil, transientRefusal: .status(470)) },
        Refused(
            testDescription: "an error in place of 470", code: .authRequired, message: "wants to be paired",
            hint: "router pair Room"
        ) { $0.pairing = PairingServerPolicy(code: nil, transientRefusal: .error(.authentication)) },
        Refused(
            testDescription: "401 and no password", code: .authRequired, message: "wants a password",
            hint: "ROUTER_PASSWORD"
        ) { $0.headerPassword = "open sesame" },
        Refused(
            testDescription: "401 and the wrong password", password: "wrong", code: .authFailed,
            message: "refused the password", hint: "ROUTER_PASSWORD"
        ) { $0.headerPassword = "open sesame" },
        Refused(
            testDescription: "401 to the right password without end", password: "open sesame", code: .authFailed,
            message: "refused the password", hint: "ROUTER_PASSWORD"
        ) {
            $0.headerPassword = "open sesame"
            $0.faults.extraChallenges = .max
        },
        Refused(
            testDescription: "the wrong password in the pairing", password: "wrong", code: .authFailed,
            message: "refused the password", hint: "ROUTER_PASSWORD"
        ) { $0.pairing = .password("open sesame") },
        Refused(
            testDescription: "too many tries, with how long to wait", code: .rateLimited, message: "30 seconds",
            hint: "Wait for 30 seconds", change: failing(.setup4, .error(.backOff, retryAfter: 30))),
        Refused(
            testDescription: "too many tries", code: .rateLimited, message: "for a while", hint: "Wait for a while",
            change: failing(.setup2, .error(.backOff, retryAfter: nil))),
        Refused(
            testDescription: "no tries any more", code: .pairingDenied, message: "no more tries", hint: "Restart",
            change: failing(.setup2, .error(.tooManyTries, retryAfter: nil))),
        Refused(
            testDescription: "no room for another sender", code: .pairingDenied, message: "as many senders as it can",
            hint: "Remove one", change: failing(.setup4, .error(.tooManyPeers, retryAfter: nil))),
        Refused(
            testDescription: "pairing is unavailable", code: .pairingDenied, message: "does not pair at present",
            hint: "AirPlay settings", change: failing(.setup2, .error(.unavailable, retryAfter: nil))),
        Refused(
            testDescription: "somebody else pairs", code: .routeBusy, message: "pairing with somebody else",
            hint: "in a minute", change: failing(.setup2, .error(.busy, retryAfter: nil))),
        Refused(
            testDescription: "access control by status", code: .authFailed, message: "access control",
            hint: "Allow access for everyone"
        ) { $0.pairing = .accessControl() },
        Refused(
            testDescription: "access control by error", code: .pairingDenied, message: "does not pair at present",
            hint: "its own home"
        ) { $0.pairing = .accessControl(.error(.unavailable)) },
        Refused(
            testDescription: "a wrong proof of its own", code: .protocolViolation, message: "does not pair as",
            hint: "update or restart", change: failing(.setup4, .wrongProof)),
        Refused(
            testDescription: "half an answer of pairing", code: .protocolViolation, message: "does not pair as",
            hint: "update or restart", change: failing(.setup2, .truncate)),
        Refused(
            testDescription: "it hangs up while pairing", code: .routeUnreachable, message: "closed the connection",
            hint: "restart the device", change: failing(.setup4, .close)),
        Refused(
            testDescription: "it hangs up at once", code: .routeUnreachable, message: "closed the connection",
            hint: "try again"
        ) { $0.faults.refusesConnections = true },
        Refused(
            testDescription: "it hangs up at the fourth request", code: .routeUnreachable,
            message: "closed the connection", hint: "try again"
        ) { $0.faults.closesAfterRequests = 4 },
        Refused(
            testDescription: "no stream is taken", code: .protocolViolation, message: "refused SETUP with 415",
            hint: "--via"
        ) { $0.streams = [] },
        Refused(
            testDescription: "NTP is the wish, and refused", query: "&clock=ntp", code: .protocolViolation,
            message: "refused SETUP with 400", hint: "--via"
        ) { $0.timing = [.ptp] },
    ]

    @Test("A8 R6 It cannot be played to: why, and what to do", arguments: refused)
    func refuses(fault: Refused) async throws {
        let room = try await AirPlay2Room(query: fault.query, fault.change)
        let error = await #expect(throws: RouterError.self) { _ = try await room.open(password: fault.password) }
        #expect(error?.code == fault.code)
        #expect(error?.message.contains(fault.message) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("Room") == true)
        #expect(error?.hint?.contains(fault.hint) == true, "\(error?.hint ?? "")")
        #expect(error?.scope == .route)
        if let password = fault.password { #expect(error?.description.contains(password) == false) }
        #expect(room.story.facts.isEmpty)
        await room.stop()
    }

    @Test("A8 It hangs up in the middle: the room says so, and takes us again at once")
    func hangsUp() async throws {
        let room = try await AirPlay2Room(query: "&latency=700") { $0.faults.closesAfterSeconds = 0.4 }
        let session = try await room.open()
        let updates = session.updates()
        try await room.play(SignalFeed(frames: 44_100 * 60), on: session, after: 750)
        var last: RouteSessionUpdate?
        for await update in updates { last = update }
        #expect(last?.connection == .failed)
        #expect(last?.error?.code == .routeLost)
        #expect(last?.error?.hint != nil)
        await session.end(.stop)
        let second = try await room.open()
        await second.end(.stop)
        #expect(await room.receiver.record().busyAnswers == 0)
        await room.stop()
    }

    @Test("A8 Neither clock is to be had: the cure for ours is told first")
    func noClock() async throws {
        let room = try await AirPlay2Room { $0.timing = [.ptp] }
        let holder = try PTPClockService(ports: room.receiver.configuration.ptpPorts)
        try await holder.start()
        let error = await #expect(throws: RouterError.self) { _ = try await room.open() }
        #expect(error?.code == .dependencyMissing)
        #expect(error?.hint != nil)
        #expect(error?.causes.contains { $0.contains("SETUP") } == true)
        await holder.stop()
        await room.stop()
    }

    @Test("A8 A receiver of buffered streams alone is sent one, and that is remembered")
    func bufferedOnly() async throws {
        let room = try await AirPlay2Room { $0.streams = [.buffered] }
        let session = try await room.open()
        #expect(await room.receiver.record().streams.map(\.kind) == [.buffered])
        #expect(room.story.facts[AirPlay2FallBack.fact]?.contains("buffered") == true)
        await session.end(.stop)
        await room.stop()
    }

    @Test("A8 Where its IPv6 address does not answer, IPv4 is tried and remembered")
    func families() async throws {
        let room = try await AirPlay2Room()
        var endpoint = room.endpoint
        endpoint.facts[AirPlayEndpoint.otherAddresses] = endpoint.host
        endpoint.host = "::1"
        let session = try await room.provider.open(endpoint, options: room.options())
        #expect(room.story.phases.contains { $0.contains("trying IPv4") })
        #expect(room.story.facts[AirPlay2FallBack.fact]?.hasSuffix("ipv4") == true)
        await session.end(.stop)
        await room.stop()
    }

    @Test("R6 A device that has forgotten us and lets everybody in is played to; one that is another is not")
    func forgotten() async throws {
        let room = try await AirPlay2Room()
        let book = await room.receiver.pairings()
        func credentials(_ key: [UInt8]) throws -> DeviceCredentials {
            DeviceCredentials(
                kind: .pin,
                secret: HomeKitCredentials(
                    controller: try AirPlayPairing.controller(AirPlay2Room.identity),
                    accessoryIdentifier: Array(book.identifier.utf8), accessoryKey: key
                ).encoded())
        }
        let session = try await room.open(credentials: credentials(book.key.publicKey))
        #expect(room.story.phases.contains { $0.contains("does not know this sender any more") })
        #expect(await room.receiver.record().sessions.last?.isEncrypted == true)
        await session.end(.stop)
        let connections = await room.receiver.record().connections
        let another = SigningKey(seed: (0..<32).map { UInt8($0) ^ 0x5A }).publicKey
        let error = await #expect(throws: RouterError.self) {
            _ = try await room.open(credentials: credentials(another))
        }
        #expect(error?.code == .authFailed)
        #expect(error?.hint?.contains("router pair") == true)
        #expect(await room.receiver.record().connections == connections + 1)
        await room.stop()
    }

    @Test("R6 How a device takes its password is remembered: no wrong try the next time")
    func passwordByHeader() async throws {
        let room = try await AirPlay2Room { $0.headerPassword = "open sesame" }
        let first = try await room.open(password: "open sesame")
        await first.end(.stop)
        #expect(room.story.facts[AirPlay2Admission.passwordFact] == AirPlay2Admission.byHeader)
        let connections = await room.receiver.record().connections
        let second = try await room.open(password: "open sesame", learnt: room.story.facts)
        await second.end(.stop)
        #expect(await room.receiver.record().connections == connections + 1)
        await room.stop()
    }

    @Test("R6 Pairing with a code: each wrong one is told, and how long to wait after too many")
    func backOff() async throws {
        let room = try await AirPlay2Room {
            $0.pairing = .code(.fixed("1234"))
            $0.pairing.backOff = [0, 30]
        }
        let flow = try await room.provider.pairing(with: room.endpoint, options: room.options())
        _ = try await flow.begin()
        var error = await #expect(throws: RouterError.self) { _ = try await flow.supply(Secret("4321")) }
        #expect(error?.code == .authFailed)
        _ = try await flow.begin()
        error = await #expect(throws: RouterError.self) { _ = try await flow.supply(Secret("4322")) }
        #expect(error?.code == .authFailed)
        error = await #expect(throws: RouterError.self) {
            _ = try await flow.begin()
            _ = try await flow.supply(Secret("1234"))
        }
        #expect(error?.code == .rateLimited)
        #expect(error?.hint?.contains("seconds") == true)
        await flow.end()
        await room.stop()
    }

    @Test("A8 Ways that are known to be silent are doubtful from the start")
    func silentCombinations() throws {
        func sentence(_ facts: [String: String], _ format: AirPlayAudioFormat, _ way: AirPlay2Way) throws -> String? {
            let query = facts.map { "\($0)=\($1)" }.joined(separator: "&")
            let endpoint = try AirPlayEndpointTests.provider.endpoint(from: DeviceURI("airplay://x?name=Den&\(query)"))
            return AirPlay2SilentCombination.sentence(format, way, endpoint: endpoint)
        }
        let fine = AirPlayAudioFormat(.appleLossless, sampleRate: 48_000, bitDepth: 24)
        let usual = AirPlayAudioFormat(.appleLossless, sampleRate: 44_100, bitDepth: 16)
        #expect(try sentence(["manufacturer": "Sonos"], fine, AirPlay2Way())?.contains("Den") == true)
        #expect(try sentence(["manufacturer": "Sonos"], usual, AirPlay2Way()) == nil)
        #expect(try sentence(["manufacturer": "Apple"], fine, AirPlay2Way()) == nil)
        let late = AirPlay2Way(record: .after)
        #expect(try sentence(["manufacturer": "Samsung"], usual, late)?.contains("record=after") == true)
        #expect(try sentence(["manufacturer": "Samsung"], usual, AirPlay2Way()) == nil)
    }

    private static let isLong = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1"

    @Test(
        "A8 SETUP with NTP is never answered, as by HomePods: PTP it is, after ten seconds",
        .enabled(if: isLong, "ten seconds long: set ROUTER_LONG=1"))
    func neverAnswered() async throws {
        let room = try await AirPlay2Room { $0.faults.ignoresNTP = true }
        let session = try await room.open(learnt: [AirPlay2FallBack.fact: "ntp realtime before rtsp ipv4"])
        #expect(room.story.phases.contains { $0.contains("trying PTP") })
        #expect(room.story.facts[AirPlay2FallBack.fact]?.hasPrefix("ptp") == true)
        await session.end(.stop)
        await room.stop()
    }
}
