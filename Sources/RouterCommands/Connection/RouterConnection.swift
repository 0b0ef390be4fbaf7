import Foundation
import RouteModel
import RouterAPI
import RouterDaemon

/// The one way from a verb to a router: the daemon's client where a daemon answers, else a router in this process.
enum RouterConnection {
    /// Who does the work.
    enum Side: Sendable {
        case daemon(RouterClient)
        /// This process, for as long as the command runs.
        case here
    }

    /// Runs a body with whatever router there is.
    ///
    /// - Parameter discovers: false for what needs no device: then a router in this process does not look for any.
    static func run<Value: Sendable>(
        _ options: GlobalOptions, discovers: Bool = true,
        _ body: @escaping @Sendable (any RouterControlling) async throws -> Value
    ) async throws -> Value {
        try await open(options, discovers: discovers) { try await body($0.router) }
    }

    static func open<Value: Sendable>(
        _ options: GlobalOptions, discovers: Bool = true, side: Side? = nil,
        _ body: @escaping @Sendable (VerbContext) async throws -> Value
    ) async throws -> Value {
        switch side ?? self.side(options) {
        case .daemon(let client):
            try await greet(client, options)
            return try await body(
                VerbContext(client, isDaemon: true, options: options, defaultRoom: DefaultRoom.name()))
        case .here:
            let setup = try options.setup(discovers: discovers)
            return try await InProcessRouter.run(setup) { control in
                try await body(
                    VerbContext(
                        control, isDaemon: false, options: options, defaultRoom: DefaultRoom.name()))
            }
        }
    }

    /// For what only a daemon can do. Throws `daemonUnavailable`.
    static func daemon<Value: Sendable>(
        _ options: GlobalOptions, _ body: @escaping @Sendable (VerbContext, RouterClient) async throws -> Value
    ) async throws -> Value {
        guard case .daemon(let client) = side(options) else { throw noDaemon }
        try await greet(client, options)
        return try await body(
            VerbContext(client, isDaemon: true, options: options, defaultRoom: DefaultRoom.name()), client)
    }

    /// Makes sure that a daemon answers, lets us in and means the same by its words.
    ///
    /// Throws `daemonUnavailable`, `unauthorized`, and `protocolViolation` for one of another version of the API.
    static func greet(_ client: RouterClient, _ options: GlobalOptions) async throws {
        let cure =
            options.host == nil
            ? "Start the daemon again, so that it runs what is installed: router daemon stop, then router daemon run"
            : "Install the same version on both machines"
        let there: APICapabilities
        do {
            there = try await client.capabilities()
        } catch var error as RouterError where error.code == .protocolViolation {
            error.hint = cure
            throw error
        }
        let here = APICapabilities(scenes: there.scenes)
        guard there.version == here.version else {
            throw RouterError(
                .protocolViolation,
                "the daemon at \(client.place) speaks version \(there.version) of the API, and this "
                    + "command \(here.version)", hint: cure, scope: .command, retry: .afterUserAction)
        }
        if there != here, !options.quiet {
            options.report.say(
                Notice(
                    .warning,
                    "the daemon at \(client.place) is of another version than this command: some verbs may fail",
                    hint: cure))
        }
    }

    /// A receiver that is named for one command, or a configuration of its own, is nothing that a daemon knows of.
    static func side(
        _ options: GlobalOptions, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> Side {
        let token = environment["ROUTER_TOKEN"].flatMap { $0.isEmpty ? nil : APIToken($0) }
        if let host = options.host, let place = try? RouterPlace(host) {
            return .daemon(RouterClient(place, token: token))
        }
        guard options.device.isEmpty, options.config == nil else { return .here }
        let place = RouterPlace.defaultSocket(environment: environment)
        guard case .socket(let path) = place, UnixSocket.listener(at: path) != nil else { return .here }
        return .daemon(RouterClient(place, token: token))
    }

    static let noDaemon = RouterError(
        .daemonUnavailable, "no daemon is running here",
        hint: "Start one with “router daemon run”, or name one by --host",
        retry: .afterUserAction)
}
