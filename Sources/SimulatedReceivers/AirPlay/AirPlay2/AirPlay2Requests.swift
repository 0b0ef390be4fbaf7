import AirPlay

// What senders' property lists say (`Protocols/airplay/README.md`, “AirPlay 2”), read here once more and apart from the
// client that writes them: a key that is wrong on both sides would otherwise look right.

/// The first SETUP: who the sender is, and by which clock it times.
struct AirPlay2SessionRequest: Sendable, Equatable {
    enum Timing: Sendable, Equatable {
        /// The sender's port, where it answers questions for its time.
        case ntp(port: Int)
        /// Addresses at which the grandmaster may be, and its clock identity where it is told.
        case ptp(addresses: [String], clock: UInt64?)
        case none
    }

    var timing: Timing
    var isRemoteControlOnly: Bool
    var name: String?
    var deviceID: String?
    var sessionID: String?
    var groupID: String?

    /// Addresses of one SETPEERS at most.
    static let maximumPeers = 32

    init?(_ list: PropertyList) {
        guard case .dictionary = list else { return nil }
        switch list["timingProtocol"]?.string {
        case "NTP":
            guard let port = list["timingPort"]?.port, port > 0 else { return nil }
            timing = .ntp(port: port)
        case "PTP":
            guard let peer = list["timingPeerInfo"], let addresses = Self.addresses(peer["Addresses"]) else {
                return nil
            }
            let clock = peer["ClockID"]?.integer.map { UInt64(bitPattern: $0) }
            timing = .ptp(addresses: addresses, clock: clock)
        case "None", nil: timing = .none
        default: return nil
        }
        isRemoteControlOnly = list["isRemoteControlOnly"]?.bool ?? false
        guard timing != .none || isRemoteControlOnly else { return nil }
        name = list["name"]?.string
        deviceID = list["deviceID"]?.string
        sessionID = list["sessionUUID"]?.string
        groupID = list["groupUUID"]?.string
    }

    /// Whether it is a first SETUP at all: a second one has streams.
    static func isSession(_ list: PropertyList) -> Bool { list["streams"] == nil }

    private static func addresses(_ list: PropertyList?) -> [String]? {
        guard let items = list?.array, !items.isEmpty, items.count <= maximumPeers else { return nil }
        let addresses = items.compactMap(\.string)
        return addresses.count == items.count ? addresses : nil
    }
}

/// One stream of a second SETUP.
struct AirPlay2StreamRequest: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// `controlPort` is the sender's, where it takes requests to send again.
        case realtime(AirPlay2SoundFormat, key: [UInt8], controlPort: Int?)
        case buffered(AirPlay2SoundFormat, key: [UInt8])
        case data(seed: UInt64, channel: String?, wantsSocket: Bool)
    }

    var kind: Kind
    /// The bit that SETUP named, where it is one of sound.
    var audioFormat: UInt64 = 0
    var codecType: Int?
    var framesPerPacket: Int?
    var latencyMin: Int?
    var latencyMax: Int?
    var connectionID: UInt64?

    /// Bytes of the key of a stream.
    static let keyLength = 32
    static let maximumFramesPerPacket = 16_384

    /// Throws the status of the refusal: 400 where something is missing or of a wrong type, 415 for sound that cannot be
    /// played.
    init(_ list: PropertyList) throws(SenderParameter.Refusal) {
        let malformed = SenderParameter.Refusal(status: 400)
        guard let type = list["type"]?.integer else { throw malformed }
        connectionID = list["streamConnectionID"]?.integer.map { UInt64(bitPattern: $0) }
        if type == SimulatedAirPlay2Configuration.StreamKind.data.rawValue {
            guard let seed = list["seed"]?.integer else { throw malformed }
            kind = .data(
                seed: UInt64(bitPattern: seed), channel: list["channelID"]?.string,
                wantsSocket: list["wantsDedicatedSocket"]?.bool ?? true)
            return
        }
        guard let key = list["shk"]?.data, key.count == Self.keyLength,
            let bits = list["audioFormat"]?.integer.map({ UInt64(bitPattern: $0) })
        else { throw malformed }
        guard let format = AirPlay2SoundFormat(audioFormat: bits) else { throw SenderParameter.Refusal(status: 415) }
        if let rate = list["sr"]?.integer, rate != format.sampleRate { throw malformed }
        if let frames = list["spf"] {
            guard let number = frames.integer, (1...Self.maximumFramesPerPacket).contains(Int(clamping: number)) else {
                throw malformed
            }
            framesPerPacket = Int(number)
        }
        switch Int(clamping: type) {
        case SimulatedAirPlay2Configuration.StreamKind.realtime.rawValue:
            kind = .realtime(format, key: key, controlPort: list["controlPort"]?.port)
        case SimulatedAirPlay2Configuration.StreamKind.buffered.rawValue: kind = .buffered(format, key: key)
        default: throw SenderParameter.Refusal(status: 415)
        }
        audioFormat = bits
        codecType = list["ct"]?.integer.map { Int(clamping: $0) }
        latencyMin = list["latencyMin"]?.integer.map { Int(clamping: $0) }
        latencyMax = list["latencyMax"]?.integer.map { Int(clamping: $0) }
    }

    var streamKind: SimulatedAirPlay2Configuration.StreamKind {
        switch kind {
        case .realtime: .realtime
        case .buffered: .buffered
        case .data: .data
        }
    }
}

