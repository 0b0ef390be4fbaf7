import RouteModel
import RouterAPI

enum Samples {
    static let endpoint = Endpoint(
        id: EndpointID(rawValue: "raop:aa"), protocol: .raop, name: "Küche", host: "10.0.0.2", port: 5000, model: "m",
        firmware: "1", strongKeys: [StrongKey(.mac, "AABB")], access: .password, facts: ["et": "0,1"],
        origin: .discovered,
        capabilities: RouteCapabilities([.pause: .available, .seek: .unavailable(reason: "r")], sync: .tight))

    static func route(_ number: Int, name: String = "Kitchen") -> Route {
        Route(id: RouteID(rawValue: "rt-\(number)"), name: name, endpoints: [endpoint])
    }

    static func item(_ id: String, title: String = "t") -> QueueItem {
        QueueItem(
            id: ItemID(rawValue: id), source: .file(path: "/\(id)"),
            metadata: MediaMetadata(kind: .music, title: title, duration: MediaTime(seconds: 5)), addedBy: .cli)
    }

    static func session(_ items: [QueueItem] = [item("a")], version: Int = 1) -> SessionSnapshot {
        SessionSnapshot(
            id: SessionID(rawValue: "se-1"), connection: .connected, media: .playing,
            members: [
                SessionMember(
                    route: RouteID(rawValue: "rt-1"), name: "Kitchen", endpoint: endpoint.id, protocol: .raop,
                    connection: .connected, media: .playing, volume: VolumeState(level: VolumePosition(0.5)),
                    delivery: DeliveryStatistics(
                        packetsSent: 1, packetsResent: 2, packetsMissed: 3, latenessMedianMicroseconds: 4,
                        latenessMaximumMicroseconds: 5),
                    tracks: [MediaTrack(id: 1, kind: .text, language: "de")], proof: PlayingProof(.known, "it plays"),
                    room: "Flat")
            ],
            queue: QueueSnapshot(
                version: version, items: items, current: items.first?.id, failurePolicy: .retry(2)),
            anchor: PlaybackAnchor(
                item: ItemID(rawValue: "a"), time: .zero, instant: 5, rate: 1, quality: .exact),
            volume: VolumeState(level: VolumePosition(0.5)),
            lastEnd: ItemEnd(item: ItemID(rawValue: "z"), play: 1, reason: .finished), now: 10)
    }

    static let run = SceneRun(
        id: "run-1", name: "Morning", path: "m.yaml",
        steps: [
            SceneStepReport(
                id: "steps[0]", verb: "play", line: 3, column: 5, result: .failed, error: RouterError(.timeout, "m"))
        ], started: 5)

    /// One of each kind.
    static let events: [APIEvent] = [
        .snapshot(
            StateSnapshot(
                routes: RouteList(
                    routes: [route(1)],
                    discovery: [DiscoveryState(source: "mDNS", status: .unavailable, message: "m", hint: "h")]),
                sessions: [session()], now: 10)),
        .routeChanged(RouteChange(changed: [route(1)], removed: [], order: [RouteID(rawValue: "rt-1")])),
        .roomsChanged(
            RoomsChange(
                rooms: [
                    Room(
                        name: "Kitchen", volumeLimit: VolumePosition(1),
                        quietHours: QuietHours(from: 0, to: 60, limit: VolumePosition(0.2)),
                        startVolume: .cap(VolumePosition(0.4)), volumeCurve: .decibel(range: 50, taper: 1))
                ], groups: [RoomGroup(name: "All", rooms: ["Kitchen"], trims: ["Kitchen": 0.5])])),
        .sessionChanged(SessionChange(session: SessionState(session()), queue: session().queue)),
        .queueChanged(
            QueueUpdate(
                changes: QueueChanges(
                    session: SessionID(rawValue: "se-1"), base: 1, version: 2,
                    changes: [
                        .insert([item("b")], at: 1), .remove([ItemID(rawValue: "a")]),
                        .move([ItemID(rawValue: "b")], to: 0), .update(item("b", title: "u")),
                        .order([ItemID(rawValue: "b")]), .current(nil), .current(ItemID(rawValue: "b")),
                        .repeatMode(.all), .original(nil), .original([ItemID(rawValue: "b")]), .failurePolicy(nil),
                        .failurePolicy(.stop),
                    ]), session: SessionState(session()))),
        .volumeChanged(VolumeChange(session())),
        .positionAnchor(AnchorChange(session: SessionID(rawValue: "se-1"), anchor: session().anchor, now: 11)),
        .commandResult(
            CommandReport(
                id: CommandID(rawValue: "co-1"), session: SessionID(rawValue: "se-1"),
                command: .setVolume(VolumePosition(0.5), room: "Kitchen"), origin: .device(RouteID(rawValue: "rt-1")),
                outcome: .failed(RouterError(.timeout, "m")))),
        .sceneStep(run),
        .pairingPrompt(
            PairingProgress(id: "p", device: "Kitchen", kind: .pin, state: .waiting, prompt: "Type it in")),
        .notice(Notice(.warning, "look", hint: "here", route: RouteID(rawValue: "rt-1"))),
        .phase(PhaseStep(phase: "connecting")),
    ]
}
