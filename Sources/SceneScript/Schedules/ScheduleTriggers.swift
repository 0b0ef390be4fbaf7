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

/// Whether a device that is found now has just appeared. While discovery begins, or works again after it did not, what
/// it finds was there before.
struct DiscoveryWatch {
    /// Since when every way of finding devices has told all that it found at first; nil while one has not.
    private var complete: Int64?
    /// Since when every way has been looking.
    private var looking: Int64?

    /// Devices answer a little after they are asked: nanoseconds after discovery was complete.
    static let grace: Int64 = 10_000_000_000
    /// Where something keeps discovery from ever being complete, this long after it began.
    static let longGrace: Int64 = 60_000_000_000

    mutating func see(_ states: [DiscoveryState], now: Int64) {
        complete = states.allSatisfy { $0.status == .complete } ? complete ?? now : nil
        looking = states.allSatisfy { $0.status == .complete || $0.status == .scanning } ? looking ?? now : nil
    }

    func isSettled(now: Int64) -> Bool {
        complete.map { now - $0 >= Self.grace } ?? false || looking.map { now - $0 >= Self.longGrace } ?? false
    }
}

/// Tells from what a router says in which rooms an item has come to its end.
struct ItemEndings {
    /// How the last play of each session ended that is known of; nil where none has.
    private var last: [SessionID: ItemEnd?] = [:]

    /// The rooms in which an item has just been heard to its end.
    mutating func see(_ body: RouterEvent.Body) -> Set<String> {
        switch body {
        case .snapshot(_, let sessions):
            last = Dictionary(sessions.map { ($0.id, $0.lastEnd) }, uniquingKeysWith: { first, _ in first })
            return []
        case .session(let session):
            let before = last.updateValue(session.lastEnd, forKey: session.id)
            if session.connection == .ended { last[session.id] = nil }
            // What ended in a session that nothing was known of may have ended long ago.
            guard let before, before != session.lastEnd, session.lastEnd?.reason == .finished else { return [] }
            return Set(session.members.map(\.roomName))
        default: return []
        }
    }
}
