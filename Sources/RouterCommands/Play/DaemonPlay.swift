import RouteModel

/// A play that a daemon does: this command says how it began, and may go.
struct DaemonPlay {
    let context: VerbContext

    func run(_ request: PlayRequest) async throws -> Int32 {
        let router = context.router
        let context = context
        let session = try await PhaseReport(context: context).during {
            try await context.within("starting") { try await router.play(request) }
        }
        return try await finish(session)
    }

    /// Takes up a session that was cut short.
    func rejoin(_ session: SessionID) async throws -> Int32 {
        let router = context.router
        let context = context
        return try await finish(
            try await PhaseReport(context: context).during {
                try await context.within("starting") { try await router.rejoin(session) }
            })
    }

    /// Says what plays now, waits for what is to be waited for, and gives the exit status.
    func finish(_ session: SessionSnapshot) async throws -> Int32 {
        if let wait = context.options.wait, wait == .ended || wait == .item {
            if context.options.speaks { context.console.out(Self.sentence(session)) }
            let last = try await SessionWaiter(context: context).wait(for: wait, in: [session]).first ?? session
            if !context.options.speaks { try context.show(last, "") }
            return tell(last)
        }
        try context.show(session, Self.sentence(session))
        return tell(session, goesOn: true)
    }

    /// Says what went wrong, and gives the exit status.
    private func tell(_ session: SessionSnapshot, goesOn: Bool = false) -> Int32 {
        let outcome = PlayOutcome(session, goesOn: goesOn)
        if context.options.speaks {
            for story in outcome.stories { context.console.err(Console.clean(story)) }
        }
        if let error = outcome.error { context.report.say(error) }
        if let notice = outcome.notice { context.report.say(notice) }
        return outcome.status
    }

    static func sentence(_ session: SessionSnapshot) -> String {
        let rooms = session.members.filter { $0.error == nil }
            .map { member in member.protocol.map { "\(member.name) (\($0.displayName))" } ?? member.name }
        let what = session.currentItem.map(PlayerView.describe) ?? "the queue"
        let verb = session.media == .paused ? "Paused" : "Playing"
        return Console.clean("\(verb) \(what) in \(Phrase.list(rooms))")
    }
}
