import RouteModel

/// Finds steps that are never done, as far as the scene itself says.
struct SceneReachability {
    let findings: SceneFindings

    func look(at scene: Scene) { look(at: scene.steps + scene.finally) }

    private func look(at steps: [SceneStep]) {
        for step in steps {
            look(at: step)
            for block in step.verb.blocks { look(at: block.steps) }
            if case .fallback(let steps) = step.onError {
                switch step.verb {
                case .log, .delay: unreachable(steps, because: "“\(step.verb.name)” does not fail")
                default: break
                }
                look(at: steps)
            }
        }
    }

    private func look(at step: SceneStep) {
        guard let condition = step.verb.condition else { return }
        let known = Self.value(of: condition)
        switch (step.verb, known) {
        case (.when(_, let then, _), false?): unreachable(then, because: "the condition never holds")
        case (.when(_, _, let otherwise), true?): unreachable(otherwise, because: "the condition always holds")
        case (.waitFor, false?):
            findings.warning(
                "unreachable", "what is waited for never comes", at: step.span,
                help: "look at the times that are compared")
        case (.repeat(let loop), false?) where loop.times == nil:
            findings.warning(
                "unreachable", "“until” never holds: the steps are repeated for as long as “for” says", at: step.span,
                help: "look at the times that are compared")
        default: break
        }
    }

    private func unreachable(_ steps: [SceneStep], because reason: String) {
        guard let first = steps.first else { return }
        findings.warning(
            "unreachable", "this step is never done: \(reason)", at: first.span,
            help: "look at the condition, or remove the step")
    }

    /// True or false where it is so on every day and at every time of it, whatever the targets do.
    static func value(of condition: SceneCondition) -> Bool? {
        let comparisons = condition.comparisons
        // Between two times that the condition names, nothing changes.
        var times: Set<Int> = [0, 1439]
        for comparison in comparisons {
            guard case (.time, .number(let minutes)) = (comparison.subject, comparison.value) else { continue }
            times.formUnion([Int(minutes) - 1, Int(minutes), Int(minutes) + 1].filter { (0..<1440).contains($0) })
        }
        let namesDays = comparisons.contains { $0.subject == .day }
        var values: Set<Bool?> = []
        for day in 1...(namesDays ? 7 : 1) {
            for minutes in times { values.insert(condition.evaluate { $0.holds(minutes: minutes, day: day) }) }
            if values.count > 1 || values.contains(nil) { return nil }
        }
        return values.first ?? nil
    }
}
