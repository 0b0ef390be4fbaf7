import Foundation
import RouteModel

/// One `router play`, from the request to the exit status: follows events, shows them, takes keys and signals.
struct PlaySession: Sendable {
    let options: GlobalOptions
    let detach: Bool
    let control: any RouterControlling

    /// How often a person is asked again for a password that a device did not take.
    private static let passwordAttempts = 3

    private enum Input: Sendable {
        case event(RouterEvent)
        case typed([UInt8])
        case question(PasswordPrompt.Question)
        case redraw(Int32)
        case tick
        case interrupted
        /// It has not begun within the time that a person gave it.
        case late(Delay)
        case started(SessionSnapshot, TransferResult?)
        case failed(any Error)
    }

    func run(_ request: PlayRequest) async throws -> Int32 {
        try await run { (try await $0.play(request), nil) }
    }

    /// Takes up a session that another process was playing.
    func rejoin(_ session: SessionID) async throws -> Int32 {
        try await run { (try await $0.rejoin(session), nil) }
    }

    /// Takes up such a session, and moves what it plays to other rooms. Where that fails it is left as it was.
    func move(_ session: SessionID, to rooms: [String]) async throws -> Int32 {
        try await run { control in
            _ = try await control.rejoin(session)
            do {
                let result = try await control.transfer(session: session, to: rooms)
                return (result.session, result)
            } catch {
                try? await control.end(session: session, reason: .leave)
                throw error
            }
        }
    }

