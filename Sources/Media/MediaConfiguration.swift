import Foundation

/// What a `MediaLibrary` is told about the machine it runs on.
public struct MediaConfiguration: Sendable {
    /// A program's path, or its name to be looked for in `PATH`.
    public var ffmpeg: String
    public var ffprobe: String
    /// PulseAudio's recorder, for live input.
    public var parec = "parec"
    /// The port that receivers fetch from, kept over restarts so that a device's URL stays valid. When it is taken the
    /// next free one above it is used; 0 lets the system choose.
    public var serverPort: Int
    /// What is said of places that media comes from.
    public var sources: [SourceRule] = []
    /// The address to listen on; nil for all of the machine's.
    public var bindHost: String?
    /// Connections that the server keeps at one time; more wait in the backlog.
    public var maximumConnections: Int
    /// Seconds within which a request's head must be in, counted from the connection or the answer before.
    public var requestSeconds: Int
    /// Seconds after which a transfer that takes no byte is given up.
    public var stallSeconds: Int
    /// Entries that one `expand` gives at most.
    public var maximumEntries: Int
    /// Bytes of a playlist or a feed at most.
    public var maximumPlaylistBytes: Int
    /// Seconds that a probe or an artwork extraction may take.
    public var probeSeconds: Int
    /// Seconds of audio that are decoded ahead of the furthest reader.
    public var decodeAheadSeconds: Int
    /// Seconds of audio that are kept behind the furthest reader, for resume and late join.
    public var retainedSeconds: Int

    public init(
        ffmpeg: String = "ffmpeg", ffprobe: String = "ffprobe", serverPort: Int = 7766, bindHost: String? = nil,
        maximumConnections: Int = 512, requestSeconds: Int = 20, stallSeconds: Int = 900,
        maximumEntries: Int = 10_000, maximumPlaylistBytes: Int = 16 << 20, probeSeconds: Int = 15,
        decodeAheadSeconds: Int = 4, retainedSeconds: Int = 6
    ) {
        self.ffmpeg = ffmpeg
        self.ffprobe = ffprobe
        self.serverPort = serverPort
        self.bindHost = bindHost
        self.maximumConnections = maximumConnections
        self.requestSeconds = requestSeconds
        self.stallSeconds = stallSeconds
        self.maximumEntries = maximumEntries
        self.maximumPlaylistBytes = maximumPlaylistBytes
        self.probeSeconds = probeSeconds
        self.decodeAheadSeconds = decodeAheadSeconds
        self.retainedSeconds = retainedSeconds
    }
}
