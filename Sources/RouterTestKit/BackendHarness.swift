import RouteBackend
import RouteModel

/// What a backend's test says of its device, so that `BackendConformance` can run against it. The verbs are those of
/// people and of devices; each returns what the device itself knows, not what the backend says of it.
public protocol BackendHarness: Sendable {
    var provider: any RouteProvider { get }
    /// A device that is there, idle, and lets us in.
    var endpoint: Endpoint { get }
    var media: any MediaPreparing { get }
    var clock: any HostClock { get }

    /// A file of so much sound.
    func tune(seconds: Double) async throws -> MediaSource
    /// Something that is no sound.
    func noise() async throws -> MediaSource

    func device() async throws -> DeviceView
    /// Somebody turns the knob; false: the device has none.
    func turnKnob(to level: VolumePosition) async throws -> Bool
    /// Somebody presses pause on the device; false: it has no such button.
    func pressPause() async throws -> Bool
    /// The device is gone from the network, without a word.
    func loseConnection() async throws
}

/// A device as it sees itself.
public struct DeviceView: Sendable, Equatable {
    /// Whether sound comes out of it, or would if the sound were not silence.
    public var isPlaying: Bool
    /// Of its knob, 0 to 1; nil where it has none.
    public var volume: Double?
    /// Senders that are connected; nil where it does not count them.
    public var connections: Int?

    public init(isPlaying: Bool, volume: Double?, connections: Int?) {
        self.isPlaying = isPlaying
        self.volume = volume
        self.connections = connections
    }
}

/// What a backend does otherwise than the contract says.
public struct ConformanceFailure: Error, CustomStringConvertible {
    public var description: String

    public init(_ description: String) { self.description = description }
}
