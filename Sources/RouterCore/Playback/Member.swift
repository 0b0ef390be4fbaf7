import RouteBackend
import RouteModel

/// One room of a session, while it plays.
struct Member: Sendable {
    enum Phase: Sendable, Equatable {
        case waiting
        case opening
        /// Connected, nothing loaded.
        case open
        case playing
        /// The connection is lost, and the device probably plays on: it is tried again.
        case suspended
        /// Paused while what it plays is moved elsewhere: it takes no part until that is done, or has failed.
        case held
        /// What it played was moved to another room, and it is part of the session no more.
        case left
        /// All that was to be played has been heard.
        case finished
        case failed
    }

    var route: RouteID
    var name: String
    /// The room that was asked for; it may stand for several routes.
    var room: String
    var volumeLimit: VolumePosition?
    var quietHours: QuietHours?
    var startVolume = StartVolume.preserve
    /// How positions of its slider become the device's levels; the session counts in positions.
    var volumeCurve = VolumeCurve.linear
    var offsetNanoseconds: Int64
    var candidates: [RouteChoice.Candidate]
    var phase: Phase = .waiting
    /// What a room that is held goes back to.
    var phaseHeld: Phase = .playing
    /// It is to take over from other rooms, and not known to play yet: nothing that it tells counts.
    var joining = false
    var session: (any RouteSession)?
    var latest = RouteSessionUpdate()
    var volume: VolumeState?
    /// Whether it has been made as loud as it is to begin; nil where it has not come in with the start of the session.
    var isSettled: Bool?
    /// It has come back, and has not said since how loud it is.
    var volumeIsOld = false
    /// Tells our own volume, said back, from a turn of the knob.
    var echo = VolumeEcho()
    /// When it was found louder than it may be, of late, in host nanoseconds.
    var turnedDownAt: [Int64] = []
    /// Its limit is looked at again when a pause is over.
    var isToBeTurnedDown = false
    /// How loud it is to be against the loudest at the start, where the group that it is of says so.
    var startTrim: Double?
    /// Something is announced there, and until that is over what plays is held: told what the device says meanwhile.
    var clipNews: AsyncStream<RouteSessionUpdate>.Continuation?
    var error: RouterError?
    /// Whether it has played anything: fallback is for before that only.
    var heard = false
    /// Failures of endpoints that another endpoint then made good.
    var failures: [EndpointFailure] = []
    /// Why the last load failed, where it did.
    var loadError: RouterError?
    /// An endpoint is just being tried: a second one would play beside it.
    var isBeingOpened = false
    /// The run for whose beginning it is being readied.
    var readying: Int?
    /// A load is under way: what becomes of it is told by how it returns, not by the device's news meanwhile.
    var loading = false
    /// Another sender has ended what it played: it has not heard the queue to its end.
    var isStoppedThere = false
    /// Lets one call at a time through to the session, as the contract of backends demands.
    var lane = CommandLane()
    /// Tells news of the session that is open now from news of one that was given up.
    var generation = 0
    /// The pull item that is loaded, and whether it has ended.
    var loaded: (item: ItemID, token: MediaToken)?
    var itemEnded = false
    /// What the device plays on though it was to play something else, which could not be loaded: nobody has gone to that.
    var leftPlaying: MediaToken?
    /// As it was handed over, by the last load.
    var loadedURL: PullMedia?
    /// What the device was last known to hold after its current item; nil while that is not known.
    var window: [MediaToken]? = []
    /// Calls of `load` and `setUpcoming` that have returned, as `RouteSessionUpdate.calls` counts them.
    var calls = 0
    /// Loads that were begun: each begins a new queue on the device.
    var loads = 0
    /// How the device's own queue was last known to go on at its end.
    var deviceRepeat: RepeatMode?
    /// `setUpcoming` is under way, and whether it has to be done again after that.
    var filling = false
    var fillAgain = false
    /// It did not take a queue: it is loaded item by item.
    var refusesQueue = false
    /// Another sender has put there what has no place in our queue: it is followed, until something of ours is loaded.
    var isShared = false
    /// A load was cut off: what the device plays, when it is reached again, is not what it should.
    var cutOff = false
    /// The endpoint it played by last, and what finds the session on it again.
    var endpoint: Endpoint?
    /// What is to be done for people at the device, and whether that is under way.
    var deviceCommands = DeviceCommandQueue()
    var obeying = false
    /// Why it is suspended.
    var lostBy: RouterError?
    /// How it is tried again, kept over a return that did not last.
    var retry: ResumePolicy.Retry?
    /// When it last came back, in host nanoseconds.
    var backSince: Int64?
    /// How it is kept in step with rooms that have a timeline.
    var step = RoomStep()
    /// Calls that change whether and where it plays, and when the last of them returned, in host nanoseconds.
    var movesUnderWay = 0
    var movedAt: Int64?
    /// Milliseconds that it was last said to be ahead.
    var driftTold: Int?
    /// What is said of that: milliseconds that it changes by at least.
    static let noticeableDrift = 100
    /// Somebody may have paused it, or gone elsewhere in its item, at the device: until that is known to last it is not
    /// believed.
    var isFollowed = false
    /// It was still filling its buffer as it was found again: once it is through, and paused, it may have been loaded to be
    /// begun with the others, by who was gone before that.
    var mayBeReadied = false
    /// It is about to be moved to where the others are.
    var isBeingMoved = false
    var rejoinToken: String?

