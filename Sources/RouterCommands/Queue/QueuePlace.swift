import RouteModel

/// Which items of a queue a person means by a word.
struct QueuePlace {
    let queue: QueueSnapshot

    /// All that these words mean, in the order of the queue where a word means several. Throws `mediaNotFound` and
    /// `routeAmbiguous`, and `UsageError` for a word that is none.
    func items(_ words: [String]) throws -> [ItemID] {
        var result: [ItemID] = []
        for word in words {
            for id in try items(word) where !result.contains(id) { result.append(id) }
        }
        return result
    }

    func item(_ word: String) throws -> ItemID {
        let found = try items(word)
        guard let first = found.first, found.count == 1 else {
            throw UsageError("“\(word)” is \(found.count) items, and this is for one")
        }
        return first
    }

    private func items(_ word: String) throws -> [ItemID] {
        // Every title begins with nothing.
        if word.isEmpty { throw UsageError("an item is empty", hint: "Check the variable that it came from") }
        switch word {
        case "current":
            guard let current = queue.current else { throw nothing("nothing of the queue plays now") }
            return [current]
        case "last":
            guard let last = queue.items.last else { throw nothing("the queue is empty") }
            return [last.id]
        default: break
        }
        if let number = Int(word) { return [try at(number)] }
        let ends = word.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        if ends.count == 2, let first = ends[0], let last = ends[1] {
            guard first <= last else { throw UsageError("“\(word)” runs backwards", hint: "Write \(last)-\(first)") }
            _ = try (at(first), at(last))
            return queue.items[(first - 1)...(last - 1)].map(\.id)
        }
        let wanted = word.lowercased()
        let byID = queue.items.filter { $0.id.rawValue.lowercased() == wanted || $0.shortID.lowercased() == wanted }
        if byID.count == 1 { return byID.map(\.id) }
        var titled = queue.items.filter { $0.title.lowercased().hasPrefix(wanted) }
        // A file's name is its title until that is learnt, and may be known to who added it by that only.
        if titled.isEmpty { titled = queue.items.filter { $0.source.label.lowercased().hasPrefix(wanted) } }
        if titled.count == 1 { return titled.map(\.id) }
        guard titled.isEmpty else {
            throw RouterError(
                .routeAmbiguous, "“\(word)” begins the titles of \(titled.count) items",
                hint: "Give the place in the list",
                scope: .item, candidates: titled.prefix(10).map(\.title))
        }
        let near = NearNames.of(word, among: queue.items.prefix(1000).map(\.title))
        throw nothing("no item of the queue is “\(word)”", near)
    }

    private func at(_ number: Int) throws -> ItemID {
        guard number >= 1, number <= queue.items.count else {
            throw nothing(
                queue.items.isEmpty
                    ? "the queue is empty" : "the queue has items 1 to \(queue.items.count), and no \(number)")
        }
        return queue.items[number - 1].id
    }

    private func nothing(_ message: String, _ candidates: [String] = []) -> RouterError {
        RouterError(
            .mediaNotFound, message, hint: "Run “router queue list” to see what there is", scope: .item,
            candidates: candidates)
    }
}

extension QueueItem {
    /// The end of its id, which is random: enough to tell the items of a queue apart.
    var shortID: String { String(id.rawValue.suffix(6)) }
}

/// One item in a list of a queue.
struct QueueRow: ListDisplayable {
    enum Mark: String, Encodable { case current, played, failed, upcoming }

    /// From 1.
    var number: Int
    var item: QueueItem
    var mark: Mark

    static func rows(_ queue: QueueSnapshot) -> [QueueRow] {
        let current = queue.items.firstIndex { $0.id == queue.current }
        return queue.items.enumerated().map { index, item in
            let mark: Mark =
                if item.failure != nil {
                    .failed
                } else if let current {
                    index == current ? .current : index < current ? .played : .upcoming
                } else {
                    .upcoming
                }
            return QueueRow(number: index + 1, item: item, mark: mark)
        }
    }

    static var header: [String] { ["NO", "", "TITLE", "ARTIST", "LENGTH", "ID", "NOTE"] }

    var row: [String] {
        let glyph =
            switch mark {
            case .current: "▶"
            case .played: "✓"
            case .failed: "✗"
            case .upcoming: " "
            }
        return [
            String(number), glyph, item.title, item.metadata.artist ?? "",
            item.metadata.duration.map(ClockTime.format) ?? "", item.shortID, item.failure ?? item.context ?? "",
        ]
    }

    var quietValue: String { item.id.rawValue }

    static var optionalNames: Set<String> {
        ["failure", "context", "subtitles", "addedBy", "end", "externalPlayback", "custom"]
    }

    var facts: [String: OutputValue] {
        [
            "number": .integer(Int64(number)), "mark": .text(mark.rawValue), "title": .text(item.title),
            "artist": item.metadata.artist.map { .text($0) } ?? .null,
            "album": item.metadata.album.map { .text($0) } ?? .null,
            "duration": item.metadata.duration.map { .number($0.seconds) } ?? .null,
        ]
    }

    func encode(to encoder: any Encoder) throws { try item.encode(to: encoder) }
}

extension QueueSnapshot: ListDisplayable {
    static var header: [String] { ["VERSION", "ITEMS", "CURRENT", "REPEAT", "SHUFFLED"] }
    var row: [String] {
        [
            String(version), String(items.count), items.first { $0.id == current }?.title ?? "", repeatMode.rawValue,
            original == nil ? "no" : "yes",
        ]
    }
    var quietValue: String { String(version) }
}
