import RouteBackend
import RouteModel

/// Items that stop before their media does, in rooms that fetch: their devices know nothing of that. A feed ends them by
/// itself.
extension PlaybackSession {
    /// The end that is waited for.
    struct AwaitedEnd: Equatable {
        var item: ItemID
        var instant: Int64
    }

    /// Waits for the end of what plays, where it is to end early. Called with each new state.
    func watchEnd() {
        guard alivePush.isEmpty, !alivePull.isEmpty, mediaState == .playing, let anchor, anchor.rate > 0,
            let item = queue.item(anchor.item), item.id == queue.current, let end = item.end
        else {
            awaitedEnd = nil
            return
        }
        let left = Int64(Double((end - anchor.time).nanoseconds) / anchor.rate)
        let wanted = AwaitedEnd(item: item.id, instant: anchor.instant + left)
        guard wanted != awaitedEnd else { return }
        awaitedEnd = wanted
        let clock = clock
        jobs.add { [self] in
            guard (try? await clock.sleep(until: wanted.instant)) != nil else { return }
            await reached(wanted)
        }
    }

    private func reached(_ end: AwaitedEnd) async {
        await serially {
            guard awaitedEnd == end, !ended, !ending, queue.current == end.item, mediaState == .playing else { return }
            awaitedEnd = nil
            playLog.ends(end.item)
            consecutiveFailures = 0
            guard let next = queue.item(after: end.item) else {
                guard !members.contains(where: { $0.phase == .held }) else { return await standStill() }
                queue.select(nil)
                return await finish(.finished)
            }
            await playPull(next, at: next.start)
        }
    }

    /// While something is announced in other rooms the session goes on: see `unpark`.
    private func standStill() async {
        let rooms = alivePull
        for index in rooms { members[index].itemEnded = true }
        let now = clock.now()
        if let place = anchor?.position(at: now) { anchor?.time = place }
        anchor?.instant = now
        anchor?.rate = 0
        await eachTolerant(rooms) { _, session in try await session.perform(.stop) }
        await publish()
    }
}

extension PlaybackSession {
    /// What is kept of it, once it is over.
    func ending(_ reason: StopReason) -> SessionEnding {
        SessionEnding(
            session: id, reason: reason,
            members: members.filter(\.takesPart).map { member in
                SessionEnding.Member(
                    route: member.route, name: member.name,
                    protocol: (member.session?.descriptor.endpoint ?? member.endpoint)?.protocol)
            })
    }

    // MARK: Making room

    /// Another session takes over these routes; the rooms that it does not take are stopped. They are free when this
    /// returns, also where an end was under way.
    func giveWay(to routes: Set<RouteID>) async {
        await giveUp(to: routes)
        await itsEnd()
        await opensAreOver()
    }
}
