import Foundation
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import RouterDaemon

@Suite("R2 the configuration file while a router runs", .timeLimit(.minutes(1)))
struct ConfigurationWatchTests {
    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.path + "/router-watch-\(UUID().uuidString)"
        var file: String { path + "/config.yaml" }
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        /// In place, as some editors do it, or by a new file, as others do.
        func write(_ text: String, replacing: Bool = true) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: replacing ? .atomic : [])
        }
    }

    /// What the watch told, in order: the rooms of a good file, or what is wrong.
    private final class Told: Sendable {
        private let entries = Mutex<[String]>([])
        var all: [String] { entries.withLock { $0 } }
        func add(_ entry: String) { entries.withLock { $0.append(entry) } }
    }

    private static func rooms(_ names: String...) -> String {
        "version: 1\nrooms:\n" + names.map { "  - { name: \($0), devices: [\($0)] }\n" }.joined()
    }

    /// Runs a watch on the file as it is now, on a clock turned by hand.
    private func watch(
        _ folder: Folder, mustExist: Bool = false, _ body: @escaping @Sendable (ManualClock, Told) async throws -> Void
    ) async throws {
        let (clock, told) = (ManualClock(), Told())
        let known = try RouterConfiguration.load(path: folder.file, mustExist: mustExist)
        let watch = ConfigurationWatch(path: folder.file, mustExist: mustExist, clock: clock)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await watch.run(known: known) { _, new in
                    told.add(new.rooms.map(\.name).joined(separator: " "))
                } wrong: { error in
                    told.add("wrong: \(error.message)")
                }
            }
            try await body(clock, told)
            group.cancelAll()
        }
    }

    /// Lets the watch look so often.
    private func looks(_ times: Int, _ clock: ManualClock) async {
        for _ in 0..<times {
            #expect(await eventually { clock.sleepers == 1 })
            clock.advance(nanoseconds: ConfigurationWatch.periodNanoseconds)
        }
        #expect(await eventually { clock.sleepers == 1 })
    }

    @Test("a change is taken up once the file has settled, whether written in place or replaced")
    func changes() async throws {
        let folder = try Folder()
        try folder.write(Self.rooms("Kitchen"))
        try await watch(folder) { clock, told in
            await looks(3, clock)
            #expect(told.all.isEmpty)
            try folder.write(Self.rooms("Kitchen", "Bath"))
            await looks(1, clock)
            #expect(told.all.isEmpty, "it may be written to still")
            await looks(1, clock)
            #expect(told.all == ["Kitchen Bath"])
            try folder.write(Self.rooms("Attic"), replacing: false)
            await looks(3, clock)
            #expect(told.all == ["Kitchen Bath", "Attic"])
            try folder.write(Self.rooms("Attic") + "# no change at all\n")
            await looks(3, clock)
            #expect(told.all.count == 2)
        }
    }

    @Test("what is wrong is told once with its place, and what was known before holds on")
    func wrong() async throws {
        let folder = try Folder()
        try folder.write(Self.rooms("Kitchen"))
        try await watch(folder) { clock, told in
            try folder.write("version: 1\nrooms:\n  - nmae: x\n")
            await looks(5, clock)
            #expect(told.all.count == 1)
            #expect(told.all.first?.hasPrefix("wrong: ") == true)
            #expect(told.all.first?.contains("config.yaml:3:5") == true)
            #expect(told.all.first?.contains("holds on") == true)
            try folder.write(Self.rooms("Kitchen"))
            await looks(3, clock)
            #expect(told.all.count == 1, "it says what it said before")
            try folder.write(Self.rooms("Den"))
            await looks(3, clock)
            #expect(told.all.last == "Den")
        }
    }

    @Test("a file that comes later is taken up; one that goes is an empty one, unless it was named")
    func comesAndGoes() async throws {
        let folder = try Folder()
        try await watch(folder) { clock, told in
            await looks(3, clock)
            try folder.write(Self.rooms("Kitchen"))
            await looks(3, clock)
            #expect(told.all == ["Kitchen"])
            try FileManager.default.removeItem(atPath: folder.file)
            await looks(3, clock)
            #expect(told.all == ["Kitchen", ""])
        }
        try folder.write(Self.rooms("Kitchen"))
        try await watch(folder, mustExist: true) { clock, told in
            await looks(2, clock)
            try FileManager.default.removeItem(atPath: folder.file)
            await looks(3, clock)
            #expect(told.all.count == 1 && told.all[0].hasPrefix("wrong: there is no configuration file"))
        }
    }

    @Test("what only a new start can take up is named")
    func onlyAtStart() {
        var new = RouterConfiguration()
        #expect(new.onlyAtStart(than: RouterConfiguration()).isEmpty)
        new.rooms = [Room(name: "x", devices: ["y"])]
        new.senderName = "Home"
        new.mediaPort = 1
        new.devices = [.init(uri: "cast://10.0.0.1")]
        #expect(new.onlyAtStart(than: RouterConfiguration()) == ["name", "media", "devices"])
    }
}
