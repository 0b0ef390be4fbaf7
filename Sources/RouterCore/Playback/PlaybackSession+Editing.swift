import RouteBackend
import RouteModel

/// Changes to the queue, by people here and by other senders there.
extension PlaybackSession {
    /// An edit with its items made, ready to be done.
    struct Edit: Sendable {
        var edit: QueueEdit
        /// What the edit's words turned out to be.
        var items: [QueueItem]
    }

    func edit(_ edit: Edit, ifVersion version: Int?) async throws -> QueueSnapshot {
        try await serially {
            guard !ended else {
                throw RouterError(.routeNotFound, "the session has ended", scope: .session)
            }
            if let version, version != queue.version {
                throw RouterError(
                    .queueConflict, "the queue is at version \(queue.version) by now, not \(version)",
                    hint: "Look at the queue again, and make the change anew", scope: .session, retry: .now)
            }
            try known(edit.edit)
            let before = queue.current
            switch edit.edit {
            case .playNext: queue.insert(edit.items, after: queue.current)
            case .append: queue.insert(edit.items, before: nil)
            case .insert(_, let place): queue.insert(edit.items, before: place)
            case .move(let ids, let place): queue.move(ids, before: place)
            case .remove(let ids): queue.remove(Set(ids))
            case .clearUpcoming: queue.clearUpcoming()
            case .clear, .replaceUpcoming, .undo, .failurePolicy:
                throw RouterError(.unsupported, "not built yet", scope: .command)
            }
            if queue.current != before {
                // What played is gone: what follows it plays, and with nothing to follow it is over.
                guard let next = queue.item(queue.current) else {
                    await finish(.finished)
                    return queue.snapshot
                }
                _ = try await restart(next, at: next.start)
            } else {
                try await feedAnew()
            }
            await publish()
            await remember()
            fillWindows()
            return queue.snapshot
        }
    }

    /// Where the decoder, which runs ahead, has begun what no longer comes next, it begins anew from here.
    private func feedAnew() async throws {
        guard let run, let item = queue.item(queue.current), let mark = run.mark(of: item.id),
            let ahead = run.marks.first(where: { $0.frame > mark.frame }),
            ahead.item != queue.item(after: item.id)?.id
        else { return }
        _ = try await restart(item, at: anchor?.position(at: clock.now()) ?? .zero)
    }

    /// Throws for items that are not in the queue.
    private func known(_ edit: QueueEdit) throws {
        let named: [ItemID] =
            switch edit {
            case .playNext, .append, .clearUpcoming, .clear, .replaceUpcoming, .undo, .failurePolicy: []
            case .insert(_, let place): [place]
            case .move(let ids, let place): ids + (place.map { [$0] } ?? [])
            case .remove(let ids): ids
            }
        guard let missing = named.first(where: { queue.item($0) == nil }) else { return }
        throw RouterError(
            .mediaNotFound, "there is no item \(missing) in the queue", hint: "Look at the queue again",
            scope: .item)
    }

    func shuffle(_ on: Bool) async throws -> CommandOutcome {
        if on {
            var generator = SystemRandomNumberGenerator()
            queue.shuffle(using: &generator)
        } else {
            queue.unshuffle()
        }
        try await feedAnew()
        await publish()
        await remember()
        fillWindows()
        return .succeeded
    }

    func setRepeat(_ mode: RepeatMode) async throws -> CommandOutcome {
        queue.setRepeat(mode)
        try await feedAnew()
        // Our window goes round by itself; a device that another sender has told to repeat would do so beside it.
        for index in alivePull where members[index].deviceRepeat ?? .off != .off && members[index].deviceRepeat != mode
        {
            guard let session = members[index].session else { continue }
            members[index].deviceRepeat = .off
            _ = try? await call(index, session) { try await $0.perform(.setRepeat(.off)) }
        }
        await publish()
        await remember()
        fillWindows()
        return .succeeded
    }
}
