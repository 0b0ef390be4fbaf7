import Foundation
import RouteModel
import RouterDaemon
import SceneScript

/// The one way to what runs scenes: the daemon where one answers, else this process, for as long as the command runs.
enum SceneConnection {
    typealias Scenes = any SceneControlling & SceneScheduling

    static func run<Value: Sendable>(
        _ options: GlobalOptions, discovers: Bool = true, side: RouterConnection.Side? = nil,
        _ body: @escaping @Sendable (any RouterControlling, Scenes, _ isDaemon: Bool) async throws -> Value
    ) async throws -> Value {
        if case .daemon(let client) = side ?? RouterConnection.side(options) {
            try await RouterConnection.greet(client, options)
            return try await body(client, client, true)
        }
        let setup = try options.setup(discovers: discovers)
        return try await InProcessRouter.run(setup) { router in
            try await here(router, storePath: setup.storePath, say: setup.say) {
                try await body(router, $0, false)
            }
        }
    }

    /// For schedules, which a daemon that runs keeps in memory: it would write over what another process has written.
    static func schedules<Value: Sendable>(
        _ options: GlobalOptions, _ body: @escaping @Sendable (Scenes, _ isDaemon: Bool) async throws -> Value
    ) async throws -> Value {
        try await run(options, discovers: false, side: scheduleSide(options)) { _, scenes, isDaemon in
            try await body(scenes, isDaemon)
        }
    }

    static func scheduleSide(
        _ options: GlobalOptions, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> RouterConnection.Side {
        RouterConnection.side(options, passesConfiguration: true, passesDevices: true, environment: environment)
    }

    /// Runs scenes in this process, and ends them in order.
    static func here<Value: Sendable>(
        _ router: any RouterControlling, storePath: String?, say: @escaping @Sendable (Notice) -> Void,
        _ body: @escaping @Sendable (Scenes) async throws -> Value
    ) async throws -> Value {
        let host = SceneHost(
            router: router, schedules: storePath.map { FileScheduleStore(besideStore: $0) }, keepsTime: false,
            // What a step says is in its line of the report.
            tell: { if $0.severity != .info { say($0) } })
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await host.run() }
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(host))
            } catch {
                result = .failure(error)
            }
            await host.shutdown()
            group.cancelAll()
            return try result.get()
        }
    }
}

/// A scene's file as a person names it.
enum SceneFile {
    /// `NAME` is `scenes/NAME.yaml` beside the configuration file; what has a “/” or ends in .yaml or .yml is a path.
    static func path(_ text: String, options: GlobalOptions) -> String {
        let isPath = text.contains("/") || text.hasSuffix(".yaml") || text.hasSuffix(".yml")
        if isPath || FileManager.default.fileExists(atPath: text) { return text }
        return "\(folder(options))/\(text).yaml"
    }

    static func folder(_ options: GlobalOptions) -> String { folder(config: options.config) }

    static func folder(config: String? = nil) -> String {
        let environment = ProcessInfo.processInfo.environment
        let path = config ?? RouterConfiguration.defaultPath(environment: environment)
        return URL(fileURLWithPath: path).deletingLastPathComponent().appending(path: "scenes").path
    }

    /// What there is in the folder, by name.
    static func names(_ options: GlobalOptions) -> [String] { names(in: folder(options)) }

    static func names(in folder: String) -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".yaml") }.map { String($0.dropLast(5)) }.sorted()
    }

    /// Throws `mediaNotFound` with names that are near, `sceneInvalid`, and `usage` for a `--set` without “=”.
    static func request(_ text: String, set: [String], options: GlobalOptions) throws -> SceneRequest {
        let path = path(text, options: options)
        let contents: String
        do {
            contents = try SceneFiles.readText(path)
        } catch var error as RouterError where error.code == .mediaNotFound {
            let near = NearNames.of(text, among: names(options))
            error.candidates = near
            error.hint =
                near.first.map { "Did you mean “\($0)”?" } ?? "Name a file, or a scene that “router scene list” shows"
            throw error
        }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return SceneRequest(text: contents, path: path, values: try values(set), workingDirectory: folder)
    }

    static func values(_ set: [String]) throws -> [String: String] {
        var values: [String: String] = [:]
        for entry in set {
            guard let sign = entry.firstIndex(of: "="), sign > entry.startIndex else {
                throw RouterError(
                    .sceneInvalid, "“\(entry)” sets nothing", hint: "Write --set NAME=VALUE", scope: .command)
            }
            values[String(entry[..<sign])] = String(entry[entry.index(after: sign)...])
        }
        return values
    }
}
