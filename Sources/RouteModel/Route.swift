/// A device as the engine sees it: its endpoints merged, with one id that outlives names, addresses and restarts.
public struct Route: Codable, Sendable, Hashable, Identifiable {
    public var id: RouteID
    public var name: String
    public var alias: String?
    public var model: String?
    public var kind: RouteKind
    public var deviceType: DeviceType
    /// Best first.
    public var endpoints: [Endpoint]
    public var presence: RoutePresence
    public var access: RouteAccess
    public var busyWith: String?
    public var capabilities: RouteCapabilities

    public init(
        id: RouteID, name: String, alias: String? = nil, model: String? = nil, kind: RouteKind = .device,
        deviceType: DeviceType = .unknown, endpoints: [Endpoint], presence: RoutePresence = .present,
        access: RouteAccess = .open, busyWith: String? = nil, capabilities: RouteCapabilities = RouteCapabilities()
    ) {
        self.id = id
        self.name = name
        self.alias = alias
        self.model = model
        self.kind = kind
        self.deviceType = deviceType
        self.endpoints = endpoints
        self.presence = presence
        self.access = access
        self.busyWith = busyWith
        self.capabilities = capabilities
    }

    public var families: [RouteFamily] {
        RouteFamily.allCases.filter { family in endpoints.contains { $0.protocol.family == family } }
    }
}

/// What people call a place: one or more devices.
///
/// With nothing configured, every device is a room of its own name.
public struct Room: Codable, Sendable, Hashable {
    public var name: String
    public var aliases: [String]
    /// Names, ids or URIs of the devices in it, as the person wrote them.
    public var devices: [String]
    public var via: ViaPreference
    /// The loudest this room may be set to.
    public var volumeLimit: VolumePosition?
    /// Milliseconds added to when this room plays; positive is later.
    public var offsetMilliseconds: Int
    /// From the configuration file, or a device that is its own room.
    public var configured: Bool
    /// The routes it stands for now; empty while none of its devices is there.
    public var routes: [RouteID]
    public var quietHours: QuietHours?
    /// How loud it is when something begins to play there; nil is `preserve`.
    public var startVolume: StartVolume?
    /// How the room's slider becomes what its devices take; nil is `linear`. `airplay` is a protocol's, and no room's.
    public var volumeCurve: VolumeCurve?
    /// Made by a command and kept in the store; one of the configuration file is not, and only the file changes it.
    public var stored: Bool?

    public init(
        name: String, aliases: [String] = [], devices: [String] = [], via: ViaPreference = .auto,
        volumeLimit: VolumePosition? = nil, offsetMilliseconds: Int = 0, configured: Bool = false,
        routes: [RouteID] = [], quietHours: QuietHours? = nil, startVolume: StartVolume? = nil,
        volumeCurve: VolumeCurve? = nil, stored: Bool? = nil
    ) {
        self.quietHours = quietHours
        self.startVolume = startVolume
        self.volumeCurve = volumeCurve
        self.stored = stored
        self.name = name
        self.aliases = aliases
        self.devices = devices
        self.via = via
        self.volumeLimit = volumeLimit
        self.offsetMilliseconds = offsetMilliseconds
        self.configured = configured
        self.routes = routes
    }
}

/// When a room is not to be loud, by the local clock.
public struct QuietHours: Codable, Sendable, Hashable {
    /// Minutes after midnight, 0 to 1439. Where `from` is after `to`, they last over midnight.
    public var from: Int
    public var to: Int
    /// The loudest it may be then.
    public var limit: VolumePosition

    public init(from: Int, to: Int, limit: VolumePosition) {
        self.from = from
        self.to = to
        self.limit = limit
    }
}

/// Rooms under one name, kept: `--on @group:NAME` names them all.
public struct RoomGroup: Codable, Sendable, Hashable {
    /// 1 to 64 characters.
    public var name: String
    /// Rooms, by name, in the order that they were added.
    public var rooms: [String]
    /// How loud each room is against the loudest, 0 to 1; a room without one is at 1.
    public var trims: [String: Double]

    public init(name: String, rooms: [String], trims: [String: Double] = [:]) {
        self.name = name
        self.rooms = rooms
        self.trims = trims
    }
}

/// What was found, and when that is nothing, why and what to try.
public struct RouteList: Codable, Sendable, Hashable {
    public var routes: [Route]
    public var discovery: [DiscoveryState]

    public init(routes: [Route], discovery: [DiscoveryState]) {
        self.routes = routes
        self.discovery = discovery
    }
}

/// How one way of finding devices is doing.
public struct DiscoveryState: Codable, Sendable, Hashable {
    public enum Status: String, Codable, Sendable, Hashable, CaseIterable {
        case starting, scanning, complete, unavailable
    }

    /// Which way: `mDNS`, for one.
    public var source: String
    public var status: Status
    /// Why it is not available, in a sentence for people.
    public var message: String?
    public var hint: String?

    public init(source: String, status: Status, message: String? = nil, hint: String? = nil) {
        self.source = source
        self.status = status
        self.message = message
        self.hint = hint
    }
}
