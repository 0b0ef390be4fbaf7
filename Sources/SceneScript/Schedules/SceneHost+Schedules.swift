import RouteModel

/// What a host knows of its schedules. Part of an actor's state.
struct ScheduleState {
    let store: (any ScheduleStoring)?
    /// Nil until it is loaded.
    var record: ScheduleRecord?
    /// The wall clock when time was last looked at.
    var last: Double?
    /// What was last told of that they cannot be read.
    var unreadable: String?
    /// Rooms that were there when that was last looked at; nil while no schedule asks.
    var present: Set<String>?
    var discovery = DiscoveryWatch()
    var endings = ItemEndings()
    /// When each was last started by an event, by the clock that never jumps.
    var fired: [String: Int64] = [:]

    init(store: (any ScheduleStoring)?) { self.store = store }
}

extension SceneHost {
    private static let mostSchedules = 200
    /// A time that is noticed later than this is not kept any more: the clock has jumped, or the machine slept.
    private static let lateness = 120.0
    private static let glance = 5.0
    /// A device that comes and goes does not start its scene again within this, nor an item's end within `itemPause`.
    private static let flapping: Int64 = 60_000_000_000
    private static let itemPause: Int64 = 1_000_000_000

    // MARK: SceneScheduling

    public func schedules() async throws -> [SceneSchedule] { try await loaded().schedules }

    public func saveSchedule(_ schedule: SceneSchedule) async throws {
        try Self.validate(schedule)
        let diagnostics = SceneParser.parse(
            schedule.scene.text, path: schedule.scene.path, values: schedule.scene.values
        ).diagnostics
        if diagnostics.hasErrors { throw RouterError(scene: schedule.scene.path, diagnostics) }
        var record = try await loaded()
        record.schedules.removeAll { $0.id == schedule.id }
        guard record.schedules.count < Self.mostSchedules else {
            throw RouterError(
                .rateLimited, "there are \(Self.mostSchedules) schedules already", hint: "Remove one of them")
        }
        record.schedules.append(schedule)
        record.lastDays[schedule.id] = nil
        // What was missed before is told by the host that keeps time.
        if keepsTime || record.seen == nil { record.seen = clock.wallTime() }
        try await keep(record)
        if case .appears = schedule.trigger, scheduling.present == nil {
            scheduling.present = await presentRooms(settle: false)
        }
    }

    public func removeSchedule(_ id: String) async throws {
        var record = try await loaded()
        guard record.schedules.contains(where: { $0.id == id }) else {
            let ids = record.schedules.map(\.id)
            let near = NearNames.of(id, among: ids)
            throw RouterError(
                .routeNotFound, "there is no schedule “\(id)”",
                hint: near.first.map { "Did you mean “\($0)”?" } ?? "Run “router schedule list” to see them",
                scope: .command, candidates: near.isEmpty ? Array(ids.prefix(10)) : near)
        }
        record.schedules.removeAll { $0.id == id }
        record.lastDays[id] = nil
        try await keep(record)
    }

    private static func validate(_ schedule: SceneSchedule) throws {
        func wrong(_ message: String, _ hint: String) -> RouterError {
            RouterError(.configuration, message, hint: hint, scope: .command)
        }
        guard (1...64).contains(schedule.id.count) else {
            throw wrong("a schedule's id has 1 to 64 characters, not \(schedule.id.count)", "Give it a short name")
        }
        // It is a part of a path in the API.
        guard !schedule.id.contains(where: { $0.isNewline || $0 == "/" }) else {
            throw wrong(
                "a schedule's id has no “/” and no line break in it",
                "Leave them out: letters, digits, spaces and dashes are fine")
        }
        switch schedule.trigger {
        case .time(let minutes, let days):
            guard (0..<1440).contains(minutes) else {
                throw wrong("\(minutes) is no time of day", "Give minutes after midnight, 0 to 1439")
            }
            guard days.allSatisfy({ (1...7).contains($0) }) else {
                throw wrong("a day is 1 (Monday) to 7 (Sunday)", "Name other days, or none for every day")
            }
        case .appears(let room), .itemEnds(let room):
            guard !room.isEmpty, room.count <= 200 else { throw wrong("the schedule names no room", "Name one") }
        }
    }

