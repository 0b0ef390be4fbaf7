import ArgumentParser
import Foundation
import SimulatedReceivers
import Testing

@testable import RouterCommands

@Suite("R8 what router simulate starts")
struct SimulatePlannerTests {
    private func specs(_ texts: [String]) throws -> [SimulatedReceiverSpec] {
        try texts.map { try SimulatedReceiverSpec(parsing: $0) }
    }

    private func ports(cast: [String], raop: [String], first: Int? = nil) throws -> [Int] {
        let plan = try SimulatePlanner(cast: specs(cast), raop: specs(raop), firstPort: first).plan()
        return plan.cast.map(\.port) + plan.raop.map(\.port)
    }

    @Test("without --port: the standard port of each kind, then the next, and the same again at another address")
    func standardPorts() throws {
        #expect(try ports(cast: ["A", "B"], raop: ["C", "D"]) == [8_009, 8_010, 5_000, 5_001])
        #expect(try ports(cast: ["A@10.0.0.1", "B@10.0.0.2"], raop: []) == [8_009, 8_009])
        #expect(try ports(cast: ["A", "B@127.0.0.1:8009"], raop: []) == [8_010, 8_009])
    }

    @Test("--port is the first receiver's, the next ones follow; a receiver's own port counts more")
    func givenPorts() throws {
        #expect(try ports(cast: ["A", "B"], raop: ["C"], first: 9_000) == [9_000, 9_001, 9_002])
        #expect(try ports(cast: ["A", "B@127.0.0.1:9001"], raop: ["C"], first: 9_000) == [9_000, 9_001, 9_002])
        #expect(try ports(cast: ["A"], raop: ["C", "D"], first: 0) == [0, 0, 0])
        #expect(throws: ValidationError.self) { try ports(cast: ["A", "B"], raop: [], first: 65_535) }
        #expect(throws: ValidationError.self) { try ports(cast: ["A@127.0.0.1:80", "B@127.0.0.1:80"], raop: []) }
    }

    @Test("files are named by the receiver; a device that is both has one of each kind")
    func recordings() throws {
        let folder = URL(fileURLWithPath: "/tmp/heard")
        let plan = try SimulatePlanner(
            cast: specs(["Bedroom", "TV"]), raop: specs(["Bedroom"]), recordingFolder: folder
        ).plan()
        #expect(plan.cast.map(\.recordingName) == ["Bedroom-cast", "TV"])
        #expect(plan.raop.map(\.recordingName) == ["Bedroom-raop"])
        #expect(plan.raop.map(\.recordingFolder) == [folder])
    }

    @Test("two of one name are refused")
    func names() throws {
        #expect(throws: ValidationError.self) { try ports(cast: ["A", "A@10.0.0.1"], raop: []) }
        #expect(throws: ValidationError.self) { try ports(cast: ["A", "A-raop"], raop: ["A", "A-cast"]) }
    }

    @Test("a fault is had by the receiver that is named, or by all that can have it")
    func faults() throws {
        func plan(_ faults: String...) throws -> SimulatedHouse.Plan {
            try SimulatePlanner(
                cast: specs(["TV"]), raop: specs(["Kitchen", "Study"]),
                faults: faults.map { try SimulatedFault(parsing: $0) }, password: "open"
            ).plan()
        }
        let busy = try plan("Kitchen:busy")
        #expect(busy.raop.map(\.faults.isBusy) == [true, false] && busy.cast[0].faults.launchError == nil)
        let all = try plan("slow=1.5", "refuse", "never-answer", "drop=4", "busy")
        #expect(all.cast[0].faults.answerDelay == .seconds(1.5) && all.raop[1].faults.answerDelay == 1.5)
        #expect(all.cast[0].faults.refusesConnections && all.raop[1].faults.refusesConnections)
        #expect(all.cast[0].faults.neverAnswers && all.raop[1].faults.neverAnswers)
        #expect(all.cast[0].faults.dropsConnectionAtMessage == 4 && all.raop[1].faults.closesAfterRequests == 4)
        #expect(all.cast[0].faults.launchError == "NOT_ALLOWED")
        let own = try plan("lose=3", "load-failed=104", "Study:wrong-password")
        #expect(own.raop.map(\.faults.dropAudio) == [0.03, 0.03] && own.cast[0].faults.loadFails == 104)
        #expect(own.raop[0].password == "open" && own.raop[1].password != "open" && own.raop[1].password != nil)
        #expect(throws: ValidationError.self) { try plan("Attic:busy") }
        #expect(throws: ValidationError.self) { try plan("TV:lose=3") }
        #expect(throws: ValidationError.self) { try plan("Kitchen:load-failed") }
        let streaming = try plan("stream-lose=5", "stream-delay=30", "stream-closed").cast[0].faults.streaming
        #expect(streaming.lose == 0.05 && streaming.delay == .milliseconds(30) && streaming.portIsClosed)
        #expect(throws: ValidationError.self) { try plan("Kitchen:stream-lose=5") }
    }
}
