import RouteModel

/// An error as it goes over HTTP (RFC 9457, `application/problem+json`).
public struct Problem: Codable, Sendable, Hashable, Error {
    /// A URN for each code: `urn:router:error:routeNotFound`.
    public var type: String
    /// What the status means.
    public var title: String
    public var status: Int
    /// What went wrong, as one sentence.
    public var detail: String
    public var code: RouterError.Code
    public var hint: String?
    public var retry: RouterError.Retry
    public var scope: RouterError.Scope
    public var causes: [String]
    public var candidates: [String]

    public init(_ error: RouterError, status: Int? = nil) {
        let status = status ?? error.code.requestStatus ?? error.code.httpStatus
        type = "urn:router:error:\(error.code.rawValue)"
        title = Self.titles[status] ?? "Error"
        self.status = status
        detail = error.message
        code = error.code
        hint = error.hint
        retry = error.retry
        scope = error.scope
        causes = error.causes
        candidates = error.candidates
    }

    public var error: RouterError {
        RouterError(code, detail, hint: hint, scope: scope, retry: retry, causes: causes, candidates: candidates)
    }

    private static let titles = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 412: "Precondition Failed",
        413: "Content Too Large", 415: "Unsupported Media Type", 417: "Expectation Failed",
        422: "Unprocessable Content", 424: "Failed Dependency", 429: "Too Many Requests", 431: "Headers Too Large",
        500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    ]
}

/// What only a request can do wrong, and no command.
extension RouterError.Code {
    /// The request cannot be read: its JSON, a parameter, a field.
    public static let requestInvalid = RouterError.Code(rawValue: "requestInvalid")
    /// There is nothing at this path, or not by this method.
    public static let requestNotFound = RouterError.Code(rawValue: "requestNotFound")
    /// The token is missing or wrong.
    public static let unauthorized = RouterError.Code(rawValue: "unauthorized")
    /// This client may not do this: another site's page, or a file outside the folders that it may name.
    public static let forbidden = RouterError.Code(rawValue: "forbidden")
    public static let requestTooLarge = RouterError.Code(rawValue: "requestTooLarge")
    /// An idempotency key was used for another request before.
    public static let keyReused = RouterError.Code(rawValue: "keyReused")
}

extension RouterError.Code {
    fileprivate var requestStatus: Int? {
        switch self {
        case .requestInvalid: 400
        case .unauthorized: 401
        case .forbidden: 403
        case .requestNotFound: 404
        case .requestTooLarge: 413
        case .keyReused: 422
        default: nil
        }
    }
}
