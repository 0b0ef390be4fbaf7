import RouteModel
import Testing

@testable import MPRISBridge

struct PlayerStateTests {
    private func player(_ snapshot: SessionSnapshot) -> [String: BusValue] { snapshot.state.playerProperties }

    private func metadata(_ snapshot: SessionSnapshot) -> [String: BusValue] {
        player(snapshot)["Metadata"]?.fields ?? [:]
    }

    @Test("C17 a session's state is said in MPRIS's words")
    func words() {
        let snapshot = SessionSnapshot.sample {
            $0.queue.repeatMode = .all
            $0.queue.original = []
        }
        let properties = player(snapshot)
        #expect(properties["PlaybackStatus"] == .string("Playing"))
        #expect(properties["LoopStatus"] == .string("Playlist"))
        #expect(properties["Shuffle"] == .boolean(true))
        #expect(properties["Rate"] == .double(1))
        #expect(properties["Volume"] == .double(0.5))
        #expect(properties["CanControl"] == .boolean(true))
        #expect(snapshot.state.rootProperties["Identity"] == .string("router: Kitchen"))
    }

    @Test(
        "C17 buffering is playing, and what has ended is stopped",
        arguments: [
            (MediaState.playing, "Playing"), (.buffering, "Playing"), (.loading, "Playing"), (.paused, "Paused"),
            (.stopped, "Stopped"), (.none, "Stopped"),
        ])
    func status(_ media: MediaState, _ word: String) {
        #expect(player(.sample(media: media))["PlaybackStatus"] == .string(word))
    }

    @Test("C17 metadata has its types, a path as the track's id, and no secret of an address")
    func metadataTypes() {
        let item = QueueItem(
            id: ItemID(rawValue: "IT1"), source: .url("https://me:pw@radio.example/a.mp3?key=secret"),
            metadata: MediaMetadata(
                title: "A\0Song", artist: "Somebody", album: "An album", albumArtist: "Some", composer: "C", genre: "G",
                trackNumber: 3, discNumber: 1, releaseDate: "2011", duration: MediaTime(seconds: 2.5)))
        let fields = metadata(.sample(items: [item]))
        #expect(fields["mpris:trackid"] == .path("/org/router/track/IT1"))
        #expect(fields["mpris:length"] == .int64(2_500_000))
        #expect(fields["xesam:title"] == .string("ASong"))
        #expect(fields["xesam:artist"] == .strings(["Somebody"]))
        #expect(fields["xesam:album"] == .string("An album"))
        #expect(fields["xesam:albumArtist"] == .strings(["Some"]))
        #expect(fields["xesam:trackNumber"] == .int32(3))
        #expect(fields["xesam:discNumber"] == .int32(1))
        #expect(fields["xesam:contentCreated"] == nil)
        #expect(fields["xesam:url"] == .string("https://radio.example/a.mp3"))
        #expect(fields["mpris:artUrl"] == nil)
    }

    @Test("C17 a picture is a file's address, never the one on the web")
    func art() {
        let item = QueueItem.sample(
            "one", metadata: MediaMetadata(images: [MediaImage(url: "https://a.example/cover.jpg?token=x")]))
        var state = SessionSnapshot.sample(items: [item]).state
        #expect(state.playerProperties["Metadata"]?.fields["mpris:artUrl"] == nil)
        state.art = "file:///run/art/1.jpg"
        #expect(state.playerProperties["Metadata"]?.fields["mpris:artUrl"] == .string("file:///run/art/1.jpg"))
    }

    @Test("C17 where nothing is played there is a track id all the same")
    func nothing() {
        let snapshot = SessionSnapshot.sample(items: [], media: .none)
        #expect(metadata(snapshot) == ["mpris:trackid": .path(MPRISName.noTrack)])
        for name in ["CanPlay", "CanPause", "CanSeek", "CanGoNext", "CanGoPrevious"] {
            #expect(player(snapshot)[name] == .boolean(false), "\(name)")
        }
        #expect(snapshot.state.currentPath == MPRISName.noTrack)
    }

