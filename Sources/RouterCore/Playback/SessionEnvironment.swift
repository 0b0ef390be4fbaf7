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
    /// Another device, on none of these routes, that plays one of these items by now.
    var find: @Sendable (Set<MediaToken>, Set<RouteID>) async -> FoundMedia?
    var password: @Sendable (Endpoint) async -> Secret?
    var senderName: String
    /// Told each new state, numbered: two that are told at the same time may come in either order.
    var changed: @Sendable (SessionSnapshot, _ number: Int) async -> Void
    var notice: @Sendable (Notice) async -> Void
    var phase: @Sendable (String) -> Void
    /// Told what people did at the devices.
    var commanded: @Sendable (CommandReport) async -> Void
    /// 0 to 1: what spreads retries.
    var random: @Sendable () -> Double
    /// Minutes after midnight by the clock on the wall, 0 to 1439.
    var localMinute: @Sendable () -> Int
    /// Seconds since 1970, for what people read.
    var wallSeconds: @Sendable () -> Double
    /// Whether what it plays is part of the history. An announcement's is not.
    var keepsHistory = true
}

extension SessionEnvironment {
    /// Connects to a device that people know by `name`, with all that is known of it.
    func open(_ endpoint: Endpoint, name: String, rejoin: String? = nil) async throws -> any RouteSession {
        guard let provider = provider(endpoint) else {
            throw RouterError(.unsupported, "no backend for \(endpoint.protocol.displayName)", scope: .route)
        }
        let learnt = (try? await store.learnt(endpoint: endpoint.id, firmware: endpoint.firmware))
        let store = store
        let phase = phase
        return try await provider.open(
            endpoint,
            options: OpenOptions(
                phase: { phase("\(name): \($0)") }, password: await password(endpoint), learnt: learnt ?? [:],
                learn: { fact, value in
                    try? await store.learn(fact, value: value, endpoint: endpoint.id, firmware: endpoint.firmware)
                },
                senderName: senderName, rejoin: rejoin,
                credentials: try? await store.credentials(forAnyOf: endpoint.strongKeys),
                identity: try? await store.identity()))
    }
}

/// How many items a device with a queue of its own holds after the one it plays.
let windowLength = 2

/// How a lost room is tried again: first after about this long, then with double the wait up to the limit, for so long.
enum ResumePolicy {
    static let firstNanoseconds: Int64 = 500_000_000
    static let longestNanoseconds: Int64 = 30_000_000_000
    /// The limit for a room that is silent meanwhile.
    static let longestSilentNanoseconds: Int64 = 10_000_000_000
    static let windowNanoseconds: Int64 = 300_000_000_000
    /// A room that is lost again within so long after it came back is tried as though it had never been back: two senders
    /// that take a device from each other must not do so twice a second.
    static let steadyNanoseconds: Int64 = 30_000_000_000

    /// Where trying stands. In nanoseconds; `deadline` by the host's clock.
    struct Retry: Sendable {
        var wait: Int64 = firstNanoseconds
        var deadline: Int64
    }
}

/// How long after a session was last written its rooms that are sent to go on in time: what was heard last, before a crash,
/// is not known any more after longer, and they begin where it was written. So long also a music that nobody hears any
/// more goes on, while its rooms are tried again; after longer they begin where they lost it.
let beatNanoseconds: Int64 = 60_000_000_000

/// How often the place of what is sent is written, while it plays.
let savePeriodNanoseconds: Int64 = 15_000_000_000

/// As `savePeriodNanoseconds`, where all rooms fetch: their devices know where they are, unless they are gone too.
let fetchedSavePeriodNanoseconds: Int64 = 60_000_000_000

/// How long a room has to have played before what it took over is ended where it was.
let confirmNanoseconds: Int64 = 1_000_000_000

/// How far ahead of now a position that another process has written may begin: longer than any room's lead.
let futureAnchorNanoseconds: Int64 = 10_000_000_000

/// How long changes of a session are gathered before they are written.
let saveDelayNanoseconds: Int64 = 500_000_000

/// How many items in a row may fail before a session stops.
let consecutiveFailureLimit = 3

/// How long an item is left alone before it is tried again, for each time that it was tried already.
let retryPauseNanoseconds: Int64 = 1_000_000_000

/// How long after all rooms are ready their first frame is heard: room for the loads to be sent.
let startSlackNanoseconds: Int64 = 60_000_000

/// How long a start waits to see whether the feed has enough ready to begin sooner: a file has as soon as the decoder
/// runs, what comes over a network may never.
let readAheadPatienceNanoseconds: (file: Int64, other: Int64) = (1_500_000_000, 300_000_000)

/// How long rooms that open quickly wait for one that does not; after that it joins late.
let openPatienceNanoseconds: Int64 = 8_000_000_000

/// How long after one fetching room has finished an item the others are waited for.
let finishPatienceNanoseconds: Int64 = 2_000_000_000
