import Foundation
import RouteModel
import Testing

/// The JSON contract: these texts are what programs outside read, so a change here is a change of the contract.
@Suite("JSON shapes")
struct JSONShapeTests {
    private func expect<Value: Codable & Equatable>(
        _ value: Value, _ json: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        #expect(String(decoding: try encoder.encode(value), as: UTF8.self) == json, sourceLocation: sourceLocation)
        let back = try JSONDecoder().decode(Value.self, from: Data(json.utf8))
        #expect(back == value, sourceLocation: sourceLocation)
    }

    private let endpoint = Endpoint(
        id: EndpointID(rawValue: "raop:aa"), protocol: .raop, name: "Küche", host: "10.0.0.2", port: 5000,
        strongKeys: [StrongKey(.mac, "AABB")], access: .password, facts: ["et": "0,1"], origin: .discovered,
        capabilities: RouteCapabilities([.pause: .available, .video: .unsupported], sync: .tight))

    private let endpointJSON =
        #"{"access":"password","capabilities":{"pause":{"state":"available"},"sync":"tight","#
        + #""video":{"state":"unsupported"}},"deviceType":"unknown","facts":{"et":"0,1"},"host":"10.0.0.2","#
        + #""id":"raop:aa","kind":"device","name":"Küche","origin":"discovered","port":5000,"protocol":"raop","#
        + #""strongKeys":[{"kind":"mac","value":"aabb"}]}"#

