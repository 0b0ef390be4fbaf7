/// One end of PTP: an entry of `timingPeerList`, `SETPEERSX` and SETUP's answer.
public struct AirPlay2TimingPeer: AirPlay2Message {
    /// Addresses in one entry, at most.
    public static let maximumAddresses = 32

    /// A UUID.
    public var id: String
    /// Numeric.
    public var addresses: [String]
    /// Of its PTP clock; nil where it isn't said.
    public var clockID: UInt64?
    public var deviceType: Int?
    public var supportsClockPortMatching: Bool?

    public init(
        id: String, addresses: [String], clockID: UInt64? = nil, deviceType: Int? = 0,
        supportsClockPortMatching: Bool? = false
    ) {
        self.id = id
        self.addresses = addresses
        self.clockID = clockID
        self.deviceType = deviceType
        self.supportsClockPortMatching = supportsClockPortMatching
    }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        let fields = try PropertyListFields(list)
        id = try fields.string("ID") ?? ""
        addresses = try required("Addresses", fields.strings("Addresses", limit: Self.maximumAddresses))
        clockID = try fields.bits("ClockID")
        deviceType = try fields.integer("DeviceType", in: 0...0xFFFF)
        supportsClockPortMatching = try fields.bool("SupportsClockPortMatchingOverride")
    }

    public var propertyList: PropertyList {
        var builder = PropertyListBuilder()
        builder.set("ID", id)
        builder.set("Addresses", addresses)
        builder.set("ClockID", bits: clockID)
        builder.set("DeviceType", deviceType)
        builder.set("SupportsClockPortMatchingOverride", supportsClockPortMatching)
        return builder.list
    }
}

/// The first SETUP: who plays, and by which clock.
public struct AirPlay2SessionSetup: AirPlay2Message {
    /// Peers in a list, at most.
    public static let maximumPeers = 64

    /// By which clock the session goes.
    public enum Timing: Sendable, Hashable {
        /// The receiver asks us.
        ///
        /// - port: our UDP port for questions of time.
        case ntp(port: Int)
        /// - us: our end.
        case ptp(us: AirPlay2TimingPeer)
        /// Remote control only: nothing is played.
        case none
    }

    /// A MAC address with colons; it stands for this sender.
    public var deviceID: String
    public var sessionUUID: String
    public var timing: Timing
    public var name: String?
    public var model: String?
    public var osName: String?
    public var osVersion: String?
    public var osBuildVersion: String?
    public var sourceVersion: String?
    /// A UUID, where rooms play together.
    public var groupUUID: String?
    public var groupContainsLeader: Bool?
    /// Several receivers are played to.
    public var isMultiSelect: Bool?

    public init(deviceID: String, sessionUUID: String, timing: Timing, name: String? = nil) {
        self.deviceID = deviceID
        self.sessionUUID = sessionUUID
        self.timing = timing
        self.name = name
    }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        let fields = try PropertyListFields(list)
        deviceID = try required("deviceID", fields.string("deviceID"))
        sessionUUID = try required("sessionUUID", fields.string("sessionUUID"))
        switch try required("timingProtocol", fields.string("timingProtocol")) {
        case "NTP": timing = .ntp(port: try required("timingPort", fields.port("timingPort")))
        case "PTP":
            timing = .ptp(
                us: try AirPlay2TimingPeer(try required("timingPeerInfo", fields.list("timingPeerInfo"))))
            _ = try fields.array("timingPeerList", limit: Self.maximumPeers)
        case "None": timing = .none
        default: throw .outOfRange(key: "timingProtocol")
        }
        name = try fields.string("name")
        model = try fields.string("model")
        osName = try fields.string("osName")
        osVersion = try fields.string("osVersion")
        osBuildVersion = try fields.string("osBuildVersion")
        sourceVersion = try fields.string("sourceVersion")
        groupUUID = try fields.string("groupUUID")
        groupContainsLeader = try fields.bool("groupContainsGroupLeader")
        isMultiSelect = try fields.bool("isMultiSelectAirPlay")
    }

    public var propertyList: PropertyList {
        var builder = PropertyListBuilder()
        builder.set("deviceID", deviceID)
        builder.set("macAddress", deviceID)
        builder.set("sessionUUID", sessionUUID)
        switch timing {
        case .ntp(let port):
            builder.set("timingProtocol", "NTP")
            builder.set("timingPort", port)
        case .ptp(let us):
            builder.set("timingProtocol", "PTP")
            builder["timingPeerInfo"] = us.propertyList
            builder["timingPeerList"] = .array([us.propertyList])
        case .none:
            builder.set("timingProtocol", "None")
            builder.set("isRemoteControlOnly", true)
        }
        builder.set("name", name)
        builder.set("model", model)
        builder.set("osName", osName)
        builder.set("osVersion", osVersion)
        builder.set("osBuildVersion", osBuildVersion)
        builder.set("sourceVersion", sourceVersion)
        builder.set("groupUUID", groupUUID)
        builder.set("groupContainsGroupLeader", groupContainsLeader)
        builder.set("isMultiSelectAirPlay", isMultiSelect)
        return builder.list
    }
}

