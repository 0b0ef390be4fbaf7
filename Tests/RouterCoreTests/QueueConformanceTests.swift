import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import RouterCore

@Suite("C10 a queue does the same in every kind of room", .timeLimit(.minutes(2)))
struct QueueConformanceTests {
    @Test(
        "fetching, sent to, both, and with a queue on the device", arguments: QueueConformance.cases,
        [["Lounge"], ["Kitchen"], ["Kitchen", "Lounge"], ["window"]])
    func conforms(_ name: String, in rooms: [String]) async throws {
        let house = rooms == ["window"] ? House.twoWithQueues() : House.kitchenAndLounge()
        for tune in ["a", "b", "c", "d"] { house.media.add(tune, seconds: 60) }
        try await house.live { house in
            try await QueueConformance(
                house.engine, rooms: rooms == ["window"] ? ["Lounge"] : rooms, tunes: ["a", "b", "c", "d"]
            ).run(name)
        }
    }
}
