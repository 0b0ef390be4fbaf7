import ArgumentParser
import CastBackend
import RouteBackend
import RouteModel
import RouterDaemon

/// The Cast device that a verb of `router cast` is for.
struct CastTarget: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Name, id or unique beginning of one, or a URI such as cast://192.168.1.21.", valueName: "device"))
    var device: String

    /// Throws `routeNotFound`, `routeAmbiguous`, `unsupported` (no Cast there) or `configuration` (not a URI).
    func endpoint(_ options: GlobalOptions) async throws -> Endpoint {
        try await Self.endpoints([device], options)[0]
    }

    /// All of these devices, looked for once.
    static func endpoints(_ devices: [String], _ options: GlobalOptions) async throws -> [Endpoint] {
        let uris = devices.filter { $0.contains("://") }
        var setup = try options.setup(discovers: uris.count < devices.count)
        setup.deviceURIs += uris
        let list = try await InProcessRouter.run(setup) { try await $0.routes(settle: true) }
        return try devices.map { device in
            let route = try Self.route(device, in: list.routes)
            guard let endpoint = Self.cast(device, in: route) else {
                throw RouterError(
                    .unsupported, "“\(route.name)” does not speak Google Cast",
                    hint: "Run “router devices” to see which do", scope: .route)
            }
            return endpoint
        }
    }

    /// The Cast side of a route; where it has several, the one that these words name.
    static func cast(_ words: String, in route: Route) -> Endpoint? {
        let all = route.endpoints.filter { $0.protocol == .cast }
        let stated = StrongKey.stated(words)
        return all.first { $0.address == words || stated.map($0.strongKeys.contains) ?? false } ?? all.first
    }

    /// Connects, does `body` and says goodbye.
    func control<Value: Sendable>(
        _ options: GlobalOptions, _ body: @Sendable (CastControl) async throws -> Value
    ) async throws -> Value {
        let endpoint = try await endpoint(options)
        return try await CastControl.with(
            endpoint, identity: try CastIdentityService.policy(try options.setup()), logger: options.logger(), body)
    }

    /// Does `body`, then says in one line what it gives; with `-o json`, the device as it is then.
    func act(_ options: GlobalOptions, _ body: @Sendable (CastControl) async throws -> String) async throws {
        try await reporting(options) {
            let isDocument = !options.output.isForPeople
            let (line, report) = try await control(options) { control in
                let line = try await body(control)
                return (line, isDocument ? try await control.report() : nil)
            }
            if let report {
                options.console.out(try Renderer.document(report, options.output))
            } else if options.speaks {
                options.console.out(Console.clean(line))
            }
            return 0
        }
    }

    /// The one route that these words mean.
    static func route(_ words: String, in routes: [Route]) throws -> Route {
        let wanted = words.lowercased()
        let stated = StrongKey.stated(words)
        let exact = routes.filter { route in
            route.name.lowercased() == wanted || route.id.rawValue.lowercased() == wanted
                || route.endpoints.contains { endpoint in
                    endpoint.address == words || endpoint.host == words
                        || endpoint.strongKeys.contains { $0 == stated || $0.value == wanted }
                }
        }
        let found =
            exact.isEmpty
            ? routes.filter {
                $0.name.lowercased().hasPrefix(wanted) || $0.id.rawValue.lowercased().hasPrefix(wanted)
            } : exact
        guard let first = found.first else {
            throw RouterError(
                .routeNotFound, "there is no device called “\(words)”",
                hint: "Run “router devices” to see what there is, or name it: cast://192.168.1.21", scope: .route,
                candidates: routes.map(\.name))
        }
        guard found.count == 1 else {
            throw RouterError(
                .routeAmbiguous, "“\(words)” could be \(found.map(\.name).joined(separator: " or "))",
                hint: "Type more of the name, or an id from “router devices --long”", scope: .route,
                candidates: found.map(\.name))
        }
        return first
    }
}
