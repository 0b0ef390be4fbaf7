import AvahiDiscovery
import Foundation
import RouteBackend
import RouteModel

/// The throw-away network of `Tests/lab.sh`, seen from inside.
enum Lab {
    static let isHere = ProcessInfo.processInfo.environment["ROUTER_LAB"] == "1"
    static let isLong = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1"
    static let elsewhere = "needs the lab: Tests/lab.sh swift test --skip-build --filter AvahiDiscoveryTests"

    /// `start`, `stop` or `kill` the lab's own Avahi daemon.
    static func avahi(_ verb: String) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let process = Process()
        process.executableURL = script.appending(path: "lab.sh")
        process.arguments = ["avahi", verb]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw RouterError(.internal, "Tests/lab.sh avahi \(verb) failed with \(process.terminationStatus)")
        }
    }
}

/// Reads a stream of events to its end, and answers what it has seen so far.
actor Watcher {
    private(set) var records: [ServiceRecord.Key: ServiceRecord] = [:]
    private(set) var states: [DiscoveryState] = []
    private(set) var removals: [ServiceRecord.Key] = []

    func watch(_ events: AsyncStream<ServiceEvent>) async {
        for await event in events {
            switch event {
            case .resolved(let record): records[record.key] = record
            case .removed(let key):
                records[key] = nil
                removals.append(key)
            case .state(let state): states.append(state)
            }
        }
    }

    func record(_ type: String, _ name: String) -> ServiceRecord? {
        records[ServiceRecord.Key(type: type, name: name)]
    }

    /// How often a state was entered.
    func count(_ status: DiscoveryState.Status) -> Int { states.count { $0.status == status } }
}

/// Browses for as long as `body` runs.
func browsing(_ types: [String], _ browser: AvahiBrowser = AvahiBrowser(), _ body: (Watcher) async throws -> Void)
    async throws
{
    let watcher = Watcher()
    let events = browser.browse(types)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await watcher.watch(events) }
        defer { group.cancelAll() }
        try await body(watcher)
    }
}
