/// The one public error: a code for programs, a message and one hint for people.
///
/// `message` and `hint` never hold a secret (no PIN, key, token, or URL query). `causes` tell the story behind it,
/// outermost first, also free of secrets.
public struct RouterError: Error, Codable, Sendable, Hashable, CustomStringConvertible {
    public var code: Code
    public var scope: Scope
    /// What went wrong, as one sentence without a full stop.
    public var message: String
    /// What to do next: one sentence in the imperative.
    public var hint: String?
    public var retry: Retry
    public var causes: [String]
    /// For `routeAmbiguous` and `routeNotFound`: the names that could have been meant.
    public var candidates: [String]

    public init(
        _ code: Code, _ message: String, hint: String? = nil, scope: Scope = .router, retry: Retry = .never,
        causes: [String] = [], candidates: [String] = []
    ) {
        self.code = code
        self.scope = scope
        self.message = message
        self.hint = hint
        self.retry = retry
        self.causes = causes
        self.candidates = candidates
    }

    public var description: String { hint.map { "\(message). \($0)" } ?? message }

    /// What the error is about.
    public enum Scope: String, Codable, Sendable, Hashable, CaseIterable { case router, route, session, item, command }

    /// Whether trying again can help.
    public enum Retry: String, Codable, Sendable, Hashable, CaseIterable { case never, now, later, afterUserAction }

    /// A closed core that can grow: a struct round a string, so that a new code breaks no client.
    public struct Code: Codable, Sendable, Hashable, RawRepresentable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        private init(_ rawValue: String) { self.rawValue = rawValue }

        public init(from decoder: any Decoder) throws {
            rawValue = try decoder.singleValueContainer().decode(String.self)
        }
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(rawValue)
        }

        public static let routeNotFound = Code("routeNotFound")
        public static let routeAmbiguous = Code("routeAmbiguous")
        public static let routeUnreachable = Code("routeUnreachable")
        public static let routeBusy = Code("routeBusy")
        public static let routeLost = Code("routeLost")
        public static let authRequired = Code("authRequired")
        public static let authFailed = Code("authFailed")
        public static let pairingDenied = Code("pairingDenied")
        public static let protocolViolation = Code("protocolViolation")
        public static let unsupported = Code("unsupported")
        public static let unavailable = Code("unavailable")
        /// The *device* could not fetch the media.
        public static let mediaUnreachable = Code("mediaUnreachable")
        public static let mediaUnsupported = Code("mediaUnsupported")
        public static let mediaForbidden = Code("mediaForbidden")
        public static let mediaNotFound = Code("mediaNotFound")
        public static let dependencyMissing = Code("dependencyMissing")
        public static let itemFailed = Code("itemFailed")
        public static let queueConflict = Code("queueConflict")
        public static let commandSuperseded = Code("commandSuperseded")
        public static let timeout = Code("timeout")
        public static let cancelled = Code("cancelled")
        public static let rateLimited = Code("rateLimited")
        public static let storage = Code("storage")
        public static let configuration = Code("configuration")
        public static let sceneInvalid = Code("sceneInvalid")
        public static let daemonUnavailable = Code("daemonUnavailable")
        public static let `internal` = Code("internal")

        /// The process's exit status for this code (`interfaces.md` 1.3).
        public var exitStatus: Int32 {
            switch self {
            case .routeNotFound, .routeAmbiguous, .mediaNotFound: 3
            case .authRequired, .authFailed, .pairingDenied: 4
            case .routeUnreachable, .routeLost, .mediaUnreachable, .mediaForbidden, .timeout: 5
            case .unsupported, .unavailable, .mediaUnsupported: 6
            case .daemonUnavailable: 7
            case .sceneInvalid: 65
            case .internal, .storage: 70
            case .configuration, .dependencyMissing: 78
            case .cancelled: 130
            default: 1
            }
        }

        /// The HTTP status for this code; 502 and 424 speak of the device, 401 and 403 are kept for the API's own token.
        public var httpStatus: Int {
            switch self {
            case .routeNotFound, .mediaNotFound: 404
            case .routeAmbiguous, .routeBusy, .commandSuperseded, .cancelled: 409
            case .queueConflict: 412
            case .authRequired, .authFailed, .pairingDenied: 424
            case .unsupported, .unavailable, .mediaUnsupported, .sceneInvalid, .configuration: 422
            case .rateLimited: 429
            case .timeout: 504
            case .internal, .storage, .dependencyMissing: 500
            default: 502
            }
        }
    }
}

extension RouterError {
    /// Nothing is known of a session of this id.
    public static func noSession(_ id: SessionID) -> RouterError {
        RouterError(
            .routeNotFound, "there is no session \(id)",
            hint: "It has ended, or never was; the list of sessions tells which there are", scope: .session)
    }

    /// Any error as the product's one; what is not one already is a defect of ours, but for cancellation.
    public init(wrapping error: any Error) {
        if let error = error as? RouterError {
            self = error
        } else if error is CancellationError {
            self = RouterError(.cancelled, "cancelled")
        } else {
            self = RouterError(
                .internal, "unexpected: \(type(of: error))", hint: "Report this with the output of -vv",
                causes: [String(describing: error)])
        }
    }
}
