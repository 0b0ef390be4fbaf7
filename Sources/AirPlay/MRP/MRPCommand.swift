/// Commands of the protobuf messages, by their numbers there. `/command` on the control channel numbers the same ones
/// otherwise: see `NowPlayingCommandNumber` (`Protocols/mrp`, “Two numberings”).
public enum MRPCommand: Int32, Sendable, Hashable, CaseIterable {
    case play = 1
    case pause = 2
    case togglePlayPause = 3
    case stop = 4
    case nextTrack = 5
    case previousTrack = 6
    case advanceShuffleMode = 7
    case advanceRepeatMode = 8
    case beginFastForward = 9
    case endFastForward = 10
    case beginRewind = 11
    case endRewind = 12
    case skipForward = 18
    case skipBackward = 19
    case seekToPlaybackPosition = 45
    case changeRepeatMode = 46
    case changeShuffleMode = 47
}

extension MRPSendCommand {
    /// Seconds that a skip goes where it does not say.
    static let defaultSkip = 15.0

    /// What is asked; nil for a command that we do not know, or a value that it lacks.
    public var remoteCommand: AirPlayRemoteCommand? {
        guard let command = MRPCommand(rawValue: command) else { return nil }
        switch command {
        case .play: return .play
        case .pause: return .pause
        case .togglePlayPause: return .toggle
        case .stop: return .stop
        case .nextTrack: return .next
        case .previousTrack: return .previous
        case .advanceShuffleMode: return .toggleShuffle
        case .advanceRepeatMode: return .advanceRepeat
        case .beginFastForward: return .beginFastForward
        case .beginRewind: return .beginRewind
        case .endFastForward, .endRewind: return .endSearch
        case .skipForward: return .skip(by: skip)
        case .skipBackward: return .skip(by: -skip)
        case .seekToPlaybackPosition:
            guard options.hasPlaybackPosition, options.playbackPosition.isFinite, options.playbackPosition >= 0 else {
                return nil
            }
            return .seek(to: options.playbackPosition)
        case .changeRepeatMode:
            return AirPlayRepeatMode(rawValue: Int(options.repeatMode) - 1).map { .setRepeat($0) }
        case .changeShuffleMode:
            return options.shuffleMode == 0 ? nil : .setShuffle(options.shuffleMode != 1)
        }
    }

    private var skip: Double {
        let interval = Double(options.skipInterval)
        return options.hasSkipInterval && interval.isFinite && interval > 0 ? interval : Self.defaultSkip
    }

    /// The message for a command; nil for what MRP has no command for (volume has messages of its own).
    public init?(_ command: AirPlayRemoteCommand) {
        self.init()
        switch command {
        case .play: self.command = MRPCommand.play.rawValue
        case .pause: self.command = MRPCommand.pause.rawValue
        case .toggle: self.command = MRPCommand.togglePlayPause.rawValue
        case .stop: self.command = MRPCommand.stop.rawValue
        case .next: self.command = MRPCommand.nextTrack.rawValue
        case .previous: self.command = MRPCommand.previousTrack.rawValue
        case .toggleShuffle: self.command = MRPCommand.advanceShuffleMode.rawValue
        case .advanceRepeat: self.command = MRPCommand.advanceRepeatMode.rawValue
        case .beginFastForward: self.command = MRPCommand.beginFastForward.rawValue
        case .beginRewind: self.command = MRPCommand.beginRewind.rawValue
        case .endSearch: self.command = MRPCommand.endFastForward.rawValue
        case .skip(let seconds):
            self.command = (seconds < 0 ? MRPCommand.skipBackward : .skipForward).rawValue
            options.skipInterval = Float(abs(seconds))
        case .seek(let seconds):
            self.command = MRPCommand.seekToPlaybackPosition.rawValue
            options.playbackPosition = seconds
        case .setRepeat(let mode):
            self.command = MRPCommand.changeRepeatMode.rawValue
            options.repeatMode = Int32(mode.rawValue) + 1
        case .setShuffle(let on):
            self.command = MRPCommand.changeShuffleMode.rawValue
            options.shuffleMode = on ? 3 : 1
        case .volumeUp, .volumeDown, .muteToggle, .setDeviceVolume, .setVolumePercent, .preventPlayback:
            return nil
        }
    }
}
