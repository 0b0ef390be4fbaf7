import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("A6 pictures that are not to be shown", .timeLimit(.minutes(2)))
struct ExternalPlaybackTests {
    /// A Cast speaker, a screen, and a screen that also is a speaker.
    private static func house() -> House {
        let house = House { airplay, cast in
            var speaker = cast.endpoint(named: "Bath", host: "10.0.0.1")
            speaker.capabilities[.video] = .unsupported
            var screen = cast.endpoint(named: "Lounge", host: "10.0.0.2")
            screen.capabilities[.video] = .available
            var both = cast.endpoint(named: "Den", host: "10.0.0.3")
            both.capabilities[.video] = .available
            return [
                speaker, screen, both, airplay.endpoint(named: "Den", host: "10.0.0.3"),
                airplay.endpoint(named: "Kitchen", host: "10.0.0.4"),
            ]
        }
        for name in ["film.mp4", "two"] { house.media.add(name, seconds: 600) }
        house.media.showsVideo("film.mp4")
        return house
    }

    @Test("what was stored on a speaker is not taken up on a screen: it plays on where it did")
    func storedState() async throws {
        let house = Self.house()
        house.cast.storesSessions()
        try await house.live { house in
            let played = try await house.engine.play(
                PlayRequest(what: ["film.mp4"], rooms: ["Bath"], externalPlayback: false))
            #expect(played.connection == .connected)
            let error = await #expect(throws: RouterError.self) {
                try await house.engine.transfer(session: nil, to: ["Lounge"])
            }
            #expect(error?.code == .mediaUnsupported)
            let lounge = try #require(house.cast.session(named: "Lounge"))
            #expect(!lounge.asked.contains { if case .resume = $0 { true } else { false } })
            #expect(lounge.loadedTokens.isEmpty)
            #expect(
                await eventually {
                    await house.session()?.members.filter { $0.media == .playing }.map(\.name) == ["Bath"]
                })
        }
    }

    @Test("a room that joins, or takes over, takes its sound alone where it can", arguments: [true, false])
    func chosenWithout(joins: Bool) async throws {
        try await Self.house().live { house in
            _ = try await house.engine.play(
                PlayRequest(what: ["film.mp4"], rooms: ["Kitchen"], externalPlayback: false))
            if joins {
                _ = try await house.engine.join(session: nil, rooms: ["Den"])
            } else {
                async let moved = house.engine.transfer(session: nil, to: ["Den"])
                #expect(await house.turn(seconds: 20) { await house.session()?.members.map(\.name) == ["Den"] })
                _ = try await moved
            }
            #expect(house.cast.opened.isEmpty)
            let den = try #require(await house.session()?.members.first { $0.name == "Den" })
            #expect(den.protocol == .raop)
            #expect(
                await eventually { await house.session()?.members.first { $0.name == "Den" }?.media == .playing })
        }
    }

    @Test("an announcement with a picture is said where its sound is taken alone, and shown nowhere")
    func announced() async throws {
        let house = Self.house()
        house.media.says(false, ofPictureOf: "film.mp4")
        try await house.live { house in
            let saying = Task {
                try await house.engine.announce(AnnounceRequest(what: "film.mp4", rooms: ["Den", "Lounge", "Bath"]))
            }
            for (backend, name) in [(house.airplay, "Den"), (house.cast, "Bath")] {
                #expect(await house.turn(seconds: 5) { backend.session(named: name)?.state.media == .playing })
                backend.session(named: name)?.reachesEnd()
            }
            let rooms = try await saying.value.rooms
            #expect(
                Dictionary(uniqueKeysWithValues: rooms.map { ($0.room, $0.said) })
                    == ["Den": true, "Lounge": false, "Bath": true])
            #expect(rooms.first { $0.room == "Lounge" }?.error?.code == .mediaUnsupported)
            #expect(house.cast.session(named: "Lounge")?.loadedTokens.isEmpty ?? true)
        }
    }

    @Test(
        "what a source says holds for what comes from it, and a person's word goes before it", arguments: [true, false])
    func source(inserted: Bool) async throws {
        let house = Self.house()
        house.media.says(false, ofPictureOf: "film.mp4")
        try await house.live { house in
            func shown(_ word: Bool?) async throws -> Bool? {
                guard inserted else {
                    let request = PlayRequest(what: ["film.mp4"], rooms: ["Den"], externalPlayback: word)
                    return try await house.engine.play(request).queue.items[0].externalPlayback
                }
                let settings = word.map { QueueItemSettings(externalPlayback: $0) }
                return try await house.engine.edit(
                    .append(["film.mp4"], settings: settings), session: nil, ifVersion: nil, workingDirectory: "/"
                ).items.last?.externalPlayback
            }
            if inserted { _ = try await house.play(["two"], in: ["Kitchen"]) }
            #expect(try await shown(nil) == false)
            #expect(try await shown(true) == true)
            #expect(try await shown(false) == false)
            // Without a word it chose the way that shows nothing; the person's word chose the screen.
            if !inserted { #expect(house.cast.opened.count == 1) }
        }
    }

    @Test("what is put into a queue is played as the edit says, in one edit that one undo takes back")
    func insertedWithSettings() async throws {
        try await Self.house().live { house in
            func edit(_ edit: QueueEdit) async throws -> QueueSnapshot {
                try await house.engine.edit(edit, session: nil, ifVersion: nil, workingDirectory: "/")
            }
            let first = try await house.play(["two"], in: ["Kitchen"]).queue
            let settings = QueueItemSettings(
                start: MediaTime(seconds: 2), end: MediaTime(seconds: 9), externalPlayback: false, custom: "[1]")
            let edits: [QueueEdit] = [
                .playNext(["film.mp4"], settings: settings), .append(["film.mp4"], settings: settings),
                .insert(["film.mp4"], before: first.items[0].id, settings: settings),
                .replaceUpcoming(["film.mp4"], settings: settings),
            ]
            for change in edits {
                let before = try #require(await house.session()?.queue)
                let after = try await edit(change)
                #expect(after.version == before.version + 1)
                let known = Set(before.items.map(\.id))
                let new = after.items.filter { !known.contains($0.id) }
                #expect(new.count == 1 && new[0].externalPlayback == false && new[0].custom == "[1]")
                #expect(new[0].start.seconds == 2 && new[0].end?.seconds == 9)
                #expect(after.items.first { $0.id == first.items[0].id }?.externalPlayback == nil)
                #expect(try await edit(.undo).items.map(\.id) == before.items.map(\.id))
            }
            for wrong in [
                QueueItemSettings(start: MediaTime(seconds: 9), end: MediaTime(seconds: 2)),
                QueueItemSettings(custom: "{"), QueueItemSettings(start: MediaTime(seconds: -1)),
            ] {
                let error = await #expect(throws: RouterError.self) {
                    try await edit(.append(["film.mp4"], settings: wrong))
                }
                #expect(error?.code == .configuration)
            }
            #expect(await house.session()?.queue.items.count == 1)
        }
    }

    @Test("each room of a session says whether it shows the picture, or plays the sound alone")
    func observed() async throws {
        try await Self.house().live { house in
            func shown() async -> [String: Bool?] {
                let members = await house.session()?.members ?? []
                return Dictionary(members.map { ($0.name, $0.showsPicture) }, uniquingKeysWith: { one, _ in one })
            }
            _ = try await house.play(["film.mp4", "two"], in: ["Lounge", "Bath", "Kitchen"])
            #expect(await eventually { await shown() == ["Lounge": true, "Bath": false, "Kitchen": false] })
            _ = try await house.engine.perform(.next, session: nil, origin: .cli)
            #expect(await eventually { await shown() == ["Lounge": nil, "Bath": nil, "Kitchen": nil] })
        }
    }

    @Test("an item that is opted out while it is on the screen goes from it")
    func whileShown() async throws {
        try await Self.house().live { house in
            let items = try await house.play(["film.mp4", "two"], in: ["Lounge"]).queue.items
            let lounge = try #require(house.cast.session(named: "Lounge"))
            let shown = try #require(lounge.loadedTokens.first)
            #expect(lounge.state.loaded == shown)
            _ = try await house.engine.edit(
                .settings([items[0].id], QueueItemSettings(externalPlayback: false)), session: nil, ifVersion: nil,
                workingDirectory: "/")
            #expect(await eventually { lounge.state.loaded != shown })
            #expect(await eventually { await house.session()?.queue.current == items[1].id })
            #expect(await house.session()?.queue.items[0].failure?.contains("picture") == true)
        }
    }
}
