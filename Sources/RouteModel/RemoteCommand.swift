/// Something to do to what plays, whoever asks for it: one enum for every surface and for buttons on devices.
public enum RemoteCommand: Codable, Sendable, Hashable {
    case play
    case pause
    case toggle
    case stop
    case next
    case previous
    case seek(to: MediaTime)
    case seekBy(MediaTime)
    case setVolume(VolumePosition, room: String?)
    /// Up or down by a part of the slider, −1 to 1.
    case stepVolume(Double, room: String?)
    case mute(Bool, room: String?)
    /// The level of the stream itself, where the receiver has one beside its own (`model.md` section 6).
    case setStreamVolume(VolumePosition, room: String?)
    /// 0.5 to 2; what is outside is refused.
    case rate(Double)
    /// Plays this item of the queue from its beginning.
    case jump(ItemID)
    /// Puts what is to come into a random order, or back into the original one.
    case shuffle(Bool)
    /// The other of the two, as a button without a state asks.
    case toggleShuffle
    case repeatMode(RepeatMode)
    /// These tracks of the item and no others, by the ids that the member lists.
    case selectTracks([Int])
    /// Ends the ad that plays, where that is allowed by now.
    case skipAd
    /// How loud one room is to be against the loudest, 0 to 1 (`model.md` section 6); the master stays.
    case trim(Double, room: String)
    /// Whether a volume that is changed on a device moves the master, and the other rooms with it, in place of that room's
    /// trim (`model.md` section 6). It is the session's, as long as that lasts.
    case linkVolumes(Bool)
    /// Brings a volume (nil: the master of all rooms) to a level evenly over a time, at most an hour. A volume that is
    /// set meanwhile ends it.
    case fade(to: VolumePosition, over: MediaTime, room: String?)
}

/// Who asked.
public enum CommandOrigin: Codable, Sendable, Hashable {
    case cli, api, web, mpris, scene
    case device(RouteID)
    case otherSender
    case system
}

/// How a command ended. Each command ends in exactly one.
public enum CommandOutcome: Codable, Sendable, Hashable {
    /// The change was observed.
    case succeeded
    /// Taken, not observed yet.
    case accepted
    /// The deadline passed without observation, and without contradiction.
    case unverified
    case superseded
    case noSuchContent
    case noActionableItem
    case deviceNotFound
    case unsupported
    case denied
    case timedOut
    case failed(RouterError)

    public var isError: Bool {
        switch self {
        case .succeeded, .accepted, .unverified: false
        default: true
        }
    }
}

/// A command, who asked, and how it ended.
public struct CommandReport: Codable, Sendable, Hashable {
    public var id: CommandID
    public var session: SessionID
    public var command: RemoteCommand
    public var origin: CommandOrigin
    public var outcome: CommandOutcome

    public init(
        id: CommandID, session: SessionID, command: RemoteCommand, origin: CommandOrigin, outcome: CommandOutcome
    ) {
        self.id = id
        self.session = session
        self.command = command
        self.origin = origin
        self.outcome = outcome
    }
}

public struct CommandResult: Codable, Sendable, Hashable {
    public var id: CommandID
    public var outcome: CommandOutcome

    public init(id: CommandID, outcome: CommandOutcome) {
        self.id = id
        self.outcome = outcome
    }
}
