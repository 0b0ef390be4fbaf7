import Testing

@testable import AirPlay

@Suite("RTSP messages")
struct RTSPMessageDecoderTests {
    static let decoder = RTSPMessageDecoder()

    static let messages: [RTSPMessage] = [
        .request(RTSPRequest(method: "OPTIONS", uri: "*", headers: ["CSeq": "1"])),
        .request(
            RTSPRequest(
                method: "SET_PARAMETER", uri: "rtsp://10.0.0.1/77",
                headers: ["CSeq": "2", "Content-Type": "text/parameters"], body: Array("volume: -15.0\r\n".utf8))),
        .response(RTSPResponse(status: 200, reason: "OK", headers: ["CSeq": "1", "Session": "1"])),
        .response(
            RTSPResponse(
                version: .http11, status: 453, reason: "Not Enough Bandwidth", body: [0, 13, 10, 13, 10, 255])),
        .request(RTSPRequest(method: "POST", uri: "/auth-setup", version: .http11, body: [1, 2, 3])),
    ]

    static func encoded(_ message: RTSPMessage) -> [UInt8] {
        switch message {
        case .request(let request): request.encoded()
        case .response(let response): response.encoded()
        }
    }

    /// Without the length, which encoding adds.
    static func plain(_ message: RTSPMessage) -> RTSPMessage {
        switch message {
        case .request(var request):
            request.headers["Content-Length"] = nil
            return .request(request)
        case .response(var response):
            response.headers["Content-Length"] = nil
            return .response(response)
        }
    }

