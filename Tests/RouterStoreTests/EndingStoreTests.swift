import Foundation
import GRDB
import RouteModel
import Testing

@testable import RouterStore

@Suite("what is kept of sessions that have ended")
struct EndingStoreTests {
    private let folder = TemporaryFolder()

    private func ending(_ id: String, _ reason: StopReason = .finished) -> SessionEnding {
        SessionEnding(
            session: SessionID(rawValue: id), reason: reason,
            members: [SessionEnding.Member(route: RouteID(rawValue: "rt-1"), name: "Küche", protocol: .cast)])
    }

    private func queue(_ version: Int) -> QueueSnapshot {
        QueueSnapshot(version: version, items: [item("01A-\(version)", path: "/a")], current: nil)
    }

    @Test("the latest come first, with their queues; without a queue, or while it may be taken up, there is none")
    func endings() async throws {
        let store = try RouterStore(path: folder.file)
        for number in 1...4 {
            let id = SessionID(rawValue: "se-\(number)")
            try await store.saveQueue(queue(number), session: id)
            try await store.saveEnding(ending("se-\(number)", number == 2 ? .error : .finished))
        }
        try await store.saveEnding(ending("se-9"))
        try await store.saveSession(record("se-3"))
        let again = try RouterStore(path: folder.file)
        let found = try await again.endings(limit: 2)
        #expect(found.map(\.ending) == [ending("se-4"), ending("se-2", .error)])
        #expect(found.map(\.queue.version) == [4, 2])
        #expect(try await again.endings(limit: 9).map(\.ending.session.rawValue) == ["se-4", "se-2", "se-1"])
        try await again.removeSession(SessionID(rawValue: "se-3"))
        #expect(try await again.endings(limit: 9).count == 4)
    }

    @Test("with the queue goes how it ended")
    func cascade() async throws {
        let store = try RouterStore(path: folder.file)
        for number in 1...(RouterStore.keptQueues + 5) {
            let id = SessionID(rawValue: "se-\(number)")
            try await store.saveQueue(queue(number), session: id)
            try await store.saveEnding(ending(id.rawValue))
        }
        let count = try await store.database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM ending") }
        #expect(count == RouterStore.keptQueues)
    }
}
