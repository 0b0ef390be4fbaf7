import AirPlay
import RouteBackend

/// Faults on demand. By default there are none.
public struct SimulatedAirPlay2Faults: Sendable {
    /// The share of audio packets that get lost on their way in, 0 to 1, those sent again included.
    public var dropAudio = 0.0
    /// Chooses which.
    public var seed: UInt64 = 1
    /// How many sync packets get lost at the start of each realtime stream.
    public var dropSyncs = 0
    /// Never asks the sender for its time, by NTP or by PTP. By PTP it still listens.
    public var ignoresTiming = false
    /// Hears no PTP either, and is mute therefore while it answers everything with 200.
    public var isDeafToPTP = false
    /// A SETUP with NTP timing is never answered, as by HomePods.
    public var ignoresNTP = false
    /// Never asks for a lost packet again.
    public var ignoresGaps = false
    /// Seconds after the answer to SETUP until the event port listens.
    public var eventPortDelay = 0.0
    /// Closes every TCP connection as soon as it is there.
    public var refusesConnections = false
    /// Another sender plays: SETUP gets 453.
    public var isBusy = false
    /// Volume before there is a stream that records gets 455.
    public var refusesEarlyVolume = false
    /// `CSeq` of the answers.
    public var sequenceHeader = SimulatedRAOPFaults.SequenceHeader.right
    /// Ports are written as signed 16-bit numbers.
    public var writesNegativePorts = false
    /// SETRATEANCHORTIME gets 400 this many times, as by receivers that do not know the clock yet.
    public var anchorRefusals = 0
    /// Hangs up when this many requests have come on a connection, the last one unanswered.
    public var closesAfterRequests: Int?
    /// Hangs up this many seconds after RECORD.
    public var closesAfterSeconds: Double?
    /// Takes connections and requests and says nothing.
    public var neverAnswers = false
    /// Takes requests to be alive and says nothing to them.
    public var ignoresFeedback = false
    /// How requests before the encryption have to be written; those written otherwise get 400. Nil takes both.
    public var spelling: RTSPSpelling?
    /// Seconds before each answer.
    public var answerDelay = 0.0
    /// How many right answers to a password challenge are challenged again.
    public var extraChallenges = 0
    /// Answers a method, or a path of POST and GET, with this status and does nothing: `["SETUP": 500]`,
    /// `["/command": 501]`.
    public var refusals: [String: Int] = [:]

    public init() {}
}

/// Something that somebody does at the receiver itself.
public enum SimulatedAirPlayButton: String, Sendable, Hashable, CaseIterable {
    case play, pause, playPause = "play-pause", next, previous
    case volumeUp = "volume-up", volumeDown = "volume-down", mute, shuffle
    /// Somebody uses it for something else.
    case preventPlayback = "prevent-playback"

    /// Of `sendMediaRemoteCommand`; nil where the event channel has none.
    var eventValue: String? {
        switch self {
        case .play: "play"
        case .pause: "paus"
        case .playPause: "plps"
        case .next: "nitm"
        case .previous: "pitm"
        case .volumeUp, .volumeDown, .mute, .shuffle, .preventPlayback: nil
        }
    }

    /// The last part of the path under `/ctrl-int/1/` (`Protocols/dacp/README.md`).
    var remoteCommand: String {
        switch self {
        case .play: "play"
        case .pause: "pause"
        case .playPause: "playpause"
        case .next: "nextitem"
        case .previous: "previtem"
        case .volumeUp: "volumeup"
        case .volumeDown: "volumedown"
        case .mute: "mutetoggle"
        case .shuffle: "shuffle_songs"
        case .preventPlayback: "setproperty?dmcp.device-prevent-playback=1"
        }
    }

    /// A button and when it is pressed.
    public struct Timed: Sendable, Hashable {
        /// After RECORD.
        public var seconds: Double
        public var button: SimulatedAirPlayButton

        public init(after seconds: Double, _ button: SimulatedAirPlayButton) {
            self.seconds = seconds
            self.button = button
        }
    }
}
