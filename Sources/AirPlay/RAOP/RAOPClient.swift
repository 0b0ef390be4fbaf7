/// A RAOP session with one receiver: climbs the ladder, then takes commands. One connection; audio goes its own way.
public actor RAOPClient {
    /// What to ask for.
    public struct Options: Sendable {
        public var codec: RAOPSessionDescription.Codec
        /// Hides the audio; nil: in the clear.
        public var cipher: RAOPAudioCipher?
        /// Whom the cipher's key is wrapped for.
        public var publicKey: RAOPPublicKey
        public var needsAuthSetup: Bool
        public var clientName: String?
        public var requestTimeout: Duration
        /// Where the receiver's remote commands are to go, and by what name; nil: nowhere, under a random one.
        public var remote: DACPAddress?

        public init(
            codec: RAOPSessionDescription.Codec, cipher: RAOPAudioCipher? = nil,
            publicKey: RAOPPublicKey = .airPortExpress, needsAuthSetup: Bool = false, clientName: String? = nil,
            requestTimeout: Duration = .seconds(10), remote: DACPAddress? = nil
        ) {
            self.codec = codec
            self.cipher = cipher
            self.publicKey = publicKey
            self.needsAuthSetup = needsAuthSetup
            self.clientName = clientName
            self.requestTimeout = requestTimeout
            self.remote = remote
        }
    }

    private enum Stage {
        case announced(RAOPAnnounced)
        case ready(RAOPReady)
        case recording(RAOPRecording)
        case ended
    }

    private let connection: RTSPConnection
    private let options: Options
    private var stage: Stage

    /// The receiver's address, as a `sockaddr_in` or `sockaddr_in6`.
    public nonisolated var remoteSocketAddress: [UInt8] { connection.remoteSocketAddress }

    private init(connection: RTSPConnection, options: Options, announced: RAOPAnnounced) {
        self.connection = connection
        self.options = options
        stage = .announced(announced)
    }

    /// Goes as far as ANNOUNCE on a fresh connection. Throws `RAOPError`; the connection is closed then.
    public static func announce(on connection: RTSPConnection, options: Options) async throws(RAOPError) -> RAOPClient {
        do {
            let announced = try await climb(on: connection, options: options)
            return RAOPClient(connection: connection, options: options, announced: announced)
        } catch {
            await connection.close()
            throw error
        }
    }

    private static func climb(on connection: RTSPConnection, options: Options) async throws(RAOPError) -> RAOPAnnounced
    {
        var generator = SystemRandomNumberGenerator()
        var encryption: RAOPSessionDescription.RSAEncryption?
        if let cipher = options.cipher {
            guard let wrapped = cipher.wrapped(for: options.publicKey) else { throw .encryptionFailed }
            encryption = wrapped
        }
        let remote = options.remote ?? DACPAddress.random()
        let parameters = RAOPSessionParameters(
            sessionID: UInt32.random(in: 1 ... .max, using: &generator), senderAddress: connection.localHost,
            receiverAddress: connection.remoteHost, codec: options.codec, encryption: encryption,
            needsAuthSetup: options.needsAuthSetup,
            dacpID: remote.dacpID, activeRemote: remote.activeRemote, clientName: options.clientName)
        let introduction = RAOPIntroduction(
            parameters, challenge: (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
        let timeout = options.requestTimeout
        let announcement: RAOPAnnouncement
        switch try introduction.accept(await connection.perform(introduction.request, timeout: timeout)) {
        case .announcement(let next): announcement = next
        case .authSetup(let step):
            announcement = step.accept(try await connection.perform(step.request, timeout: timeout))
        }
        return try announcement.accept(await connection.perform(announcement.request, timeout: timeout))
    }

    /// SETUP with our UDP ports. Call it once.
    public func setUp(controlPort: Int, timingPort: Int) async throws(RAOPError) -> RAOPPorts {
        guard case .announced(let announced) = stage else { throw .closed }
        let step = announced.setup(controlPort: controlPort, timingPort: timingPort)
        let ready = try step.accept(await connection.perform(step.request, timeout: options.requestTimeout))
        stage = .ready(ready)
        return ready.ports
    }

    /// RECORD with the first packet to come. Call it once, after `setUp`.
    ///
    /// - Returns: the frames of latency that the device adds by itself.
    public func record(sequence: UInt16, timestamp: UInt32) async throws(RAOPError) -> Int {
        guard case .ready(let ready) = stage else { throw .closed }
        let step = ready.record(sequence: sequence, timestamp: timestamp)
        let recording = try step.accept(await connection.perform(step.request, timeout: options.requestTimeout))
        stage = .recording(recording)
        return recording.audioLatency
    }

    /// The volume as the device says it, in the AirPlay number; nil where it doesn't say.
    public func volume() async throws(RAOPError) -> Double? {
        let response = try await send(try requests().queryVolume())
        guard (200..<300).contains(response.status) else { return nil }
        return TextParameters(parsing: response.body).volume
    }

    /// - Parameter value: the AirPlay number: −144 mute, else −30 to 0.
    public func setVolume(_ value: Double) async throws(RAOPError) { try await expect(try requests().volume(value)) }

    /// FLUSH; `next` is the packet to come.
    public func flush(_ next: RTPInfo) async throws(RAOPError) { try await expect(try recording().flush(next)) }

    public func setMetadata(_ track: RAOPTrackMetadata, timestamp: UInt32) async throws(RAOPError) {
        try await expect(try recording().metadata(track, timestamp: timestamp))
    }

    /// - Parameter bytes: a JPEG or PNG; empty takes the picture away.
    public func setArtwork(mimeType: String, bytes: [UInt8], timestamp: UInt32) async throws(RAOPError) {
        let type = bytes.isEmpty ? "image/none" : mimeType
        try await expect(try recording().artwork(mimeType: type, bytes: bytes, timestamp: timestamp))
    }

    /// In RTP time.
    public func setProgress(start: UInt32, now: UInt32, end: UInt32) async throws(RAOPError) {
        try await expect(try recording().progress(start: start, now: now, end: end))
    }

    /// A sign of life, whatever is answered. Throws when there is no answer.
    public func keepAlive(feedback: Bool, timeout: Duration) async throws(RAOPError) {
        let requests = try requests()
        _ = try await connection.perform(feedback ? requests.feedback() : requests.keepAlive(), timeout: timeout)
    }

    /// TEARDOWN, if there is anything to take down, and the end of the connection.
    public func end(timeout: Duration = .seconds(2)) async {
        if let requests = try? requests() {
            stage = .ended
            _ = try? await connection.perform(requests.teardown(), timeout: timeout)
        }
        stage = .ended
        await connection.close()
    }

    /// Returns when the connection is gone, whoever closed it.
    public nonisolated func waitUntilClosed() async { await connection.waitUntilClosed() }

    /// Closes at once, without a word to the receiver.
    public nonisolated func abort() { connection.abort() }

    private func requests() throws(RAOPError) -> RAOPSessionRequests {
        switch stage {
        case .ready(let ready): return ready.requests
        case .recording(let recording): return recording.requests
        case .announced, .ended: throw .closed
        }
    }

    private func recording() throws(RAOPError) -> RAOPRecording {
        guard case .recording(let recording) = stage else { throw .closed }
        return recording
    }

    private func send(_ request: RTSPRequest) async throws(RAOPError) -> RTSPResponse {
        try await connection.perform(request, timeout: options.requestTimeout)
    }

    private func expect(_ request: RTSPRequest) async throws(RAOPError) {
        if let error = RAOPError(method: request.method, response: try await send(request)) { throw error }
    }
}
