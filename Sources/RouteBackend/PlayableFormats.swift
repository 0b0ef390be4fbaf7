import RouteModel

/// What a kind of receiver is known to play, as data: for words about a refusal, never for refusing by ourselves.
public struct PlayableFormats: Sendable, Hashable {
    /// How sure it is that a receiver of this kind plays something.
    public enum Verdict: Sendable, Hashable { case plays, someModels, doesNot }

    /// Canonical MIME types of containers and streams.
    public var containers: Set<String>
    public var someContainers: Set<String>
    /// Codecs by ffmpeg's name.
    public var audioCodecs: Set<String>
    public var someAudioCodecs: Set<String>
    /// Empty for a device without a screen.
    public var videoCodecs: Set<String>
    public var someVideoCodecs: Set<String>
    /// The formats in words.
    public var summary: String

    public init(
        containers: Set<String>, someContainers: Set<String> = [], audioCodecs: Set<String>,
        someAudioCodecs: Set<String> = [], videoCodecs: Set<String> = [], someVideoCodecs: Set<String> = [],
        summary: String
    ) {
        self.containers = containers
        self.someContainers = someContainers
        self.audioCodecs = audioCodecs
        self.someAudioCodecs = someAudioCodecs
        self.videoCodecs = videoCodecs
        self.someVideoCodecs = someVideoCodecs
        self.summary = summary
    }

    private static let castAudio: Set<String> = [
        "audio/mpeg", "audio/mp4", "audio/aac", "audio/flac", "audio/ogg", "audio/wav", "audio/webm",
        "application/vnd.apple.mpegurl", "application/dash+xml",
    ]
    private static let castAudioCodecs: Set<String> = [
        "aac", "mp3", "flac", "opus", "vorbis", "pcm_s16le", "pcm_s24le", "pcm_u8",
    ]

    /// The Default Media Receiver on a device that only sounds (`Protocols/cast`, “What plays”).
    public static let castSpeaker = PlayableFormats(
        containers: castAudio, someContainers: ["audio/x-matroska"], audioCodecs: castAudioCodecs,
        summary: "MP3, AAC (MP4), FLAC, Ogg (Vorbis, Opus), WebM and WAV")

    /// The Default Media Receiver on a device with a screen (`Protocols/cast`, “What plays”).
    public static let castScreen = PlayableFormats(
        containers: castAudio.union([
            "video/mp4", "video/webm", "image/jpeg", "image/png", "image/apng", "image/gif", "image/webp", "image/bmp",
        ]),
        someContainers: ["audio/x-matroska", "video/x-matroska", "video/mp2t", "video/quicktime"],
        audioCodecs: castAudioCodecs, someAudioCodecs: ["ac3", "eac3"], videoCodecs: ["h264"],
        someVideoCodecs: ["vp8", "vp9", "hevc", "av1"],
        summary: "MP4 (H.264 with AAC or MP3), MP3, FLAC, Ogg and WAV; some models WebM (VP8 or VP9) and HEVC")

    public func verdict(container: String) -> Verdict {
        Self.verdict(container, sure: containers, some: someContainers)
    }

    public func verdict(_ track: SourceStream) -> Verdict {
        switch track.kind {
        case .audio: Self.verdict(track.codec, sure: audioCodecs, some: someAudioCodecs)
        case .video: Self.verdict(track.codec, sure: videoCodecs, some: someVideoCodecs)
        // Text inside the media that a receiver doesn't know is passed over.
        case .text: .plays
        }
    }

    private static func verdict(_ name: String, sure: Set<String>, some: Set<String>) -> Verdict {
        sure.contains(name) ? .plays : some.contains(name) ? .someModels : .doesNot
    }
}
