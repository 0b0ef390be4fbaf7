import Foundation

/// Everything that a simulated receiver was streamed so far.
public struct SimulatedCastStreamingRecord: Sendable, Hashable {
    /// Lays the recording on the host's clock: this frame of it was heard at this instant.
    public struct Mark: Sendable, Hashable {
        public var frame: Int
        public var rtpTime: UInt32
        /// Host monotonic nanoseconds.
        public var hostNanoseconds: Int64
    }

    /// One of the two kinds of streams.
    public struct Stream: Sendable, Hashable {
        /// Packets that were of use, and those that were known already.
        public var packets = 0
        public var superfluousPackets = 0
        /// Packets that contradicted the OFFER or each other.
        public var refusedPackets = 0
        /// Frames that came whole, and those that were given up.
        public var frames = 0
        public var missedFrames = 0
        public var undecodableFrames = 0
        public var senderReports = 0
        /// Loss fields that were sent, and key frames asked for.
        public var losses = 0
        public var keyRequests = 0

        mutating func add(_ statistics: CastReceptionStatistics) {
            packets += statistics.packets
            superfluousPackets += statistics.superfluousPackets
            refusedPackets += statistics.refusedPackets
            frames += statistics.frames
            missedFrames += statistics.skippedFrames
            senderReports += statistics.senderReports
            losses += statistics.losses
            keyRequests += statistics.keyRequests
        }
    }

    /// A colour that was seen, 0 to 255 each.
    public struct Colour: Sendable, Hashable {
        public var red: Int
        public var green: Int
        public var blue: Int
    }

    /// OFFERs that were accepted.
    public internal(set) var sessions = 0
    public internal(set) var isRunning = false
    /// Why sessions ended, in order; at most 100.
    public internal(set) var endings: [String] = []
    public internal(set) var audio = Stream()
    public internal(set) var video = Stream()
    /// Datagrams that were neither RTP nor RTCP of a stream that was accepted.
    public internal(set) var malformedDatagrams = 0
    public internal(set) var foreignDatagrams = 0
    /// Lost by a fault.
    public internal(set) var lostDatagrams = 0
    public internal(set) var feedbacks = 0
    /// 48 kHz frames in the recording, and how many of them are silence that should have been sound.
    public internal(set) var heardFrames = 0
    public internal(set) var lostFrames = 0
    /// How often sound was lost: neighbouring losses are one.
    public internal(set) var glitches = 0
    /// About one each second; the last 10,000.
    public internal(set) var marks: [Mark] = []
    /// Milliseconds from capture to playing, of the sound or else the picture.
    public internal(set) var playoutDelay = 0
    /// Pictures that were shown, and the last one's size and mean colour.
    public internal(set) var pictures = 0
    public internal(set) var width = 0
    public internal(set) var height = 0
    public internal(set) var colour: Colour?
    /// What was heard, 16-bit 48 kHz stereo; nil before there was any.
    public internal(set) var recording: URL?
    /// A small view of the last picture, a portable pixmap, written when a session ends.
    public internal(set) var picture: URL?

    public static let maximumMarks = 10_000
}
