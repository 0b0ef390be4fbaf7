import RouteBackend
import RouteModel

/// Lets one caller at a time begin something on a route, in the order they came; who wants other routes does not wait.
/// Part of an actor's state, not to be shared.
struct RouteLanes {
    private var callers: [(number: Int, routes: Set<RouteID>)] = []
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var entered = 0
    /// Of each route, when who took it over last had come.
    private var takers: [RouteID: Int] = [:]

    /// A number for who comes now, higher than all before.
    mutating func arrive() -> Int {
        entered += 1
        return entered
    }

    mutating func took(_ routes: Set<RouteID>, _ number: Int) {
        for route in routes { takers[route] = max(number, takers[route] ?? 0) }
    }

    /// Whether somebody who came later has taken the route over already.
    func isOvertaken(_ number: Int, on route: RouteID) -> Bool { takers[route].map { $0 > number } ?? false }

    mutating func enter(_ routes: Set<RouteID>) -> Int {
        let number = arrive()
        callers.append((number, routes))
        return number
    }

    /// Whether nobody who came before wants one of the same routes; else it waits with `wait`, and looks again.
    func mayGoOn(_ number: Int) -> Bool {
        guard let mine = callers.first(where: { $0.number == number }) else { return true }
        return callers.allSatisfy { $0.number >= number || $0.routes.isDisjoint(with: mine.routes) }
    }

    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) { waiting.append(continuation) }

    mutating func leave(_ number: Int) {
        callers.removeAll { $0.number == number }
        let woken = waiting
        waiting = []
        for continuation in woken { continuation.resume() }
    }
}

extension RouterEngine {
    /// Does `body` while nobody else begins anything on these routes.
    func inLane<Value: Sendable>(
        of routes: Set<RouteID>, _ body: () async throws -> Value
    ) async rethrows -> Value {
        let number = routeLanes.enter(routes)
        while !routeLanes.mayGoOn(number) { await withCheckedContinuation { routeLanes.wait($0) } }
        defer { routeLanes.leave(number) }
        return try await body()
    }

    /// Has what plays on the routes of these give way, and then does `body`, which begins something there: two who do so at
    /// the same time do it one after the other, or both would find the routes free.
    ///
    /// What was asked for first may be ready last. It leaves to the others what they have taken over by then: `body` is
    /// given the rest. Throws `commandSuperseded` where that is nothing.
    ///
    /// - Parameter number: what `arrive` gave as the wish for it came.
    func takeOver<Value: Sendable>(
        _ members: [Member], _ number: Int, _ body: ([Member]) async throws -> Value
    ) async throws -> Value {
        try await inLane(of: Set(members.map(\.route))) {
            let rest = try left(of: members, number)
            let routes = Set(rest.map(\.route))
            routeLanes.took(routes, number)
            await release(routes)
            return try await body(rest)
        }
    }

    /// Those of these that nobody has taken over who came later. Throws `commandSuperseded` where that is none, or where
    /// all are wanted. In their lane.
    func left(of members: [Member], _ number: Int, all: Bool = false) throws -> [Member] {
        let rest = members.filter { !routeLanes.isOvertaken(number, on: $0.route) }
        guard rest.count < members.count else { return rest }
        let lost = members.filter { routeLanes.isOvertaken(number, on: $0.route) }.map(\.name)
        let words = "something else was asked for in \(lost.joined(separator: ", ")) before this was ready"
        guard !rest.isEmpty, !all else {
            throw RouterError(
                .commandSuperseded, words, hint: "Ask for it again to have it there", scope: .command)
        }
        tell(Notice(.info, words))
        return rest
    }

    /// How many items are looked into before what plays gives way to them.
    private static let checkedItems = 3

    /// What plays there is not ended for items of which none can be played. Throws the first one's error.
    ///
    /// - Parameter fetched: by the devices themselves, which may reach what we do not.
    func checkBefore(_ items: [QueueItem], takingOver routes: Set<RouteID>, fetched: Bool) async throws {
        guard items.count <= Self.checkedItems else { return }
        var isPlaying = false
        for session in running where await !session.routes.isDisjoint(with: routes) { isPlaying = true }
        guard isPlaying else { return }
        var failure: RouterError?
        for item in items {
            if case .live = item.source { return }
            if fetched, case .url = item.source { return }
            do {
                _ = try await media.facts(item.source)
                return
            } catch {
                failure = failure ?? RouterError(wrapping: error)
            }
        }
        if let failure { throw failure }
    }

    static var isEnding: RouterError {
        RouterError(.cancelled, "router is ending", hint: "Start it again", scope: .command)
    }
}
