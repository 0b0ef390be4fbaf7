import RouteModel
import Testing

@testable import MPRISBridge

struct PlayerCallTests {
    private let state = SessionSnapshot.sample().state

    private func call(
        _ member: String, _ arguments: [BusValue] = [], interface: String? = MPRISName.player,
        state: PlayerState? = nil,
        now: Int64 = .seconds(10)
    ) -> PlayerCall {
        PlayerCall(
            interface: interface, member: member, signature: arguments.map(\.signature).joined(), arguments: arguments,
            state: state ?? self.state, now: now)
    }

    private func set(_ name: String, _ value: BusValue, interface: String = MPRISName.player) -> PlayerCall {
        call(
            "Set", [.string(interface), .string(name), .variant(value)], interface: MPRISName.properties)
    }

    private func refusal(_ call: PlayerCall) -> String? {
        if case .refuse(let failure) = call { failure.name } else { nil }
    }

    @Test(
        "C17 each method is the command of its name",
        arguments: [
            ("Next", RemoteCommand.next), ("Previous", .previous), ("Pause", .pause), ("PlayPause", .toggle),
            ("Stop", .stop), ("Play", .play),
        ])
    func methods(_ member: String, _ command: RemoteCommand) {
        #expect(call(member) == .act(.command(command)))
        #expect(call(member, interface: nil) == .act(.command(command)))
    }

    @Test("C17 Seek goes by an offset; beyond the end it is the next track")
    func seek() {
        #expect(call("Seek", [.int64(5_000_000)]) == .act(.command(.seekBy(MediaTime(seconds: 5)))))
        #expect(call("Seek", [.int64(-60_000_000)]) == .act(.command(.seekBy(MediaTime(seconds: -60)))))
        #expect(call("Seek", [.int64(171_000_000)]) == .act(.command(.next)))
        #expect(call("Seek", [.int64(.max)]) == .act(.command(.next)))
        if case .act(.command(.seekBy)) = call("Seek", [.int64(.min)]) {} else { Issue.record("no seek") }
        let live = SessionSnapshot.sample(items: [.sample("r", metadata: MediaMetadata(kind: .live))]).state
        #expect(call("Seek", [.int64(1)], state: live) == .answer([]))
    }

    @Test("C17 SetPosition has no effect for another track or a place out of it")
    func setPosition() {
        let track = BusValue.path(state.currentPath)
        #expect(call("SetPosition", [track, .int64(30_000_000)]) == .act(.command(.seek(to: MediaTime(seconds: 30)))))
        #expect(call("SetPosition", [.path("/org/router/track/two"), .int64(1)]) == .answer([]))
        #expect(call("SetPosition", [.path(MPRISName.noTrack), .int64(1)]) == .answer([]))
        #expect(call("SetPosition", [track, .int64(-1)]) == .answer([]))
        #expect(call("SetPosition", [track, .int64(180_000_001)]) == .answer([]))
        #expect(call("SetPosition", [track, .int64(.max)]) == .answer([]))
    }

    @Test("C17 OpenUri takes addresses of files and of the web, and names what it does not take")
    func openUri() {
        #expect(call("OpenUri", [.string("file:///music/a.flac")]) == .act(.open("file:///music/a.flac")))
        #expect(call("OpenUri", [.string("HTTPS://a.example/b.mp3")]) == .act(.open("HTTPS://a.example/b.mp3")))
        for bad in ["", "-", "/etc/passwd", "pulse:sink", "ftp://a/b", "https://", "javascript:1", "://x"] {
            #expect(refusal(call("OpenUri", [.string(bad)])) == BusFailure.Name.invalidArguments, "\(bad)")
        }
        let long = "http://a/" + String(repeating: "x", count: 10_000)
        #expect(refusal(call("OpenUri", [.string(long)])) == BusFailure.Name.invalidArguments)
    }

