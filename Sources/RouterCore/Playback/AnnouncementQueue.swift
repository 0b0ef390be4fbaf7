import RouteBackend
import RouteModel

/// Lets announcements into rooms one after the other, in the order they came. Part of an actor's state.
struct AnnouncementQueue {
    struct Ticket {
        /// Where it is to be heard, until that is over there.
        var routes: Set<RouteID>
        /// Of these, those where nothing of ours plays: whoever is to play there waits for its end.
        var idle: Set<RouteID> = []
        /// Ends it early, room by room.
        var cuts: [RouteID: AsyncStream<Void>.Continuation] = [:]
        /// Where it is not to be heard any more.
        let cut = LatestValue(Set<RouteID>())
        /// Nowhere any more.
        var isCut = false
    }

    /// What waits and is said at most, at a time.
    static let limit = 32

    private var tickets: [(number: Int, ticket: Ticket)] = []
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var entered = 0
    /// Whether nothing more is to be said.
    private(set) var isClosed = false

    var count: Int { tickets.count }
    var isFull: Bool { tickets.count >= Self.limit }

    private func place(_ number: Int) -> Int? { tickets.firstIndex { $0.number == number } }

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

    /// Of its routes, these are where nothing of ours plays.
    mutating func stand(_ number: Int, on idle: Set<RouteID>) {
        guard let place = place(number) else { return }
        tickets[place].ticket.idle = idle.intersection(tickets[place].ticket.routes)
    }

    /// What ends it early in one room; it is ended at once where it was cut there.
    mutating func add(_ number: Int, cut: AsyncStream<Void>.Continuation, on route: RouteID) {
        guard let place = place(number) else { return }
        tickets[place].ticket.cuts[route] = cut
        if isCut(number, on: [route]) { cut.finish() }
    }

    /// - Parameter routes: where; nil: everywhere.
    mutating func cut(_ number: Int, on routes: Set<RouteID>? = nil) {
        guard let place = place(number) else { return }
        if routes == nil { tickets[place].ticket.isCut = true }
        let routes = routes ?? tickets[place].ticket.routes
        for (route, cut) in tickets[place].ticket.cuts where routes.contains(route) { cut.finish() }
        tickets[place].ticket.cut.update { $0.formUnion(routes) }
        wake()
    }

    /// Cuts all, and lets none begin any more.
    mutating func close() {
        isClosed = true
        for (number, _) in tickets { cut(number) }
    }

    func isCut(_ number: Int) -> Bool { tickets.contains { $0.number == number && $0.ticket.isCut } }

    /// Whether it is cut in one of these.
    func isCut(_ number: Int, on routes: Set<RouteID>) -> Bool {
        tickets.contains { $0.number == number && ($0.ticket.isCut || !$0.ticket.cut.value.isDisjoint(with: routes)) }
    }

    /// Where it has been cut so far, and each time that this changes.
    func cuts(of number: Int) -> AsyncStream<Set<RouteID>> {
        place(number).map { tickets[$0].ticket.cut.stream() } ?? AsyncStream { $0.finish() }
    }

    /// Those that have to be over before something else begins on these routes, where nothing played.
    func standing(on routes: Set<RouteID>) -> [Int] {
        tickets.filter { !$0.ticket.idle.isDisjoint(with: routes) }.map(\.number)
    }

    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) { waiting.append(continuation) }

    /// It is over in these rooms, and they are free.
    mutating func ends(_ number: Int, on routes: Set<RouteID>) {
        guard let place = place(number) else { return }
        tickets[place].ticket.routes.subtract(routes)
        tickets[place].ticket.idle.subtract(routes)
        for route in routes { tickets[place].ticket.cuts[route] = nil }
        wake()
    }

    mutating func leave(_ number: Int) {
        tickets.removeAll { $0.number == number }
        wake()
    }

    private mutating func wake() {
        let woken = waiting
        waiting = []
        for continuation in woken { continuation.resume() }
    }
}
