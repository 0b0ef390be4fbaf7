import Foundation
import RouteBackend
import RouteModel

/// Turns a person's words into items: files, folders, playlists and addresses, one inside the other.
///
/// One value for one request. What is missing inside is left out and told; only when nothing at all is left, the first
/// thing that went wrong is thrown.
struct MediaExpander {
    /// Playlists inside playlists, and folders inside folders.
    private static let maximumNesting = 5
    private static let maximumDepth = 32
    /// Notices that are told one by one.
    private static let maximumNotices = 20

    let workingDirectory: String
    let maximumEntries: Int
    let maximumPlaylistBytes: Int
    /// Gets a list of tracks from the web, at most so many bytes.
    let fetch: @Sendable (_ url: String, _ limit: Int) async throws -> [UInt8]
    /// Asks what is at an address whose name does not say it, and gets it where its server calls it a list of tracks;
    /// nil for anything else, also for what does not answer.
    let look: @Sendable (_ url: String, _ limit: Int) async throws -> TrackDocument?

    private var entries: [ExpandedMedia.Entry] = []
    private var notices: [Notice] = []
    private var unnamed = 0
    private var full = false
    private var failure: RouterError?
    private var rules: SourceRules
    /// Playlists that are being read, outermost first: one inside itself is a ring.
    private var open: [String] = []

    init(
        workingDirectory: String, maximumEntries: Int, maximumPlaylistBytes: Int, rules: [SourceRule] = [],
        fetch: @escaping @Sendable (String, Int) async throws -> [UInt8],
        look: @escaping @Sendable (String, Int) async throws -> TrackDocument? = { _, _ in nil }
    ) {
        self.workingDirectory = workingDirectory
        self.maximumEntries = maximumEntries
        self.maximumPlaylistBytes = maximumPlaylistBytes
        self.rules = SourceRules(rules)
        self.fetch = fetch
        self.look = look
    }

    /// Throws `mediaNotFound`, or what else went wrong first, when nothing is left to play.
    mutating func expand(_ what: [String]) async throws -> ExpandedMedia {
        for word in what {
            do {
                try await add(word)
            } catch let error as RouterError {
                skip(error)
            }
        }
        guard !entries.isEmpty else {
            throw failure
                ?? RouterError(
                    .mediaNotFound, "there is nothing to play", hint: "Name a file, a folder, a playlist or an address",
                    scope: .item)
        }
        if unnamed > 0 { notices.append(Notice(.warning, "\(unnamed) more entries were left out")) }
        if full { notices.append(Notice(.warning, "only the first \(maximumEntries) entries were taken")) }
        return ExpandedMedia(entries: entries, notices: notices)
    }

    private mutating func skip(_ error: RouterError) {
        failure = failure ?? error
        if notices.count < Self.maximumNotices {
            notices.append(Notice(.warning, "left out: \(error.message)", hint: error.hint))
        } else {
            unnamed += 1
        }
    }

    private mutating func add(_ word: String) async throws {
        if let input = try LiveWord.parse(word) {
            try append(input)
        } else if InputArguments.isWeb(word) {
            try await addAddress(word, metadata: MediaMetadata(), context: nil)
        } else if word.lowercased().hasPrefix("file://") {
            guard let url = URL(string: word), url.isFileURL,
                url.host == nil || url.host == "" || url.host == "localhost"
            else {
                throw RouterError(
                    .mediaNotFound, "“\(word)” names no file of this machine",
                    hint: "Write it like file:///home/me/a.mp3",
                    scope: .item)
            }
            try await addPath(url.path, metadata: MediaMetadata(), context: nil)
        } else if let scheme = word.range(of: "://"),
            word[..<scheme.lowerBound].allSatisfy({ $0.isLetter || $0.isNumber })
        {
            throw RouterError(
                .mediaUnsupported, "“\(word[..<scheme.lowerBound])” addresses cannot be played",
                hint: "Give an http or https address, or a file", scope: .item)
        } else {
            try await addPath(absolute(word, in: workingDirectory), metadata: MediaMetadata(), context: nil)
        }
    }

    private mutating func append(_ input: LiveInput) throws {
        if input.kind == .standardInput {
            guard isatty(STDIN_FILENO) == 0 else {
                throw RouterError(
                    .mediaUnsupported, "standard input is the keyboard",
                    hint: "Send sound into it: some-player | router play -", scope: .item)
            }
            let taken = entries.contains {
                if case .live(let other) = $0.source { other.kind == .standardInput } else { false }
            }
            guard !taken else {
                throw RouterError(
                    .mediaUnsupported, "standard input is named twice, and can be heard once", hint: "Name it once",
                    scope: .item)
            }
        }
        append(.live(input), MediaMetadata(kind: .music, title: input.label), nil)
    }

