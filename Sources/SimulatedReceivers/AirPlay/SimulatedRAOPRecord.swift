/// What a simulated AirPlay 1 speaker saw and heard so far.
public struct SimulatedRAOPRecord: Sendable, Hashable {
    public enum Codec: String, Sendable, Hashable { case pcm, appleLossless }

    public struct Announcement: Sendable, Hashable {
        public var codec: Codec
        /// With a stream key that was wrapped for this receiver.
        public var isEncrypted: Bool
    }

    public struct Metadata: Sendable, Hashable {
        public var title: String?
        public var artist: String?
        public var album: String?
        /// The RTP time at which it begins to hold.
        public var rtpTime: UInt32?
    }

    public struct Artwork: Sendable, Hashable {
        public var mimeType: String
        public var bytes: [UInt8]
    }

    /// In RTP time.
    public struct Progress: Sendable, Hashable {
        public var start: UInt32
        public var now: UInt32
        public var end: UInt32
    }

    public struct Flush: Sendable, Hashable {
        public var sequence: UInt16?
        public var rtpTime: UInt32?
    }

    /// A frame of the recording, the RTP time it was sent with, and the host's monotonic nanoseconds at which it is heard.
    public struct ClockMark: Sendable, Hashable {
        public var frame: Int
        public var rtpTime: UInt32
        public var hostNanoseconds: Int64
    }

    /// Methods in the order they came, of POST and GET with the path.
    public var requests: [String] = []
    public var announcements: [Announcement] = []
    public var volumes: [Double] = []
    public var metadata: [Metadata] = []
    public var artwork: Artwork?
    public var progress: [Progress] = []
    public var flushes: [Flush] = []
    public var teardowns = 0
    public var authenticationSetups = 0
    /// Requests that were answered with 401.
    public var challenges = 0
    /// ANNOUNCE requests that were answered with 453.
    public var busyAnswers = 0

    /// Statuses of answers to buttons by DACP.
    public var remoteAnswers: [Int] = []

    public var connections = 0
    public var audioPackets = 0
    /// Never heard: lost for good, or too late.
    public var lostPackets = 0
    public var latePackets = 0
    public var recoveredPackets = 0
    /// Dropped by the fault.
    public var droppedPackets = 0
    public var undecodablePackets = 0
    public var resendRequests = 0
    public var syncPackets = 0
    /// Those of them that said they were the first after a start or flush.
    public var firstSyncPackets = 0
    public var timingExchanges = 0

    public var renderedFrames = 0
    /// Of those, silence in the place of what was lost.
    public var lostFrames = 0
    public var clockMarks: [ClockMark] = []

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

extension SenderParameter {
    /// As events and journals have it.
    var news: (word: String, details: [String: JSONValue]) {
        switch self {
        case .volume(let volume): return ("volume", ["volume": .number(volume)])
        case .metadata(let metadata):
            var fields: [String: JSONValue] = [:]
            fields["title"] = metadata.title.map { .string($0) }
            fields["artist"] = metadata.artist.map { .string($0) }
            fields["album"] = metadata.album.map { .string($0) }
            return ("metadata", fields)
        case .artwork(let artwork):
            return (
                "artwork",
                ["mime": .string(artwork?.mimeType ?? "image/none"), "bytes": .integer(artwork?.bytes.count ?? 0)]
            )
        case .progress(let progress):
            return (
                "progress",
                [
                    "start": .integer(Int(progress.start)), "now": .integer(Int(progress.now)),
                    "end": .integer(Int(progress.end)),
                ]
            )
        }
    }
}
