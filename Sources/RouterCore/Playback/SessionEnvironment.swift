import RouteBackend
import RouteModel

/// What a session is given by the engine.
struct SessionEnvironment: Sendable {
    var media: any MediaPreparing
    var store: any RouterStoring
    var clock: any HostClock
    /// The backend that an endpoint belongs to.
    var provider: @Sendable (Endpoint) -> (any RouteProvider)?
    /// Where the device of an endpoint is now: groups move with their leader, and addresses change.
    var current: @Sendable (Endpoint) async -> Endpoint
    var password: @Sendable (Endpoint) async -> Secret?
    var senderName: String
    var changed: @Sendable (SessionSnapshot) async -> Void
    var notice: @Sendable (Notice) async -> Void
    var phase: @Sendable (String) -> Void
}

/// How many items in a row may fail before a session stops.
let consecutiveFailureLimit = 3

/// How long after all rooms are ready their first frame is heard: room for the loads to be sent.
let startSlackNanoseconds: Int64 = 60_000_000

/// How long rooms that open quickly wait for one that does not; after that it joins late.
let openPatienceNanoseconds: Int64 = 8_000_000_000

/// How long after one fetching room has finished an item the others are waited for.
let finishPatienceNanoseconds: Int64 = 2_000_000_000
