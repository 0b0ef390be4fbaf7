public enum ConnectionState: String, Codable, Sendable, Hashable, CaseIterable {
    case idle, connecting, connected
    /// Transport lost, device probably still playing.
    case suspended
    case ending, ended, failed
}

public enum MediaState: String, Codable, Sendable, Hashable, CaseIterable {
    case none, loading, buffering, playing, paused, stopped
}

public enum StopReason: String, Codable, Sendable, Hashable, CaseIterable {
    case finished, cancelled, replaced, error, deviceGone, superseded
}

/// Why a session or a member is ended.
public enum EndReason: String, Codable, Sendable, Hashable, CaseIterable {
    /// Stop what plays on the device.
    case stop
    /// Leave what plays on the device alone.
    case leave
    case transfer
    /// Stop what plays, and leave the device ready for another session of ours.
    case replaced
    case lost
}

public enum SessionOwnership: String, Codable, Sendable, Hashable, CaseIterable {
    case ours
    /// Somebody else's app is on the device, and is only watched.
    case foreign
    /// Another sender has put into the device's queue what has no place in ours: it is followed, and edited no more.
    case shared
}

/// How the sending of packets to one route has gone, where we send packets.
public struct DeliveryStatistics: Codable, Sendable, Hashable {
    public var packetsSent: Int
    /// Packets sent again because the device asked.
    public var packetsResent: Int
    /// Packets asked for again that were too old to be kept.
    public var packetsMissed: Int
    /// How late packets went out, in microseconds.
    public var latenessMedianMicroseconds: Int
    public var latenessMaximumMicroseconds: Int

    public init(
        packetsSent: Int, packetsResent: Int, packetsMissed: Int, latenessMedianMicroseconds: Int,
        latenessMaximumMicroseconds: Int
    ) {
        self.packetsSent = packetsSent
        self.packetsResent = packetsResent
        self.packetsMissed = packetsMissed
        self.latenessMedianMicroseconds = latenessMedianMicroseconds
        self.latenessMaximumMicroseconds = latenessMaximumMicroseconds
    }
}

/// One route in a session.
public struct SessionMember: Codable, Sendable, Hashable {
    public var route: RouteID
    /// The room's name where a room was asked for, with the device's where the room has several, else the route's.
    public var name: String
    public var endpoint: EndpointID?
    public var `protocol`: RouteProtocol?
    public var connection: ConnectionState
    public var media: MediaState
    public var volume: VolumeState?
    public var volumeHandling: VolumeDescriptor.Handling
    /// How far this member's own report is from the session's position, in milliseconds, where it reports one.
    public var driftMilliseconds: Int?
    public var error: RouterError?
    public var delivery: DeliveryStatistics?
    /// How fast it plays, where it says so.
    public var rate: Double?
    /// The tracks of the item, where it has any to choose from.
    public var tracks: [MediaTrack]?
    /// Which of `tracks` are shown or heard.
    public var activeTracks: [Int]?
    public var adBreak: AdBreakState?
    public var liveWindow: LiveWindow?
    public var video: VideoInfo?
    /// Whether the picture of the current item is shown there (A6); false: it has one, and only its sound is heard there.
    /// Nil where the item has no picture, or that is not known, or nothing plays there.
    public var showsPicture: Bool?
    /// The level of the stream itself, beside the device's.
    public var streamVolume: VolumeState?
    /// What somebody else plays there.
    public var foreign: String?
    /// Whether it is known to be heard; nil where that cannot be judged.
    public var proof: PlayingProof?
    /// How loud it is against the session's master, 0 to 1; the loudest is at 1.
    public var trim: Double?
    /// The loudest it may be now: of its room, and of its quiet hours.
    public var volumeLimit: VolumePosition?
    /// The room that it is part of, where that is not its name: one of several devices of a room.
    public var room: String?

    public init(
        route: RouteID, name: String, endpoint: EndpointID? = nil, protocol: RouteProtocol? = nil,
        connection: ConnectionState = .idle, media: MediaState = .none, volume: VolumeState? = nil,
        volumeHandling: VolumeDescriptor.Handling = .adjustable, driftMilliseconds: Int? = nil,
        error: RouterError? = nil, delivery: DeliveryStatistics? = nil, rate: Double? = nil,
        tracks: [MediaTrack]? = nil, activeTracks: [Int]? = nil, adBreak: AdBreakState? = nil,
        liveWindow: LiveWindow? = nil, video: VideoInfo? = nil, streamVolume: VolumeState? = nil,
        foreign: String? = nil, proof: PlayingProof? = nil, trim: Double? = nil, volumeLimit: VolumePosition? = nil,
        room: String? = nil, showsPicture: Bool? = nil
    ) {
        self.showsPicture = showsPicture
        self.room = room
        self.trim = trim
        self.volumeLimit = volumeLimit
        self.proof = proof
        self.route = route
        self.name = name
        self.endpoint = endpoint
        self.protocol = `protocol`
        self.connection = connection
        self.media = media
        self.volume = volume
        self.volumeHandling = volumeHandling
        self.driftMilliseconds = driftMilliseconds
        self.error = error
        self.delivery = delivery
        self.rate = rate
        self.tracks = tracks
        self.activeTracks = activeTracks
        self.adBreak = adBreak
        self.liveWindow = liveWindow
        self.video = video
        self.streamVolume = streamVolume
        self.foreign = foreign
    }

