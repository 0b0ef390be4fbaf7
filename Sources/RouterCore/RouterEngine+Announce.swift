import RouteBackend
import RouteModel

/// Announcements (`model.md` section 9). A clip is no session: it is in no list, queue or history. Sessions lend the
/// rooms where they play, and take up after it what they had; other rooms are connected for it, and left as they were.
extension RouterEngine {
    private static let deadlines = MediaTime(seconds: 1)...MediaTime(seconds: 600)

    public func announce(_ request: AnnounceRequest) async throws -> AnnounceReport {
        guard Self.deadlines.contains(request.deadline) else {
            throw RouterError(
                .configuration, "a deadline of \(Int(request.deadline.seconds.rounded())) s is out of range",
                hint: "Choose from 1 s to 10 min", scope: .command)
        }
        async let resolving = targets(request.rooms)
        let item = try await announced(request)
        let targets = try await resolving
        let choices = try await choices(
            for: PlayRequest(what: [request.what], rooms: request.rooms), rooms: targets, first: item.source,
            withPicture: item.externalPlayback ?? true)
        guard !announcements.isClosed else { throw Self.isEnding }
        guard !announcements.isFull else {
            throw RouterError(
                .rateLimited, "\(AnnouncementQueue.limit) announcements are waiting already",
                hint: "Wait until they have been said", scope: .command, retry: .later)
        }
        let number = announcements.enter(AnnouncementQueue.Ticket(routes: Set(choices.map(\.choice.route))))
        let members = choices.map { Member(choice: $0.choice, room: $0.room) }
        // A job: who asked may go away, and what was interrupted is to be restored all the same.
        let (reports, continuation) = AsyncStream.makeStream(of: AnnounceReport.self)
        let isTaken = addJob { [self] in
            continuation.yield(await say(item, request, in: members, number))
            continuation.finish()
        }
        guard isTaken else {
            announcements.leave(number)
            throw Self.isEnding
        }
        return try await withTaskCancellationHandler {
            for await report in reports { return report }
            throw RouterError(.cancelled, "the announcement was cancelled", scope: .command)
        } onCancel: {
            addJob { [self] in await cutAnnouncement(number) }
        }
    }

    private func announced(_ request: AnnounceRequest) async throws -> QueueItem {
        let expanded = try await media.expand([request.what], workingDirectory: request.workingDirectory)
        guard expanded.entries.count == 1, let entry = expanded.entries.first else {
            throw RouterError(
                .mediaUnsupported, "an announcement is one file, and this is \(expanded.entries.count)",
                hint: "Name one file or URL", scope: .item)
        }
        let facts = try await media.facts(entry.source)
        guard facts.hasAudio else {
            throw RouterError(.mediaUnsupported, "\(entry.source.label) has no sound", scope: .item)
        }
        return QueueItem(
            id: .ulid(milliseconds: UInt64(max(0, clock.now() / 1_000_000))), source: entry.source,
            metadata: entry.metadata.filled(from: facts.metadata), externalPlayback: entry.externalPlayback)
    }

    private func cutAnnouncement(_ number: Int) { announcements.cut(number) }

    /// What is announced on these routes, where nothing else plays, ends there and has left them when this returns; in
    /// other rooms it goes on.
    func endAnnouncements(on routes: Set<RouteID>) async {
        for number in announcements.standing(on: routes) {
            announcements.cut(number, on: routes)
            while announcements.standing(on: routes).contains(number) {
                await withCheckedContinuation { announcements.wait($0) }
            }
        }
    }

    /// Whatever is announced, or waits for that, ends now, and has given its rooms back when this returns, as far as that
    /// does not take long; nothing is announced any more.
    public func endAnnouncements() async {
        announcements.close()
        let (over, continuation) = AsyncStream.makeStream(of: Void.self)
        let clock = clock
        let isTaken = addJob { [self] in
            await announcementsPass()
            continuation.finish()
        }
        guard isTaken else { return }
        addJob {
            try? await clock.sleep(nanoseconds: Self.endingNanoseconds)
            continuation.finish()
        }
        for await _ in over {}
    }

    private static let endingNanoseconds: Int64 = 5_000_000_000

    private func announcementsPass() async {
        while announcements.count > 0 { await withCheckedContinuation { announcements.wait($0) } }
    }

    private func isOver(_ number: Int, on routes: Set<RouteID>) { announcements.ends(number, on: routes) }

