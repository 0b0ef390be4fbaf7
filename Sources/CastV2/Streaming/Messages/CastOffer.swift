/// What a sender would send: the body of OFFER (`Protocols/cast` section 12).
public struct CastOffer: Sendable, Hashable {
    /// More than any sender offers; what is beyond is not read.
    public static let maximumStreams = 32

    /// `mirroring` or `remoting`.
    public var mode: String
    public var streams: [CastOfferedStream]
    /// Why each stream that could not be read, could not.
    public var unreadable: [CastOfferedStreamError]

    public init(mode: String = "mirroring", streams: [CastOfferedStream]) {
        self.mode = mode
        self.streams = streams
        unreadable = []
    }

    /// Streams that make no sense are left out, and said to be.
    public init(json: CastJSON) {
        mode = json["castMode"].string?.lowercased() ?? "mirroring"
        streams = []
        unreadable = []
        for element in json["supportedStreams"].elements.prefix(Self.maximumStreams) {
            do {
                streams.append(try CastOfferedStream(json: element))
            } catch {
                unreadable.append(error)
            }
        }
    }

    public var json: CastJSON {
        ["castMode": .string(mode), "supportedStreams": .array(streams.map(\.json))]
    }
}

/// Why a stream of an offer cannot be had.
public enum CastOfferedStreamError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A field that must be there is missing, or is nothing that it can be.
    case field(String)
    /// Only one of key and mask, or not 32 hex digits.
    case key

    public var description: String {
        switch self {
        case .field(let name): "\(name) is missing or out of range"
        case .key: "aesKey and aesIvMask must be 32 hex digits each"
        }
    }
}

/// One stream of an offer.
public struct CastOfferedStream: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        case audio = "audio_source"
        case video = "video_source"
    }

    public struct Size: Sendable, Hashable {
        public var width: Int
        public var height: Int

        public init(width: Int, height: Int) {
            self.width = width
            self.height = height
        }
    }

    /// Milliseconds; what is outside counts as the default.
    public static let targetDelays = 1...5000
    public static let defaultTargetDelay = 400
    /// Units of the time base per second.
    public static let timeBases = 8000...192_000
    public static let maximumSizes = 64

    public var index: Int
    public var kind: Kind
    /// `opus`, `aac`, `vp8`, `h264`…
    public var codec: String
    public var codecParameter: String?
    /// 96 to 127.
    public var payloadType: UInt8
    public var ssrc: UInt32
    /// Milliseconds from capture to being heard or seen.
    public var targetDelay: Int
    /// Nil: not encrypted, which only old receivers take.
    public var cipher: CastFrameCipher?
    /// RTP timestamps per second.
    public var timeBase: Int
    public var channels: Int
    /// Bits per second; for video the highest.
    public var bitRate: Int?
    /// Video: frames per second, as `30` or `30000/1001`.
    public var frameRate: String?
    public var sizes: [Size]
    /// Every other field that was there, or is to be: `profile`, `level`, `errorRecoveryMode`, `rtpExtensions`…
    public var more: [String: CastJSON]

    public init(
        index: Int, kind: Kind, codec: String, payloadType: UInt8, ssrc: UInt32,
        targetDelay: Int = Self.defaultTargetDelay, cipher: CastFrameCipher?, timeBase: Int, channels: Int,
        bitRate: Int? = nil
    ) {
        self.index = index
        self.kind = kind
        self.codec = codec
        self.payloadType = payloadType
        self.ssrc = ssrc
        self.targetDelay = targetDelay
        self.cipher = cipher
        self.timeBase = timeBase
        self.channels = channels
        self.bitRate = bitRate
        sizes = []
        more = [:]
    }

    private static let known: Set<String> = [
        "index", "type", "codecName", "codecParameter", "rtpProfile", "rtpPayloadType", "ssrc", "targetDelay",
        "aesKey", "aesIvMask", "timeBase", "channels", "bitRate", "maxBitRate", "maxFrameRate", "resolutions",
    ]

    public init(json: CastJSON) throws(CastOfferedStreamError) {
        guard let index = json["index"].int, (0...255).contains(index) else { throw .field("index") }
        guard let kind = json["type"].string.flatMap({ Kind(rawValue: $0.lowercased()) }) else { throw .field("type") }
        guard let codec = json["codecName"].string, !codec.isEmpty else { throw .field("codecName") }
        guard let type = json["rtpPayloadType"].int, (96...127).contains(type) else { throw .field("rtpPayloadType") }
        guard let ssrc = json["ssrc"].int.flatMap(UInt32.init(exactly:)) else { throw .field("ssrc") }
        guard let base = Self.timeBase(json["timeBase"].string), Self.timeBases.contains(base) else {
            throw .field("timeBase")
        }
        let channels = json["channels"].int ?? (kind == .audio ? 2 : 1)
        guard (1...64).contains(channels) else { throw .field("channels") }
        let delay = json["targetDelay"].int.flatMap { Self.targetDelays.contains($0) ? $0 : nil }
        self.init(
            index: index, kind: kind, codec: codec.lowercased(), payloadType: UInt8(type), ssrc: ssrc,
            targetDelay: delay ?? Self.defaultTargetDelay, cipher: try Self.cipher(json), timeBase: base,
            channels: channels, bitRate: json["bitRate"].int ?? json["maxBitRate"].int)
        codecParameter = json["codecParameter"].string.flatMap { $0.isEmpty ? nil : $0 }
        frameRate = json["maxFrameRate"].string
        sizes = json["resolutions"].elements.prefix(Self.maximumSizes).compactMap {
            guard let width = $0["width"].int, let height = $0["height"].int, width > 0, height > 0 else { return nil }
            return Size(width: width, height: height)
        }
        more = (json.object ?? [:]).filter { !Self.known.contains($0.key) }
    }

    private static func timeBase(_ text: String?) -> Int? {
        guard let parts = text?.split(separator: "/"), parts.count == 2, parts[0] == "1" else { return nil }
        return Int(parts[1])
    }

    private static func cipher(_ json: CastJSON) throws(CastOfferedStreamError) -> CastFrameCipher? {
        let (key, mask) = (json["aesKey"], json["aesIvMask"])
        if key.isNull, mask.isNull { return nil }
        guard let key = key.string.flatMap(CastHex.bytes), let mask = mask.string.flatMap(CastHex.bytes),
            let cipher = CastFrameCipher(key: key, mask: mask)
        else { throw .key }
        return cipher
    }

    public var json: CastJSON {
        var object = more
        object["index"] = .number(Double(index))
        object["type"] = .string(kind.rawValue)
        object["codecName"] = .string(codec)
        object.put("codecParameter", codecParameter)
        object["rtpProfile"] = "cast"
        object["rtpPayloadType"] = .number(Double(payloadType))
        object["ssrc"] = .number(Double(ssrc))
        object["targetDelay"] = .number(Double(targetDelay))
        object.put("aesKey", cipher.map { CastHex.text($0.key) })
        object.put("aesIvMask", cipher.map { CastHex.text($0.mask) })
        object["timeBase"] = .string("1/\(timeBase)")
        object["channels"] = .number(Double(channels))
        object.put(kind == .audio ? "bitRate" : "maxBitRate", bitRate)
        object.put("maxFrameRate", frameRate)
        if !sizes.isEmpty {
            object["resolutions"] = .array(
                sizes.map { ["width": .number(Double($0.width)), "height": .number(Double($0.height))] })
        }
        return .object(object)
    }
}

/// Bytes as hex digits.
enum CastHex {
    /// Nil unless it is pairs of hex digits and nothing else.
    static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2), digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
            return nil
        }
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
        }
    }

    static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
