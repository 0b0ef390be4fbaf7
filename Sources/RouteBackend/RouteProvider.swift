// The contract of a backend
// =========================
//
// A backend maps one family of protocols on to this contract: a `RouteProvider` finds endpoints and opens sessions on
// them, a `RouteSession` plays. Everything else is data.
//
// Who calls what, and when. The engine calls `discover` once and keeps the stream for as long as it lives. For a room
// it calls `open` on one endpoint; the session that comes back is connected and has made no sound, changed no volume
// and displaced nobody's playback where the protocol allows that. Then `load`, which hands over either a URL to fetch
// (`PreparedMedia.pull`) or a feed of packets to send (`PreparedMedia.push`), as the session's own `delivery` asked.
// `load` may be called again at any time, for the next item or after a seek; the new media replaces the old. `end` is
// the last call; nothing else may be called after it, and calling it again does nothing.
//
// One at a time. Calls on one session are serial: the engine awaits each before the next, but for `end`, which may
// come while another call is under way and makes that call throw `cancelled`. Sessions are independent of each other.
// `updates` may yield at any time, from the moment it is asked for until the session has ended, when it finishes. Its
// first element is the full current state, and every element is full: a reader that misses some loses nothing but the
// steps between.
//
// Time. `Timeline` says at which instant of the host's monotonic clock a frame is heard. A push session sends each
// packet early enough, by its own latency, for that to be true, and keeps to it for as long as the media is loaded; it
// never shifts the timeline to suit itself. A pull session starts as near to it as it can and reports where it is.
// A session whose packets come late from the feed leaves silence and catches up: the timeline does not wait.
//
// Failure. Everything throws `RouterError`. After a throw from `load`, `perform` or `setVolume` the session is still
// usable, unless its `updates` say `ended` or `failed`. When the device is lost, `updates` yields `failed` with the
// error and finishes; nothing is retried and nothing reconnects by itself, because only the engine knows what else
// plays. Cancellation of a call leaves the device in the last confirmed state.
//
// A backend must not: change volume on connect, invent positions, choose another device than it was given, log a
// secret at any level or a payload above trace level, or keep a task alive after `end` has returned.

import RouteModel

/// Finds endpoints of one family of protocols and opens sessions on them.
public protocol RouteProvider: Sendable {
    /// The family that `--via` names.
    var family: RouteFamily { get }

    /// Service types to look for, and how their records are read. Pure: called for each record, in any order.
    var serviceTypes: [String] { get }

    /// The endpoint that a service record describes, or nil if it isn't one of this backend's.
    func endpoint(from record: ServiceRecord) -> Endpoint?

    /// The URI schemes that `--device` may use for this backend: `cast`, for one.
    var uriSchemes: [String] { get }

    /// The endpoint that a person's URI names. Throws `configuration` with what is wrong with it.
    func endpoint(from uri: DeviceURI) throws -> Endpoint

    /// Other ways to play on the very device and service that an endpoint of this backend is: they come and go with it.
    func companions(of endpoint: Endpoint) -> [Endpoint]

    /// Connects. The session has made no sound when this returns.
    ///
    /// Throws `routeUnreachable`, `routeBusy`, `authRequired`, `authFailed`, `timeout`, `protocolViolation` or
    /// `unsupported`.
    func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession

    /// Whether a device plays one of these items by now, by whomever it was brought there: the rejoin token that `open`
    /// finds it with. Nil where it plays something else or does not say within `limit` nanoseconds; nothing is launched,
    /// and nothing that plays is touched.
    func find(_ items: Set<MediaToken>, on endpoint: Endpoint, within limit: Int64, options: OpenOptions) async
        -> String?

    /// A pairing with a device that asks for one, not begun yet. Throws `unsupported` where there is none.
    func pairing(with endpoint: Endpoint, options: OpenOptions) async throws -> any PairingFlow

    /// Tells a device to forget us, by the credentials in `options`. What is kept here is the caller's to remove, also
    /// where this throws.
    func unpair(_ endpoint: Endpoint, options: OpenOptions) async throws
}

