import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterAPI
import RouterTestKit
import Testing

/// Four people at one house: a terminal, a page, a desktop and scenes act at random on one daemon, and whatever they did,
/// everybody sees the same, and the receivers themselves play it.
@Suite(
    "K4 R4 C17 four clients at one house", .serialized, .timeLimit(.minutes(20)),
    .enabled(if: DesktopBus.absence == nil, "dbus-daemon, dbus-send and playerctl are needed"))
struct FourClientsTests {
    private static let isLong = ProcessInfo.processInfo.environment["ROUTER_LONG"] != nil
    /// Of the script.
    private static let length = Duration.seconds(isLong ? 600 : 60)
    /// How long things may take to settle before views are held beside each other.
    private static let settling = Duration.seconds(12)

    @Test("all views agree with the engine and the receivers at every checkpoint")
    func agree() async throws {
        let seed = SeededGenerator.seed
        print("four clients: ROUTER_SEED=\(seed) plays this again")
        let house = try await MixedHouse()
        let daemon = try await house.startDaemon()
        let watcher = HouseWatcher()
        let reading = Task { await watcher.follow(house.web) }
        do {
            try await act(seed, house, watcher, daemon)
        } catch {
            Issue.record(error, "seed \(seed)")
        }
        reading.cancel()
        await house.end(daemon)
    }

    private func act(_ seed: UInt64, _ house: MixedHouse, _ watcher: HouseWatcher, _ daemon: RouterProcess) async throws
    {
        var script = HouseScript(seed: seed)
        let views = HouseViews(house, watcher)
        var log: [String] = []
        var count = 0
        var checkpoints = 0
        var disagreements = 0
        func story() -> String { "seed \(seed), last commands:\n  " + log.suffix(20).joined(separator: "\n  ") }
        let clock = ContinuousClock()
        let end = clock.now + Self.length
        while clock.now < end {
            for _ in 0..<script.number(3...6) {
                let sessions = await house.owner.sessions().filter(\.isGoingOn).sorted { $0.id < $1.id }
                // Now and then several of them at once.
                let together = script.chance(0.25) ? script.number(2...4) : 1
                let lines = (0..<together).map { _ in script.line(sessions) }
                let answers = await answers(to: lines, house)
                for (line, answer) in zip(lines, answers) {
                    count += 1
                    let told =
                        "\(count)\(together > 1 ? " (together)" : "") \(line.client.rawValue), "
                        + "\(line.session.map { "\($0.id) (\($0.media))" } ?? "-"): \(line.act) → \(answer)"
                    log.append(told)
                    if Self.tells { print(told) }
                    guard case .refused(let code, _) = answer else { continue }
                    let allowed = together > 1 ? HouseAnswer.allowedTogether : HouseAnswer.allowedAlone
                    if allowed.contains(code) { continue }
                    let now = SystemHostClock().now()
                    let tale = await HouseRecovery.tale(of: house, since: now - 20_000_000_000, killedAt: now)
                    let notices = await watcher.notices.suffix(8).map(\.message)
                    let rooms = await house.owner.sessions().filter(\.isGoingOn).map(HouseRecovery.words)
                    Issue.record("\(told)\n\((tale + notices + rooms).joined(separator: "\n  "))\n\(story())")
                }
                if together == 1, case .done = answers[0] {
                    let after = await house.owner.sessions()
                    let missing = HouseEffect(lines[0], after).missing
                    #expect(missing == nil, "\(log.last ?? ""): \(missing ?? "")\n\(story())")
                }
            }
            var differences = ["never looked"]
            let agreed = await eventually(within: Self.settling) {
                differences = await views.differences()
                return differences.isEmpty || !daemon.isRunning
            }
            checkpoints += 1
            try #require(daemon.isRunning, "the daemon has died: \(daemon.errors.suffix(2000))\n\(story())")
            if !agreed {
                disagreements += 1
                Issue.record("checkpoint \(checkpoints):\n  \(differences.joined(separator: "\n  "))\n\(story())")
                if disagreements == 3 { break }
            }
            log.append("checkpoint \(checkpoints)")
        }
        let faults = await watcher.faults
        #expect(faults.isEmpty, "\(faults)\n\(story())")
        print("four clients: \(count) commands, \(checkpoints) checkpoints, seed \(seed)")
        #expect(checkpoints > 3, "too slow a machine to say anything")
    }

    /// `ROUTER_HOUSE_TELL` prints each command as it is done.
    private static let tells = ProcessInfo.processInfo.environment["ROUTER_HOUSE_TELL"] != nil

    private func answers(to lines: [HouseScript.Line], _ house: MixedHouse) async -> [HouseAnswer] {
        await withTaskGroup(of: (Int, HouseAnswer).self) { group in
            for (index, line) in lines.enumerated() { group.addTask { (index, await house.perform(line)) } }
            var result: [Int: HouseAnswer] = [:]
            for await (index, answer) in group { result[index] = answer }
            return lines.indices.compactMap { result[$0] }
        }
    }
}
