import RouteBackend
import RouteModel

/// What is known of the station that plays.
struct Station {
    /// The item whose titles are listened for.
    var item: ItemID?
    var says: LiveMetadata?
}

/// Titles of internet radio: they change while the item stays.
extension PlaybackSession {
    /// A snapshot with what the station says.
    func titled(_ snapshot: SessionSnapshot) -> SessionSnapshot {
        followStation()
        guard let says = station.says, says.item == snapshot.queue.current else { return snapshot }
        var snapshot = snapshot
        snapshot.nowPlaying = says
        return snapshot
    }

    /// An item's metadata as rooms are to show it.
    func shownMetadata(of item: QueueItem) -> MediaMetadata {
        guard let says = station.says, says.item == item.id else { return item.metadata }
        return says.metadata.filled(from: item.metadata)
    }

    /// Once for each item that comes to be the current one.
    private func followStation() {
        guard !ended, queue.current != station.item else { return }
        station = Station(item: queue.current)
        guard let item = queue.item(queue.current), case .url = item.source else { return }
        let media = environment.media
        jobs.add {
            await media.titles(of: item.source) { [weak self] in await self?.heard($0, on: item.id) ?? false }
        }
    }

    private func heard(_ metadata: MediaMetadata?, on item: ItemID) async -> Bool {
        guard !ended, station.item == item else { return false }
        guard let metadata else { return true }
        station.says = LiveMetadata(item: item, metadata: metadata, instant: clock.now())
        for index in alivePush { present(index) }
        await publish()
        return true
    }
}