    // MARK: The record

    /// Throws what keeps it from being read: what is not known is not to be written over.
    private func loaded() async throws -> ScheduleRecord {
        if let record = scheduling.record { return record }
        var record = ScheduleRecord()
        do {
            record = try await scheduling.store?.load() ?? record
        } catch {
            await tellUnreadable(RouterError(wrapping: error))
            // One that was damaged is put aside, and there is none from then on.
            do {
                record = try await scheduling.store?.load() ?? record
            } catch {
                throw RouterError(wrapping: error)
            }
        }
        scheduling.unreadable = nil
        // Somebody else may have loaded it meanwhile.
        if let other = scheduling.record { return other }
        scheduling.record = record
        return record
    }

    private func tellUnreadable(_ error: RouterError) async {
        guard scheduling.unreadable != error.message else { return }
        scheduling.unreadable = error.message
        await tell(Notice(.error, error.message, hint: error.hint))
    }

    private func keep(_ record: ScheduleRecord) async throws {
        let before = scheduling.record
        scheduling.record = record
        do {
            try await scheduling.store?.save(record)
        } catch {
            // What somebody else has kept meanwhile stays.
            if scheduling.record == record { scheduling.record = before }
            throw RouterError(wrapping: error)
        }
    }

    func saveSeen() async {
        guard var record = scheduling.record, !record.schedules.isEmpty else { return }
        record.seen = clock.wallTime()
        try? await keep(record)
    }

    // MARK: Time

    /// Looks at the clock for as long as the host runs.
    func keepTime() async {
        let record = try? await loaded()
        let now = clock.wallTime()
        // What came while nobody was there is not made up for.
        if let record, let seen = record.seen { await tellMissed(record, after: seen, until: now) }
        scheduling.last = now
        while !Task.isCancelled {
            await look()
            do { try await clock.sleep(seconds: Self.glance) } catch { return }
        }
    }

    private func look() async {
        let now = clock.wallTime()
        let last = scheduling.last ?? now
        scheduling.last = now
        guard var record = try? await loaded() else { return }
        let zone = clock.timeZone()
        var due: [SceneSchedule] = []
        var missed: [(schedule: SceneSchedule, minutes: Int)] = []
        // Nothing is awaited from here until it is kept: what somebody changes meanwhile would be lost.
        for schedule in record.schedules where schedule.enabled {
            guard case .time(let minutes, let days) = schedule.trigger else { continue }
            let times = ScheduleTimes.due(minutes: minutes, days: days, after: last, until: now, zone: zone)
            guard let time = times.last, record.lastDays[schedule.id] != time.day else { continue }
            record.lastDays[schedule.id] = time.day
            if now - time.instant <= Self.lateness {
                due.append(schedule)
            } else {
                missed.append((schedule, minutes))
            }
        }
        if !due.isEmpty {
            record.seen = now
            // That it runs twice after a crash is worse than that it does not run.
            do { try await keep(record) } catch {
                scheduling.record?.lastDays.merge(record.lastDays) { max($0, $1) }
                scheduling.record?.seen = now
                let error = RouterError(wrapping: error)
                await tell(Notice(.warning, "schedules are not kept: \(error.message)", hint: error.hint))
            }
            for schedule in due { fire(schedule) }
        }
        for (schedule, minutes) in missed { await tellMissed(schedule, minutes) }
    }

