import Testing

@testable import Pacing

@Suite("What is due, by a virtual clock")
struct PacketScheduleTests {
    static let policy = PacketSchedule.Policy(
        capacity: 64, history: 32, slack: 20, burst: 4, burstPause: 5)

    @Test("Packets go at their deadlines, and those soon after go along")
    func deadlines() {
        var schedule = PacketSchedule(policy: Self.policy)
        #expect(schedule.nextWake == nil)
        for index in 0..<6 { _ = schedule.add(deadline: 100 + Int64(index) * 8) }
        #expect(schedule.nextWake == 100)
        #expect(schedule.take(at: 99).isEmpty)
        #expect(schedule.take(at: 100) == 0..<3)
        #expect(schedule.nextWake == 124)
        #expect(schedule.take(at: 124) == 3..<6)
        #expect(schedule.nextWake == nil)
    }

    @Test("What is late goes in lots with pauses between")
    func lateness() {
        var schedule = PacketSchedule(policy: Self.policy)
        for index in 0..<10 { _ = schedule.add(deadline: Int64(index)) }
        #expect(schedule.take(at: 1000) == 0..<4)
        #expect(schedule.nextWake == 1005)
        #expect(schedule.take(at: 1002).isEmpty)
        #expect(schedule.take(at: 1005) == 4..<8)
        #expect(schedule.take(at: 1010) == 8..<10)
        #expect(schedule.nextWake == nil)
    }

    @Test("A thousand streams of virtual seconds: nothing is late, nothing is lost, few wake-ups")
    func virtualMinute() {
        var schedule = PacketSchedule(policy: PacketSchedule.Policy(slack: 20_000_000))
        var now: Int64 = 0
        var wakes = 0
        var sent = 0
        var added = 0
        let period: Int64 = 7_981_859
        while sent < 7500 {
            while added < 7500, schedule.hasRoom {
                _ = schedule.add(deadline: Int64(added) * period)
                added += 1
            }
            now = max(now, schedule.nextWake ?? now)
            let due = schedule.take(at: now)
            wakes += 1
            for position in due {
                #expect(position == sent)
                #expect(schedule.deadline(of: position) >= now)
                sent += 1
            }
        }
        #expect(wakes <= 2600)
    }

    @Test("What could not be sent is tried again")
    func unsent() {
        var schedule = PacketSchedule(policy: Self.policy)
        for _ in 0..<3 { _ = schedule.add(deadline: 10) }
        #expect(schedule.take(at: 10) == 0..<3)
        schedule.unsend(2, retry: 12)
        #expect(schedule.nextWake == 12)
        #expect(schedule.take(at: 12) == 1..<3)
    }

    @Test("Room ends before history does")
    func room() {
        var schedule = PacketSchedule(policy: Self.policy)
        for index in 0..<32 { _ = schedule.add(deadline: Int64(index)) }
        #expect(!schedule.hasRoom)
        while schedule.pending > 0 { _ = schedule.take(at: 1_000_000 + Int64(schedule.sent) * 10) }
        for index in 0..<32 { _ = schedule.add(deadline: Int64(index)) }
        // 64 are held: the 32 that were sent can all be had again.
        #expect(schedule.sentPosition(back: 31) == 0)
        #expect(schedule.sentPosition(back: 32) == nil)
        #expect(schedule.dropPending() == 32)
        #expect(schedule.nextWake == nil)
        #expect(schedule.hasRoom)
    }

    @Test("Beats: close together at first, then steady; missed ones are left out")
    func beats() {
        var beats = BeatSchedule(start: 100, opening: [0, 10, 30], period: 50)
        var seen: [(Int64, Bool)] = []
        for now in stride(from: Int64(100), through: 260, by: 1) {
            if let beat = beats.take(at: now) { seen.append((now, beat.opening)) }
        }
        #expect(seen.map(\.0) == [100, 110, 130, 180, 230])
        #expect(seen.map(\.1) == [true, true, true, false, false])
        #expect(beats.take(at: 1000)?.opening == false)
        #expect(beats.take(at: 1000) == nil)
        #expect(beats.next == 1030)
        var missed = BeatSchedule(start: 0, opening: [0, 10], period: 50)
        #expect(missed.take(at: 500)?.opening == true)
    }

    @Test("Statistics")
    func statistics() {
        var statistics = PacingStatistics()
        #expect(statistics.medianLateness == 0)
        for _ in 0..<99 { statistics.note(lateness: 70_000) }
        statistics.note(lateness: 5_000_000)
        #expect(statistics.sent == 100)
        #expect((70_000...80_000).contains(statistics.medianLateness))
        #expect((70_000...80_000).contains(statistics.lateness99))
        #expect(statistics.maximumLateness == 5_000_000)
        #expect((4_500_000...5_000_000).contains(statistics.percentile(1)))
    }
}