    @Test("C17 wrong types, unknown methods, interfaces and properties are refused by their names")
    func badCalls() {
        #expect(refusal(call("Seek", [.string("5")])) == BusFailure.Name.invalidArguments)
        #expect(refusal(call("Seek")) == BusFailure.Name.invalidArguments)
        #expect(refusal(call("Next", [.int32(1)])) == BusFailure.Name.invalidArguments)
        #expect(refusal(call("Fly")) == BusFailure.Name.unknownMethod)
        #expect(refusal(call("Fly", interface: nil)) == BusFailure.Name.unknownInterface)
        #expect(refusal(call("Next", interface: "org.example.X")) == BusFailure.Name.unknownInterface)
        let properties = MPRISName.properties
        #expect(
            refusal(call("Get", [.string("org.example"), .string("Rate")], interface: properties))
                == BusFailure.Name.unknownInterface)
        #expect(
            refusal(call("Get", [.string(MPRISName.player), .string("Colour")], interface: properties))
                == BusFailure.Name.unknownProperty)
        #expect(refusal(set("Colour", .double(1))) == BusFailure.Name.unknownProperty)
        #expect(refusal(set("PlaybackStatus", .string("Playing"))) == BusFailure.Name.readOnly)
        #expect(refusal(set("Identity", .string("x"), interface: MPRISName.root)) == BusFailure.Name.readOnly)
        #expect(refusal(set("Volume", .string("loud"))) == BusFailure.Name.invalidArguments)
        #expect(refusal(set("Volume", .other("(ii)"))) == BusFailure.Name.invalidArguments)
        #expect(refusal(set("Shuffle", .double(1))) == BusFailure.Name.invalidArguments)
    }

    @Test("C17 a volume is clamped to the slider's ends, and what is no number refused")
    func volume() {
        #expect(set("Volume", .double(0.4)) == .act(.volume(VolumePosition(0.4))))
        #expect(set("Volume", .double(-3)) == .act(.volume(VolumePosition(0))))
        #expect(set("Volume", .double(1e300)) == .act(.volume(VolumePosition(1))))
        #expect(set("Volume", .double(.infinity)) == .act(.volume(VolumePosition(1))))
        #expect(refusal(set("Volume", .double(.nan))) == BusFailure.Name.invalidArguments)
    }

    @Test("C17 repeat, shuffle and rate are set by MPRIS's words, within what is possible")
    func modes() {
        #expect(set("LoopStatus", .string("Track")) == .act(.command(.repeatMode(.one))))
        #expect(set("LoopStatus", .string("None")) == .act(.command(.repeatMode(.off))))
        #expect(refusal(set("LoopStatus", .string("track"))) == BusFailure.Name.invalidArguments)
        #expect(set("Shuffle", .boolean(true)) == .act(.command(.shuffle(true))))
        #expect(set("Rate", .double(0)) == .act(.command(.pause)))
        #expect(set("Rate", .double(1)) == .answer([]))
        #expect(refusal(set("Rate", .double(1.5))) == BusFailure.Name.invalidArguments)
        #expect(refusal(set("Rate", .double(.nan))) == BusFailure.Name.invalidArguments)
        let quick = PlayerState(.sample(), rates: 0.5...2)
        let faster = call(
            "Set", [.string(MPRISName.player), .string("Rate"), .variant(.double(1.5))],
            interface: MPRISName.properties, state: quick)
        #expect(faster == .act(.command(.rate(1.5))))
    }

    @Test("C17 the track list gives, adds, removes and goes to tracks by their paths")
    func trackList() {
        func list(_ member: String, _ arguments: [BusValue]) -> PlayerCall {
            call(member, arguments, interface: MPRISName.trackList)
        }
        let two = "/org/router/track/two"
        guard case .answer(let values) = list("GetTracksMetadata", [.paths([two, "/nowhere"])]),
            case .dictionaries(let found)? = values.first
        else { return #expect(Bool(false), "no answer") }
        #expect(found.count == 1)
        #expect(found.first?["mpris:trackid"] == .path(two))
        #expect(list("GoTo", [.path(two)]) == .act(.command(.jump(ItemID(rawValue: "two")))))
        #expect(list("GoTo", [.path("/org/router/track/none")]) == .answer([]))
        #expect(list("RemoveTrack", [.path(two)]) == .act(.remove(ItemID(rawValue: "two"))))
        let uri = "file:///a.flac"
        #expect(
            list("AddTrack", [.string(uri), .path(two), .boolean(true)])
                == .act(.add(uri, after: ItemID(rawValue: "two"), playing: true)))
        #expect(
            list("AddTrack", [.string(uri), .path(MPRISName.noTrack), .boolean(false)])
                == .act(.add(uri, after: nil, playing: false)))
        #expect(
            refusal(list("AddTrack", [.string(uri), .path("/x"), .boolean(false)]))
                == BusFailure.Name.invalidArguments)
        #expect(
            refusal(list("AddTrack", [.string("x"), .path(two), .boolean(false)]))
                == BusFailure.Name.invalidArguments)
    }

    @Test("C17 a track is added after the one that is named, also where that is the last that is shown")
    func addsAfter() {
        let items = (1...60).map { QueueItem.sample("item \($0)") }
        let session = SessionSnapshot.sample(items: items)
        let state = session.state
        #expect(state.tracks.count == PlayerState.tracksAfter + 1)
        func place(_ after: Int?) -> QueueEdit {
            MPRISBridge.place(
                "u", after: after.map { ItemID(rawValue: "item \($0)") }, state, in: session.queue.items)
        }
        #expect(place(nil) == .insert(["u"], before: items[0].id))
        #expect(place(5) == .insert(["u"], before: items[5].id))
        #expect(place(40) == .insert(["u"], before: items[40].id))
        #expect(place(60) == .append(["u"]) && place(99) == .append(["u"]))
    }

    @Test("C17 introspection names every interface, method and property")
    func introspection() {
        let answer = call("Introspect", interface: MPRISName.introspectable)
        guard case .answer(let values) = answer, let text = values.first?.text else {
            return #expect(Bool(false), "no document")
        }
        for interface in PlayerInterface.all {
            #expect(text.contains("<interface name=\"\(interface.name)\">"))
            for method in interface.methods { #expect(text.contains("<method name=\"\(method.name)\"")) }
            for property in interface.properties { #expect(text.contains("<property name=\"\(property.name)\"")) }
        }
        // What is said to be there can be read.
        for interface in [MPRISName.root, MPRISName.player, MPRISName.trackList] {
            let names = PlayerInterface.named(interface)?.properties.map(\.name).sorted()
            #expect(state.properties(of: interface, at: 0)?.keys.sorted() == names)
            for property in PlayerInterface.named(interface)?.properties ?? [] {
                #expect(state.properties(of: interface, at: 0)?[property.name]?.signature == property.type)
            }
        }
    }

    @Test("C17 a command's outcome is an error by name, and one without an object is none")
    func outcomes() {
        #expect(BusFailure(CommandOutcome.noActionableItem) == nil)
        #expect(BusFailure(CommandOutcome.unverified) == nil)
        #expect(BusFailure(CommandOutcome.denied)?.name == BusFailure.Name.accessDenied)
        #expect(BusFailure(CommandOutcome.unsupported)?.name == BusFailure.Name.notSupported)
        #expect(BusFailure(CommandOutcome.timedOut)?.name == BusFailure.Name.timeout)
        let busy = RouterError(.routeBusy, "busy")
        #expect(BusFailure(CommandOutcome.failed(busy))?.name == "org.router.Error.routeBusy")
    }
}
