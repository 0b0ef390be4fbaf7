import ArgumentParser
import Foundation
import RouteModel
import RouterAPI
import RouterDaemon
import SceneScript

struct SceneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scene",
        abstract: "Several rooms, several steps, one file: check and run scenes.",
        discussion: """
            A scene is a YAML file of steps: play here, fade there, wait, move, say something, put things back. A NAME \
            stands for scenes/NAME.yaml beside the configuration file.

              router scene check morning.yaml
              router scene run morning.yaml --set loudness=25%
              router scene capture > now.yaml
            """,
        subcommands: [
            SceneCheckCommand.self, SceneRunCommand.self, SceneListCommand.self, SceneCaptureCommand.self,
        ])
}

struct SceneCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Find what is wrong with scenes, all of it at once.",
        discussion: """
            Each finding has its place, the line and a cure; -o json gives the same for editors. Rooms are looked for \
            on the network; --offline leaves that out. With --strict a warning counts as an error. The exit status is 65 where there are errors.

              router scene check Samples/Scenes/*.yaml
              router scene check party.yaml --offline --strict
              router scene check party.yaml --dry-run
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(
        help: "Files, or names of scenes.",
        completion: .custom { _, _, typed in DynamicCompletion.scenes(typed) })
    var scenes: [String]

    @Flag(name: .long, help: "Do not look for rooms.")
    var offline = false

    @Flag(name: .long, help: "Print what would be done, with the rooms as resolved.")
    var dryRun = false

    @Option(name: .long, help: ArgumentHelp("Give a variable a value; may be repeated.", valueName: "name=value"))
    var set: [String] = []

    func run() async throws {
        try await reporting(options) {
            let requests = try scenes.map { try SceneFile.request($0, set: set, options: options) }
            let checks: [SceneCheck]
            if offline {
                checks = await Self.check(requests, nil)
            } else {
                checks = try await SceneConnection.run(options) { router, _, _ in await Self.check(requests, router) }
            }
            return try SceneCheckReport(options: options, dryRun: dryRun, strict: options.strict).print(
                checks, of: requests)
        }
    }

    private static func check(_ requests: [SceneRequest], _ router: (any RouterControlling)?) async -> [SceneCheck] {
        var checks: [SceneCheck] = []
        for request in requests { checks.append(await SceneChecker().check(request, router: router)) }
        return checks
    }
}

/// What `scene check` prints, and the status that it ends with.
struct SceneCheckReport {
    let options: GlobalOptions
    let dryRun: Bool
    let strict: Bool

    struct Document: Encodable {
        var path: String
        var valid: Bool
        var diagnostics: [SceneDiagnostic]
        var plan: ScenePlan?
    }

    func print(_ checks: [SceneCheck], of requests: [SceneRequest]) throws -> Int32 {
        let isForPrograms = !options.output.isForPeople
        if isForPrograms {
            let documents = zip(checks, requests).map { check, request in
                Document(
                    path: request.path, valid: check.scene != nil, diagnostics: check.diagnostics,
                    plan: dryRun ? check.plan : nil)
            }
            if options.output == .ndjson {
                for document in documents { options.console.out(try Renderer.jsonLine(document)) }
            } else {
                options.console.out(try Renderer.document(documents, options.output))
            }
        } else {
            for check in checks { for line in lines(check) { options.console.out(line) } }
            if dryRun {
                let steps = checks.flatMap { $0.plan?.steps ?? [] }
                try options.renderer.render(steps, on: options.console)
            }
        }
        let all = checks.flatMap(\.diagnostics)
        let errors = all.count { $0.severity == .error }
        let warnings = all.count - errors
        if !isForPrograms, options.speaks { options.console.err(Self.summary(checks.count, errors, warnings)) }
        return errors > 0 || strict && warnings > 0 ? RouterError.Code.sceneInvalid.exitStatus : 0
    }

    private func lines(_ check: SceneCheck) -> [String] {
        if options.quiet { return check.diagnostics.map { Console.clean($0.summary) } }
        return check.diagnostics.flatMap { finding -> [String] in
            finding.description.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) + [""]
        }
    }

    static func summary(_ scenes: Int, _ errors: Int, _ warnings: Int) -> String {
        func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }
        guard errors + warnings > 0 else { return scenes == 1 ? "The scene is right." : "\(scenes) scenes are right." }
        return [errors > 0 ? count(errors, "error") : nil, warnings > 0 ? count(warnings, "warning") : nil]
            .compactMap { $0 }.joined(separator: ", ") + "."
    }
}

struct SceneListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List scenes, or their runs.",
        discussion: """
              router scene list
              router scene list --runs
            """)

    @OptionGroup var options: GlobalOptions

    @Flag(name: .long, help: "List the runs under way and the last that ended; needs the daemon.")
    var runs = false

    func run() async throws {
        try await reporting(options) {
            if runs {
                let runs = try await RouterConnection.daemon(options) { _, daemon in try await daemon.sceneRuns() }
                if runs.isEmpty, options.speaks { options.console.err("No scene has run.") }
                try options.renderer.render(runs, on: options.console)
                return 0
            }
            let rows = SceneFile.names(options).map { name in
                let path = SceneFile.path(name, options: options)
                let parsed = (try? SceneFiles.readText(path)).map { SceneParser.parse($0, path: path) }
                return SceneRow(
                    name: name, title: parsed?.scene?.name, description: parsed?.scene?.summary,
                    valid: parsed?.scene != nil, path: path)
            }
            if rows.isEmpty, options.speaks {
                options.console.err("No scenes: there is no file in \(SceneFile.folder(options))")
                options.console.err("  hint: Put scenes there, or run one by its path: “router scene run FILE”")
            }
            try options.renderer.render(rows, on: options.console)
            return 0
        }
    }
}

struct SceneCaptureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture",
        abstract: "Print what plays now as a scene that makes it so again.",
        discussion: """
            With rooms, queue, position, volumes and whether it is paused. It needs the daemon.

              router scene capture > evening.yaml
              router scene capture --name Evening Kitchen
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(help: "Rooms; without them, all that play.")
    var rooms: [String] = []

    @Option(name: .long, help: "What the scene is called, 1 to 64 characters.")
    var name = "Captured"

    func validate() throws {
        guard (1...64).contains(name.count) else { throw ValidationError("A scene's name has 1 to 64 characters.") }
    }

    func run() async throws {
        try await reporting(options) {
            // What a command plays in its own process ends with it: only a daemon has something to capture.
            let text = try await RouterConnection.daemon(options) { _, daemon in
                try await SceneCapture.capture(daemon, name: name, rooms: rooms)
            }
            options.console.raw(text)
            return 0
        }
    }
}

