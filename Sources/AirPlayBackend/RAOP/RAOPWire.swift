import AirPlay
import RouteModel

/// AirPlay 1 beneath a session.
actor RAOPWire: AirPlayWire {
    private let client: RAOPClient
    private let endpoint: Endpoint
    /// Frames the device adds; nil before RECORD.
    private var audioLatency: Int?

    init(client: RAOPClient, endpoint: Endpoint) {
        self.client = client
        self.endpoint = endpoint
    }

    func prepare(_ next: PacketPoint) async throws(AirPlayWireError) -> Int {
        if let audioLatency { return audioLatency }
        let latency = try await call { client async throws(RAOPError) in
            try await client.record(
                sequence: UInt16(truncatingIfNeeded: next.sequence), timestamp: next.timestamp)
        }
        audioLatency = latency
        return latency
    }

    func begin(_ clock: RAOPStreamClock) {}

    func flush(_ next: PacketPoint) async throws(AirPlayWireError) {
        try await call { client async throws(RAOPError) in try await client.flush(next.info) }
    }

    func volume() async throws(AirPlayWireError) -> Double? {
        try await call { client async throws(RAOPError) in try await client.volume() }
    }

    func setVolume(_ value: Double) async throws(AirPlayWireError) {
        try await call { client async throws(RAOPError) in try await client.setVolume(value) }
    }

    func setMetadata(_ track: RAOPTrackMetadata, timestamp: UInt32) async throws(AirPlayWireError) {
        try await call { client async throws(RAOPError) in try await client.setMetadata(track, timestamp: timestamp) }
    }

    func setArtwork(mimeType: String, bytes: [UInt8], timestamp: UInt32) async throws(AirPlayWireError) {
        try await call { client async throws(RAOPError) in
            try await client.setArtwork(mimeType: mimeType, bytes: bytes, timestamp: timestamp)
        }
    }

    func setProgress(start: UInt32, now: UInt32, end: UInt32) async throws(AirPlayWireError) {
        try await call { client async throws(RAOPError) in
            try await client.setProgress(start: start, now: now, end: end)
        }
    }

    /// There are none by this protocol.
    func command(_ message: AirPlayCommandMessage) {}

    func keepAlive(feedback: Bool, timeout: Duration) async throws(AirPlayWireError) {
        try await call { client async throws(RAOPError) in
            try await client.keepAlive(feedback: feedback, timeout: timeout)
        }
    }

    func end() async { await client.end() }

    func waitUntilClosed() async { await client.waitUntilClosed() }

    nonisolated func abort() { client.abort() }

    private func call<Result: Sendable>(
        _ body: (RAOPClient) async throws(RAOPError) -> Result
    ) async throws(AirPlayWireError) -> Result {
        do {
            return try await body(client)
        } catch {
            let lost =
                switch error {
                case .closed, .timedOut, .malformed: true
                default: false
                }
            throw AirPlayWireError(error: AirPlayErrors.routerError(error, endpoint: endpoint), lost: lost)
        }
    }
}
