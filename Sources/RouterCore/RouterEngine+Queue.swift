import Foundation
import RouteBackend
import RouteModel

/// Queues: what is put into them, their edits, their history, and those that are kept under a name.
extension RouterEngine {
    /// The items that a request means. Never empty: throws `mediaNotFound` and the like.
    func items(of request: PlayRequest, telling: Bool = true) async throws -> [QueueItem] {
        try PlaybackSession.check(request.descriptions ?? [])
        if let name = request.savedQueue {
            guard request.what.isEmpty else {
                throw RouterError(
                    .configuration, "a saved queue plays by itself, and nothing beside it",
                    hint: "Play it, and add the rest to what plays", scope: .command)
            }
            return try await itemsOfSavedQueue(name, request)
        }
        var expanded = try await media.expand(request.what, workingDirectory: request.workingDirectory)
        if request.context == true { expanded = await withWhatFollows(expanded, request) }
        if telling { for notice in expanded.notices { tell(notice) } }
        return items(
            expanded.described(by: request.descriptions ?? []), subtitles: request.subtitles,
            externalPlayback: request.externalPlayback)
    }

    func items(
        _ expanded: ExpandedMedia, subtitles: SubtitleRequest? = nil, externalPlayback: Bool? = nil
    ) -> [QueueItem] {
        expanded.entries.map { entry in
            QueueItem(
                id: newItemID(), source: entry.source, metadata: entry.metadata, context: entry.context,
                subtitles: subtitles, externalPlayback: externalPlayback ?? entry.externalPlayback)
        }
    }

    private func newItemID() -> ItemID { .ulid(milliseconds: UInt64(max(0, clock.now() / 1_000_000))) }

    /// One file is followed by what follows it in its folder.
    private func withWhatFollows(_ expanded: ExpandedMedia, _ request: PlayRequest) async -> ExpandedMedia {
        guard request.what.count == 1, expanded.entries.count == 1, case .file(let path) = expanded.entries[0].source
        else { return expanded }
        let folder = (path as NSString).deletingLastPathComponent
        guard let whole = try? await media.expand([folder], workingDirectory: request.workingDirectory),
            let place = whole.entries.firstIndex(where: { $0.source == .file(path: path) })
        else { return expanded }
        // Of folders inside it nothing follows: they are other albums.
        let following = whole.entries[place...].filter { entry in
            guard case .file(let other) = entry.source else { return false }
            return (other as NSString).deletingLastPathComponent == folder
        }
        return ExpandedMedia(entries: Array(following), notices: expanded.notices)
    }

    // MARK: Edits

    public func edit(
        _ edit: QueueEdit, session: SessionID?, ifVersion version: Int?, workingDirectory: String
    ) async throws -> QueueSnapshot {
        let target = try chosenSession(session)
        var items: [QueueItem] = []
        switch edit {
        case .playNext(let what, let settings), .append(let what, let settings), .insert(let what, _, let settings),
            .replaceUpcoming(let what, let settings):
            if let settings { try PlaybackSession.check(settings) }
            let expanded = try await media.expand(what, workingDirectory: workingDirectory)
            for notice in expanded.notices { tell(notice) }
            items = self.items(expanded)
            if let settings { for index in items.indices { items[index].take(settings) } }
        case .move, .remove, .clearUpcoming, .clear, .undo, .failurePolicy, .settings, .describe: break
        }
        return try await target.edit(PlaybackSession.Edit(edit: edit, items: items), ifVersion: version)
    }

    public func queueChanges(session: SessionID?, since version: Int) async throws -> QueueChanges {
        try await chosenSession(session).changes(since: version)
    }

    // MARK: History

    public func history(limit: Int) async throws -> [PlayRecord] {
        guard (1...1000).contains(limit) else {
            throw RouterError(
                .configuration, "\(limit) plays cannot be asked for", hint: "Choose from 1 to 1000", scope: .command)
        }
        // How far what plays has come by now.
        for session in runningSessions { await session.notePlace() }
        return try await store.plays(limit: limit)
    }

    // MARK: Saved queues

    /// Queues that can be kept under a name.
    static let savedQueueLimit = 200

    public func saveQueue(session: SessionID?, as name: String) async throws -> SavedQueue {
        let name = try Self.checked(name)
        let queue = try await queue(of: session)
        let items = queue.items.filter { !$0.source.isStandardInput }.map { item -> QueueItem in
            var item = item
            item.failure = nil
            return item
        }
        guard !items.isEmpty else {
            throw RouterError(
                .mediaNotFound, "the queue holds nothing that could be kept", hint: "Put something into it first",
                scope: .session)
        }
        let known = try await store.savedQueueNames()
        guard known.contains(name) || known.count < Self.savedQueueLimit else {
            throw RouterError(
                .configuration, "\(Self.savedQueueLimit) queues are kept already", hint: "Remove one of them first",
                scope: .command)
        }
        let saved = SavedQueue(name: name, items: items, saved: wallSeconds())
        try await store.keepQueue(saved)
        return saved
    }

    public func savedQueues() async throws -> [SavedQueue] {
        var queues: [SavedQueue] = []
        for name in try await store.savedQueueNames() {
            if let queue = try await store.savedQueue(name) { queues.append(queue) }
        }
        return queues
    }

    public func removeSavedQueue(_ name: String) async throws {
        guard try await store.removeSavedQueue(name) else { throw try await noSavedQueue(name) }
    }

    /// Also of a session that has ended: its queue is there until another takes its place.
    private func queue(of session: SessionID?) async throws -> QueueSnapshot {
        do {
            return try await chosenSession(session).queue.snapshot
        } catch {
            guard let session, let queue = try await lastQueue(of: session) else { throw error }
            return queue
        }
    }

    private func itemsOfSavedQueue(_ name: String, _ request: PlayRequest) async throws -> [QueueItem] {
        guard let saved = try await store.savedQueue(name), !saved.items.isEmpty else {
            throw try await noSavedQueue(name)
        }
        return saved.items.map { item in
            // Played anew, each is another occurrence.
            var item = item
            item.id = newItemID()
            item.subtitles = request.subtitles ?? item.subtitles
            item.externalPlayback = request.externalPlayback ?? item.externalPlayback
            return item
        }
    }

    private func noSavedQueue(_ name: String) async throws -> RouterError {
        let names = try await store.savedQueueNames()
        let near = NearNames.of(name, among: names)
        return RouterError(
            .mediaNotFound, "no queue is kept as “\(name)”",
            hint: near.first.map { "Did you mean “\($0)”?" } ?? "Look at the saved queues", scope: .item,
            candidates: near.isEmpty ? names : near)
    }

    private static func checked(_ name: String) throws -> String {
        let trimmed = name.trimmingCharacters(in: .whitespacesAndNewlines)
        let isPlain = !trimmed.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard (1...64).contains(trimmed.count), isPlain else {
            throw RouterError(
                .configuration, "a queue cannot be kept under that name", hint: "Choose 1 to 64 letters or digits",
                scope: .command)
        }
        return trimmed
    }
}

extension ExpandedMedia {
    /// With what is known of it, in place of what was found.
    fileprivate func described(by descriptions: [MediaDescription]) -> ExpandedMedia {
        guard !descriptions.isEmpty else { return self }
        var left = Dictionary(grouping: descriptions.reversed(), by: \.source)
        var result = self
        for index in result.entries.indices {
            guard let known = left[result.entries[index].source]?.popLast() else { continue }
            result.entries[index].metadata = known.metadata
            result.entries[index].context = known.context ?? result.entries[index].context
        }
        return result
    }
}
