import ArgumentParser
@preconcurrency import Dispatch
import Foundation
import RouteBackend
import RouteModel
import RouterDaemon
import SceneScript

struct SceneRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a scene, and tell what becomes of each step.",
        discussion: """
            The daemon runs it where there is one, and goes on when the terminal is closed; else this command does, and \
            stays while anything plays that the scene has left. \
            Ctrl-C twice cancels it: what it says under “finally” is done still, within ten seconds; once more ends \
            that too.

            The exit status is 0, 8 where a step failed and the scene went on, 1 where one ended it, 65 for a scene \
            with errors, 124 where one timed out, 130 where it was cancelled, or what it left playing was stopped.

              router scene run Samples/Scenes/party.yaml
              router scene run follow-me --set to=Kitchen
              router scene run bedtime -o json
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(
        help: "A file, or the name of a scene.",
        completion: .custom { _, _, typed in DynamicCompletion.scenes(typed) })
    var scene: String

    @Option(name: .long, help: ArgumentHelp("Give a variable a value; may be repeated.", valueName: "name=value"))
    var set: [String] = []

    @Flag(name: .long, help: "Return once it runs; needs the daemon.")
    var detach = false

    func run() async throws {
        try await reporting(options) {
            let request = try SceneFile.request(scene, set: set, options: options)
            return try await SceneConnection.run(options) { router, scenes, isDaemon in
                guard isDaemon || !detach else {
                    throw RouterError(
                        .daemonUnavailable, "without a daemon a scene runs only as long as this command",
                        hint: "Start one with “router daemon run”, or leave --detach out", scope: .command)
                }
                let follower = SceneFollower(options: options, isDaemon: isDaemon, scenes: scenes)
                if detach { return try await follower.start(request) }
                let status = try await follower.follow(request)
                // Who cancels a scene wants it quiet.
                if !isDaemon, status != RouterError.Code.cancelled.exitStatus {
                    try await SceneStay(context: VerbContext(router, isDaemon: false, options: options)).run()
                }
                return status
            }
        }
    }
}

/// What a scene leaves playing in this process plays for as long as the command runs.
struct SceneStay: Sendable {
    let context: VerbContext
    var interrupts: @Sendable () -> AsyncStream<Int32> = Signals.interrupts

    /// Returns once nothing plays any more. Throws `cancelled` after Ctrl-C, and `timeout` when `--timeout` has passed.
    func run() async throws {
        guard await context.router.sessions().contains(where: \.isActive) else { return }
        // Who reads the line may heed it at once.
        let interrupted = interrupts()
        context.note("It plays until this command ends; Ctrl-C stops it.")
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                while true {
                    let playing = await context.router.sessions().filter(\.isActive)
                    if playing.isEmpty { return }
                    let ended = try await SessionWaiter(context: context).wait(for: .ended, in: playing)
                    // Why it is quiet now; the status is the scene's.
                    for error in ended.compactMap({ PlayOutcome($0).error }) { context.report.say(error) }
                }
            }
            group.addTask {
                for await _ in interrupted { throw RouterError(.cancelled, "stopped") }
                throw CancellationError()
            }
            try await group.next()
        }
    }
}

/// One run from its start to the exit status: says each step as it ends, and takes Ctrl-C.
struct SceneFollower: Sendable {
    let options: GlobalOptions
    let isDaemon: Bool
    let scenes: any SceneControlling & SceneScheduling
    var clock: any HostClock = SystemHostClock()
    var signals: @Sendable () -> AsyncStream<Int32> = SceneSignals.all

    /// How long a daemon may be away: one that is started anew does not know the run.
    private static let patience: Int64 = 5_000_000_000
    private static let glance: Int64 = 1_000_000_000

    private enum Input: Sendable {
        case update(SceneRun)
        case signal(Int32)
        case ended
    }

    func start(_ request: SceneRequest) async throws -> Int32 {
        let run = try await scenes.startScene(request)
        try report(run)
        return 0
    }

    func follow(_ request: SceneRequest) async throws -> Int32 {
        let updates = await scenes.sceneUpdates()
        let run = try await scenes.startScene(request)
        let (inputs, input) = AsyncStream.makeStream(of: Input.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await update in updates where update.id == run.id { input.yield(.update(update)) }
                input.yield(.ended)
            }
            group.addTask { for await number in signals() { input.yield(.signal(number)) } }
            group.addTask {
                await look(at: run.id, input)
                input.yield(.ended)
            }
            defer { group.cancelAll() }
            return try await follow(run, inputs)
        }
    }

    /// It may have ended before the first update came, and a daemon may be told of late. Returns once nobody knows of the
    /// run any more, or answers.
    private func look(at id: String, _ input: AsyncStream<Input>.Continuation) async {
        var silent: Int64?
        repeat {
            do {
                input.yield(.update(try await scenes.sceneRun(id)))
                silent = nil
            } catch let error as RouterError where error.code == .routeNotFound {
                return
            } catch let error as RouterError where error.code == .daemonUnavailable {
                let since = silent ?? clock.now()
                if clock.now() - since >= Self.patience { return }
                silent = since
            } catch {
                // It answers, if not with the run.
                silent = nil
            }
        } while (try? await clock.sleep(nanoseconds: Self.glance)) != nil
    }

    private func follow(_ run: SceneRun, _ inputs: AsyncStream<Input>) async throws -> Int32 {
        var latest = run
        var told: [String: SceneStepReport] = [:]
        var awaited: [String] = []
        var interrupts = 0
        for await input in inputs {
            switch input {
            case .update(let update):
                // The first look and the updates may cross.
                guard latest.state == .running else { continue }
                if let others = update.waitsFor, others != awaited {
                    awaited = others
                    sayWait(for: others)
                }
                latest = update
                for step in update.steps where step.result != .running && told[step.id] != step {
                    told[step.id] = step
                    if options.speaks, !options.noProgress { options.console.err(Self.line(step)) }
                }
            case .signal(let number):
                if isDaemon, number != SIGINT { return 0 }
                interrupts += number == SIGINT ? 1 : 2
                try await interrupted(interrupts, run.id)
            case .ended:
                // The daemon has gone, or ends; what it knew last is all there is.
                latest = (try? await scenes.sceneRun(run.id)) ?? latest
                if latest.state == .running {
                    throw RouterError(
                        .daemonUnavailable, "the scene's run is not told of any more",
                        hint: "Run “router scene list --runs” to see what became of it", scope: .command)
                }
            }
            if latest.state != .running {
                try report(latest)
                return latest.exitStatus
            }
        }
        return RouterError.Code.cancelled.exitStatus
    }

    private func sayWait(for others: [String]) {
        guard options.speaks, !options.noProgress else { return }
        let names = Phrase.list(others.map { "“\(Console.clean($0))”" })
        options.console.err("Waits for the end of \(names), which holds a room of this one.")
    }

    private func interrupted(_ count: Int, _ id: String) async throws {
        if count == 1 {
            let rest = isDaemon ? "; it goes on in the daemon when you close the terminal" : ""
            if options.speaks { options.console.err("Ctrl-C again cancels the scene\(rest).") }
            return
        }
        try await scenes.cancelScene(id)
        if count == 2, options.speaks { options.console.err("Cancelling; what stands under “finally” is done still.") }
    }

    static func line(_ step: SceneStepReport) -> String {
        let target = step.target.map { " · \($0)" } ?? ""
        let detail = step.detail.map { ": \($0)" } ?? ""
        let time = (step.duration ?? 0) >= 1 ? " (\(ClockTime.format(MediaTime(seconds: step.duration ?? 0))))" : ""
        return Console.clean("\(step.result.mark) \(step.verb)\(target)\(time)\(detail)")
    }

    private func report(_ run: SceneRun) throws {
        guard options.output.isForPeople, !options.quiet else {
            return try options.renderer.render(one: run, on: options.console) { _ in [] }
        }
        try options.renderer.render(run.steps, on: options.console)
        options.console.err("\(Console.clean(run.name)): \(run.words).")
    }
}

extension SceneStepReport: ListDisplayable {
    static var header: [String] { ["STEP", "LINE", "VERB", "TARGET", "RESULT", "TIME", "DETAIL"] }
    var row: [String] {
        let time = duration.map {
            $0 >= 10 ? ClockTime.format(MediaTime(seconds: $0)) : "\(($0 * 10).rounded() / 10) s"
        }
        return [id, "\(line)", verb, target ?? "", result.words, time ?? "", detail ?? ""]
    }
    var quietValue: String { id }
}

extension SceneStepReport.Result {
    var words: String {
        switch self {
        case .doneUnverified: "done, unverified"
        case .timedOut: "timed out"
        default: rawValue
        }
    }

    var mark: String {
        switch self {
        case .running: "…"
        case .done: "✓"
        case .doneUnverified: "?"
        case .skipped, .superseded: "–"
        case .failed, .timedOut, .cancelled: "✗"
        }
    }
}

/// Every Ctrl-C and the like as it comes; the fourth ends the process at once.
enum SceneSignals {
    static func all() -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        let queue = DispatchQueue(label: "router.scene.signals")
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            Signals.ignore(number)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            var count: UInt = 0
            source.setEventHandler {
                count += max(1, source.data)
                if count >= 3 { signal(number, SIG_DFL) }
                continuation.yield(number)
            }
            source.resume()
            return source
        }
        continuation.onTermination = { _ in
            for source in sources { source.cancel() }
        }
        return stream
    }
}
