import Foundation
import RouteModel

/// What became of a command in one session: a line, or an object, of the output.
struct PerformedCommand: ListDisplayable, Equatable {
    var command: String
    var session: SessionID
    /// Those that it was done to: all of the session, unless it was for some of them only.
    var rooms: [String]
    /// Those that play on where only some rooms were stopped.
    var playsOn: [String]?
    var outcome: String
    /// Whether its effect was seen.
    var verified: Bool
    /// Of what plays now.
    var title: String?
    var state: MediaState?
    /// In seconds, in the item.
    var position: MediaTime?
    /// 0 to 100: of the room that was meant, else of the whole session.
    var volume: Int?
    var muted: Bool?
    /// 0 to 100: of each room that was meant.
    var levels: [String: Int]?
    var error: RouterError?

    static var header: [String] { ["ROOMS", "COMMAND", "RESULT", "STATE", "VOLUME", "TITLE", "SESSION"] }
    var row: [String] {
        [
            rooms.joined(separator: ", "), command, outcome, state?.rawValue ?? "", volume.map(String.init) ?? "",
            title ?? "", session.rawValue,
        ]
    }
    var quietValue: String { session.rawValue }
}

/// Does a command in each session that is meant, sees whether it had its effect, and says so.
struct CommandPerformer {
    let context: VerbContext
    /// What the command is called: “pause”.
    let name: String
    var terms = TermsOptions.none
    /// Where only some rooms of a session are meant, these leave it, and nothing else is done.
    var takesRoomsOut = false

    /// How long an effect is waited for, unless a person says otherwise.
    static let patience = Duration.seconds(3)

    /// - Parameter commands: what is to be done in a session; more than one where rooms are meant one by one.
    /// - Parameter sentence: what to say of a session afterwards.
    func perform(
        on targets: [SessionTarget], _ commands: (SessionTarget) throws -> [RemoteCommand],
        sentence: (PerformedCommand) -> String
    ) async throws -> Int32 {
        var reports: [PerformedCommand] = []
        for target in targets {
            do {
                let wanted = try commands(target)
                reports.append(try await perform(wanted, on: target))
            } catch let error as RouterError {
                // What was done to others before is told all the same.
                reports.append(await report(.failed(error), target, rooms: target.names))
            }
        }
        try show(reports, sentence)
        if let wait = context.options.wait, wait != .observed, reports.allSatisfy({ $0.error == nil }) {
            // One that plays on elsewhere is not waited for.
            let left = Set(reports.filter { $0.playsOn == nil }.map(\.session))
            try await SessionWaiter(context: context).wait(
                for: wait, in: targets.map(\.session).filter { left.contains($0.id) })
        }
        return status(reports)
    }

    /// Throws `UsageError` for terms that are none.
    private func perform(_ commands: [RemoteCommand], on target: SessionTarget) async throws -> PerformedCommand {
        if takesRoomsOut, let part = target.part { return await takeOut(part, of: target) }
        var outcome = CommandOutcome.succeeded
        do {
            for command in commands {
                let next = try await perform(command, on: target)
                if !next.isDone || !outcome.isDone { outcome = outcome.isDone ? next : outcome }
                if next.isError { break }
            }
        } catch let error as UsageError {
            throw error
        } catch {
            outcome = .failed(RouterError(wrapping: error))
        }
        // What is no room's own is done to all that play together, whichever of them was named.
        let isOfRooms = !commands.isEmpty && commands.allSatisfy(\.isOfRoom)
        return await report(outcome, target, rooms: isOfRooms ? target.names : target.session.playingNames)
    }

    private func takeOut(_ part: SessionTarget.Part, of target: SessionTarget) async -> PerformedCommand {
        let (router, session) = (context.router, target.session.id)
        var outcome = CommandOutcome.succeeded
        do {
            _ = try await context.within(name) { try await router.leave(session: session, rooms: part.rooms) }
        } catch {
            outcome = .failed(RouterError(wrapping: error))
        }
        var report = await report(outcome, target, rooms: part.rooms)
        guard report.error == nil else { return report }
        // What the session is at by now is the others' affair.
        (report.state, report.position, report.volume, report.muted, report.levels) = (.stopped, nil, nil, nil, nil)
        report.playsOn = part.others
        return report
    }

    private func perform(_ command: RemoteCommand, on target: SessionTarget) async throws -> CommandOutcome {
        let session = target.session.id
        let router = context.router
        let terms = try terms.terms(in: target.session)
        let result = try await context.within(name) {
            try await router.perform(command, session: session, origin: .cli, terms: terms)
        }
        let effect = CommandEffect(command, before: target.session)
        switch result.outcome {
        case .accepted, .unverified:
            // With a deadline the router has waited.
            guard !context.options.noWait, terms.within == nil else { return result.outcome }
            return await isSeen(effect, in: session) ? .succeeded : .unverified
        case .noActionableItem where effect.isSeen(in: target.session) == true:
            // What is wanted is so already.
            return .succeeded
        default: return result.outcome
        }
    }

