import RouteBackend
import RouteModel

/// Takes up what an earlier process has left playing. What does not answer is tried again: a machine may be up before its
/// network is, and before its speakers are.
public struct SessionRecovery: Sendable {
    private let router: any RouterControlling
    private let clock: any HostClock
    private let tell: @Sendable (Notice) async -> Void

    public init(
        router: any RouterControlling, clock: any HostClock, tell: @escaping @Sendable (Notice) async -> Void
    ) {
        self.router = router
        self.clock = clock
        self.tell = tell
    }

    /// Returns once each is taken up or given up, five minutes from now at the latest, or when cancelled.
    public func run() async {
        guard let left = try? await router.sessionsToRejoin() else { return }
        await withDiscardingTaskGroup { group in
            for session in left { group.addTask { await takeUp(session) } }
        }
    }

    private func takeUp(_ session: RejoinableSession) async {
        let what = "what played in \(session.rooms.joined(separator: ", "))"
        let deadline = clock.now() + ResumePolicy.windowNanoseconds
        var wait = ResumePolicy.firstNanoseconds
        var isTold = false
        while await isLeft(session) {
            // Whoever plays something there by now is not to be displaced.
            if let room = await taken(session) {
                return await tell(
                    Notice(
                        .info, "\(what) is not taken up: \(room) plays something else by now",
                        hint: "Take it up with “router session join \(session.id)”"))
            }
            let present = await routes(of: session)
            let error: RouterError
            do {
                _ = try await router.rejoin(session.id)
                return await tell(Notice(.info, "\(what) is taken up again"))
            } catch let failure {
                error = RouterError(wrapping: failure)
            }
            // Somebody may have ended it meanwhile.
            guard !Task.isCancelled, await isLeft(session) else { return }
            guard !PlaybackSession.isFinal(error), clock.now() < deadline else {
                return await tell(
                    Notice(
                        .warning, "\(what) could not be taken up again: \(error.message)",
                        hint: "Take it up with “router session join \(session.id)” once it can be reached"))
            }
            if !isTold {
                let minutes = ResumePolicy.windowNanoseconds / 60_000_000_000
                await tell(
                    Notice(
                        .warning,
                        "\(what) could not be taken up yet, and is tried again for \(minutes) minutes: "
                            + error.message, hint: error.hint))
                isTold = true
            }
            await pause(until: min(clock.now() + wait, deadline), or: session, isBackFrom: present)
            wait = min(wait * 2, ResumePolicy.longestNanoseconds)
            guard !Task.isCancelled else { return }
        }
    }

    private func isLeft(_ session: RejoinableSession) async -> Bool {
        (try? await router.sessionsToRejoin())?.contains { $0.id == session.id } ?? false
    }

    /// A room of it that plays in another session of ours.
    private func taken(_ session: RejoinableSession) async -> String? {
        let left = Set(((try? await router.sessionsToRejoin()) ?? []).map(\.id))
        for other in await router.sessions() where !left.contains(other.id) {
            guard other.connection != .ended, other.connection != .failed else { continue }
            let names = other.members.filter { $0.connection != .ended && $0.connection != .failed }.map(\.name)
            if let room = names.first(where: session.rooms.contains) { return room }
        }
        return nil
    }

    /// Its devices that can be seen now.
    private func routes(of session: RejoinableSession) async -> Set<RouteID> {
        await present(of: session, in: (try? await router.routes(settle: false))?.routes ?? [])
    }

    private func present(of session: RejoinableSession, in routes: [Route]) async -> Set<RouteID> {
        let members = await router.sessions().first { $0.id == session.id }?.members.map(\.route) ?? []
        return Set(routes.filter { $0.presence == .present && members.contains($0.id) }.map(\.id))
    }

    /// Returns earlier where a device of it appears.
    private func pause(until instant: Int64, or session: RejoinableSession, isBackFrom before: Set<RouteID>) async {
        let events = await router.events()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await clock.sleep(until: instant) }
            group.addTask {
                for await event in events {
                    let list: RouteList
                    switch event.body {
                    case .snapshot(let routes, _): list = routes
                    case .routes(let routes): list = routes
                    default: continue
                    }
                    if await !present(of: session, in: list.routes).isSubset(of: before) { return }
                }
            }
            await group.next()
            group.cancelAll()
        }
    }
}
