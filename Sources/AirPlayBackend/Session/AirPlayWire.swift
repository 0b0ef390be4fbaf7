import AirPlay
import RouteModel

/// What a receiver is told beside its audio: the difference between RAOP and AirPlay 2 as a session sees it. One
/// connection, and gone with it.
protocol AirPlayWire: Sendable {
    /// Readies the receiver for a run of packets that begins with `next`. Called before each run.
    ///
    /// - Returns: the frames of latency that the device adds by itself to what sync packets say.
    func prepare(_ next: PacketPoint) async throws(AirPlayWireError) -> Int

    /// Says when the run that `clock` describes is heard, to receivers that sync packets do not tell. Called when its
    /// first packets are on the way.
    func begin(_ clock: RAOPStreamClock) async throws(AirPlayWireError)

    /// Makes the receiver forget the packets it has; `next` is the one to come.
    func flush(_ next: PacketPoint) async throws(AirPlayWireError)

    /// The volume as the device says it, in the AirPlay number; nil where it doesn't say.
    func volume() async throws(AirPlayWireError) -> Double?

    /// Throws `unavailable`, to be tried again, where the device takes none in its present state.
    ///
    /// - Parameter value: the AirPlay number: −144 mute, else −30 to 0.
    func setVolume(_ value: Double) async throws(AirPlayWireError)

    func setMetadata(_ track: RAOPTrackMetadata, timestamp: UInt32) async throws(AirPlayWireError)

    /// - Parameter bytes: a JPEG or PNG; empty takes the picture away.
    func setArtwork(mimeType: String, bytes: [UInt8], timestamp: UInt32) async throws(AirPlayWireError)

    /// In RTP time.
    func setProgress(start: UInt32, now: UInt32, end: UInt32) async throws(AirPlayWireError)

    /// For devices that draw what commands say.
    func command(_ message: AirPlayCommandMessage) async throws(AirPlayWireError)

    /// A sign of life, whatever is answered. Throws when there is no answer.
    ///
    /// - Parameter feedback: by the request that receivers know for this, in place of any other.
    func keepAlive(feedback: Bool, timeout: Duration) async throws(AirPlayWireError)

    /// Ends the session on the device, and the connection.
    func end() async

    /// Returns when the connection is gone, whoever closed it.
    func waitUntilClosed() async

    /// Closes at once, without a word to the receiver.
    nonisolated func abort()
}

/// What went wrong on the wire, in the product's one error.
struct AirPlayWireError: Error, Sendable {
    var error: RouterError
    /// Whether the session is of no use any more.
    var lost: Bool
}
