import Foundation
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
            try check(edit.edit)
            let before = queue.current
            switch edit.edit {
            case .playNext: queue.insert(edit.items, after: queue.current)
            case .append: queue.insert(edit.items, before: nil)
            case .insert(_, let place, _): queue.insert(edit.items, before: place)
            case .move(let ids, let place): queue.move(ids, before: place)
            case .remove(let ids): queue.remove(Set(ids))
            case .clearUpcoming: queue.clearUpcoming()
            case .clear: queue.clear()
            case .replaceUpcoming: queue.replaceUpcoming(edit.items)
            case .undo:
                guard queue.undo() else {
                    throw RouterError(
                        .unavailable, "there is no change of the queue to take back",
                        hint: "The last \(PlayQueue.undoDepth) can be", scope: .command)
                }
            case .failurePolicy(let policy):
                queue.setFailurePolicy(policy)
                if policy != .stop { failures.halted = false }
            case .settings(let ids, let settings): queue.apply(settings, to: ids)
            case .describe(let items): await describe(items)
            }
            if queue.current != before {
                // What played is gone: what follows it plays, and with nothing to follow it is over.
                guard let next = queue.item(queue.current) else {
                    await finish(edit.edit == .clear ? .cancelled : .finished)
                    return queue.snapshot
                }
                try await restart(next, at: next.start)
            } else if let item = queue.item(queue.current), await hides(item, by: edit.edit) {
                try await restart(item, at: anchor?.position(at: clock.now()) ?? item.start)
            } else {
                try await feedAnew(edit.edit)
            }
            // Written soon, and not waited for: many edits in a row become one write.
            await publish()
            fillWindows()
            return queue.snapshot
        }
    }

    /// Where the decoder, which runs ahead, was told to go on with what no longer comes next, it begins anew from here.
    /// One that was told that nothing follows plays on: what follows now begins once that was heard.
    private func feedAnew(_ edit: QueueEdit? = nil) async throws {
        guard run != nil, let item = queue.item(queue.current) else { return }
        let ahead = feedAnswers.lastIndex { $0.after == item.id }.map { feedAnswers[$0...] } ?? []
        let isOld = ahead.contains { answer in
            // One that failed since then was passed over.
            guard let next = answer.next, queue.item(answer.after)?.failure == nil else { return false }
            return queue.item(next)?.failure == nil && queue.item(after: answer.after)?.id != next
        }
        guard isOld || changes(edit, whatBegan: [item.id] + ahead.compactMap(\.next)) else { return }
        try await restart(item, at: anchor?.position(at: clock.now()) ?? .zero)
    }

    /// Whether an edit changes where items end, or the next ones begin, that the decoder has begun.
    private func changes(_ edit: QueueEdit?, whatBegan begun: [ItemID]) -> Bool {
        guard case .settings(let ids, let settings)? = edit, settings.start != nil || settings.end != nil else {
            return false
        }
        return !Set(begun).isDisjoint(with: ids)
    }

    /// Whether an edit takes the picture that is shown now off the screen (A6).
    private func hides(_ item: QueueItem, by edit: QueueEdit) async -> Bool {
        guard case .settings(let ids, let settings) = edit, settings.externalPlayback == false, ids.contains(item.id),
            alivePull.contains(where: { members[$0].session?.descriptor.capabilities[.video] != .unsupported })
        else { return false }
        return (try? await environment.media.facts(item.source))?.hasVideo ?? false
    }

    /// What is left out is filled in from the media, where that is known to play.
    private func describe(_ items: [ItemDescription]) async {
        queue.describe(items)
        guard let current = queue.current, items.contains(where: { $0.item == current }) else { return }
        if anchor?.item == current { anchor?.duration = queue.item(current)?.metadata.duration ?? anchor?.duration }
        jobs.add { [self] in await learnFacts(of: current) }
    }

    static func check(_ descriptions: [MediaDescription]) throws {
        try check(count: descriptions.count)
        for description in descriptions {
            try check(description.fault, of: description.metadata, called: description.source.label)
        }
    }

    private static func check(_ descriptions: [ItemDescription]) throws {
        try check(count: descriptions.count)
        for description in descriptions {
            try check(description.fault, of: description.metadata, called: "item \(description.item)")
        }
    }

    private static func check(count: Int) throws {
        guard count > MediaDescription.maximumCount else { return }
        throw RouterError(
            .configuration, "\(count) descriptions are too many",
            hint: "Give at most \(MediaDescription.maximumCount) at a time", scope: .command)
    }

    private static func check(
        _ fault: MediaDescription.Fault?, of metadata: MediaMetadata, called name: String
    ) throws {
        let title = metadata.title ?? name
        switch fault {
        case nil: return
        case .duration?:
            throw RouterError(
                .configuration, "“\(title)” cannot last \(metadata.duration?.seconds ?? 0) s",
                hint: "Leave the duration out where it is not known", scope: .item)
        case .size?:
            throw RouterError(
                .configuration, "the description of “\(title.prefix(100))” is too long",
                hint: "Keep it under \(MediaDescription.maximumBytes) bytes", scope: .item)
        }
    }

    /// How the queue came from this version to what it is.
    func changes(since version: Int) -> QueueChanges {
        let changes = queue.changes(since: version)
        return QueueChanges(
            session: id, base: version, version: queue.version, changes: changes ?? [],
            whole: changes == nil ? queue.snapshot : nil)
    }

    /// Throws for what cannot be: items that are not in the queue, and settings that are out of range.
    private func check(_ edit: QueueEdit) throws {
        let named: [ItemID]
        switch edit {
        case .playNext, .append, .clearUpcoming, .clear, .replaceUpcoming, .undo: named = []
        case .failurePolicy(let policy):
            try Self.check(policy)
            named = []
        case .settings(let ids, let settings):
            try check(settings, of: ids)
            named = ids
        case .describe(let items):
            try Self.check(items)
            named = []
        case .insert(_, let place, _): named = [place]
        case .move(let ids, let place): named = ids + (place.map { [$0] } ?? [])
        case .remove(let ids): named = ids
        }
        guard let missing = named.first(where: { queue.item($0) == nil }) else { return }
        throw RouterError(
            .mediaNotFound, "there is no item \(missing) in the queue", hint: "Look at the queue again",
            scope: .item)
    }

    static func check(_ policy: FailurePolicy?) throws {
        guard case .retry(let times)? = policy, !(1...10).contains(times) else { return }
        throw RouterError(
            .configuration, "an item cannot be tried again \(times) times", hint: "Choose from 1 to 10",
            scope: .command)
    }

    /// Of items that come in, which begin at their beginning where nothing else is said.
    static func check(_ settings: QueueItemSettings) throws {
        try check(settings, of: [QueueItem(id: ItemID(rawValue: ""), source: .url("the new items"))])
    }

    private func check(_ settings: QueueItemSettings, of ids: [ItemID]) throws {
        try Self.check(settings, of: ids.compactMap { queue.item($0) })
    }

    private static func check(_ settings: QueueItemSettings, of items: [QueueItem]) throws {
        if let custom = settings.custom, !custom.isEmpty {
            guard custom.utf8.count <= QueueItem.maximumCustomBytes else {
                throw RouterError(
                    .configuration, "a custom document of \(custom.utf8.count) bytes is too large",
                    hint: "Keep it under \(QueueItem.maximumCustomBytes) bytes", scope: .item)
            }
            guard (try? JSONSerialization.jsonObject(with: Data(custom.utf8), options: .fragmentsAllowed)) != nil else {
                throw RouterError(
                    .configuration, "the custom document is no JSON", hint: "Give a JSON document", scope: .item)
            }
        }
        for item in items {
            let start = settings.start ?? item.start
            let end = settings.end ?? item.end ?? .zero
            guard start >= .zero, end == .zero || end > start else {
                throw RouterError(
                    .configuration, "“\(item.title)” cannot stop at \(end.seconds) s and begin at \(start.seconds) s",
                    hint: "Let it end after its beginning", scope: .item)
            }
        }
    }

    func shuffle(_ on: Bool) async throws -> CommandOutcome {
        if on {
            queue.shuffle(seed: .random(in: .min ... .max))
        } else {
            queue.unshuffle()
        }
        try await feedAnew()
        await publish()
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
        fillWindows()
        return .succeeded
    }
}