    @Test("C17 a live stream has no length and cannot be searched, but in its window")
    func live() {
        let radio = QueueItem.sample("radio", metadata: MediaMetadata(kind: .live))
        #expect(metadata(.sample(items: [radio]))["mpris:length"] == nil)
        #expect(player(.sample(items: [radio]))["CanSeek"] == .boolean(false))
        let windowed = SessionSnapshot.sample(items: [radio]) {
            $0.members[0].liveWindow = LiveWindow(
                start: .zero, end: MediaTime(seconds: 60), moving: true, done: false, instant: 0)
        }
        #expect(player(windowed)["CanSeek"] == .boolean(true))
    }

    @Test("C17 what can be done follows the queue: the last track has no next one, unless it repeats")
    func canDo() {
        let last = SessionSnapshot.sample { $0.queue.current = $0.queue.items[1].id }
        #expect(player(last)["CanGoNext"] == .boolean(false))
        #expect(player(last)["CanGoPrevious"] == .boolean(true))
        let round = SessionSnapshot.sample {
            $0.queue.current = $0.queue.items[1].id
            $0.queue.repeatMode = .all
        }
        #expect(player(round)["CanGoNext"] == .boolean(true))
        let broken = SessionSnapshot.sample { $0.queue.items[1].failure = "gone" }
        #expect(player(broken)["CanGoNext"] == .boolean(false))
    }

    @Test("C17 the volume is the master, failing that the loudest room; muted it is nothing")
    func volume() {
        let two = SessionSnapshot.sample(rooms: ["Kitchen", "Lounge"]) {
            $0.members[1].volume = VolumeState(level: VolumePosition(0.75))
        }
        #expect(player(two)["Volume"] == .double(0.75))
        let gone = SessionSnapshot.sample(rooms: ["Kitchen", "Lounge"]) {
            $0.members[1].volume = VolumeState(level: VolumePosition(0.75))
            $0.members[1].connection = .failed
        }
        #expect(player(gone)["Volume"] == .double(0.5))
        let master = SessionSnapshot.sample { $0.volume = VolumeState(level: VolumePosition(0.25)) }
        #expect(player(master)["Volume"] == .double(0.25))
        let muted = SessionSnapshot.sample { $0.volume = VolumeState(level: VolumePosition(0.25), muted: true) }
        #expect(player(muted)["Volume"] == .double(0))
        let fixed = SessionSnapshot.sample { $0.members[0].volumeHandling = .fixed }
        #expect(player(fixed)["Volume"] == .double(1))
    }

    @Test("C17 the rate's ends are 1 where any room cannot be sped up")
    func rates() {
        var house = PlayerHouse()
        let slow = Endpoint(
            id: EndpointID(rawValue: "ep-Kitchen"), protocol: .raop, name: "Kitchen", host: "10.0.0.1", port: 1,
            origin: .stated)
        var quick = slow
        quick.id = EndpointID(rawValue: "ep-Lounge")
        quick.capabilities = RouteCapabilities(available: [.rate], sync: .loose)
        let routes = [slow, quick].map { endpoint in
            Route(id: RouteID(rawValue: endpoint.name), name: endpoint.name, endpoints: [endpoint])
        }
        let list = RouteList(routes: routes, discovery: [])
        _ = house.take(.snapshot(routes: list, sessions: [.sample("se-1", rooms: ["Lounge"])]))
        #expect(house.states.first?.playerProperties["MaximumRate"] == .double(2))
        #expect(house.states.first?.playerProperties["MinimumRate"] == .double(0.5))
        _ = house.take(.session(.sample("se-1", rooms: ["Lounge", "Kitchen"])))
        #expect(house.states.first?.playerProperties["MaximumRate"] == .double(1))
        _ = house.take(.session(.sample("se-1", rooms: ["Lounge"]) { $0.connection = .ended }))
        #expect(house.states.isEmpty)
    }

