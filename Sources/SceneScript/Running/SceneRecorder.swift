import RouteModel

/// What a run has come to, and what its steps keep for each other.
actor SceneRecorder {
    private(set) var run: SceneRun
    /// A step failed, and the scene went on.
    private(set) var hasFailures = false
    /// By name, after what stands before the ids of its scene's steps: scenes inside others have names of their own.
    private var snapshots: [String: SceneSnapshot] = [:]
    private var places: [String: Int] = [:]
    private var began: [String: Int64] = [:]
    private var revision = 0
    private let changed: @Sendable (SceneRun, _ revision: Int) async -> Void

    /// - Parameter changed: is told of each new state with its number: two may come to it in the wrong order.
    init(_ run: SceneRun, changed: @escaping @Sendable (SceneRun, _ revision: Int) async -> Void) {
        self.run = run
        self.changed = changed
    }

    private func publish() async {
        revision += 1
        await changed(run, revision)
    }

    /// A step begins, or begins again: then its report takes the place of the one before.
    func begin(_ id: String, _ step: SceneStep, at now: Int64) async {
        began[id] = now
        let report = SceneStepReport(
            id: id, verb: step.verb.name, line: step.span.line, column: step.span.column, target: nil)
        if let place = places[id] {
            run.steps[place] = report
        } else if run.steps.count < SceneLimits.reports {
            places[id] = run.steps.count
            run.steps.append(report)
        }
        await publish()
    }

    /// The rooms that a step turned out to act on.
    func resolved(_ id: String, _ target: String) async {
        guard let place = places[id] else { return }
        run.steps[place].target = target
        await publish()
    }

    func end(
        _ id: String, _ result: SceneStepReport.Result, detail: String?, error: RouterError? = nil, at now: Int64
    ) async {
        guard let place = places[id] else { return }
        run.steps[place].result = result
        run.steps[place].detail = detail
        run.steps[place].error = error
        run.steps[place].duration = Double(now - (began[id] ?? now)) / 1e9
        await publish()
    }

    func noteFailure() { hasFailures = true }

    func keep(_ snapshot: SceneSnapshot, as name: String) { snapshots[name] = snapshot }
    func snapshot(_ name: String) -> SceneSnapshot? { snapshots[name] }

    func finish(_ state: SceneRun.State, at wall: Double) async {
        run.state = state
        run.ended = wall
        await publish()
    }
}
