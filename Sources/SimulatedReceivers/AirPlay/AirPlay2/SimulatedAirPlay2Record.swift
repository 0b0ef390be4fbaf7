import AirPlay

/// What a simulated AirPlay 2 receiver saw and heard so far.
public struct SimulatedAirPlay2Record: Sendable, Hashable {
    public enum Clock: String, Sendable, Hashable { case ntp, ptp, none }

    public struct Session: Sendable, Hashable {
        public var clock: Clock
        public var isRemoteControlOnly: Bool
        /// Who the sender says it is.
        public var name: String?
        public var deviceID: String?
        public var isEncrypted: Bool
    }

    public struct Stream: Sendable, Hashable {
        public var kind: SimulatedAirPlay2Configuration.StreamKind
        /// Its bit; 0 of a data stream.
        public var audioFormat: UInt64
        /// `ct`.
        public var codecType: Int?
        public var framesPerPacket: Int?
        public var latencyMin: Int?
        public var latencyMax: Int?
    }

    /// SETRATEANCHORTIME as it came. All nil but `rate` in a pause.
    public struct Anchor: Sendable, Hashable {
        /// 0 or 1.
        public var rate: Int
        public var rtpTime: UInt32?
        /// Nanoseconds of the sender's clock.
        public var senderNanoseconds: Int64?
        public var clock: UInt64?
    }

    public struct BufferedFlush: Sendable, Hashable {
        public var fromSequence: UInt32?
        public var untilSequence: UInt32
        public var untilTimestamp: UInt32?
    }

    /// An answer on the event channel to what a button said.
    public struct EventAnswer: Sendable, Hashable {
        public var status: Int
        /// Whether it repeats the number of the question.
        public var repeatsSequence: Bool

        public init(status: Int, repeatsSequence: Bool) {
            self.status = status
            self.repeatsSequence = repeatsSequence
        }
    }

    /// Methods in the order they came, of POST and GET with the path.
    public var requests: [String] = []
    /// Statuses of the answers that were not 200, with the request before a space.
    public var refusals: [String] = []
    public var sessions: [Session] = []
    public var streams: [Stream] = []
    /// The addresses of the last SETPEERS.
    public var peers: [String] = []
    public var volumes: [Double] = []
    public var metadata: [SimulatedRAOPRecord.Metadata] = []
    public var artwork: SimulatedRAOPRecord.Artwork?
    public var progress: [SimulatedRAOPRecord.Progress] = []
    public var flushes: [SimulatedRAOPRecord.Flush] = []
    public var anchors: [Anchor] = []
    public var bufferedFlushes: [BufferedFlush] = []
    /// Bodies of POST /command; the last 64.
    public var commands: [PropertyList] = []
    public var audioModes: [String] = []
    public var feedbacks = 0
    public var teardowns = 0
    /// Requests that were answered with 401.
    public var challenges = 0
    /// SETUP requests that were answered with 453.
    public var busyAnswers = 0

    public var connections = 0
    /// Connections of senders to the event port.
    public var eventConnections = 0
    public var eventAnswers: [EventAnswer] = []

    /// Statuses of answers to buttons by DACP.
    public var remoteAnswers: [Int] = []

    public var audioPackets = 0
    /// Never heard: lost for good, or too late.
    public var lostPackets = 0
    public var latePackets = 0
    public var recoveredPackets = 0
    /// Dropped by the fault.
    public var droppedPackets = 0
    /// Not sealed by the stream's key, or damaged.
    public var undecodablePackets = 0
    /// Buffered packets whose SSRC names no codec, and which are not heard therefore.
    public var unknownCodecPackets = 0
    public var resendRequests = 0
    public var syncPackets = 0
    /// Those of them that said they were the first after a start or flush.
    public var firstSyncPackets = 0
    /// Questions of ours that the sender answered, by NTP.
    public var timingExchanges = 0

    public var renderedFrames = 0
    /// Of those, silence in the place of what was lost.
    public var lostFrames = 0
    /// Due before the receiver could know of it.
    public var skippedFrames = 0
    public var clockMarks: [SimulatedRAOPRecord.ClockMark] = []
    /// Files of the recording: another begins where the format changes.
    public var recordings: [String] = []

    static let keptCommands = 64

    public init() {}

    mutating func take(_ parameter: SenderParameter) {
        switch parameter {
        case .volume(let volume): volumes.append(volume)
        case .metadata(let metadata): self.metadata.append(metadata)
        case .artwork(let artwork): self.artwork = artwork
        case .progress(let progress): self.progress.append(progress)
        }
    }
}