extension RouteProvider {
    public func companions(of endpoint: Endpoint) -> [Endpoint] { [] }

    public func find(
        _ items: Set<MediaToken>, on endpoint: Endpoint, within limit: Int64, options: OpenOptions
    ) async -> String? { nil }

    public func pairing(with endpoint: Endpoint, options: OpenOptions) async throws -> any PairingFlow {
        throw RouterError(.unsupported, "\(endpoint.name) needs no pairing", hint: "Just play to it", scope: .route)
    }

    public func unpair(_ endpoint: Endpoint, options: OpenOptions) async throws {}
}

/// What a backend is given beside the endpoint.
public struct OpenOptions: Sendable {
    /// Says how it goes, in words for people: "connecting", "launching the receiver app".
    public var phase: @Sendable (String) -> Void
    /// The password of a device that asks for one. Never logged.
    public var password: Secret?
    /// What was learnt of this endpoint at its firmware version, by earlier calls of `learn`.
    public var learnt: [String: String]
    /// Remembers something about this endpoint and firmware for the next time.
    public var learn: @Sendable (_ fact: String, _ value: String) async -> Void
    /// How this sender calls itself towards devices.
    public var senderName: String
    /// For a session that ran before: what its `rejoinToken` said. Where it still is on the device it is joined, and the
    /// first update tells what is loaded; where it is not, the session is as any other, with nothing loaded.
    public var rejoin: String?
    /// False where the session is opened only to end what `rejoin` names: where that is gone, nothing is started.
    public var launches: Bool
    /// What an earlier pairing with this device gave.
    public var credentials: DeviceCredentials?
    /// Who we are towards devices that keep a list.
    public var identity: InstallationIdentity?

    public init(
        phase: @escaping @Sendable (String) -> Void = { _ in }, password: Secret? = nil, learnt: [String: String] = [:],
        learn: @escaping @Sendable (String, String) async -> Void = { _, _ in }, senderName: String = "router",
        rejoin: String? = nil, launches: Bool = true, credentials: DeviceCredentials? = nil,
        identity: InstallationIdentity? = nil
    ) {
        self.phase = phase
        self.password = password
        self.learnt = learnt
        self.learn = learn
        self.senderName = senderName
        self.rejoin = rejoin
        self.launches = launches
        self.credentials = credentials
        self.identity = identity
    }
}

