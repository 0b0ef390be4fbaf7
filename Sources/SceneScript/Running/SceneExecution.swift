import RouteModel

/// How a run is told to end.
struct SceneCancels: Sendable {
    let steps, hurry, end: AsyncStream<Void>
}

/// One run of a scene: its steps, then what it says under `finally`.
struct SceneExecution: Sendable {
    let scene: Scene
    let folder: String
    let router: any RouterControlling
    let clock: any SceneClock
    let files: SceneFiles
    let tell: @Sendable (Notice) async -> Void
    let recorder: SceneRecorder

    private enum Ending: Sendable {
        case done
        case aborted(SceneRun.State)
        case cancelled
        /// Something beside the steps ended.
        case aside
    }

    /// - Parameters:
    ///   - cancels: what ends the steps; what lets `finally` go on for `lastSeconds` only, which comes with it; and what
    ///     ends that too.
    func run(cancels: SceneCancels, lastSeconds: Double) async -> SceneRun.State {
        let lease = SceneLease(exclusive: scene.exclusive)
        await lease.begin(await router.sessions())
        let aftermath = SceneAftermath()
        let runner = SceneRunner(
            router: router, clock: clock, files: files, recorder: recorder, lease: lease, aftermath: aftermath,
            lastSeconds: lastSeconds, tell: tell)
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { await aftermath.serve(until: cancels.end) }
            let state = await run(runner, cancels)
            group.cancelAll()
            return state
        }
    }

    private func run(_ runner: SceneRunner, _ cancels: SceneCancels) async -> SceneRun.State {
        let main = await stage(scene.steps, runner, cancel: cancels.steps, hurry: nil)
        var last = Ending.done
        if !scene.finally.isEmpty {
            last =
                await runner.aftermath.run {
                    await stage(scene.finally, runner, cancel: nil, hurry: cancels.hurry)
                } ?? .cancelled
        }
        switch (main, last) {
        case (.cancelled, _): return .cancelled
        case (.aborted(let state), _): return state
        case (_, .aborted(let state)): return state
        case (_, .cancelled): return .cancelled
        default: return await recorder.hasFailures ? .partial : .done
        }
    }

    private func stage(
        _ steps: [SceneStep], _ runner: SceneRunner, cancel: AsyncStream<Void>?, hurry: AsyncStream<Void>?
    ) async -> Ending {
        let events = await router.events()
        return await withTaskGroup(of: Ending.self) { group in
            group.addTask {
                do {
                    try await runner.run(steps, SceneRunner.Scope(scene: scene, workingDirectory: folder))
                    return .done
                } catch let abort as SceneRunner.Abort {
                    return .aborted(abort.state)
                } catch {
                    return .cancelled
                }
            }
            if let cancel {
                group.addTask {
                    for await _ in cancel { return .cancelled }
                    return .aside
                }
            }
            group.addTask {
                await runner.lease.watch(events)
                return .aside
            }
            if let hurry {
                group.addTask {
                    for await _ in hurry {
                        guard (try? await clock.sleep(seconds: runner.lastSeconds)) != nil else { return .aside }
                        return .cancelled
                    }
                    return .aside
                }
            }
            var ending = Ending.cancelled
            while let next = await group.next() {
                if case .aside = next { continue }
                ending = next
                break
            }
            group.cancelAll()
            // A step that ends well or badly while it is cancelled changes nothing of that.
            await group.waitForAll()
            return ending
        }
    }
}
