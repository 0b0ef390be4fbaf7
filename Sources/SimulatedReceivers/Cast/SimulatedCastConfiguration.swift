import COpenSSL
import Foundation

/// What a simulated Cast device is and how it behaves. The defaults are a well-behaved video dongle.
public struct SimulatedCastConfiguration: Sendable {
    /// How a launch is answered (`Protocols/cast` section 7).
    public enum LaunchStyle: Sendable, Hashable {
        /// RECEIVER_STATUS with the request's id.
        case classic
        /// LAUNCH_STATUS first, as newer firmware does.
        case launchStatus
        /// LAUNCH_STATUS with USER_PENDING_AUTHORIZATION; it goes on by `allowLaunch` or `refuseLaunch`.
        case userAuthorization
    }

    /// How a STOP is answered.
    public enum StopStyle: Sendable, Hashable {
        /// RECEIVER_STATUS with the request's id, and the broadcast.
        case reply
        /// Only the broadcast, as another receiver program does.
        case broadcastOnly
    }

    /// What the sender may do to the device's volume; the raw value is `controlType`.
    public enum VolumeControl: String, Sendable, Hashable, CaseIterable {
        case attenuation, fixed, master
    }

    /// What runs when nothing runs.
    public enum IdleApp: Sendable, Hashable {
        /// The idle screen of a video device.
        case backdrop
        /// No application at all, as on audio devices.
        case none
    }

    /// How a device-authentication challenge is answered (`Protocols/cast` section 8).
    public enum AuthenticationMode: String, Sendable, Hashable, CaseIterable {
        case valid
        /// Signs and echoes another nonce than the sender's.
        case wrongNonce
        /// Signs another TLS certificate than that of the connection.
        case wrongCertificate
        /// The device certificate has ended.
        case expired
        /// The TLS certificate is valid for longer than the four days that are allowed.
        case longLivedTLS
        /// Answers with an AuthError.
        case error
        /// Does not answer.
        case silent
        /// Valid, with an intermediate certificate between device and root, as real devices have it.
        case intermediate
        /// Valid for a device that plays sound only: its certificate names the policy.
        case audioOnly
        /// Valid, signed with SHA-1 whatever was asked for.
        case sha1
        /// Valid, signed by RSASSA-PSS whatever was asked for.
        case pss
        /// Valid, and said twice.
        case twice
        /// Valid, by a key that this process made for this receiver alone: what a device looks like that was reset, or
        /// swapped for another.
        case newKey
        /// One bit of the signature is turned.
        case badSignature
        /// The chain ends at a root that nobody trusts.
        case untrusted
        /// The device certificate is signed by itself.
        case selfSigned
        /// The device certificate is not for signing.
        case notForSigning
        /// The intermediate certificate is not sent.
        case missingIntermediate
        /// The intermediate certificate has ended.
        case expiredIntermediate
        /// The intermediate certificate must not sign others.
        case notAnAuthority
        /// The root allows no intermediate, and there is one.
        case chainTooLong
        /// A key of 1,024 bits.
        case shortKey
        /// A key on an elliptic curve.
        case ellipticKey
        /// The TLS certificate has ended.
        case expiredTLS
        /// The TLS certificate is not valid yet.
        case futureTLS
        /// Sends a list of revoked devices along, and is on it by its key.
        case revoked
        /// As `revoked`, by its serial number.
        case revokedSerial
        /// Sends a list along whose signature does not hold; all else is valid.
        case badRevocationList
        /// Bytes that are no message.
        case garbage
        /// A message with nothing in it.
        case empty
        /// Text in place of bytes.
        case text
        /// More certificates than can be.
        case manyCertificates
    }

    /// How messages are cut into TLS records: senders must take all of these.
    public enum RecordStyle: Sendable, Hashable {
        /// One record for each message.
        case separate
        /// All messages that follow from one event in one record.
        case joined
        /// Each message in two records.
        case split
    }

