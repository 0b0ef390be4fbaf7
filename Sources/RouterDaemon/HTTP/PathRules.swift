import CDispatch
import Foundation
import RouteModel
import RouterAPI

/// Which files a client that comes by TCP may name: those in the folders that the daemon's owner gave, and where their
/// links lead too. The owner of the socket may name any.
struct PathRules: Sendable {
    /// Without links.
    private let roots: [String]
    /// Entries of folders that are looked at for links out of them, in one request.
    private static let maximumEntries = 20_000

    /// A root that is not there allows nothing.
    init(roots: [String]) { self.roots = roots.compactMap(Self.real) }

    /// What to play, as it may be played: files as the absolute paths that they really have.
    ///
    /// Throws `forbidden` and `mediaNotFound`.
    func allowed(_ words: [String], workingDirectory: String, for client: ServiceClient) throws -> [String] {
        guard case .network = client else { return words }
        var seen = 0
        // A word that stands there often is looked at once.
        var known: [String: String] = [:]
        return try words.map { word in
            if let path = known[word] { return path }
            let path = try allowed(word, workingDirectory: workingDirectory, seen: &seen)
            known[word] = path
            return path
        }
    }

    /// What lists of tracks may name for this client; nil: anything.
    func reach(of client: ServiceClient) -> (@Sendable (String) -> Bool)? {
        guard case .network = client else { return nil }
        return { path in isInside(Self.real(path) ?? Self.flat(path)) }
    }

    /// Throws `forbidden` and `mediaNotFound`.
    func allowed(_ subtitles: SubtitleRequest?, for client: ServiceClient) throws -> SubtitleRequest? {
        guard case .network = client, var subtitles, let source = subtitles.source else { return subtitles }
        switch source {
        case .url(let url):
            guard Self.isWeb(url) else { throw Self.forbidden(url) }
        case .file(let path):
            var seen = 0
            subtitles.source = .file(path: try allowed(path, workingDirectory: "/", seen: &seen))
        case .live(let input): throw Self.forbidden(input.label)
        }
        return subtitles
    }

    private static func isWeb(_ word: String) -> Bool {
        let lower = word.lowercased()
        return lower.hasPrefix("http://") || lower.hasPrefix("https://")
    }

    /// - Parameter seen: how many entries of folders the request has had looked at.
    private func allowed(_ word: String, workingDirectory: String, seen: inout Int) throws -> String {
        if Self.isWeb(word) { return word }
        // Other schemes name inputs of this machine, and “-” is the daemon's own.
        guard word != "-", !word.contains("://"), !word.contains("\0") else { throw Self.forbidden(word) }
        // What another layer might decode once more is refused as it stands.
        guard !word.lowercased().contains("%2e"), !word.lowercased().contains("%2f") else { throw Self.forbidden(word) }
        let folder = workingDirectory == "/" ? roots.first ?? "/" : workingDirectory
        let joined = word.hasPrefix("/") ? word : folder + "/" + word
        guard let path = Self.real(joined) else {
            // Whether a file is there is told of the roots only.
            guard isInside(Self.flat(joined)) else { throw Self.forbidden(word) }
            throw RouterError(
                .mediaNotFound, "there is no file “\(word)”", hint: "Check the name", scope: .item)
        }
        guard isInside(path) else { throw Self.forbidden(word) }
        try refuseLinksOut(of: path, word, &seen)
        return path
    }

    private func isInside(_ path: String) -> Bool {
        roots.contains { path == $0 || path.hasPrefix($0 == "/" ? "/" : $0 + "/") }
    }

    private func refuseLinksOut(of folder: String, _ word: String, _ seen: inout Int) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue,
            let entries = FileManager.default.enumerator(atPath: folder)
        else { return }
        for case let entry as String in entries {
            seen += 1
            guard seen <= Self.maximumEntries else {
                throw RouterError(
                    .forbidden, "there are more than \(Self.maximumEntries) entries up to “\(word)”",
                    hint: "Name fewer or smaller folders", scope: .item)
            }
            var facts = stat()
            let path = folder + "/" + entry
            guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFLNK else { continue }
            guard let target = Self.real(path), isInside(target) else { throw Self.forbidden(word + "/" + entry) }
        }
    }

    /// Throws `forbidden`: it names a file that the daemon's owner has not given away.
    private static func forbidden(_ word: String) -> RouterError {
        RouterError(
            .forbidden, "“\(word.prefix(256))” is in no folder that may be played from here",
            hint: "Name a file in one of the daemon's roots, or ask by its socket", scope: .item,
            retry: .afterUserAction)
    }

    private static func real(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Without `.` and `..`, for what is not there.
    private static func flat(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }
}
