import RouteModel

/// What a queue does, whatever rooms play it: the same cases for rooms that fetch, rooms that are sent packets, and both
/// together (`model.md` section 3). They speak the control boundary and nothing else.
///
/// Each case plays anew and stops at its end. Cases throw `ConformanceFailure`.
public struct QueueConformance: Sendable {
    let router: any RouterControlling
    let rooms: [String]
    let tunes: [String]

    /// - Parameter tunes: four files or more, each of a minute or more.
    public init(_ router: any RouterControlling, rooms: [String], tunes: [String]) {
        self.router = router
        self.rooms = rooms
        self.tunes = tunes
    }

    private static let table:
        [(name: String, body: @Sendable (QueueConformance, SessionSnapshot) async throws -> Void)] = [
            (
                "next, jump and previous lead through the queue and back through what was played",
                { try await $0.moving($1) }
            ),
            ("edits make the order that they say, and are taken back", { try await $0.edits($1) }),
            ("an edit for another version is refused", { try await $0.conflict($1) }),
            ("of two edits for one version one is made, and the other told", { try await $0.twoEditors($1) }),
            ("changes lead a copy from one version to the next", { try await $0.changes($1) }),
            ("shuffle keeps what plays, and is undone to the order before", { try await $0.shuffle($1) }),
            ("with what plays taken out, what follows it plays", { try await $0.removing($1) }),
            ("repeat all goes round, repeat off ends", { try await $0.repeating($1) }),
            ("the history says what was played, where, and that it was stopped", { try await $0.history($1) }),
        ]

    /// The names of all cases.
    public static let cases = table.map(\.name)

    /// Runs one case.
    public func run(_ name: String) async throws {
        guard let entry = Self.table.first(where: { $0.name == name }) else {
            throw ConformanceFailure("there is no case “\(name)”")
        }
        try await playing { try await entry.body(self, $0) }
    }

    /// Plays anew, and ends that.
    ///
    /// - Parameter ends: false: the case ends it itself.
    func playing(ends: Bool = true, _ body: (SessionSnapshot) async throws -> Void) async throws {
        let session = try await router.play(
            PlayRequest(what: Array(tunes.prefix(4)), rooms: rooms, workingDirectory: "/"))
        do {
            try check(session.queue.current == session.queue.items.first?.id, "it does not begin with the first item")
            try await body(session)
        } catch {
            if ends { try? await router.end(session: session.id, reason: .stop) }
            throw error
        }
        if ends { try? await router.end(session: session.id, reason: .stop) }
    }

    // MARK: Cases

    private func moving(_ session: SessionSnapshot) async throws {
        let ids = session.queue.items.map(\.id)
        try await expect(session, .next, current: ids[1])
        try await expect(session, .jump(ids[3]), current: ids[3])
        try await goBack(session, from: ids[3], to: ids[1])
        try await goBack(session, from: ids[1], to: ids[0])
        try await expect(session, .jump(ids[3]), current: ids[3])
        let outcome = try await router.perform(.next, session: session.id, origin: .api).outcome
        try check(outcome == .noSuchContent, "next at the end was \(outcome)")
    }

    private func edits(_ session: SessionSnapshot) async throws {
        let ids = session.queue.items.map(\.id)
        var queue = try await edit(session, .playNext([tunes[3]]))
        let added = queue.items[1].id
        try check(queue.items.map(\.id) == [ids[0], added, ids[1], ids[2], ids[3]], "next was put elsewhere")
        queue = try await edit(session, .move([ids[3], added], before: ids[1]))
        try check(queue.items.map(\.id) == [ids[0], ids[3], added, ids[1], ids[2]], "the move went elsewhere")
        queue = try await edit(session, .remove([ids[1]]))
        try check(queue.items.map(\.id) == [ids[0], ids[3], added, ids[2]], "the removal took something else")
        queue = try await edit(session, .replaceUpcoming([tunes[1]]))
        try check(queue.items.count == 2 && queue.items[0].id == ids[0], "what was to come is still there")
        for expected in [4, 5, 5, 4] {
            queue = try await edit(session, .undo)
            try check(queue.items.count == expected, "undo led to \(queue.items.count) items, not \(expected)")
        }
        try check(queue.items.map(\.id) == ids, "four edits taken back do not lead to the beginning")
        try check(queue.current == ids[0], "what plays is another item")
    }

    private func conflict(_ session: SessionSnapshot) async throws {
        let first = try await edit(session, .append([tunes[0]]))
        do {
            _ = try await router.edit(
                .append([tunes[0]]), session: session.id, ifVersion: first.version - 1, workingDirectory: "/")
        } catch let error as RouterError {
            return try check(error.code == .queueConflict, "it was refused as \(error.code.rawValue)")
        }
        throw ConformanceFailure("an edit for an old version was made")
    }

    private func twoEditors(_ session: SessionSnapshot) async throws {
        let ids = session.queue.items.map(\.id)
        let version = try await current(session).queue.version
        let edits = [QueueEdit.move([ids[3]], before: ids[1]), .remove([ids[2]])]
        let results = await withTaskGroup(of: (Int, Result<QueueSnapshot, RouterError>).self) { group in
            for (number, edit) in edits.enumerated() {
                group.addTask {
                    do {
                        return (
                            number,
                            .success(
                                try await router.edit(
                                    edit, session: session.id, ifVersion: version, workingDirectory: "/"))
                        )
                    } catch {
                        return (number, .failure(RouterError(wrapping: error)))
                    }
                }
            }
            var results: [Int: Result<QueueSnapshot, RouterError>] = [:]
            for await (number, result) in group { results[number] = result }
            return results
        }
        guard let won = results.first(where: { (try? $0.value.get()) != nil }), let lost = results[1 - won.key],
            case .failure(let error) = lost
        else { throw ConformanceFailure("both were made, or none: \(results)") }
        try check(error.code == .queueConflict, "the other was refused as \(error.code.rawValue)")
        let expected = [[ids[0], ids[3], ids[1], ids[2]], [ids[0], ids[1], ids[3]]][won.key]
        let queue = try await current(session).queue
        try check(queue.items.map(\.id) == expected && queue.version > version, "the queue is neither")
        // Made anew for what is there now, it is made.
        let both = try await router.edit(
            edits[1 - won.key], session: session.id, ifVersion: queue.version, workingDirectory: "/")
        try check(both.items.map(\.id) == [ids[0], ids[3], ids[1]], "both together made something else")
    }

