import RouteModel

/// Finds services on the network. Implemented by `AvahiDiscovery`; the test kit has one in memory.
public protocol ServiceBrowsing: Sendable {
    /// Changes from now on, for all of these types (`_googlecast._tcp`). Runs until the stream is dropped; survives the
    /// daemon behind it being absent, stopped and started again, and says so.
    func browse(_ types: [String]) -> AsyncStream<ServiceEvent>

    /// How eagerly to look from now on, for every stream. It begins passive: the network is asked when a stream begins,
    /// and then listened to. One that cannot choose does nothing.
    func setActivity(_ activity: DiscoveryActivity)
}

extension ServiceBrowsing {
    public func setActivity(_ activity: DiscoveryActivity) {}
}

public enum ServiceEvent: Sendable, Hashable {
    /// Found, or changed.
    case resolved(ServiceRecord)
    case removed(ServiceRecord.Key)
    case state(DiscoveryState)
}

/// One resolved service, as its records say.
public struct ServiceRecord: Sendable, Hashable {
    /// Tells one service from another; the same service on two interfaces is one.
    public struct Key: Sendable, Hashable {
        public var type: String
        public var name: String

        public init(type: String, name: String) {
            self.type = type
            self.name = name
        }
    }

    public var key: Key
    public var hostName: String
    /// Numeric, best first (IPv4 before IPv6 link-local).
    public var addresses: [String]
    public var port: Int
    /// Keys in lower case; values as text, invalid UTF-8 replaced.
    public var txt: [String: String]
    public var interface: String?

    public init(
        key: Key, hostName: String, addresses: [String], port: Int, txt: [String: String], interface: String? = nil
    ) {
        self.key = key
        self.hostName = hostName
        self.addresses = addresses
        self.port = port
        self.txt = txt
        self.interface = interface
    }
}

/// Announces services on the network.
public protocol ServicePublishing: Sendable {
    /// Announces until `withdraw` of the handle.
    func publish(_ service: PublishedService) async throws -> any PublishedHandle
}

public protocol PublishedHandle: Sendable {
    func withdraw() async
}

public struct PublishedService: Sendable, Hashable {
    public var type: String
    public var name: String
    public var port: Int
    public var txt: [String: String]
    /// An address of this machine to announce in place of the host's own: several devices on one machine.
    public var address: String?

    public init(type: String, name: String, port: Int, txt: [String: String], address: String? = nil) {
        self.type = type
        self.name = name
        self.port = port
        self.txt = txt
        self.address = address
    }
}
