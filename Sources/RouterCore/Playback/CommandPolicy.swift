import RouteModel

/// Who may do what to a session (`model.md` section 5).
///
/// | Origin | Playing, moving about, order | Volume | Stop | Anything else |
/// | --- | --- | --- | --- | --- |
/// | people and programs: `cli`, `api`, `web`, `scene`, `system` | yes | yes | yes | yes |
/// | `mpris` | yes | yes, a quarter louder at a time | yes | yes |
/// | `device`, `otherSender` | yes | its own, a quarter louder at a time | pauses | no |
struct CommandPolicy: Sendable {
    enum Ruling: Sendable, Equatable {
        case allowed
        /// Something milder is done, and people are told.
        case instead(RemoteCommand, notice: String, hint: String)
        case denied
    }

    /// How much louder one command may make it where its sender may know no better, 0 to 1: a desktop that could not read
    /// the volume writes 1.0.
    static let longestStep = 0.25

    /// - Parameter name: what the device is called that the command came from.
    func ruling(on command: RemoteCommand, from origin: CommandOrigin, called name: String) -> Ruling {
        switch origin {
        case .cli, .api, .web, .mpris, .scene, .system: return .allowed
        case .device, .otherSender: break
        }
        switch command {
        case .play, .pause, .toggle, .next, .previous, .seek, .seekBy, .shuffle, .toggleShuffle, .repeatMode,
            .setVolume, .stepVolume, .mute:
            return .allowed
        case .stop:
            // Some remotes say stop where they mean pause, and a queue that is gone is not to be had back by a button.
            return .instead(
                .pause, notice: "\(name) was told to stop: paused, the queue is kept", hint: "Stop it here to end it")
        case .setStreamVolume, .rate, .jump, .selectTracks, .skipAd, .trim, .linkVolumes, .fade: return .denied
        }
    }

    /// How much louder one command may make it; nil: as much as it says.
    func longestStep(from origin: CommandOrigin) -> Double? {
        switch origin {
        case .mpris, .device, .otherSender: Self.longestStep
        case .cli, .api, .web, .scene, .system: nil
        }
    }

    /// A knob turns its own device up, not the others that play along.
    func confined(_ command: RemoteCommand, to route: RouteID) -> RemoteCommand {
        switch command {
        case .setVolume(let level, _): .setVolume(level, room: route.rawValue)
        case .stepVolume(let step, _): .stepVolume(step, room: route.rawValue)
        case .mute(let muted, _): .mute(muted, room: route.rawValue)
        default: command
        }
    }
}