    /// What its room is called, by which people and scenes speak of it.
    public var roomName: String { room ?? name }
}

/// How one play of an item in a session came to its end.
public struct ItemEnd: Codable, Sendable, Hashable {
    public var item: ItemID
    /// Counts plays within the session: an item may be played several times.
    public var play: Int
    /// `finished` where it was heard to its end; `replaced` where somebody went on to another item before that.
    public var reason: StopReason

    public init(item: ItemID, play: Int, reason: StopReason) {
        self.item = item
        self.play = play
        self.reason = reason
    }
}

/// One queue, one timeline and the routes that play from it, as they are now.
public struct SessionSnapshot: Codable, Sendable, Hashable, Identifiable {
    public var id: SessionID
    public var connection: ConnectionState
    public var media: MediaState
    public var stopReason: StopReason?
    public var ownership: SessionOwnership
    public var members: [SessionMember]
    public var queue: QueueSnapshot
    public var anchor: PlaybackAnchor?
    /// Why nothing could be played, where that is so; a room's own error is its member's.
    public var error: RouterError?
    /// The master of all rooms, which a group's slider shows; nil where no room has a volume that can be set.
    public var volume: VolumeState?
    /// True: a volume that is changed on a device moves the master, and not that room's trim.
    public var volumesLinked: Bool?
    /// What is announced there now, over what plays.
    public var announcement: String?
    /// What a station says that it plays now, over the current item's own metadata; nil where it says nothing.
    public var nowPlaying: LiveMetadata?
    /// How the play before this one ended; nil before any has.
    public var lastEnd: ItemEnd?
    /// The router's monotonic clock when the snapshot was made, in nanoseconds: positions need no clock of the reader.
    public var now: Int64

    public init(
        id: SessionID, connection: ConnectionState = .idle, media: MediaState = .none, stopReason: StopReason? = nil,
        ownership: SessionOwnership = .ours, members: [SessionMember] = [], queue: QueueSnapshot,
        anchor: PlaybackAnchor? = nil, error: RouterError? = nil, volume: VolumeState? = nil,
        announcement: String? = nil, lastEnd: ItemEnd? = nil, now: Int64
    ) {
        self.lastEnd = lastEnd
        self.volume = volume
        self.announcement = announcement
        self.id = id
        self.connection = connection
        self.media = media
        self.stopReason = stopReason
        self.ownership = ownership
        self.members = members
        self.queue = queue
        self.anchor = anchor
        self.error = error
        self.now = now
    }

    public var currentItem: QueueItem? { queue.currentItem }
    public var position: MediaTime? { anchor?.position(at: now) }

    /// The current item's metadata as it is to be shown: what a station says now goes before what is known of it.
    public var shownMetadata: MediaMetadata? {
        guard let item = currentItem else { return nil }
        guard let nowPlaying, nowPlaying.item == item.id else { return item.metadata }
        return nowPlaying.metadata.filled(from: item.metadata)
    }
}

/// What the stream itself says that it plays, while the item stays the same (`model.md` section 4).
public struct LiveMetadata: Codable, Sendable, Hashable {
    public var item: ItemID
    public var metadata: MediaMetadata
    /// The router's monotonic clock when it was heard, in nanoseconds.
    public var instant: Int64

    public init(item: ItemID, metadata: MediaMetadata, instant: Int64) {
        self.item = item
        self.metadata = metadata
        self.instant = instant
    }
}

/// A session that a process which is no more was playing, or left playing: what `rejoin` can take up again.
public struct RejoinableSession: Codable, Sendable, Hashable, Identifiable {
    public var id: SessionID
    /// The rooms as they were called then.
    public var rooms: [String]
    public var queue: QueueSnapshot
    /// Where its current item would be by now, as far as can be told; else where it was when this was last written.
    public var position: MediaTime
    public var playing: Bool

    public init(id: SessionID, rooms: [String], queue: QueueSnapshot, position: MediaTime, playing: Bool) {
        self.id = id
        self.rooms = rooms
        self.queue = queue
        self.position = position
        self.playing = playing
    }

    public var currentItem: QueueItem? { queue.currentItem }
}
