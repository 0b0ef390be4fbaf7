import RouteModel

/// Of volumes, and of seeks, that come in a short row only the last goes to the devices (`model.md` section 5): the first
/// at once, so that a lone command waits for nobody, and what comes soon after it when its time is over. Pure.
struct CommandCoalescer: Sendable {
    static let windowNanoseconds: Int64 = 150_000_000

    /// What takes the place of each other.
    indirect enum Kind: Sendable, Hashable {
        case volume(room: String?)
        case seek
        /// Only while an item plays, or until an instant: such commands take the place of their like alone.
        case wanted(Kind, expected: ItemID?, timed: Bool)

        init?(_ command: RemoteCommand) {
            switch command {
            case .setVolume(_, let room), .stepVolume(_, let room): self = .volume(room: room?.lowercased())
            case .seek, .seekBy: self = .seek
            default: return nil
            }
        }
    }

    struct Ticket: Sendable {
        var kind: Kind
        var number: Int
        /// What is to be done, with what waited before it.
        var command: RemoteCommand
        /// Whose it counts as.
        var origin: CommandOrigin
        /// When it may go on, in host nanoseconds; nil: at once.
        var until: Int64?
    }

    private var latest: [Kind: Int] = [:]
    /// The last one of each kind that says where to, and not by how much.
    private var latestPlace: [Kind: Int] = [:]
    private var passed: [Kind: Int64] = [:]
    /// What waits is to do, with what was merged into it.
    private var waiting: [Kind: (command: RemoteCommand, origin: CommandOrigin)] = [:]
    /// How many have come.
    private(set) var count = 0

    /// A command has come.
    mutating func enter(
        _ command: RemoteCommand, _ kind: Kind, from origin: CommandOrigin = .system, at now: Int64
    ) -> Ticket {
        forgetOld(at: now)
        count += 1
        latest[kind] = count
        if Self.saysWhere(command) { latestPlace[kind] = count }
        let earlier = waiting.removeValue(forKey: kind)
        let whole = earlier.map { Self.merged($0.command, command) } ?? command
        let whose = earlier.map { Self.origin(of: $0, before: (command, origin)) } ?? origin
        var ticket = Ticket(kind: kind, number: count, command: whole, origin: whose, until: nil)
        guard let last = passed[kind], now - last < Self.windowNanoseconds else {
            passed[kind] = now
            return ticket
        }
        waiting[kind] = (whole, whose)
        ticket.until = last + Self.windowNanoseconds
        return ticket
    }

    /// What is to be done for one that has waited; nil where a later one does it, or has taken its place.
    mutating func leave(_ ticket: Ticket, at now: Int64) -> RemoteCommand? {
        guard latest[ticket.kind] == ticket.number else { return nil }
        passed[ticket.kind] = now
        return waiting.removeValue(forKey: ticket.kind)?.command
    }

    /// Kinds are made of names that anybody may send.
    private mutating func forgetOld(at now: Int64) {
        guard passed.count > Self.maximumKinds else { return }
        passed = passed.filter { now - $0.value < Self.windowNanoseconds || waiting[$0.key] != nil }
        let kept = passed
        latest = latest.filter { kept[$0.key] != nil }
        latestPlace = latestPlace.filter { kept[$0.key] != nil }
    }

    private static let maximumKinds = 64

    var kindsKept: Int { passed.count }

    /// Whether one that says where to has been overtaken on its way.
    func isOvertaken(_ ticket: Ticket) -> Bool { (latestPlace[ticket.kind] ?? 0) > ticket.number }

    static func saysWhere(_ command: RemoteCommand) -> Bool {
        switch command {
        case .setVolume, .seek: true
        default: false
        }
    }

    /// Whose the sum of two is: of the one that may make it less loud at a time, as far as what it asked for is in it.
    private static func origin(
        of first: (command: RemoteCommand, origin: CommandOrigin),
        before second: (command: RemoteCommand, origin: CommandOrigin)
    ) -> CommandOrigin {
        guard !saysWhere(second.command) else { return second.origin }
        let policy = CommandPolicy()
        let louder = [first, second].filter { part in
            if case .stepVolume(let step, _) = part.command { step > 0 } else { true }
        }
        return louder.map(\.origin).first { policy.longestStep(from: $0) != nil } ?? second.origin
    }

    /// Of two in a row: the later place, or the sum of the steps.
    static func merged(_ first: RemoteCommand, _ second: RemoteCommand) -> RemoteCommand {
        switch (first, second) {
        case (.stepVolume(let one, let room), .stepVolume(let two, _)):
            .stepVolume(max(-1, min(1, one + two)), room: room)
        case (.setVolume(let level, let room), .stepVolume(let step, _)):
            .setVolume(VolumePosition(level.value + step), room: room)
        case (.seekBy(let one), .seekBy(let two)): .seekBy(one + two)
        case (.seek(let place), .seekBy(let step)): .seek(to: max(.zero, place + step))
        default: second
        }
    }
}
