import Foundation
import RouteModel

/// When a schedule's time of day comes; a pure function of clock and zone.
enum ScheduleTimes {
    struct Due: Equatable {
        /// Seconds since 1970.
        var instant: Double
        var day: Int
    }

    /// Days that are looked back over, at most.
    private static let window = 8

    /// The times after `last` and until `now`, oldest first. Where clocks leap over a time, it comes with the leap;
    /// where they show it twice, it comes once.
    static func due(minutes: Int, days: [Int], after last: Double, until now: Double, zone: TimeZone) -> [Due] {
        guard last < now else { return [] }
        let end = LocalTime(wall: now, zone: zone).daysSince1970
        let start = max(LocalTime(wall: last, zone: zone).daysSince1970 - 1, end - window)
        return (start...end).compactMap { day in
            let time = LocalTime(daysSince1970: day, minutes: minutes)
            guard days.isEmpty || days.contains(time.weekday) else { return nil }
            let instant = time.instant(zone: zone)
            return instant > last && instant <= now ? Due(instant: instant, day: day) : nil
        }
    }
}

/// Tells from what a router says in which rooms an item has come to its end.
struct ItemEndings {
    private var last: [SessionID: SessionSnapshot] = [:]
    /// Sessions in which somebody chose another item.
    private var chosen: Set<SessionID> = []

    /// As near to its end an item may be left to count as ended: devices report positions in steps.
    private static let nearEnd = 3.0

    /// The rooms in which an item has just ended.
    mutating func see(_ body: RouterEvent.Body) -> Set<String> {
        switch body {
        case .snapshot(_, let sessions):
            last = Dictionary(sessions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            chosen = []
            return []
        case .command(let report):
            switch report.command {
            case .next, .previous, .jump, .stop, .skipAd: if !report.outcome.isError { chosen.insert(report.session) }
            default: break
            }
            return []
        case .session(let session):
            defer { last[session.id] = session.connection == .ended ? nil : session }
            guard let before = last[session.id], let item = before.currentItem, SceneHouse.state(before) != .stopped
            else { return [] }
            let finished = session.media == .stopped && session.stopReason == .finished
            guard finished || session.queue.current != before.queue.current else { return [] }
            let wasChosen = chosen.remove(session.id) != nil
            guard finished || !wasChosen && Self.wasNearEnd(before, item, now: session.now) else { return [] }
            return Set(before.members.map(\.name))
        default: return []
        }
    }

    private static func wasNearEnd(_ session: SessionSnapshot, _ item: QueueItem, now: Int64) -> Bool {
        guard let anchor = session.anchor, anchor.item == item.id,
            let duration = anchor.duration ?? item.metadata.duration
        else { return true }
        return anchor.position(at: now).seconds >= duration.seconds - nearEnd
    }
}
