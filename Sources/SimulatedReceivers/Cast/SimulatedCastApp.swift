import CastV2

/// An app that a simulated device can launch.
public struct SimulatedCastApp: Sendable, Hashable {
    public enum Role: Sendable, Hashable {
        /// Plays media.
        case media
        /// Plays media, and sends back what it gets on its own namespaces, text and binary.
        case echo
        /// Listed and launched; Cast Streaming for one, by its id.
        case other
    }

    public var id: String
    public var name: String
    /// Beside the media namespace, which a player has anyway.
    public var namespaces: [String]
    public var role: Role

    public init(id: String, name: String, namespaces: [String] = [], role: Role) {
        self.id = id
        self.name = name
        self.namespaces = namespaces
        self.role = role
    }

    var plays: Bool { role == .media || role == .echo }

    /// Namespaces of the echo app.
    public static let echoText = "urn:x-cast:net.router.echo"
    public static let echoSecond = "urn:x-cast:net.router.echo.second"
    public static let echo = SimulatedCastApp(
        id: "ECC0ECC0", name: "Echo", namespaces: [echoText, echoSecond], role: .echo)

    /// The Default Media Receiver, an app with its own namespaces, and the two of mirroring.
    public static let standard = [
        SimulatedCastApp(id: CastReceiverMachine.mediaPlayer, name: "Default Media Receiver", role: .media), echo,
        SimulatedCastApp(
            id: "0F5096E8", name: "Chrome Mirroring", namespaces: CastReceiverMachine.streamingNamespaces, role: .other),
        SimulatedCastApp(
            id: "85CDB22F", name: "Chrome Audio Mirroring", namespaces: CastReceiverMachine.streamingNamespaces,
            role: .other),
    ]
}

/// The members of a simulated group (`Protocols/cast` section 13).
public struct SimulatedCastGroup: Sendable, Hashable {
    public struct Member: Sendable, Hashable {
        /// A UUID with hyphens, as multizone names devices.
        public var id: String
        public var name: String
        public var capabilities: Int
        /// 0 to 1.
        public var level: Double
        public var muted: Bool

        public init(id: String, name: String, capabilities: Int = 4, level: Double = 1, muted: Bool = false) {
            self.id = id
            self.name = name
            self.capabilities = capabilities
            self.level = level
            self.muted = muted
        }
    }

    public var members: [Member]
    /// A member that the group's volume took to 0 does not come up again with it, as on real devices.
    public var zeroStays: Bool

    public init(members: [Member] = [], zeroStays: Bool = true) {
        self.members = members
        self.zeroStays = zeroStays
    }
}
