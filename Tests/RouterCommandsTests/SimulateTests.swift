import ArgumentParser
import Foundation
import RouteModel
import SimulatedReceivers
import Testing

@testable import RouterCommands

@Suite("R8 router simulate: what is to run")
struct SimulateTests {
    private func plan(_ arguments: String...) throws -> SimulatedHouse.Plan {
        try #require(try RouterCommand.parseAsRoot(["simulate"] + arguments) as? SimulateCommand).plan()
    }

    static let places: [(String, SimulatedPlace?)] = [
        ("TV", SimulatedPlace(name: "TV")), ("Living Room", SimulatedPlace(name: "Living Room")),
        ("TV@10.0.0.1", SimulatedPlace(name: "TV", host: "10.0.0.1")),
        ("TV@10.0.0.1:80", SimulatedPlace(name: "TV", host: "10.0.0.1", port: 80)),
        ("TV@[::1]:80", SimulatedPlace(name: "TV", host: "::1", port: 80)),
        ("TV@[::1]", SimulatedPlace(name: "TV", host: "::1")), ("", nil), ("@h", nil), ("a/b", nil), ("..", nil),
        ("TV@", nil), ("TV@h:", nil), ("TV@h:65536", nil), ("TV@:80", nil),
    ]

    @Test("a receiver as it is typed", arguments: places)
    func place(_ text: String, _ place: SimulatedPlace?) {
        #expect(SimulatedPlace(argument: text) == place)
    }

    static let faults: [(String, SimulatedFault.Kind?)] = [
        ("refuse", .refuse), ("silent", .silent), ("slow=1.5", .slow(1.5)), ("drop=3", .drop(3)), ("busy", .busy),
        ("wrong-password", .wrongPassword), ("lose=3", .lose(0.03)), ("load-failed=905", .loadFailed(905)),
        ("Living Room:busy", .busy), ("explode", nil), ("slow", nil), ("slow=soon", nil), ("slow=-1", nil),
        ("drop=0", nil), ("lose=101", nil), ("lose=nan", nil), ("busy=1", nil), ("load-failed", nil), ("", nil),
    ]

    @Test("a fault as it is typed", arguments: faults)
    func fault(_ text: String, _ kind: SimulatedFault.Kind?) {
        let fault = SimulatedFault(argument: text)
        #expect(fault?.kind == kind)
        #expect(fault == nil || fault?.receiver == (text.contains(":") ? "Living Room" : nil))
    }

    @Test("nothing named is one of each, where receivers usually listen")
    func usual() throws {
        let plan = try plan()
        #expect(plan.cast.map(\.port) == [8009] && plan.raop.map(\.port) == [5000] && !plan.announces)
        #expect(plan.cast[0].httpPort == 8008 && plan.cast[0].host == "127.0.0.1")
        #expect(try self.plan("--raop", "Kitchen").cast.isEmpty)
    }

    @Test("ports: given ones, following ones, free ones, and the usual one on each address")
    func ports() throws {
        let given = try plan("--cast", "A@10.0.0.1:1", "--cast", "B", "--raop", "C", "--port", "9000")
        #expect(given.cast.map(\.port) == [1, 9000] && given.raop.map(\.port) == [9001])
        let free = try plan("--cast", "A", "--raop", "C", "--port", "0")
        #expect(free.cast.map(\.port) == [0] && free.raop.map(\.port) == [0])
        let usual = try plan("--cast", "A", "--cast", "B", "--cast", "C@10.0.0.1", "--raop", "D", "--raop", "E")
        #expect(usual.cast.map(\.port) == [8009, 8010, 8009] && usual.raop.map(\.port) == [5000, 5001])
    }

    @Test("a device that speaks both is two receivers of one name, with recordings apart")
    func both() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("router-both-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let both = try plan("--cast", "A", "--raop", "A", "--raop", "B", "--record", folder.path)
        #expect(both.cast[0].recordingFolder?.lastPathComponent == "cast")
        #expect(both.raop.map(\.recordingFolder?.lastPathComponent) == ["airplay", folder.lastPathComponent])
        for folder in both.raop.map(\.recordingFolder) {
            #expect(FileManager.default.fileExists(atPath: folder?.path ?? ""))
        }
    }

    @Test("faults go to whom they are for")
    func whose() throws {
        let one = try plan("--raop", "A", "--raop", "B", "--fault", "B:busy", "--fault", "lose=50")
        #expect(one.raop.map(\.faults.isBusy) == [false, true])
        #expect(one.raop.map(\.faults.dropAudio) == [0.5, 0.5])
        let cast = try plan("--cast", "A", "--fault", "drop=3", "--fault", "load-failed=905", "--fault", "refuse")
        #expect(cast.cast[0].faults.dropsConnectionAtMessage == 3 && cast.cast[0].faults.loadFails == 905)
        #expect(cast.cast[0].faults.refusesConnections)
        #expect(try plan("--raop", "A", "--fault", "wrong-password").raop[0].password?.isEmpty == false)
        // For all of them: whoever can.
        #expect(try plan("--fault", "busy").raop[0].faults.isBusy)
        let error = try #require(throws: RouterError.self) { try plan("--cast", "A", "--fault", "A:busy") }
        #expect(error.code == .configuration && error.hint != nil)
    }
}