    private func absolute(_ path: String, in folder: String) -> String {
        let joined = path.hasPrefix("/") ? path : "\(folder)/\(path)"
        return (joined as NSString).standardizingPath
    }

    private mutating func append(_ source: MediaSource, _ metadata: MediaMetadata, _ context: String?) {
        guard entries.count < maximumEntries else {
            full = true
            return
        }
        entries.append(
            .init(
                source: source, metadata: metadata, context: context,
                externalPlayback: rules.externalPlayback(of: source)))
    }

    // MARK: Files and folders

    private mutating func addPath(_ path: String, metadata: MediaMetadata, context: String?) async throws {
        // Before anything is told of it, also whether it is there.
        try MediaReach.check(path)
        guard let facts = try FileFacts(path: path) else { throw Self.missing(path) }
        switch facts.kind {
        case .folder: try addFolder(path)
        case .file:
            let source = MediaSource.file(path: path)
            let kinds = TrackSources.named(source.fileExtension)
            guard !kinds.isEmpty else { return append(source, metadata, context) }
            guard facts.size <= maximumPlaylistBytes else { throw tooLarge(source) }
            guard let data = FileManager.default.contents(atPath: path) else { throw FileFacts.forbidden(path) }
            let real = (path as NSString).resolvingSymlinksInPath
            try await addPlaylist([UInt8](data), kinds, source, identity: real, metadata: metadata, context: context)
        case .pipe where open.isEmpty: try append(LiveInput(.pipe, name: path))
        case .pipe, .other:
            throw RouterError(
                .mediaUnsupported, "“\(MediaSource.file(path: path).label)” is not a regular file",
                hint: "Give a file, a folder or a playlist", scope: .item)
        }
    }

    private mutating func addFolder(_ path: String) throws {
        var found: [String] = []
        var seen: Set<String> = []
        var unreadable = false
        /// Folders still to be read, with how deep they are.
        var waiting: [(path: String, depth: Int)] = [(path, 0)]
        // More than is taken, so that the order decides which are.
        while let folder = waiting.popLast(), found.count < 10 * maximumEntries {
            // A link back up would never end.
            guard seen.insert((folder.path as NSString).resolvingSymlinksInPath).inserted else { continue }
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else {
                unreadable = unreadable || folder.depth == 0
                continue
            }
            for name in names where !name.hasPrefix(".") {
                let child = folder.path == "/" ? "/\(name)" : "\(folder.path)/\(name)"
                guard let kind = try? FileFacts(path: child)?.kind else { continue }
                do { try MediaReach.check(child) } catch let error as RouterError {
                    skip(error)
                    continue
                }
                if kind == .folder {
                    if folder.depth < Self.maximumDepth { waiting.append((child, folder.depth + 1)) }
                } else if kind == .file,
                    ContentType.isMedia(extension: MediaSource.file(path: child).fileExtension)
                {
                    found.append(child)
                }
            }
        }
        if unreadable { throw FileFacts.forbidden(path) }
        guard !found.isEmpty else {
            throw RouterError(
                .mediaNotFound, "the folder “\(MediaSource.file(path: path).label)” holds no audio or video",
                hint: "Name a folder with media files in it", scope: .item)
        }
        found.sort(by: NaturalOrder.precedes)
        for file in found {
            let folder = (file as NSString).deletingLastPathComponent
            append(.file(path: file), MediaMetadata(), (folder as NSString).lastPathComponent)
        }
    }

    private static func missing(_ path: String) -> RouterError {
        let name = (path as NSString).lastPathComponent
        let folder = (path as NSString).deletingLastPathComponent
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let near = NearNames.of(name, among: names.filter { !$0.hasPrefix(".") }.sorted()).first
        return RouterError(
            .mediaNotFound, "“\(name)” is not there",
            hint: near.map { "Did you mean “\($0)”?" } ?? "Check the name and the folder", scope: .item,
            candidates: near.map { [$0] } ?? [])
    }

    // MARK: Playlists

    private func tooLarge(_ source: MediaSource) -> RouterError {
        RouterError(
            .mediaUnsupported, "the playlist “\(source.label)” is longer than \(maximumPlaylistBytes >> 20) MiB",
            hint: "Cut it into parts", scope: .item)
    }

    /// A list of tracks at a web address is fetched; everything else there is one item, also an HLS playlist.
    private mutating func addAddress(_ url: String, metadata: MediaMetadata, context: String?) async throws {
        let source = MediaSource.url(url)
        let name = source.fileExtension.lowercased()
        let kinds = name == "m3u8" ? [] : TrackSources.named(name)
        if !kinds.isEmpty {
            let bytes = try await fetch(url, maximumPlaylistBytes)
            try await addPlaylist(bytes, kinds, source, identity: url, metadata: metadata, context: context)
        } else if open.isEmpty, ContentType.of(extension: name) == nil,
            let document = try await look(url, maximumPlaylistBytes)
        {
            // Only what a person named: of a list's entries there may be thousands.
            try await addPlaylist(
                document.bytes, document.sources, source, identity: url, metadata: metadata, context: context)
        } else {
            append(source, metadata, context)
        }
    }

