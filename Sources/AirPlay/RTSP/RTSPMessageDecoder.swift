import HomeKitPairing

/// Why bytes are not an RTSP message: the limit or rule that was broken.
public enum RTSPDecodingError: Error, Sendable, Hashable {
    /// Start line and headers together are longer than `Limits.headerBytes`.
    case headerTooLong(limit: Int)
    /// More header fields than `Limits.headerCount`.
    case tooManyHeaders(limit: Int)
    /// `Content-Length` is more than `Limits.bodyBytes`.
    case bodyTooLong(length: Int, limit: Int)
    case malformedStartLine
    case malformedHeader
    case malformedContentLength
    case unsupportedTransferEncoding
    /// The connection is encrypted, and what came is not what the receiver would have sent next.
    case notDecrypted(FrameError)
}

/// Cuts bytes into RTSP and HTTP messages. Pure: no I/O, and it keeps no bytes.
public struct RTSPMessageDecoder: Sendable {
    public struct Limits: Sendable, Hashable {
        /// Bytes of start line, headers and the empty line.
        public var headerBytes: Int
        public var headerCount: Int
        /// The largest body taken; artwork is the largest in use.
        public var bodyBytes: Int

        public init(headerBytes: Int = 16 * 1024, headerCount: Int = 64, bodyBytes: Int = 8 * 1024 * 1024) {
            self.headerBytes = headerBytes
            self.headerCount = headerCount
            self.bodyBytes = bodyBytes
        }
    }

    public var limits: Limits

    public init(limits: Limits = Limits()) { self.limits = limits }

    /// The first message of `bytes` and how many bytes it took; nil while it isn't whole.
    ///
    /// Lines may end in CR LF or LF alone, and empty lines before a start line are skipped, as some receivers send.
    public func decode(_ bytes: ArraySlice<UInt8>) throws(RTSPDecodingError) -> (message: RTSPMessage, used: Int)? {
        var start = bytes.startIndex
        while start < bytes.endIndex, bytes[start] == 0x0D || bytes[start] == 0x0A { start += 1 }
        guard let head = try head(of: bytes[start...], skipped: start - bytes.startIndex) else { return nil }

        guard head.lines.count - 1 <= limits.headerCount else {
            throw .tooManyHeaders(limit: limits.headerCount)
        }
        var headers = RTSPHeaders()
        for line in head.lines.dropFirst() {
            guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex,
                line[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else { throw .malformedHeader }
            headers.add(Self.text(line[..<colon]), Self.text(Self.trimmed(line[(colon + 1)...])))
        }
        guard headers["Transfer-Encoding"] == nil else { throw .unsupportedTransferEncoding }

        let length = try contentLength(headers)
        guard bytes.endIndex - head.end >= length else { return nil }
        let body = Array(bytes[head.end..<(head.end + length)])
        let message = try Self.message(startLine: head.lines[0], headers: headers, body: body)
        return (message, head.end + length - bytes.startIndex)
    }

    private func contentLength(_ headers: RTSPHeaders) throws(RTSPDecodingError) -> Int {
        guard let text = headers["Content-Length"] else { return 0 }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            headers.all("Content-Length").allSatisfy({ $0 == text })
        else { throw .malformedContentLength }
        // More digits than an Int holds is too long as well.
        let length = Int(text) ?? .max
        guard length <= limits.bodyBytes else { throw .bodyTooLong(length: length, limit: limits.bodyBytes) }
        return length
    }

    private func head(
        of bytes: ArraySlice<UInt8>, skipped: Int
    ) throws(RTSPDecodingError) -> (lines: [ArraySlice<UInt8>], end: Int)? {
        var lines: [ArraySlice<UInt8>] = []
        var lineStart = bytes.startIndex
        let limit = bytes.startIndex + limits.headerBytes - skipped
        for index in bytes.indices {
            guard index < limit else { throw .headerTooLong(limit: limits.headerBytes) }
            guard bytes[index] == 0x0A else { continue }
            let line = bytes[lineStart..<index]
            let content = line.last == 0x0D ? line.dropLast() : line
            if content.isEmpty { return (lines, index + 1) }
            lines.append(content)
            // One more than allowed is enough to tell; the rest need not be kept.
            guard lines.count <= limits.headerCount + 1 else {
                throw .tooManyHeaders(limit: limits.headerCount)
            }
            lineStart = index + 1
        }
        guard skipped < limits.headerBytes else { throw .headerTooLong(limit: limits.headerBytes) }
        return nil
    }

    private static func message(
        startLine: ArraySlice<UInt8>, headers: RTSPHeaders, body: [UInt8]
    ) throws(RTSPDecodingError) -> RTSPMessage {
        let words = startLine.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, !words[0].isEmpty, !words[1].isEmpty else { throw .malformedStartLine }
        if let version = RTSPVersion(rawValue: text(words[0])) {
            guard words[1].count == 3, let status = Int(text(words[1])), (100...599).contains(status) else {
                throw .malformedStartLine
            }
            let reason = words.count > 2 ? text(words[2]) : ""
            return .response(
                RTSPResponse(version: version, status: status, reason: reason, headers: headers, body: body))
        }
        guard words.count == 3, let version = RTSPVersion(rawValue: text(words[2])),
            words[0].allSatisfy({ (0x41...0x5A).contains($0) || $0 == 0x5F })
        else { throw .malformedStartLine }
        return .request(
            RTSPRequest(
                method: text(words[0]), uri: text(words[1]), version: version, headers: headers, body: body))
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return bytes
    }
}