    @Test("ids are plain strings")
    func identifiers() throws {
        try expect([RouteID(rawValue: "rt-1")], #"["rt-1"]"#)
        try expect([SessionID(rawValue: "se-1")], #"["se-1"]"#)
        try expect([ItemID(rawValue: "01J")], #"["01J"]"#)
        try expect([EndpointID(rawValue: "cast:1")], #"["cast:1"]"#)
        try expect([CommandID(rawValue: "co-1")], #"["co-1"]"#)
        try expect([MediaToken(rawValue: "00ff")], #"["00ff"]"#)
    }

    @Test("times are seconds, volumes parts of one")
    func scalars() throws {
        try expect([MediaTime(milliseconds: 1500)], "[1.5]")
        try expect([MediaTime.zero], "[0]")
        try expect([VolumePosition(0.25)], "[0.25]")
        try expect(VolumeState(level: VolumePosition(1), muted: true), #"{"level":1,"muted":true}"#)
    }

    @Test("an endpoint")
    func endpoints() throws { try expect(endpoint, endpointJSON) }

    @Test("a route")
    func route() throws {
        let route = Route(id: RouteID(rawValue: "rt-1"), name: "Küche", deviceType: .speaker, endpoints: [endpoint])
        try expect(
            route,
            #"{"access":"open","capabilities":{"sync":"none"},"deviceType":"speaker","endpoints":[\#(endpointJSON)],"#
                + #""id":"rt-1","kind":"device","name":"Küche","presence":"present"}"#)
    }

    @Test("a room")
    func room() throws {
        let room = Room(
            name: "Kitchen", devices: ["Küche"], via: .airplay, volumeLimit: VolumePosition(0.5),
            offsetMilliseconds: -20, configured: true, routes: [RouteID(rawValue: "rt-1")])
        try expect(
            room,
            #"{"aliases":[],"configured":true,"devices":["Küche"],"name":"Kitchen","offsetMilliseconds":-20,"#
                + #""routes":["rt-1"],"via":"airplay","volumeLimit":0.5}"#)
    }

    @Test("K1 K2 K3 K4 capability states, with the reason of what is not available now")
    func capabilities() throws {
        try expect(
            RouteCapabilities(
                [
                    .continuesWithoutSender: .available, .acceptsManySenders: .unavailable(reason: "busy"),
                    .playsSenderOnlyFiles: .unsupported, .observableInBackground: .unknown,
                ], sync: .loose),
            #"{"acceptsManySenders":{"reason":"busy","state":"unavailable"},"#
                + #""continuesWithoutSender":{"state":"available"},"observableInBackground":{"state":"unknown"},"#
                + #""playsSenderOnlyFiles":{"state":"unsupported"},"sync":"loose"}"#)
    }

    @Test("what a newer peer says beyond this version is passed over")
    func newerPeer() throws {
        let json =
            #"{"pause":{"state":"available"},"telepathy":{"state":"available"},"mute":{"state":"sometimes"},"x":1}"#
        let read = try JSONDecoder().decode(RouteCapabilities.self, from: Data(json.utf8))
        #expect(read == RouteCapabilities([.pause: .available, .mute: .unknown], sync: .none))
        #expect(read[.telepathyStandIn] == .unsupported)
        let error = try JSONDecoder().decode(
            RouterError.self,
            from: Data(
                #"{"code":"ofTomorrow","scope":"route","message":"m","retry":"never","causes":[],"candidates":[]}"#.utf8
            ))
        #expect(error.code.rawValue == "ofTomorrow")
        #expect(error.code.exitStatus == 1)
    }

    @Test("a source is a file or a URL")
    func sources() throws {
        try expect(MediaSource.file(path: "/a/b.flac"), #"{"file":"/a/b.flac"}"#)
        try expect(MediaSource.url("http://h/s?x=1"), #"{"url":"http://h/s?x=1"}"#)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(MediaSource.self, from: Data("{}".utf8)) }
    }

    @Test("a queue")
    func queue() throws {
        let metadata = MediaMetadata(
            kind: .music, title: "Title", artist: "Artist", duration: MediaTime(milliseconds: 12_000),
            images: [MediaImage(url: "http://h/a", width: 600, height: 600)])
        let item = QueueItem(id: ItemID(rawValue: "01A"), source: .file(path: "/a.flac"), metadata: metadata)
        try expect(
            QueueSnapshot(version: 2, items: [item], current: item.id),
            #"{"current":"01A","items":[{"id":"01A","metadata":{"artist":"Artist","duration":12,"images":"#
                + #"[{"height":600,"role":"cover","url":"http://h/a","width":600}],"kind":"music","title":"Title"},"#
                + #""source":{"file":"/a.flac"},"start":0}],"repeatMode":"off","version":2}"#)
    }

    @Test("a session")
    func session() throws {
        let item = ItemID(rawValue: "01A")
        let member = SessionMember(
            route: RouteID(rawValue: "rt-1"), name: "Kitchen", endpoint: endpoint.id, protocol: .raop,
            connection: .connected, media: .playing, volume: VolumeState(level: VolumePosition(0.5)))
        let snapshot = SessionSnapshot(
            id: SessionID(rawValue: "se-1"), connection: .connected, media: .playing, members: [member],
            queue: QueueSnapshot(version: 1, items: [], current: item),
            anchor: PlaybackAnchor(
                item: item, time: MediaTime(milliseconds: 250), instant: 1000, rate: 1, quality: .exact),
            now: 2000)
        try expect(
            snapshot,
            #"{"anchor":{"instant":1000,"item":"01A","quality":"exact","rate":1,"time":0.25},"#
                + #""connection":"connected","id":"se-1","media":"playing","members":[{"connection":"connected","#
                + #""endpoint":"raop:aa","media":"playing","name":"Kitchen","protocol":"raop","route":"rt-1","#
                + #""volume":{"level":0.5,"muted":false},"volumeHandling":"adjustable"}],"now":2000,"#
                + #""ownership":"ours","queue":{"current":"01A","items":[],"repeatMode":"off","version":1}}"#)
    }

    @Test("A6 edits that bring something in, with and without settings")
    func insertions() throws {
        let settings = QueueItemSettings(externalPlayback: false)
        let id = ItemID(rawValue: "01A")
        try expect(QueueEdit.append(["a"]), #"{"type":"append","what":["a"]}"#)
        try expect(
            QueueEdit.append(["a"], settings: settings),
            #"{"settings":{"externalPlayback":false},"type":"append","what":["a"]}"#)
        try expect(
            QueueEdit.playNext(["a"], settings: settings),
            #"{"settings":{"externalPlayback":false},"type":"playNext","what":["a"]}"#)
        try expect(
            QueueEdit.insert(["a"], before: id, settings: settings),
            #"{"before":"01A","settings":{"externalPlayback":false},"type":"insert","what":["a"]}"#)
        try expect(
            QueueEdit.replaceUpcoming(["a"], settings: settings),
            #"{"settings":{"externalPlayback":false},"type":"replaceUpcoming","what":["a"]}"#)
    }

    @Test("R4 what items are shown as")
    func descriptions() throws {
        try expect(
            QueueEdit.describe([
                ItemDescription(item: ItemID(rawValue: "01A"), metadata: MediaMetadata(title: "T"), context: "L")
            ]),
            #"{"items":[{"context":"L","item":"01A","metadata":{"images":[],"kind":"generic","title":"T"}}],"#
                + #""type":"describe"}"#)
    }

    @Test("C7 commands and their results")
    func commands() throws {
        try expect(RemoteCommand.play, #"{"type":"play"}"#)
        try expect(RemoteCommand.seek(to: MediaTime(milliseconds: 500)), #"{"to":0.5,"type":"seek"}"#)
        try expect(RemoteCommand.mute(true, room: "Kitchen"), #"{"muted":true,"room":"Kitchen","type":"mute"}"#)
        try expect(CommandOrigin.device(RouteID(rawValue: "rt-1")), #"{"route":"rt-1","type":"device"}"#)
        try expect(
            CommandResult(id: CommandID(rawValue: "co-1"), outcome: .unverified),
            #"{"id":"co-1","outcome":{"type":"unverified"}}"#)
    }

    @Test("C21 an error")
    func error() throws {
        try expect(
            RouterError(
                .routeNotFound, "no room is called “Kitchn”", hint: "Did you mean Kitchen?", scope: .route,
                retry: .afterUserAction, causes: ["a"], candidates: ["Kitchen"]),
            #"{"candidates":["Kitchen"],"causes":["a"],"code":"routeNotFound","hint":"Did you mean Kitchen?","#
                + #""message":"no room is called “Kitchn”","retry":"afterUserAction","scope":"route"}"#)
    }

    @Test("a request, a choice, a list and events survive the way there and back")
    func roundTrips() throws {
        func roundTrip<Value: Codable & Equatable>(_ value: Value) throws {
            #expect(try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value)) == value)
        }
        try roundTrip(
            PlayRequest(
                what: ["a", "b"], rooms: ["K"], via: .cast, volume: VolumePosition(0.3), start: MediaTime(seconds: 3)))
        let choice = RouteChoice(
            route: RouteID(rawValue: "rt-1"), name: "K",
            candidates: [.init(endpoint: endpoint, usable: false, reasons: ["r"], losses: ["l"])])
        try roundTrip(choice)
        let routes = RouteList(
            routes: [Route(id: RouteID(rawValue: "rt-1"), name: "K", endpoints: [endpoint])],
            discovery: [DiscoveryState(source: "mDNS", status: .unavailable, message: "m", hint: "h")])
        for body: RouterEvent.Body in [
            .snapshot(routes: routes, sessions: []), .routes(routes), .phase("connecting"),
            .notice(Notice(.warning, "m", hint: "h", route: RouteID(rawValue: "rt-1"))),
        ] {
            try roundTrip(RouterEvent(sequence: 7, body: body))
        }
        try roundTrip(
            SessionRecord(
                session: SessionID(rawValue: "se-1"), routes: [], item: nil, position: MediaTime(ticks: 12_345),
                playing: false, rejoin: [RouteID(rawValue: "rt-1"): "x"]))
        try roundTrip(CommandOutcome.failed(RouterError(.timeout, "m")))
    }

    @Test("a time in JSON loses no frame of a day")
    func timesAreExact() throws {
        var generator = SystemRandomNumberGenerator()
        for rate in [44_100, 48_000, 96_000] {
            for _ in 0..<500 {
                let time = MediaTime(
                    frames: .random(in: 0...(Int64(rate) * 86_400), using: &generator), sampleRate: rate)
                let back = try JSONDecoder().decode([MediaTime].self, from: JSONEncoder().encode([time]))
                #expect(back == [time])
            }
        }
    }
}

extension RouteCapability {
    /// Any capability that the text of `newerPeer` does not name.
    fileprivate static let telepathyStandIn = RouteCapability.photo
}
