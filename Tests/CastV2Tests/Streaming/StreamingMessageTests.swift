import CastV2
import Testing

@Suite("Cast Streaming: messages")
struct StreamingMessageTests {
    static let cipher = CastFrameCipher(
        key: (0..<16).map(UInt8.init), mask: (0..<16).map { 0xF0 + UInt8($0) })

    static func stream(_ changes: [String: CastJSON] = [:]) -> CastJSON {
        var fields: [String: CastJSON] = [
            "index": 0, "type": "audio_source", "codecName": "opus", "rtpProfile": "cast", "rtpPayloadType": 127,
            "ssrc": 4_294_967_295, "targetDelay": 250, "aesKey": "000102030405060708090A0b0c0d0e0f",
            "aesIvMask": "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", "timeBase": "1/48000", "channels": 2, "bitRate": 128_000,
            "receiverRtcpEventLog": true,
        ]
        fields.merge(changes) { $1 }
        return .object(fields)
    }

    @Test("R5 an offer is read as it was written, with what we do not know of")
    func offer() throws {
        let json: CastJSON = ["castMode": "mirroring", "supportedStreams": [Self.stream()]]
        let offer = CastOffer(json: json)
        let stream = try #require(offer.streams.first)
        #expect(stream.cipher == Self.cipher)
        #expect(stream.kind == .audio && stream.codec == "opus" && stream.payloadType == 127)
        #expect(stream.ssrc == .max && stream.targetDelay == 250 && stream.timeBase == 48_000 && stream.channels == 2)
        #expect(stream.bitRate == 128_000 && stream.more == ["receiverRtcpEventLog": true])
        let message = CastStreamingMessage(sequence: 7, .offer(offer))
        #expect(CastStreamingMessage(text: message.json.text) == message)
        #expect(
            message.json["offer"]["supportedStreams"].elements.first?["aesKey"] == "000102030405060708090a0b0c0d0e0f")
        #expect(message.json.text.contains("\"ssrc\":4294967295"))
        #expect(!"\(message)".contains("[0, 1, 2"))
    }

    @Test("R5 a video stream is read with its sizes and rate")
    func video() throws {
        let stream = try CastOfferedStream(
            json: Self.stream([
                "type": "VIDEO_SOURCE", "codecName": "VP8", "timeBase": "1/90000", "maxFrameRate": "30000/1001",
                "bitRate": nil, "maxBitRate": "5000000", "channels": nil,
                "resolutions": [["width": 1280, "height": "720"], ["width": 0, "height": 1], 5],
            ]))
        #expect(stream.kind == .video && stream.codec == "vp8" && stream.channels == 1)
        #expect(stream.bitRate == 5_000_000 && stream.frameRate == "30000/1001")
        #expect(stream.sizes == [CastOfferedStream.Size(width: 1280, height: 720)])
        #expect(try CastOfferedStream(json: stream.json) == stream)
    }

    @Test(
        "R5 a stream of an offer that makes no sense is left out, the others stay",
        arguments: [
            (["index": -1], .field("index")), (["type": "text_source"], .field("type")),
            (["codecName": ""], .field("codecName")), (["rtpPayloadType": 95], .field("rtpPayloadType")),
            (["ssrc": -1], .field("ssrc")), (["ssrc": 4_294_967_296], .field("ssrc")), (["ssrc": [:]], .field("ssrc")),
            (["timeBase": "48000"], .field("timeBase")), (["timeBase": "2/48000"], .field("timeBase")),
            (["timeBase": "1/0"], .field("timeBase")), (["timeBase": "1/99999999999999999999"], .field("timeBase")),
            (["channels": 0], .field("channels")), (["aesKey": nil], .key), (["aesIvMask": "00"], .key),
            (["aesKey": "g00102030405060708090a0b0c0d0e0f"], .key), (["aesKey": 5], .key),
        ] as [([String: CastJSON], CastOfferedStreamError)])
    func badStream(changes: [String: CastJSON], error: CastOfferedStreamError) {
        let offer = CastOffer(json: ["supportedStreams": [Self.stream(changes), Self.stream(), nil]])
        #expect(offer.unreadable == [error, .field("index")])
        #expect(offer.streams.count == 1)
        #expect(!error.description.isEmpty)
    }

    @Test("R5 a delay out of range is the default; no key at all is no encryption; streams are bounded")
    func tolerated() throws {
        for delay in [0, 5001, "soon", nil] as [CastJSON] {
            #expect(try CastOfferedStream(json: Self.stream(["targetDelay": delay])).targetDelay == 400)
        }
        #expect(try CastOfferedStream(json: Self.stream(["aesKey": nil, "aesIvMask": nil])).cipher == nil)
        let many = CastOffer(json: ["supportedStreams": .array([CastJSON](repeating: Self.stream(), count: 500))])
        #expect(many.streams.count == CastOffer.maximumStreams)
        #expect(CastOffer(json: "nothing").streams.isEmpty)
    }

    @Test("R5 answers, good ones")
    func answer() {
        let answer = CastAnswer(
            port: 2344, indexes: [0, 3], ssrcs: [2, 4_294_967_295],
            constraints: ["audio": ["maxBitRate": 256_000, "maxDelay": 1500]], more: ["receiverRtcpDscp": [0]])
        let message = CastStreamingMessage(sequence: 3, .answer(answer))
        #expect(CastStreamingMessage(text: message.json.text) == message)
        #expect(answer.ssrc(index: 3) == .max && answer.ssrc(index: 1) == nil)
        let loose = #"{"type":"answer","seqNum":"3","answer":{"udpPort":"2344","sendIndexes":["0"],"ssrcs":["9"]}}"#
        #expect(
            CastStreamingMessage(text: loose)
                == CastStreamingMessage(sequence: 3, .answer(CastAnswer(port: 2344, indexes: [0], ssrcs: [9]))))
    }

    @Test(
        "R5 answers, bad ones",
        arguments: [
            (#""answer":{"udpPort":0,"sendIndexes":[0],"ssrcs":[1]}"#, .port),
            (#""answer":{"udpPort":65536,"sendIndexes":[0],"ssrcs":[1]}"#, .port),
            (#""answer":{"sendIndexes":[0],"ssrcs":[1]}"#, .port),
            (#""answer":{"udpPort":5,"sendIndexes":[],"ssrcs":[]}"#, .streams),
            (#""answer":{"udpPort":5,"sendIndexes":[1,1],"ssrcs":[1,2]}"#, .streams),
            (#""answer":{"udpPort":5,"ssrcs":[1]}"#, .streams),
            (#""answer":{"udpPort":5,"sendIndexes":[0,1],"ssrcs":[1]}"#, .ssrcs),
            (#""answer":{"udpPort":5,"sendIndexes":[0],"ssrcs":[-1]}"#, .ssrcs),
            (#""answer":null"#, .refused(code: nil, description: nil)),
            (#""result":"error","answer":{"udpPort":5}"#, .refused(code: nil, description: nil)),
            (#""result":"error","error":{"code":"4","description":"no"}"#, .refused(code: 4, description: "no")),
            (#""result":"error","error":"no""#, .refused(code: nil, description: "no")),
        ] as [(String, CastAnswerError)])
    func badAnswer(fields: String, error: CastAnswerError) {
        let message = CastStreamingMessage(text: #"{"type":"ANSWER","seqNum":1,"# + fields + "}")
        #expect(message == CastStreamingMessage(sequence: 1, .noAnswer(error)))
        #expect(!error.description.isEmpty)
        let again = message.flatMap { CastStreamingMessage(text: $0.json.text) }
        guard case .noAnswer = again?.body else {
            Issue.record("a no came back as \(String(describing: again))")
            return
        }
    }

    @Test("R5 capabilities, presentation, and what is none of these")
    func others() {
        let messages: [CastStreamingMessage] = [
            CastStreamingMessage(sequence: 1, .getCapabilities),
            CastStreamingMessage(
                sequence: 2, .capabilities(CastStreamingCapabilities(media: ["audio", "opus"], remoting: 2))),
            CastStreamingMessage(sequence: 3, .presentation(title: "Song", icons: ["http://10.0.0.1/a.jpg"])),
            CastStreamingMessage(sequence: nil, .other(type: "RPC")),
        ]
        for message in messages { #expect(CastStreamingMessage(text: message.json.text) == message) }
        #expect(
            CastStreamingMessage(text: #"{"type":"CAPABILITIES_RESPONSE","seqNum":-1,"result":"error"}"#)
                == CastStreamingMessage(sequence: nil, .other(type: "CAPABILITIES_RESPONSE")))
        #expect(CastStreamingMessage(text: "{}") == CastStreamingMessage(sequence: nil, .other(type: nil)))
        for text in ["", "[]", "5", "null", "{", "OFFER"] { #expect(CastStreamingMessage(text: text) == nil) }
    }
}
