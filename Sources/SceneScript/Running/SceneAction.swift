import RouteModel

/// One step that acts on the rooms of its targets.
struct SceneAction: Sendable {
    let runner: SceneRunner
    let scope: SceneRunner.Scope
    let step: SceneStep
    let id: String

    typealias Outcome = SceneRunner.Outcome

    private var router: any RouterControlling { runner.router }

    func perform() async throws -> Outcome {
        let house = try await SceneHouse.look(router)
        let found = try self.places(step.targets, in: house)
        var (places, absent) = (found.places, found.absent)
        guard !places.isEmpty else {
            return Outcome(result: .skipped, detail: absent.joined(separator: "; "))
        }
        await runner.recorder.resolved(id, places.map(\.name).joined(separator: ", "))
        var overruled: String?
        for place in places {
            guard let who = await runner.lease.overruled([place.name]) else { continue }
            overruled = who
            places.removeAll { $0 == place }
        }
        if places.isEmpty { return Outcome(result: .superseded, detail: overruled) }
        let others = try self.places(step.verb.otherTargets, in: house)
        let touched = (places + others.places).map(\.name)
        await runner.lease.hold(touched)
        await runner.lease.began(on: touched)
        var outcome: Outcome
        do {
            outcome = try await act(on: places, house)
        } catch {
            await runner.lease.done(on: touched, sessions: await router.sessions())
            throw error
        }
        await runner.lease.done(on: touched, sessions: await router.sessions())
        if found.isLacking || others.isLacking { await runner.recorder.noteFailure() }
        if let overruled { absent.append("elsewhere, \(overruled)") }
        if !absent.isEmpty { outcome.detail = ([outcome.detail].compactMap { $0 } + absent).joined(separator: "; ") }
        return outcome
    }

    /// Rooms of these targets, why others are not among them, and whether one is lacking that the scene wants.
    private func places(
        _ names: [String], in house: SceneHouse
    ) throws -> (places: [SceneHouse.Place], absent: [String], isLacking: Bool) {
        var places: [SceneHouse.Place] = []
        var absent: [String] = []
        var isLacking = false
        for name in names {
            guard let target = scope.scene.target(name) else { continue }
            switch try house.resolve(target) {
            case .places(let found):
                for place in found.places where !places.contains(place) { places.append(place) }
                if found.usedFallback { absent.append("\(Self.names(found.places)) in place of \(name)") }
                if !found.absent.isEmpty { absent.append(SceneHouse.words(absent: found.absent)) }
                isLacking = isLacking || !found.missing.isEmpty
            case .absent(let why): absent.append(why)
            }
        }
        return (places, absent, isLacking)
    }

    private func act(on places: [SceneHouse.Place], _ house: SceneHouse) async throws -> Outcome {
        switch step.verb {
        case .play(let play): return try await self.play(play, places)
        case .announce(let announcement): return try await announce(announcement, places)
        case .snapshot(let name):
            await runner.recorder.keep(SceneSnapshot(house, places: places), as: scope.prefix + name)
            return Outcome()
        case .pause, .stop:
            let sessions = house.sessions(in: places)
            guard !sessions.isEmpty else {
                return Outcome(result: .skipped, detail: "nothing plays in \(Self.names(places))")
            }
            return try await each(sessions) { session in
                if step.verb == .stop { return try await stop(session, places) }
                if SceneHouse.state(session) == .paused { return Outcome(detail: "it is paused already") }
                return try await pause(session)
            }
        default: break
        }
        let sessions = house.sessions(in: places)
        guard !sessions.isEmpty else {
            throw RouterError(
                .routeNotFound, "nothing plays in \(Self.names(places))", hint: "Begin with a “play” step",
                scope: .session)
        }
        return try await each(sessions) { try await act(on: $0, places, house) }
    }

    private func act(
        on session: SessionSnapshot, _ places: [SceneHouse.Place], _ house: SceneHouse
    ) async throws -> Outcome {
        switch step.verb {
        case .resume:
            if SceneHouse.state(session) == .playing { return Outcome(detail: "it plays already") }
            return try await command(.play, session.id)
        case .seek(.to(let time)): return try await command(.seek(to: time), session.id)
        case .seek(.by(let time)): return try await command(.seekBy(time), session.id)
        case .volume(let volume): return try await self.volume(volume, session, places)
        case .queue(let change): return try await queue(change, session.id)
        case .group(let join, let leave): return try await group(join, leave, session, house)
        case .transfer(let kind, let to): return try await transfer(kind, to, session, house)
        default: return Outcome()
        }
    }

    private static func names(_ places: [SceneHouse.Place]) -> String {
        places.map(\.name).joined(separator: ", ")
    }

