import RouteBackend
import RouteModel

/// What is shown of a session.
extension PlaybackSession {
    func snapshot() -> SessionSnapshot {
        let isAlone = self.members.count { $0.takesPart } < 2
        let shown = self.members.indices.filter { self.members[$0].takesPart }.map { index in
            var member = self.members[index].snapshot()
            member.trim = volumes.trims[index]
            member.volumeLimit = limit(of: index)
            member.showsPicture = showsPicture(index)
            if !isAlone { member.driftMilliseconds = self.members[index].drift(from: anchor) }
            return member
        }
        let members = members.filter(\.takesPart)
        let connection: ConnectionState =
            if isOver {
                members.allSatisfy { $0.phase == .failed } ? .failed : .ended
            } else if ending || ended {
                .ending
            } else if members.contains(where: { $0.alive || $0.phase == .held }) {
                .connected
            } else if members.contains(where: { $0.phase == .suspended }) {
                .suspended
            } else {
                .connecting
            }
        var snapshot = SessionSnapshot(
            id: id, connection: connection, media: mediaState, stopReason: stopReason, ownership: ownership,
            members: shown, queue: queue.snapshot, anchor: anchor,
            error: stopReason == .error ? lastItemError : nil, volume: masterVolume,
            announcement: announcement?.title, lastEnd: lastEnd, now: clock.now())
        if volumesLinked { snapshot.volumesLinked = true }
        return snapshot
    }
}
