import RouteBackend
import RouteModel

/// The device of this backend, in memory: it takes sound and makes none. What a real device would do by itself (its
/// knob, its buttons, its plug) are functions here.
public final class NullSink: Sendable {
    /// What the device knows of itself.
    public struct State: Sendable, Equatable {
        public var volume = VolumeState(level: VolumePosition(0.5))
        public var isPlaying = false
        public var connections = 0
        /// Frames that were heard since it was made.
        public var framesHeard: Int64 = 0
    }

    public let name: String
    private let device = LatestValue(State())
    private let session = LatestValue<NullSinkSession?>(nil)

    public init(name: String) { self.name = name }

    public var state: State { device.value }

    /// Somebody turns the knob.
    public func turnKnob(to level: VolumePosition) {
        change { $0.volume = VolumeState(level: level) }
        session.value?.deviceTells { $0.volume = VolumeState(level: level) }
    }

    /// Somebody presses a button.
    public func press(_ command: RemoteCommand) { session.value?.deviceAsks(command) }

    /// The plug is pulled.
    public func unplug() async {
        change { state in
            state.isPlaying = false
            state.connections = 0
        }
        await session.value?.deviceIsGone()
        session.set(nil)
    }

    // MARK: What a session does to it

    func change(_ change: (inout State) -> Void) { device.update(change) }

    /// The earlier session, where there is one: such a device plays for one sender.
    func take(_ new: NullSinkSession) -> NullSinkSession? {
        let old = session.value
        session.set(new)
        change { $0.connections += 1 }
        return old
    }

    func release(_ old: NullSinkSession) {
        guard session.value === old else { return }
        session.set(nil)
        change { state in
            state.isPlaying = false
            state.connections -= 1
        }
    }
}
