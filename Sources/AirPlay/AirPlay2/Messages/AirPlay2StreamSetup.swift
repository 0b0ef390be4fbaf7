/// The number of a kind of stream.
public enum AirPlay2StreamType: Int, Sendable, Hashable {
    /// Packets by UDP, each in its time.
    case realtime = 96
    /// Packets by TCP, far ahead; the receiver is told when to play what.
    case buffered = 103
    /// Remote control and now playing.
    case data = 130
}

/// A stream of audio, as SETUP asks for it. Printing it shows no key.
public struct AirPlay2AudioStream: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// `realtime` or `buffered`.
    public var type: AirPlay2StreamType
    public var format: AirPlayAudioFormat
    /// 32 bytes. Secret.
    public var key: [UInt8]
    /// Our UDP port for sync and resends; of a realtime stream.
    public var controlPort: Int?
    /// Frames from sending to hearing; of a realtime stream.
    public var minimumLatency: Int?
    public var maximumLatency: Int?
    public var framesPerPacket: Int
    public var audioMode: AirPlay2AudioMode
    public var connectionID: UInt64?

    /// A stream that comes as it is heard.
    public static func realtime(
        _ format: AirPlayAudioFormat, key: [UInt8], controlPort: Int, minimumLatency: Int = 11_025,
        maximumLatency: Int = 88_200, connectionID: UInt64? = nil
    ) -> AirPlay2AudioStream {
        AirPlay2AudioStream(
            type: .realtime, format: format, key: key, controlPort: controlPort, minimumLatency: minimumLatency,
            maximumLatency: maximumLatency, framesPerPacket: format.framesPerPacket, audioMode: .default,
            connectionID: connectionID)
    }

    /// A stream that comes ahead. It names no latency: some receivers would add it to their own.
    public static func buffered(
        _ format: AirPlayAudioFormat, key: [UInt8], connectionID: UInt64? = nil
    ) -> AirPlay2AudioStream {
        AirPlay2AudioStream(
            type: .buffered, format: format, key: key, controlPort: nil, minimumLatency: nil, maximumLatency: nil,
            framesPerPacket: format.framesPerPacket, audioMode: .default, connectionID: connectionID)
    }

    public var description: String { "AirPlay2AudioStream(\(type), \(format), key: ••••)" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    fileprivate init(
        type: AirPlay2StreamType, format: AirPlayAudioFormat, key: [UInt8], controlPort: Int?, minimumLatency: Int?,
        maximumLatency: Int?, framesPerPacket: Int, audioMode: AirPlay2AudioMode, connectionID: UInt64?
    ) {
        self.type = type
        self.format = format
        self.key = key
        self.controlPort = controlPort
        self.minimumLatency = minimumLatency
        self.maximumLatency = maximumLatency
        self.framesPerPacket = framesPerPacket
        self.audioMode = audioMode
        self.connectionID = connectionID
    }

    fileprivate init(_ fields: PropertyListFields, type: AirPlay2StreamType) throws(AirPlay2MessageError) {
        self.type = type
        key = try required("shk", fields.data("shk"))
        guard key.count == 32 else { throw .outOfRange(key: "shk") }
        let bits = AudioFormatBits(
            rawValue: try fields.bits("audioFormat")
                ?? AudioFormatBits(AirPlayAudioFormat(.appleLossless, sampleRate: 44_100)).rawValue)
        guard bits.rawValue.nonzeroBitCount == 1, let format = bits.formats.first else {
            throw .outOfRange(key: "audioFormat")
        }
        self.format = format
        if let codec = try fields.integer("ct"), codec != format.codec.rawValue { throw .outOfRange(key: "ct") }
        framesPerPacket = try fields.integer("spf", in: 1...8192) ?? format.framesPerPacket
        controlPort = try fields.port("controlPort")
        minimumLatency = try fields.integer("latencyMin", in: 0...10_000_000)
        maximumLatency = try fields.integer("latencyMax", in: 0...10_000_000)
        audioMode = try fields.string("audioMode").map { AirPlay2AudioMode(rawValue: $0) } ?? .default
        connectionID = try fields.bits("streamConnectionID")
    }

    fileprivate var propertyList: PropertyList {
        var builder = PropertyListBuilder()
        builder.set("type", type.rawValue)
        builder.set("ct", format.codec.rawValue)
        builder.set("audioFormat", bits: AudioFormatBits(format).rawValue)
        builder.set("spf", framesPerPacket)
        builder.set("sr", format.sampleRate)
        builder.set("shk", key)
        builder.set("controlPort", controlPort)
        builder.set("latencyMin", minimumLatency)
        builder.set("latencyMax", maximumLatency)
        builder.set("audioMode", audioMode.rawValue)
        builder.set("isMedia", true)
        builder.set("supportsDynamicStreamID", false)
        builder.set("streamConnectionID", bits: connectionID)
        return builder.list
    }
}

/// A stream for remote control, as SETUP asks for it.
public struct AirPlay2DataStream: Sendable, Hashable {
    /// What such a stream is for; the same in every session.
    public static let remoteControl = "1910A70F-DBC0-4242-AF95-115DB30604E1"

    public var channelID: String
    public var clientUUID: String
    /// The keys of the connection are made from it.
    public var seed: UInt64
    public var controlType: Int
    public var clientTypeUUID: String
    public var wantsDedicatedSocket: Bool

