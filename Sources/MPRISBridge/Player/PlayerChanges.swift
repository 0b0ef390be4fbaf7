import RouteModel

/// What is told on the bus when a player comes to be another.
struct PlayerChanges: Sendable, Hashable {
    /// Under this, a position that differs is the same: the engine takes up another place above 300 ms.
    private static let jumpNanoseconds: Int64 = 250_000_000

    /// Of the interfaces `root` and `player`, those that differ.
    var root: [String: BusValue] = [:]
    var player: [String: BusValue] = [:]
    /// Where it plays now, where that could not be foreseen.
    var seeked: MediaTime?
    var trackListReplaced = false
    /// Tracks that say something else of themselves than before.
    var tracks: [QueueItem] = []

    /// Everything, as of a player that has just come on to the bus: a desktop keeps the first value that it sees.
    init(beginning state: PlayerState) {
        root = state.rootProperties
        player = state.playerProperties
        trackListReplaced = true
    }

    init(from old: PlayerState, to new: PlayerState, at now: Int64) {
        root = Self.changed(old.rootProperties, new.rootProperties)
        player = Self.changed(old.playerProperties, new.playerProperties)
        let position = new.position(at: now)
        // With another track people expect its beginning, else that time has gone on.
        let expected = old.item?.id == new.item?.id ? old.position(at: now) : .zero
        if new.item != nil, abs((position - expected).nanoseconds) > Self.jumpNanoseconds { seeked = position }
        trackListReplaced = old.tracks.map(\.id) != new.tracks.map(\.id)
        if !trackListReplaced, old.tracks != new.tracks {
            tracks = zip(old.tracks, new.tracks).filter { $0.metadata != $1.metadata }.map(\.1)
        }
    }

    private static func changed(_ old: [String: BusValue], _ new: [String: BusValue]) -> [String: BusValue] {
        new.filter { old[$0.key] != $0.value }
    }
}