    /// Follows the session until the effect shows, or patience ends.
    private func isSeen(_ effect: CommandEffect, in session: SessionID) async -> Bool {
        let router = context.router
        let patience = context.options.timeout?.duration ?? Self.patience
        return await withTaskGroup(of: Bool.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for await event in await router.events() {
                    let snapshot: SessionSnapshot?
                    switch event.body {
                    case .snapshot(_, let sessions):
                        snapshot = sessions.first { $0.id == session }
                        if snapshot == nil { return effect.isStop }
                    case .session(let changed) where changed.id == session: snapshot = changed
                    default: continue
                    }
                    switch snapshot.flatMap(effect.isSeen) {
                    case true?: return true
                    case nil: return false
                    case false?: continue
                    }
                }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: patience)
                return false
            }
            return await group.next() ?? false
        }
    }

    private func report(
        _ outcome: CommandOutcome, _ target: SessionTarget, rooms: [String]
    ) async -> PerformedCommand {
        let now = await context.router.sessions().first { $0.id == target.session.id }
        var report = PerformedCommand(
            command: name, session: target.session.id, rooms: rooms, outcome: outcome.word,
            verified: outcome == .succeeded, title: (now ?? target.session).currentItem?.title,
            state: now?.media ?? .stopped, position: now?.nextPosition,
            error: outcome.error(name, Phrase.list(rooms), terms))
        // One room has a volume of its own; several together have the master.
        let one = rooms.count == 1 && rooms.count < target.session.members.count ? rooms.first : nil
        let member = now?.members.first { $0.name == one }
        let volume = member?.volume ?? now?.shownVolume
        report.volume = volume?.level.percent
        report.muted = volume?.muted
        report.levels = now.map { session in
            Dictionary(
                session.members.compactMap { member in
                    guard report.rooms.contains(member.name), let level = member.volume?.level else { return nil }
                    return (member.name, level.percent)
                }, uniquingKeysWith: { first, _ in first })
        }
        return report
    }

    private func show(_ reports: [PerformedCommand], _ sentence: (PerformedCommand) -> String) throws {
        let done = reports.filter { $0.error == nil }
        if context.options.output == .table, context.options.format == nil, context.options.fields == nil,
            !context.options.quiet
        {
            for report in done { context.say(sentence(report)) }
        } else {
            try context.renderer.render(reports.count == 1 ? done : reports, on: context.console)
        }
        for report in reports {
            if let error = report.error {
                context.report.say(error)
            } else if !report.verified {
                context.report.say(
                    Notice(
                        .info, "\(Phrase.list(report.rooms)) took “\(name)”, but it does not show yet",
                        hint: "Run “router status” to see what it did; --strict makes this an error"))
            }
        }
    }

    private func status(_ reports: [PerformedCommand]) -> Int32 {
        let failed = reports.compactMap(\.error)
        if let first = failed.first {
            if terms.within != nil, first.code == .timeout, failed.count == reports.count { return ExitStatus.deadline }
            return failed.count < reports.count ? ExitStatus.partial : ExitStatus.of(first, context.options)
        }
        return context.options.strict && reports.contains { !$0.verified } ? ExitStatus.deadline : 0
    }
}

extension CommandOutcome {
    fileprivate var isDone: Bool { self == .succeeded }

    /// For output: the case's name.
    var word: String {
        switch self {
        case .succeeded: "succeeded"
        case .accepted: "accepted"
        case .unverified: "unverified"
        case .superseded: "superseded"
        case .noSuchContent: "noSuchContent"
        case .noActionableItem: "noActionableItem"
        case .deviceNotFound: "deviceNotFound"
        case .unsupported: "unsupported"
        case .denied: "denied"
        case .timedOut: "timedOut"
        case .failed: "failed"
        }
    }

    /// What to say where it is one.
    func error(_ command: String, _ rooms: String, _ terms: TermsOptions = .none) -> RouterError? {
        switch self {
        case .succeeded, .accepted, .unverified: nil
        case .superseded where terms.ifItem != nil:
            RouterError(
                .commandSuperseded, "another item plays in \(rooms) by now, and nothing was done",
                hint: "Run “router status” to see what plays", scope: .command)
        case .timedOut where terms.within != nil:
            RouterError(
                .timeout, "“\(command)” could not be begun in \(rooms) in time, and is not done any more",
                hint: "Run “router status” to see what it is at, or give it longer with --within", scope: .command,
                retry: .later)
        case .superseded:
            RouterError(
                .commandSuperseded, "somebody else gave \(rooms) another command meanwhile, and that one stands",
                hint: "Run “router status” to see what plays, and give the command again if it is still wanted",
                scope: .command)
        case .noSuchContent:
            RouterError(
                .unavailable, "there is nothing to go to with “\(command)” in \(rooms)",
                hint: "Run “router queue list” to see what there is", scope: .command)
        case .noActionableItem:
            RouterError(
                .unavailable, "nothing plays in \(rooms) that “\(command)” could be done to",
                hint: "Run “router status” to see what plays", scope: .command)
        case .deviceNotFound:
            RouterError(
                .routeNotFound, "nothing plays in \(rooms) any more, or the device is lost",
                hint: "Run “router status” to see what plays where, and “router devices” what is there",
                scope: .command)
        case .unsupported:
            RouterError(
                .unsupported, "\(rooms) cannot do “\(command)”",
                hint: "Run “router devices show” with its name to see what it can do", scope: .command)
        case .denied:
            RouterError(
                .unavailable, "“\(command)” is not allowed there", hint: "Ask whoever set up this router",
                scope: .command)
        case .timedOut:
            RouterError(
                .timeout, "\(rooms) did not answer to “\(command)” in time",
                hint: "Check that it is on, and try again", scope: .command, retry: .later)
        case .failed(let error): error
        }
    }
}

extension RemoteCommand {
    /// Whether it is done to one room, and not to all that play together.
    fileprivate var isOfRoom: Bool {
        switch self {
        case .setVolume(_, let room), .stepVolume(_, let room), .mute(_, let room), .setStreamVolume(_, let room),
            .fade(_, _, let room):
            room != nil
        case .trim: true
        default: false
        }
    }
}

extension SessionSnapshot {
    /// Where it is in the item, or where it will begin: what is sent now is heard a little later.
    fileprivate var nextPosition: MediaTime? { anchor.map { max($0.time, $0.position(at: now)) } }
}
