import AirPlay
import RouteModel

/// A device's commands in the engine's terms.
enum DeviceCommandMapping {
    /// How far one press of a volume button goes: sixteen presses from one end to the other, as on Apple's devices.
    static let volumeStep = 1.0 / 16
    /// How far the search buttons go: what is sent to a speaker cannot be played faster.
    static let searchSeconds = 10.0

    /// Nil for what has no meaning here.
    ///
    /// - Parameter volume: the device's own, as it was last known.
    static func command(_ command: AirPlayRemoteCommand, volume: VolumeState?) -> RemoteCommand? {
        switch command {
        case .play, .endSearch: return .play
        case .pause: return .pause
        case .toggle: return .toggle
        case .stop: return .stop
        case .next: return .next
        case .previous: return .previous
        case .beginFastForward: return .seekBy(MediaTime(seconds: searchSeconds))
        case .beginRewind: return .seekBy(MediaTime(seconds: -searchSeconds))
        case .seek(let seconds): return .seek(to: MediaTime(seconds: seconds))
        case .skip(let seconds): return .seekBy(MediaTime(seconds: seconds))
        case .volumeUp: return .stepVolume(volumeStep, room: nil)
        case .volumeDown: return .stepVolume(-volumeStep, room: nil)
        case .muteToggle: return .mute(!(volume?.muted ?? false), room: nil)
        case .setDeviceVolume(let value):
            let (level, muted) = VolumeCurve.airplay.position(deviceValue: value)
            return muted ? .mute(true, room: nil) : .setVolume(level, room: nil)
        case .setVolumePercent(let percent): return .setVolume(VolumePosition(percent: percent), room: nil)
        case .toggleShuffle: return .toggleShuffle
        case .setShuffle(let on): return .shuffle(on)
        case .setRepeat(let mode):
            return switch mode {
            case .off: .repeatMode(.off)
            case .one: .repeatMode(.one)
            case .all: .repeatMode(.all)
            }
        case .advanceRepeat, .preventPlayback: return nil
        }
    }
}
