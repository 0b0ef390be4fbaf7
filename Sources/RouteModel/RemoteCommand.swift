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

public struct CommandResult: Codable, Sendable, Hashable {
    public var id: CommandID
    public var outcome: CommandOutcome

    public init(id: CommandID, outcome: CommandOutcome) {
        self.id = id
        self.outcome = outcome
    }
}
