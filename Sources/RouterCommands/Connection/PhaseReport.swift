import RouteModel

/// Tells what happens on the way while something is done: its steps, with the time that has passed, and what a person
/// should know.
struct PhaseReport {
    let context: VerbContext

    private enum Step<Value: Sendable>: Sendable {
        case ended(Result<Value, any Error>)
        /// Errors that were told on the way, and no reader of events any more.
        case told([Notice])
    }

    func during<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        guard context.options.speaks else { return try await body() }
        let events = await context.router.events()
        let began = ContinuousClock.now
        return try await withThrowingTaskGroup(of: Step<Value>.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                do {
                    return .ended(.success(try await body()))
                } catch {
                    return .ended(.failure(error))
                }
            }
            group.addTask {
                var errors: [Notice] = []
                for await event in events {
                    if case .notice(let notice) = event.body, notice.severity == .error {
                        errors.append(notice)
                    } else {
                        tell(event, since: began)
                    }
                }
                return .told(errors)
            }
            var result: Result<Value, any Error>?
            var errors: [Notice]?
            while result == nil || errors == nil, let step = try await group.next() {
                switch step {
                case .ended(let ended):
                    result = ended
                    group.cancelAll()
                case .told(let told): errors = told
                }
            }
            guard let result else { throw CancellationError() }
            // What is thrown is said by whoever catches it, and not twice.
            var thrown: RouterError?
            if case .failure(let error) = result { thrown = error as? RouterError }
            for notice in errors ?? [] where thrown.map({ !notice.message.contains($0.message) }) ?? true {
                context.report.say(notice)
            }
            return try result.get()
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
