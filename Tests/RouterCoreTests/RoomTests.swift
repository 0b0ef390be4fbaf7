import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("R2 rooms and groups", .timeLimit(.minutes(2)))
struct RoomTests {
    private static func house(_ rooms: [Room] = [], store: InMemoryStore = InMemoryStore()) -> House {
        let house = House(rooms: rooms, store: store) { airplay, cast in
            [
                airplay.endpoint(named: "Speaker A", host: "10.0.0.1"),
                airplay.endpoint(named: "Speaker B", host: "10.0.0.2"), cast.endpoint(named: "TV", host: "10.0.0.3"),
            ]
        }
        house.media.add("one", seconds: 600)
        return house
    }

    private static let ofFile = Room(name: "Study", aliases: ["office"], devices: ["TV"], configured: true)

    private func names(_ house: House) async throws -> [String] {
        try await house.engine.rooms(settle: false).map(\.name)
    }

    private func refuses(
        _ code: RouterError.Code, _ part: String, _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("“\(part)” was let pass")
        } catch {
            let error = RouterError(wrapping: error)
            #expect(error.code == code, "\(error)")
            #expect(error.message.contains(part), "\(error)")
            #expect(error.hint != nil)
        }
    }

    @Test("a room of two devices is made, plays, is renamed with its groups, and is there after a restart")
    func making() async throws {
        let store = InMemoryStore()
        try await Self.house(store: store).live { house in
            var wanted = Room(name: "Kitchen", aliases: ["cooking"], devices: ["Speaker A", "Speaker B"])
            wanted.volumeLimit = VolumePosition(0.4)
            let room = try await house.engine.saveRoom(wanted, replacing: nil)
            #expect(room.routes.count == 2)
            #expect(room.stored == true && !room.configured)
            #expect(try await names(house) == ["Kitchen", "TV"])
            await refuses(.routeNotFound, "nothing is playing") {
                _ = try await house.engine.perform(
                    .setVolume(VolumePosition(0.3), room: "cooking"), session: nil, origin: .cli)
            }
            let session = try await house.play(["one"], in: ["cooking"])
            let set = try await house.engine.perform(
                .setVolume(VolumePosition(0.3), room: "cooking"), session: nil, origin: .cli)
            #expect(set.outcome == .succeeded)
            #expect(session.members.map(\.name).sorted() == ["Kitchen (Speaker A)", "Kitchen (Speaker B)"])
            #expect(session.members.allSatisfy { $0.roomName == "Kitchen" })
            #expect(session.members.allSatisfy { $0.volume?.level.value == 0.4 })
            _ = try await house.engine.saveGroup(
                RoomGroup(name: "All of it", rooms: ["Kitchen", "TV"], trims: ["Kitchen": 0.5]))
            wanted.name = "Galley"
            // By another of its names, as the API may.
            _ = try await house.engine.saveRoom(wanted, replacing: "cooking")
            let renamed = await house.session()?.members.map(\.name).sorted()
            #expect(renamed == ["Galley (Speaker A)", "Galley (Speaker B)"])
            let quieter = try await house.engine.perform(
                .setVolume(VolumePosition(0.2), room: "Galley"), session: nil, origin: .api)
            #expect(quieter.outcome == .succeeded)
            #expect(
                try await house.engine.groups() == [
                    RoomGroup(name: "All of it", rooms: ["Galley", "TV"], trims: ["Galley": 0.5])
                ])
        }
        try await Self.house(store: store).live { house in
            #expect(try await names(house) == ["Galley", "TV"])
            try await house.engine.removeRoom("galley")
            #expect(try await names(house) == ["Speaker A", "Speaker B", "TV"])
            #expect(try await house.engine.groups().map(\.rooms) == [["TV"]])
        }
    }

    @Test("what stands in the file wins, and is changed there only")
    func fileWins() async throws {
        let store = InMemoryStore()
        await store.saveRoom(Room(name: "office", devices: ["Speaker A"], stored: true), replacing: nil)
        try await Self.house([Self.ofFile], store: store).live { house in
            let known = try await names(house)
            #expect(known == ["Study", "Speaker A", "Speaker B"])
            await refuses(.configuration, "configuration file") {
                _ = try await house.engine.saveRoom(Room(name: "Office", devices: ["Speaker A"]), replacing: nil)
            }
            await refuses(.configuration, "configuration file") {
                _ = try await house.engine.saveRoom(Room(name: "Studio", devices: ["TV"]), replacing: "study")
            }
            await refuses(.configuration, "configuration file") { try await house.engine.removeRoom("Study") }
        }
    }

    @Test("names that are taken, and rooms that are none, are told")
    func refusals() async throws {
        try await Self.house([Self.ofFile]).live { house in
            _ = try await house.engine.saveRoom(Room(name: "Kitchen", devices: ["Speaker A"]), replacing: nil)
            await refuses(.configuration, "“kitchen”") {
                _ = try await house.engine.saveRoom(Room(name: "kitchen", devices: ["Speaker B"]), replacing: nil)
            }
            await refuses(.configuration, "“Kitchen”") {
                _ = try await house.engine.saveRoom(
                    Room(name: "Bath", aliases: ["Kitchen"], devices: ["Speaker B"]), replacing: nil)
            }
            await refuses(.routeNotFound, "did you mean “Kitchen”") { try await house.engine.removeRoom("Kitchn") }
            await refuses(.routeNotFound, "Attic") {
                _ = try await house.engine.saveRoom(Room(name: "Loft", devices: ["TV"]), replacing: "Attic")
            }
            let wrong: [(Room, String)] = [
                (Room(name: "", devices: ["TV"]), "1 to 64"), (Room(name: "@home", devices: ["TV"]), "@"),
                (Room(name: String(repeating: "x", count: 65), devices: ["TV"]), "1 to 64"),
                (Room(name: "a\nb", devices: ["TV"]), "plain"), (Room(name: "x", devices: []), "devices"),
                (Room(name: "x", devices: [""]), "device"),
                (Room(name: "x", devices: Array(repeating: "y", count: 33)), "devices"),
                (Room(name: "x", aliases: ["X"], devices: ["TV"]), "alias"),
                (Room(name: "x", devices: ["TV"], offsetMilliseconds: 5001), "offset"),
                (
                    Room(
                        name: "x", devices: ["TV"], quietHours: QuietHours(from: 9, to: 1440, limit: VolumePosition(0))),
                    "quiet"
                ),
            ]
            for (room, part) in wrong {
                await refuses(.configuration, part) { _ = try await house.engine.saveRoom(room, replacing: nil) }
            }
        }
    }

    @Test("a device's own room is given what rooms have, under its name or another")
    func deviceRoom() async throws {
        try await Self.house().live { house in
            _ = try await house.engine.rooms(settle: false)
            _ = try await house.engine.saveRoom(Room(name: "TV", devices: ["TV"], via: .cast), replacing: "TV")
            #expect(try await names(house) == ["TV", "Speaker A", "Speaker B"])
            #expect(try await house.engine.rooms(settle: false).first?.via == .cast)
        }
    }

    @Test("groups: by their name, @group, with trims; rooms that are not there are told")
    func groups() async throws {
        try await Self.house([Self.ofFile]).live { house in
            let group = try await house.engine.saveGroup(
                RoomGroup(name: "Down", rooms: ["speaker a", "office", "Study"], trims: ["office": 0.5]))
            #expect(group == RoomGroup(name: "Down", rooms: ["Speaker A", "Study"], trims: ["Study": 0.5]))
            let session = try await house.engine.play(
                PlayRequest(what: ["one"], rooms: ["@group:down"], volume: VolumePosition(0.6)))
            #expect(session.members.map(\.name) == ["Speaker A", "Study"])
            #expect(session.members.map { $0.volume?.level.value } == [0.6, 0.3])
            #expect(session.volume?.level.value == 0.6)
            #expect(
                try await house.engine.targets(["Down", "Speaker B"]).map(\.name) == [
                    "Speaker A", "Study", "Speaker B",
                ])
            #expect(try await house.engine.targets(["@active"]).map(\.name) == ["Study", "Speaker A"])
            #expect(try await house.engine.targets(["@all"]).map(\.name) == ["Study", "Speaker A", "Speaker B"])
            let left = try await house.engine.leave(session: nil, rooms: ["OFFICE"])
            #expect(left.members.map(\.name) == ["Speaker A"])
            await refuses(.routeNotFound, "did you mean “Down”") { _ = try await house.engine.targets(["@group:Dwn"]) }
            await refuses(.routeNotFound, "@kitchen") { _ = try await house.engine.targets(["@kitchen"]) }
            await refuses(.routeNotFound, "Attic") {
                _ = try await house.engine.saveGroup(RoomGroup(name: "Up", rooms: ["Attic"]))
            }
            await refuses(.configuration, "trim") {
                _ = try await house.engine.saveGroup(RoomGroup(name: "Up", rooms: ["TV"], trims: ["Speaker B": 0.5]))
            }
            await refuses(.configuration, "trim") {
                _ = try await house.engine.saveGroup(RoomGroup(name: "Up", rooms: ["Study"], trims: ["Study": 1.5]))
            }
            await refuses(.configuration, "rooms") {
                _ = try await house.engine.saveGroup(RoomGroup(name: "Up", rooms: []))
            }
            try await house.engine.removeGroup("DOWN")
            await refuses(.routeNotFound, "Down") { try await house.engine.removeGroup("Down") }
            #expect(try await house.engine.groups().isEmpty)
        }
    }

    @Test("with nothing playing @active says so")
    func nothingActive() async throws {
        try await Self.house().live { house in
            await refuses(.routeNotFound, "nothing is playing") { _ = try await house.engine.targets(["@active"]) }
        }
    }

    @Test("rooms of the file change while something plays: limits and offsets hold at once, and people are told")
    func reconfigure() async throws {
        let before = Room(name: "Kitchen", devices: ["Speaker A"], configured: true)
        try await Self.house([before]).live { house in
            _ = try await house.play(["one"], in: ["Kitchen", "Speaker B"])
            let device = try #require(house.airplay.session(named: "Speaker A"))
            let other = try #require(house.airplay.session(named: "Speaker B"))
            house.clock.advance(seconds: 20)
            var events = (await house.engine.events()).makeAsyncIterator()
            var kitchen = before
            kitchen.volumeLimit = VolumePosition(0.2)
            kitchen.offsetMilliseconds = 40
            await house.engine.reconfigure(rooms: [kitchen, Self.ofFile])
            #expect(device.asked.contains(.volume(VolumeState(level: VolumePosition(0.2)))))
            #expect(!other.asked.contains { if case .volume = $0 { true } else { false } })
            guard
                case .load(_, let frame?, let timeline?, true)? = device.asked.last(where: {
                    if case .load = $0 { true } else { false }
                }),
                case .load(_, _, let first?, true)? = other.asked.first(where: {
                    if case .load = $0 { true } else { false }
                })
            else {
                Issue.record("no load")
                return
            }
            #expect(frame > 0)
            #expect(timeline.hostNanoseconds - first.hostNanoseconds == 40_000_000)
            #expect(try await names(house) == ["Kitchen", "Study", "Speaker B"])
            var told: [Room]?
            while told == nil, let event = await events.next() {
                if case .rooms(let rooms, _) = event.body { told = rooms }
            }
            #expect(told?.map(\.name) == ["Kitchen", "Study", "Speaker B"])
        }
    }

    @Test("R5 rooms that fetch are kept apart by their offsets: at the start, in a seek and when one comes late")
    func pullOffsets() async throws {
        let rooms = [Room(name: "Porch", devices: ["Porch"], offsetMilliseconds: 500, configured: true)]
        let house = House(rooms: rooms) { _, cast in
            [cast.endpoint(named: "TV", host: "10.0.0.3"), cast.endpoint(named: "Porch", host: "10.0.0.4")]
        }
        house.media.add("one", seconds: 600)
        try await house.live { house in
            async let playing = house.play(["one"], in: ["TV", "Porch"])
            #expect(await eventually { house.cast.session(named: "TV")?.loadedTokens.count == 1 })
            let porch = try #require(house.cast.session(named: "Porch"))
            #expect(porch.loadedTokens.isEmpty)
            #expect(await house.turn(seconds: 1) { porch.loadedTokens.count == 1 })
            _ = try await playing
            house.clock.advance(seconds: 1)
            _ = try await house.engine.perform(.seek(to: MediaTime(seconds: 100)), session: nil, origin: .cli)
            #expect(porch.asked.contains(.perform(.seek(to: MediaTime(seconds: 99.5), resume: true))))
            #expect(
                house.cast.session(named: "TV")?.asked.contains(
                    .perform(.seek(to: MediaTime(seconds: 100), resume: true))) == true)
        }
    }
}
