import Testing

@testable import SimulatedReceivers

@Suite("R5 Cast Streaming receiver: OFFER and ANSWER")
struct CastStreamingOfferTests {
    static let key = "000102030405060708090a0b0c0d0e0f"
    static let mask = "F0E1D2C3B4A5968778695A4B3C2D1E0F"

    static func audio(_ changes: [String: JSONValue] = [:]) -> JSONValue {
        .object(
            [
                "index": 0, "type": "audio_source", "codecName": "opus", "rtpProfile": "cast", "rtpPayloadType": 127,
                "ssrc": 31_534, "targetDelay": 200, "aesKey": .string(key), "aesIvMask": .string(mask),
                "timeBase": "1/48000", "channels": 2, "bitRate": 128_000,
            ].merging(changes) { $1 })
    }

    static func video(_ codec: String, index: Int, ssrc: Int) -> JSONValue {
        [
            "index": .integer(index), "type": "video_source", "codecName": .string(codec), "rtpProfile": "cast",
            "rtpPayloadType": 96, "ssrc": .integer(ssrc), "targetDelay": 200, "aesKey": .string(key),
            "aesIvMask": .string(mask), "timeBase": "1/90000", "maxFrameRate": "30", "maxBitRate": 5_000_000,
        ]
    }

    static func offer(_ streams: [JSONValue], mode: JSONValue = "mirroring") -> JSONValue {
        ["type": "OFFER", "seqNum": 7, "offer": ["castMode": mode, "supportedStreams": .array(streams)]]
    }

    @Test("C R5 opus and vp8 are taken out of what Chromium offers, under the sender's ssrc and one")
    func chromium() throws {
        let offer = try CastStreamingOffer(
            Self.offer([
                Self.audio(), Self.video("vp9", index: 1, ssrc: 98_014), Self.video("vp8", index: 2, ssrc: 53_351),
            ]))
        let streams = try offer.choose(video: true)
        #expect(streams.map(\.codec) == ["opus", "vp8"])
        #expect(streams.map(\.targetDelay) == [200, 200])
        #expect(streams[0].encryption?.key == Array(0...15))
        #expect(streams[0].encryption?.mask.first == 0xF0)
        let answer = offer.answer(port: 4_711, streams: streams)
        #expect(answer["type"] == "ANSWER" && answer["seqNum"] == 7 && answer["result"] == "ok")
        #expect(answer["answer"]?["udpPort"] == 4_711)
        #expect(answer["answer"]?["sendIndexes"] == [0, 2])
        #expect(answer["answer"]?["ssrcs"] == [31_535, 53_352])
    }

    @Test("R5 the audio app takes no picture; h264 is taken where there is no vp8; a stream without key is open")
    func choices() throws {
        let both = Self.offer([
            Self.audio(["aesKey": .null, "aesIvMask": .null]), Self.video("h264", index: 1, ssrc: 5),
        ])
        #expect(try CastStreamingOffer(both).choose(video: false).map(\.codec) == ["opus"])
        let streams = try CastStreamingOffer(both).choose(video: true)
        #expect(streams.map(\.codec) == ["opus", "h264"])
        #expect(streams[0].encryption == nil)
    }

    @Test(
        "R5 streams that cannot be are passed over",
        arguments: [
            ["index": -1], ["type": "text_source"], ["codecName": 5], ["codecName": "aac"], ["rtpProfile": "avp"],
            ["rtpPayloadType": 128], ["ssrc": -1], ["ssrc": "31534"], ["ssrc": 4_294_967_296], ["timeBase": "1/0"],
            ["timeBase": "48000"], ["timeBase": "1/44100"], ["channels": 6], ["targetDelay": 5_001],
            ["targetDelay": -1], ["aesKey": "00"], ["aesKey": .null],
            ["aesKey": "zz0102030405060708090a0b0c0d0e0f"], ["aesIvMask": 5],
        ] as [[String: JSONValue]])
    func unusable(_ changes: [String: JSONValue]) throws {
        let offer = try CastStreamingOffer(Self.offer([Self.audio(changes)]))
        #expect(throws: CastStreamingOffer.Refusal.self) { try offer.choose(video: true) }
        // With another one beside it that one is taken.
        let good = Self.audio(["index": 9, "ssrc": 77])
        #expect(
            try CastStreamingOffer(Self.offer([Self.audio(changes), good])).choose(video: true).map(\.index) == [9])
    }

    @Test(
        "R5 an OFFER that is none is refused with a reason",
        arguments: [
            [:], ["seqNum": "7", "offer": [:]], ["seqNum": 7], ["seqNum": 7, "offer": 5],
            ["seqNum": 7, "offer": ["castMode": "mirroring"]],
            ["seqNum": 7, "offer": ["castMode": "remoting", "supportedStreams": []]],
            ["seqNum": 7, "offer": ["supportedStreams": .array(Array(repeating: [:], count: 65))]],
        ] as [JSONValue])
    func refused(_ json: JSONValue) {
        let refusal = #expect(throws: CastStreamingOffer.Refusal.self) { try CastStreamingOffer(json) }
        #expect(refusal?.description.isEmpty == false)
    }

    @Test("R5 two chosen streams of one ssrc are refused, as is an OFFER of nothing that is known")
    func contradictions() throws {
        let twice = try CastStreamingOffer(Self.offer([Self.audio(["ssrc": 5]), Self.video("vp8", index: 1, ssrc: 5)]))
        #expect(throws: CastStreamingOffer.Refusal.self) { try twice.choose(video: true) }
        let foreign = try CastStreamingOffer(Self.offer([Self.video("av1", index: 1, ssrc: 5), 5, .null]))
        #expect(throws: CastStreamingOffer.Refusal.unsupported("none of the streams has a codec that is known here")) {
            try foreign.choose(video: true)
        }
        let answer = CastStreamingOffer.answer(refusing: .malformed("no"), sequenceNumber: 3)
        #expect(
            answer == ["type": "ANSWER", "seqNum": 3, "result": "error", "error": ["code": 1, "description": "no"]])
    }
}
