import HomeKitPairing

/// An AirPlay 2 session with one receiver: climbs the ladder, then takes commands. Realtime audio goes its own way;
/// buffered audio by the writer that `openBuffered` gives.
///
/// The order of calls: `introduce`, requests of a pairing by `pair`, `encrypt`, `setUp`, then `start` with what flows.
/// A call out of order throws `wrongOrder`.
public actor AirPlay2Client {
    /// How to speak to this receiver.
    public struct Options: Sendable {
        public var clientName: String?
        /// 64 bits as 16 hex digits; nil: random.
        public var dacpID: String?
        /// What the receiver must say when it sends remote commands by DACP; nil: random.
        public var activeRemote: UInt32?
        /// How requests before the encryption are written.
        public var spelling: RTSPSpelling
        /// RECORD goes before the SETUP of the first stream. Samsung's TVs are silent otherwise.
        public var recordsFirst: Bool
        public var requestTimeout: Duration
        /// Waits; throws when the task is cancelled.
        public var sleep: @Sendable (Duration) async throws -> Void

        public init(
            clientName: String? = nil, dacpID: String? = nil, activeRemote: UInt32? = nil,
            spelling: RTSPSpelling = .rtsp, recordsFirst: Bool = true, requestTimeout: Duration = .seconds(10),
            sleep: @escaping @Sendable (Duration) async throws -> Void
        ) {
            self.clientName = clientName
            self.dacpID = dacpID
            self.activeRemote = activeRemote
            self.spelling = spelling
            self.recordsFirst = recordsFirst
            self.requestTimeout = requestTimeout
            self.sleep = sleep
        }
    }

    private enum Stage {
        case introduced(AirPlay2Introduced)
        case ready(AirPlay2SessionReady)
        case recording(AirPlay2Recording)
        case ended
    }

    /// Who is to take part in PTP, as the receiver wants to be told.
    public enum Peers: Sendable, Hashable {
        case addresses([String])
        /// For receivers with feature bit 52.
        case extended([AirPlay2TimingPeer])
    }

    /// Commands that wait to be read, at most; older ones are dropped.
    private static let maximumCommands = 64

    private let connection: RTSPConnection
    private let options: Options
    private let parameters: AirPlay2SessionParameters
    private var stage: Stage
    /// Of the pairing; nil where nothing is encrypted. Secret.
    private var secret: [UInt8]?
    private var events: Task<Void, Never>?
    private let commandSink: AsyncStream<AirPlay2Command>.Continuation

    /// What the receiver says of itself.
    public nonisolated let info: AirPlay2Info
    /// What the receiver asks on the event channel: buttons, changes of its volume. To be read once; ends with the
    /// session.
    public nonisolated let commands: AsyncStream<AirPlay2Command>
    public private(set) var eventChannel = AirPlay2EventChannelState.none
    /// Frames that the device adds by itself, as it said at RECORD; 0 before, and where it says nothing.
    public private(set) var audioLatency = 0

    /// The receiver's address, as a `sockaddr_in` or `sockaddr_in6`.
    public nonisolated var remoteSocketAddress: [UInt8] { connection.remoteSocketAddress }
    /// Numeric, without an IPv6 scope.
    public nonisolated var remoteHost: String { connection.remoteHost }
    public nonisolated var localHost: String { connection.localHost }
    /// As a receiver would say it by DACP.
    public nonisolated var dacpID: String { parameters.dacpID }
    public nonisolated var activeRemote: UInt32 { parameters.activeRemote }

    private init(
        connection: RTSPConnection, options: Options, parameters: AirPlay2SessionParameters,
        introduced: AirPlay2Introduced
    ) {
        self.connection = connection
        self.options = options
        self.parameters = parameters
        info = introduced.info
        stage = .introduced(introduced)
        (commands, commandSink) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.maximumCommands))
    }

    // MARK: The ladder

    /// Asks who is there, on a fresh connection. The connection is closed when it throws.
    public static func introduce(
        on connection: RTSPConnection, options: Options
    ) async throws(AirPlay2Error) -> AirPlay2Client {
        var generator = SystemRandomNumberGenerator()
        let name = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16, uppercase: true)
        let parameters = AirPlay2SessionParameters(
            sessionID: UInt32.random(in: 1 ... .max, using: &generator), senderAddress: connection.localHost,
            receiverAddress: connection.remoteHost,
            dacpID: options.dacpID ?? String(repeating: "0", count: 16 - name.count) + name,
            activeRemote: options.activeRemote ?? UInt32.random(in: 1 ... .max, using: &generator),
            clientName: options.clientName, spelling: options.spelling)
        do {
            let rung = AirPlay2Introduction(parameters).info
            let introduced = try rung.accept(
                try await perform(rung.request, on: connection, timeout: options.requestTimeout))
            return AirPlay2Client(
                connection: connection, options: options, parameters: parameters, introduced: introduced)
        } catch {
            await connection.close()
            throw error
        }
    }

    /// One request of a pairing, and its answer, of whatever status but 401.
    ///
    /// - Parameters:
    ///   - path: such as `/pair-verify`.
    ///   - hkp: what `X-Apple-HKP` says; nil: it is left out.
    public func pair(
        _ path: String, hkp: Int?, contentType: String?, body: [UInt8]
    ) async throws(AirPlay2Error) -> RTSPResponse {
        if case .ended = stage { throw .wrongOrder }
        let request =
            secret == nil
            ? parameters.pairingRequest(path, hkp: hkp, contentType: contentType, body: body)
            // What is encrypted is RTSP in any case.
            : parameters.inRTSP.pairingRequest(path, hkp: hkp, contentType: contentType, body: body)
        return try await Self.perform(
            request, on: connection, timeout: options.requestTimeout, holding: secret == nil)
    }

    /// Encrypts the connection from the byte behind the last answer of the pairing on. Call it once, before `setUp`.
    ///
    /// - Parameter secret: what the pairing gave: 32 bytes of pair-verify, 64 of the transient one.
    public func encrypt(_ secret: [UInt8]) async throws(AirPlay2Error) {
        guard case .introduced = stage, self.secret == nil else { throw .wrongOrder }
        self.secret = secret
        do { try await connection.encrypt(with: .control(secret)) } catch { throw .rtsp(error) }
    }

    /// The first SETUP; the event channel is opened behind it. Call it once.
    public func setUp(_ session: AirPlay2SessionSetup) async throws(AirPlay2Error) -> AirPlay2SessionAnswer {
        guard case .introduced(let introduced) = stage else { throw .wrongOrder }
        let ready = try await climb(introduced.admitted.setUp(session))
        stage = .ready(ready)
        if let port = ready.answer.eventPort { openEvents(port) }
        return ready.answer
    }

    /// RECORD, the peers and the SETUP of streams, in the order that this receiver wants. Later streams are set up by
    /// the same call.
    ///
    /// - Parameter peers: nil: without PTP.
    public func start(
        _ streams: [AirPlay2StreamSetup.Stream], peers: Peers? = nil
    ) async throws(AirPlay2Error) -> AirPlay2StreamAnswer {
        let setup = AirPlay2StreamSetup(streams)
        if case .ready(let ready) = stage {
            if options.recordsFirst {
                try await record(ready.record)
                if let peers { try await setPeers(peers) }
            } else {
                if let peers { try await setPeers(peers) }
                let stream = try await climb(ready.setUp(setup))
                try await record(stream.record)
                return stream.answer
            }
        } else if let peers {
            try await setPeers(peers)
        }
        guard case .recording(let recording) = stage else { throw .wrongOrder }
        return try await climb(recording.setUp(setup))
    }

    /// RECORD without a stream: for remote control only. Call it once.
    public func record() async throws(AirPlay2Error) {
        guard case .ready(let ready) = stage else { throw .wrongOrder }
        try await record(ready.record)
    }

    /// The key of an audio stream: the pairing's secret, as Apple's senders have it, or random bytes where there is none.
    public func streamKey() -> [UInt8] {
        if let secret, secret.count >= 32 { return Array(secret.prefix(32)) }
        return PairingCrypto.random(32)
    }

    /// The connection for a buffered stream.
    ///
    /// - Parameter port: `dataPort` of the stream's answer.
    public func openBuffered(port: Int) async throws(AirPlay2Error) -> BufferedAudioWriter {
        do { return try await BufferedAudioWriter.connect(beside: connection, port: port) } catch { throw .rtsp(error) }
    }

    /// The connection for a data stream, encrypted by keys of its own where the session is.
    ///
    /// - Parameters:
    ///   - port: `dataPort` of the stream's answer.
    ///   - seed: as the stream's SETUP said it.
    public func openData(port: Int, seed: UInt64) async throws(AirPlay2Error) -> ByteConnection {
        do {
            return try await ByteConnection.connect(
                beside: connection, port: port, keys: secret.map { .dataStream($0, seed: seed) }, timeout: .seconds(5))
        } catch {
            throw .rtsp(error)
        }
    }

    // MARK: Commands

    public func setPeers(_ peers: Peers) async throws(AirPlay2Error) {
        let requests = try requests()
        switch peers {
        case .addresses(let addresses): try await expect(requests.peers(AirPlay2PeerList(addresses)))
        case .extended(let peers): try await expect(requests.peers(AirPlay2ExtendedPeerList(peers)))
        }
    }

    /// The volume as the device says it, in the AirPlay number; nil where it doesn't say.
    public func volume() async throws(AirPlay2Error) -> Double? {
        let response = try await send(try requests().queryVolume())
        guard (200..<300).contains(response.status) else { return nil }
        return TextParameters(parsing: response.body).volume
    }

    /// Throws `notValidNow` where it comes too early for the receiver.
    ///
    /// - Parameter value: the AirPlay number: −144 mute, else −30 to 0.
    public func setVolume(_ value: Double) async throws(AirPlay2Error) {
        try await expect(try requests().volume(value))
    }

    /// Of a realtime stream; `next` is the packet to come.
    public func flush(_ next: RTPInfo) async throws(AirPlay2Error) { try await expect(try requests().flush(next)) }

    /// Of a buffered stream. Throws `rtsp(.refused)` with 400 while the receiver does not know our clock.
    public func setRateAnchor(_ anchor: AirPlay2RateAnchor) async throws(AirPlay2Error) {
        try await expect(try requests().rateAnchor(anchor))
    }

    /// Of a buffered stream.
    public func flushBuffered(_ flush: AirPlay2FlushBuffered) async throws(AirPlay2Error) {
        try await expect(try requests().flushBuffered(flush))
    }

    public func setMetadata(_ track: RAOPTrackMetadata, timestamp: UInt32) async throws(AirPlay2Error) {
        try await expect(try requests().metadata(track, timestamp: timestamp))
    }

    /// - Parameter bytes: a JPEG or PNG; empty takes the picture away.
    public func setArtwork(mimeType: String, bytes: [UInt8], timestamp: UInt32) async throws(AirPlay2Error) {
        try await expect(try requests().artwork(mimeType: mimeType, bytes: bytes, timestamp: timestamp))
    }

    /// In RTP time.
    public func setProgress(start: UInt32, now: UInt32, end: UInt32) async throws(AirPlay2Error) {
        try await expect(try requests().progress(start: start, now: now, end: end))
    }

    public func setAudioMode(_ mode: AirPlay2AudioMode) async throws(AirPlay2Error) {
        try await expect(try requests().audioMode(mode))
    }

    /// `POST /command`: what plays now.
    public func command(_ command: AirPlay2Command) async throws(AirPlay2Error) {
        try await expect(try requests().command(command))
    }

    /// The sign of life, every 2 s. Throws where there is no answer, or one that refuses; what it says of streams may be
    /// nothing.
    public func feedback(timeout: Duration = .seconds(6)) async throws(AirPlay2Error) -> AirPlay2Feedback? {
        let request = try requests().feedback()
        let response = try await Self.perform(request, on: connection, timeout: timeout)
        if let error = AirPlay2Error(method: request.method, response: response) { throw error }
        return try? AirPlay2Feedback(body: response.body)
    }

    /// Ends streams and keeps the session.
    public func tearDown(_ streams: [AirPlay2Teardown.Stream]) async throws(AirPlay2Error) {
        try await expect(try requests().teardown(AirPlay2Teardown(streams: streams)))
    }

    /// TEARDOWN, if there is anything to take down, and the end of all connections.
    public func end(timeout: Duration = .seconds(2)) async {
        if let requests = try? requests() {
            stage = .ended
            _ = try? await Self.perform(requests.teardown(), on: connection, timeout: timeout)
        }
        stage = .ended
        events?.cancel()
        await events?.value
        commandSink.finish()
        await connection.close()
    }

    /// Returns when the connection is gone, whoever closed it.
    public nonisolated func waitUntilClosed() async { await connection.waitUntilClosed() }

    /// Closes at once, without a word to the receiver. `end` is still to be called.
    public nonisolated func abort() { connection.abort() }

    // MARK: Inside

    private func openEvents(_ port: Int) {
        eventChannel = .connecting
        let channel = AirPlay2EventChannel(
            connection: connection, port: port, keys: secret.map { .events($0) }, sleep: options.sleep)
        let sink = commandSink
        events = Task { await channel.run(commands: sink) { await self.note($0) } }
    }

    private func note(_ state: AirPlay2EventChannelState) { eventChannel = state }

    private func record(_ rung: AirPlay2Rung<AirPlay2Recording>) async throws(AirPlay2Error) {
        let recording = try await climb(rung)
        audioLatency = recording.audioLatency
        stage = .recording(recording)
    }

    private func climb<Next: Sendable>(_ rung: AirPlay2Rung<Next>) async throws(AirPlay2Error) -> Next {
        let response = try await send(rung.request)
        if case .ended = stage { throw .rtsp(.closed) }
        return try rung.accept(response)
    }

    private func requests() throws(AirPlay2Error) -> AirPlay2SessionRequests {
        switch stage {
        case .ready(let ready): return ready.requests
        case .recording(let recording): return recording.requests
        case .introduced, .ended: throw .wrongOrder
        }
    }

    private func send(_ request: RTSPRequest) async throws(AirPlay2Error) -> RTSPResponse {
        try await Self.perform(request, on: connection, timeout: options.requestTimeout)
    }

    private func expect(_ request: RTSPRequest) async throws(AirPlay2Error) {
        if let error = AirPlay2Error(method: request.method, response: try await send(request)) { throw error }
    }

    private static func perform(
        _ request: RTSPRequest, on connection: RTSPConnection, timeout: Duration, holding: Bool = false
    ) async throws(AirPlay2Error) -> RTSPResponse {
        do {
            return try await connection.perform(request, timeout: timeout, holding: holding)
        } catch {
            throw .rtsp(error)
        }
    }
}
