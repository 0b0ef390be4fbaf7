/// The protocol named in a start line. Receivers speak RTSP on the audio connection and HTTP for pairing and video.
public enum RTSPVersion: String, Sendable, Hashable {
    case rtsp1 = "RTSP/1.0"
    case http10 = "HTTP/1.0"
    case http11 = "HTTP/1.1"
}

/// How pairing requests are written: receivers differ in which they take (`Protocols/pairing/README.md`, “Requests”).
public enum RTSPSpelling: String, Sendable, Hashable, CaseIterable {
    /// `RTSP/1.0`, numbered by `CSeq`.
    case rtsp
    /// `HTTP/1.1`, without a number.
    case http

    public var version: RTSPVersion { self == .rtsp ? .rtsp1 : .http11 }
}

/// One request (`Protocols/airplay/README.md`, “RTSP”).
public struct RTSPRequest: Sendable, Hashable {
    public var method: String
    /// `*`, a path or a whole URL, as written.
    public var uri: String
    public var version: RTSPVersion
    public var headers: RTSPHeaders
    public var body: [UInt8]

    public init(
        method: String, uri: String, version: RTSPVersion = .rtsp1, headers: RTSPHeaders = [:], body: [UInt8] = []
    ) {
        self.method = method
        self.uri = uri
        self.version = version
        self.headers = headers
        self.body = body
    }

    /// The bytes on the wire. `Content-Length` is written from the body, and where there is none only for a POST by
    /// HTTP, which has to say so.
    public func encoded() -> [UInt8] {
        encodeMessage(
            startLine: "\(method) \(uri) \(version.rawValue)", headers: headers, body: body,
            always: version != .rtsp1 && method == "POST")
    }
}

/// One answer.
public struct RTSPResponse: Sendable, Hashable {
    public var version: RTSPVersion
    /// 100 to 599.
    public var status: Int
    public var reason: String
    public var headers: RTSPHeaders
    public var body: [UInt8]

    public init(
        version: RTSPVersion = .rtsp1, status: Int = 200, reason: String = "OK", headers: RTSPHeaders = [:],
        body: [UInt8] = []
    ) {
        self.version = version
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body
    }

    /// The bytes on the wire, with `Content-Length` also where there is no body.
    public func encoded() -> [UInt8] {
        encodeMessage(
            startLine: "\(version.rawValue) \(status) \(reason)", headers: headers, body: body, always: true)
    }
}

/// Either direction.
public enum RTSPMessage: Sendable, Hashable {
    case request(RTSPRequest)
    case response(RTSPResponse)
}

private func encodeMessage(startLine: String, headers: RTSPHeaders, body: [UInt8], always: Bool) -> [UInt8] {
    var headers = headers
    headers["Content-Length"] = body.isEmpty && !always ? nil : String(body.count)
    var bytes = startLine.utf8.map { $0 == 0x0D || $0 == 0x0A ? UInt8(0x20) : $0 }
    bytes.reserveCapacity(256 + body.count)
    bytes += [0x0D, 0x0A]
    headers.encode(into: &bytes)
    bytes += [0x0D, 0x0A]
    bytes += body
    return bytes
}
