import Foundation

/// What ANNOUNCE says about the audio to come (`Protocols/airplay/README.md`, “ANNOUNCE”).
public struct RAOPSessionDescription: Sendable, Hashable {
    public static let contentType = "application/sdp"

    public enum Codec: Sendable, Hashable {
        /// With the decoder's parameters.
        case appleLossless(ALACFormat)
        /// Signed 16-bit PCM, big-endian.
        case l16(sampleRate: Int, channels: Int)
    }

    /// The 11 numbers of an Apple Lossless `fmtp` line.
    public struct ALACFormat: Sendable, Hashable {
        public var framesPerPacket = 352
        public var compatibleVersion = 0
        public var bitDepth = 16
        public var riceHistoryMultiplier = 40
        public var riceInitialHistory = 10
        public var riceParameterLimit = 14
        public var channels = 2
        public var maximumRun = 255
        public var maximumFrameBytes = 0
        public var averageBitRate = 0
        public var sampleRate = 44_100

        public init() {}

        /// Nil where they aren't 11 numbers that make sense.
        public init?(parsing text: String) {
            let numbers = text.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 11, (1...16384).contains(numbers[0]), (8...32).contains(numbers[2]),
                (1...8).contains(numbers[6]), (1...384_000).contains(numbers[10])
            else { return nil }
            framesPerPacket = numbers[0]
            compatibleVersion = numbers[1]
            bitDepth = numbers[2]
            riceHistoryMultiplier = numbers[3]
            riceInitialHistory = numbers[4]
            riceParameterLimit = numbers[5]
            channels = numbers[6]
            maximumRun = numbers[7]
            maximumFrameBytes = numbers[8]
            averageBitRate = numbers[9]
            sampleRate = numbers[10]
        }

        public var text: String {
            [
                framesPerPacket, compatibleVersion, bitDepth, riceHistoryMultiplier, riceInitialHistory,
                riceParameterLimit, channels, maximumRun, maximumFrameBytes, averageBitRate, sampleRate,
            ].map(String.init).joined(separator: " ")
        }
    }

    /// The stream's key, wrapped for the receiver, and its initial vector.
    public struct RSAEncryption: Sendable, Hashable {
        /// RSAES-OAEP of the 16-byte AES key.
        public var encryptedKey: [UInt8]
        /// 16 bytes.
        public var initialVector: [UInt8]

        public init(encryptedKey: [UInt8], initialVector: [UInt8]) {
            self.encryptedKey = encryptedKey
            self.initialVector = initialVector
        }
    }

    public var sessionID: UInt32
    /// Numeric, without a scope.
    public var senderAddress: String
    public var receiverAddress: String
    public var codec: Codec
    public var encryption: RSAEncryption?
    /// In frames.
    public var minimumLatency: Int?

    public init(
        sessionID: UInt32, senderAddress: String, receiverAddress: String, codec: Codec,
        encryption: RSAEncryption? = nil, minimumLatency: Int? = nil
    ) {
        self.sessionID = sessionID
        self.senderAddress = senderAddress
        self.receiverAddress = receiverAddress
        self.codec = codec
        self.encryption = encryption
        self.minimumLatency = minimumLatency
    }

    /// The body: lines end in CR LF. L16 goes without an `fmtp` line, for receivers take one as a sign of Apple Lossless.
    public func encoded() -> [UInt8] {
        var lines = [
            "v=0", "o=iTunes \(sessionID) 0 IN \(Self.network(senderAddress)) \(senderAddress)", "s=iTunes",
            "c=IN \(Self.network(receiverAddress)) \(receiverAddress)", "t=0 0", "m=audio 0 RTP/AVP 96",
        ]
        switch codec {
        case .appleLossless(let format):
            lines += ["a=rtpmap:96 AppleLossless", "a=fmtp:96 \(format.text)"]
        case .l16(let sampleRate, let channels):
            lines.append("a=rtpmap:96 L16/\(sampleRate)/\(channels)")
        }
        if let encryption {
            lines.append("a=rsaaeskey:\(Base64.withoutPadding(encryption.encryptedKey))")
            lines.append("a=aesiv:\(Base64.withoutPadding(encryption.initialVector))")
        }
        if let minimumLatency { lines.append("a=min-latency:\(minimumLatency)") }
        return lines.flatMap { Array(($0 + "\r\n").utf8) }
    }

