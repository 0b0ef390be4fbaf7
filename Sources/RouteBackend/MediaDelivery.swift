import RouteModel

/// Who moves the bytes: the one real difference between the two worlds, as data.
///
/// A Cast device is handed a URL and fetches it by itself: `.pull`, with what it asks of that URL. A RAOP speaker
/// fetches nothing and has to be sent packets against a clock: `.push`, with the format it takes and how early it
/// needs them. `Media` turns one item into either form, so the engine never asks which backend it has.
public enum MediaDelivery: Sendable, Hashable {
    case pull(PullRequirements)
    case push(PushRequirements)
}

/// What a receiver that fetches needs.
public struct PullRequirements: Sendable, Hashable {
    /// The receiver's address as we reach it: the URL it is handed must be of the interface that leads there.
    public var receiverAddress: String
    /// MIME types it is known to play; empty: not known, try.
    public var contentTypes: Set<String>

    public init(receiverAddress: String, contentTypes: Set<String> = []) {
        self.receiverAddress = receiverAddress
        self.contentTypes = contentTypes
    }
}

/// What a receiver that is sent packets needs.
public struct PushRequirements: Sendable, Hashable {
    public var format: AudioPacketFormat
    /// How long before a frame is heard its packet is sent, in nanoseconds.
    public var leadNanoseconds: Int64
    /// How long before its first frame is heard a run may be started, in nanoseconds: where the feed has more ready than
    /// that, what is heard first is sent later than `leadNanoseconds` says, and the rest catches up. At most
    /// `leadNanoseconds`.
    public var startLeadNanoseconds: Int64
    /// How large a picture it is shown may be.
    public var artwork: ArtworkLimits

    /// - Parameter startLeadNanoseconds: nil: a run needs its whole lead from the beginning.
    public init(
        format: AudioPacketFormat, leadNanoseconds: Int64, startLeadNanoseconds: Int64? = nil,
        artwork: ArtworkLimits = .display
    ) {
        self.format = format
        self.leadNanoseconds = leadNanoseconds
        self.startLeadNanoseconds = min(startLeadNanoseconds ?? leadNanoseconds, leadNanoseconds)
        self.artwork = artwork
    }
}

/// How large a picture may be.
public struct ArtworkLimits: Sendable, Hashable {
    public var maximumBytes: Int
    /// Pixels that neither its width nor its height is to exceed; nil for any.
    public var side: Int?

    public init(maximumBytes: Int, side: Int? = nil) {
        self.maximumBytes = maximumBytes
        self.side = side
    }

    /// What displays of receivers take, for all that is known: larger ones have choked some.
    public static let display = ArtworkLimits(maximumBytes: 512 * 1024, side: 600)
}

/// One item in the form its session asked for.
public enum PreparedMedia: Sendable {
    case pull(PullMedia)
    case push(PushMedia)
}

/// An item as a URL.
public struct PullMedia: Sendable, Hashable {
    /// Tells loads apart; also the secret part of the URL when we serve it.
    public var token: MediaToken
    public var url: String
    public var contentType: String
    /// Whether it has no end.
    public var live: Bool
    public var metadata: MediaMetadata
    /// Where to begin.
    public var start: MediaTime
    /// What can be chosen beside the media's own first tracks.
    public var tracks: [PullTrack]
    /// The ids of those to begin with.
    public var activeTracks: [Int]
    /// What a person should know of how the item is offered: subtitles that cannot be shown, or are not there.
    public var notices: [Notice]
    /// How fast to play, 0.5 to 2.
    public var rate: Double = 1

    public init(
        token: MediaToken, url: String, contentType: String, live: Bool, metadata: MediaMetadata, start: MediaTime,
        tracks: [PullTrack] = [], activeTracks: [Int] = [], notices: [Notice] = []
    ) {
        self.token = token
        self.url = url
        self.contentType = contentType
        self.live = live
        self.metadata = metadata
        self.start = start
        self.tracks = tracks
        self.activeTracks = activeTracks
        self.notices = notices
    }
}

/// A run of the queue as packets: it goes on over item borders until the queue ends or a seek replaces it.
public struct PushMedia: Sendable {
    public var feed: any AudioFeed
    /// The first frame to send.
    public var fromFrame: Int64

    public init(feed: any AudioFeed, fromFrame: Int64) {
        self.feed = feed
        self.fromFrame = fromFrame
    }
}

/// How audio is cut and encoded for the wire.
public struct AudioPacketFormat: Sendable, Hashable {
    public enum Codec: String, Sendable, Hashable {
        /// Apple Lossless, compressed.
        case alac
        /// Signed 16-bit PCM, big-endian, interleaved.
        case l16
        /// AAC-LC, each packet one access unit of 1024 frames without a header.
        case aac
        /// Opus, each packet one frame of it; 48,000 Hz.
        case opus
    }

    public var codec: Codec
    public var sampleRate: Int
    public var channels: Int
    public var framesPerPacket: Int
    /// Bits of a sample, 16 or 24, for codecs that keep them all.
    public var bitDepth: Int
    /// Bits per second, for codecs that have a choice; nil: what is good enough for anybody.
    public var bitRate: Int?

    public init(
        codec: Codec, sampleRate: Int = 44_100, channels: Int = 2, framesPerPacket: Int = 352, bitDepth: Int = 16,
        bitRate: Int? = nil
    ) {
        self.bitDepth = bitDepth
        self.bitRate = bitRate
        self.codec = codec
        self.sampleRate = sampleRate
        self.channels = channels
        self.framesPerPacket = framesPerPacket
    }
}

/// One packet of audio, encoded once and shared by every session that takes its format.
public struct AudioPacket: Sendable, Hashable {
    /// The frame that the packet begins with: a multiple of `framesPerPacket`, counted from the feed's beginning at the
    /// format's own sample rate, which need not be the feed's.
    public var frame: Int64
    /// Always `framesPerPacket`: the last packet of a feed is filled up with silence.
    public var frameCount: Int
    public var payload: [UInt8]

    public init(frame: Int64, frameCount: Int, payload: [UInt8]) {
        self.frame = frame
        self.frameCount = frameCount
        self.payload = payload
    }
}

/// Continuous audio from frame 0 on, decoded ahead within a bound, encoded once for each format asked for.
///
/// It runs through the queue: when an item's last sample is out, the next item's first sample follows in the same
/// packet. Many sessions read one feed, each by a cursor of its own.
public protocol AudioFeed: Sendable {
    var sampleRate: Int { get }

    /// A reader of packets from the one that holds `frame` on. Packets already gone from the window (see `retained`)
    /// cannot be had again: reading begins with the oldest there is.
    func packets(_ format: AudioPacketFormat, from frame: Int64) async throws -> any AudioPacketCursor

    /// The frames that can be had without decoding again: from the oldest kept to the newest decoded.
    func retained() async -> Range<Int64>

    /// Has `clip` be heard over what nobody has read yet, and that so much less loud (0 to 1) meanwhile.
    ///
    /// - Returns: the frames that the clip is in; nil where this feed cannot do so, and then it is as it was.
    func overlay(_ clip: any AudioFeed, lowering share: Double) async throws -> Range<Int64>?
}

extension AudioFeed {
    public func overlay(_ clip: any AudioFeed, lowering share: Double) async throws -> Range<Int64>? { nil }
}

/// One reader of a feed. Not to be shared by tasks.
public protocol AudioPacketCursor: Sendable {
    /// The next packet, waiting for the decoder where need be; nil after the last packet of the last item.
    ///
    /// Throws `itemFailed` or `mediaUnsupported` where the source broke and there was nothing to go on with.
    func next() async throws -> AudioPacket?
}
