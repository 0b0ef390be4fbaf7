import AirPlay
import CSodium
import Foundation
import Logging
import NIOCore
import RouteBackend

/// An AirPlay 1 (RAOP) speaker on a real socket, good enough for third-party senders.
///
/// It decrypts, orders, asks for what was lost, decodes, asks the sender's time and plays each frame at its due time of
/// the host's clock: into `NAME.wav`, 16-bit 44.1 kHz stereo without a break from the first frame heard, with silence for
/// what was lost and nothing for pauses. `NAME.ndjson` tells what happened; its `clock` lines say which frame of the
/// recording was heard at which time of the host's monotonic clock, so that rooms can be compared.
///
/// Its words for what happens, in `events` and journal: those of pairing (`PairingServerNews`), `listening`, `refusedConnection`, `connected`, `request`, `announce`, `record`,
/// `sound`, `clock`, `lost`, `volume`, `metadata`, `artwork`, `progress`, `flush`, `button`, `remote`, `teardown`, `disconnected`,
/// `stopped`.
public actor SimulatedRAOPReceiver {
    public nonisolated let configuration: SimulatedRAOPConfiguration
    /// As it is announced: `<12 hex digits>@<name>`.
    public nonisolated var serviceName: String { "\(configuration.hardwareID)@\(configuration.name)" }
    public nonisolated var txtRecord: [String: String] { configuration.txtRecord }

    private let clock: any HostClock
    private let logger: Logger
    private let browser: (any ServiceBrowsing)?
    /// How to tell the sender of a button.
    private var remote: SimulatedRemote?
    private var key: RAOPServerKey?
    private var recorder: WAVRecorder?
    private var journal: EventJournal?
    private var listener: Task<Void, Never>?
    private var connections: [Int: any Channel] = [:]
    private var seen = SimulatedRAOPRecord()
    private var volume: Double
    private var readers: [Int: AsyncStream<SimulatedReceiverEvent>.Continuation] = [:]
    private var nextReader = 0
    /// The connection whose sender plays, with the decoder of what it announced.
    private var owner: (connection: Int, decoder: RAOPPayloadDecoder)?
    private var book: PairingServerBook
    private var stream: RAOPStream?
    /// Whether the last tick brought sound.
    private var sounds = false

    /// - Parameter browser: finds senders that take commands by DACP; without it none do.
    public init(
        _ configuration: SimulatedRAOPConfiguration, browser: (any ServiceBrowsing)? = nil,
        clock: any HostClock = SystemHostClock(),
        logger: Logger = Logger(label: "router.simulated.raop") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
        self.browser = browser
        volume = configuration.initialVolume
        let book = PairingServerBook(name: configuration.name)
        self.book = PairingServerBook(
            identifier: book.identifier, key: book.key, controllers: configuration.controllers,
            legacyKeys: configuration.pairedKeys)
    }

    // MARK: Life

    /// Listens. Answers the port. Throws `SimulatedReceiverError`.
    public func start() async throws -> Int {
        if configuration.encryption.contains(.rsa), key == nil { key = try RAOPServerKey() }
        if let folder = configuration.recordingFolder {
            let file = folder.appending(
                path: (configuration.recordingName ?? configuration.name).replacing("/", with: "-"))
            recorder = try WAVRecorder(
                url: file.appendingPathExtension("wav"), sampleRate: RAOPPayloadDecoder.sampleRate,
                channels: RAOPPayloadDecoder.channels)
            journal = try EventJournal(url: file.appendingPathExtension("ndjson"), clock: clock)
        }
        let server = try await ClientListener<ByteBuffer, ByteBuffer>.bind(
            host: configuration.host, port: configuration.port)
        listener = Task { await server.run { client, _ in await self.serve(client) } }
        let port = server.port
        tell("listening", ["host": .string(configuration.host), "port": .integer(port)])
        return port
    }

    /// Hangs up on everybody and listens no more. The recording is whole when it returns.
    public func stop() async {
        listener?.cancel()
        await listener?.value
        listener = nil
        recorder?.close()
        recorder = nil
        tell("stopped")
        journal = nil
        for reader in readers.values { reader.finish() }
        readers = [:]
    }

    /// The modulus of its RSA key, big-endian, for a sender under test. Nil without RSA, or before `start`.
    public var rsaModulus: [UInt8]? { key?.modulus }

    /// What it saw and heard so far.
    public func record() -> SimulatedRAOPRecord { seen }

    /// Who has paired, and what its screen shows.
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

    /// Somebody presses a button; the sender is told by DACP. False where it does not announce itself, or does not do it.
    @discardableResult
    public func press(_ button: SimulatedAirPlayButton) async -> Bool {
        guard let remote, let browser else { return false }
        tell("button", ["button": .string(button.rawValue)])
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
        do {
            try await client.executeThenClose { inbound, outbound in
                // pyatv takes the session for a decimal number.
                var machine = RAOPServerMachine(
                    configuration, nonce: Self.randomHex(bytes: 16), session: String(UInt32.random(in: 1 ... .max)))
                defer { machine.end(in: &book) }
                let decoder = RTSPMessageDecoder()
                var buffer: [UInt8] = []
                for try await chunk in inbound {
                    buffer.append(contentsOf: chunk.readableBytesView)
                    while let (message, used) = try decoder.decode(buffer[...]) {
                        buffer.removeFirst(used)
                        guard case .request(let request) = message else { continue }
                        let answer = await answer(request, by: &machine, connection: id, channel: client.channel)
                        if let response = answer.response {
                            try await outbound.write(ByteBuffer(bytes: response.encoded()))
                        }
                        if answer.closes { return }
                    }
                }
            }
        } catch {
            if !(error is CancellationError) { logger.debug("connection ended: \(error)") }
        }
        connections[id] = nil
        await endStream(of: id)
        tell("disconnected")
    }

    private func answer(
        _ request: RTSPRequest, by machine: inout RAOPServerMachine, connection: Int, channel: any Channel
    ) async -> RAOPServerMachine.Answer {
        let path = ["GET", "POST", "PUT"].contains(request.method) ? " \(request.uri)" : ""
        if let given = SimulatedRemote(request) { remote = given }
        seen.requests.append(request.method + path)
        tell("request", ["method": .string(request.method + path)])
        if let (answer, news) = machine.pair(request, in: &book, at: clock.now()) {
            for event in news.map(\.event) { tell(event.word, event.details) }
            return answer
        }
        let key = key
        let hardwareID = configuration.hardwareID
        let address = channel.localAddress?.ipAddress
        var answer = machine.answer(
            request,
            RAOPServerMachine.Surroundings(
                isTaken: owner.map { $0.connection != connection } ?? false, volume: volume,
                signature: { challenge in
                    key?.sign(Self.challengeMessage(challenge, address: address, hardwareID: hardwareID))
                },
                publicKey: Self.freshPublicKey, refusal: { Self.refusal(of: $0, key: key) }))
        for deed in answer.deeds {
            do {
                try await perform(deed, by: &machine, &answer, connection: connection, channel: channel)
            } catch {
                logger.warning("a stream can't be set up: \(error)")
                answer.response = RTSPResponse(status: 500, reason: "Internal Server Error")
            }
        }
        if configuration.faults.answerDelay > 0 {
            try? await clock.sleep(nanoseconds: Int64(configuration.faults.answerDelay * 1e9))
        }
        return answer
    }

    private func perform(
        _ deed: RAOPServerMachine.Deed, by machine: inout RAOPServerMachine,
        _ answer: inout RAOPServerMachine.Answer, connection: Int, channel: any Channel
    ) async throws {
        switch deed {
        case .announce(let description): try announce(description, connection)
        case .setUp(let control, let timing):
            let ports = try await setUp(connection, channel, control: control, timing: timing)
            answer.response?.headers["Transport"] = machine.transportHeader(ports)
        case .record(let info):
            stream?.expect(info)
            stream?.recordedAt = clock.now()
            tell("record")
        case .flush(let info):
            // What was heard until now was heard.
            tick(connection)
            stream?.flush(info)
            sounds = false
            seen.flushes.append(SimulatedRAOPRecord.Flush(sequence: info.sequence, rtpTime: info.timestamp))
            tell("flush")
        case .take(let parameter): take(parameter)
        case .tearDown:
            seen.teardowns += 1
            await endStream(of: connection)
            tell("teardown")
        case .authenticationSetUp:
            machine.passAuthenticationSetUp()
            seen.authenticationSetups += 1
        case .challenged: seen.challenges += 1
        case .wasBusy: seen.busyAnswers += 1
        }
    }

    private func take(_ parameter: SenderParameter) {
        if case .volume(let volume) = parameter { self.volume = volume }
        seen.take(parameter)
        let news = parameter.news
        tell(news.word, news.details)
    }

    private func announce(_ description: RAOPSessionDescription, _ connection: Int) throws {
        owner = (connection, try RAOPPayloadDecoder(description, key: key))
        let codec: SimulatedRAOPRecord.Codec =
            switch description.codec {
            case .l16: .pcm
            case .appleLossless: .appleLossless
            }
        seen.announcements.append(
            SimulatedRAOPRecord.Announcement(codec: codec, isEncrypted: description.encryption != nil))
        tell(
            "announce", ["codec": .string(codec.rawValue), "encrypted": .bool(description.encryption != nil)])
    }

    private func setUp(
        _ connection: Int, _ channel: any Channel, control: Int?, timing: Int?
    ) async throws -> RTSPTransport {
        guard let owner, owner.connection == connection else { throw ChannelError.inappropriateOperationForState }
        let ports = try RAOPDatagramPorts.open(host: configuration.host, clock: clock)
        let sender = channel.remoteAddress?.ipAddress ?? ""
        func address(_ port: Int?) -> SocketAddress? {
            guard let port, port > 0 else { return nil }
            return try? SocketAddress(ipAddress: sender, port: port)
        }
        let stream = RAOPStream(
            connection: connection, ports: ports, decoder: owner.decoder, configuration: configuration,
            controlAddress: address(control), timingAddress: address(timing), firstFrame: seen.renderedFrames)
        self.stream = stream
        stream.task = Task { await self.play(connection, ports) }
        return RTSPTransport(
            serverPort: ports.audioPort, controlPort: ports.controlPort, timingPort: ports.timingPort)
    }

    private func endStream(of connection: Int) async {
        if owner?.connection == connection { owner = nil }
        guard let ending = stream, ending.connection == connection else { return }
        tick(connection)
        stream = nil
        sounds = false
        await ending.ports.close()
        ending.task?.cancel()
        await ending.task?.value
    }

    // MARK: Sound

    private func play(_ connection: Int, _ ports: RAOPDatagramPorts) async {
        let clock = clock
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await packet in ports.packets { await self.take(packet, connection) }
            }
            group.addTask {
                while (try? await clock.sleep(nanoseconds: 10_000_000)) != nil { await self.tick(connection) }
            }
            group.addTask {
                // Apart from the sound: a sender that is looked for by mDNS takes its time.
                while (try? await clock.sleep(nanoseconds: 50_000_000)) != nil {
                    await self.pressDueButtons(connection)
                }
            }
        }
    }

    private func pressDueButtons(_ connection: Int) async {
        guard let stream, stream.connection == connection, let recordedAt = stream.recordedAt else { return }
        let elapsed = Double(clock.now() - recordedAt) / 1e9
        for button in stream.takeButtons(until: elapsed) { await press(button) }
    }

    private func take(_ packet: RAOPDatagramPorts.Packet, _ connection: Int) {
        guard let stream, stream.connection == connection else { return }
        stream.take(packet, &seen)
    }

    private func tick(_ connection: Int) {
        guard let stream, stream.connection == connection else { return }
        let now = clock.now()
        let rendering = stream.tick(at: now, &seen)
        if !rendering.samples.isEmpty {
            recorder?.append(rendering.samples)
            seen.renderedFrames += rendering.samples.count / 2
            seen.lostFrames += rendering.lostFrames
        }
        for mark in rendering.marks {
            let fields: [String: JSONValue] = [
                "frame": .integer(mark.frame), "rtp": .integer(Int(mark.rtpTime)),
                "heard_ns": .integer(Int(mark.hostNanoseconds)),
            ]
            if !sounds { tell("sound", fields) }
            sounds = true
            seen.clockMarks.append(
                SimulatedRAOPRecord.ClockMark(
                    frame: mark.frame, rtpTime: mark.rtpTime, hostNanoseconds: mark.hostNanoseconds))
            tell("clock", fields)
        }
        if rendering.lostFrames > 0 { tell("lost", ["frames": .integer(rendering.lostFrames)]) }
        if let limit = configuration.faults.closesAfterSeconds, let recordedAt = stream.recordedAt,
            now - recordedAt > Int64(limit * 1e9)
        {
            stream.recordedAt = nil
            dropConnections()
        }
    }

    private func tell(_ word: String, _ details: [String: JSONValue] = [:]) {
        journal?.append(word, details)
        guard !readers.isEmpty else { return }
        let event = SimulatedReceiverEvent(word, at: clock.now(), details)
        for (id, reader) in readers {
            if case .terminated = reader.yield(event) { readers[id] = nil }
        }
    }

    // MARK: Cryptography

    /// What an answer to `Apple-Challenge` signs: challenge, own address and hardware address, filled up to 32 bytes.
    private static func challengeMessage(_ challenge: [UInt8], address: String?, hardwareID: String) -> [UInt8] {
        var message = challenge
        var numeric = [UInt8](repeating: 0, count: 16)
        if let address, inet_pton(AF_INET, address, &numeric) == 1 {
            message += numeric.prefix(4)
        } else if let address, inet_pton(AF_INET6, address, &numeric) == 1 {
            message += numeric
        }
        var digits = Substring(hardwareID)
        while digits.count >= 2 {
            message.append(UInt8(digits.prefix(2), radix: 16) ?? 0)
            digits = digits.dropFirst(2)
        }
        return message + [UInt8](repeating: 0, count: max(0, 32 - message.count))
    }

    private static func freshPublicKey() -> [UInt8] {
        var secret = [UInt8](repeating: 0, count: 32)
        randombytes_buf(&secret, secret.count)
        var key = [UInt8](repeating: 0, count: 32)
        crypto_scalarmult_base(&key, secret)
        return key
    }

    private static func refusal(of description: RAOPSessionDescription, key: RAOPServerKey?) -> Int? {
        do throws(RAOPPayloadDecoder.Failure) {
            _ = try RAOPPayloadDecoder(description, key: key)
            return nil
        } catch {
            switch error {
            case .unsupportedFormat: return 415
            case .foreignKey: return 406
            }
        }
    }

    private static func randomHex(bytes count: Int) -> String {
        (0..<count).map { _ in
            let digits = String(UInt8.random(in: 0...255), radix: 16, uppercase: true)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
