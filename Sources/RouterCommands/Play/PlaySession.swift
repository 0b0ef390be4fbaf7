import Foundation
import RouteModel

/// One `router play`, from the request to the exit status: follows events, shows them, takes keys and signals.
struct PlaySession: Sendable {
    let options: GlobalOptions
    let detach: Bool
    let control: any RouterControlling

    private enum Input: Sendable {
        case event(RouterEvent)
        case key(PlayerKey)
        case tick
        case interrupted
        case started(SessionSnapshot)
        case failed(any Error)
    }

    func run(_ request: PlayRequest) async throws -> Int32 {
        let console = options.console
        let terminal = Terminal.forPlayer(format: options.output)
        let (inputs, continuation) = AsyncStream.makeStream(of: Input.self)
        let events = await control.events()
        defer { terminal?.restore() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await event in events { continuation.yield(.event(event)) } }
            group.addTask { for await _ in Interrupts.stream() { continuation.yield(.interrupted) } }
            if let terminal {
                group.addTask { for await key in terminal.keys() { continuation.yield(.key(key)) } }
                group.addTask {
                    while (try? await Task.sleep(for: .milliseconds(250))) != nil { continuation.yield(.tick) }
                }
            }
            group.addTask {
                do {
                    continuation.yield(.started(try await control.play(request)))
                } catch {
                    continuation.yield(.failed(error))
                }
            }
            defer { group.cancelAll() }
            var follower = PlayFollower(console: console, options: options, terminal: terminal)
            for await input in inputs {
                switch input {
                case .event(let event):
                    follower.take(event)
                    if let over = follower.over { return try finish(over, &follower) }
                case .started(let snapshot):
                    follower.started(snapshot)
                    if let over = follower.over { return try finish(over, &follower) }
                    if detach { return try await leave(snapshot, &follower) }
                case .failed(let error):
                    follower.clear()
                    throw error
                case .tick:
                    follower.draw()
                case .interrupted:
                    follower.clear()
                    if let id = follower.session { try? await control.end(session: id, reason: .stop) }
                    throw RouterError(.cancelled, "stopped")
                case .key(let key):
                    guard let id = follower.session else { continue }
                    if key == .quit {
                        try? await control.end(session: id, reason: .stop)
                        continue
                    }
                    guard let command = key == .mute ? .mute(!follower.muted, room: nil) : key.command else { continue }
                    let control = control
                    // A command may take as long as a device does; the picture goes on meanwhile.
                    group.addTask {
                        do {
                            _ = try await control.perform(command, session: id, origin: .cli)
                        } catch let error as RouterError {
                            continuation.yield(
                                .event(
                                    RouterEvent(
                                        sequence: 0, body: .notice(Notice(.warning, error.message, hint: error.hint)))))
                        }
                    }
                }
            }
            return 0
        }
    }

    /// What goes on by itself is left alone; for the rest there is nothing that would go on.
    private func leave(_ snapshot: SessionSnapshot, _ follower: inout PlayFollower) async throws -> Int32 {
        let stays = snapshot.members.filter { $0.error == nil }
        let goesOn =
            stays.allSatisfy { $0.protocol?.family == .cast }
            && snapshot.queue.items.allSatisfy { if case .url = $0.source { true } else { false } }
            && snapshot.queue.items.count == 1
        guard goesOn else {
            try? await control.end(session: snapshot.id, reason: .stop)
            throw RouterError(
                .unavailable, "nothing would go on playing without this command",
                hint: "Leave --detach out; it is for one URL that a Cast receiver fetches by itself", scope: .session)
        }
        try await control.end(session: snapshot.id, reason: .leave)
        return try finish(snapshot, &follower)
    }

    private func finish(_ snapshot: SessionSnapshot, _ follower: inout PlayFollower) throws -> Int32 {
        follower.clear()
        if options.output == .json { options.console.out(try Renderer.json(snapshot)) }
        return PlayOutcome(snapshot).report(options)
    }
}

/// How a session ended, as an exit status.
struct PlayOutcome {
    let snapshot: SessionSnapshot

    init(_ snapshot: SessionSnapshot) { self.snapshot = snapshot }

    /// Says what has not been said yet, and gives the status.
    func report(_ options: GlobalOptions) -> Int32 {
        let lost = snapshot.members.filter { $0.error != nil }
        if !lost.isEmpty {
            let played = snapshot.members.count - lost.count
            if played > 0 {
                for member in snapshot.members {
                    let story = member.error.map { "failed: \($0.message)" } ?? "played"
                    if options.output != .json, options.output != .ndjson {
                        options.console.err("\(Console.clean(member.name)): \(Console.clean(story))")
                    }
                }
                return 8
            }
            guard let error = lost[0].error else { return 1 }
            if options.output == .json || options.output == .ndjson { options.report.say(error) }
            return error.code.exitStatus
        }
        if let error = snapshot.error {
            if options.output == .json || options.output == .ndjson { options.report.say(error) }
            return error.code.exitStatus
        }
        let failed = snapshot.queue.items.filter { $0.failure != nil }
        guard failed.isEmpty else {
            let error = RouterError(
                .itemFailed, "\(failed.count) of \(snapshot.queue.items.count) items did not play to their end",
                scope: .item, causes: failed.map { "\($0.title): \($0.failure ?? "")" })
            options.report.say(error)
            return error.code.exitStatus
        }
        return 0
    }
}