/// SETRATEANCHORTIME: from when on a buffered stream is heard, or that it stands still.
enum AirPlay2AnchorRequest: Sendable, Equatable {
    case pause
    /// Frame `rtpTime` is heard at `time`, nanoseconds of the clock `clock`.
    case play(rtpTime: UInt32, time: Int64, clock: UInt64)

    init?(_ list: PropertyList) {
        guard let rate = list["rate"]?.real else { return nil }
        guard rate != 0 else {
            self = .pause
            return
        }
        guard let rtpTime = list["rtpTime"]?.integer, let seconds = list["networkTimeSecs"]?.integer,
            (0..<4_000_000_000).contains(seconds), let fraction = list["networkTimeFrac"]?.integer,
            let clock = list["networkTimeTimelineID"]?.integer
        else { return nil }
        // The fraction is of 2^64.
        let nanoseconds = UInt64(bitPattern: fraction).multipliedFullWidth(by: 1_000_000_000).high
        self = .play(
            rtpTime: UInt32(truncatingIfNeeded: rtpTime), time: seconds * 1_000_000_000 + Int64(nanoseconds),
            clock: UInt64(bitPattern: clock))
    }
}

/// FLUSHBUFFERED: which packets of a buffered stream are not to be heard.
struct AirPlay2FlushRequest: Sendable, Equatable {
    /// Nil means at once, from what is heard now.
    var fromSequence: UInt32?
    var untilSequence: UInt32
    var untilTimestamp: UInt32?

    init?(_ list: PropertyList) {
        guard let until = list["flushUntilSeq"]?.integer else { return nil }
        untilSequence = UInt32(truncatingIfNeeded: until) % BufferedPlayout.sequences
        untilTimestamp = list["flushUntilTS"]?.integer.map { UInt32(truncatingIfNeeded: $0) }
        fromSequence = list["flushFromSeq"]?.integer.map {
            UInt32(truncatingIfNeeded: $0) % BufferedPlayout.sequences
        }
    }
}

/// SETPEERS and SETPEERSX: at which addresses clocks are.
enum AirPlay2PeersRequest {
    /// Nil where it is no list of addresses.
    static func addresses(_ list: PropertyList, extended: Bool) -> [String]? {
        guard let items = list.array, items.count <= AirPlay2SessionRequest.maximumPeers else { return nil }
        var addresses: [String] = []
        for item in items {
            if !extended, let address = item.string {
                addresses.append(address)
            } else if let many = item["Addresses"]?.array {
                addresses += many.prefix(AirPlay2SessionRequest.maximumPeers).compactMap(\.string)
            } else {
                return nil
            }
        }
        return addresses
    }
}
