import AirPlay
import Foundation
import HomeKitPairing
import Logging
import NIOCore
import RouteBackend

/// An AirPlay 2 receiver on a real socket, good enough for third-party senders.
///
/// It lets senders pair, decrypts, orders, asks for what was lost, decodes, follows the sender's clock by NTP or PTP and
/// plays each frame of a realtime or buffered stream at its due time of the host's clock: into `NAME.wav`, without a
/// break from the first frame heard, with silence for what was lost and nothing for pauses. Where a stream has another
/// rate or depth than the one before, the recording goes on in `NAME-2.wav`. `NAME.ndjson` tells what happened; its
/// `clock` lines say which frame of the recording was heard at which time of the host's monotonic clock, so that rooms
/// can be compared.
///
/// Its words for what happens, in `events` and journal: `listening`, `refusedConnection`, `connected`, `request`,
/// those of pairing (`PairingServerNews`), `noPTP`, `session`, `stream`, `eventConnected`, `eventAnswered`, `record`, `peers`, `sound`, `clock`,
/// `lost`, `anchor`, `flush`, `flushBuffered`, `volume`, `metadata`, `artwork`, `progress`, `command`, `button`, `remote`, `teardown`,
/// `disconnected`, `stopped`.
public actor SimulatedAirPlay2Receiver {
    /// What it was made to be. Where PTP's ports are not to be had it does without PTP, if it may.
    public nonisolated let configuration: SimulatedAirPlay2Configuration
    /// As its `_raop._tcp` record is announced; the other has the friendly name.
    public nonisolated var raopServiceName: String { "\(configuration.hardwareID)@\(configuration.name)" }
    /// Of `_airplay._tcp` and `_raop._tcp`, as they are from `start` on.
    public var airPlayRecord: [String: String] { effective.airPlayRecord(book) }
    public var raopRecord: [String: String] { effective.raopRecord(book) }
    /// Why it does without PTP; nil where it does not, or was told to.
    public private(set) var missesPTP: String?

    /// What it is indeed.
    private var effective: SimulatedAirPlay2Configuration
    /// Follows grandmasters; nil without PTP.
    private(set) var slave: PTPSlave?
    let clock: any HostClock
    let logger: Logger
    private let browser: (any ServiceBrowsing)?
    /// How to tell the sender of a button.
    private var remote: SimulatedRemote?
    var book: PairingServerBook
    var seen = SimulatedAirPlay2Record()
    var volume: Double
    /// The one that plays.
    var session: AirPlay2Session?
    /// Those of remote control alone, by their connections.
    var controls: [Int: AirPlay2Session] = [:]
    /// What was at the end of the data stream that ended last.
    var lastSpeaker: (any SimulatedDataSpeaker)?
    private var connections: [Int: any Channel] = [:]
    /// Controllers by their connections, so that a removed one is hung up on.
    private var controllers: [Int: String] = [:]
    private var listener: Task<Void, Never>?
    private var recorder: WAVRecorder?
    private var journal: EventJournal?
    private var readers: [Int: AsyncStream<SimulatedReceiverEvent>.Continuation] = [:]
    private var nextReader = 0
    /// Rate and depth of the recording.
    private var recorded: (sampleRate: Int, bitDepth: Int)?
    /// Frames in it.
    private(set) var recordedFrames = 0

    /// - Parameters:
    ///   - book: who is paired; nil makes one of the receiver's name, with the controllers of the configuration.
    ///   - browser: finds senders that take commands by DACP; without it none do.
    public init(
        _ configuration: SimulatedAirPlay2Configuration, book: PairingServerBook? = nil,
        browser: (any ServiceBrowsing)? = nil, clock: any HostClock = SystemHostClock(),
        logger: Logger = Logger(label: "router.simulated.airplay2") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.configuration = configuration
        effective = configuration
        self.clock = clock
        self.logger = logger
        self.browser = browser
        var identity = book ?? PairingServerBook(name: configuration.name)
        for controller in configuration.controllers { identity.add(controller) }
        self.book = identity
        volume = configuration.initialVolume
    }

    // MARK: Life

    /// Listens. Answers the port. Throws `SimulatedReceiverError`.
    public func start() async throws -> Int {
        if let file = recordingFile {
            journal = try EventJournal(url: file.appendingPathExtension("ndjson"), clock: clock)
            // There from the start, also where nothing is ever heard.
            try openRecorder(sampleRate: 44_100, bitDepth: 16)
        }
        try await startSlave()
        let server = try await ClientListener<ByteBuffer, ByteBuffer>.bind(
            host: configuration.host, port: configuration.port)
        listener = Task { await server.run { client, _ in await self.serve(client) } }
        let port = server.port
        tell("listening", ["host": .string(configuration.host), "port": .integer(port)])
        return port
    }

    private func startSlave() async throws {
        guard configuration.timing.contains(.ptp) else { return }
        let slave = PTPSlave(configuration.slave, clock: clock)
        do {
            try await slave.start()
            self.slave = slave
        } catch let error as SimulatedReceiverError {
            guard configuration.timing.contains(.ntp) else { throw error }
            effective.timing.remove(.ptp)
            missesPTP = "\(error)"
            tell("noPTP", ["reason": .string("\(error)")])
        }
    }

    /// Hangs up on everybody and listens no more. The recording is whole when it returns.
    public func stop() async {
        listener?.cancel()
        await listener?.value
        listener = nil
        await slave?.stop()
        slave = nil
        recorder?.close()
        recorder = nil
        tell("stopped")
        journal = nil
        for reader in readers.values { reader.finish() }
        readers = [:]
    }

    /// What it saw and heard so far.
    public func record() -> SimulatedAirPlay2Record { seen }

    /// Who is paired, and what the screen shows.
    public func pairings() -> PairingServerBook { book }

    /// What happens from now on; ends with `stop`.
    public func events() -> AsyncStream<SimulatedReceiverEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: SimulatedReceiverEvent.self)
        let id = nextReader
        nextReader += 1
        readers[id] = continuation
        return stream
    }

    // MARK: Verbs

    /// The network drops every connection, in the middle of whatever goes on.
    public func dropConnections() {
        for channel in connections.values { channel.close(promise: nil) }
    }

    /// Somebody turns the knob: it is what GET_PARAMETER answers from now on.
    /// - Parameter volume: −30 to 0, or −144 for mute.
    public func turnKnob(to volume: Double) { self.volume = volume }

    /// Somebody presses a button. It goes out on the event channel, or by DACP where no sender is connected to that or
    /// the button has no word there. False where neither way leads to the sender.
    @discardableResult
    public func press(_ button: SimulatedAirPlayButton) async -> Bool {
        guard let session = session ?? controls.min(by: { $0.key < $1.key })?.value else { return false }
        tell("button", ["button": .string(button.rawValue)])
        if let value = button.eventValue {
            let list = PropertyList.dictionary(["type": .string("sendMediaRemoteCommand"), "value": .string(value)])
            if await session.events.send(list) { return true }
        }
        guard let remote, let browser else { return false }
        let outcome = await remote.press(button.remoteCommand, browser: browser, clock: clock)
        if case .answered(let status) = outcome { seen.remoteAnswers.append(status) }
        tell("remote", ["outcome": .string("\(outcome)")])
        return outcome.isTaken
    }

    // MARK: Connections

    private func serve(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async {
        if configuration.faults.refusesConnections {
            tell("refusedConnection")
            try? await client.executeThenClose { _, _ in }
            return
        }
        let id = seen.connections
        seen.connections += 1
        connections[id] = client.channel
        tell("connected", ["sender": .string(client.channel.remoteAddress?.ipAddress ?? "")])
        var connection = AirPlay2Connection(
            id: id, channel: client.channel,
            machine: AirPlay2ServerMachine(effective, nonce: Self.randomHex(bytes: 16)),
            pairing: PairingServer(configuration.pairing))
        do {
            try await client.executeThenClose { inbound, outbound in
                let decoder = RTSPMessageDecoder()
                for try await chunk in inbound {
                    try connection.bytes.receive(chunk.readableBytesView)
                    while let (message, used) = try decoder.decode(connection.bytes.readable) {
                        connection.bytes.consume(used)
                        guard case .request(let request) = message else { continue }
                        let answer = await answer(request, &connection)
                        if let response = answer.response {
                            try await outbound.write(ByteBuffer(bytes: connection.bytes.seal(response.encoded())))
                        }
                        if answer.closes { return }
                        try connection.encryptIfAgreed()
                    }
                }
            }
        } catch {
            if !(error is CancellationError) { logger.debug("connection ended: \(error)") }
        }
        connection.pairing.end(in: &book)
        connections[id] = nil
        controllers[id] = nil
        await endSession(of: id)
        tell("disconnected")
    }

    private func answer(
        _ request: RTSPRequest, _ connection: inout AirPlay2Connection
    ) async -> AirPlay2ServerMachine.Answer {
        let path = AirPlay2ServerMachine.path(request.uri)
        let name = ["GET", "POST", "PUT"].contains(request.method) ? "\(request.method) \(path)" : request.method
        seen.requests.append(name)
        tell("request", ["method": .string(name)])
        if connection.machine.countsAsLast() { return .init(response: nil, closes: true) }
        var answer =
            request.method == "POST" && PairingServer.paths.contains(path)
            ? pair(request, path, &connection) : await perform(request, &connection)
        if var response = answer.response {
            connection.machine.finish(&response, to: request)
            answer.response = response
            if response.status != 200 { seen.refusals.append("\(name) \(response.status)") }
        }
        if configuration.faults.neverAnswers { answer.response = nil }
        if configuration.faults.answerDelay > 0 {
            try? await clock.sleep(nanoseconds: Int64(configuration.faults.answerDelay * 1e9))
        }
        return answer
    }

    private func pair(
        _ request: RTSPRequest, _ path: String, _ connection: inout AirPlay2Connection
    ) -> AirPlay2ServerMachine.Answer {
        let faults = configuration.faults
        if let status = faults.refusals[request.method] ?? faults.refusals[path] {
            return .init(response: ReceiverAnswer.refusal(status))
        }
        if let spelling = faults.spelling, connection.secret == nil, request.version != spelling.version {
            return .init(response: ReceiverAnswer.refusal(400))
        }
        let pairing = connection.pairing.answer(
            path: path, headers: request.headers, body: request.body, in: &book, at: clock.now())
        for news in pairing.news {
            let event = news.event
            tell(event.word, event.details)
            if case .removed(let gone) = news { hangUp(on: gone, but: connection.id) }
        }
        if case .controller(let identifier, _) = connection.pairing.standing { controllers[connection.id] = identifier }
        connection.agreed = pairing.secretEstablished
        switch pairing.delivery {
        case .send:
            return .init(
                response: RTSPResponse(
                    status: pairing.status, reason: pairing.reason, headers: pairing.headers, body: pairing.body))
        case .never: return .init(response: nil)
        case .hangUp: return .init(response: nil, closes: true)
        }
    }

    private func hangUp(on gone: [String], but connection: Int) {
        for (id, controller) in controllers where gone.contains(controller) && id != connection {
            connections[id]?.close(promise: nil)
        }
    }

    private func perform(
        _ request: RTSPRequest, _ connection: inout AirPlay2Connection
    ) async -> AirPlay2ServerMachine.Answer {
        let now = clock.now()
        if let given = SimulatedRemote(request) { remote = given }
        var answer = connection.machine.answer(
            request,
            AirPlay2ServerMachine.Surroundings(
                isTaken: session.map { $0.connection != connection.id } ?? false, volume: volume,
                knowsTheTime: session?.clock.offset(at: now) != nil, refusal: connection.pairing.refusal,
                information: { [effective, book, volume] withRecord in
                    let record = withRecord ? effective.airPlayRecord(book) : nil
                    return effective.information(book, volume: volume, record: record)
                }))
        for deed in answer.deeds {
            do {
                try await perform(deed, &connection, &answer)
            } catch {
                logger.warning("a stream can't be set up: \(error)")
                answer.response = ReceiverAnswer.refusal(500)
            }
        }
        return answer
    }

    // MARK: Telling

    func tell(_ word: String, _ details: [String: JSONValue] = [:]) {
        journal?.append(word, details)
        guard !readers.isEmpty else { return }
        let event = SimulatedReceiverEvent(word, at: clock.now(), details)
        for (id, reader) in readers {
            if case .terminated = reader.yield(event) { readers[id] = nil }
        }
    }

    // MARK: Recording

    private var recordingFile: URL? {
        configuration.recordingFolder?.appending(
            path: (configuration.recordingName ?? configuration.name).replacing("/", with: "-"))
    }

    private func openRecorder(sampleRate: Int, bitDepth: Int) throws {
        recorded = (sampleRate, bitDepth)
        recordedFrames = 0
        guard let file = recordingFile else { return }
        let isFirst = seen.recordings.isEmpty || recorder?.frames == 0 && seen.recordings.count == 1
        if isFirst { seen.recordings = [] }
        let number = seen.recordings.count + 1
        let url =
            number == 1 ? file : file.deletingLastPathComponent().appending(path: "\(file.lastPathComponent)-\(number)")
        recorder?.close()
        recorder = try WAVRecorder(
            url: url.appendingPathExtension("wav"), sampleRate: sampleRate, channels: 2, bitDepth: bitDepth)
        seen.recordings.append(url.appendingPathExtension("wav").path)
    }

    /// Another file where the sound is another. The file stays where it is the same.
    func prepareRecording(_ format: AirPlay2SoundFormat) throws {
        if let recorded, recorded == (format.sampleRate, format.bitDepth) { return }
        try openRecorder(sampleRate: format.sampleRate, bitDepth: format.bitDepth)
    }

    func keep(_ rendering: FrameRendering<Int32>) {
        guard !rendering.samples.isEmpty else { return }
        recorder?.append(rendering.samples)
        recordedFrames += rendering.samples.count / 2
        seen.renderedFrames += rendering.samples.count / 2
        seen.lostFrames += rendering.lostFrames
    }

    private static func randomHex(bytes count: Int) -> String {
        PairingCrypto.random(count).map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    }
}

/// What belongs to one connection of a sender.
struct AirPlay2Connection {
    let id: Int
    let channel: any Channel
    var machine: AirPlay2ServerMachine
    var pairing: PairingServer
    var bytes = EncryptedByteStream(.accessory)
    /// What the keys are made of; nil in the clear. Secret.
    private(set) var secret: [UInt8]?
    /// A secret that holds from the next byte on.
    var agreed: [UInt8]?

    init(id: Int, channel: any Channel, machine: AirPlay2ServerMachine, pairing: PairingServer) {
        self.id = id
        self.channel = channel
        self.machine = machine
        self.pairing = pairing
    }

    /// The answer is written, so what comes now is under the keys, also bytes that were read already.
    mutating func encryptIfAgreed() throws(FrameError) {
        guard let agreed else { return }
        self.agreed = nil
        secret = agreed
        try bytes.encrypt(with: .control(agreed))
    }
}