    private mutating func addPlaylist(
        _ bytes: [UInt8], _ kinds: [any TrackSource], _ source: MediaSource, identity: String,
        metadata: MediaMetadata, context: String?
    ) async throws {
        guard let kind = TrackSources.choose(kinds, bytes) else { return append(source, metadata, context) }
        guard !open.contains(identity) else {
            throw RouterError(
                .mediaUnsupported, "the playlist “\(source.label)” contains itself", hint: "Take it out of itself",
                scope: .item)
        }
        guard open.count < Self.maximumNesting else {
            throw RouterError(
                .mediaUnsupported, "playlists are nested more than \(Self.maximumNesting) deep at “\(source.label)”",
                hint: "Name the inner playlist itself", scope: .item)
        }
        let playlist: Playlist
        do {
            playlist = try kind.read(bytes)
        } catch Playlist.Failure.isStream {
            return append(source, metadata, context)
        } catch Playlist.Failure.malformed(let why) {
            throw RouterError(
                .mediaUnsupported, "the \(kind.name) “\(source.label)” cannot be read: \(why)",
                hint: "Check the file, or name its entries one by one", scope: .item)
        }
        guard !playlist.entries.isEmpty else {
            throw RouterError(
                .mediaNotFound, "the \(kind.name) “\(source.label)” is empty", hint: "Name another one", scope: .item)
        }
        open.append(identity)
        rules.open(source)
        defer {
            open.removeLast()
            rules.close()
        }
        let title = playlist.title ?? source.label
        let before = entries.count
        let noticesBefore = notices.count
        let failureBefore = failure
        failure = nil
        for entry in playlist.entries {
            try Task.checkCancellation()
            if full { break }
            do {
                try await add(entry, of: source, title)
            } catch let error as RouterError {
                skip(error)
            }
        }
        let inner = failure
        failure = failureBefore ?? failure
        guard entries.count > before || full else {
            // The playlist's own failure, told with what its entries said; unless it is more than that they are missing.
            if let inner, inner.code != .mediaNotFound { throw inner }
            let told = notices[min(noticesBefore, notices.count)...].map(\.message)
            notices.removeLast(notices.count - min(noticesBefore, notices.count))
            failure = failureBefore
            throw RouterError(
                .mediaNotFound, "nothing that the playlist “\(source.label)” names is there",
                hint: "Check that its paths are right from the folder it is in", scope: .item, causes: Array(told))
        }
    }

    private mutating func add(_ entry: Playlist.Entry, of playlist: MediaSource, _ title: String) async throws {
        let location = entry.location
        if InputArguments.isWeb(location) {
            return try await addAddress(location, metadata: entry.metadata, context: title)
        }
        switch playlist {
        case .url(let base):
            // A list from the web must not reach into this machine's files.
            guard let url = URL(string: location, relativeTo: URL(string: base))?.absoluteString,
                InputArguments.isWeb(url)
            else {
                throw RouterError(
                    .mediaForbidden, "the playlist “\(playlist.label)” names a file of this machine",
                    hint: "Play that file by its own name", scope: .item)
            }
            try await addAddress(url, metadata: entry.metadata, context: title)
        case .live: break
        case .file(let path):
            let folder = (path as NSString).deletingLastPathComponent
            let places = try places(of: entry, in: folder)
            let there = places.first { (MediaReach.allows?($0) ?? true) && access($0, F_OK) == 0 }
            try await addPath(there ?? places[0], metadata: entry.metadata, context: title)
        }
    }

    /// Where an entry's file may be: as written, and as some programs write it (percent-encoded, with backslashes).
    private func places(of entry: Playlist.Entry, in folder: String) throws -> [String] {
        var location = entry.location
        var decode = entry.isURI
        if let scheme = location.range(of: "://") {
            guard location[..<scheme.lowerBound].lowercased() == "file" else {
                throw RouterError(
                    .mediaUnsupported, "“\(location[..<scheme.lowerBound])” addresses cannot be played",
                    hint: "Give an http or https address, or a file", scope: .item)
            }
            location = String(location[scheme.upperBound...])
            if location.hasPrefix("localhost/") { location.removeFirst("localhost".count) }
            decode = true
        }
        let decoded = location.removingPercentEncoding ?? location
        let written = decode ? [decoded, location] : [location, decoded]
        return (written + written.map { $0.replacingOccurrences(of: "\\", with: "/") }).map { absolute($0, in: folder) }
    }
}
