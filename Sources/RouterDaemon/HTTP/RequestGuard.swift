import HTTPTypes
import RouteModel
import RouterAPI

/// Who sends a request.
enum ServiceClient: Sendable, Hashable {
    /// Whoever may open the socket: this user.
    case owner
    /// By TCP, from this address. `trusted` has shown the token.
    case network(address: String, trusted: Bool)

    /// May do what only this user should, such as naming any file in a scene.
    var isTrusted: Bool {
        switch self {
        case .owner: true
        case .network(_, let trusted): trusted
        }
    }
}

/// What has to hold before a request is looked at: that it comes from where it says, from no page of another site, and
/// with the token where there is one.
struct RequestGuard: Sendable {
    /// Names of this machine, in lower case, beside numeric addresses.
    let hostNames: Set<String>
    let token: APIToken?

    init(hostNames: [String], token: APIToken?) {
        self.hostNames = Set(hostNames.map { $0.lowercased() } + ["localhost"])
        self.token = token
    }

    /// Throws `Problem`.
    func admit(_ head: HTTPRequest, from client: ServiceClient) throws -> ServiceClient {
        guard let host = head.authority, !host.isEmpty else {
            throw Problem(Self.error(.requestInvalid, "the request names no host", "Send a Host field"), status: 400)
        }
        guard case .network(let address, _) = client else {
            try refuseOtherSites(head, host)
            return client
        }
        // A name that somebody else's DNS points here would make their page ours (DNS rebinding).
        guard isOwn(host) else {
            throw Problem(
                Self.error(
                    .forbidden, "“\(host.prefix(128))” is no name of this machine",
                    "Use its address, or name it in the daemon's configuration"), status: 403)
        }
        try refuseOtherSites(head, host)
        guard let token else { return client }
        let words = (head.headerFields[.authorization] ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer", token.matches(String(words[1])) else {
            throw Problem(
                Self.error(.unauthorized, "the daemon's token is missing or wrong", "Send Authorization: Bearer TOKEN"),
                status: 401)
        }
        return .network(address: address, trusted: true)
    }

    /// A page of another site may send requests here, and a browser says so.
    private func refuseOtherSites(_ head: HTTPRequest, _ host: String) throws {
        let site = head.headerFields[Self.fetchSite]?.lowercased()
        let origin = head.headerFields[.origin]?.lowercased()
        guard site == nil || site == "same-origin" || site == "none",
            origin == nil || origin == "http://\(host.lowercased())"
        else {
            throw Problem(
                Self.error(
                    .forbidden, "pages of other sites may not use this daemon", "Open the daemon's own page"),
                status: 403)
        }
    }

    private func isOwn(_ authority: String) -> Bool {
        let authority = authority.lowercased()
        if authority.hasPrefix("[") {
            // Only an IPv6 address stands in brackets.
            return authority.contains("]")
        }
        var name = authority.prefix { $0 != ":" }
        if name.hasSuffix(".") { name = name.dropLast() }
        if hostNames.contains(String(name)) { return true }
        // A numeric address is what it says; no DNS can point it elsewhere.
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }

    /// A form of another site's page can be of three types only, and JSON is none of them.
    static func requireJSON(_ head: HTTPRequest) throws {
        let type = (head.headerFields[.contentType] ?? "").prefix { $0 != ";" }
        guard type.lowercased().filter({ $0 != " " }) == "application/json" else {
            throw Problem(
                error(.requestInvalid, "the body is not said to be JSON", "Send Content-Type: application/json"),
                status: 415)
        }
    }

    static func error(_ code: RouterError.Code, _ message: String, _ hint: String) -> RouterError {
        RouterError(code, message, hint: hint, scope: .command, retry: .afterUserAction)
    }

    private static let fetchSite = HTTPField.Name("Sec-Fetch-Site")!
}
