import Foundation
import RouteModel

/// Waits for what `--wait` names.
struct SessionWaiter {
    let context: VerbContext

    /// Returns once it is so in every session. Throws `timeout` when `--timeout` has passed, and the error of a session
    /// that failed before it was so.
    ///
    /// Gives the sessions as they were last seen: how one has ended is in them.
    @discardableResult
    func wait(for condition: WaitCondition, in sessions: [SessionSnapshot]) async throws -> [SessionSnapshot] {
        let router = context.router
        return try await context.within("waiting for “\(condition.rawValue)”") {
            var left = Dictionary(sessions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            var last = left
            for await event in await router.events() {
                switch event.body {
                case .snapshot(_, let now):
                    for id in Array(left.keys) {
                        let current = now.first { $0.id == id }
                        if let current { last[id] = current }
                        try Self.take(current, id, &left, condition)
                    }
                case .session(let now):
                    if left[now.id] != nil { last[now.id] = now }
                    try Self.take(now, now.id, &left, condition)
                default: continue
                }
                if left.isEmpty { return sessions.compactMap { last[$0.id] } }
            }
            throw RouterError(
                .daemonUnavailable, "the router ended while “\(condition.rawValue)” was waited for",
                hint: "Run “router daemon status”", scope: .session)
        }
    }

    private static func take(
        _ now: SessionSnapshot?, _ id: SessionID, _ left: inout [SessionID: SessionSnapshot],
        _ condition: WaitCondition
    ) throws {
        guard let before = left[id] else { return }
        if isMet(condition, before: before, now: now) {
            left[id] = nil
        } else if let now, now.connection == .failed {
            throw now.error
                ?? RouterError(.routeLost, "the session failed", hint: "Run “router status”", scope: .session)
        } else if now == nil || now?.connection == .ended {
            throw RouterError(
                .unavailable, "the session ended before it was “\(condition.rawValue)”",
                hint: "Run “router status” to see what plays", scope: .session)
        }
    }

    /// - Parameter now: nil once the session is gone.
    static func isMet(_ condition: WaitCondition, before: SessionSnapshot, now: SessionSnapshot?) -> Bool {
        guard let now else { return condition == .ended }
        switch condition {
        case .observed: return true
        case .playing: return now.media == .playing
        case .paused: return now.media == .paused
        case .item: return now.queue.current != before.queue.current
        case .ended: return !now.isThere
        }
    }
}
