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
        _ options: GlobalOptions, discovers: Bool = true, remembers: Bool = false, side: Side? = nil,
        _ body: @escaping @Sendable (VerbContext) async throws -> Value
    ) async throws -> Value {
        switch side ?? self.side(options) {
        case .daemon(let client):
            try await greet(client, options)
            return try await body(
                VerbContext(client, isDaemon: true, options: options, defaultRoom: DefaultRoom.name(in: options.config))
            )
        case .here:
            var setup = try options.setup(discovers: discovers)
            setup.mustRemember = remembers
            return try await InProcessRouter.run(setup) { control in
                try await body(
                    VerbContext(
                        control, isDaemon: false, options: options, defaultRoom: DefaultRoom.name(in: options.config)))
            }
        }
    }

    /// For what only a daemon can do. Throws `daemonUnavailable`.
    static func daemon<Value: Sendable>(
        _ options: GlobalOptions, _ body: @escaping @Sendable (VerbContext, RouterClient) async throws -> Value
    ) async throws -> Value {
        guard case .daemon(let client) = side(options, passesConfiguration: true) else { throw noDaemon }
        try await greet(client, options)
        return try await body(
            VerbContext(client, isDaemon: true, options: options, defaultRoom: DefaultRoom.name(in: options.config)),
            client)
    }

    /// Makes sure that a daemon answers, lets us in and means the same by its words.
    ///
    /// Throws `daemonUnavailable`, `unauthorized`, and `protocolViolation` for one of another version of the API.
    static func greet(
        _ client: RouterClient, _ options: GlobalOptions, within patience: Duration? = nil
    ) async throws {
        let cure =
            options.host == nil
            ? "Start the daemon again, so that it runs what is installed: router daemon stop, then router daemon run"
            : "Install the same version on both machines"
        let there: APICapabilities
        do {
            there = try await answer(of: client, within: patience) { try await client.capabilities() }
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

    /// How long a daemon may take for what it knows at once, and one that is only started by the question.
    private static let patience = Duration.seconds(10)
    private static let startPatience = Duration.seconds(60)

    /// What a daemon that is well says at once. Throws `daemonUnavailable` for one that hangs.
    ///
    /// - Parameter patience: nil: as long as is right for the daemon's place.
    static func answer<Value: Sendable>(
        of client: RouterClient, within patience: Duration? = nil,
        _ question: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        var isHere = false
        var limit = Self.patience
        if case .socket(let path) = client.place {
            isHere = true
            if UnixSocket.listener(at: path)?.isSystemd == true { limit = startPatience }
        }
        let patience = patience ?? limit
        let place = client.place
        let hint =
            isHere
            ? "Look at its log for what holds it up; “router daemon stop” ends it, “router daemon run” starts it again"
            : "Look at it on its own machine: “router daemon stop” ends it there, “router daemon run” starts it again"
        return try await withThrowingTaskGroup(of: Value.self) { group in
            defer { group.cancelAll() }
            group.addTask(operation: question)
            group.addTask {
                try await Task.sleep(for: patience)
                throw RouterError(
                    .daemonUnavailable,
                    "the daemon at \(place) hangs: it has taken the question, and not answered within "
                        + ClockTime.words(patience / .seconds(1)), hint: hint, scope: .command, retry: .afterUserAction)
            }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }

    /// A receiver that is named for one command, or a configuration of its own, is nothing that a daemon knows of.
    ///
    /// - Parameters:
    ///   - passesConfiguration: for what only a daemon can do or know: then `--config` does not matter.
    ///   - passesDevices: for what has nothing to do with devices: then `--device` does not matter.
    static func side(
        _ options: GlobalOptions, passesConfiguration: Bool = false, passesDevices: Bool = false,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> Side {
        let token = environment["ROUTER_TOKEN"].flatMap { $0.isEmpty ? nil : APIToken($0) }
        if let host = options.host, let place = try? RouterPlace(host) {
            return .daemon(RouterClient(place, token: token))
        }
        guard passesDevices || options.device.isEmpty, passesConfiguration || options.config == nil else {
            return .here
        }
        let place = RouterPlace.defaultSocket(environment: environment)
        guard case .socket(let path) = place, UnixSocket.listener(at: path) != nil else { return .here }
        return .daemon(RouterClient(place, token: token))
    }

    static let noDaemon = RouterError(
        .daemonUnavailable, "no daemon is running here",
        hint: "Start one with “router daemon run”, or name one by --host",
        retry: .afterUserAction)
}
