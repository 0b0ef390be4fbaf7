/// A request of the multizone namespace, to a group or one of its members (`Protocols/cast`, “Groups”).
public enum CastMultizoneRequest: Sendable, Hashable {
    case getStatus
    case getCastingGroups
    /// Volume of one member, 0 to 1.
    case setVolume(deviceID: String, level: Double)
    case setMuted(deviceID: String, Bool)

    public func json(requestID: Int) -> CastJSON {
        var fields: [String: CastJSON] = ["requestId": .number(Double(requestID))]
        switch self {
        case .getStatus: fields["type"] = "GET_STATUS"
        case .getCastingGroups: fields["type"] = "GET_CASTING_GROUPS"
        case .setVolume(let deviceID, let level):
            fields["type"] = "SET_DEVICE_VOLUME"
            fields["deviceId"] = .string(deviceID)
            fields["volume"] = CastVolume.json(level: level)
        case .setMuted(let deviceID, let muted):
            fields["type"] = "SET_DEVICE_VOLUME"
            fields["deviceId"] = .string(deviceID)
            fields["volume"] = ["muted": .bool(muted)]
        }
        return .object(fields)
    }
}

/// News of the multizone namespace (`Protocols/cast`, “Groups”).
public enum CastMultizoneNews: Sendable, Hashable {
    /// Everything, whole.
    case status(CastMultizoneStatus)
    case memberAdded(CastGroupMember)
    /// What it lacks has not changed.
    case memberUpdated(CastGroupMember)
    case memberRemoved(deviceID: String)
    case playbackSession(CastPlaybackSession?)
    case castingGroups([CastCastingGroup])

    /// Nil where the type is none of these, or an id that is needed is missing.
    init?(type: String?, json: CastJSON) {
        switch type {
        case "MULTIZONE_STATUS": self = .status(CastMultizoneStatus(json: json["status"]))
        case "DEVICE_ADDED":
            guard let member = CastGroupMember(json: json["device"]) else { return nil }
            self = .memberAdded(member)
        case "DEVICE_UPDATED":
            guard let member = CastGroupMember(json: json["device"]) else { return nil }
            self = .memberUpdated(member)
        case "DEVICE_REMOVED":
            guard let id = json["deviceId"].string ?? json["device"]["deviceId"].string, !id.isEmpty else { return nil }
            self = .memberRemoved(deviceID: id)
        case "PLAYBACK_SESSION_UPDATED":
            let session = json["playbackSession"].isNull ? json["status"]["playbackSession"] : json["playbackSession"]
            self = .playbackSession(CastPlaybackSession(json: session))
        case "CASTING_GROUPS":
            let groups = json["status"]["groups"].isNull ? json["groups"] : json["status"]["groups"]
            self = .castingGroups(groups.elements.compactMap(CastCastingGroup.init(json:)))
        default: return nil
        }
    }
}

/// One device of a group.
public struct CastGroupMember: Sendable, Hashable {
    public var deviceID: String
    public var name: String?
    /// As in the service record (`ca`).
    public var capabilities: Int?
    public var volume: CastVolume?

    public init(deviceID: String, name: String? = nil, capabilities: Int? = nil, volume: CastVolume? = nil) {
        self.deviceID = deviceID
        self.name = name
        self.capabilities = capabilities
        self.volume = volume
    }

    /// A member without an id is none.
    init?(json: CastJSON) {
        guard let id = json["deviceId"].string, !id.isEmpty else { return nil }
        self.init(
            deviceID: id, name: json["name"].string, capabilities: json["capabilities"].int,
            volume: json["volume"].object.map { _ in CastVolume(json: json["volume"]) })
    }

    /// Takes what a newer word on the same device says, and keeps the rest.
    mutating func merge(_ newer: CastGroupMember) {
        name = newer.name ?? name
        capabilities = newer.capabilities ?? capabilities
        guard let news = newer.volume else { return }
        var merged = volume ?? CastVolume()
        merged.level = news.level ?? merged.level
        merged.muted = news.muted ?? merged.muted
        merged.controlType = news.controlType ?? merged.controlType
        merged.stepInterval = news.stepInterval ?? merged.stepInterval
        volume = merged
    }
}

/// What may be done with what plays in a group. Nil: not told.
public struct CastPlaybackSession: Sendable, Hashable {
    public var appAllowsGrouping: Bool?
    public var isVideoContent: Bool?
    public var streamTransferSupported: Bool?

    public init(appAllowsGrouping: Bool? = nil, isVideoContent: Bool? = nil, streamTransferSupported: Bool? = nil) {
        self.appAllowsGrouping = appAllowsGrouping
        self.isVideoContent = isVideoContent
        self.streamTransferSupported = streamTransferSupported
    }

    /// Nil where nothing plays.
    init?(json: CastJSON) {
        guard json.object?.isEmpty == false else { return nil }
        self.init(
            appAllowsGrouping: json["appAllowsGrouping"].bool, isVideoContent: json["isVideoContent"].bool,
            streamTransferSupported: json["streamTransferSupported"].bool)
    }
}

/// A group that a device belongs to.
public struct CastCastingGroup: Sendable, Hashable {
    public var id: String
    public var name: String?

    public init(id: String, name: String? = nil) {
        self.id = id
        self.name = name
    }

    /// Which key holds the id has not been seen by us; all that peers name are taken.
    init?(json: CastJSON) {
        let id = ["deviceId", "groupId", "uuid", "id"].lazy.compactMap { json[$0].string }.first
        guard let id, !id.isEmpty else { return nil }
        self.init(id: id, name: json["name"].string)
    }
}

/// A group as it is now.
public struct CastMultizoneStatus: Sendable, Hashable {
    /// Members kept, at most: a group has a few dozen at the utmost.
    public static let maximumMembers = 64

    /// In the order in which the device named them.
    public private(set) var members: [CastGroupMember]
    /// A stereo pair, not a group of rooms.
    public var isMultichannel: Bool?
    public var playbackSession: CastPlaybackSession?

    public init(
        members: [CastGroupMember] = [], isMultichannel: Bool? = nil, playbackSession: CastPlaybackSession? = nil
    ) {
        self.members = []
        self.isMultichannel = isMultichannel
        self.playbackSession = playbackSession
        for member in members { put(member) }
    }

    init(json: CastJSON) {
        self.init(
            members: json["devices"].elements.compactMap(CastGroupMember.init(json:)),
            isMultichannel: json["isMultichannel"].bool,
            playbackSession: CastPlaybackSession(json: json["playbackSession"]))
    }

    /// A member by its id; hyphens and case make no difference, since records and messages write ids differently.
    public subscript(deviceID: String) -> CastGroupMember? {
        members.first { Self.key($0.deviceID) == Self.key(deviceID) }
    }

    /// Takes news in. An update of a device that is not known adds it: the news of its coming may have been missed.
    public mutating func apply(_ news: CastMultizoneNews) {
        switch news {
        case .status(let status): self = status
        case .memberAdded(let member), .memberUpdated(let member): put(member)
        case .memberRemoved(let id): members.removeAll { Self.key($0.deviceID) == Self.key(id) }
        case .playbackSession(let session): playbackSession = session
        case .castingGroups: break
        }
    }

    private mutating func put(_ member: CastGroupMember) {
        if let index = members.firstIndex(where: { Self.key($0.deviceID) == Self.key(member.deviceID) }) {
            members[index].merge(member)
        } else if members.count < Self.maximumMembers {
            members.append(member)
        }
    }

    private static func key(_ id: String) -> String { id.lowercased().filter { $0 != "-" } }
}