    private static func network(_ address: String) -> String { address.contains(":") ? "IP6" : "IP4" }
}

public enum SDPDecodingError: Error, Sendable, Hashable {
    case tooLong(limit: Int)
    case missingRTPMap
    case unsupportedCodec(String)
    case malformedFormat
    /// A key without an initial vector or the other way round, or base64 that isn't.
    case malformedEncryption
}

extension RAOPSessionDescription {
    public static let byteLimit = 64 * 1024

    /// Reads a body. An `fmtp` line beside L16 is passed over: some senders write one and mean PCM all the same.
    public init(parsing body: [UInt8]) throws(SDPDecodingError) {
        guard body.count <= Self.byteLimit else { throw .tooLong(limit: Self.byteLimit) }
        var origin: [Substring] = []
        var connection: [Substring] = []
        var attributes: [String: String] = [:]
        for line in String(decoding: body, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let value = line.dropFirst(2)
            switch line.prefix(2) {
            case "o=": origin = value.split(separator: " ")
            case "c=": connection = value.split(separator: " ")
            case "a=":
                let pair = value.split(separator: ":", maxSplits: 1)
                guard let name = pair.first else { continue }
                attributes[name.lowercased()] = pair.count > 1 ? pair[1].trimmed : ""
            default: break
            }
        }
        guard let map = attributes["rtpmap"]?.split(separator: " ", maxSplits: 1).last else { throw .missingRTPMap }
        let parts = map.split(separator: "/")
        let format = attributes["fmtp"]?.split(separator: " ", maxSplits: 1)
        switch parts.first.map({ $0.lowercased() }) {
        case "applelossless":
            guard let format, format.count == 2, let parameters = ALACFormat(parsing: String(format[1])) else {
                throw .malformedFormat
            }
            codec = .appleLossless(parameters)
        case "l16":
            guard let sampleRate = parts.count > 1 ? Int(parts[1]) : 44_100,
                let channels = parts.count > 2 ? Int(parts[2]) : 1, (1...384_000).contains(sampleRate),
                (1...8).contains(channels)
            else { throw .malformedFormat }
            codec = .l16(sampleRate: sampleRate, channels: channels)
        default: throw .unsupportedCodec(String(map.prefix(40)))
        }
        switch (attributes["rsaaeskey"], attributes["aesiv"]) {
        case (nil, nil): encryption = nil
        case (let key?, let vector?):
            guard let key = Base64.decode(key), let vector = Base64.decode(vector), vector.count == 16 else {
                throw .malformedEncryption
            }
            encryption = RSAEncryption(encryptedKey: key, initialVector: vector)
        default: throw .malformedEncryption
        }
        sessionID = origin.count > 1 ? UInt32(origin[1]) ?? 0 : 0
        senderAddress = origin.last.map(String.init) ?? ""
        receiverAddress = connection.last.map(String.init) ?? ""
        minimumLatency = attributes["min-latency"].flatMap { Int($0) }
    }
}

/// Base 64 as AirPlay writes it: without the `=` at the end, and read with or without.
public enum Base64 {
    public static func withoutPadding(_ bytes: [UInt8]) -> String {
        var text = Data(bytes).base64EncodedString()
        while text.last == "=" { text.removeLast() }
        return text
    }

    public static func decode(_ text: String) -> [UInt8]? {
        var text = text.trimmed
        while text.last == "=" { text.removeLast() }
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text).map(Array.init)
    }
}