    @Test("Byte by byte, in lumps and all at once: the same messages", arguments: [1, 2, 7, 64, 10_000])
    func lumps(size: Int) throws {
        let stream = Self.messages.flatMap(Self.encoded)
        var held: [UInt8] = []
        var seen: [RTSPMessage] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            held += stream[start..<min(stream.count, start + size)]
            while let (message, used) = try Self.decoder.decode(held[...]) {
                seen.append(Self.plain(message))
                held.removeFirst(used)
            }
        }
        #expect(held.isEmpty)
        #expect(seen == Self.messages)
    }

    @Test("Bare line feeds, empty lines before a message, names in any case, no reason")
    func lenient() throws {
        let text = "\r\n\nRTSP/1.0 200\ncseq:  7 \nCONTENT-LENGTH: 2\n\nhiRTSP"
        let (message, used) = try #require(try Self.decoder.decode(Array(text.utf8)[...]))
        guard case .response(let response) = message else {
            Issue.record("it is an answer")
            return
        }
        #expect(response.status == 200)
        #expect(response.headers["CSeq"] == "7")
        #expect(response.body == Array("hi".utf8))
        #expect(used == text.utf8.count - 4)
    }

    @Test(
        "Malformed messages, each with the limit or rule it breaks",
        arguments: [
            ("no-version", "OPTIONS *\r\n\r\n", .malformedStartLine),
            ("unknown-version", "OPTIONS * RTSP/2.0\r\n\r\n", .malformedStartLine),
            ("lower-case-method", "get / HTTP/1.1\r\n\r\n", .malformedStartLine),
            ("status-of-words", "RTSP/1.0 OK\r\n\r\n", .malformedStartLine),
            ("status-out-of-range", "RTSP/1.0 999 X\r\n\r\n", .malformedStartLine),
            ("binary", "\u{16}\u{3}\u{1}\u{2}\n\n", .malformedStartLine),
            ("header-without-colon", "OPTIONS * RTSP/1.0\r\nCSeq 1\r\n\r\n", .malformedHeader),
            ("header-without-name", "OPTIONS * RTSP/1.0\r\n: 1\r\n\r\n", .malformedHeader),
            ("header-folded", "OPTIONS * RTSP/1.0\r\nA: 1\r\n b: 2\r\n\r\n", .malformedHeader),
            ("length-negative", "RTSP/1.0 200 OK\r\nContent-Length: -1\r\n\r\n", .malformedContentLength),
            ("length-of-words", "RTSP/1.0 200 OK\r\nContent-Length: two\r\n\r\n", .malformedContentLength),
            (
                "length-twice", "RTSP/1.0 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                .malformedContentLength
            ),
            (
                "length-of-4-GiB", "RTSP/1.0 200 OK\r\nContent-Length: 4294967296\r\n\r\n",
                .bodyTooLong(length: 4_294_967_296, limit: 8_388_608)
            ),
            (
                "length-past-64-bits", "RTSP/1.0 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
                .bodyTooLong(length: .max, limit: 8_388_608)
            ),
            ("chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .unsupportedTransferEncoding),
        ] as [(String, String, RTSPDecodingError)])
    func malformed(name: String, text: String, error: RTSPDecodingError) {
        #expect(throws: error) { try Self.decoder.decode(Array(text.utf8)[...]) }
    }

    @Test("Headers that never end are refused at their limits")
    func limits() {
        let limited = RTSPMessageDecoder(limits: .init(headerBytes: 100, headerCount: 3, bodyBytes: 10))
        #expect(throws: RTSPDecodingError.headerTooLong(limit: 100)) {
            try limited.decode([UInt8](repeating: 0x41, count: 101)[...])
        }
        #expect(throws: RTSPDecodingError.headerTooLong(limit: 100)) {
            try limited.decode([UInt8](repeating: 0x0A, count: 200)[...])
        }
        #expect(throws: RTSPDecodingError.tooManyHeaders(limit: 3)) {
            try limited.decode(Array("A / HTTP/1.1\na: 1\na: 1\na: 1\na: 1\n\n".utf8)[...])
        }
        #expect(throws: RTSPDecodingError.bodyTooLong(length: 11, limit: 10)) {
            try limited.decode(Array("HTTP/1.1 200 OK\nContent-Length: 11\n\n".utf8)[...])
        }
    }

    @Test("A value cannot smuggle a line of its own")
    func injection() throws {
        let request = RTSPRequest(method: "OPTIONS", uri: "*", headers: ["X-Apple-Client-Name": "a\r\nSession: 9"])
        let (message, _) = try #require(try Self.decoder.decode(request.encoded()[...]))
        guard case .request(let decoded) = message else { return }
        #expect(decoded.headers["Session"] == nil)
        #expect(decoded.headers["X-Apple-Client-Name"] == "a  Session: 9")
    }

    @Test("Transport, RTP-Info and parameters, as receivers write them")
    func headers() {
        let transport = RTSPTransport(
            parsing: "RTP/AVP/UDP;unicast;mode=record;server_port=6001; control_port=-3;timing_port=0")
        #expect(transport == RTSPTransport(serverPort: 6001, controlPort: 65533, timingPort: 0, mode: "record"))
        #expect(RTSPTransport(parsing: transport.text) == transport)
        #expect(RTSPTransport(parsing: "") == RTSPTransport(mode: nil))
        #expect(RTSPTransport(parsing: "server_port=70000;control_port=x").serverPort == nil)
        #expect(RTPInfo(parsing: "seq=7;rtptime=4294967295") == RTPInfo(sequence: 7, timestamp: .max))
        #expect(RTPInfo(parsing: "seq=70000;rtptime=-1") == RTPInfo())
        #expect(TextParameters.volume(-15).body == Array("volume: -15.000000\r\n".utf8))
        #expect(TextParameters.volume(-0.5).body == Array("volume: -0.500000\r\n".utf8))
        #expect(TextParameters(parsing: Array("volume: -11.25\r\n".utf8)).volume == -11.25)
        #expect(TextParameters(parsing: Array("volume: nan\r\n".utf8)).volume == nil)
        #expect(TextParameters("volume", "").body == Array("volume\r\n".utf8))
        let progress = TextParameters(parsing: TextParameters.progress(start: 1, now: 2, end: .max).body).progress
        #expect(progress?.start == 1 && progress?.now == 2 && progress?.end == .max)
        #expect(TextParameters(parsing: Array("progress: 1/2\r\n".utf8)).progress == nil)
    }
}
