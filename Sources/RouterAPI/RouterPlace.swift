import RouteModel

/// Where a router's daemon is spoken to.
public enum RouterPlace: Sendable, Hashable, CustomStringConvertible {
    /// A Unix socket, which only its owner may use.
    case socket(path: String)
    /// HTTP; `host` is a name or a numeric address, IPv6 without brackets.
    case http(host: String, port: Int)

    /// The port that a daemon listens on when it is told to listen by TCP and not where.
    public static let defaultPort = 7765

    /// `$XDG_RUNTIME_DIR/router/router.sock`, or `~/.local/state/router/router.sock` where there is no such folder.
    public static func defaultSocket(environment: [String: String]) -> RouterPlace {
        if let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") {
            return .socket(path: folder + "/router/router.sock")
        }
        return .socket(path: (environment["HOME"] ?? "/root") + "/.local/state/router/router.sock")
    }

    /// What a person wrote: the path of a socket, or `HOST[:PORT]` with or without `http://`. Throws `configuration`.
    public init(_ text: String) throws {
        if text.hasPrefix("/") {
            self = .socket(path: text)
            return
        }
        var rest = text[...]
        if rest.lowercased().hasPrefix("http://") { rest = rest.dropFirst("http://".count) }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var host = rest
        var port: Int? = RouterPlace.defaultPort
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { throw Self.invalid(text) }
            host = rest[rest.index(after: rest.startIndex)..<end]
            let after = rest[rest.index(after: end)...]
            if after.hasPrefix(":") { port = Int(after.dropFirst()) } else if !after.isEmpty { port = nil }
        } else if let colon = rest.firstIndex(of: ":") {
            host = rest[..<colon]
            port = Int(rest[rest.index(after: colon)...])
        }
        guard let port, (1...65535).contains(port), !host.isEmpty, host.utf8.count <= 255,
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/@?#[]".utf8.contains($0) })
        else { throw Self.invalid(text) }
        self = .http(host: String(host), port: port)
    }

    private static func invalid(_ text: String) -> RouterError {
        RouterError(
            .configuration, "“\(text)” names no daemon", hint: "Write HOST:PORT, or the path of its socket",
            retry: .afterUserAction)
    }

    public var description: String {
        switch self {
        case .socket(let path): path
        case .http(let host, let port): "http://\(authority(host, port))"
        }
    }

    /// What the Host field of a request says.
    var authority: String {
        switch self {
        case .socket: "localhost"
        case .http(let host, let port): authority(host, port)
        }
    }

    private func authority(_ host: String, _ port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// What a client shows to be let in, and whatever else is secret in the API. Printing it gives a mask.
public struct APIToken: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The text itself, for the one place that needs it.
    public let revealed: String

    public init(_ text: String) { revealed = text }

    /// What lets others in must be at least so long: a shorter one could be guessed by asking.
    public static let shortest = 12

    /// Whether it can keep others out, and be sent in a header.
    public static func isFit(_ text: String) -> Bool {
        text.utf8.count >= shortest && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    public static let rule = "a token has at least \(shortest) letters and digits, and no spaces"
    public static let cure = "Make one with: openssl rand -hex 16"

    public var description: String { "••••" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Compares without telling by its time how much was right.
    public func matches(_ text: String) -> Bool {
        let own = Array(revealed.utf8)
        let other = Array(text.utf8)
        var difference = own.count ^ other.count
        for index in own.indices { difference |= Int(own[index] ^ (index < other.count ? other[index] : 0)) }
        return difference == 0
    }
}
