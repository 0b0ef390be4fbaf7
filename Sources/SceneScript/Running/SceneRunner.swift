import RouteModel

/// Does the steps of one scene, and of those that it runs.
struct SceneRunner: Sendable {
    let router: any RouterControlling
    let clock: any SceneClock
    let files: SceneFiles
    let recorder: SceneRecorder
    let lease: SceneLease
    let aftermath: SceneAftermath
    /// What `finally` has after a cancellation.
    let lastSeconds: Double
    let tell: @Sendable (Notice) async -> Void

    /// The scene whose steps are done: the run's own, or one that it runs.
    struct Scope: Sendable {
        var scene: Scene
        var workingDirectory: String
        /// Before the ids of its steps in the report.
        var prefix = ""
        var depth = 0
    }

    /// Ends the scene, unless a step round this one goes on after an error.
    struct Abort: Error {
        var state: SceneRun.State
        var error: RouterError
    }

    private struct TimedOut: Error {}

    /// What became of a step that did not fail.
    struct Outcome: Sendable {
        var result: SceneStepReport.Result = .done
        var detail: String?

        /// The weaker of two results, both details.
        func joined(_ other: Outcome) -> Outcome {
            let ranks: [SceneStepReport.Result] = [.skipped, .done, .doneUnverified, .superseded]
            let rank = { ranks.firstIndex(of: $0) ?? 0 }
            let details = [detail, other.detail].compactMap { $0 }
            return Outcome(
                result: rank(result) >= rank(other.result) ? result : other.result,
                detail: details.isEmpty ? nil : details.joined(separator: "; "))
        }
    }

    func run(_ steps: [SceneStep], _ scope: Scope) async throws {
        for step in steps { try await run(step, scope) }
    }

    private func run(_ step: SceneStep, _ scope: Scope) async throws {
        try Task.checkCancellation()
        let id = scope.prefix + step.id
        await recorder.begin(id, step, at: clock.now())
        var tries = 0
        while true {
            let failure: Abort
            do {
                let outcome = try await limited(step.timeout) { try await perform(step, id, scope) }
                return await recorder.end(id, outcome.result, detail: outcome.detail, at: clock.now())
            } catch let error where Task.isCancelled || error is CancellationError {
                await recorder.end(id, .cancelled, detail: nil, at: clock.now())
                throw CancellationError()
            } catch let abort as Abort {
                failure = abort
            } catch is TimedOut {
                let limit = SceneValues.text(step.timeout ?? .zero)
                failure = Abort(
                    state: .timedOut, error: RouterError(.timeout, "it took longer than \(limit)", scope: .command))
            } catch {
                let error = RouterError(wrapping: error)
                failure = Abort(state: error.code == .timeout ? .timedOut : .failed, error: error)
            }
            var policy = step.onError
            if case .retry(let times, let backoff, let then) = policy {
                if tries < times {
                    tries += 1
                    // Doubling, to 2^9 at most: `times` is ten at most.
                    do {
                        try await clock.sleep(seconds: backoff.seconds * Double(1 << (tries - 1)))
                    } catch {
                        await recorder.end(id, .cancelled, detail: nil, at: clock.now())
                        throw CancellationError()
                    }
                    continue
                }
                policy = then
            }
            return try await give(up: step, id, failure, tries: tries, policy, scope)
        }
    }

    private func give(
        up step: SceneStep, _ id: String, _ failure: Abort, tries: Int, _ policy: SceneErrorPolicy, _ scope: Scope
    ) async throws {
        let place = "\(scope.scene.path):\(step.span.line)"
        let again = tries > 0 ? " (tried \(tries + 1) times)" : ""
        await recorder.end(
            id, failure.state == .timedOut ? .timedOut : .failed,
            detail: "\(place): \(failure.error.message)\(again)", error: failure.error, at: clock.now())
        switch policy {
        case .continue: await recorder.noteFailure()
        case .fallback(let steps): try await run(steps, scope)
        case .stop, .retry:
            var error = failure.error
            error.causes.insert("\(place): \(step.verb.name)", at: 0)
            throw Abort(state: failure.state, error: error)
        }
    }

