/// What a receiver asks of whoever sends to it, whichever way it came: DACP (`Protocols/dacp`), the event channel
/// (`Protocols/airplay`, “Commands from the receiver”) or MRP (`Protocols/mrp`).
public enum AirPlayRemoteCommand: Sendable, Hashable {
    case play
    case pause
    case toggle
    case stop
    case next
    case previous
    /// Search forwards, or backwards, until `endSearch`.
    case beginFastForward
    case beginRewind
    case endSearch
    /// To a place in the item, in seconds.
    case seek(to: Double)
    /// Seconds forwards, or backwards where negative.
    case skip(by: Double)
    case volumeUp
    case volumeDown
    case muteToggle
    /// The AirPlay number: −144 mute, else −30 to 0.
    case setDeviceVolume(Double)
    /// A position of the slider, 0 to 100.
    case setVolumePercent(Double)
    case toggleShuffle
    case setShuffle(Bool)
    case advanceRepeat
    case setRepeat(AirPlayRepeatMode)
    /// True: the device is used for something else now, and takes nothing from us until it says false.
    case preventPlayback(Bool)
}

public enum AirPlayRepeatMode: Int, Sendable, Hashable {
    case off = 0
    case one = 1
    case all = 2
}

extension AirPlayRemoteCommand {
    /// The four letters of `sendMediaRemoteCommand`; nil for letters that are not known.
    public init?(eventValue: String) {
        switch eventValue {
        case "play": self = .play
        case "paus": self = .pause
        case "plps": self = .toggle
        case "stop": self = .stop
        case "nitm": self = .next
        case "pitm": self = .previous
        default: return nil
        }
    }

    /// The same letters, for whoever plays the receiver; nil for what has none.
    public var eventValue: String? {
        switch self {
        case .play: "play"
        case .pause: "paus"
        case .toggle: "plps"
        case .stop: "stop"
        case .next: "nitm"
        case .previous: "pitm"
        default: nil
        }
    }
}
