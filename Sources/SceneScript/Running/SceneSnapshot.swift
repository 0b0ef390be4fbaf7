import Foundation
import RouteModel

/// How things were in some rooms, and the way back (`interfaces.md` 2.1): membership first, then queue and position,
/// then volume, then play state.
struct SceneSnapshot: Sendable {
    var places: [SceneHouse.Place]
    var sessions: [SessionSnapshot]
    /// Devices that share their names with others.
    private let twins: Set<RouteID>

    init(_ house: SceneHouse, places: [SceneHouse.Place]) {
        self.places = places
        twins = house.twins
        sessions = house.sessions(in: places)
    }

    /// What the router finds a member by: its room, or it alone.
    func selector(_ member: SessionMember, alone: Bool = false) -> String {
        twins.contains(member.route) ? member.route.rawValue : alone ? member.name : member.roomName
    }
}

/// Restores a snapshot by plain commands.
struct SceneRestoring: Sendable {
    let router: any RouterControlling
    let snapshot: SceneSnapshot

    /// What has come of it so far.
    private struct Progress {
        var losses: [String] = []
        var succeeded = 0
        var first: RouterError?

        mutating func failed(_ what: String, _ error: any Error) {
            let error = RouterError(wrapping: error)
            first = first ?? error
            losses.append("\(what): \(error.message)")
        }
    }

    /// What was made as it was.
    struct Outcome {
        /// Sessions that play now.
        var sessions: [SessionSnapshot]
        /// What could not be made as it was, in words.
        var losses: [String]
        /// Whether some of that is because a command failed.
        var hasFailures: Bool
    }

    /// What fails in one session keeps nothing else from being done. Throws where all of it failed.
    func restore() async throws -> Outcome {
        var progress = Progress()
        try await restoreMembership(&progress)
        var current: [SessionID: SessionID] = [:]
        for session in snapshot.sessions where Self.hadContent(session) {
            try await attempt("what played in \(Self.words(session))", &progress) { losses in
                if let now = try await restoreQueue(session, losses: &losses) { current[session.id] = now }
            }
        }
        for session in snapshot.sessions {
            guard let id = current[session.id] else { continue }
            try await restoreVolumes(session, in: id, &progress)
        }
        for session in snapshot.sessions {
            guard let id = current[session.id] else { continue }
            try await attempt("whether it plays in \(Self.words(session))", &progress) { _ in
                try await restoreState(session, in: id)
            }
        }
        if progress.succeeded == 0, let error = progress.first { throw error }
        return Outcome(
            sessions: await router.sessions(), losses: progress.losses, hasFailures: progress.first != nil)
    }

    /// Notes an error of `body` as a loss; a cancellation goes on.
    private func attempt(
        _ what: String, _ progress: inout Progress, _ body: (inout [String]) async throws -> Void
    ) async throws {
        do {
            try await body(&progress.losses)
            progress.succeeded += 1
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            progress.failed(what, error)
        }
    }

    private static func hadContent(_ session: SessionSnapshot) -> Bool {
        SceneHouse.state(session) != .stopped && session.queue.current != nil
    }

    private func selectors(_ session: SessionSnapshot) -> [String] {
        Self.names(session) { snapshot.selector($0) }
    }

    private static func names(_ session: SessionSnapshot, _ name: (SessionMember) -> String) -> [String] {
        var names: [String] = []
        for member in session.members where member.connection != .ended && member.connection != .failed {
            if !names.contains(name(member)) { names.append(name(member)) }
        }
        return names
    }

    private static func words(_ session: SessionSnapshot) -> String {
        names(session, \.roomName).joined(separator: ", ")
    }

    // MARK: Membership

    private func restoreMembership(_ progress: inout Progress) async throws {
        for before in snapshot.sessions {
            guard let now = await living(before.id) else { continue }
            let missing = selectors(before).filter { !selectors(now).contains($0) }
            guard !missing.isEmpty else { continue }
            try await attempt("that \(missing.joined(separator: ", ")) plays along", &progress) { _ in
                _ = try await router.join(session: before.id, rooms: missing)
            }
        }
        // What plays where nothing played goes. A session that is to be played anew takes its rooms itself.
        let wanted = Set(snapshot.sessions.filter(Self.hadContent).flatMap(selectors))
        for now in await router.sessions() {
            let original = snapshot.sessions.first { $0.id == now.id }.map(selectors)
            // Whoever has joined since goes, wherever that is; of what began since, only these rooms do.
            let names = original == nil ? SceneHouse.members(of: now, in: snapshot.places).names : selectors(now)
            let strangers = names.filter { original?.contains($0) != true && !wanted.contains($0) }
            guard !strangers.isEmpty else { continue }
            try await attempt("that nothing plays in \(strangers.joined(separator: ", "))", &progress) { _ in
                if strangers.count == selectors(now).count {
                    try await router.end(session: now.id, reason: .stop)
                } else {
                    _ = try await router.leave(session: now.id, rooms: strangers)
                }
            }
        }
    }

    private func living(_ id: SessionID) async -> SessionSnapshot? {
        await router.sessions().first { $0.id == id && $0.connection != .ended && $0.connection != .failed }
    }

    // MARK: Queue and position

