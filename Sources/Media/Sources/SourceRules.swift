import Foundation
import RouteModel

/// What a person says of all that comes from a folder, a playlist, a feed, a station or a server (A6).
public struct SourceRule: Sendable, Hashable {
    /// An absolute path, or an http or https address: of a folder or of a server's path it means all that is below it, of
    /// a list of tracks all that the list names.
    public var from: String
    /// False: no picture of it is to be shown on receivers; true takes that back for a part. Its sound always may be heard.
    public var externalPlayback: Bool

    public init(from: String, externalPlayback: Bool) {
        self.from = from
        self.externalPlayback = externalPlayback
    }
}

/// Says which rule an item goes by: the one for its own place, else that of the list it came by, the innermost first.
/// Among several for the same place the one that says it most closely.
///
/// Files are compared by the names that they were called by and by those that their links lead to.
struct SourceRules {
    private struct Rule {
        var places: [Place]
        var externalPlayback: Bool
    }

    private let rules: [Rule]
    private let namesFiles: Bool
    /// Of folders: many items share one.
    private var resolvedFolders: [String: String] = [:]
    /// What the lists that are open say, outermost first.
    private var ofLists: [Bool?] = []

    init(_ rules: [SourceRule] = []) {
        self.rules = rules.compactMap { rule in
            guard let place = Place(rule.from) else { return nil }
            let resolved = place.isFile ? Place(Self.resolved(rule.from)) : nil
            return Rule(places: [place, resolved].compactMap(\.self), externalPlayback: rule.externalPlayback)
        }
        namesFiles = self.rules.contains { $0.places.contains(where: \.isFile) }
    }

    /// A list of tracks is read from here on.
    mutating func open(_ list: MediaSource) {
        guard !rules.isEmpty else { return }
        ofLists.append(ruling(on: list))
    }

    mutating func close() { _ = ofLists.popLast() }

    /// Nil where no rule says anything of it.
    mutating func externalPlayback(of source: MediaSource) -> Bool? {
        guard !rules.isEmpty else { return nil }
        return ruling(on: source) ?? ofLists.reversed().compactMap(\.self).first
    }

    private mutating func ruling(on source: MediaSource) -> Bool? {
        let places = places(of: source)
        var best: (length: Int, externalPlayback: Bool)?
        for rule in rules {
            for outer in rule.places where places.contains(where: outer.holds) && outer.length > best?.length ?? -1 {
                best = (outer.length, rule.externalPlayback)
            }
        }
        return best?.externalPlayback
    }

    private mutating func places(of source: MediaSource) -> [Place] {
        switch source {
        case .url(let url): return [Place(url)].compactMap(\.self)
        case .live: return []
        case .file(let path):
            guard namesFiles else { return [] }
            let folder = (path as NSString).deletingLastPathComponent
            let resolved = resolvedFolders[folder] ?? Self.resolved(folder)
            resolvedFolders[folder] = resolved
            let inside = (resolved as NSString).appendingPathComponent((path as NSString).lastPathComponent)
            return [path, inside, Self.resolved(inside)].compactMap(Place.init)
        }
    }

    /// Where a path leads; the path itself where it leads nowhere.
    private static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}

extension SourceRules {
    /// A path or an address, in parts that can be compared. Addresses differ by neither scheme nor the case of the host.
    private struct Place {
        /// Nil for a file.
        var server: String?
        var parts: [String]
        var query: String?

        var isFile: Bool { server == nil }
        var length: Int { parts.count + (query == nil ? 0 : 1) }

        init?(_ text: String) {
            if text.hasPrefix("/") {
                parts = Self.parts(text)
                return
            }
            guard InputArguments.isWeb(text), let url = URLComponents(string: text), let host = url.host, !host.isEmpty
            else { return nil }
            let usual = url.scheme?.lowercased() == "https" ? 443 : 80
            let port = url.port.flatMap { $0 == usual ? nil : ":\($0)" } ?? ""
            server = host.lowercased() + port
            query = url.query
            parts = Self.parts(url.path)
        }

        /// By their names alone: a link is left to whoever resolves it.
        private static func parts(_ path: String) -> [String] {
            var parts: [String] = []
            for part in path.split(separator: "/") {
                switch part {
                case ".": continue
                case "..": _ = parts.popLast()
                default: parts.append(String(part))
                }
            }
            return parts
        }

        /// Whether another is the same, or below it.
        func holds(_ other: Place) -> Bool {
            guard server == other.server, other.parts.starts(with: parts) else { return false }
            return query == nil || (query == other.query && parts.count == other.parts.count)
        }
    }
}

extension SourceRule {
    /// Whether `text` can be what a rule is of.
    public static func isPlace(_ text: String) -> Bool {
        text.hasPrefix("/") || (InputArguments.isWeb(text) && URLComponents(string: text)?.host?.isEmpty == false)
    }
}
