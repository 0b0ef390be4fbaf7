import RouteModel

/// Lets one caller at a time begin something on a route, in the order they came; who wants other routes does not wait.
/// Part of an actor's state, not to be shared.
struct RouteLanes {
    private var callers: [(number: Int, routes: Set<RouteID>)] = []
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var entered = 0

    mutating func enter(_ routes: Set<RouteID>) -> Int {
        entered += 1
        callers.append((entered, routes))
        return entered
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
