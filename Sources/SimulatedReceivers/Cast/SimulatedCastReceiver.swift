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

    private static let tickNanoseconds: Int64 = 250_000_000

    private let clock: any HostClock
    private let logger: Logger
    private let authenticator: CastDeviceAuthenticator
    private let serverKey: [UInt8]
    private let player: SimulatedPlayer
    let streaming: SimulatedCastStreaming
    private let journal: EventJournal
    private let inputs: AsyncStream<SimulatedCastInput>
    private let inputWriter: AsyncStream<SimulatedCastInput>.Continuation

    private var machine: CastReceiverMachine
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
        let authority = try CastTestAuthority.ofProcess()
        rootCertificatePEM = authority.rootPEM
        serverKey = authority.serverKey.der
        authenticator = try CastDeviceAuthenticator(
            mode: configuration.authentication, name: configuration.name, authority: authority)
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
        machine = CastReceiverMachine(configuration)
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
        let server = try await SimulatedCastServer(
            host: configuration.host, port: configuration.port, certificate: authenticator.serverCertificate,
            key: serverKey)
        var eureka: EurekaInfoServer?
        if let port = configuration.httpPort {
            do {
                eureka = try await EurekaInfoServer(
                    host: configuration.host, port: port, information: machine.identity.eurekaInformation)
            } catch {
                logger.notice("no eureka_info: \(error)")
                note("httpPortTaken", ["port": .integer(port)])
            }
        }
        let web = eureka
        let (inputWriter, clock, player, streaming) = (inputWriter, clock, player, streaming)
        serving = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await server.run(inputWriter) }
                if let web { group.addTask { await web.run() } }
                group.addTask {
                    for await event in player.events { inputWriter.yield(.player(event)) }
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
        note("listening", ["port": .integer(server.port), "httpPort": web.map { .integer($0.port) } ?? .null])
        return (server.port, web?.port)
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
        for reader in readers.values { reader.finish() }
        readers = [:]
    }

    // MARK: What others see

    /// TXT of `_googlecast._tcp` as it is now.
    public var txtRecord: [String: String] { machine.identity.txtRecord(runningApp: machine.runningApp) }

    /// Everything that happens from now on.
    public func events() -> AsyncStream<SimulatedReceiverEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: SimulatedReceiverEvent.self)
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
        }
        record.heardFrames = await player.recordedFrames
        return record
    }

    // MARK: What people do at the device

    /// Somebody uses the remote control or the buttons of the device. 0 to 1.
    public func someoneTurnsVolume(to level: Double) { atTheDevice { machine, _ in machine.volumeTurned(to: level) } }

    /// Another sender launches an app that is not the media player.
    public func anotherAppTakesOver(name: String = "YouTube") {
        atTheDevice { machine, now in machine.anotherAppTakesOver(name: name, at: now) }
    }

    /// Somebody pauses or resumes with the device's remote control.
    public func someonePresses(play: Bool) {
        atTheDevice { machine, now in machine.changeMedia { $0.remoteControl(play: play, at: now) } }
    }

    /// The app dies.
    public func appCrashes() {
        atTheDevice { machine, now in
            machine.note("crashed")
            machine.stopApp(at: now)
            machine.broadcastStatus()
        }
    }

    /// The network of the device goes for a moment: all TCP connections end.
    public func dropConnections() { atTheDevice { machine, _ in machine.dropConnections() } }

    private func atTheDevice(_ deed: @escaping @Sendable (inout CastReceiverMachine, Int64) -> Void) {
        inputWriter.yield(.deed(deed))
    }

    // MARK: The loop

    private func handleInputs() async {
        for await input in inputs {
            if Task.isCancelled { return }
            await handle(input)
        }
    }

    private func handle(_ input: SimulatedCastInput) async {
        switch input {
        case .opened(let id, let writer):
            writers[id] = writer
            machine.opened(id, at: clock.now())
        case .message(let id, let message):
            if configuration.faults.answerDelay > .zero {
                let delay = configuration.faults.answerDelay.components
                try? await clock.sleep(
                    nanoseconds: delay.seconds * 1_000_000_000 + delay.attoseconds / 1_000_000_000)
            }
            machine.receive(message, on: id, at: clock.now())
        case .closed(let id):
            writers[id] = nil
            silenced.remove(id)
            machine.closed(id)
        case .player(let event):
            if case .fetched(let fetch) = event.kind { recordSoFar.fetches.append(fetch) }
            machine.receive(event, at: clock.now())
        case .happened(let word, let details): note(word, details)
        case .tick: machine.tick(at: clock.now())
        case .deed(let deed): deed(&machine, clock.now())
        }
        await perform(machine.takeActions())
    }

    private func perform(_ actions: [CastReceiverAction]) async {
        var joined: [Int: [UInt8]] = [:]
        for action in actions {
            switch action {
            case .send(let connection, let message): send(message, connection, &joined)
            case .authenticate(let connection, let asker, let payload):
                note("challenged", ["sender": .string(asker), "mode": .string(configuration.authentication.rawValue)])
                guard let answer = try? authenticator.answer(payload) else { continue }
                let message = CastMessage(
                    sourceID: CastAddress.platformReceiver, destinationID: asker,
                    namespace: CastNamespace.deviceAuthentication, payload: .binary(answer))
                send(message, connection, &joined)
            case .drop(let connection): writers[connection]?.close()
            case .player(let command): await command.carryOut(on: player)
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
        if recordSoFar.events.count >= SimulatedCastRecord.maximumEvents { recordSoFar.events.removeFirst(1_000) }
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
        case .load(let load, let generation): await player.load(load, generation: generation)
        case .seek(let position, let rate, let generation):
            await player.seek(to: position, rate: rate, generation: generation)
        case .play(let instant): await player.play(since: instant)
        case .halt(let instant): await player.halt(at: instant)
        case .stop: await player.stop()
        case .gain(let gain): await player.setGain(gain)
        }
    }
}