    @Test("C17 of a queue of a hundred thousand the tracks around the current one are shown")
    func longQueue() {
        let items = (0..<100_000).map { QueueItem.sample("t\($0)") }
        let state = SessionSnapshot.sample(items: items) { $0.queue.current = items[50_000].id }.state
        #expect(state.tracks.map(\.id) == items[49_990...50_039].map(\.id))
        let early = SessionSnapshot.sample(items: items) { $0.queue.current = items[2].id }.state
        #expect(early.tracks.first?.id == items[0].id)
        #expect(early.tracks.last?.id == items[41].id)
    }

    @Test("C17 the position is the anchor's, as of when it is read")
    func position() {
        let state = SessionSnapshot.sample().state
        #expect(state.properties(of: MPRISName.player, at: .seconds(12.5))?["Position"] == .int64(12_500_000))
        #expect(state.properties(of: MPRISName.player, at: .seconds(1000))?["Position"] == .int64(180_000_000))
        #expect(state.properties(of: "org.example", at: 0) == nil)
    }
}

struct PlayerChangesTests {
    private func changes(
        at now: Int64 = .seconds(10), from old: SessionSnapshot = .sample(), _ change: (inout SessionSnapshot) -> Void
    ) -> PlayerChanges {
        var new = old
        change(&new)
        return PlayerChanges(from: old.state, to: new.state, at: now)
    }

    @Test("C17 only what has changed is told")
    func changed() {
        let paused = changes {
            $0.media = .paused
            $0.anchor?.time = MediaTime(seconds: 10)
            $0.anchor?.instant = .seconds(10)
            $0.anchor?.rate = 0
        }
        #expect(paused.player == ["PlaybackStatus": .string("Paused")])
        #expect(paused.root.isEmpty && !paused.trackListReplaced && paused.seeked == nil)
        #expect(changes { $0.now = 5 } == changes { _ in })
    }

    @Test("C17 a jump is told, and time that goes on is not")
    func seeked() {
        #expect(changes { $0.anchor?.time = MediaTime(seconds: 60) }.seeked == MediaTime(seconds: 70))
        #expect(
            changes {
                $0.anchor?.time = MediaTime(seconds: 10.1)
                $0.anchor?.instant = .seconds(10)
            }.seeked == nil)
        #expect(changes { $0.anchor?.time = MediaTime(seconds: 0.3) }.seeked != nil)
    }

    @Test("C17 with another track its beginning is expected, and anything else is told")
    func nextTrack() {
        func next(at seconds: Double) -> PlayerChanges {
            changes { snapshot in
                let item = snapshot.queue.items[1].id
                snapshot.queue.current = item
                snapshot.anchor = PlaybackAnchor(
                    item: item, time: MediaTime(seconds: seconds), instant: .seconds(10), rate: 1, quality: .exact)
            }
        }
        #expect(next(at: 0).seeked == nil)
        #expect(next(at: 90).seeked == MediaTime(seconds: 90))
        #expect(next(at: 0).player["Metadata"] != nil)
        #expect(!next(at: 0).trackListReplaced)
    }

    @Test("C17 a beginning tells every can-do flag: a desktop keeps the first value that it sees")
    func beginning() {
        let beginning = PlayerChanges(beginning: SessionSnapshot.sample().state)
        for name in ["CanGoNext", "CanGoPrevious", "CanPlay", "CanPause", "CanSeek", "CanControl"] {
            #expect(beginning.player[name] != nil, "\(name)")
        }
        #expect(beginning.root["CanQuit"] == .boolean(true))
        #expect(beginning.trackListReplaced)
    }

    @Test("C17 an edit of the queue replaces the list, and a title that is learnt changes one track")
    func tracks() {
        #expect(changes { $0.queue.items.append(.sample("three")) }.trackListReplaced)
        let learnt = changes { $0.queue.items[1].metadata.title = "Another" }
        #expect(!learnt.trackListReplaced)
        #expect(learnt.tracks.map(\.id.rawValue) == ["two"])
    }
}
