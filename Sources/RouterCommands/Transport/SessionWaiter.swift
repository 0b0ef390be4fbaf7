import Foundation
import RouteBackend
import RouteModel

/// Waits for what `--wait` names.
struct SessionWaiter {
    let context: VerbContext
    var clock: any HostClock = SystemHostClock()

    /// Returns once it is so in every session. Throws `timeout` when `--timeout` has passed, and the error of a session
    /// that failed before it was so.
    ///
    /// Gives the sessions as they were last seen: how one has ended is in them.
    @discardableResult
    func wait(for condition: WaitCondition, in sessions: [SessionSnapshot]) async throws -> [SessionSnapshot] {
        try await context.within("waiting for “\(condition.rawValue)”") {
            try await withThrowingTaskGroup(of: [SessionSnapshot]?.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await follow(condition, sessions) }
                if context.isDaemon { group.addTask { try await isGone(condition) } }
                for try await last in group { if let last { return last } }
                throw CancellationError()
            }
        }
    }

    /// A daemon that was killed ends no stream of events: the next one may come.
    private func isGone(_ condition: WaitCondition) async throws -> [SessionSnapshot]? {
        var silent: Int64?
        while (try? await clock.sleep(nanoseconds: Self.glance)) != nil {
            do {
                _ = try await context.router.knownSessions()
                silent = nil
            } catch let error as RouterError where error.code == .daemonUnavailable {
                let since = silent ?? clock.now()
                guard clock.now() - since < Self.patience else { throw Self.gone(condition) }
                silent = since
            } catch {
                silent = nil
            }
        }
        return nil
    }

    private static let glance: Int64 = 1_000_000_000
    /// How long a daemon that is started again may take.
    private static let patience: Int64 = 10_000_000_000

    private static func gone(_ condition: WaitCondition) -> RouterError {
        RouterError(
            .daemonUnavailable, "the router ended while “\(condition.rawValue)” was waited for",
            hint: "Run “router daemon status”", scope: .session)
    }

    private func follow(_ condition: WaitCondition, _ sessions: [SessionSnapshot]) async throws -> [SessionSnapshot] {
        var left = Dictionary(sessions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var last = left
        var isFirst = true
        for await event in await context.router.events() {
            switch event.body {
            case .snapshot(_, let now):
                for id in Array(left.keys) {
                    let current = now.first { $0.id == id }
                    if let current { last[id] = current }
                    // It was there, and the daemon that knows nothing of it is another one.
                    guard current != nil || isFirst else { throw Self.cutShort }
                    try Self.take(current, id, &left, condition)
                }
                isFirst = false
            case .session(let now):
                if left[now.id] != nil { last[now.id] = now }
                try Self.take(now, now.id, &left, condition)
            default: continue
            }
            if left.isEmpty { return sessions.compactMap { last[$0.id] } }
        }
        throw Self.gone(condition)
    }

    private static var cutShort: RouterError {
        RouterError(
            .routeLost, "the session was cut short: the daemon has begun anew",
            hint: "Run “router session list” to see what can be taken up", scope: .session)
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
