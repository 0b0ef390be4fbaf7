import RouteModel

/// Values to show.
enum Samples {
    static func item(
        _ id: String = "i1", title: String? = "Blue", artist: String? = "Joni", album: String? = "Album",
        duration: Double? = 200, failure: String? = nil
    ) -> QueueItem {
        QueueItem(
            id: ItemID(rawValue: id), source: .file(path: "/music/\(id).flac"),
            metadata: MediaMetadata(
                kind: .music, title: title, artist: artist, album: album,
                duration: duration.map { MediaTime(seconds: $0) }), failure: failure)
    }

    static func member(
        _ name: String, error: RouterError? = nil, volume: VolumeState? = VolumeState(level: VolumePosition(0.4))
    ) -> SessionMember {
        SessionMember(
            route: RouteID(rawValue: "rt-\(name)"), name: name, protocol: .raop, connection: .connected,
            media: .playing, volume: volume, error: error)
    }

    /// Plays its first item, ten seconds in at instant 0.
    static func session(
        items: [QueueItem] = [item()], members: [SessionMember] = [member("Kitchen")], media: MediaState = .playing,
        error: RouterError? = nil
    ) -> SessionSnapshot {
        SessionSnapshot(
            id: SessionID(rawValue: "se-1"), connection: .connected, media: media, members: members,
            queue: QueueSnapshot(version: 1, items: items, current: items.first?.id),
            anchor: items.first.map {
                PlaybackAnchor(
                    item: $0.id, time: MediaTime(seconds: 10), instant: 0, rate: media == .playing ? 1 : 0,
                    quality: .exact, duration: $0.metadata.duration)
            }, error: error, now: 0)
    }
}