    private func tellMissed(_ record: ScheduleRecord, after seen: Double, until now: Double) async {
        let zone = clock.timeZone()
        for schedule in record.schedules where schedule.enabled {
            guard case .time(let minutes, let days) = schedule.trigger else { continue }
            let times = ScheduleTimes.due(minutes: minutes, days: days, after: seen, until: now, zone: zone)
                .filter { record.lastDays[schedule.id] != $0.day }
            if !times.isEmpty { await tellMissed(schedule, minutes, times: times.count) }
        }
    }

    private func tellMissed(_ schedule: SceneSchedule, _ minutes: Int, times: Int = 1) async {
        let often = times > 1 ? " \(times) times" : ""
        let which = "the schedule “\(schedule.id)” at \(SceneValues.clock(minutes))"
        await tell(
            Notice(
                .warning,
                "\(which) was missed\(often): the router was not running then, or the clock jumped",
                hint: "Run it now with “router scene run \(schedule.scene.path)”"))
    }

    private func fire(_ schedule: SceneSchedule) {
        jobs.yield { [self] in
            do {
                _ = try await start(schedule.scene, by: schedule.id)
            } catch {
                let error = RouterError(wrapping: error)
                await tell(
                    Notice(
                        .error, "the scene of the schedule “\(schedule.id)” did not begin: \(error.message)",
                        hint: error.hint))
            }
        }
    }

    // MARK: Events

    /// Follows the router for as long as the host runs; it may go away and come back.
    func watchRouter() async {
        while !Task.isCancelled {
            _ = try? await loaded()
            scheduling.discovery = DiscoveryWatch()
            if asksForRooms { scheduling.present = await presentRooms(settle: true) }
            for await event in await router.events() { await see(event.body) }
            do { try await clock.sleep(seconds: 1) } catch { return }
        }
    }

    private var asksForRooms: Bool {
        scheduling.record?.schedules.contains { if case .appears = $0.trigger { $0.enabled } else { false } } ?? false
    }

    private func see(_ body: RouterEvent.Body) async {
        let ended = scheduling.endings.see(body)
        if !ended.isEmpty {
            await fire(rooms: ended, pause: Self.itemPause) { if case .itemEnds(let room) = $0 { room } else { nil } }
        }
        switch body {
        case .snapshot(let routes, _), .routes(let routes):
            scheduling.discovery.see(routes.discovery, now: clock.now())
        case .rooms: break
        default: return
        }
        guard asksForRooms else {
            scheduling.present = nil
            return
        }
        let now = await presentRooms(settle: false)
        guard let before = scheduling.present else {
            scheduling.present = now
            return
        }
        guard scheduling.discovery.isSettled(now: clock.now()) else {
            // What is found now was there before; and what is not found is not gone while nobody can look.
            scheduling.present = before.union(now)
            return
        }
        scheduling.present = now
        let appeared = now.subtracting(before)
        guard !appeared.isEmpty else { return }
        await fire(rooms: appeared, pause: Self.flapping) { if case .appears(let room) = $0 { room } else { nil } }
    }

    private func presentRooms(settle: Bool) async -> Set<String> {
        guard let house = try? await SceneHouse.look(router, settle: settle), let all = try? house.places("@all") else {
            return scheduling.present ?? []
        }
        return Set(all.filter(\.isThere).map(\.name))
    }

    private func fire(
        rooms: Set<String>, pause: Int64, room: (SceneSchedule.Trigger) -> String?
    ) async {
        let wanted = (try? await loaded())?.schedules.filter { $0.enabled && room($0.trigger) != nil } ?? []
        guard !wanted.isEmpty, let house = try? await SceneHouse.look(router) else { return }
        for schedule in wanted {
            guard let selector = room(schedule.trigger), let places = try? house.places(selector),
                places.contains(where: { rooms.contains($0.name) })
            else { continue }
            if let last = scheduling.fired[schedule.id], clock.now() - last < pause { continue }
            // A scene that itself makes items end, or devices appear, does not run into itself.
            if isUnderWay(schedule: schedule.id) { continue }
            scheduling.fired[schedule.id] = clock.now()
            fire(schedule)
        }
    }
}
