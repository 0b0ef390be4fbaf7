import AirPlay
import Foundation
import PeerSupport
import RouterTestKit
import Testing

/// Debian's ptp4l, in a namespace of its own, follows our clock without ever steering one.
@Suite("R5 PTP linuxptp as a slave", .serialized, .enabled(if: Lab.isInside, Lab.reason))
struct PTPGrandmasterTests {
    private static let peer = "10.79.0.2"
    private static let seconds = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1" ? 60 : 15

    @Test(
        "R5 PTP ptp4l selects our grandmaster, and its master offset stays within 100 µs of its own median",
        .timeLimit(.minutes(4)))
    func slave() async throws {
        guard Command.exists("ptp4l") else { try Test.cancel("ptp4l is not installed: Tests/setup.sh tests does it") }
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-ptp4l-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let clock = try PTPClockService()
        try await clock.start()
        // What comes before its first offset is not of the figure.
        let slave = try PeerProgram("ptp4l_slave.py", [folder.path, "\(Self.seconds + 5)"])
        _ = try await slave.start()
        #expect(try await clock.add(peer: Self.peer) == "10.79.0.1")
        #expect(
            await eventually(within: .seconds(Self.seconds + 30)) { await !slave.events("ended").isEmpty })
        let status = try #require(await clock.status(of: Self.peer))
        let statistics = await clock.statistics
        await clock.stop()
        await slave.stop()

        let log = await slave.events("log").compactMap { $0["text"] as? String }.joined(separator: "\n")
        let selected = await slave.events("selected").compactMap { $0["clock"] as? String }
        #expect(selected.first == String(clock.clockID, radix: 16).leftPadded(to: 16), "\(log)")
        // The first offsets are from before a delay was measured.
        let offsets = await slave.events("offset").compactMap { $0["nanoseconds"] as? Int }.dropFirst(8)
        // Eight a second, or one: where it begins in the middle of our first Syncs, it prints an estimate over eight.
        try #require(offsets.count >= Self.seconds * 3 / 4, "\(offsets.count) offsets; \(status)\n\(log)")
        let median = offsets.sorted()[offsets.count / 2]
        let deviations = offsets.map { abs($0 - median) }.sorted()
        print(
            "ptp4l: \(offsets.count) offsets, median \(median) ns; away from it: median \(deviations[deviations.count / 2])",
            "ns, 99 % \(deviations[deviations.count * 99 / 100]) ns, most \(deviations.last ?? 0) ns;",
            "\(status.syncsWithheld) of \(status.syncsSent) Syncs withheld, asked each \(status.askingInterval ?? 0) ns"
        )
        #expect((deviations.last ?? .max) <= 100_000)
        #expect(!log.contains("timeout"), "\(log)")
        // It asked, by Signaling and by Delay_Req: what proof of playing rests on.
        #expect(status.hasAsked && status.delayRequests > Self.seconds && status.signalings > 0)
        #expect(status.malformed == 0 && status.excess == 0 && statistics.strangers == 0)
    }
}

extension String {
    fileprivate func leftPadded(to count: Int) -> String {
        String(repeating: "0", count: max(0, count - self.count)) + self
    }
}
