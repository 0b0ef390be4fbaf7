import GRDB
import RouteModel
import Testing

@testable import RouterStore

@Suite("R2 rooms and groups in the store")
struct RoomStoreTests {
    let folder = TemporaryFolder()

    @Test("what was made is there after a restart, replaced by name, and gone once removed")
    func roundTrip() async throws {
        var kitchen = Room(
            name: "Küche", aliases: ["cooking"], devices: ["A", "cast://10.0.0.1"], via: .airplay,
            volumeLimit: VolumePosition(0.5), offsetMilliseconds: -20, stored: true)
        kitchen.quietHours = try QuietHours("22:00-07:00 at 30 %")
        kitchen.startVolume = .cap(VolumePosition(0.25))
        kitchen.volumeCurve = .table([0, 0.05, 1])
        let group = RoomGroup(name: "Down", rooms: ["Küche", "TV"], trims: ["TV": 0.5])
        do {
            let store = try RouterStore(path: folder.file)
            try await store.saveRoom(kitchen, replacing: nil)
            try await store.saveRoom(Room(name: "Bath", devices: ["B"]), replacing: nil)
            try await store.saveRoomGroup(group)
            try await store.saveRoomGroup(RoomGroup(name: "Up", rooms: ["Bath"]))
        }
        let store = try RouterStore(path: folder.file)
        #expect(try await store.rooms() == [Room(name: "Bath", devices: ["B"]), kitchen])
        #expect(try await store.roomGroups() == [group, RoomGroup(name: "Up", rooms: ["Bath"])])
        try await store.saveRoom(Room(name: "Spa", devices: ["B"]), replacing: "Bath")
        try await store.saveRoom(Room(name: "Spa", devices: ["C"]), replacing: "Spa")
        #expect(try await store.rooms().map(\.devices) == [kitchen.devices, ["C"]])
        try await store.removeRoom("Küche")
        try await store.removeRoom("never there")
        try await store.removeRoomGroup("Down")
        #expect(try await store.rooms().map(\.name) == ["Spa"])
        #expect(try await store.roomGroups().map(\.name) == ["Up"])
    }

    @Test("what a later version wrote in a form unknown here is passed over")
    func unknownForm() async throws {
        let store = try RouterStore(path: folder.file)
        try await store.saveRoom(Room(name: "Bath", devices: ["B"]), replacing: nil)
        try await store.database.write { db in
            try db.execute(sql: "INSERT INTO room (name, content) VALUES ('Odd', '{\"devices\":7}'), ('Broken', '{')")
        }
        #expect(try await store.rooms().map(\.name) == ["Bath"])
    }
}