    private func changes(_ session: SessionSnapshot) async throws {
        var copy = session.queue
        _ = try await edit(session, .append([tunes[0], tunes[1]]))
        _ = try await router.perform(.shuffle(true), session: session.id, origin: .api)
        _ = try await router.perform(.next, session: session.id, origin: .api)
        let update = try await router.queueChanges(session: session.id, since: copy.version)
        try check(copy.apply(update), "the changes do not begin with the version that was asked for")
        let again = try await router.queueChanges(session: session.id, since: copy.version)
        try check(copy.apply(again), "the changes do not begin with the version that they led to")
        let now = try await current(session).queue
        try check(copy.version == now.version && copy.items.map(\.id) == now.items.map(\.id), "the copy is another")
        try check(copy.original == now.original && copy.current == now.current, "the copy is another")
    }

    private func shuffle(_ session: SessionSnapshot) async throws {
        let ids = session.queue.items.map(\.id)
        _ = try await router.perform(.next, session: session.id, origin: .api)
        _ = try await router.perform(.shuffle(true), session: session.id, origin: .api)
        let shuffled = try await current(session).queue
        try check(shuffled.original == ids, "the order before is not kept: \(shuffled.original?.count ?? 0) items")
        try check(
            shuffled.current == ids[1] && Array(shuffled.items.map(\.id).prefix(2)) == Array(ids.prefix(2)),
            "what was played, or plays, was moved")
        _ = try await router.perform(.shuffle(false), session: session.id, origin: .api)
        let back = try await current(session).queue
        try check(back.items.map(\.id) == ids && back.original == nil && back.current == ids[1], "it is not undone")
    }

    private func removing(_ session: SessionSnapshot) async throws {
        let ids = session.queue.items.map(\.id)
        let queue = try await edit(session, .remove([ids[0], ids[1]]))
        try check(queue.current == ids[2], "what plays is \(queue.current?.rawValue ?? "nothing")")
        let now = try await current(session)
        try check(now.media != .stopped && now.connection == .connected, "it has stopped")
    }

    private func repeating(_ session: SessionSnapshot) async throws {
        let ids = session.queue.items.map(\.id)
        _ = try await router.perform(.repeatMode(.all), session: session.id, origin: .api)
        _ = try await router.perform(.jump(ids[3]), session: session.id, origin: .api)
        try await expect(session, .next, current: ids[0])
        _ = try await router.perform(.repeatMode(.off), session: session.id, origin: .api)
        try check(try await current(session).queue.repeatMode == .off, "it still repeats")
    }

    private func history(_ session: SessionSnapshot) async throws {
        let ids = session.queue.items.map(\.id)
        _ = try await router.perform(.jump(ids[2]), session: session.id, origin: .api)
        _ = try await router.perform(.stop, session: session.id, origin: .api)
        let plays = try await router.history(limit: 50).filter { $0.session == session.id }
        try check(plays.map(\.item.id) == [ids[2], ids[0]], "it says \(plays.map(\.item.title))")
        try check(plays.allSatisfy { $0.stopped != nil && $0.rooms == rooms }, "it says \(plays.map(\.rooms))")
        try check(plays.first?.reason == .cancelled, "it was stopped by \(String(describing: plays.first?.reason))")
    }

    // MARK: -

    func expect(_ session: SessionSnapshot, _ command: RemoteCommand, current wanted: ItemID) async throws {
        let outcome = try await router.perform(command, session: session.id, origin: .api).outcome
        try check(!outcome.isError, "\(command) was \(outcome)")
        let now = try await current(session).queue.current
        try check(now == wanted, "after \(command) it plays \(now?.rawValue ?? "nothing"), not \(wanted)")
    }

    /// As people do it: where the item began too long ago, `previous` begins it anew, and leads back when pressed again.
    private func goBack(_ session: SessionSnapshot, from item: ItemID, to wanted: ItemID) async throws {
        let outcome = try await router.perform(.previous, session: session.id, origin: .api).outcome
        try check(!outcome.isError, "previous was \(outcome)")
        if try await current(session).queue.current == item {
            try await expect(session, .previous, current: wanted)
        } else {
            let now = try await current(session).queue.current
            try check(now == wanted, "after previous it plays \(now?.rawValue ?? "nothing"), not \(wanted)")
        }
    }

    func edit(_ session: SessionSnapshot, _ edit: QueueEdit) async throws -> QueueSnapshot {
        try await router.edit(edit, session: session.id, ifVersion: nil, workingDirectory: "/")
    }

    func current(_ session: SessionSnapshot) async throws -> SessionSnapshot {
        guard let now = await router.sessions().first(where: { $0.id == session.id }) else {
            throw ConformanceFailure("the session is not there any more")
        }
        return now
    }

    func check(_ isSo: Bool, _ otherwise: @autoclosure () -> String) throws {
        guard isSo else { throw ConformanceFailure(otherwise()) }
    }
}