/// One file in the folder of scenes.
struct SceneRow: ListDisplayable {
    var name: String
    var title: String?
    var description: String?
    var valid: Bool
    var path: String

    static var header: [String] { ["SCENE", "STATE", "NAME", "DESCRIPTION"] }
    var row: [String] { [name, valid ? "ready" : "has errors", title ?? "–", description ?? ""] }
    var quietValue: String { name }
}

extension SceneRun: ListDisplayable {
    static var header: [String] { ["RUN", "SCENE", "STATE", "STEPS", "BY"] }
    var row: [String] {
        let done = steps.count { $0.result != .running }
        return [id, name, words, "\(done)", startedBy.map { "schedule \($0)" } ?? "a person"]
    }
    var quietValue: String { id }
}

extension SceneRun {
    /// How it stands.
    var words: String {
        if state == .running, let others = waitsFor, !others.isEmpty {
            return "waiting for \(Phrase.list(others.map { "“\($0)”" }))"
        }
        return state == .timedOut ? "timed out" : state.rawValue
    }
}

extension ScenePlan.Step: ListDisplayable {
    static var header: [String] { ["STEP", "LINE", "TARGET", "WHAT", "TAKES", "WARNINGS"] }
    var row: [String] {
        let takes = expected.map { $0 > 0 ? ClockTime.format(MediaTime(seconds: $0)) : "" }
        let limit = limit.map { "at most \(ClockTime.format(MediaTime(seconds: $0)))" }
        return [
            String(repeating: "  ", count: depth) + id, "\(line)", target ?? "", command,
            takes.flatMap { $0.isEmpty ? nil : $0 } ?? limit ?? "", warnings.joined(separator: "; "),
        ]
    }
    var quietValue: String { id }
}
