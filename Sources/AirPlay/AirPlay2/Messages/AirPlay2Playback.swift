/// `SETRATEANCHORTIME`: which frame of a buffered stream is heard at which instant of the master clock, or that nothing is.
public struct AirPlay2RateAnchor: AirPlay2Message {
    /// A frame and an instant.
    public struct Anchor: Sendable, Hashable {
        public var timestamp: UInt32
        /// Of the master clock.
        public var seconds: UInt64
        /// In 2⁻⁶⁴ s.
        public var fraction: UInt64
        /// The master clock's id.
        public var clockID: UInt64

        public init(timestamp: UInt32, seconds: UInt64, fraction: UInt64, clockID: UInt64) {
            self.timestamp = timestamp
            self.seconds = seconds
            self.fraction = fraction
            self.clockID = clockID
        }

        /// - Parameter nanoseconds: of the master clock.
        public init(timestamp: UInt32, nanoseconds: UInt64, clockID: UInt64) {
            self.init(
                timestamp: timestamp, seconds: nanoseconds / 1_000_000_000,
                // Rounded up, so that it is the same nanosecond when it is rounded down.
                fraction: (1_000_000_000 as UInt64).dividingFullWidth((nanoseconds % 1_000_000_000, 0)).quotient
                    + (nanoseconds % 1_000_000_000 == 0 ? 0 : 1),
                clockID: clockID)
        }

        /// Of the master clock, rounded down; nil where they are more than 64 bits.
        public var nanoseconds: UInt64? {
            let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
            let (sum, carry) = whole.addingReportingOverflow(
                fraction.multipliedFullWidth(by: 1_000_000_000).high)
            return overflow || carry ? nil : sum
        }
    }

    /// Whether time goes on. No other rates are in use.
    public var isPlaying: Bool
    /// May be missing in a pause.
    public var anchor: Anchor?

    /// From that instant on.
    public static func playing(_ anchor: Anchor) -> AirPlay2RateAnchor {
        AirPlay2RateAnchor(isPlaying: true, anchor: anchor)
    }

    public static let paused = AirPlay2RateAnchor(isPlaying: false, anchor: nil)

    private init(isPlaying: Bool, anchor: Anchor?) {
        self.isPlaying = isPlaying
        self.anchor = anchor
    }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        let fields = try PropertyListFields(list)
        let rate = try required("rate", fields.real("rate"))
        guard rate == 0 || rate == 1 else { throw .outOfRange(key: "rate") }
        isPlaying = rate == 1
        guard isPlaying || fields.has("rtpTime") else {
            anchor = nil
            return
        }
        anchor = Anchor(
            timestamp: try required("rtpTime", fields.uint32("rtpTime")),
            seconds: try required("networkTimeSecs", fields.bits("networkTimeSecs")),
            fraction: try required("networkTimeFrac", fields.bits("networkTimeFrac")),
            clockID: try fields.bits("networkTimeTimelineID") ?? 0)
    }

    public var propertyList: PropertyList {
        var builder = PropertyListBuilder()
        builder.set("rate", isPlaying ? 1 : 0)
        if let anchor {
            builder.set("rtpTime", anchor.timestamp)
            builder.set("networkTimeSecs", bits: anchor.seconds)
            builder.set("networkTimeFrac", bits: anchor.fraction)
            builder.set("networkTimeTimelineID", bits: anchor.clockID)
        }
        return builder.list
    }
}

/// `FLUSHBUFFERED`: forget a part of a buffered stream.
public struct AirPlay2FlushBuffered: AirPlay2Message {
    /// A packet of the stream.
    public struct Point: Sendable, Hashable {
        /// 23 bits.
        public var sequence: UInt32
        public var timestamp: UInt32

        public init(sequence: UInt32, timestamp: UInt32) {
            self.sequence = sequence
            self.timestamp = timestamp
        }
    }

    /// The first packet to be forgotten; nil: all there is, at once, and shairport-sync is silent until the next anchor.
    public var from: Point?
    /// The first to be kept.
    public var until: Point

    public init(from: Point? = nil, until: Point) {
        self.from = from
        self.until = until
    }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        let fields = try PropertyListFields(list)
        until = Point(
            sequence: try required("flushUntilSeq", fields.uint32("flushUntilSeq")),
            timestamp: try required("flushUntilTS", fields.uint32("flushUntilTS")))
        from = nil
        if let sequence = try fields.uint32("flushFromSeq") {
            from = Point(
                sequence: sequence, timestamp: try required("flushFromTS", fields.uint32("flushFromTS")))
        }
    }

    public var propertyList: PropertyList {
        var builder = PropertyListBuilder()
        builder.set("flushUntilSeq", until.sequence)
        builder.set("flushUntilTS", until.timestamp)
        builder.set("flushFromSeq", from?.sequence)
        builder.set("flushFromTS", from?.timestamp)
        return builder.list
    }
}

