import Foundation
import RouteModel

/// Who asks: each by the program or the protocol that such a person has.
enum HouseClient: String, Sendable, CaseIterable {
    case terminal, web, desktop, scene
}

/// One thing to be done in the house, in words that every client has its own for.
enum HouseAct: Sendable, CustomStringConvertible {
    /// Indices of the album.
    case play([Int], rooms: [String], shuffled: Bool, mode: RepeatMode)
    case command(RemoteCommand)
    /// Indices of the album, at the end or next.
    case add([Int], next: Bool)
    /// An index of the album, played now in the session's queue.
    case open(Int)
    /// Places in the queue, from 0; nil is the end.
    case move(Int, before: Int?)
    case remove(Int)
    case undo
    case transfer(TransferRequest.Kind, [String])
    case announce([String])
    /// Keeps how things are, makes it softer, and has them as they were: a scene's own.
    case interlude(VolumePosition)

    var description: String {
        switch self {
        case .play(let items, let rooms, let shuffled, let mode):
            "play \(items) in \(rooms)\(shuffled ? " shuffled" : "") repeat \(mode)"
        case .command(let command): "\(command)"
        case .add(let items, let next): "add \(items)\(next ? " next" : "")"
        case .open(let item): "open \(item)"
        case .move(let from, let before): "move \(from) before \(before.map(String.init) ?? "the end")"
        case .remove(let place): "remove \(place)"
        case .undo: "undo"
        case .transfer(let kind, let rooms): "\(kind) \(rooms)"
        case .announce(let rooms): "announce in \(rooms)"
        case .interlude(let level): "snapshot, volume \(level.percent), restore"
        }
    }

    /// Who has words for it.
    func isKnown(to client: HouseClient) -> Bool {
        switch (self, client) {
        case (.interlude, .scene): true
        case (.interlude, _): false
        case (.open, .desktop): true
        case (.open, _): false
        case (.command(let command), .desktop):
            switch command {
            case .setVolume(_, let room): room == nil
            case .mute, .jump: false
            default: true
            }
        case (_, .desktop): false
        case (.command(.play), .terminal): false
        case (.command(let command), .scene):
            switch command {
            case .next, .previous, .toggle, .jump: false
            default: true
            }
        case (.move, .scene), (.remove, .scene), (.undo, .scene): false
        default: true
        }
    }
}

/// What came of it, for the one who asked.
enum HouseAnswer: Sendable, CustomStringConvertible {
    case done
    /// A `RouterError.Code`, the name of an outcome, or what a program ended with.
    case refused(String, String)

    var description: String {
        switch self {
        case .done: "done"
        case .refused(let code, let message): "\(code): \(message)"
        }
    }

    /// What the model lets a command that is right in itself end with, where others act at the same time: what it was to be
    /// done to has gone, or somebody else's command stands.
    static let allowedTogether: Set<String> = [
        "routeNotFound", "deviceNotFound", "mediaNotFound", "noSuchContent", "noActionableItem", "superseded",
        "commandSuperseded", "queueConflict", "unavailable", "cancelled", "partial", "routeBusy",
    ]
    /// And where nobody else acts: an item may have ended by itself since the queue was looked at.
    static let allowedAlone: Set<String> = ["noSuchContent", "noActionableItem", "unavailable", "queueConflict"]
}

/// Draws what is done next. The same seed gives the same draws; what they come to depends on what plays then.
struct HouseScript {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    struct Line: Sendable {
        var client: HouseClient
        var act: HouseAct
        /// Nil: the act needs none.
        var session: SessionSnapshot?
    }

    private enum Kind: CaseIterable {
        case play, pause, resume, toggle, next, previous, seek, seekBy, nearEnd, volume, roomVolume, mute, shuffle
        case mode, add, open, move, remove, undo, jump, expand, shrink, transfer, announce, stop, interlude

        var weight: Int {
            switch self {
            case .stop: 1
            case .play, .open, .undo, .shrink, .previous, .nearEnd: 3
            case .announce, .interlude, .transfer, .expand, .mute, .jump, .remove, .mode, .shuffle, .pause: 5
            case .seekBy, .roomVolume, .next, .move: 6
            case .toggle, .resume, .seek, .add, .volume: 8
            }
        }
    }

    mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &generator) < share }
    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    private mutating func kind() -> Kind {
        var place = number(0...(Kind.allCases.reduce(0) { $0 + $1.weight } - 1))
        for kind in Kind.allCases {
            if place < kind.weight { return kind }
            place -= kind.weight
        }
        return .resume
    }

    /// - Parameter sessions: those that are active.
    mutating func line(_ sessions: [SessionSnapshot]) -> Line {
        while true {
            // Drawn always, so that a line takes the same draws whatever plays.
            let kind = kind()
            let place = number(0...999)
            let session = sessions.isEmpty ? nil : sessions[place % sessions.count]
            var clients = HouseClient.allCases
            clients.shuffle(using: &generator)
            guard let act = act(kind, session, among: sessions),
                let client = clients.first(where: { act.isKnown(to: $0) })
            else { continue }
            return Line(client: client, act: act, session: session)
        }
    }

    private mutating func act(
        _ kind: Kind, _ session: SessionSnapshot?, among sessions: [SessionSnapshot]
    ) -> HouseAct? {
        let (first, second) = (number(0...999), number(0...999))
        let share = Double.random(in: 0...1, using: &generator)
        let taken = Set(sessions.flatMap { $0.members.map(\.name) })
        let free = MixedHouse.rooms.filter { !taken.contains($0) }
        guard let session else { return play(first, second, in: MixedHouse.rooms) }
        let items = session.queue.items
        let current = items.firstIndex { $0.id == session.queue.current } ?? 0
        let rooms = session.members.map(\.name)
        let level = VolumePosition(percent: Double(5 + Int(share * 65)))
        switch kind {
        case .play:
            // A second session beside the first one, and seldom in place of one.
            guard sessions.count == 1 ? !free.isEmpty : share < 0.1 else { return nil }
            return play(first, second, in: free.isEmpty ? MixedHouse.rooms : free)
        case .pause: return .command(.pause)
        case .resume: return .command(.play)
        case .toggle: return .command(.toggle)
        case .next: return .command(.next)
        case .previous: return .command(.previous)
        case .seek: return .command(.seek(to: MediaTime(seconds: (share * 45).rounded())))
        case .seekBy: return .command(.seekBy(MediaTime(seconds: (share * 20 - 8).rounded())))
        case .nearEnd: return .command(.seek(to: MediaTime(seconds: Double(MixedHouse.itemSeconds - 4))))
        case .volume: return .command(.setVolume(level, room: nil))
        case .roomVolume: return .command(.setVolume(level, room: rooms[first % rooms.count]))
        case .mute: return .command(.mute(first % 2 == 0 ? session.volume?.muted != true : false, room: nil))
        case .shuffle: return .command(.shuffle(session.queue.original == nil))
        case .mode: return .command(.repeatMode(RepeatMode.allCases[first % RepeatMode.allCases.count]))
        case .add: return items.count < 14 ? .add(Array(indices(first, second)), next: share < 0.4) : nil
        case .open: return items.count < 14 ? .open(first % MixedHouse.titles.count) : nil
        case .move:
            guard items.count > 1 else { return nil }
            let to = second % (items.count + 1)
            let from = first % items.count
            guard to != from else { return .move(from, before: nil) }
            return .move(from, before: to == items.count ? nil : to)
        case .remove: return items.count > 2 ? .remove(first % items.count) : nil
        case .undo: return .undo
        case .jump: return .command(.jump(items[(current + first) % items.count].id))
        case .expand: return free.isEmpty ? nil : .transfer(.expand, [free[first % free.count]])
        case .shrink: return rooms.count < 2 ? nil : .transfer(.shrink, [rooms[first % rooms.count]])
        case .transfer: return free.isEmpty ? nil : .transfer(.move, [free[first % free.count]])
        case .announce: return .announce(first % 3 == 0 ? MixedHouse.rooms : [MixedHouse.rooms[second % 4]])
        case .stop: return .command(.stop)
        case .interlude: return .interlude(level)
        }
    }

    private func indices(_ first: Int, _ second: Int) -> [Int] {
        (0...(second % 2)).map { (first + $0) % MixedHouse.titles.count }
    }

    private func play(_ first: Int, _ second: Int, in rooms: [String]) -> HouseAct {
        let items = (0..<(3 + second % 3)).map { (first + $0) % MixedHouse.titles.count }
        let one = rooms[first % rooms.count]
        let other = rooms[second % rooms.count]
        return .play(
            items, rooms: one == other || second % 3 == 0 ? [one] : [one, other], shuffled: first % 4 == 0,
            mode: second % 4 == 0 ? .off : .all)
    }
}
