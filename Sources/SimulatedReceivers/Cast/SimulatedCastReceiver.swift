import CastV2
import Foundation
import Logging
import RouteBackend

/// A Google Cast device in this process: real TLS, real device authentication, and a player that fetches, decodes and
/// records what is heard, at the pace of the clock.
///
/// `start`, use, `stop`; after `stop` nothing of it is left. A receiver is started once.
public actor SimulatedCastReceiver {
    public nonisolated let configuration: SimulatedCastConfiguration
    /// The root under which this device's certificate was issued, in PEM: give it to senders that verify devices.
    public nonisolated let rootCertificatePEM: String
    /// The certificate of its device authentication, DER.
    public nonisolated var deviceCertificate: [UInt8] { authenticator.identity.certificate }

    private static let tickNanoseconds: Int64 = 250_000_000

    private let clock: any HostClock
    private let logger: Logger
    private nonisolated let authenticator: CastDeviceAuthenticator
    private let serverKey: [UInt8]
    private let player: SimulatedPlayer
    let streaming: SimulatedCastStreaming
    private let journal: EventJournal
    private let inputs: AsyncStream<SimulatedCastInput>
    let inputWriter: AsyncStream<SimulatedCastInput>.Continuation
    private let orders: AsyncStream<TextTrackFetcher.Order>
    private let orderWriter: AsyncStream<TextTrackFetcher.Order>.Continuation
    private let servers: AsyncStream<SimulatedCastServer>
    private let serverWriter: AsyncStream<SimulatedCastServer>.Continuation

    var machine: CastReceiverMachine
    private var server: SimulatedCastServer?
    private var serverCount = 0
    /// When a device that is away listens again.
    private var backAt: Int64?
    /// Of a group: its members that are receivers here, by their id. Of a member: its groups.
    var members: [String: SimulatedCastReceiver] = [:]
    var groups: [SimulatedCastReceiver] = []
    var toldLevel: Double
    var toldApp: String?
    private var writers: [Int: SimulatedCastWriter] = [:]
    private var silenced: Set<Int> = []
    private var serving: Task<Void, Never>?
    private var recordSoFar = SimulatedCastRecord()
    private var readers: [Int: AsyncStream<SimulatedReceiverEvent>.Continuation] = [:]
    private var nextReader = 0

    /// Makes keys and certificates and opens the recording.
    /// - Throws: `SimulatedReceiverError`.
    public init(
        _ configuration: SimulatedCastConfiguration = SimulatedCastConfiguration(),
        logger: Logger = Logger(label: "router.simulated.cast", factory: { _ in SwiftLogNoOpLogHandler() }),
        clock: any HostClock = SystemHostClock()
    ) throws {
        self.configuration = configuration
        self.logger = logger
        self.clock = clock
        let authority = try configuration.authority ?? CastTestAuthority.ofProcess()
        serverKey = authority.serverKey.der
        authenticator = try CastDeviceAuthenticator(
            mode: configuration.authentication, name: configuration.name, authority: authority)
        rootCertificatePEM = authenticator.rootPEM
        if let folder = configuration.recordingFolder {
            try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        let file = configuration.recordingFolder?.appending(path: configuration.fileName)
        recordSoFar.recording = file?.appendingPathExtension("wav")
        recordSoFar.journal = file?.appendingPathExtension("ndjson")
        journal = try EventJournal(url: recordSoFar.journal, clock: clock)
        let delay = configuration.bufferingDelay.components
        player = try SimulatedPlayer(
            clock: clock, recording: recordSoFar.recording,
            bufferingNanoseconds: delay.seconds * 1_000_000_000 + delay.attoseconds / 1_000_000_000)
        (inputs, inputWriter) = AsyncStream.makeStream(of: SimulatedCastInput.self)
        (orders, orderWriter) = AsyncStream.makeStream(of: TextTrackFetcher.Order.self)
        (servers, serverWriter) = AsyncStream.makeStream(of: SimulatedCastServer.self)
        machine = CastReceiverMachine(configuration)
        toldLevel = machine.level
        let inputWriter = inputWriter
        streaming = SimulatedCastStreaming(configuration, clock: clock) { word, details in
            inputWriter.yield(.happened(word, details))
        }
    }

    // MARK: Life

    /// Listens. The HTTP port is nil when none was asked for, or when it is taken (event `httpPortTaken`).
    /// - Throws: `SimulatedReceiverError.cannotListen`.
    public func start() async throws -> (port: Int, httpPort: Int?) {
        precondition(serving == nil, "a simulated receiver is started once")
        let port = try await listen(host: configuration.host, port: configuration.port)
        var eureka: EurekaInfoServer?
        if let port = configuration.httpPort {
            do {
                eureka = try await EurekaInfoServer(
                    host: configuration.host, port: port, refusesNames: configuration.refusesHostHeaderNames
                ) { [weak self] in await self?.machine.identity.eurekaInformation ?? .null }
            } catch {
                logger.notice("no eureka_info: \(error)")
                note("httpPortTaken", ["port": .integer(port)])
            }
        }
        let web = eureka
        let (inputWriter, clock, player, orders, servers) = (inputWriter, clock, player, orders, servers)
        let streaming = streaming
        serving = Task {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    await withDiscardingTaskGroup { listeners in
                        for await server in servers { listeners.addTask { await server.run(inputWriter) } }
                    }
                }
                if let web { group.addTask { await web.run() } }
                group.addTask {
                    for await event in player.events { inputWriter.yield(.player(event)) }
                }
                group.addTask {
                    await withDiscardingTaskGroup { fetches in
                        for await order in orders {
                            fetches.addTask { inputWriter.yield(.text(await TextTrackFetcher().fetch(order))) }
                        }
                    }
                }
                group.addTask {
                    while (try? await clock.sleep(nanoseconds: Self.tickNanoseconds)) != nil {
                        inputWriter.yield(.tick)
                    }
                }
                group.addTask { await streaming.run() }
                group.addTask { await self.handleInputs() }
            }
        }
        note("listening", ["port": .integer(port), "httpPort": web.map { .integer($0.port) } ?? .null])
        return (port, web?.port)
    }

    /// Closes everything: connections, playback, recording, event streams.
    public func stop() async {
        await streaming.stop("the receiver stopped")
        serving?.cancel()
        await serving?.value
        // What streaming said last is not handled any more, but belongs into the journal.
        inputWriter.finish()
        for await case .happened(let word, let details) in inputs { note(word, details) }
        await player.shutDown()
        note("stopped")
        orderWriter.finish()
        serverWriter.finish()
        for reader in readers.values { reader.finish() }
        readers = [:]
        members = [:]
        groups = []
    }

    // MARK: Where it listens

    /// Listens at a place, and no more where it did before.
    private func listen(host: String, port: Int) async throws -> Int {
        // Each listener counts its connections from a number of its own.
        let new = try await SimulatedCastServer(
            host: host, port: port, certificate: authenticator.serverCertificate, key: serverKey,
            firstConnection: 1 + serverCount * 1_000_000)
        serverCount += 1
        await server?.close()
        server = new
        machine.identity.host = host
        machine.identity.port = new.port
        serverWriter.yield(new)
        return new.port
    }

    private func listenNoMore() async {
        await server?.close()
        server = nil
    }

    /// Listens where it did before, after a time in which it did not.
    private func listenAgain() async {
        backAt = nil
        guard server == nil else { return }
        do {
            let port = try await listen(host: machine.identity.host, port: machine.identity.port)
            note("listening", ["port": .integer(port)])
        } catch {
            note("cannotListen", ["reason": .string("\(error)")])
        }
    }

    private func control(_ control: SimulatedCastControl, at now: Int64) async {
        switch control {
        case .restart(let keepsSessions, let downFor):
            await listenNoMore()
            machine.restart(keepingSessions: keepsSessions, at: now)
            await perform(machine.takeActions())
            let time = downFor.components
            backAt = now + time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000
            if downFor == .zero { await listenAgain() }
        case .sleep:
            machine.note("asleep")
            machine.isAsleep = true
            await listenNoMore()
        case .wake(let keepsSessions):
            machine.note("awake")
            machine.restart(keepingSessions: keepsSessions, at: now)
            await perform(machine.takeActions())
            await listenAgain()
        case .moveLeader(let host, let port):
            do {
                let new = try await listen(host: host ?? machine.identity.host, port: port)
                machine.note("moved", ["host": .string(machine.identity.host), "port": .integer(new)])
                machine.leaderMoved()
                machine.dropConnections()
            } catch {
                machine.note("cannotListen", ["reason": .string("\(error)")])
            }
            tellPlace()
        default: machine.perform(control, at: now)
        }
    }

    // MARK: What others see

    /// TXT of `_googlecast._tcp` as it is now.
    public var txtRecord: [String: String] { machine.identity.txtRecord(runningApp: machine.runningApp) }

    /// Everything that happens from now on.
    public func events() -> AsyncStream<SimulatedReceiverEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SimulatedReceiverEvent.self, bufferingPolicy: .bufferingNewest(SimulatedCastRecord.maximumEvents))
        nextReader += 1
        let id = nextReader
        readers[id] = continuation
        return stream
    }

    /// Everything that happened so far.
    public func record() async -> SimulatedCastRecord {
        var record = recordSoFar
        record.level = machine.level
        record.muted = machine.muted
        if let media = machine.app?.media {
            record.position = media.isActive ? media.position(at: clock.now()) : 0
            record.playerState = media.phase.word
            record.title = media.isActive ? media.currentMedia?["metadata"]?["title"]?.string : nil
        }
        record.heardFrames = await player.recordedFrames
        return record
    }

    // MARK: What people do at the device

    /// Does it in its turn; events tell when.
    public nonisolated func control(_ control: SimulatedCastControl) { inputWriter.yield(.control(control)) }

    /// Somebody uses the remote control or the buttons of the device. 0 to 1.
    public func someoneTurnsVolume(to level: Double) { control(.turnVolume(level)) }

    /// Another sender launches an app that is not the media player.
    public func anotherAppTakesOver(name: String = "YouTube") { control(.takeOver(app: name)) }

    /// Somebody pauses or resumes with the device's remote control.
    public func someonePresses(play: Bool) { control(play ? .pressPlay : .pressPause) }

    /// The app dies.
    public func appCrashes() { control(.crash) }

    /// The network of the device goes for a moment: all TCP connections end.
    public func dropConnections() { control(.dropConnections) }

    // MARK: The loop

    private func handleInputs() async {
        for await input in inputs {
            if Task.isCancelled { return }
            await handle(input)
        }
    }

    private func handle(_ input: SimulatedCastInput) async {
        if case .message = input, configuration.faults.answerDelay > .zero {
            let delay = configuration.faults.answerDelay.components
            try? await clock.sleep(nanoseconds: delay.seconds * 1_000_000_000 + delay.attoseconds / 1_000_000_000)
        }
        // The machine stops sound at the instant of what it hears, so nothing is heard past that meanwhile.
        let (now, ending) = await player.hold()
        if let ending { machine.receive(ending, at: now) }
        switch input {
        case .opened(let id, let writer):
            writers[id] = writer
            machine.opened(id, at: now)
        case .message(let id, let message): machine.receive(message, on: id, at: now)
        case .closed(let id):
            writers[id] = nil
            silenced.remove(id)
            machine.closed(id)
        case .player(let event):
            if case .fetched(let fetch) = event.kind { keep(fetch) }
            machine.receive(event, at: now)
        case .text(let text):
            if let fetch = text.fetch { keep(fetch) }
            machine.receive(text, at: now)
        case .tick:
            if let backAt, now >= backAt { await listenAgain() }
            machine.tick(at: now)
        case .control(let deed): await control(deed, at: now)
        case .setByGroup(let level, let muted):
            machine.setVolume(level: level, muted: muted)
            machine.broadcastStatus()
            toldLevel = machine.level
        case .happened(let word, let details): note(word, details)
        case .deed(let deed): deed(&machine, now)
        }
        await perform(machine.takeActions())
        await player.release()
        tellGroups()
    }

    private func keep(_ fetch: MediaFetch) {
        if recordSoFar.fetches.count >= SimulatedCastRecord.maximumFetches { recordSoFar.fetches.removeFirst(50) }
        recordSoFar.fetches.append(fetch)
    }

    private func perform(_ actions: [CastReceiverAction]) async {
        var joined: [Int: [UInt8]] = [:]
        for action in actions {
            switch action {
            case .send(let connection, let message): send(message, connection, &joined)
            case .authenticate(let connection, let asker, let payload):
                note("challenged", ["sender": .string(asker), "mode": .string(configuration.authentication.rawValue)])
                for answer in (try? authenticator.answers(to: payload)) ?? [] {
                    let message = CastMessage(
                        sourceID: CastAddress.platformReceiver, destinationID: asker,
                        namespace: CastNamespace.deviceAuthentication, payload: answer)
                    send(message, connection, &joined)
                }
            case .drop(let connection): writers[connection]?.close()
            case .player(let command): await command.carryOut(on: player)
            case .fetchText(let url, let track): orderWriter.yield(TextTrackFetcher.Order(url: url, track: track))
            case .control(let control): inputWriter.yield(.control(control))
            case .member(let id, let level, let muted):
                members[id]?.inputWriter.yield(.setByGroup(level: level, muted: muted))
            case .stream(let command): await stream(command, &joined)
            case .note(let word, let details): note(word, details)
            }
        }
        for (connection, bytes) in joined { writers[connection]?.write(bytes) }
    }

    private func stream(_ command: CastStreamingCommand, _ joined: inout [Int: [UInt8]]) async {
        switch command {
        case .offer(let json, let asker, let video):
            guard let answer = await streaming.offer(json, video: video) else { return }
            machine.answer(answer, to: asker)
            for case .send(let connection, let message) in machine.takeActions() { send(message, connection, &joined) }
        case .stop(let reason): await streaming.stop(reason)
        }
    }

    private func send(_ message: CastMessage, _ connection: Int, _ joined: inout [Int: [UInt8]]) {
        guard let writer = writers[connection], !silenced.contains(connection) else { return }
        if let length = configuration.faults.firstFrameLength {
            // After a length that cannot be, nothing that follows makes sense.
            silenced.insert(connection)
            writer.write([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) })
            return
        }
        guard let frame = try? CastFraming.encode(message) else {
            logger.warning("a message that cannot be sent", metadata: ["namespace": "\(message.namespace)"])
            return
        }
        switch configuration.recordStyle {
        case .separate: writer.write(frame)
        case .joined: joined[connection, default: []] += frame
        case .split:
            writer.write(Array(frame.prefix(frame.count / 2)))
            writer.write(Array(frame.dropFirst(frame.count / 2)))
        }
    }

    private func note(_ word: String, _ details: [String: JSONValue] = [:]) {
        let event = SimulatedReceiverEvent(word, at: clock.now(), details)
        if recordSoFar.events.count >= SimulatedCastRecord.maximumEvents { recordSoFar.events.removeFirst(200) }
        recordSoFar.events.append(event)
        journal.append(word, details)
        logger.debug("\(word)", metadata: ["receiver": "\(configuration.name)"])
        for (id, reader) in readers {
            if case .terminated = reader.yield(event) { readers[id] = nil }
        }
    }
}

extension CastPlayerCommand {
    func carryOut(on player: SimulatedPlayer) async {
        switch self {
        case .load(let load, let generation, let kept):
            await player.load(load, generation: generation, keeping: kept)
        case .preload(let load, let generation): await player.preload(load, generation: generation)
        case .take(let generation): await player.take(generation)
        case .drop(let generation): await player.drop(generation)
        case .seek(let position, let rate, let end, let generation):
            await player.seek(to: position, rate: rate, end: end, generation: generation)
        case .play(let instant): await player.play(since: instant)
        case .halt(let instant): await player.halt(at: instant)
        case .stop: await player.stop()
        case .gain(let gain): await player.setGain(gain)
        }
    }
}
