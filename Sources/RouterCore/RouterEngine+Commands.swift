import RouteBackend
import RouteModel

/// Commands from people and programs: to the session that is meant, and no later than they are wanted.
extension RouterEngine {
    public func perform(
        _ command: RemoteCommand, session: SessionID?, origin: CommandOrigin, terms: CommandTerms
    ) async throws -> CommandResult {
        try terms.check()
        let deadline = terms.within.map { clock.now() + $0.nanoseconds }
        if let session, let queue = suspendedQueue(of: session) {
            guard terms.expected == nil || terms.expected == queue.current else {
                return CommandResult(id: .random(), outcome: .superseded)
            }
            guard let deadline else { return try await takeUp(session, by: command) }
            let id = CommandID.random()
            let outcome = try await ended(by: deadline) {
                try await self.takeUp(session, by: command).outcome
            } otherwise: {
                .unverified
            }
            return CommandResult(id: id, outcome: outcome)
        }
        let target = try chosenSession(session)
        let command = named(command)
        if namesGroup(command) { await target.know(storedGroups) }
        let order = CommandOrder(id: .random(), origin: origin, expected: terms.expected, deadline: deadline)
        var report = CommandReport(
            id: order.id, session: target.id, command: command, origin: origin, outcome: .accepted)
        do {
            if let deadline {
                report.outcome = try await timely(command, order, by: deadline, in: target)
            } else {
                report.outcome = try await outcome(of: command, order, in: target)
            }
        } catch {
            report.outcome = .failed(RouterError(wrapping: error))
            tell(report)
            throw error
        }
        tell(report)
        return CommandResult(id: report.id, outcome: report.outcome)
    }

    /// A command with a deadline, which it ends by.
    private func timely(
        _ command: RemoteCommand, _ order: CommandOrder, by deadline: Int64, in target: PlaybackSession
    ) async throws -> CommandOutcome {
        let result: Result<CommandOutcome, RouterError>
        do {
            result = .success(
                try await ended(by: deadline) {
                    try await self.observed(command, order, in: target)
                } otherwise: {
                    await target.hasBegun(order.id) ? .unverified : .timedOut
                })
        } catch {
            result = .failure(RouterError(wrapping: error))
        }
        await target.forget(order.id)
        return try result.get()
    }

    private func outcome(
        of command: RemoteCommand, _ order: CommandOrder, in target: PlaybackSession
    ) async throws -> CommandOutcome {
        if case .device(let route) = order.origin {
            try await target.perform(command, by: route, order: order)
        } else {
            try await target.perform(command, order)
        }
    }

    /// As `outcome`, and what was only taken is waited for until it shows, for as long as it takes. What no snapshot shows
    /// stays as it was answered.
    private func observed(
        _ command: RemoteCommand, _ order: CommandOrder, in target: PlaybackSession
    ) async throws -> CommandOutcome {
        let effect = CommandEffect(command, before: await target.snapshot())
        let outcome = try await outcome(of: command, order, in: target)
        guard outcome == .accepted else { return outcome }
        for await event in await events() {
            let now: SessionSnapshot?
            switch event.body {
            case .snapshot(_, let sessions): now = sessions.first { $0.id == target.id }
            case .session(let changed) where changed.id == target.id: now = changed
            default: continue
            }
            guard let now, let isSeen = effect.isSeen(in: now) else { return outcome }
            if isSeen { return .succeeded }
            // Nothing more will come of it.
            if !isRunning(target.id) { return .superseded }
            // Nobody waits for it any more.
            if let deadline = order.deadline, clock.now() >= deadline { return outcome }
        }
        return outcome
    }

    /// What becomes of `body`, which goes on whatever happens; `otherwise` where it has not come to its end by then.
    private func ended(
        by deadline: Int64, _ body: @escaping @Sendable () async throws -> CommandOutcome,
        otherwise: @escaping @Sendable () async -> CommandOutcome
    ) async throws -> CommandOutcome {
        let (ends, end) = AsyncStream.makeStream(of: Result<CommandOutcome, RouterError>.self)
        let isTaken = jobs.add {
            do {
                end.yield(.success(try await body()))
            } catch {
                end.yield(.failure(RouterError(wrapping: error)))
            }
        }
        guard isTaken else { throw Self.isEnding }
        let clock = clock
        let first = await withTaskGroup(of: Result<CommandOutcome, RouterError>?.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for await result in ends { return result }
                return nil
            }
            group.addTask {
                guard (try? await clock.sleep(until: deadline)) != nil else { return nil }
                return .success(await otherwise())
            }
            return await group.next() ?? nil
        }
        guard let first else { throw RouterError(.cancelled, "the command was given up", scope: .command) }
        return try first.get()
    }
}

/// Whose a command is, and under which conditions it is still wanted.
struct CommandOrder: Sendable {
    var id: CommandID
    var origin: CommandOrigin
    var expected: ItemID?
    /// In host nanoseconds.
    var deadline: Int64?

    var hasTerms: Bool { expected != nil || deadline != nil }

    init(
        id: CommandID = .random(), origin: CommandOrigin = .system, expected: ItemID? = nil, deadline: Int64? = nil
    ) {
        self.id = id
        self.origin = origin
        self.expected = expected
        self.deadline = deadline
    }
}