    /// Does it until it is done; where the announcement is cut there, or out of time, before that, it is cancelled, and
    /// is to come back soon.
    private func bounded<Value: Sendable>(
        _ number: Int, on routes: Set<RouteID>, by deadline: Int64, otherwise: Value,
        _ body: @escaping @Sendable () async -> Value
    ) async -> Value {
        guard !announcements.isCut(number, on: routes) else { return otherwise }
        let cuts = announcements.cuts(of: number)
        let clock = clock
        return await withTaskGroup(of: Value?.self) { group in
            group.addTask { await body() }
            group.addTask {
                try? await clock.sleep(until: deadline)
                return nil
            }
            group.addTask {
                for await cut in cuts where !cut.isDisjoint(with: routes) { break }
                return nil
            }
            var value = otherwise
            for await result in group {
                value = result ?? value
                group.cancelAll()
            }
            return value
        }
    }

    // MARK: Saying it

    private func say(
        _ item: QueueItem, _ request: AnnounceRequest, in members: [Member], _ number: Int
    ) async -> AnnounceReport {
        while !announcements.mayBegin(number), !announcements.isCut(number) {
            await withCheckedContinuation { announcements.wait($0) }
        }
        let clip = Clip(item: item, token: .random(), deadline: clock.now() + request.deadline.nanoseconds)
        // Whoever begins to play in one of the rooms does so before this, and lends it, or after it, and ends it there.
        let parties = await inLane(of: Set(members.map(\.route))) { await divide(members, request, number) }
        var rooms: [AnnounceReport.RoomReport] = []
        await withTaskGroup(of: [AnnounceReport.RoomReport].self) { group in
            for party in parties { group.addTask { await self.say(clip, request, to: party, number) } }
            for await reports in group { rooms += reports }
        }
        await media.withdraw([clip.token])
        announcements.leave(number)
        let order = Dictionary(
            members.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        rooms.sort { (order[$0.room] ?? .max, $0.room) < (order[$1.room] ?? .max, $1.room) }
        return AnnounceReport(title: clip.title, rooms: rooms)
    }

    private func divide(_ members: [Member], _ request: AnnounceRequest, _ number: Int) async -> [Party] {
        let routes = Set(members.map(\.route))
        var parties: [Party] = []
        var idle = routes
        for session in running {
            let shared = await session.lendable(on: routes)
            guard !shared.isEmpty else { continue }
            idle.subtract(shared)
            let waits = request.priority == .low ? await session.plays(on: shared) : false
            parties.append(Party(sessions: [(session, shared)], idle: [], waits: waits))
        }
        announcements.stand(number, on: idle)
        // All that begin at once begin together.
        let together = Party(
            sessions: parties.filter { !$0.waits }.flatMap(\.sessions),
            idle: members.filter { idle.contains($0.route) }, waits: false)
        return parties.filter(\.waits) + (together.isEmpty ? [] : [together])
    }

    /// Rooms that hear it at once.
    private struct Party: Sendable {
        var sessions: [(session: PlaybackSession, routes: Set<RouteID>)]
        var idle: [Member]
        /// For the end of the item that plays.
        var waits: Bool

        var isEmpty: Bool { sessions.isEmpty && idle.isEmpty }
    }

    private func say(
        _ clip: Clip, _ request: AnnounceRequest, to party: Party, _ number: Int
    ) async -> [AnnounceReport.RoomReport] {
        if party.waits, request.volume == nil, let (session, routes) = party.sessions.first {
            // What is to have a volume of its own cannot be part of what plays.
            let names = await session.names(on: routes)
            if let outcome = await session.duck(clip, on: routes) {
                return names.map { name in
                    switch outcome {
                    case .success: AnnounceReport.RoomReport(room: name, said: true, restored: .resumed)
                    case .failure(let error):
                        AnnounceReport.RoomReport(room: name, said: false, restored: .overruled, error: error)
                    }
                }
            }
        }
        if party.waits, let (session, routes) = party.sessions.first,
            await !itemEnds(of: session, on: routes, before: clip.deadline, number)
        {
            let error =
                announcements.isCut(number)
                ? ClipRun.overruled
                : RouterError(
                    .timeout, "the item that plays did not end in time",
                    hint: "Give it a longer deadline, or a high priority", scope: .command)
            let names = await session.names(on: routes)
            announcements.ends(number, on: routes)
            return names.map { name in
                AnnounceReport.RoomReport(room: name, said: false, restored: .resumed, error: error)
            }
        }
        // Before anything falls silent for it.
        let opened = await open(party.idle, request, clip, number)
        var lent: [(session: PlaybackSession, rooms: [PlaybackSession.LentRoom])] = []
        var reports: [AnnounceReport.RoomReport] = []
        for (session, routes) in party.sessions {
            let names = await session.names(on: routes)
            let rooms = await park(session, routes, clip, request, number)
            for room in rooms { announcements.add(number, cut: room.cut, on: room.route) }
            if rooms.isEmpty {
                announcements.ends(number, on: routes)
                let error = clock.now() < clip.deadline ? ClipRun.overruled : ClipRun.cutOff
                reports += names.map { name in
                    AnnounceReport.RoomReport(room: name, said: false, restored: .overruled, error: error)
                }
            } else {
                lent.append((session, rooms))
            }
        }
        let ready = opened.compactMap(\.success)
        reports += opened.compactMap(\.failure)
        let run = ClipRun(media: media, clock: clock, clip: clip)
        let begun: Result<ClipRun.Beginning?, RouterError>
        do {
            begun = .success(try await run.begin(lent.flatMap(\.rooms).map(\.room) + ready.map(\.room)))
        } catch {
            begun = .failure(RouterError(wrapping: error))
        }
        // Each goes back to what it did as soon as it is through, whatever becomes of the others.
        await withTaskGroup(of: [AnnounceReport.RoomReport].self) { group in
            for (session, rooms) in lent {
                group.addTask {
                    let reports = await Self.play(run, begun, in: rooms, of: session)
                    await self.isOver(number, on: Set(rooms.map(\.route)))
                    return reports
                }
            }
            for room in ready {
                group.addTask {
                    let report = await Self.play(run, begun, in: room)
                    await self.isOver(number, on: [room.route])
                    return [report]
                }
            }
            for await report in group { reports += report }
        }
        return reports
    }

    /// What is announced in other rooms of the session is heard to its end first. Empty where it is not to be said.
    private func park(
        _ session: PlaybackSession, _ routes: Set<RouteID>, _ clip: Clip, _ request: AnnounceRequest, _ number: Int
    ) async -> [PlaybackSession.LentRoom] {
        while true {
            await bounded(number, on: routes, by: clip.deadline, otherwise: ()) { await session.announcementPasses() }
            guard !announcements.isCut(number), clock.now() < clip.deadline else { return [] }
            if let rooms = await session.park(routes, for: clip, volume: request.volume) { return rooms }
        }
    }

    private static func play(
        _ run: ClipRun, _ begun: Result<ClipRun.Beginning?, RouterError>, in rooms: [PlaybackSession.LentRoom],
        of session: PlaybackSession
    ) async -> [AnnounceReport.RoomReport] {
        var outcomes: [Int: RouterError] = [:]
        await withTaskGroup(of: (Int, RouterError?).self) { group in
            for room in rooms { group.addTask { (room.index, await outcome(run, begun, in: room.room)) } }
            for await (index, error) in group { outcomes[index] = error }
        }
        let restored = await session.unpark()
        return rooms.map { room in
            let after = restored[room.index] ?? (.overruled, nil)
            let error = outcomes[room.index]
            return AnnounceReport.RoomReport(
                room: room.room.name, said: error == nil, restored: after.restored, error: after.error ?? error)
        }
    }

    private static func play(
        _ run: ClipRun, _ begun: Result<ClipRun.Beginning?, RouterError>, in room: OpenedRoom
    ) async -> AnnounceReport.RoomReport {
        let error = await outcome(run, begun, in: room.room)
        await room.close()
        return AnnounceReport.RoomReport(
            room: room.room.name, said: error == nil, restored: room.wasForeign ? .foreign : .nothing, error: error)
    }

    private static func outcome(
        _ run: ClipRun, _ begun: Result<ClipRun.Beginning?, RouterError>, in room: ClipRoom
    ) async -> RouterError? {
        switch begun {
        case .success(let begun): await run.play(in: room, begun)
        case .failure(let error): error
        }
    }

    /// Waits for the end of what a session plays there; false where it has not ended by then.
    private func itemEnds(
        of session: PlaybackSession, on routes: Set<RouteID>, before deadline: Int64, _ number: Int
    ) async -> Bool {
        let item = await session.queue.current
        let events = await events()
        return await bounded(number, on: routes, by: deadline, otherwise: false) {
            for await event in events {
                switch event.body {
                case .session, .snapshot: break
                default: continue
                }
                if await session.queue.current != item { return true }
                if await !session.plays(on: routes) { return true }
            }
            return false
        }
    }

    // MARK: Rooms where nothing plays

    /// A room that was connected for the announcement alone.
    private struct OpenedRoom: Sendable {
        var route: RouteID
        var room: ClipRoom
        var cut: AsyncStream<Void>.Continuation
        /// How loud it was, where it is told otherwise.
        var before: VolumeState?
        /// Somebody else's sender played there.
        var wasForeign: Bool

        func close() async {
            if let before, await !isTurned(from: before) { try? await room.call { try await $0.setVolume(before) } }
            await room.session.end(.stop)
        }

        /// Whether it is as loud as neither the clip was to be nor it was before that: somebody has set it there.
        private func isTurned(from before: VolumeState) async -> Bool {
            guard let told = room.volume else { return false }
            let step = max(room.session.descriptor.volume.step, 0.01) + 1e-9
            for await update in room.session.updates() {
                guard let now = update.volume else { return false }
                return [told, before].allSatisfy { known in
                    known.muted != now.muted || abs(known.level.value - now.level.value) > step
                }
            }
            return false
        }
    }

    private enum Opening: Sendable {
        case success(OpenedRoom)
        case failure(AnnounceReport.RoomReport)

        var success: OpenedRoom? { if case .success(let room) = self { room } else { nil } }
        var failure: AnnounceReport.RoomReport? { if case .failure(let report) = self { report } else { nil } }
    }

    private func open(
        _ members: [Member], _ request: AnnounceRequest, _ clip: Clip, _ number: Int
    ) async -> [Opening] {
        let environment = environment(for: .random())
        return await withTaskGroup(of: (Int, Opening).self) { group in
            for (place, member) in members.enumerated() {
                group.addTask { (place, await self.open(member, request.volume, environment, clip, number)) }
            }
            var result: [(Int, Opening)] = []
            for await opening in group { result.append(opening) }
            return result.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func open(
        _ member: Member, _ volume: VolumePosition?, _ environment: SessionEnvironment, _ clip: Clip, _ number: Int
    ) async -> Opening {
        let routes: Set = [member.route]
        let opening = await bounded(
            number, on: routes, by: clip.deadline, otherwise: Self.failed(member, ClipRun.cutOff)
        ) {
            await Self.open(member, volume, environment)
        }
        var reason: RouterError?
        if announcements.isCut(number, on: routes) {
            reason = ClipRun.overruled
        } else if clock.now() >= clip.deadline {
            reason = ClipRun.cutOff
        }
        if let room = opening.success, reason == nil {
            announcements.add(number, cut: room.cut, on: member.route)
            return opening
        }
        // What came up too late is closed again.
        await opening.success?.close()
        announcements.ends(number, on: routes)
        return reason.map { Self.failed(member, $0) } ?? opening
    }

    private static func failed(_ member: Member, _ error: RouterError) -> Opening {
        .failure(AnnounceReport.RoomReport(room: member.name, said: false, restored: .nothing, error: error))
    }

    private static func open(
        _ member: Member, _ volume: VolumePosition?, _ environment: SessionEnvironment
    ) async -> Opening {
        var error = RouterError(.unsupported, "\(member.name) cannot play this", scope: .route)
        for candidate in member.candidates {
            let endpoint = await environment.current(candidate.endpoint)
            do {
                let session = try await environment.open(endpoint, name: member.name)
                guard !Task.isCancelled else {
                    await session.end(.stop)
                    return failed(member, ClipRun.cutOff)
                }
                return .success(await room(member, session, volume, environment))
            } catch let failure {
                error = RouterError(wrapping: failure)
            }
        }
        return failed(member, error)
    }

    private static func room(
        _ member: Member, _ session: any RouteSession, _ volume: VolumePosition?, _ environment: SessionEnvironment
    ) async -> OpenedRoom {
        var first: RouteSessionUpdate?
        for await update in session.updates() {
            first = update
            break
        }
        var target: VolumeState?
        var before: VolumeState?
        if session.descriptor.volume.handling == .adjustable {
            let limit = member.limit(atMinute: environment.localMinute())
            let remembered = try? await environment.store.volume(of: member.route)
            let reported = first?.volume.map(member.shownVolume)
            let known = reported ?? (remembered ?? nil)
            // Where nobody can know how loud it is, it is told, as at the start of a session.
            let wanted =
                volume ?? (reported == nil ? known?.level ?? VolumePosition(1.0 / 3) : nil)
                ?? limit.flatMap { most in (reported?.level).flatMap { $0 > most ? most : nil } }
            // From here on in the device's own levels.
            target = wanted.map { level in
                member.deviceVolume(VolumeState(level: limit.map { min($0, level) } ?? level))
            }
            if volume != nil { before = first?.volume ?? known.map(member.deviceVolume) }
        }
        let (cut, cutting) = AsyncStream.makeStream(of: Void.self)
        return OpenedRoom(
            route: member.route,
            room: ClipRoom(
                name: member.name, session: session, offsetNanoseconds: member.offsetNanoseconds, volume: target,
                updates: session.updates(), cut: cut, call: { try await $0(session) },
                tellVolume: { volume in try? await session.setVolume(volume) }),
            cut: cutting, before: before,
            wasForeign: first?.foreign != nil || session.descriptor.endpoint.busyWith != nil)
    }
}