/// The answer to `POST /feedback`. It says nothing of the receiver's health beyond that it lives.
public struct AirPlay2Feedback: AirPlay2Message {
    /// A stream that the receiver plays.
    public struct Stream: Sendable, Hashable {
        public var type: Int
        /// In Hz, as measured by the receiver.
        public var sampleRate: Double?

        public init(type: Int, sampleRate: Double? = nil) {
            self.type = type
            self.sampleRate = sampleRate
        }
    }

    public var streams: [Stream]

    public init(_ streams: [Stream]) { self.streams = streams }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        streams = []
        let fields = try PropertyListFields(list)
        for item in try fields.array("streams", limit: AirPlay2StreamSetup.maximumStreams) ?? [] {
            let fields = try PropertyListFields(item)
            streams.append(
                Stream(
                    type: try required("type", fields.integer("type", in: 0...0xFFFF)),
                    sampleRate: try fields.real("sr")))
        }
    }

    public var propertyList: PropertyList {
        .dictionary([
            "streams": .array(
                streams.map { stream in
                    var builder = PropertyListBuilder()
                    builder.set("type", stream.type)
                    builder.set("sr", stream.sampleRate)
                    return builder.list
                })
        ])
    }
}

/// The body of `TEARDOWN`. Without one shairport-sync passes the request over.
public struct AirPlay2Teardown: AirPlay2Message {
    public struct Stream: Sendable, Hashable {
        public var type: Int
        public var id: UInt64?

        public init(type: AirPlay2StreamType, id: UInt64? = nil) {
            self.type = type.rawValue
            self.id = id
        }

        fileprivate init(type: Int, id: UInt64?) {
            self.type = type
            self.id = id
        }
    }

    /// Those that end; nil: the session does.
    public var streams: [Stream]?

    public init(streams: [Stream]? = nil) { self.streams = streams }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        let fields = try PropertyListFields(list)
        guard let items = try fields.array("streams", limit: AirPlay2StreamSetup.maximumStreams) else {
            streams = nil
            return
        }
        var streams: [Stream] = []
        for item in items {
            let fields = try PropertyListFields(item)
            streams.append(
                Stream(
                    type: try required("type", fields.integer("type", in: 0...0xFFFF)), id: try fields.bits("streamID"))
            )
        }
        self.streams = streams
    }

    public var propertyList: PropertyList {
        guard let streams else { return .dictionary([:]) }
        return .dictionary([
            "streams": .array(
                streams.map { stream in
                    var builder = PropertyListBuilder()
                    builder.set("type", stream.type)
                    builder.set("streamID", bits: stream.id)
                    return builder.list
                })
        ])
    }
}

/// What kind of sound comes: of a stream's SETUP, and of `POST /audioMode`.
public struct AirPlay2AudioMode: AirPlay2Message, RawRepresentable {
    public static let `default` = AirPlay2AudioMode(rawValue: "default")
    public static let moviePlayback = AirPlay2AudioMode(rawValue: "moviePlayback")
    public static let spoken = AirPlay2AudioMode(rawValue: "spoken")

    public var rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        self.init(rawValue: try required("audioMode", PropertyListFields(list).string("audioMode")))
    }

    public var propertyList: PropertyList { .dictionary(["audioMode": .string(rawValue)]) }
}

/// `POST /command`: from the receiver on the event channel (a button was pressed, something of it has changed), from us
/// on the control channel (what plays now).
public struct AirPlay2Command: AirPlay2Message {
    /// Such as `sendMediaRemoteCommand`, `updateInfo` or `updateMRNowPlayingInfo`.
    public var type: String
    /// All of it, the type too.
    public var propertyList: PropertyList

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        type = try required("type", PropertyListFields(list).string("type"))
        propertyList = list
    }

    /// - Parameter fields: beside `type`.
    public init(type: String, _ fields: [String: PropertyList] = [:]) {
        self.type = type
        propertyList = .dictionary(fields.merging(["type": .string(type)]) { $1 })
    }

    /// Which button, of a `sendMediaRemoteCommand`: `play`, `paus`, `plps`, `nitm`, `pitm`.
    public var value: String? { propertyList["value"]?.string }
}