    public init(
        channelID: String, clientUUID: String, seed: UInt64, controlType: Int = 2,
        clientTypeUUID: String = Self.remoteControl, wantsDedicatedSocket: Bool = true
    ) {
        self.channelID = channelID
        self.clientUUID = clientUUID
        self.seed = seed
        self.controlType = controlType
        self.clientTypeUUID = clientTypeUUID
        self.wantsDedicatedSocket = wantsDedicatedSocket
    }

    fileprivate init(_ fields: PropertyListFields) throws(AirPlay2MessageError) {
        channelID = try fields.string("channelID") ?? ""
        clientUUID = try fields.string("clientUUID") ?? ""
        seed = try required("seed", fields.bits("seed"))
        controlType = try fields.integer("controlType", in: 0...0xFFFF) ?? 2
        clientTypeUUID = try fields.string("clientTypeUUID") ?? ""
        wantsDedicatedSocket = try fields.bool("wantsDedicatedSocket") ?? false
    }

    fileprivate var propertyList: PropertyList {
        var builder = PropertyListBuilder()
        builder.set("type", AirPlay2StreamType.data.rawValue)
        builder.set("channelID", channelID)
        builder.set("clientUUID", clientUUID)
        builder.set("seed", bits: seed)
        builder.set("controlType", controlType)
        builder.set("clientTypeUUID", clientTypeUUID)
        builder.set("wantsDedicatedSocket", wantsDedicatedSocket)
        return builder.list
    }
}

/// The second SETUP: what is to flow.
public struct AirPlay2StreamSetup: AirPlay2Message {
    /// Streams in one request, at most.
    public static let maximumStreams = 8

    public enum Stream: Sendable, Hashable {
        case audio(AirPlay2AudioStream)
        case data(AirPlay2DataStream)
    }

    public var streams: [Stream]

    public init(_ streams: [Stream]) { self.streams = streams }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        let fields = try PropertyListFields(list)
        streams = []
        for item in try required("streams", fields.array("streams", limit: Self.maximumStreams)) {
            let fields = try PropertyListFields(item)
            let number = try required("type", fields.integer("type", in: 0...0xFFFF))
            guard let type = AirPlay2StreamType(rawValue: number) else { throw .outOfRange(key: "type") }
            switch type {
            case .realtime, .buffered: streams.append(.audio(try AirPlay2AudioStream(fields, type: type)))
            case .data: streams.append(.data(try AirPlay2DataStream(fields)))
            }
        }
    }

    public var propertyList: PropertyList {
        .dictionary([
            "streams": .array(
                streams.map { stream in
                    switch stream {
                    case .audio(let audio): audio.propertyList
                    case .data(let data): data.propertyList
                    }
                })
        ])
    }
}

/// Either SETUP, as a receiver gets it.
public enum AirPlay2Setup: AirPlay2Message {
    case session(AirPlay2SessionSetup)
    case streams(AirPlay2StreamSetup)

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        self =
            try PropertyListFields(list).has("streams")
            ? .streams(try AirPlay2StreamSetup(list)) : .session(try AirPlay2SessionSetup(list))
    }

    public var propertyList: PropertyList {
        switch self {
        case .session(let session): session.propertyList
        case .streams(let streams): streams.propertyList
        }
    }
}

/// The answer to the second SETUP.
public struct AirPlay2StreamAnswer: AirPlay2Message {
    /// One stream, with the receiver's ports.
    public struct Stream: Sendable, Hashable {
        /// A kind that isn't known keeps its number.
        public var type: Int
        public var id: UInt64?
        /// UDP for realtime, TCP for the others.
        public var dataPort: Int?
        /// UDP, for sync and resends.
        public var controlPort: Int?
        /// Bytes that a buffered stream may be ahead.
        public var bufferSize: Int?
        /// Milliseconds that the device takes by itself.
        public var renderLatency: Int?

        public init(type: AirPlay2StreamType, id: UInt64? = nil, dataPort: Int? = nil, controlPort: Int? = nil) {
            self.type = type.rawValue
            self.id = id
            self.dataPort = dataPort
            self.controlPort = controlPort
        }

        fileprivate init(_ list: PropertyList) throws(AirPlay2MessageError) {
            let fields = try PropertyListFields(list)
            type = try required("type", fields.integer("type", in: 0...0xFFFF))
            id = try fields.bits("streamID")
            dataPort = try fields.port("dataPort")
            controlPort = try fields.port("controlPort")
            bufferSize = try fields.integer("audioBufferSize", in: 0...(1 << 40))
            renderLatency = try fields.integer("arrivalToRenderLatencyMs", in: 0...60_000)
        }

        fileprivate var propertyList: PropertyList {
            var builder = PropertyListBuilder()
            builder.set("type", type)
            builder.set("streamID", bits: id)
            builder.set("dataPort", dataPort)
            builder.set("controlPort", controlPort)
            builder.set("audioBufferSize", bufferSize)
            builder.set("arrivalToRenderLatencyMs", renderLatency)
            return builder.list
        }
    }

    public var streams: [Stream]

    public init(_ streams: [Stream]) { self.streams = streams }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        let limit = AirPlay2StreamSetup.maximumStreams
        streams = []
        for item in try required("streams", PropertyListFields(list).array("streams", limit: limit)) {
            streams.append(try Stream(item))
        }
    }

    public var propertyList: PropertyList { .dictionary(["streams": .array(streams.map(\.propertyList))]) }

    /// The first of that kind.
    public func stream(_ type: AirPlay2StreamType) -> Stream? { streams.first { $0.type == type.rawValue } }
}
