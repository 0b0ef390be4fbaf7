import Foundation
import RouteModel
import RouterAPI

/// How a daemon is to be reached, and what its clients may do.
public struct ServiceOptions: Sendable {
    /// The Unix socket, which only this user may use; nil listens on none.
    public var socketPath: String?
    /// Where to listen by TCP; nil does not. Beyond loopback it needs a token.
    public var http: RouterPlace? { didSet { httpMayFail = false } }
    /// What clients that come by TCP have to show; nil lets in whoever reaches the port.
    public var token: APIToken?
    /// Folders whose files may be named by clients that come by TCP. The owner of the socket may name any.
    public var roots: [String]
    /// Names by which this machine is called in addresses, beside those of loopback (against DNS rebinding).
    public var hostNames: [String]
    public var limits = ServiceLimits()
    /// Ends at SIGTERM and SIGINT.
    public var handlesSignals = true
    /// A port that is taken, by another user's daemon for one, is told and lived with: nobody has asked for it.
    var httpMayFail = false
    /// In their place, for a test.
    var endings: AsyncStream<Int32>?
    /// Takes up again what another daemon has left playing.
    public var rejoins = true
    /// Of the process: `LISTEN_FDS` and `NOTIFY_SOCKET` of systemd.
    public var environment: [String: String]
    /// Called once when it listens, with the places.
    public var ready: @Sendable ([RouterPlace]) -> Void

    public init(
        socketPath: String? = nil, http: RouterPlace? = nil, token: APIToken? = nil, roots: [String] = [],
        hostNames: [String] = [], environment: [String: String] = ProcessInfo.processInfo.environment,
        ready: @escaping @Sendable ([RouterPlace]) -> Void = { _ in }
    ) {
        self.socketPath = socketPath
        self.http = http
        self.token = token
        self.roots = roots
        self.hostNames = hostNames
        self.environment = environment
        self.ready = ready
    }

    /// The user's socket, and HTTP on loopback.
    public static func usual(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> ServiceOptions {
        var options = ServiceOptions(
            http: .http(host: "127.0.0.1", port: RouterPlace.defaultPort), environment: environment)
        if case .socket(let path) = RouterPlace.defaultSocket(environment: environment) { options.socketPath = path }
        options.httpMayFail = true
        return options
    }
}

/// What one client, and all of them together, may use.
public struct ServiceLimits: Sendable {
    /// Connections at a time, by TCP and by the socket each.
    public var connections = 2048
    /// Of one address.
    public var connectionsOfOne = 1200
    /// Readers of events at a time.
    public var eventReaders = 1500
    /// Requests of one TCP client in a second, and at once after a pause.
    public var requestsPerSecond = 50.0
    public var burst = 200.0
    /// Of the socket's owner.
    public var ownRequestsPerSecond = 2000.0
    /// A body has to have come within so many seconds.
    public var bodySeconds: Int64 = 20
    /// An idle connection is closed after so many seconds.
    public var idleSeconds: Int64 = 60
    /// A reader of events that takes nothing for so long is let go.
    public var stallSeconds: Int64 = 30
    /// Between signs of life on a stream of events.
    public var heartbeatSeconds: Int64 = 15
    /// Bytes of events that are kept for those who were away, and at most so many events.
    public var keptEventBytes = 16 << 20
    public var keptEvents = 2000
    /// Requests that go on after they were answered.
    public var pendingWork = 256

    public init() {}
}
