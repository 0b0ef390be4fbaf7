/// What a route may be able to do. The list is closed and versioned with the contract.
///
/// The first four are the questions that separate the two worlds (`features.md` K1 to K4).
public enum RouteCapability: String, Codable, Sendable, Hashable, CaseIterable {
    /// K1: playback goes on after the sender has gone.
    case continuesWithoutSender
    /// K2: several senders can drive the receiver.
    case acceptsManySenders
    /// K3: a file that exists on the sender only can be played.
    case playsSenderOnlyFiles
    /// K4: the sender can watch and control while it is in the background.
    case observableInBackground

    case tracks, adSkip, customChannel, liveWindow
    case playURL, playAudioStream, video, photo
    case pause, seek, seekRelative, rate
    case queueOnDevice, gapless, preload
    case artwork, metadataPush
    case volumeDevice, volumeStream, mute
    case groupMember, groupMaster, transferIn, transferOut
    case observeForeignSession, remoteCommandsBack, announceOverlay
}

/// "Not now" differs from "never".
public enum CapabilityState: Codable, Sendable, Hashable {
    case available
    case unavailable(reason: String)
    case unsupported
    case unknown

    private enum CodingKeys: String, CodingKey { case state, reason }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .state) {
        case "available": self = .available
        case "unavailable":
            self = .unavailable(reason: try container.decodeIfPresent(String.self, forKey: .reason) ?? "")
        case "unsupported": self = .unsupported
        default: self = .unknown
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .available: try container.encode("available", forKey: .state)
        case .unavailable(let reason):
            try container.encode("unavailable", forKey: .state)
            try container.encode(reason, forKey: .reason)
        case .unsupported: try container.encode("unsupported", forKey: .state)
        case .unknown: try container.encode("unknown", forKey: .state)
        }
    }
}

/// How closely a route can be held to a timeline.
public enum SyncClass: String, Codable, Sendable, Hashable, Comparable, CaseIterable {
    case none, loose, tight

    private var rank: Int { self == .none ? 0 : self == .loose ? 1 : 2 }
    public static func < (left: SyncClass, right: SyncClass) -> Bool { left.rank < right.rank }
}

/// Capabilities of one endpoint or route; what is not named is `unsupported`.
public struct RouteCapabilities: Codable, Sendable, Hashable {
    public var states: [RouteCapability: CapabilityState]
    public var sync: SyncClass

    public init(_ states: [RouteCapability: CapabilityState] = [:], sync: SyncClass = .none) {
        self.states = states
        self.sync = sync
    }

    public init(available: [RouteCapability], sync: SyncClass) {
        self.init(Dictionary(uniqueKeysWithValues: available.map { ($0, .available) }), sync: sync)
    }

    public subscript(capability: RouteCapability) -> CapabilityState {
        get { states[capability] ?? .unsupported }
        set { states[capability] = newValue }
    }

    public func has(_ capability: RouteCapability) -> Bool { self[capability] == .available }

    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        var states: [RouteCapability: CapabilityState] = [:]
        for key in container.allKeys {
            // A newer peer may name capabilities that this one has not heard of.
            guard let capability = RouteCapability(rawValue: key.stringValue) else { continue }
            states[capability] = try container.decode(CapabilityState.self, forKey: key)
        }
        self.states = states
        self.sync = try container.decodeIfPresent(SyncClass.self, forKey: Key(stringValue: "sync")) ?? .none
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for capability in RouteCapability.allCases {
            if let state = states[capability] {
                try container.encode(state, forKey: Key(stringValue: capability.rawValue))
            }
        }
        try container.encode(sync, forKey: Key(stringValue: "sync"))
    }
}