    /// Does it, and gives up after a time; then what it began is cancelled and awaited.
    private func limited(
        _ limit: MediaTime?, _ body: @escaping @Sendable () async throws -> Outcome
    ) async throws -> Outcome {
        guard let limit else { return try await body() }
        return try await withThrowingTaskGroup(of: Outcome?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await clock.sleep(seconds: limit.seconds)
                return nil
            }
            defer { group.cancelAll() }
            guard let outcome = try await group.next() ?? nil else { throw TimedOut() }
            return outcome
        }
    }

    // MARK: Steps of steps

    private func perform(_ step: SceneStep, _ id: String, _ scope: Scope) async throws -> Outcome {
        switch step.verb {
        case .delay(let time):
            try await clock.sleep(seconds: time.seconds)
            return Outcome()
        case .log(let message, let severity):
            await tell(Notice(severity, "\(scope.scene.name): \(message)"))
            return Outcome(detail: message)
        case .parallel(let steps, let any): return try await parallel(steps, any: any, scope)
        case .repeat(let loop): return try await repeated(loop, scope)
        case .when(let condition, let then, let otherwise):
            let holds = try await self.holds(condition, scope)
            try await run(holds ? then : otherwise, scope)
            return Outcome(detail: holds ? "it holds" : "it does not hold")
        case .waitFor(let condition): return try await wait(for: condition, scope)
        case .runScene(let path, let values): return try await call(path, values, id, scope)
        case .restore(let name): return try await restore(name, id, scope)
        default: return try await SceneAction(runner: self, scope: scope, step: step, id: id).perform()
        }
    }

    private func parallel(_ steps: [SceneStep], any: Bool, _ scope: Scope) async throws -> Outcome {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for step in steps { group.addTask { try await run(step, scope) } }
            var failure: (any Error)?
            while let result = await group.nextResult() {
                switch result {
                case .success where any:
                    group.cancelAll()
                    return Outcome()
                case .success: break
                case .failure(let error):
                    failure = failure ?? error
                    if !any { group.cancelAll() }
                }
            }
            if let failure { throw failure }
            return Outcome()
        }
    }

    private func repeated(_ loop: SceneRepeat, _ scope: Scope) async throws -> Outcome {
        let end = loop.duration.map { clock.now() + $0.nanoseconds }
        var rounds = 0
        while rounds < min(loop.times ?? SceneLimits.rounds, SceneLimits.rounds) {
            if let end, clock.now() >= end { break }
            try await run(loop.steps, scope)
            rounds += 1
            if let until = loop.until, try await holds(until, scope) { break }
            await Task.yield()
        }
        return Outcome(detail: "\(rounds) \(rounds == 1 ? "time" : "times")")
    }

    private func call(_ path: String, _ values: [String: String], _ id: String, _ scope: Scope) async throws -> Outcome
    {
        guard scope.depth < SceneLimits.nesting else {
            throw RouterError(
                .sceneInvalid, "more than \(SceneLimits.nesting) scenes run each other",
                hint: "Look for a circle of “run_scene”")
        }
        let whole = SceneFiles.absolute(path, in: scope.workingDirectory)
        let (scene, diagnostics) = SceneParser.parse(try files.read(whole), path: path, values: values)
        guard let scene else { throw RouterError(scene: path, diagnostics) }
        let inner = Scope(
            scene: scene, workingDirectory: scope.workingDirectory, prefix: "\(id)>", depth: scope.depth + 1)
        var failure: (any Error)?
        do {
            try await run(scene.steps, inner)
        } catch {
            failure = error
        }
        try await finish(scene.finally, inner)
        if let failure { throw failure }
        return Outcome(detail: scene.name)
    }

    /// Does what a scene says under `finally`, also when the step that runs it is cancelled: then within `lastSeconds`.
    private func finish(_ steps: [SceneStep], _ scope: Scope) async throws {
        guard !steps.isEmpty else { return }
        let (cancels, cancel) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let result = await withTaskCancellationHandler {
            await aftermath.run { await finish(steps, scope, cancels) }
        } onCancel: {
            cancel.yield()
        }
        guard let result else { throw CancellationError() }
        try result.get()
    }

    private func finish(
        _ steps: [SceneStep], _ scope: Scope, _ cancels: AsyncStream<Void>
    ) async -> Result<Void, any Error> {
        await withTaskGroup(of: Result<Void, any Error>?.self) { group in
            group.addTask {
                do { return .success(try await run(steps, scope)) } catch { return .failure(error) }
            }
            group.addTask {
                for await _ in cancels {
                    do { try await clock.sleep(seconds: lastSeconds) } catch { return nil }
                    return .failure(CancellationError())
                }
                return nil
            }
            var result: Result<Void, any Error>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            return result ?? .failure(CancellationError())
        }
    }

    private func restore(_ name: String, _ id: String, _ scope: Scope) async throws -> Outcome {
        guard let snapshot = await recorder.snapshot(scope.prefix + name) else {
            return Outcome(result: .skipped, detail: "the snapshot “\(name)” was not taken")
        }
        let rooms = snapshot.places.map(\.name)
        await recorder.resolved(id, rooms.joined(separator: ", "))
        if let who = await lease.overruled(rooms) { return Outcome(result: .superseded, detail: who) }
        await lease.began(on: rooms)
        do {
            let restored = try await SceneRestoring(router: router, snapshot: snapshot).restore()
            await lease.done(on: rooms, sessions: restored.sessions)
            if restored.hasFailures { await recorder.noteFailure() }
            return Outcome(detail: restored.losses.isEmpty ? nil : restored.losses.joined(separator: "; "))
        } catch {
            await lease.done(on: rooms, sessions: await router.sessions())
            throw error
        }
    }

    // MARK: Conditions

    func holds(
        _ condition: SceneCondition, _ scope: Scope, before: [SessionSnapshot] = []
    ) async throws -> Bool {
        let time = clock.localTime()
        // The time of day alone needs nobody to be asked.
        guard !condition.targets.isEmpty else {
            return condition.evaluate { $0.holds(minutes: time.minutes, day: time.day) } ?? false
        }
        let house = try await SceneHouse.look(router)
        var targets: [String: [SceneHouse.Place]] = [:]
        for name in condition.targets {
            guard let target = scope.scene.target(name) else { continue }
            // One that is not there is in no state, and not present.
            if case .places(let found)? = try? house.resolve(target) { targets[name] = found.places }
        }
        return condition.evaluate {
            house.holds($0, targets: targets, time: time, before: before)
        } ?? false
    }

    /// How often what no event tells of is looked at: the time, a position.
    private static let glance: Int64 = 500_000_000

    private func wait(for condition: SceneCondition, _ scope: Scope) async throws -> Outcome {
        let before = await router.sessions()
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let events = await router.events()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in events { signal.yield() } }
            group.addTask {
                while true {
                    try await clock.sleep(until: clock.now() + Self.glance)
                    signal.yield()
                }
            }
            defer { group.cancelAll() }
            if try await holds(condition, scope, before: before) { return Outcome() }
            for await _ in signals where try await holds(condition, scope, before: before) { return Outcome() }
            throw CancellationError()
        }
    }
}

extension RouterError {
    /// Of a scene with errors: its diagnostics are the causes.
    init(scene path: String, _ diagnostics: [SceneDiagnostic]) {
        let errors = diagnostics.filter { $0.severity == .error }
        self.init(
            .sceneInvalid, "\(path) has \(errors.count) \(errors.count == 1 ? "error" : "errors")",
            hint: "Run “router scene check \(path)”", scope: .command, causes: errors.map(\.description))
    }
}