    init(choice: RouteChoice, room: Room) {
        route = choice.route
        name = choice.name
        self.room = room.name
        volumeLimit = room.volumeLimit
        quietHours = room.quietHours
        startVolume = room.startVolume ?? .preserve
        volumeCurve = room.volumeCurve ?? .linear
        offsetNanoseconds = Int64(room.offsetMilliseconds) * 1_000_000
        candidates = choice.candidates.filter(\.usable)
    }

    /// A room of a session that was cut short.
    init(_ record: SessionRecord.Member, room: Room?, endpoint: Endpoint, rejoinToken: String?) {
        route = record.route
        name = record.name
        self.room = record.room
        volumeLimit = room?.volumeLimit
        quietHours = room?.quietHours
        volumeCurve = room?.volumeCurve ?? .linear
        offsetNanoseconds = Int64(room?.offsetMilliseconds ?? 0) * 1_000_000
        candidates = []
        self.endpoint = endpoint
        self.rejoinToken = rejoinToken
        window = record.window
        heard = true
        phase = .suspended
    }

    var delivery: MediaDelivery? { session?.descriptor.delivery }

    var push: PushRequirements? {
        if case .push(let requirements)? = delivery { requirements } else { nil }
    }

    var pull: PullRequirements? {
        if case .pull(let requirements)? = delivery { requirements } else { nil }
    }

    /// How long before its instant on the session's timeline a frame must be on its way here: the device's own lead, and
    /// less of it in a room that hears everything later. In nanoseconds; negative where the room's offset is longer.
    var leadNanoseconds: Int64? { push.map { $0.leadNanoseconds - offsetNanoseconds } }

    /// As `leadNanoseconds`, of the first frames of a run whose feed has enough ready.
    var startLeadNanoseconds: Int64? { push.map { $0.startLeadNanoseconds - offsetNanoseconds } }

    /// Open or playing, and not yet through.
    var alive: Bool { phase == .open || phase == .playing }

    /// Whether it is one of the session's rooms.
    var takesPart: Bool { phase != .left && !joining }

    /// Whether it goes on from item to item by itself.
    var queuesOnDevice: Bool {
        pull != nil && !refusesQueue && session?.descriptor.capabilities.has(.queueOnDevice) ?? false
    }

    /// Whether the device has something to go on with at the end of its item.
    var goesOn: Bool { itemEnded && queuesOnDevice && !(window ?? []).isEmpty && latest.stopReason == .finished }

    /// Whether it has heard the queue to its end.
    var hasHeardAll: Bool { phase == .finished && !isStoppedThere }

    /// Whether nothing more is to be heard of it.
    var isOver: Bool { phase == .left || phase == .finished || phase == .failed }

    var volumeCanBeSet: Bool { session?.descriptor.volume.handling == .adjustable }

    /// As the device is told it.
    func deviceVolume(_ volume: VolumeState) -> VolumeState {
        VolumeState(level: VolumePosition(volumeCurve.deviceValue(volume.level)), muted: volume.muted)
    }

    /// What the device says, as its room's slider shows it.
    func shownVolume(_ device: VolumeState) -> VolumeState {
        VolumeState(level: volumeCurve.position(deviceValue: device.level.value).position, muted: device.muted)
    }

    /// Whether something is announced there, over what it plays.
    var isLent: Bool { clipNews != nil }

    /// The loudest that it may be at a minute after midnight.
    func limit(atMinute minute: Int) -> VolumePosition? {
        let quiet = quietHours.flatMap { $0.contains(minute: minute) ? $0.limit : nil }
        return [volumeLimit, quiet].compactMap(\.self).min()
    }

    func snapshot() -> SessionMember {
        let endpoint = session?.descriptor.endpoint ?? endpoint
        let connection: ConnectionState =
            switch phase {
            case .waiting: .idle
            case .opening: .connecting
            case .open, .playing, .held: latest.connection == .idle ? .connected : latest.connection
            case .suspended: .suspended
            case .finished, .left: .ended
            case .failed: .failed
            }
        let media: MediaState =
            switch phase {
            case .playing, .suspended, .held: latest.media
            case .finished: .stopped
            default: .none
            }
        let plays = phase == .playing
        return SessionMember(
            route: route, name: name, endpoint: endpoint?.id, protocol: endpoint?.protocol, connection: connection,
            media: media, volume: volume, volumeHandling: session?.descriptor.volume.handling ?? .adjustable,
            error: error, delivery: session?.delivered, rate: plays ? latest.rate : nil,
            tracks: plays ? latest.tracks : nil, activeTracks: plays ? latest.activeTracks : nil,
            adBreak: plays ? latest.adBreak : nil, liveWindow: plays ? latest.liveWindow : nil,
            video: plays ? latest.video : nil, streamVolume: latest.streamVolume, foreign: latest.foreign,
            proof: plays ? latest.proof : nil, room: room == name ? nil : room)
    }

    /// Milliseconds by which what the device last reported is ahead of the session; nil where it has reported none since.
    func drift(from anchor: PlaybackAnchor?) -> Int? {
        guard let anchor, phase == .playing, pull != nil, loaded?.item == anchor.item, let report = latest.position,
            report.instant >= anchor.instant, (report.rate == 0) == (anchor.rate == 0)
        else { return nil }
        // One that hears everything later has paused behind the others, or was gathered where they are.
        if anchor.rate == 0, abs((report.time - anchor.time).nanoseconds) <= abs(offsetNanoseconds) { return 0 }
        let wanted = anchor.position(at: report.instant - offsetNanoseconds)
        return Int(((report.time - wanted).seconds * 1000).rounded())
    }
}
