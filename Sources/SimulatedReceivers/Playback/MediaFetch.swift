/// One HTTP request of a simulated receiver and what came back.
public struct MediaFetch: Sendable, Hashable {
    public var url: String
    /// The `Range` header that was sent, if any.
    public var range: String?
    /// 0 when there was no answer.
    public var status: Int
    public var contentType: String?
    public var contentRange: String?
    /// The `Access-Control-Allow-Origin` header of the answer.
    public var allowedOrigin: String?
    /// Bytes of the body that arrived.
    public var bytes: Int
    /// What went wrong, in words; nil if the answer was whole.
    public var failure: String?

    var details: [String: JSONValue] {
        var details: [String: JSONValue] = ["url": .string(url), "status": .integer(status), "bytes": .integer(bytes)]
        details["range"] = range.map { .string($0) }
        details["contentType"] = contentType.map { .string($0) }
        details["contentRange"] = contentRange.map { .string($0) }
        details["failure"] = failure.map { .string($0) }
        return details
    }
}

/// Why media could not be fetched.
enum MediaFetchError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Not an http or https URL with a host.
    case unusableURL(String)
    case unreachable(String)
    case status(Int)
    /// The connection ended before the announced length.
    case cutShort(expected: Int, got: Int)
    /// A range that was not the one asked for, or another total length than before.
    case inconsistentRange(String)
    case tooManyRedirects
    /// The server does not let a web page read what needs that: adaptive streams, text tracks.
    case originRefused

    var description: String {
        switch self {
        case .unusableURL(let url): "not a URL that can be fetched: \(url)"
        case .unreachable(let reason): "the server cannot be reached: \(reason)"
        case .status(let status): "the server answers \(status)"
        case .cutShort(let expected, let got): "the body ends after \(got) of \(expected) bytes"
        case .inconsistentRange(let range): "the server answers with another range: \(range)"
        case .tooManyRedirects: "too many redirects"
        case .originRefused: "the server does not allow web pages: no fitting Access-Control-Allow-Origin"
        }
    }
}

/// What the first answer says about the media.
struct MediaHead: Sendable, Hashable {
    var contentType: String?
    /// Total bytes; nil if the server does not say, as for a live stream.
    var length: Int?
    var allowedOrigin: String?

    /// What a browser does with an answer to a page of another origin. Throws `MediaFetchError.originRefused`.
    func checkOrigin(_ origin: String) throws {
        guard allowedOrigin == "*" || allowedOrigin == origin else { throw MediaFetchError.originRefused }
    }
}
