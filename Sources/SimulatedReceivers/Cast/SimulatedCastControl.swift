/// What people and other senders do to a simulated device.
public enum SimulatedCastControl: Sendable, Hashable {
    /// The device's own remote control.
    case pressPlay, pressPause
    case turnVolume(Double)
    case mute(Bool)
    /// An app that is none of ours starts.
    case takeOver(app: String)
    /// The app dies.
    case crash
    /// All TCP connections end.
    case dropConnections
    /// The device starts again: all TCP connections end, and, unless sessions are kept, everything that ran.
    case restart(keepsSessions: Bool, downFor: Duration = .zero)
    /// Answers nobody any more and takes no connections.
    case sleep
    case wake(keepsSessions: Bool)
    /// Another member becomes the leader: the endpoint moves, what plays goes on. Nil keeps the address; port 0 is any.
    case moveLeader(host: String? = nil, port: Int = 0)
    /// Somebody allows or refuses a launch that waits for it.
    case allowLaunch, refuseLaunch
    /// What plays breaks with this detailedErrorCode.
    case mediaError(code: Int)
    /// The television shows something else, or is off.
    case standBy(Bool)
    case memberVolume(id: String, level: Double)
    case addMember(SimulatedCastGroup.Member)
    case removeMember(id: String)
    case otherSender(SimulatedCastOtherSender)
}

/// What a second sender does. It speaks the protocol as others do, and needs no port. Places in the queue count from 0.
public enum SimulatedCastOtherSender: Sendable, Hashable {
    case load(url: String, contentType: String)
    /// Nil is at the end.
    case insert(url: String, contentType: String, before: Int?)
    case remove(at: Int)
    /// To before the item at `to`; nil is to the end.
    case move(from: Int, to: Int?)
    case jump(Int)
    case shuffle
    case repeatMode(String)
    case play, pause, stop
    /// Seconds.
    case seek(Double)
    case deviceVolume(Double)
    case streamVolume(Double)
    /// Any app that this device has.
    case launch(app: String)
    case stopApp
}

/// One line of a script.
public struct SimulatedCastStep: Sendable, Hashable {
    /// After the first sound, to a quarter of a second.
    public var after: Duration
    public var control: SimulatedCastControl

    public init(after: Duration, _ control: SimulatedCastControl) {
        self.after = after
        self.control = control
    }
}
