import AirPlay
import RouteBackend
import RouteModel

/// AirPlay 2 beneath a session.
struct AirPlay2Wire: AirPlayWire {
    /// The clock that a buffered stream is anchored on.
    struct Anchoring: Sendable {
        var clockID: UInt64
        /// Its time at an instant of the host's.
        var time: @Sendable (Int64) -> UInt64
        var hostClock: any HostClock
    }

    /// A receiver that has just been told of our clock knows it within this many nanoseconds, or never.
    private static let anchorPatience: Int64 = 4_000_000_000
    private static let anchorPause: Int64 = 500_000_000

    let client: AirPlay2Client
    let endpoint: Endpoint
    /// Frames that the device adds by itself to what sync packets say.
    let audioLatency: Int
    /// Of a buffered stream; nil for a realtime one.
    let anchoring: Anchoring?

    func prepare(_ next: PacketPoint) -> Int { audioLatency }

    func begin(_ clock: RAOPStreamClock) async throws(AirPlayWireError) {
        guard let anchoring else { return }
        let anchor = AirPlay2RateAnchor.Anchor(
            timestamp: UInt32(truncatingIfNeeded: clock.timestamp), nanoseconds: anchoring.time(clock.instant),
            clockID: anchoring.clockID)
        let patience = anchoring.hostClock.now() + Self.anchorPatience
        while true {
            do {
                return try await client.setRateAnchor(.playing(anchor))
            } catch .rtsp(.refused(_, status: 400, _)) where anchoring.hostClock.now() < patience {
                // It does not know our clock yet.
                do { try await anchoring.hostClock.sleep(nanoseconds: Self.anchorPause) } catch {
                    throw translated(.rtsp(.closed))
                }
            } catch {
                throw translated(error)
            }
        }
    }

    func flush(_ next: PacketPoint) async throws(AirPlayWireError) {
        guard anchoring != nil else {
            return try await call { client async throws(AirPlay2Error) in try await client.flush(next.info) }
        }
        // Silent at once, then without what it has.
        try await call { client async throws(AirPlay2Error) in
            try await client.setRateAnchor(.paused)
            try await client.flushBuffered(
                AirPlay2FlushBuffered(until: .init(sequence: next.sequence, timestamp: next.timestamp)))
        }
    }

    func volume() async throws(AirPlayWireError) -> Double? {
        try await call { client async throws(AirPlay2Error) in try await client.volume() }
    }

    func setVolume(_ value: Double) async throws(AirPlayWireError) {
        try await call { client async throws(AirPlay2Error) in try await client.setVolume(value) }
    }

    func setMetadata(_ track: RAOPTrackMetadata, timestamp: UInt32) async throws(AirPlayWireError) {
        try await call { client async throws(AirPlay2Error) in
            try await client.setMetadata(track, timestamp: timestamp)
        }
    }

    func setArtwork(mimeType: String, bytes: [UInt8], timestamp: UInt32) async throws(AirPlayWireError) {
        try await call { client async throws(AirPlay2Error) in
            try await client.setArtwork(mimeType: mimeType, bytes: bytes, timestamp: timestamp)
        }
    }

    func setProgress(start: UInt32, now: UInt32, end: UInt32) async throws(AirPlayWireError) {
        try await call { client async throws(AirPlay2Error) in
            try await client.setProgress(start: start, now: now, end: end)
        }
    }

    func command(_ message: AirPlayCommandMessage) async throws(AirPlayWireError) {
        try await call { client async throws(AirPlay2Error) in try await client.command(AirPlay2Command(message)) }
    }

    func keepAlive(feedback: Bool, timeout: Duration) async throws(AirPlayWireError) {
        do {
            _ = try await client.feedback(timeout: timeout)
        } catch .rtsp(.refused), .notValidNow {
            // It answered, so it lives.
        } catch {
            throw translated(error)
        }
    }

    func end() async { await client.end() }

    func waitUntilClosed() async { await client.waitUntilClosed() }

    func abort() { client.abort() }

    private func call<Result: Sendable>(
        _ body: (AirPlay2Client) async throws(AirPlay2Error) -> Result
    ) async throws(AirPlayWireError) -> Result {
        do { return try await body(client) } catch { throw translated(error) }
    }

    private func translated(_ error: AirPlay2Error) -> AirPlayWireError {
        let lost =
            switch error {
            case .rtsp(.closed), .rtsp(.timedOut), .rtsp(.malformed), .wrongOrder: true
            default: false
            }
        return AirPlayWireError(error: AirPlayErrors.routerError(error, endpoint: endpoint), lost: lost)
    }
}
