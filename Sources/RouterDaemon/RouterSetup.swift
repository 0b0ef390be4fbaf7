import Logging
import RouteBackend
import RouteModel
import RouterStore

/// What a router is put together from.
public struct RouterSetup: Sendable {
    public var configuration: RouterConfiguration
    /// The file that `configuration` was read from, whose changes are taken up while the router runs; nil watches none.
    public var configurationPath: String?
    /// Whether a person named that file, and it has to be there.
    public var configurationMustExist = false
    /// `--device` URIs.
    public var deviceURIs: [String]
    /// Where state is kept; nil keeps it in memory only.
    public var storePath: String?
    /// Whether a store that cannot be opened is an error: what is only to be kept is not done without it.
    public var mustRemember = false
    /// Asks a person for the password of a device, where there is a person; nil gives none.
    ///
    /// `announced` is false for a device that has not said that it wants one, and may not.
    public var askPassword: @Sendable (_ device: String, _ announced: Bool) async -> Secret?
    /// `ROUTER_PASSWORD`: for any device that has none in the configuration.
    public var password: Secret?
    public var logger: Logger
    /// Told what a person should know of how this router came up: state that cannot be kept, a file that others can read.
    public var say: @Sendable (Notice) -> Void
    /// Whether to look for devices on the network.
    public var discovers: Bool
    /// Chooses the picture that a device draws (C18).
    public var images: any ImageChoosing = FittingImage()
    /// Pictures of the web; nil makes a cache of the usual size.
    public var imageCache: (any ImageCaching)?

    public init(
        configuration: RouterConfiguration = RouterConfiguration(), deviceURIs: [String] = [], storePath: String? = nil,
        askPassword: @escaping @Sendable (String, Bool) async -> Secret? = { _, _ in nil }, password: Secret? = nil,
        logger: Logger, say: @escaping @Sendable (Notice) -> Void = { _ in }, discovers: Bool = true
    ) {
        self.configuration = configuration
        self.deviceURIs = deviceURIs
        self.storePath = storePath
        self.askPassword = askPassword
        self.password = password
        self.logger = logger
        self.say = say
        self.discovers = discovers
    }

    /// `$XDG_STATE_HOME/router/router.sqlite`, or under `~/.local/state`.
    public static func defaultStorePath(environment: [String: String]) -> String {
        RouterStore.defaultPath(environment: environment)
    }
}

/// Where the password of a device comes from: the configuration's entry for that very device, then the one for any
/// device, then a person.
struct DevicePasswords: Sendable {
    /// By the address of the endpoint.
    var configured: [String: Secret]
    var common: Secret?
    var ask: @Sendable (_ device: String, _ announced: Bool) async -> Secret?

    func password(of endpoint: Endpoint) async -> Secret? {
        if let known = configured[endpoint.address] ?? common { return known }
        // Cast knows no passwords: a person is never to be asked for one.
        guard endpoint.protocol.family != .cast else { return nil }
        return await ask(endpoint.name, endpoint.access == .password)
    }
}
