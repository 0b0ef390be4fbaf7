import RouteModel

@testable import MPRISBridge

extension QueueItem {
    /// An item of the tests: a file with a title, three minutes long unless said otherwise.
    static func sample(_ name: String, seconds: Double? = 180, metadata: MediaMetadata = MediaMetadata()) -> QueueItem {
        var metadata = metadata
        metadata.title = metadata.title ?? "Title of \(name)"
        metadata.duration = seconds.map { MediaTime(seconds: $0) }
        return QueueItem(id: ItemID(rawValue: name), source: .file(path: "/music/\(name).flac"), metadata: metadata)
    }
}

extension SessionSnapshot {
    /// A session that plays the first of these items since instant 0.
    static func sample(
        _ id: String = "se-0a1b", rooms: [String] = ["Kitchen"], items: [QueueItem] = [.sample("one"), .sample("two")],
        media: MediaState = .playing, change: (inout SessionSnapshot) -> Void = { _ in }
    ) -> SessionSnapshot {
        var snapshot = SessionSnapshot(
            id: SessionID(rawValue: id), connection: .connected, media: media,
            members: rooms.map { room in
                SessionMember(
                    route: RouteID(rawValue: "rt-\(room)"), name: room, endpoint: EndpointID(rawValue: "ep-\(room)"),
                    connection: .connected, media: media, volume: VolumeState(level: VolumePosition(0.5)))
            },
            queue: QueueSnapshot(version: 1, items: items, current: items.first?.id),
            anchor: items.first.map {
                PlaybackAnchor(
                    item: $0.id, time: .zero, instant: 0, rate: media == .playing ? 1 : 0, quality: .exact,
                    duration: $0.metadata.duration)
            }, now: 0)
        change(&snapshot)
        return snapshot
    }

    var state: PlayerState { PlayerState(self) }
}

extension Int64 {
    static func seconds(_ seconds: Double) -> Int64 { Int64(seconds * 1e9) }
}
