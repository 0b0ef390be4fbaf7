import RouteModel

/// One session's player on the bus: a connection of its own, since the signals of two names on one connection cannot be
/// told apart. Belongs to the bus's thread.
final class PlayerPort {
    /// A call that waits for what it asked for.
    struct Waiting {
        var message: BusMessage
        var action: PlayerAction
        /// Somebody is at it.
        var taken = false
    }

    /// Calls of one player that wait at once.
    static let maximumWaiting = 64
    /// Microseconds between attempts to come on to the bus.
    private static let firstDelay: UInt64 = 250_000
    private static let longestDelay: UInt64 = 30_000_000

    var state: PlayerState
    var waiting: [Int: Waiting] = [:]
    /// The session is over, and the player stays until its last calls are answered, or until then.
    var leavesBy: UInt64?
    /// When to try again.
    private(set) var retryAt: UInt64?
    private(set) var connection: BusConnection?
    /// The name is ours, and everything has been told.
    private(set) var isPresent = false
    private var delay = PlayerPort.firstDelay

    init(_ state: PlayerState) { self.state = state }

    /// - Parameters:
    ///   - received: a call; whether it was taken.
    ///   - named: the name is ours, or why it is not.
    func connect(
        _ address: String?, received: @escaping (BusMessage) -> Bool, named: @escaping (BusFailure?) -> Void
    ) throws(BusFailure) {
        retryAt = nil
        let connection = try BusConnection(address: address)
        try connection.serve(MPRISName.path, received)
        try connection.request(name: MPRISName.bus(state.session), named)
        self.connection = connection
    }

    /// It is on the bus: says all that it is.
    func appear() {
        isPresent = true
        delay = Self.firstDelay
        tell(PlayerChanges(beginning: state))
    }

    /// It is not on the bus any more. Not to be called while the connection is at work.
    func disappear(tryAgainAfter now: UInt64) {
        connection = nil
        isPresent = false
        // Nobody is there to hear them.
        waiting = [:]
        retryAt = now + delay
        delay = min(2 * delay, Self.longestDelay)
    }

    func change(to new: PlayerState, at now: Int64) {
        guard new != state else { return }
        let changes = PlayerChanges(from: state, to: new, at: now)
        state = new
        if isPresent { tell(changes) }
    }

    private func tell(_ changes: PlayerChanges) {
        // What cannot be sent is heard of by the connection's next turn.
        tell(MPRISName.root, changes.root)
        tell(MPRISName.player, changes.player)
        if let seeked = changes.seeked {
            try? connection?.emit(
                MPRISName.path, MPRISName.player, "Seeked", [.int64(PlayerMetadata.microseconds(seeked))])
        }
        if changes.trackListReplaced {
            try? connection?.emit(
                MPRISName.path, MPRISName.trackList, "TrackListReplaced",
                [.paths(state.trackPaths), .path(state.currentPath)])
            try? connection?.emit(
                MPRISName.path, MPRISName.properties, "PropertiesChanged",
                [.string(MPRISName.trackList), .dictionary([:]), .strings(["Tracks"])])
        }
        for track in changes.tracks {
            try? connection?.emit(
                MPRISName.path, MPRISName.trackList, "TrackMetadataChanged",
                [.path(MPRISName.track(track.id)), .dictionary(state.metadata(of: track))])
        }
    }

    private func tell(_ interface: String, _ changed: [String: BusValue]) {
        guard !changed.isEmpty else { return }
        try? connection?.emit(
            MPRISName.path, MPRISName.properties, "PropertiesChanged",
            [.string(interface), .dictionary(changed), .strings([])])
    }
}