/// The answer to the first SETUP.
public struct AirPlay2SessionAnswer: AirPlay2Message {
    /// TCP; nil where there is no event channel.
    public var eventPort: Int?
    /// UDP, of NTP; nil with PTP.
    public var timingPort: Int?
    /// The receiver's end of PTP.
    public var timingPeer: AirPlay2TimingPeer?

    public init(eventPort: Int? = nil, timingPort: Int? = nil, timingPeer: AirPlay2TimingPeer? = nil) {
        self.eventPort = eventPort
        self.timingPort = timingPort
        self.timingPeer = timingPeer
    }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        let fields = try PropertyListFields(list)
        eventPort = try fields.port("eventPort")
        timingPort = try fields.port("timingPort")
        timingPeer = try fields.list("timingPeerInfo").map { (list) throws(AirPlay2MessageError) in
            try AirPlay2TimingPeer(list)
        }
    }

    public var propertyList: PropertyList {
        var builder = PropertyListBuilder()
        builder.set("eventPort", eventPort ?? 0)
        builder.set("timingPort", timingPort ?? 0)
        builder["timingPeerInfo"] = timingPeer?.propertyList
        return builder.list
    }
}

/// Who takes part in PTP, by address: `SETPEERS`. A list of items, not of keys.
public struct AirPlay2PeerList: AirPlay2Message {
    /// Numeric, the receiver's and ours.
    public var addresses: [String]

    public init(_ addresses: [String]) { self.addresses = addresses }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        guard let items = list.array else { throw .wrongShape }
        let limit = AirPlay2SessionSetup.maximumPeers * AirPlay2TimingPeer.maximumAddresses
        guard items.count <= limit else { throw .tooMany(key: "SETPEERS", limit: limit) }
        addresses = []
        for item in items {
            guard let address = item.string else { throw .wrongType(key: "SETPEERS") }
            addresses.append(address)
        }
    }

    public var propertyList: PropertyList { .array(addresses.map { .string($0) }) }
}

/// The same with their clocks: `SETPEERSX`, of receivers with feature bit 52.
public struct AirPlay2ExtendedPeerList: AirPlay2Message {
    public var peers: [AirPlay2TimingPeer]

    public init(_ peers: [AirPlay2TimingPeer]) { self.peers = peers }

    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        guard let items = list.array else { throw .wrongShape }
        let limit = AirPlay2SessionSetup.maximumPeers
        guard items.count <= limit else { throw .tooMany(key: "SETPEERSX", limit: limit) }
        peers = []
        for item in items { peers.append(try AirPlay2TimingPeer(item)) }
    }

    public var propertyList: PropertyList { .array(peers.map(\.propertyList)) }
}
