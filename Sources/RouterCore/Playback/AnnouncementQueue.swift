import RouteModel

/// Lets announcements into rooms one after the other, in the order they came. Part of an actor's state.
struct AnnouncementQueue {
    struct Ticket {
        var routes: Set<RouteID>
        /// Of these, those where nothing of ours plays: whoever is to play there waits for its end.
        var idle: Set<RouteID> = []
        /// Ends it early: one for each room.
        var cuts: [AsyncStream<Void>.Continuation] = []
        var isCut = false
    }

    /// What waits and is said at most, at a time.
    static let limit = 32

    private var tickets: [(number: Int, ticket: Ticket)] = []
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var entered = 0

    var count: Int { tickets.count }
    var isFull: Bool { tickets.count >= Self.limit }

    mutating func enter(_ ticket: Ticket) -> Int {
        entered += 1
        tickets.append((entered, ticket))
        return entered
    }

    /// Whether nothing that came before is to be heard in one of the same rooms.
    func mayBegin(_ number: Int) -> Bool {
        guard let mine = tickets.first(where: { $0.number == number }) else { return true }
        return tickets.allSatisfy { $0.number >= number || $0.ticket.routes.isDisjoint(with: mine.ticket.routes) }
    }

    func isUnderWay(_ number: Int) -> Bool { tickets.contains { $0.number == number } }

    mutating func add(_ number: Int, cuts: [AsyncStream<Void>.Continuation], idle: Set<RouteID> = []) {
        guard let place = tickets.firstIndex(where: { $0.number == number }) else { return }
        tickets[place].ticket.cuts += cuts
        tickets[place].ticket.idle.formUnion(idle)
        if tickets[place].ticket.isCut { cuts.forEach { $0.finish() } }
    }

    mutating func cut(_ number: Int) {
        guard let place = tickets.firstIndex(where: { $0.number == number }) else { return }
        tickets[place].ticket.isCut = true
        tickets[place].ticket.cuts.forEach { $0.finish() }
    }

    func isCut(_ number: Int) -> Bool { tickets.contains { $0.number == number && $0.ticket.isCut } }

    /// Those that have to be over before something else begins on these routes, where nothing played.
    func standing(on routes: Set<RouteID>) -> [Int] {
        tickets.filter { !$0.ticket.idle.isDisjoint(with: routes) }.map(\.number)
    }

    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) { waiting.append(continuation) }

    mutating func leave(_ number: Int) {
        tickets.removeAll { $0.number == number }
        let woken = waiting
        waiting = []
        for continuation in woken { continuation.resume() }
    }
}
