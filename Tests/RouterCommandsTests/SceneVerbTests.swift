import ArgumentParser
import RouteBackend
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import RouterCommands

@Suite("CLI scenes: what a command follows, and how long it stays")
struct SceneVerbTests {
    /// Scenes as a daemon tells of them that a test has go away.
    private final class Scenes: SceneControlling, SceneScheduling {
        private let answers: Mutex<[Result<SceneRun, RouterError>]>
        static let run = SceneRun(id: "sc-1", name: "Test", path: "t.yaml", started: 0)

        /// - Parameter answers: to each question for the run; the last stays.
        init(_ answers: [Result<SceneRun, RouterError>]) { self.answers = Mutex(answers) }

        func startScene(_ request: SceneRequest) async throws -> SceneRun { Self.run }
        func sceneRun(_ id: String) async throws -> SceneRun {
            try answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }.get()
        }
        func sceneRuns() async throws -> [SceneRun] { [] }
        func cancelScene(_ id: String) async throws {}
        /// A client waits for its daemon, for as long as that takes.
        func sceneUpdates() async -> AsyncStream<SceneRun> { AsyncStream { _ in } }
        func schedules() async throws -> [SceneSchedule] { [] }
        func saveSchedule(_ schedule: SceneSchedule) async throws {}
        func removeSchedule(_ id: String) async throws {}
    }

    private static let silent = Result<SceneRun, RouterError>.failure(RouterError(.daemonUnavailable, "no daemon"))
    private static let unknown = Result<SceneRun, RouterError>.failure(RouterError(.routeNotFound, "no such run"))

    /// Follows a run while time passes. Gives the error that it ends with, and the seconds that it took.
    private func follow(_ answers: [Result<SceneRun, RouterError>]) async throws -> (Result<Int32, RouterError>, Double)
    {
        let clock = ManualClock()
        let began = clock.now()
        var follower = SceneFollower(
            options: try GlobalOptions.parse(["-q"]), isDaemon: true, scenes: Scenes(answers), clock: clock)
        follower.signals = { AsyncStream { _ in } }
        let ended = LatestValue<Result<Int32, RouterError>?>(nil)
        let task = Task { [follower] in
            do {
                let status = try await follower.follow(SceneRequest(text: "", path: "t.yaml"))
                ended.update { $0 = .success(status) }
            } catch {
                ended.update { $0 = .failure(RouterError(wrapping: error)) }
            }
        }
        defer { task.cancel() }
        _ = await eventually {
            if ended.value == nil, clock.sleepers > 0 { clock.advance(seconds: 1) }
            return ended.value != nil
        }
        return (try #require(ended.value), Double(clock.now() - began) / 1e9)
    }

    @Test("R4 a daemon that ends leaves nobody waiting for its scene: at once where it is another one, else in seconds")
    func gone() async throws {
        let running = Result<SceneRun, RouterError>.success(Scenes.run)
        for (answers, seconds) in [
            ([running, Self.unknown], 0.0...2), ([running, Self.silent], 5...8),
            // It was away for a moment only.
            ([Self.silent, Self.silent, running, running, Self.silent], 8...12),
        ] {
            let (ended, took) = try await follow(answers)
            guard case .failure(let error) = ended else {
                Issue.record("it ended with \(ended)")
                continue
            }
            #expect(error.code == .daemonUnavailable && error.code.exitStatus == 7)
            #expect(error.hint?.contains("router scene list --runs") == true)
            #expect(seconds.contains(took), "\(took)")
        }
    }

    @Test("R4 without a daemon what a scene leaves playing is stayed for, until Ctrl-C") func stays() async throws {
        let printed = Mutex("")
        let console = Console(writingTo: .init(columns: 80) { text, _ in printed.withLock { $0 += text } })
        func stay(_ sessions: [SessionSnapshot]) async throws {
            let context = VerbContext(
                ScriptedRouter(SampleHouse.script(sessions)), isDaemon: false, options: try GlobalOptions.parse([]),
                console: console)
            var stay = SceneStay(context: context)
            stay.interrupts = { AsyncStream { $0.yield(2) } }
            try await stay.run()
        }
        try await stay([])
        try await stay([SampleHouse.session("se-1", ["Kitchen"], media: .stopped)])
        #expect(printed.withLock { $0.isEmpty })
        let error = await #expect(throws: RouterError.self) {
            try await stay([SampleHouse.session("se-1", ["Kitchen"])])
        }
        #expect(error?.code == .cancelled)
        #expect(printed.withLock { $0 } == "It plays until this command ends; Ctrl-C stops it.\n")
    }

    @Test("R4 a captured scene has a name that a scene can have") func names() throws {
        for name in ["", String(repeating: "x", count: 65)] {
            #expect(throws: (any Error).self) { try RouterCommand.parseAsRoot(["scene", "capture", "--name", name]) }
        }
        let most = String(repeating: "x", count: 64)
        #expect(try RouterCommand.parseAsRoot(["scene", "capture", "--name", most]) is SceneCaptureCommand)
    }
}
