import RouteModel

/// How things were in some rooms, and the way back (`interfaces.md` 2.1): membership first, then queue and position,
/// then volume, then play state.
struct SceneSnapshot: Sendable {
    var places: [SceneHouse.Place]
    var sessions: [SessionSnapshot]

    init(_ house: SceneHouse, places: [SceneHouse.Place]) {
        self.places = places
        sessions = house.sessions(in: places)
    }
}

/// Restores a snapshot by plain commands.
struct SceneRestoring: Sendable {
    let router: any RouterControlling
    let snapshot: SceneSnapshot

    /// Sessions that play now, and what could not be made as it was, in words.
    func restore() async throws -> (sessions: [SessionSnapshot], losses: [String]) {
        var losses: [String] = []
        try await restoreMembership()
        var current: [SessionID: SessionID] = [:]
        for session in snapshot.sessions where Self.hadContent(session) {
            let now = try await restoreQueue(session, losses: &losses)
            if let now { current[session.id] = now }
        }
        for session in snapshot.sessions {
            guard let id = current[session.id] else { continue }
            try await restoreVolumes(session, in: id, losses: &losses)
        }
        for session in snapshot.sessions {
            guard let id = current[session.id] else { continue }
            try await restoreState(session, in: id)
        }
        return (await router.sessions(), losses)
    }

    private static func hadContent(_ session: SessionSnapshot) -> Bool {
        SceneHouse.state(session) != .stopped && session.queue.current != nil
    }

    private static func names(_ session: SessionSnapshot) -> [String] {
        var names: [String] = []
        for member in session.members where member.connection != .ended && member.connection != .failed {
            if !names.contains(member.name) { names.append(member.name) }
        }
        return names
    }

    // MARK: Membership

    private func restoreMembership() async throws {
        for before in snapshot.sessions {
            guard let now = await living(before.id) else { continue }
            let missing = Self.names(before).filter { !Self.names(now).contains($0) }
            if !missing.isEmpty { _ = try await router.join(session: before.id, rooms: missing) }
        }
        // What plays where nothing played goes. A session that is to be played anew takes its rooms itself.
        let wanted = Set(snapshot.sessions.filter(Self.hadContent).flatMap(Self.names))
        for now in await router.sessions() {
            let original = snapshot.sessions.first { $0.id == now.id }.map(Self.names)
            // Whoever has joined since goes, wherever that is; of what began since, only these rooms do.
            let names = original == nil ? SceneHouse.members(of: now, in: snapshot.places).names : Self.names(now)
            let strangers = names.filter { original?.contains($0) != true && !wanted.contains($0) }
            guard !strangers.isEmpty else { continue }
            if strangers.count == Self.names(now).count {
                try await router.end(session: now.id, reason: .stop)
            } else {
                _ = try await router.leave(session: now.id, rooms: strangers)
            }
        }
    }

    private func living(_ id: SessionID) async -> SessionSnapshot? {
        await router.sessions().first { $0.id == id && $0.connection != .ended && $0.connection != .failed }
    }

    // MARK: Queue and position

    private func restoreQueue(_ before: SessionSnapshot, losses: inout [String]) async throws -> SessionID? {
        guard let item = before.queue.current else { return nil }
        let position = before.position ?? .zero
        if let now = await living(before.id), now.queue.items.map(\.id) == before.queue.items.map(\.id) {
            if now.queue.current != item { try await perform(.jump(item), now.id) }
            try await perform(.seek(to: position), now.id)
            return now.id
        }
        var sources: [String] = []
        var index = 0
        for (number, entry) in before.queue.items.enumerated() {
            guard let source = entry.source.text else {
                losses.append("\(entry.title) cannot be brought back: it is live input")
                continue
            }
            if number <= before.queue.items.firstIndex(where: { $0.id == item }) ?? 0 { index = sources.count }
            sources.append(source)
        }
        guard !sources.isEmpty else { return nil }
        let session = try await ScenePlaying(router: router).play(
            PlayRequest(
                what: sources, rooms: Self.names(before), start: position, repeatMode: before.queue.repeatMode,
                failurePolicy: before.queue.failurePolicy), from: index)
        if before.queue.original != nil { losses.append("the order without shuffle is not known any more") }
        return session.id
    }

    // MARK: Volume and play state

    private func restoreVolumes(
        _ before: SessionSnapshot, in id: SessionID, losses: inout [String]
    ) async throws {
        for member in before.members where member.volumeHandling == .adjustable {
            guard let volume = member.volume else { continue }
            do {
                try await perform(.setVolume(volume.level, room: member.name), id)
                if volume.muted { try await perform(.mute(true, room: member.name), id) }
            } catch let error as RouterError where error.code != .cancelled {
                losses.append("the volume of \(member.name): \(error.message)")
            }
        }
    }

    private func restoreState(_ before: SessionSnapshot, in id: SessionID) async throws {
        let now = SceneHouse.state(await living(id))
        switch SceneHouse.state(before) {
        case .paused: if now != .paused { try await perform(.pause, id) }
        case .playing, .loading: if now == .paused { try await perform(.play, id) }
        case .stopped: break
        }
    }

    private func perform(_ command: RemoteCommand, _ session: SessionID) async throws {
        let result = try await router.perform(command, session: session, origin: .scene)
        if let error = result.outcome.sceneError { throw error }
    }
}

/// Plays a list from an item in its middle, so that what comes before it can be gone back to.
struct ScenePlaying: Sendable {
    let router: any RouterControlling

    /// - Parameter index: of the first item to play, from 0.
    func play(_ request: PlayRequest, from index: Int) async throws -> SessionSnapshot {
        guard index > 0, index < request.what.count else { return try await router.play(request) }
        var rest = request
        rest.what = Array(request.what[index...])
        let session = try await router.play(rest)
        guard let first = session.queue.items.first?.id else { return session }
        _ = try await router.edit(
            .insert(Array(request.what[..<index]), before: first), session: session.id, ifVersion: nil,
            workingDirectory: request.workingDirectory)
        return await router.sessions().first { $0.id == session.id } ?? session
    }
}

extension MediaSource {
    /// As a person would name it to have it played; nil for what comes in live.
    var text: String? {
        switch self {
        case .file(let path): path
        case .url(let text): text
        case .live: nil
        }
    }
}

extension CommandOutcome {
    /// As an error, where it is one.
    var sceneError: RouterError? {
        switch self {
        case .succeeded, .accepted, .unverified, .superseded: nil
        case .noSuchContent: RouterError(.mediaNotFound, "there is no such content", scope: .command)
        case .noActionableItem:
            RouterError(.unavailable, "there is nothing to do it to", hint: "Play something first", scope: .command)
        case .deviceNotFound: RouterError(.routeNotFound, "the device is not there", scope: .command)
        case .unsupported: RouterError(.unsupported, "the device cannot do it", scope: .command)
        case .denied: RouterError(.unsupported, "the router does not allow it", scope: .command)
        case .timedOut: RouterError(.timeout, "the device did not answer in time", scope: .command, retry: .later)
        case .failed(let error): error
        }
    }
}