    private func run(
        _ begin: @escaping @Sendable (any RouterControlling) async throws -> (SessionSnapshot, TransferResult?)
    ) async throws -> Int32 {
        let console = options.console
        let terminal = Terminal.forPlayer(options)
        let (inputs, continuation) = AsyncStream.makeStream(of: Input.self)
        let events = await control.events()
        defer { terminal?.restore() }
        if terminal != nil {
            options.report.say(
                Notice(
                    .info, "it plays until this command ends",
                    hint: "“router daemon run”, in another terminal or as a service, plays on when terminals close"))
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await event in events { continuation.yield(.event(event)) } }
            group.addTask { for await _ in Signals.interrupts() { continuation.yield(.interrupted) } }
            if let terminal {
                group.addTask { for await bytes in Terminal.input() { continuation.yield(.typed(bytes)) } }
                group.addTask {
                    for await number in Signals.redraws() {
                        if number == SIGCONT { terminal.prepare() }
                        continuation.yield(.redraw(number))
                    }
                }
                group.addTask {
                    for await question in await PasswordPrompt.shared.questions() {
                        continuation.yield(.question(question))
                    }
                    await PasswordPrompt.shared.release()
                }
            }
            group.addTask {
                while (try? await Task.sleep(for: .milliseconds(250))) != nil { continuation.yield(.tick) }
            }
            let play: @Sendable () async -> Void = { [control] in
                do {
                    let (snapshot, transfer) = try await begin(control)
                    continuation.yield(.started(snapshot, transfer))
                } catch {
                    continuation.yield(.failed(error))
                }
            }
            group.addTask(operation: play)
            if let timeout = options.timeout {
                group.addTask {
                    guard (try? await Task.sleep(for: timeout.duration)) != nil else { return }
                    continuation.yield(.late(timeout))
                }
            }
            var follower = PlayFollower(console: console, options: options, terminal: terminal)
            defer {
                follower.dropQuestions()
                group.cancelAll()
            }
            var attempts = 0
            var transfer: TransferResult?
            var hasStarted = false
            for await input in inputs {
                switch input {
                case .event(let event):
                    follower.take(event)
                    if let over = follower.over { return finish(over, &follower, transfer) }
                case .started(let snapshot, let moved):
                    transfer = moved
                    hasStarted = true
                    follower.started(snapshot)
                    if let over = follower.over { return finish(over, &follower, transfer) }
                    if detach { return try await leave(snapshot, &follower, transfer) }
                case .failed(let error):
                    follower.clear()
                    attempts += 1
                    guard attempts < Self.passwordAttempts, await asksAgain(after: error) else { throw error }
                    follower.startOver()
                    group.addTask(operation: play)
                case .redraw(let number):
                    // After Ctrl-Z the shell has written below the picture, which is history now.
                    if number == SIGCONT { follower.forgetPicture() }
                    follower.draw()
                case .tick:
                    follower.tick()
                case .question(let question):
                    follower.take(question)
                case .interrupted:
                    throw try await stop(&follower, terminal)
                case .late(let limit):
                    // It plays, and then it may take its time.
                    if hasStarted { continue }
                    _ = try await stop(&follower, terminal)
                    throw VerbContext.tookTooLong("starting", limit)
                case .typed(let bytes):
                    if follower.isAsking {
                        follower.type(bytes)
                        continue
                    }
                    for key in PlayerKey.parse(bytes) {
                        guard let id = follower.session else {
                            // Nothing plays yet: the one wish that can be met is to give up.
                            if key == .quit { throw try await stop(&follower, terminal) }
                            continue
                        }
                        if key == .quit {
                            try? await control.end(session: id, reason: .stop)
                            continue
                        }
                        guard let command = follower.command(key) else { continue }
                        // A command may take as long as a device does; the picture goes on meanwhile.
                        group.addTask { [control] in
                            do {
                                let result = try await control.perform(command, session: id, origin: .cli)
                                if case .failed(let error) = result.outcome { throw error }
                            } catch let error as RouterError {
                                let notice = Notice(.warning, error.message, hint: error.hint)
                                continuation.yield(.event(RouterEvent(sequence: 0, body: .notice(notice))))
                            }
                        }
                    }
                }
            }
            return 0
        }
    }

    /// Ctrl-C, a polite kill, or a change of mind before anything plays. Gives the error to throw.
    private func stop(_ follower: inout PlayFollower, _ terminal: Terminal?) async throws -> RouterError {
        follower.clear()
        // Before anything that may hang: the next Ctrl-C ends the process at once.
        terminal?.restore()
        follower.dropQuestions()
        if let id = follower.session { try? await control.end(session: id, reason: .stop) }
        return RouterError(.cancelled, "stopped")
    }

    /// Whether a person is to be asked for a password, after a device wanted one or refused the one that was typed.
    private func asksAgain(after error: any Error) async -> Bool {
        guard let error = error as? RouterError, PasswordPrompt.isPossible else { return false }
        let prompt = PasswordPrompt.shared
        switch error.code {
        // Asked once already: the person gave no answer. A device that shows a code is paired with, and has no password.
        case .authRequired where await !prompt.insists && error.hint?.contains("router pair") != true: break
        // One that nobody typed stands in the configuration or in ROUTER_PASSWORD, and would be sent again.
        case .authFailed where await prompt.answered > 0: break
        default: return false
        }
        options.console.err(Console.clean(error.message))
        await prompt.insist()
        return true
    }

    static let nothingGoesOn = RouterError(
        .unavailable, "nothing would go on playing without this command",
        hint:
            "Start a daemon first (router daemon run), or leave --detach out; without a daemon only one URL that a Cast "
            + "receiver fetches by itself goes on", scope: .session)

    /// What goes on by itself is left alone; for the rest there is nothing that would go on.
    private func leave(
        _ snapshot: SessionSnapshot, _ follower: inout PlayFollower, _ transfer: TransferResult?
    ) async throws -> Int32 {
        let stays = snapshot.members.filter { $0.error == nil }
        let goesOn =
            stays.allSatisfy { $0.protocol?.family == .cast }
            && snapshot.queue.items.allSatisfy { if case .url = $0.source { true } else { false } }
            && snapshot.queue.items.count == 1
        guard goesOn else {
            try? await control.end(session: snapshot.id, reason: .stop)
            throw Self.nothingGoesOn
        }
        try await control.end(session: snapshot.id, reason: .leave)
        return finish(snapshot, &follower, transfer)
    }

    private func finish(
        _ snapshot: SessionSnapshot, _ follower: inout PlayFollower, _ transfer: TransferResult?
    ) -> Int32 {
        follower.clear()
        var transfer = transfer
        transfer?.session = snapshot
        let format = options.output
        let document =
            transfer.map { try? Renderer.document($0, format) } ?? (try? Renderer.document(snapshot, format))
        if format == .json || format == .yaml, let document { options.console.out(document) }
        let outcome = PlayOutcome(snapshot)
        if options.output.isForPeople {
            for story in outcome.stories { options.console.err(Console.clean(story)) }
        }
        if let error = outcome.error, error.code == .itemFailed || !options.speaks { options.report.say(error) }
        return outcome.status
    }
}
