import RouteModel

/// Tells what happens on the way while something is done: its steps, with the time that has passed, and what a person
/// should know.
struct PhaseReport {
    let context: VerbContext

    func during<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        guard context.options.speaks else { return try await body() }
        let events = await context.router.events()
        let began = ContinuousClock.now
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            defer { group.cancelAll() }
            group.addTask(operation: body)
            group.addTask {
                for await event in events { tell(event, since: began) }
                return nil
            }
            while let ended = try await group.next() {
                if let value = ended { return value }
            }
            throw CancellationError()
        }
    }

    private func tell(_ event: RouterEvent, since began: ContinuousClock.Instant) {
        switch event.body {
        case .phase(let phase) where !context.options.noProgress:
            let passed = (ContinuousClock.now - began).components
            let tenths = passed.seconds * 10 + passed.attoseconds / 100_000_000_000_000_000
            context.console.err(
                context.console.styled("\(tenths / 10).\(tenths % 10) s  \(Console.clean(phase))", .dim))
        case .notice(let notice): context.report.say(notice)
        default: break
        }
    }
}