    /// Friendly name, UTF-8.
    public var name = "Simulated Cast"
    /// Address to listen on.
    public var host = "127.0.0.1"
    /// CastV2 over TLS; 0 is any free port.
    public var port = 8009
    /// eureka_info over HTTP; nil is none, 0 any free port.
    public var httpPort: Int? = 8008
    /// 32 hexadecimal digits; nil makes them from the name, so that they stay.
    public var id: String?
    public var model = "Chromecast"
    /// Bits of `ca` (`Protocols/cast` section 9): 1 video out, 4 audio out, 2048 and 4096 volume.
    public var capabilities = 4_101
    /// Where `<name>.wav` and `<name>.ndjson` are written; nil writes nothing.
    public var recordingFolder: URL?
    /// What those files are called in place of the name.
    public var recordingName: String?
    public var launchStyle = LaunchStyle.classic
    public var idleApp = IdleApp.backdrop
    public var authentication = AuthenticationMode.valid
    /// Who made its keys; nil is the authority of this process.
    public var authority: CastTestAuthority?
    public var recordStyle = RecordStyle.separate
    /// Device volume at the start, 0 to 1.
    public var volume: Double = 1
    public var volumeControl = VolumeControl.attenuation
    /// `stepInterval` of the volume, 0 to 1.
    public var volumeStep: Double = 0.05
    public var stopStyle = StopStyle.reply
    /// What can be launched; the idle screen is there anyway.
    public var apps = SimulatedCastApp.standard
    /// A request whose id was used before by the same sender is refused, as DUPLICATE_REQUEST_ID.
    public var refusesDuplicateRequestIDs = false
    /// A virtual connection to an app that says nothing for so long is closed; nil is never.
    public var idleLimit: Duration?
    /// The app exits when all strong senders have left and only weak ones (`connType` 1) remain.
    public var exitsWithWeakSenders = false
    /// eureka_info is refused to whoever asks by host name, as firmware does.
    public var refusesHostHeaderNames = true
    /// Knows STORE_SESSION and RESUME_SESSION.
    public var storesSessions = true
    /// Asks 8.8.8.8 for host names, which knows none of a home: media under a name does not load.
    public var refusesHostNames = false
    /// Fetches all media as a web page does, so that it needs CORS.
    public var needsOrigin = false
    /// Types that this device has no decoder for: they fail with code 104.
    public var refusedContentTypes: Set<String> = []
    /// Seconds that one can go back in a LIVE stream that is really a file; nil is a stream without a window.
    public var liveWindow: Double?
    /// Fetches nothing and plays silence as long as `media.duration` says: thousands of loads in no time.
    public var playsSilence = false
    /// A group: who is in it. Nil is a single device.
    public var group: SimulatedCastGroup?
    /// What happens by itself, timed from the first sound.
    public var script: [SimulatedCastStep] = []
    /// How long loading takes before anything is fetched.
    public var bufferingDelay: Duration = .zero
    public var faults = SimulatedCastFaults()

    public init() {}

    public init(name: String, host: String = "127.0.0.1", port: Int = 8009, httpPort: Int? = 8008) {
        self.name = name
        self.host = host
        self.port = port
        self.httpPort = httpPort
    }

    /// The id in use: 32 lower-case hexadecimal digits.
    public var deviceID: String {
        if let id { return id.lowercased().filter(\.isHexDigit) }
        let digest = MediaDigest()
        digest.append(Array("simulated cast \(name)".utf8))
        return String(digest.finish().prefix(32))
    }

    /// The id as a UUID with hyphens, as multizone names devices.
    public var deviceUUID: String {
        let digits = Array(deviceID)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0.clamped(to: 0..<digits.count)]) }
            .joined(separator: "-")
    }

    /// The name with what a file name cannot hold replaced.
    var fileName: String {
        let name = String((recordingName ?? name).map { $0 == "/" || $0 == "\0" ? "-" : $0 })
        return name.isEmpty || name == "." || name == ".." ? "receiver" : name
    }
}

/// What goes wrong on purpose.
public struct SimulatedCastFaults: Sendable, Hashable {
    /// Closes every TCP connection as soon as it is there.
    public var refusesConnections = false
    /// TLS works, but no message is ever answered, not even a heartbeat.
    public var neverAnswers = false
    /// Waits before each answer.
    public var answerDelay: Duration = .zero
    /// Drops the TCP connection instead of handling its message of this number; the first is 1.
    public var dropsConnectionAtMessage: Int?
    /// Drops all TCP connections once this much was played, then behaves.
    public var dropsAfterPlaying: Duration?
    /// Refuses every launch with this reason, as NOT_ALLOWED.
    public var launchError: String?
    /// The only app of which launches are refused; nil: all.
    public var launchErrorApp: String?
    /// `extendedError` beside it.
    public var launchErrorDetail: String?
    /// The app dies right after it was launched.
    public var closesAfterLaunch = false
    /// Fails every LOAD with this detailedErrorCode.
    public var loadFails: Int?
    /// `customData` of that LOAD_FAILED.
    public var loadFailureData: JSONValue?
    /// Refuses every media command after the load with INVALID_REQUEST and this reason.
    public var mediaCommandFails: String?
    /// Gives no answer to questions about its queue, not even a refusal.
    public var ignoresQueueQuestions = false
    /// Sends this length instead of its first frame: 0, or 4 GiB less one.
    public var firstFrameLength: UInt32?
    /// Of Cast Streaming.
    public var streaming = CastStreamingFaults()

    public init() {}
}
