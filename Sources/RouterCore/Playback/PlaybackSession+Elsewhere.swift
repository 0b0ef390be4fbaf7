import RouteBackend
import RouteModel

/// Following what somebody else has moved: where a room's media ends by another sender's hand while it plays, it may go
/// on in another room.
extension PlaybackSession {
    /// A room's media was ended by another sender: by a stop, where there is no error, else by something else that plays
    /// there now.
    func mediaLeft(_ index: Int, _ error: RouterError?) async {
        guard started, !ending, !ended, members[index].phase == .playing, members[index].heard,
            members[index].pull != nil, has(.acceptsManySenders, index)
        else { return await mediaEnded(index, error) }
        // Nothing of the old room counts from now on, and no command goes there.
        members[index].phase = .suspended
        members[index].generation += 1
        members[index].lostBy = error
        let generation = members[index].generation
        jobs.add { [self] in await lookElsewhere(index, generation: generation, error) }
        await publish()
    }

    private func mediaEnded(_ index: Int, _ error: RouterError?) async {
        if let error { return await memberLost(index, error) }
        await notice(.info, "\(members[index].name): stopped by another sender", member: index)
        members[index].isStoppedThere = true
        await memberFinished(index)
    }

    private func lookElsewhere(_ index: Int, generation: Int, _ error: RouterError?) async {
        let found = await environment.find(Set(tokens.values), routes)
        guard waits(index, generation) else { return }
        if let found, let session = await openFound(found) {
            guard waits(index, generation) else { return await session.end(left ? .leave : .stop) }
            return await serially { await moved(index, to: found, session, generation: generation) }
        }
        members[index].phase = .playing
        await mediaEnded(index, error)
        await publish()
    }

    /// Its session, if it plays something of ours.
    private func openFound(_ found: FoundMedia) async -> (any RouteSession)? {
        guard let session = try? await openSession(found.endpoint, name: found.name, rejoin: found.rejoin) else {
            return nil
        }
        if let first = await current(of: session), first.loaded.flatMap({ item(of: $0) }) != nil { return session }
        await session.end(.leave)
        return nil
    }

    private func moved(_ index: Int, to found: FoundMedia, _ session: any RouteSession, generation: Int) async {
        guard waits(index, generation) else { return await session.end(left ? .leave : .stop) }
        let (old, room) = (members[index].session, members[index].name)
        members[index].route = found.route
        members[index].step = RoomStep()
        members[index].name = found.name
        members[index].room = found.name
        members[index].volumeLimit = found.volumeLimit
        members[index].quietHours = found.quietHours
        members[index].volumeCurve = found.volumeCurve
        members[index].offsetNanoseconds = found.offsetNanoseconds
        members[index].volume = nil
        volumes.remove(index)
        members[index].lostBy = nil
        // What the device came to hold is read from it.
        members[index].window = nil
        if let old { jobs.add { await old.end(.lost) } }
        await reopened(index, session, isServedAnyhow: true)
        guard !ended else { return }
        await notice(
            .info,
            "\(room): “\(queue.item(queue.current)?.title ?? "what played")” was moved to \(found.name) by "
                + "another sender", member: index)
        await publish()
        await remember()
        fillWindows()
    }
}
