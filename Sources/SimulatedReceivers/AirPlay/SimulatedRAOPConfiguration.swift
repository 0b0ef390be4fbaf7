import AirPlay
import Foundation
import HomeKitPairing

/// What a simulated AirPlay 1 speaker is, and what it does wrong on purpose.
public struct SimulatedRAOPConfiguration: Sendable {
    /// Values of the TXT key `et`.
    public enum Encryption: Int, Sendable, CaseIterable {
        case none = 0
        /// The stream's key wrapped for the receiver's RSA key: its own pair, whose modulus a test tells the sender.
        case rsa = 1
        /// Insists on POST /auth-setup before ANNOUNCE, as speakers with Apple's authentication chip do.
        case authSetup = 4
    }

    /// Values of the TXT key `cn`.
    public enum Codec: Int, Sendable, CaseIterable { case pcm = 0, appleLossless = 1 }

    /// Values of the TXT key `md`.
    public enum MetadataKind: Int, Sendable, CaseIterable { case text = 0, artwork = 1, progress = 2 }

    /// The friendly name.
    public var name: String
    /// A numeric address of this machine.
    public var host: String
    /// 0 takes any that is free.
    public var port: Int
    /// 12 hex digits in upper case; without one it is derived from the name.
    public var id: String?
    /// Asked for by a Digest challenge when set.
    public var password: String?
    /// How senders have to pair before anything else, as an Apple TV of the third generation wants it; nil: not at all.
    public var pairing: PairingServerPolicy.Legacy?
    public var pairingFaults: [PairingServerStep: PairingServerFault] = [:]
    /// Ed25519 keys of senders that have paired before, 32 bytes each.
    public var pairedKeys: [[UInt8]] = []
    /// Who may come by HomeKit's pair-verify, where there is pairing. Nothing is encrypted after it.
    public var controllers: [PairingServerBook.Controller] = []
    public var encryption: Set<Encryption>
    public var codecs: Set<Codec>
    public var metadata: Set<MetadataKind>
    /// What it adds to the latency of the sender's sync packets, in frames of 44.1 kHz: `Audio-Latency`.
    public var latencyFrames: Int
    /// The volume before anybody sets one, from −30 to 0, or −144 for mute.
    public var initialVolume: Double
    /// Where `NAME.wav` and `NAME.ndjson` are written. None are without a folder.
    public var recordingFolder: URL?
    /// What those files are called in place of the name.
    public var recordingName: String?
    /// Buttons that somebody presses, by seconds after RECORD.
    public var buttons: [SimulatedAirPlayButton.Timed] = []
    public var faults: SimulatedRAOPFaults

    public init(
        name: String = "Simulated Speaker", host: String = "127.0.0.1", port: Int = 5000, id: String? = nil,
        password: String? = nil, pairing: PairingServerPolicy.Legacy? = nil, encryption: Set<Encryption> = [.none],
        codecs: Set<Codec> = [.pcm, .appleLossless],
        metadata: Set<MetadataKind> = [.text, .artwork, .progress], latencyFrames: Int = 11_025,
        initialVolume: Double = -20, recordingFolder: URL? = nil, faults: SimulatedRAOPFaults = SimulatedRAOPFaults()
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.id = id
        self.password = password
        self.pairing = pairing
        self.encryption = encryption
        self.codecs = codecs
        self.metadata = metadata
        self.latencyFrames = latencyFrames
        self.initialVolume = initialVolume
        self.recordingFolder = recordingFolder
        self.faults = faults
    }

    /// 12 hex digits in upper case.
    var hardwareID: String { SimulatedHardwareID.digits(id, name: name) }

    /// As it is announced under `_raop._tcp` (`Protocols/airplay/README.md`, records of real receivers).
    var txtRecord: [String: String] {
        let pairing = pairingPolicy
        let flags = 0x4 | (pairing?.statusFlags ?? 0)
        var record = [
            "txtvers": "1", "ch": "2", "sr": "44100", "ss": "16", "tp": "UDP", "vn": "65537", "vs": "105.1",
            "am": "RouterSimulatedReceiver", "sf": "0x\(String(flags, radix: 16))", "da": "true", "sv": "false",
            "ek": "1",
            "cn": list(codecs), "et": list(encryption), "md": list(metadata), "pw": password == nil ? "false" : "true",
        ]
        if pairing != nil {
            record["pk"] = PairingServerBook(name: name).key.publicKey.map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
        }
        return record
    }

    var pairingPolicy: PairingServerPolicy? {
        pairing.map { legacy in
            var policy = PairingServerPolicy.legacy(legacy)
            policy.faults = pairingFaults
            return policy
        }
    }

    private func list(_ values: some Sequence<some RawRepresentable<Int>>) -> String {
        values.map(\.rawValue).sorted().map(String.init).joined(separator: ",")
    }
}

/// Faults on demand. By default there are none.
public struct SimulatedRAOPFaults: Sendable {
    public enum SequenceHeader: Sendable { case right, missing, wrong }

    /// The share of audio packets that get lost on their way in, 0 to 1, those sent again included.
    public var dropAudio = 0.0
    /// Chooses which.
    public var seed: UInt64 = 1
    /// How many sync packets get lost at the start of each stream.
    public var dropSyncs = 0
    /// Never asks the sender for its time.
    public var ignoresTiming = false
    /// Never asks for a lost packet again.
    public var ignoresGaps = false
    /// Closes every TCP connection as soon as it is there.
    public var refusesConnections = false
    /// Another sender plays: ANNOUNCE gets 453.
    public var isBusy = false
    /// `CSeq` of the answers.
    public var sequenceHeader = SequenceHeader.right
    /// SETUP is answered without `Session`.
    public var omitsSession = false
    /// SETUP is answered without `Transport`.
    public var omitsTransport = false
    /// Ports are written as signed 16-bit numbers.
    public var writesNegativePorts = false
    /// Hangs up when this many requests have come on a connection, the last one unanswered.
    public var closesAfterRequests: Int?
    /// Hangs up this many seconds after RECORD.
    public var closesAfterSeconds: Double?
    /// Takes connections and requests and says nothing.
    public var neverAnswers = false
    /// How requests of pairing have to be written; those written otherwise get 400. Nil takes both.
    public var spelling: RTSPSpelling?
    /// Seconds before each answer.
    public var answerDelay = 0.0
    /// How many right answers to a password challenge are challenged again.
    public var extraChallenges = 0
    /// Answers a method with this status and does nothing: `["SETUP": 500]`.
    public var refusals: [String: Int] = [:]

    public init() {}
}
