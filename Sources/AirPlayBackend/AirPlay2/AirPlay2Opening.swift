import AirPlay
import Foundation
import HomeKitPairing
import Logging
import Pacing
import RouteBackend
import RouteModel

/// Makes an AirPlay 2 session: tries the ways that receivers differ in until one comes about, and remembers it
/// (`Protocols/airplay/README.md`, “Choice”).
struct AirPlay2Opening: Sendable {
    var endpoint: Endpoint
    var plan: AirPlay2Plan
    var options: OpenOptions
    /// Who we are.
    var sender: AirPlaySender
    var clock: any HostClock
    var pacer: Pacer
    var clockKeeper: AirPlayClockKeeper
    var remotes: AirPlayRemoteControl?
    var logger: Logger

    /// Why one way did not lead to a session.
    struct Failure: Error {
        var error: RouterError
        /// What of the way it speaks against; nil where no other would do better.
        var against: AirPlay2FallBack.Failure?
        /// It says nothing of the device: our own clock could not be had.
        var isOurs = false
        /// The way in that is left to try, where the device did not take the one that was tried.
        var otherAdmission: Admission?
    }

    /// Which of the ways in is tried, and what is told of it.
    struct Admission: Sendable {
        var index = 0
        var words = ""
    }

    func open() async throws -> AirPlayRouteSession {
        var ways = plan.fallBack(endpoint: endpoint, learnt: options.learnt)
        var failures: [Failure] = []
        var admission = Admission()
        while true {
            let way = ways.way
            do {
                let session = try await attempt(way, admission)
                // A second choice is not remembered where only this host was in the way of the first.
                if options.learnt[AirPlay2FallBack.fact] != way.description, !failures.contains(where: \.isOurs) {
                    await options.learn(AirPlay2FallBack.fact, way.description)
                }
                return session
            } catch {
                try Task.checkCancellation()
                failures.append(error)
                logger.debug(
                    "way refused",
                    metadata: ["route": "\(endpoint.name)", "way": "\(way)", "error": "\(error.error)"])
                if let other = error.otherAdmission {
                    admission = other
                    options.phase("\(error.error.message); \(other.words)")
                    continue
                }
                guard let against = error.against, let step = ways.next(after: against) else {
                    throw Self.summary(failures.map(\.error))
                }
                options.phase("\(error.error.message); \(step.words)")
            }
        }
    }

    /// The first failure says the most: those after it are of ways that were less likely.
    private static func summary(_ failures: [RouterError]) -> RouterError {
        var error = failures[0]
        error.causes += failures.dropFirst().map(\.message)
        return error
    }

    // MARK: One way

    private func attempt(
        _ way: AirPlay2Way, _ admission: Admission
    ) async throws(Failure) -> AirPlayRouteSession {
        options.phase("connecting")
        let connection: RTSPConnection
        do {
            connection = try await RTSPConnection.connect(
                host: plan.host(of: way), port: endpoint.port, password: options.password?.revealed, logger: logger)
        } catch {
            throw Failure(
                error: AirPlayErrors.opening(error, endpoint: endpoint),
                against: error == .closed ? nil : .unreachable)
        }
        let parts = Opened()
        do {
            return try await withTaskCancellationHandler {
                try await session(on: connection, way, admission, parts)
            } onCancel: {
                connection.abort()
            }
        } catch {
            await parts.undo()
            await connection.close()
            throw failure(error, way)
        }
    }

    /// What is to be let go where the session does not come about.
    final class Opened {
        var client: AirPlay2Client?
        var datagrams: AirPlayDatagrams?
        var stream: PacedStream?
        var writer: BufferedAudioWriter?
        var clock: AirPlaySessionClock?
        var remote: DACPSession?
        /// Only without the password in the pairing were we let in.
        var foundByHeader = false

        func undo() async {
            await datagrams?.close(stream)
            await writer?.close()
            await client?.end()
            await clock?.release()
            remote?.close()
        }
    }

