import Foundation
import RouteModel
import RouterTestKit
import Testing

@testable import SceneScript

@Suite struct ScheduleTests {
    private static let scene = SceneRequest(
        text: "version: 1\nname: S\ntargets: {kitchen: Kitchen}\nsteps:\n  - play: a.mp3\n", path: "s.yaml",
        workingDirectory: "/scenes")

    private func at(_ hour: Int, _ minute: Int, days: [Int] = [], id: String = "s") -> SceneSchedule {
        SceneSchedule(id: id, trigger: .time(minutes: hour * 60 + minute, days: days), scene: Self.scene)
    }

    private func plays(_ rig: SceneRig) async -> Int { await rig.house.calls.count { $0.hasPrefix("play") } }

    // MARK: Times

    private func due(
        _ hour: Int, _ minute: Int, _ from: Double, _ to: Double, days: [Int] = [], zone: String = "Europe/Berlin"
    ) -> [Double] {
        ScheduleTimes.due(
            minutes: hour * 60 + minute, days: days, after: from, until: to,
            zone: TimeZone(identifier: zone) ?? .gmt
        ).map(\.instant)
    }

    @Test("R4 a time of day comes once a day, on the days that are named") func days() {
        let monday = wall(2026, 11, 23, 0, 0)
        #expect(due(6, 45, monday, monday + 7 * 86_400).count == 7)
        #expect(
            due(6, 45, monday, monday + 7 * 86_400, days: [1, 7]) == [
                wall(2026, 11, 23, 6, 45), wall(2026, 11, 29, 6, 45),
            ])
        #expect(due(0, 0, monday - 1, monday) == [monday] && due(0, 0, monday, monday + 1).isEmpty)
        #expect(due(23, 59, monday, monday + 10) == [])
        #expect(due(6, 45, monday + 10, monday).isEmpty, "a clock that goes back makes nothing due")
    }

    @Test("R4 over a change of clocks a time comes once: with the leap where clocks leap over it, and the first of two")
    func changesOfClocks() {
        // In 2026 Berlin's clocks leap from 2:00 to 3:00 on 29 March, and go back from 3:00 to 2:00 on 25 October.
        let march = wall(2026, 3, 29, 0, 0)
        #expect(due(2, 30, march, march + 86_400) == [march + 2 * 3600])
        #expect(due(3, 0, march, march + 86_400) == [march + 2 * 3600])
        #expect(due(4, 0, march, march + 86_400) == [march + 3 * 3600])
        let october = wall(2026, 10, 25, 0, 0)
        #expect(due(2, 30, october, october + 25 * 3600) == [october + 2.5 * 3600])
        #expect(due(3, 30, october, october + 25 * 3600) == [october + 4.5 * 3600])
        #expect(due(12, 0, march - 86_400, march + 86_400, zone: "Australia/Lord_Howe").count == 2)
        #expect(due(0, 30, march - 86_400, march + 2 * 86_400, zone: "Pacific/Kiritimati").count == 3)
    }

    @Test("R4 every minute of a year of two zones comes once a day") func everyDay() {
        for zone in ["Europe/Berlin", "America/St_Johns", "America/Sao_Paulo", "Asia/Kolkata"] {
            let start = wall(2026, 1, 1, 0, 0, zone: zone)
            for minutes in stride(from: 0, to: 1440, by: 97) {
                var last = start - 1
                var count = 0
                for step in 1...(365 * 4) {
                    let now = start + Double(step) * 21_600 - 1
                    count += due(minutes / 60, minutes % 60, last, now, zone: zone).count
                    last = now
                }
                #expect(count == 365, "\(zone) \(minutes)")
            }
        }
    }

    @Test("R4 local time is the calendar's") func localTime() {
        var calendar = Calendar(identifier: .gregorian)
        let zone = TimeZone(identifier: "America/New_York") ?? .gmt
        calendar.timeZone = zone
        for step in 0..<400 {
            let wall = 1_700_000_000 + Double(step) * 987_654
            let local = LocalTime(wall: wall, zone: zone)
            let parts = calendar.dateComponents([.hour, .minute, .weekday], from: Date(timeIntervalSince1970: wall))
            #expect(local.minutes == (parts.hour ?? 0) * 60 + (parts.minute ?? 0))
            #expect(local.weekday == ((parts.weekday ?? 1) + 5) % 7 + 1)
        }
        #expect(LocalTime(wall: -1, zone: .gmt) == LocalTime(daysSince1970: -1, minutes: 1439))
    }

    // MARK: Keeping them

    @Test("R4 a scene runs at its time of day, once, and again the next day") func runs() async throws {
        let rig = SceneRig(clock: TestClock(wall: wall(2026, 11, 22, 6, 40)))
        try await rig.run {
            try await rig.host.saveSchedule(at(6, 45))
            #expect(await rig.clock.pass(step: 10) { await plays(rig) == 1 })
            #expect(abs(rig.clock.wallTime() - wall(2026, 11, 22, 6, 45)) < 30)
            let run = try #require(try await rig.host.sceneRuns().first)
            #expect(run.startedBy == "s" && run.name == "S")
            #expect(await rig.clock.pass(step: 100) { await plays(rig) == 2 })
            #expect(abs(rig.clock.wallTime() - wall(2026, 11, 23, 6, 45)) < 210)
        }
        #expect(await rig.notices.all.isEmpty)
    }

    @Test("R4 a clock that is set back does not run a schedule twice; one that jumps forward tells what was missed")
    func jumps() async throws {
        let rig = SceneRig(clock: TestClock(wall: wall(2026, 11, 22, 6, 40)))
        try await rig.run {
            try await rig.host.saveSchedule(at(6, 45))
            #expect(await rig.clock.pass(step: 10) { await plays(rig) == 1 })
            rig.clock.jump(-3600)
            #expect(await rig.clock.pass(step: 30) { rig.clock.wallTime() > wall(2026, 11, 22, 7, 0) })
            #expect(await plays(rig) == 1)
            #expect(await rig.notices.all.isEmpty)
            rig.clock.jump(86_400)
            #expect(await rig.clock.pass(step: 5) { await !rig.notices.all.isEmpty })
            #expect(await plays(rig) == 1)
            #expect(await rig.notices.all.first?.message.hasPrefix("the schedule “s” at 06:45 was missed") == true)
        }
    }

    @Test("R4 schedules outlive the process; what was missed meanwhile is told and not run") func restarts()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "scenes-\(UInt64.random(in: 0...UInt64.max))")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = FileScheduleStore(directory: folder.path)
        let first = SceneRig(schedules: store, clock: TestClock(wall: wall(2026, 11, 22, 6, 0)))
        try await first.run {
            try await first.host.saveSchedule(at(6, 45))
            try await first.host.saveSchedule(at(23, 0, id: "late"))
            try await first.host.saveSchedule(at(6, 50, id: "gone"))
            try await first.host.removeSchedule("gone")
        }
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path + "/schedules.json")
        #expect((mode[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["schedules.json"])

        let second = SceneRig(
            schedules: FileScheduleStore(directory: folder.path), clock: TestClock(wall: wall(2026, 11, 22, 22, 59)))
        try await second.run { () async throws in
            #expect(try await second.host.schedules().map(\.id) == ["s", "late"])
            #expect(await second.clock.pass(step: 5) { await plays(second) == 1 })
            #expect(try await second.host.sceneRuns().map(\.startedBy) == ["late"])
            #expect(await second.notices.all.map(\.severity) == [.warning])
        }
        // What ran is not told as missed.
        let third = SceneRig(
            schedules: FileScheduleStore(directory: folder.path), clock: TestClock(wall: wall(2026, 11, 23, 1, 0)))
        try await third.run {
            #expect(await eventually { third.clock.manual.sleepers > 0 })
            #expect(await third.notices.all.isEmpty)
        }
    }

    @Test("R4 a damaged file is put aside and told of, and a folder that cannot be written is an error")
    func damaged() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "scenes-\(UInt64.random(in: 0...UInt64.max))")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try "{\"schedules\": [".write(to: folder.appending(path: "schedules.json"), atomically: true, encoding: .utf8)
        let rig = SceneRig(schedules: FileScheduleStore(directory: folder.path))
        #expect(try await rig.host.schedules().isEmpty)
        #expect(await rig.notices.all.first?.message.contains("schedules.json.broken") == true)
        try await rig.host.saveSchedule(at(6, 45))
        #expect(
            Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) == [
                "schedules.json", "schedules.json.broken",
            ])
        let blocked = SceneRig(schedules: FileScheduleStore(directory: folder.path + "/schedules.json/x"))
        let error = await #expect(throws: RouterError.self) { try await blocked.host.saveSchedule(at(6, 45)) }
        #expect(error?.code == .storage)
        #expect(try await blocked.host.schedules().isEmpty, "what could not be kept is not there")
    }

    @Test("R4 schedules that cannot be read are not written over: nothing is saved until they can be")
    func unreadable() async throws {
        let store = LockedStore(at(6, 45, id: "old"))
        let rig = SceneRig(schedules: store)
        for _ in 0..<2 {
            let error = await #expect(throws: RouterError.self) { try await rig.host.saveSchedule(at(7, 0)) }
            #expect(error?.code == .storage)
        }
        await #expect(throws: RouterError.self) { _ = try await rig.host.schedules() }
        await #expect(throws: RouterError.self) { try await rig.host.removeSchedule("old") }
        #expect(await rig.notices.all.count == 1, "told once")
        #expect(await store.record.schedules.map(\.id) == ["old"])
        await store.unlock()
        try await rig.host.saveSchedule(at(7, 0))
        #expect(await store.record.schedules.map(\.id) == ["old", "s"])
    }

    @Test("R4 a named pipe or a folder in place of the schedules is an error, and holds nobody up") func noFile()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "scenes-\(UInt64.random(in: 0...UInt64.max))")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try #require(mkfifo(folder.path + "/schedules.json", 0o600) == 0)
        let rig = SceneRig(schedules: FileScheduleStore(directory: folder.path))
        let error = await #expect(throws: RouterError.self) { try await rig.host.saveSchedule(at(7, 0)) }
        #expect(error?.message.hasSuffix("cannot be read: it is no file") == true)
        var information = stat()
        #expect(stat(folder.path + "/schedules.json", &information) == 0 && information.st_mode & S_IFMT == S_IFIFO)
    }

    @Test("R4 a schedule that makes no sense is refused") func refused() async throws {
        let rig = SceneRig()
        let wrong = SceneRequest(text: "version: 1\nname: S\nsteps:\n  - pley: x\n", path: "s.yaml")
        let schedules = [
            at(24, 0), at(0, -1), at(6, 0, days: [8]), at(6, 0, id: ""),
            at(6, 0, id: String(repeating: "x", count: 65)),
            SceneSchedule(id: "a\nb", trigger: .time(minutes: 1, days: []), scene: Self.scene),
            SceneSchedule(id: "r", trigger: .appears(room: ""), scene: Self.scene),
            SceneSchedule(id: "r", trigger: .time(minutes: 1, days: []), scene: wrong),
        ]
        for schedule in schedules {
            await #expect(throws: RouterError.self) { try await rig.host.saveSchedule(schedule) }
        }
        let slash = await #expect(throws: RouterError.self) { try await rig.host.saveSchedule(at(6, 0, id: "d e/f")) }
        #expect(slash?.message.contains("“/”") == true)
        #expect(try await rig.host.schedules().isEmpty)
        try await rig.host.saveSchedule(at(6, 0, id: "wake-up"))
        let error = await #expect(throws: RouterError.self) { try await rig.host.removeSchedule("wakeup") }
        #expect(error?.hint == "Did you mean “wake-up”?")
        try await rig.host.removeSchedule("wake-up")
    }

    // MARK: Events

    @Test("R4 a scene runs when a room appears, not for those that are there, and not with each flap")
    func appears() async throws {
        let rig = SceneRig(["Kitchen"])
        try await rig.run {
            try await rig.host.saveSchedule(
                SceneSchedule(id: "patio", trigger: .appears(room: "Patio"), scene: Self.scene))
            try await rig.host.saveSchedule(
                SceneSchedule(id: "kitchen", trigger: .appears(room: "Kitchen"), scene: Self.scene))
            try #require(await eventually { await rig.house.readerCount > 0 })
            #expect(await rig.clock.pass(step: 1) { rig.clock.now() > 15_000_000_000 })
            await rig.house.appears("Attic")
            await rig.house.appears("Patio")
            #expect(await eventually { await plays(rig) == 1 })
            #expect(try await rig.host.sceneRuns().map(\.startedBy) == ["patio"])
            await rig.house.disappears("Patio")
            await rig.house.appears("Patio")
            await rig.house.drops()
            #expect(await rig.clock.pass(step: 1) { rig.clock.now() > 85_000_000_000 })
            try #require(await eventually { await rig.house.readerCount > 0 })
            #expect(await plays(rig) == 1)
            await rig.house.disappears("Patio")
            await othersHaveRun()
            await rig.house.appears("Patio")
            #expect(await eventually { await plays(rig) == 2 })
        }
    }

    @Test("R4 a scene runs when an item has ended, and not when somebody goes on to the next") func itemEnds()
        async throws
    {
        let rig = SceneRig(["Kitchen", "Bath"])
        let text = "version: 1\nname: S\nsteps:\n  - log: ended\n"
        try await rig.run {
            try await rig.host.saveSchedule(
                SceneSchedule(
                    id: "end", trigger: .itemEnds(room: "Bath"), scene: SceneRequest(text: text, path: "s.yaml")))
            try #require(await eventually { await rig.house.readerCount > 0 })
            _ = try await rig.house.play(
                PlayRequest(what: ["a", "b", "c", "d"], rooms: ["Bath"], workingDirectory: "/m"))
            await rig.house.person(.next, in: "Bath")
            await othersHaveRun()
            #expect(try await rig.host.sceneRuns().isEmpty, "nothing ended: somebody went on")
            await rig.house.itemEnds(in: "Bath")
            #expect(try await eventually { try await rig.host.sceneRuns().map(\.startedBy) == ["end"] })
            await rig.house.itemEnds(in: "Bath")
            await othersHaveRun()
            #expect(try await rig.host.sceneRuns().count == 1, "twice within a second is once")
        }
    }

    @Test("R4 an item of unknown length ends when it ends, and not with next; nor does what was stopped")
    func endsOfUnknownLength() {
        var endings = ItemEndings()
        var session = SessionSnapshot(
            id: SessionID(rawValue: "se-1"), connection: .connected, media: .playing,
            members: [SessionMember(route: RouteID(rawValue: "rt-1"), name: "Bath")],
            queue: QueueSnapshot(version: 1, items: [], current: ItemID(rawValue: "a")), now: 0)
        func see(_ reason: StopReason, _ play: Int, _ item: String) -> Set<String> {
            session.lastEnd = ItemEnd(item: ItemID(rawValue: item), play: play, reason: reason)
            return endings.see(.session(session))
        }
        #expect(endings.see(.session(session)) == [])
        #expect(see(.replaced, 1, "a") == [], "next")
        #expect(see(.finished, 2, "b") == ["Bath"], "the first end after it counts")
        #expect(see(.finished, 2, "b") == [], "told once")
        #expect(see(.finished, 3, "b") == ["Bath"], "repeated, and heard to its end again")
        #expect(see(.error, 4, "c") == [])
        #expect(endings.see(.snapshot(routes: RouteList(routes: [], discovery: []), sessions: [session])) == [])
        #expect(endings.see(.session(session)) == [], "what is known already has not just ended")
        session.connection = .ended
        #expect(see(.cancelled, 5, "d") == [])
        session.id = SessionID(rawValue: "se-2")
        session.connection = .connected
        #expect(see(.finished, 9, "e") == [], "nothing was known of that session")
    }

    @Test("R4 what discovery finds as it begins has not appeared, nor what it finds again after it failed")
    func discoveryBegins() async throws {
        let rig = SceneRig(["Kitchen"])
        await rig.house.discovers(.unavailable)
        try await rig.run {
            for room in ["Patio", "Attic"] {
                try await rig.host.saveSchedule(
                    SceneSchedule(id: room, trigger: .appears(room: room), scene: Self.scene))
            }
            try #require(await eventually { await rig.house.readerCount > 0 })
            #expect(await rig.clock.pass(step: 5) { rig.clock.now() > 90_000_000_000 })
            await rig.house.discovers(.scanning)
            await rig.house.appears("Patio")
            await rig.house.discovers(.complete)
            await rig.house.appears("Attic")
            await othersHaveRun()
            #expect(try await rig.host.sceneRuns().isEmpty, "the whole house was there before")
            let began = rig.clock.now()
            #expect(await rig.clock.pass(step: 1) { rig.clock.now() > began + DiscoveryWatch.grace })
            await rig.house.discovers(.unavailable)
            await rig.house.disappears("Patio")
            await rig.house.disappears("Attic")
            await rig.house.discovers(.scanning)
            await rig.house.discovers(.complete)
            await rig.house.appears("Patio")
            await othersHaveRun()
            #expect(try await rig.host.sceneRuns().isEmpty, "it was not gone: nobody could look")
            let again = rig.clock.now()
            #expect(await rig.clock.pass(step: 1) { rig.clock.now() > again + DiscoveryWatch.grace })
            // What was gone for good is known to be, now that there is something to go by.
            await rig.house.discovers(.complete)
            await othersHaveRun()
            await rig.house.appears("Attic")
            #expect(try await eventually { try await rig.host.sceneRuns().map(\.startedBy) == ["Attic"] })
        }
    }

    @Test("R4 discovery that is never complete is gone by after a minute") func neverComplete() {
        var watch = DiscoveryWatch()
        let scanning = [DiscoveryState(source: "mDNS", status: .scanning)]
        watch.see(scanning, now: 5)
        #expect(
            !watch.isSettled(now: 5 + DiscoveryWatch.longGrace - 1)
                && watch.isSettled(now: 5 + DiscoveryWatch.longGrace))
        watch.see([DiscoveryState(source: "mDNS", status: .unavailable)], now: DiscoveryWatch.longGrace)
        #expect(!watch.isSettled(now: 10 * DiscoveryWatch.longGrace))
        watch.see([DiscoveryState(source: "mDNS", status: .complete)], now: 0)
        #expect(!watch.isSettled(now: DiscoveryWatch.grace - 1) && watch.isSettled(now: DiscoveryWatch.grace))
    }
}

/// Keeps schedules that cannot be read until it is unlocked.
private actor LockedStore: ScheduleStoring {
    private(set) var record: ScheduleRecord
    private var isLocked = true

    init(_ schedule: SceneSchedule) { record = ScheduleRecord(schedules: [schedule]) }

    func unlock() { isLocked = false }
    func load() throws -> ScheduleRecord {
        if isLocked { throw RouterError(.storage, "the schedules cannot be read") }
        return record
    }
    func save(_ record: ScheduleRecord) { self.record = record }
}
