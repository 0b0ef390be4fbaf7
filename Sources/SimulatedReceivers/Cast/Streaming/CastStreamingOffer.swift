import Foundation

/// One stream that a sender offers (`Protocols/cast` section 12).
struct CastOfferedStream: Sendable, Hashable {
    enum Kind: String, Sendable, Hashable {
        case audio = "audio_source"
        case video = "video_source"
    }

    /// AES-128 in counter mode: 16 bytes each.
    struct Encryption: Sendable, Hashable {
        var key: [UInt8]
        var mask: [UInt8]
    }

    var index: Int
    var kind: Kind
    /// In lower case: opus, aac, vp8, h264, …
    var codec: String
    var payloadType: UInt8
    var ssrc: UInt32
    /// Milliseconds from capture to playing, 0 to 5,000.
    var targetDelay: Int
    /// RTP units in a second.
    var clockRate: Int
    var channels: Int
    /// Nil where the sender offers none, as old ones do.
    var encryption: Encryption?
}

/// An OFFER: what a sender wants to stream.
struct CastStreamingOffer: Sendable, Hashable {
    /// Why an OFFER is refused.
    struct Refusal: Error, Sendable, Hashable {
        var code: Int
        var description: String

        static func malformed(_ what: String) -> Refusal { Refusal(code: 1, description: what) }
        static func unsupported(_ what: String) -> Refusal { Refusal(code: 2, description: what) }
    }

    /// More streams than this make an OFFER malformed; Chromium offers about ten.
    static let maximumStreams = 64
    static let defaultDelay = 400
    static let delays = 0...5_000

    var sequenceNumber: Int
    var streams: [CastOfferedStream]

    /// Reads an OFFER. A stream that is malformed or of another kind is passed over, as it is one of several to choose
    /// from; the whole is refused where it says nothing usable.
    init(_ json: JSONValue) throws(Refusal) {
        guard let number = json["seqNum"]?.int else { throw .malformed("OFFER without seqNum") }
        sequenceNumber = number
        guard let offer = json["offer"], offer.object != nil else { throw .malformed("OFFER without offer") }
        let mode = offer["castMode"]?.string ?? "mirroring"
        guard mode == "mirroring" else { throw .unsupported("castMode \(mode.prefix(40)) is not supported") }
        guard let offered = offer["supportedStreams"]?.array else { throw .malformed("no supportedStreams") }
        guard offered.count <= Self.maximumStreams else {
            throw .malformed("more than \(Self.maximumStreams) streams")
        }
        streams = offered.compactMap(Self.stream)
    }

    /// The streams this receiver takes: one of sound and one of picture, each the first codec that it likes best.
    /// Throws when there is none.
    func choose(video: Bool) throws(Refusal) -> [CastOfferedStream] {
        func best(_ kind: CastOfferedStream.Kind, _ codecs: [String]) -> CastOfferedStream? {
            codecs.lazy.compactMap { codec in
                streams.first { $0.kind == kind && $0.codec == codec && isSane($0) }
            }.first
        }
        let audio = best(.audio, ["opus"])
        let picture = video ? best(.video, ["vp8", "h264"]) : nil
        let chosen = [audio, picture].compactMap { $0 }
        guard !chosen.isEmpty else { throw .unsupported("none of the streams has a codec that is known here") }
        guard Set(chosen.map(\.ssrc)).count == chosen.count else { throw .malformed("two streams of one ssrc") }
        return chosen
    }

    /// The answer to this OFFER.
    func answer(port: Int, streams: [CastOfferedStream]) -> JSONValue {
        [
            "type": "ANSWER", "seqNum": .integer(sequenceNumber), "result": "ok",
            "answer": [
                "castMode": "mirroring", "udpPort": .integer(port),
                "sendIndexes": .array(streams.map { .integer($0.index) }),
                "ssrcs": .array(streams.map { .integer(Int(Self.receiverSSRC($0))) }),
            ],
        ]
    }

    static func answer(refusing refusal: Refusal, sequenceNumber: Int) -> JSONValue {
        [
            "type": "ANSWER", "seqNum": .integer(sequenceNumber), "result": "error",
            "error": ["code": .integer(refusal.code), "description": .string(refusal.description)],
        ]
    }

    /// What this receiver calls itself in its reports on a stream.
    static func receiverSSRC(_ stream: CastOfferedStream) -> UInt32 { stream.ssrc &+ 1 }

    private func isSane(_ stream: CastOfferedStream) -> Bool {
        stream.kind == .video ? stream.clockRate == 90_000 : stream.clockRate == 48_000 && (1...2) ~= stream.channels
    }

    private static func stream(_ json: JSONValue) -> CastOfferedStream? {
        guard let index = json["index"]?.int, index >= 0, index <= 65_535,
            let kind = json["type"]?.string.flatMap(CastOfferedStream.Kind.init),
            let codec = json["codecName"]?.string?.lowercased(), json["rtpProfile"]?.string ?? "cast" == "cast",
            let type = json["rtpPayloadType"]?.int, (0...127).contains(type),
            let ssrc = json["ssrc"]?.int.flatMap({ UInt32(exactly: $0) }),
            let rate = clockRate(json["timeBase"]?.string)
        else { return nil }
        let delay = json["targetDelay"]?.int ?? defaultDelay
        guard delays.contains(delay) else { return nil }
        var encryption: CastOfferedStream.Encryption?
        if json["aesKey"] != nil || json["aesIvMask"] != nil {
            guard let key = bytes(json["aesKey"]), let mask = bytes(json["aesIvMask"]) else { return nil }
            encryption = CastOfferedStream.Encryption(key: key, mask: mask)
        }
        return CastOfferedStream(
            index: index, kind: kind, codec: codec, payloadType: UInt8(type), ssrc: ssrc, targetDelay: delay,
            clockRate: rate, channels: json["channels"]?.int ?? (kind == .audio ? 2 : 0), encryption: encryption)
    }

    /// `1/48000`.
    private static func clockRate(_ text: String?) -> Int? {
        guard let text, text.hasPrefix("1/"), let rate = Int(text.dropFirst(2)), rate > 0 else { return nil }
        return rate
    }

    /// 32 hexadecimal digits.
    private static func bytes(_ json: JSONValue?) -> [UInt8]? {
        guard let digits = json?.string.map({ Array($0.utf8) }), digits.count == 32 else { return nil }
        let values = digits.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard values.count == 32 else { return nil }
        return stride(from: 0, to: 32, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}