    private func each(
        _ sessions: [SessionSnapshot], _ body: (SessionSnapshot) async throws -> Outcome
    ) async throws -> Outcome {
        var outcome: Outcome?
        var failure: (any Error)?
        // What fails in one session keeps the others from nothing.
        for session in sessions {
            do {
                let one = try await body(session)
                outcome = outcome?.joined(one) ?? one
            } catch {
                guard !Task.isCancelled else { throw error }
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return outcome ?? Outcome(result: .skipped)
    }

    // MARK: Commands

    private func command(_ command: RemoteCommand, _ session: SessionID) async throws -> Outcome {
        let result = try await router.perform(command, session: session, origin: .scene)
        if let error = result.outcome.sceneError { throw error }
        return switch result.outcome {
        case .accepted: Outcome(result: .doneUnverified, detail: "accepted, not seen yet")
        case .unverified: Outcome(result: .doneUnverified, detail: "the device did not say that it did")
        case .superseded: Outcome(result: .superseded, detail: "a newer command came")
        default: Outcome()
        }
    }

    /// Of a session that plays elsewhere too, only these rooms are taken out.
    private func stop(_ session: SessionSnapshot, _ places: [SceneHouse.Place]) async throws -> Outcome {
        let (names, all) = SceneHouse.members(of: session, in: places)
        if all {
            do { return try await command(.stop, session.id) } catch let error as RouterError {
                guard Self.isLeft(session, error) else { throw error }
                try await router.end(session: session.id, reason: .stop)
                return Outcome()
            }
        }
        do { _ = try await router.leave(session: session.id, rooms: names) } catch let error as RouterError {
            guard Self.isSilent(session, error) else { throw error }
            return Self.silent
        }
        return Outcome()
    }

    private func pause(_ session: SessionSnapshot) async throws -> Outcome {
        do { return try await command(.pause, session.id) } catch let error as RouterError {
            guard Self.isSilent(session, error) else { throw error }
            return Self.silent
        }
    }

    private static let silent = Outcome(detail: "it was cut short, and does not play")

    /// Whether a command was refused because an earlier process has played this, and nobody has taken it up.
    private static func isLeft(_ session: SessionSnapshot, _ error: RouterError) -> Bool {
        session.connection == .suspended && error.code == .unavailable && error.scope == .session
    }

    /// As `isLeft`, where no device may have played on by itself.
    private static func isSilent(_ session: SessionSnapshot, _ error: RouterError) -> Bool {
        isLeft(session, error) && session.members.allSatisfy { $0.protocol != .cast }
    }

    private func volume(
        _ volume: SceneVolume, _ session: SessionSnapshot, _ places: [SceneHouse.Place]
    ) async throws -> Outcome {
        let (names, all) = SceneHouse.members(of: session, in: places)
        // All rooms of a session have a master, which keeps how loud they are against each other.
        let rooms: [String?] = all ? [nil] : names
        var outcome: Outcome?
        let began = runner.clock.now()
        for room in rooms {
            let one = try await command(Self.command(volume, room), session.id)
            outcome = outcome?.joined(one) ?? one
        }
        if case .level(let level, let fade?) = volume, outcome?.result != .superseded {
            // What follows a fade follows its end, and only then is there anything to see.
            try await runner.clock.sleep(until: began + fade.nanoseconds)
            return try await faded(to: level, names, session.id)
        }
        return outcome ?? Outcome(result: .skipped)
    }

    /// Whether rooms are as loud as a fade was to make them. The last step of it may be under way still.
    private func faded(to level: VolumePosition, _ rooms: [String], _ session: SessionID) async throws -> Outcome {
        for _ in 0..<8 {
            let members = await router.sessions().first { $0.id == session }?.members ?? []
            let volumes = members.filter { member in
                [member.roomName, member.name, member.route.rawValue].contains { rooms.contains($0) }
            }
            .compactMap(\.volume?.level)
            // A device rounds, and a quieter limit or trim of a room is its own.
            if let loudest = volumes.max(), abs(loudest.value - level.value) <= 0.02 { return Outcome() }
            try await runner.clock.sleep(seconds: 0.25)
        }
        return Outcome(result: .doneUnverified, detail: "the volume is not what the fade was to come to")
    }

    private static func command(_ volume: SceneVolume, _ room: String?) -> RemoteCommand {
        switch volume {
        case .level(let level, let fade?): .fade(to: level, over: fade, room: room)
        case .level(let level, nil): .setVolume(level, room: room)
        case .change(let change): .stepVolume(change, room: room)
        case .mute(let muted): .mute(muted, room: room)
        }
    }

    private func queue(_ change: SceneQueueChange, _ session: SessionID) async throws -> Outcome {
        let edit: QueueEdit
        switch change {
        case .append(let media): edit = .append(paths(media))
        case .next(let media): edit = .playNext(paths(media))
        case .replaceUpcoming(let media): edit = .replaceUpcoming(paths(media))
        case .clearUpcoming: edit = .clearUpcoming
        case .clear: edit = .clear
        case .shuffle(let on): return try await command(.shuffle(on), session)
        case .repeatMode(let mode): return try await command(.repeatMode(mode), session)
        case .save(let name):
            let saved = try await router.saveQueue(session: session, as: name)
            return Outcome(detail: "\(saved.items.count) items")
        }
        let queue = try await router.edit(
            edit, session: session, ifVersion: nil, workingDirectory: scope.workingDirectory)
        return Outcome(detail: "\(queue.items.count) items")
    }

    private func paths(_ media: [String]) -> [String] {
        media.map { $0.hasPrefix("~/") ? SceneFiles.absolute($0, in: scope.workingDirectory) : $0 }
    }

    // MARK: Playing

    private func play(_ play: ScenePlay, _ places: [SceneHouse.Place]) async throws -> Outcome {
        let request = PlayRequest(
            what: paths(play.media), rooms: places.map(\.selector), via: play.via, volume: play.volume,
            start: play.start, workingDirectory: scope.workingDirectory, repeatMode: play.repeatMode,
            shuffle: play.shuffle, context: play.context, savedQueue: play.savedQueue)
        let session = try await ScenePlaying(router: router).play(request, from: play.item - 1)
        let failed = session.members.compactMap { member in member.error.map { "\(member.name): \($0.message)" } }
        if !failed.isEmpty { await runner.recorder.noteFailure() }
        return Outcome(detail: failed.isEmpty ? session.currentItem?.title : failed.joined(separator: "; "))
    }

    private func announce(_ announcement: SceneAnnouncement, _ places: [SceneHouse.Place]) async throws -> Outcome {
        let report = try await router.announce(
            AnnounceRequest(
                what: paths([announcement.media])[0], rooms: places.map(\.selector), volume: announcement.volume,
                priority: announcement.priority, deadline: announcement.deadline,
                workingDirectory: scope.workingDirectory))
        let silent = report.rooms.filter { !$0.said }
        if silent.count == report.rooms.count, let error = silent.lazy.compactMap(\.error).first { throw error }
        let wrong = report.rooms.filter { !$0.said || $0.restored == .failed }
        if !wrong.isEmpty { await runner.recorder.noteFailure() }
        let words = wrong.map { room in
            "\(room.room): \(room.error?.message ?? (room.said ? "not as it was before" : "it was not said there"))"
        }
        return Outcome(detail: words.isEmpty ? report.title : words.joined(separator: "; "))
    }

    // MARK: Rooms

    private func group(
        _ join: [String], _ leave: [String], _ session: SessionSnapshot, _ house: SceneHouse
    ) async throws -> Outcome {
        var details: [String] = []
        if !join.isEmpty {
            let (rooms, absent, _) = try places(join, in: house)
            details += absent
            let missing = rooms.filter { !SceneHouse.plays(session, in: $0) }
            if !missing.isEmpty {
                let joined = try await router.join(session: session.id, rooms: missing.map(\.selector))
                details += await failures(in: joined, of: missing)
            }
        }
        if !leave.isEmpty {
            let (rooms, absent, _) = try places(leave, in: house)
            details += absent
            let names = SceneHouse.members(of: session, in: rooms).names
            if !names.isEmpty { _ = try await router.leave(session: session.id, rooms: names) }
        }
        return Outcome(detail: details.isEmpty ? nil : details.joined(separator: "; "))
    }

    private func transfer(
        _ kind: TransferRequest.Kind, _ to: [String], _ session: SessionSnapshot, _ house: SceneHouse
    ) async throws -> Outcome {
        let (rooms, absent, _) = try places(to, in: house)
        guard !rooms.isEmpty else { return Outcome(result: .skipped, detail: absent.joined(separator: "; ")) }
        if kind == .move, Set(SceneHouse.members(of: session, in: rooms).names) == Set(rooms.map(\.selector)),
            SceneHouse.members(of: session, in: rooms).all
        {
            return Outcome(result: .skipped, detail: (["it plays there already"] + absent).joined(separator: "; "))
        }
        let result = try await router.transfer(
            TransferRequest(kind, session: session.id, rooms: rooms.map(\.selector)))
        let details = absent + result.losses + (await failures(in: result.session, of: rooms))
        return Outcome(detail: details.isEmpty ? result.title : details.joined(separator: "; "))
    }

    /// What went wrong in these rooms, in words: then the scene is done in part only.
    private func failures(in session: SessionSnapshot, of rooms: [SceneHouse.Place]) async -> [String] {
        let failed = session.members.filter { member in rooms.contains { SceneHouse.isIn($0, member) } }
            .compactMap { member in member.error.map { "\(member.name): \($0.message)" } }
        if !failed.isEmpty { await runner.recorder.noteFailure() }
        return failed
    }
}
