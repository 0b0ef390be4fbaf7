/// One service that a device offers: a protocol at an address.
public struct Endpoint: Codable, Sendable, Hashable, Identifiable {
    public var id: EndpointID
    public var `protocol`: RouteProtocol
    /// The name the device gives itself.
    public var name: String
    /// A host name or numeric address (IPv6 without brackets).
    public var host: String
    public var port: Int
    public var model: String?
    /// Firmware version as the device says it; what was learnt of a device is kept for this version.
    public var firmware: String?
    /// Keys that stay with the device whatever its name and address become, strongest first.
    public var strongKeys: [StrongKey]
    public var deviceType: DeviceType
    public var kind: RouteKind
    public var access: RouteAccess
    public var busyWith: String?
    /// What the device's own record said (TXT), or a static URI's query: read by the backend that made the endpoint.
    public var facts: [String: String]
    public var origin: EndpointOrigin
    /// The network interface it was seen on, where that is known.
    public var interface: String?
    public var capabilities: RouteCapabilities

    public init(
        id: EndpointID, protocol: RouteProtocol, name: String, host: String, port: Int, model: String? = nil,
        firmware: String? = nil, strongKeys: [StrongKey] = [], deviceType: DeviceType = .unknown,
        kind: RouteKind = .device, access: RouteAccess = .open, busyWith: String? = nil,
        facts: [String: String] = [:], origin: EndpointOrigin, interface: String? = nil,
        capabilities: RouteCapabilities = RouteCapabilities()
    ) {
        self.id = id
        self.protocol = `protocol`
        self.name = name
        self.host = host
        self.port = port
        self.model = model
        self.firmware = firmware
        self.strongKeys = strongKeys
        self.deviceType = deviceType
        self.kind = kind
        self.access = access
        self.busyWith = busyWith
        self.facts = facts
        self.origin = origin
        self.interface = interface
        self.capabilities = capabilities
    }

    /// What devices have in common that are one for people, a stereo pair for one: their endpoints are one route, and all
    /// of them are sent to. The backend puts it into the facts as `groupID`, with `kind` saying what they are together.
    public var groupID: String? { facts["groupID"].flatMap { $0.isEmpty ? nil : $0 } }

    /// What such devices are called together: `groupName` of the facts.
    public var groupName: String? { facts["groupName"].flatMap { $0.isEmpty ? nil : $0 } }

    /// Another service that the device must have beside this one, by what it says of itself: `expects` of the facts. While
    /// it is not found yet, the device is only half known.
    public var expects: RouteProtocol? { facts["expects"].flatMap(RouteProtocol.init(rawValue:)) }

    /// `host:port`, with brackets round an IPv6 address.
    public var address: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Where an endpoint came from.
public enum EndpointOrigin: String, Codable, Sendable, Hashable, CaseIterable {
    /// Announced by the device (mDNS).
    case discovered
    /// Named by a person: `--device`, or the configuration file.
    case stated
}

/// A key that identifies one device across names, addresses and restarts.
public struct StrongKey: Codable, Sendable, Hashable, CustomStringConvertible {
    public enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
        /// The `id` of a Cast device, 32 hex digits.
        case castID
        /// The 12 hex digits of an AirPlay device id or RAOP name, lower case.
        case mac
        /// An Ed25519 public key, hex.
        case publicKey
        /// The URI a person gave.
        case statedURI
    }

    public var kind: Kind
    public var value: String

    public init(_ kind: Kind, _ value: String) {
        self.kind = kind
        self.value = value.lowercased()
    }

    public var description: String { "\(kind.rawValue):\(value)" }

    /// The key of a device URI as a person wrote it, without its query; nil for what is no URI.
    public static func stated(_ text: String) -> StrongKey? {
        guard text.contains("://") else { return nil }
        let bare = text.split(separator: "?", maxSplits: 1).first.map(String.init) ?? text
        return StrongKey(.statedURI, bare.hasSuffix("/") ? String(bare.dropLast()) : bare)
    }
}

public enum DeviceType: String, Codable, Sendable, Hashable, CaseIterable {
    case tv, speaker, receiver, display, headphones, computer, car, group, unknown
}

public enum RouteKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// One device.
    case device
    /// A group made on the device itself (a Cast group).
    case group
    /// A set made by the router.
    case set
    /// Two devices that are one: see `Endpoint.groupID`.
    case stereoPair
    case virtual
}

/// What it takes to be let in.
public enum RouteAccess: String, Codable, Sendable, Hashable, CaseIterable {
    case open, password, pin, pairingNeeded, paired, denied
}

/// Whether the device can be seen now.
public enum RoutePresence: String, Codable, Sendable, Hashable, CaseIterable {
    case present
    /// Not seen any more, kept for a grace period.
    case stale
    case gone
}