    private func session(
        on connection: RTSPConnection, _ way: AirPlay2Way, _ admission: Admission, _ parts: Opened
    ) async throws -> AirPlayRouteSession {
        parts.remote = await remotes?.open()
        let client = try await AirPlay2Client.introduce(
            on: connection, options: clientOptions(way, remote: parts.remote?.address))
        parts.client = client
        let facts = plan.facts.updated(by: client.info)
        let admitted = try await letIn(client, facts, admission, parts)

        guard let remote = DatagramAddress(socketAddress: client.remoteSocketAddress) else {
            throw RouterError(.internal, "the address of \(endpoint.name) is of no known kind", scope: .route)
        }
        let datagrams = try AirPlayDatagrams(remote: remote, pacer: pacer) { clock.now() }
        parts.datagrams = datagrams
        options.phase(way.clock == .ptp ? "giving it our clock" : "setting up")
        let sessionClock = try await self.sessionClock(way, facts, client, datagrams)
        parts.clock = sessionClock

        let setup = AirPlay2SessionSetup(
            deviceID: sender.deviceID, sessionUUID: AirPlaySender.uuid(), timing: sessionClock.timing,
            name: options.senderName)
        let answer: AirPlay2SessionAnswer
        do { answer = try await client.setUp(setup) } catch {
            throw Failure(
                error: AirPlayErrors.opening(error, endpoint: endpoint), against: Self.isAnswer(error) ? .clock : nil)
        }
        options.phase("opening the stream")
        var built: AirPlayRouteSession.Parts
        switch way.stream {
        case .realtime:
            built = try await realtime(client, way, facts, answer, sessionClock, datagrams, parts)
        case .buffered:
            await datagrams.close(nil)
            parts.datagrams = nil
            built = try await buffered(client, facts, answer, sessionClock, parts)
        }
        await sessionClock.greet()
        await sessionClock.settled(clock.now())
        built.events = client.commands
        built.remote = parts.remote
        if facts.features?.contains(.nowPlayingInfo) == true {
            built.nowPlayingSender = AirPlayNowPlayingSender(
                identifier: sender.identifier, name: options.senderName, sessionID: setup.sessionUUID,
                groupID: setup.groupUUID ?? setup.sessionUUID, processIdentifier: getpid())
        }
        built.mediaRemote = mediaRemote(facts, way, admitted)
        let session = AirPlayRouteSession(built, hostClock: clock, logger: logger)
        await session.begin()
        if parts.foundByHeader { await options.learn(AirPlay2Admission.passwordFact, AirPlay2Admission.byHeader) }
        return session
    }

    func clientOptions(_ way: AirPlay2Way, remote: DACPAddress?) -> AirPlay2Client.Options {
        let clock = clock
        return AirPlay2Client.Options(
            clientName: options.senderName, dacpID: remote?.dacpID, activeRemote: remote?.activeRemote,
            spelling: way.spelling == .rtsp ? .rtsp : .http, recordsFirst: way.record == .before,
            sleep: { try await clock.sleep(nanoseconds: $0.nanoseconds) })
    }

    /// Climbs its ladder, and encrypts the connection with what comes of it.
    func letIn(_ client: AirPlay2Client, by admission: AirPlay2Admission) async throws {
        let ladders = PairingClient { request in
            let message = request.rtsp()
            let response = try await client.pair(
                request.path, hkp: request.hkp, contentType: request.contentType, body: message.body)
            return PairingAnswer(response, to: request)
        }
        if let secret = try await admission.climb(ladders) { try await client.encrypt(secret) }
    }