    private func restoreQueue(_ before: SessionSnapshot, losses: inout [String]) async throws -> SessionID? {
        guard let item = before.queue.current else { return nil }
        // A station has no place that could be gone back to.
        let position = before.resumePosition
        if let now = await living(before.id), now.queue.items.map(\.id) == before.queue.items.map(\.id) {
            if now.queue.current != item { try await perform(.jump(item), now.id) }
            if let position { try await perform(.seek(to: position), now.id) }
            if now.queue.repeatMode != before.queue.repeatMode {
                try await perform(.repeatMode(before.queue.repeatMode), now.id)
            }
            let policy = before.queue.failurePolicy ?? .skip
            if now.queue.failurePolicy ?? .skip != policy {
                _ = try await router.edit(
                    .failurePolicy(policy), session: now.id, ifVersion: nil, workingDirectory: "/")
            }
            return now.id
        }
        var sources: [String] = []
        var descriptions: [MediaDescription] = []
        var index = 0
        for (number, entry) in before.queue.items.enumerated() {
            guard let source = entry.source.text else {
                losses.append("\(entry.title) cannot be brought back: it is live input")
                continue
            }
            if number <= before.queue.items.firstIndex(where: { $0.id == item }) ?? 0 { index = sources.count }
            sources.append(source)
            // Of what a list named, the list is not read again.
            descriptions.append(MediaDescription(entry))
        }
        descriptions = Self.sayable(descriptions, \.fault, &losses)
        guard !sources.isEmpty else { return nil }
        let current = before.currentItem
        let rate = before.anchor.map(\.rate).flatMap { $0 > 0 ? $0 : nil } ?? 1
        let session = try await ScenePlaying(router: router).play(
            PlayRequest(
                what: sources, rooms: selectors(before), start: position ?? .zero, subtitles: current?.subtitles,
                rate: rate, repeatMode: before.queue.repeatMode, failurePolicy: before.queue.failurePolicy,
                externalPlayback: current?.externalPlayback, descriptions: descriptions,
                // Nothing is heard before it is as loud as it was, nor what did not play then.
                paused: true), from: index)
        if session.queue.items.count < sources.count {
            losses.append("\(sources.count - session.queue.items.count) items of the queue")
        }
        // It is loaded in silence by now: whatever else fails, it is to be heard again.
        do {
            try await restoreItems(before.queue, in: session, losses: &losses)
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            losses.append("what its items said of themselves: \(RouterError(wrapping: error).message)")
        }
        if before.queue.original != nil { losses.append("the order without shuffle is not known any more") }
        return session.id
    }

    /// What the items said of themselves. What cannot be said of them again is a loss.
    private func restoreItems(
        _ before: QueueSnapshot, in session: SessionSnapshot, losses: inout [String]
    ) async throws {
        var edits: [QueueItemSettings: [ItemID]] = [:]
        var descriptions: [ItemDescription] = []
        var rest = before.items[...]
        for new in session.queue.items {
            // What is not there any more was left out.
            guard let place = rest.firstIndex(where: { $0.source == new.source }) else { continue }
            let old = rest[place]
            rest = rest[rest.index(after: place)...]
            if old.subtitles != new.subtitles { losses.append("the subtitles of \(old.title) are not as they were") }
            if old.metadata != new.metadata || old.context != new.context {
                descriptions.append(ItemDescription(item: new.id, metadata: old.metadata, context: old.context))
            }
            let isShown = old.externalPlayback ?? true
            let settings = QueueItemSettings(
                start: old.start == new.start || old.start == .zero ? nil : old.start,
                end: old.end == new.end ? nil : old.end,
                externalPlayback: isShown == new.externalPlayback ?? true ? nil : isShown,
                custom: old.custom == new.custom ? nil : old.custom)
            if settings != QueueItemSettings() { edits[settings, default: []].append(new.id) }
        }
        var told: [String] = []
        descriptions = Self.sayable(descriptions, \.fault, &told)
        if !descriptions.isEmpty {
            _ = try await router.edit(
                .describe(descriptions), session: session.id, ifVersion: nil, workingDirectory: "/")
        }
        for (settings, items) in edits {
            _ = try await router.edit(
                .settings(items, settings), session: session.id, ifVersion: nil, workingDirectory: "/")
        }
    }

    /// Those that a router takes. What is left out is looked up in the media again, and told.
    private static func sayable<Description>(
        _ descriptions: [Description], _ fault: (Description) -> MediaDescription.Fault?, _ losses: inout [String]
    ) -> [Description] {
        let kept = Array(descriptions.filter { fault($0) == nil }.prefix(MediaDescription.maximumCount))
        if kept.count < descriptions.count {
            losses.append("\(descriptions.count - kept.count) items are called what their media say")
        }
        return kept
    }

    // MARK: Volume and play state

    private func restoreVolumes(
        _ before: SessionSnapshot, in id: SessionID, _ progress: inout Progress
    ) async throws {
        for member in before.members where member.volumeHandling == .adjustable {
            guard let volume = member.volume else { continue }
            // Each device of a room has a loudness of its own.
            try await attempt("the volume of \(member.name)", &progress) { _ in
                let name = snapshot.selector(member, alone: true)
                try await perform(.setVolume(volume.level, room: name), id)
                if volume.muted { try await perform(.mute(true, room: name), id) }
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

extension SessionSnapshot {
    /// Where what plays would be gone on with; nil for what is live or has no known length: it has no such place.
    var resumePosition: MediaTime? {
        guard let item = currentItem, item.metadata.kind != .live, anchor?.duration ?? item.metadata.duration != nil,
            !members.contains(where: { $0.liveWindow?.done == false })
        else { return nil }
        if case .live = item.source { return nil }
        return position ?? .zero
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
        do {
            _ = try await router.edit(
                .insert(Array(request.what[..<index]), before: first), session: session.id, ifVersion: nil,
                workingDirectory: request.workingDirectory)
        } catch {
            // What is only loaded is heard once it is known where.
            if Task.isCancelled || request.paused != true { throw error }
        }
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
