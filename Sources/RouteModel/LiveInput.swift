/// Sound that comes in as it is made: it has no end that could be known, and no place in it that could be gone to.
public struct LiveInput: Codable, Sendable, Hashable {
    public enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
        /// What this process is sent on its standard input.
        case standardInput = "stdin"
        /// A named pipe, by `name`, its absolute path.
        case pipe
        /// What applications play into a sink of PulseAudio, by `name`: that sink, and nothing else of the machine.
        /// PipeWire has the same by its service for PulseAudio's programs.
        case pulse
    }

    public var kind: Kind
    /// Empty for standard input.
    public var name: String
    /// How the samples of a pipe are laid out; nil for a container or stream format, which says so itself.
    public var raw: RawAudio?

    public init(_ kind: Kind, name: String = "", raw: RawAudio? = nil) {
        self.kind = kind
        self.name = name
        self.raw = raw
    }

    /// What people call it.
    public var label: String {
        switch kind {
        case .standardInput: "standard input"
        case .pipe: name.split(separator: "/").last.map(String.init) ?? name
        case .pulse: name
        }
    }

    /// Whether it goes on by a clock of its own, and is not held up by who reads it.
    public var isCapture: Bool { kind == .pulse }
}

/// Samples without a header.
public struct RawAudio: Codable, Sendable, Hashable {
    /// Each signed and little-endian, but for 32-bit floating point.
    public enum Sample: String, Codable, Sendable, Hashable, CaseIterable { case s16le, s24le, s32le, f32le }

    public static let rates = 8000...384_000
    public static let channelCounts = 1...8

    public var sample: Sample
    /// In Hz, one of `rates`.
    public var rate: Int
    /// One of `channelCounts`.
    public var channels: Int

    public init(sample: Sample = .s16le, rate: Int = 44_100, channels: Int = 2) {
        self.sample = sample
        self.rate = rate
        self.channels = channels
    }
}