    /// The one that let us in.
    private func letIn(
        _ client: AirPlay2Client, _ facts: AirPlay2Facts, _ wanted: Admission, _ parts: Opened
    ) async throws -> AirPlay2Admission {
        let choices = try AirPlay2Admission.choices(
            facts, credentials: options.credentials, password: options.password,
            byHeader: options.learnt[AirPlay2Admission.passwordFact] == AirPlay2Admission.byHeader, endpoint: endpoint)
        // The device may say less of itself than it did a moment ago.
        let index = min(wanted.index, choices.count - 1)
        let admission = choices[index]
        options.phase(admission.words)
        do {
            try await letIn(client, by: admission)
            if index > 0, options.credentials == nil, case .transient(password: nil) = admission {
                parts.foundByHeader = true
            }
            return admission
        } catch let error as PairingError {
            var failure = Failure(
                error: AirPlayErrors.routerError(error, admission.purpose, endpoint: endpoint),
                against: AirPlayPairing.isAboutSpelling(error) ? .spelling : nil)
            if AirPlay2Admission.isRefusal(error), index + 1 < choices.count {
                failure.otherAdmission = Admission(index: index + 1, words: choices[index + 1].insteadWords)
            }
            throw failure
        } catch AirPlay2Error.rtsp(let error) where AirPlayPairing.isAboutSpelling(error) {
            throw Failure(error: AirPlayErrors.opening(error, endpoint: endpoint), against: .spelling)
        }
    }

    /// By which clock the session goes: ours is told to the device, or it asks.
    private func sessionClock(
        _ way: AirPlay2Way, _ facts: AirPlay2Facts, _ client: AirPlay2Client, _ datagrams: AirPlayDatagrams
    ) async throws(Failure) -> AirPlaySessionClock {
        guard way.clock == .ptp else { return .ntp(datagrams: datagrams, latency: Self.usualLatency) }
        guard facts.takesPTP else {
            throw Failure(
                error: RouterError(
                    .unsupported, "\(endpoint.name) follows no PTP clock", hint: "Leave out clock=ptp", scope: .route),
                against: .clock)
        }
        do {
            return try await AirPlaySessionClock.ptp(
                keeper: clockKeeper, peer: Self.peer(client.remoteHost, way, plan), identifier: sender.identifier,
                hostClock: clock)
        } catch {
            throw Failure(error: AirPlayErrors.clock(error, endpoint: endpoint), against: .clock, isOurs: true)
        }
    }

    /// Frames that receivers add by NTP to what sync packets of the older kind say, unless they say otherwise.
    private static let usualLatency = 11_025

    /// The peer's address with the interface, where it needs one.
    private static func peer(_ remoteHost: String, _ way: AirPlay2Way, _ plan: AirPlay2Plan) -> String {
        guard remoteHost.lowercased().hasPrefix("fe80"), !remoteHost.contains("%") else { return remoteHost }
        let host = plan.host(of: way)
        return host.contains("%") ? host : remoteHost
    }

    // MARK: Failures

    /// Whether the device said no, or nothing at all, to a request: another one may do.
    private static func isAnswer(_ error: AirPlay2Error) -> Bool {
        switch error {
        case .rtsp(.refused), .rtsp(.timedOut), .rtsp(.closed), .malformedAnswer, .incompleteAnswer, .notValidNow: true
        default: false
        }
    }

    private func failure(_ error: any Error, _ way: AirPlay2Way) -> Failure {
        switch error {
        case let failure as Failure: return failure
        case let error as RouterError: return Failure(error: error)
        case let error as AirPlay2Error:
            var against: AirPlay2FallBack.Failure?
            if Self.isAnswer(error) {
                switch error {
                case .rtsp(.refused("RECORD", _, _)), .rtsp(.timedOut("RECORD")), .notValidNow("RECORD"):
                    against = .record
                case .rtsp(.refused("GET", _, _)), .malformedAnswer("GET", _): against = .spelling
                default: against = .stream
                }
            }
            return Failure(error: AirPlayErrors.opening(error, endpoint: endpoint), against: against)
        case let error as DatagramSocketError:
            return Failure(error: AirPlayErrors.noSocket(error, endpoint: endpoint))
        case is CancellationError:
            return Failure(
                error: RouterError(.cancelled, "connecting to \(endpoint.name) was cancelled", scope: .route))
        default:
            return Failure(
                error: RouterError(
                    .internal, "\(endpoint.name) could not be set up", scope: .route, causes: ["\(error)"]))
        }
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