/// Text that must not be shown: printing it, or a value that holds it, gives a mask.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text itself, for the one place that needs it.
    public let revealed: String

    public init(_ text: String) { revealed = text }

    public var description: String { "••••" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A session on one endpoint. See the contract at the top of the file.
public protocol RouteSession: Sendable {
    var descriptor: RouteSessionDescriptor { get }

    /// How the sending has gone so far; nil for what fetches by itself. Cheap, and good after the end too.
    var delivered: DeliveryStatistics? { get }

    /// Latest state, the full current value first; finishes when the session has ended or failed.
    func updates() -> AsyncStream<RouteSessionUpdate>

    /// What people do at the device or at its remote, as commands to us; volume changes are in `updates`. One reader;
    /// finishes with the session.
    func deviceCommands() -> AsyncStream<RemoteCommand>

    /// Readies `media` and, with `autoplay`, starts it. Without, the device holds it paused until `play`.
    ///
    /// For push media `timeline` says when frames are heard and is required with `autoplay`; a pull session starts at
    /// once. Returns when the device has taken it: for pull, when it says it plays (or is paused, without `autoplay`);
    /// for push, when packets flow. Throws `mediaUnsupported`, `mediaUnreachable`, `timeout`, `routeLost`.
    func load(_ media: PreparedMedia, timeline: Timeline?, autoplay: Bool) async throws

    /// Does one thing. Throws `unsupported` for what `descriptor.capabilities` lacks.
    func perform(_ command: RouteCommand) async throws -> CommandOutcome

    /// What a listener sees: title, artwork, progress. A pull session that got all this by `load` does nothing.
    func present(_ nowPlaying: NowPlaying) async throws

    /// Says what is to be played after what is loaded, in order: with `queueOnDevice` the device then goes on by itself.
    ///
    /// What the device has after its current item becomes this list; an item that is there already, by its token, stays.
    /// Where the device has gone on meanwhile, what it plays by then is passed over, and the items before it. A session without the capability does nothing. Throws as `perform` does; what was loaded plays on.
    func setUpcoming(_ items: [PullMedia]) async throws

    /// What the device plays as it would have it stored, to be resumed on another one; nil where it cannot do that.
    func storeState() async throws -> TransferState?

    /// Goes on with what another session stored, as `load` would with `media`, the item that it stores: returns when the
    /// device plays it, or holds it paused where it was paused. Throws as `load` does, and `unsupported` for a state
    /// that it cannot go on with.
    func resume(_ state: TransferState, media: PullMedia) async throws

    /// Sets the device's volume.
    func setVolume(_ volume: VolumeState) async throws

    /// Sets the level of the stream itself. Throws `unsupported` without `volumeStream`.
    func setStreamVolume(_ volume: VolumeState) async throws

    /// Ends the session. With `.stop` the device is told to stop, with `.leave` a device that can go on by itself does.
    func end(_ reason: EndReason) async
}

extension RouteSession {
    public var delivered: DeliveryStatistics? { nil }

    public func deviceCommands() -> AsyncStream<RemoteCommand> { AsyncStream { $0.finish() } }

    public func setUpcoming(_ items: [PullMedia]) async throws {}

    public func storeState() async throws -> TransferState? { nil }

    public func resume(_ state: TransferState, media: PullMedia) async throws {
        throw RouterError(
            .unsupported, "\(descriptor.endpoint.name) cannot take up what another device has stored",
            hint: "Load it there", scope: .command)
    }

    public func setStreamVolume(_ volume: VolumeState) async throws {
        throw RouterError(
            .unsupported, "\(descriptor.endpoint.name) has no volume of the stream", hint: "Set its own volume",
            scope: .command)
    }
}

/// What a session is able to do; it does not change while the session lives.
public struct RouteSessionDescriptor: Sendable {
    public var endpoint: Endpoint
    public var delivery: MediaDelivery
    public var capabilities: RouteCapabilities
    public var volume: VolumeDescriptor
    /// What lets a later process find this session on the device again.
    public var rejoinToken: String?
    /// Whether an app that ran already was joined, for backends where that can be.
    public var joined: Bool

    public init(
        endpoint: Endpoint, delivery: MediaDelivery, capabilities: RouteCapabilities, volume: VolumeDescriptor,
        rejoinToken: String? = nil, joined: Bool = false
    ) {
        self.endpoint = endpoint
        self.delivery = delivery
        self.capabilities = capabilities
        self.volume = volume
        self.rejoinToken = rejoinToken
        self.joined = joined
    }
}

/// What the engine asks of a session beside loading.
public enum RouteCommand: Sendable, Hashable {
    /// Go on. For push media, by this timeline (whose frames are the feed's) from `fromFrame` on; pull sessions ignore
    /// both.
    case play(Timeline?, fromFrame: Int64)
    case pause
    /// Position in the item. Pull sessions only: a push session is given a new feed by `load`.
    case seek(to: MediaTime, resume: Bool)
    /// Stop what plays; the session stays open.
    case stop
    /// 0.5 to 2; for sessions with `rate`.
    case setRate(Double)
    /// These tracks and no others; for sessions with `tracks`.
    case selectTracks([Int])
    /// Ends the ad that plays; the outcome is `denied` while that may not be. For sessions with `adSkip`.
    case skipAd
    /// How the device's own queue goes on after its last item; for sessions with `queueOnDevice`.
    case setRepeat(RepeatMode)
}

/// State of one session, always whole.
public struct RouteSessionUpdate: Sendable, Hashable {
    public var connection: ConnectionState
    public var media: MediaState
    public var stopReason: StopReason?
    /// Where the device says it is in its item: nil where it does not say.
    public var position: ReportedPosition?
    public var volume: VolumeState?
    /// The token of what is loaded (`PullMedia.token`), to tell late news of an old item from news of this one. With
    /// `queueOnDevice` it may become that of another item without a `load`.
    public var loaded: MediaToken?
    public var error: RouterError?
    /// What somebody else plays there, where that can be seen.
    public var foreign: String?
    /// The device's own queue; nil where it has none, or not all of it is known.
    public var window: [WindowEntry]?
    /// How many calls of `load` and `setUpcoming` had returned when this was so, for sessions with `queueOnDevice`: news
    /// from before the last of them says nothing of what others did to the queue.
    public var calls = 0
    /// How fast it plays; nil where it does not say.
    public var rate: Double?
    /// Tracks of the item, where there are any.
    public var tracks: [MediaTrack]?
    public var activeTracks: [Int]?
    public var adBreak: AdBreakState?
    public var liveWindow: LiveWindow?
    public var video: VideoInfo?
    public var streamVolume: VolumeState?
    /// How the device's own queue goes on after its last item.
    public var repeatMode: RepeatMode?
    /// Whether it is known to be heard; nil where the backend does not judge it.
    public var proof: PlayingProof?

    public init(
        connection: ConnectionState = .connected, media: MediaState = .none, stopReason: StopReason? = nil,
        position: ReportedPosition? = nil, volume: VolumeState? = nil, loaded: MediaToken? = nil,
        error: RouterError? = nil, foreign: String? = nil
    ) {
        self.connection = connection
        self.media = media
        self.stopReason = stopReason
        self.position = position
        self.volume = volume
        self.loaded = loaded
        self.error = error
        self.foreign = foreign
    }
}

/// One item of a device's own queue, in the device's order. What it has played may be left out.
public struct WindowEntry: Sendable, Hashable {
    /// Of an item of ours the token it was handed over with. What another sender put there has a token made by the
    /// backend: the same for as long as the item stays, over a rejoin too, so that the engine can hand it back in
    /// `setUpcoming`.
    public var token: MediaToken
    /// Where it can be fetched; nil for what only the device's app understands.
    public var url: String?
    public var metadata: MediaMetadata

    public init(token: MediaToken, url: String?, metadata: MediaMetadata = MediaMetadata()) {
        self.token = token
        self.url = url
        self.metadata = metadata
    }
}

/// A position as a device reported it.
public struct ReportedPosition: Sendable, Hashable {
    public var time: MediaTime
    /// Host monotonic nanoseconds when it was reported.
    public var instant: Int64
    public var rate: Double
    public var duration: MediaTime?

    public init(time: MediaTime, instant: Int64, rate: Double, duration: MediaTime? = nil) {
        self.time = time
        self.instant = instant
        self.rate = rate
        self.duration = duration
    }
}

/// What a receiver draws while push media plays.
public struct NowPlaying: Sendable, Hashable {
    public var item: ItemID
    public var metadata: MediaMetadata
    /// A JPEG or PNG, if there is one.
    public var artwork: Artwork?
    /// The feed's frame at which the item's own time is zero (negative when it was begun in its middle).
    public var startFrame: Int64
    /// The item's length in frames of the feed's rate, where known.
    public var durationFrames: Int64?

    public init(
        item: ItemID, metadata: MediaMetadata, artwork: Artwork?, startFrame: Int64, durationFrames: Int64?
    ) {
        self.item = item
        self.metadata = metadata
        self.artwork = artwork
        self.startFrame = startFrame
        self.durationFrames = durationFrames
    }
}

/// An encoded picture.
public struct Artwork: Sendable, Hashable {
    public var mimeType: String
    public var bytes: [UInt8]

    public init(mimeType: String, bytes: [UInt8]) {
        self.mimeType = mimeType
        self.bytes = bytes
    }
}
