import Foundation

/// The clocks that scenes and schedules go by; tests turn them by hand.
public protocol SceneClock: Sendable {
    /// Nanoseconds of a clock that never jumps.
    func now() -> Int64
    /// Throws `CancellationError` when the task is cancelled meanwhile.
    func sleep(until instant: Int64) async throws
    /// Seconds since 1970, which may jump.
    func wallTime() -> Double
    /// Of the local time of day, as it is now.
    func timeZone() -> TimeZone
}

extension SceneClock {
    func sleep(seconds: Double) async throws { try await sleep(until: now() + Int64(seconds * 1e9)) }

    /// The local time of day in minutes after midnight, and the day of the week, 1 (Monday) to 7.
    func localTime() -> (minutes: Int, day: Int) {
        let local = LocalTime(wall: wallTime(), zone: timeZone())
        return (local.minutes, local.weekday)
    }
}

/// The machine's own clocks.
public struct SystemSceneClock: SceneClock {
    public init() {}

    public func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    public func sleep(until instant: Int64) async throws {
        let wait = instant - now()
        if wait > 0 { try await Task.sleep(nanoseconds: UInt64(wait)) }
        try Task.checkCancellation()
    }

    public func wallTime() -> Double { Date().timeIntervalSince1970 }
    public func timeZone() -> TimeZone { TimeZone.autoupdatingCurrent }
}

/// Local time by the zone's offset, with the days counted from 1970-01-01.
struct LocalTime: Equatable {
    var daysSince1970: Int
    /// 0 to 1439.
    var minutes: Int

    init(daysSince1970: Int, minutes: Int) {
        self.daysSince1970 = daysSince1970
        self.minutes = minutes
    }

    init(wall: Double, zone: TimeZone) {
        let local = Int(wall.rounded(.down)) + Self.offset(wall, zone)
        daysSince1970 = Self.floorDivide(local, 86_400)
        minutes = (local - daysSince1970 * 86_400) / 60
    }

    /// 1 is Monday, 7 Sunday; the first of January 1970 was a Thursday.
    var weekday: Int { ((daysSince1970 + 3) % 7 + 7) % 7 + 1 }

    /// Seconds since 1970 when the zone's clocks show this for the first time. Where they leap over it, the instant of
    /// the leap.
    func instant(zone: TimeZone) -> Double {
        let local = Double(daysSince1970 * 86_400 + minutes * 60)
        let before = Double(Self.offset(local - 86_400, zone))
        let after = Double(Self.offset(local + 86_400, zone))
        let fitting = [local - before, local - after].filter { Double(Self.offset($0, zone)) + $0 == local }
        if let first = fitting.min() { return first }
        // Between the two lies the leap.
        var early = local - max(before, after) - 1
        var late = local - min(before, after) + 1
        while late - early > 0.5 {
            let middle = ((early + late) / 2).rounded()
            guard middle > early, middle < late else { break }
            if Double(Self.offset(middle, zone)) == before { early = middle } else { late = middle }
        }
        return late
    }

    private static func offset(_ wall: Double, _ zone: TimeZone) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: wall))
    }

    private static func floorDivide(_ value: Int, _ divisor: Int) -> Int {
        value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
    }
}
