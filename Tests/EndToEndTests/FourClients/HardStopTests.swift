import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterAPI
import RouterTestKit
import Testing

/// The daemon is killed at random instants, while clients act on it and in between: the next one goes on with what it was
/// at, and what played on by itself is joined.
@Suite(
    "R5 a daemon that is killed at any instant", .serialized, .timeLimit(.minutes(90)),
    .enabled(if: DesktopBus.absence == nil, "dbus-daemon, dbus-send and playerctl are needed"))
struct HardStopTests {
    private static let isLong = ProcessInfo.processInfo.environment["ROUTER_LONG"] != nil
    private static let kills = isLong ? 200 : 10
    /// How long a daemon may take until all views agree again.
    private static let settling = Duration.seconds(20)

    @Test("queue, position and rooms are as they were, Cast sessions are joined, and the store is whole")
    func killed() async throws {
        let seed = SeededGenerator.seed
        print("hard stops: ROUTER_SEED=\(seed) plays this again")
        let house = try await MixedHouse()
        let watcher = HouseWatcher()
        let reading = Task { await watcher.follow(house.web) }
        var daemon = try await house.startDaemon()
        do {
            try await kill(seed, house, watcher, &daemon)
        } catch {
            Issue.record(error, "seed \(seed)")
        }
        reading.cancel()
        await house.end(daemon)
    }

    private func kill(
        _ seed: UInt64, _ house: MixedHouse, _ watcher: HouseWatcher, _ daemon: inout RouterProcess
    ) async throws {
        var script = HouseScript(seed: seed)
        let views = HouseViews(house, watcher)
        let clock = SystemHostClock()
        var log: [String] = []
        var joined = 0
        func story() -> String { "seed \(seed), last commands:\n  " + log.suffix(14).joined(separator: "\n  ") }
        func sessions() async -> [SessionSnapshot] {
            await house.owner.sessions().filter(\.isGoingOn).sorted { $0.id < $1.id }
        }
        // One that plays on by itself, and one that needs a sender; what becomes of them is the script's.
        for room in ["Lounge", "Kitchen"] {
            _ = try await house.web.play(PlayRequest(what: house.album, rooms: [room], repeatMode: .all))
        }
        for number in 1...Self.kills {
            for _ in 0..<script.number(1...3) {
                let line = script.line(await sessions())
                log.append("\(line.client.rawValue), \(line.session?.id.rawValue ?? "-"): \(line.act)")
                let answer = await house.perform(line)
                log[log.count - 1] += " → \(answer)"
            }
            // Half of the time in the middle of a command; of a terminal's not, which would do it itself without a daemon.
            let now = await sessions()
            let askedAt = clock.now()
            var inFlight: HouseScript.Line?
            if script.chance(0.5) {
                repeat { inFlight = script.line(now) } while inFlight?.client == .terminal
            }
            let asking = inFlight.map { line in Task { await house.perform(line) } }
            let instant = clock.now() + Int64(script.number(0...900)) * 1_000_000
            try await clock.sleep(until: instant)
            let killedAt = clock.now()
            Foundation.kill(daemon.processIdentifier, SIGKILL)
            _ = await daemon.outcome(within: .seconds(10))
            log.append("kill \(number)" + (inFlight.map { " during \($0.client.rawValue): \($0.act)" } ?? ""))
            _ = await asking?.value
            // What was told last may not have come by events yet.
            let told = now.map { HouseWatcher.Moment(instant: askedAt, session: $0) }
            let moments = (await watcher.moments + told).sorted { $0.instant < $1.instant }
            let recovery = HouseRecovery(killedAt: killedAt, inFlight: inFlight, moments: moments)
            let damage = try await HouseRecovery.damage(in: house.state)
            #expect(damage == nil, "kill \(number): the store is damaged: \(damage ?? "")\n\(story())")

            daemon = try await house.startDaemon()
            var differences = ["never looked"]
            let agreed = await eventually(within: Self.settling) {
                differences = await views.differences()
                if differences.isEmpty { differences = await waiting(house) }
                return differences.isEmpty || !daemon.isRunning
            }
            try #require(daemon.isRunning, "kill \(number): the next daemon has died: \(daemon.errors)\n\(story())")
            guard agreed else {
                Issue.record(
                    "after kill \(number):\n  \(differences.joined(separator: "\n  "))\n\(story())\n\(daemon.errors)")
                continue
            }
            let found = await sessions()
            joined += found.count { $0.members.contains { $0.protocol == .cast } }
            let losses = recovery.losses(found) + (await recovery.repeatedLoads(found, house))
            guard !losses.isEmpty else { continue }
            let tale = await HouseRecovery.tale(of: house, since: killedAt - 3_000_000_000, killedAt: killedAt)
            Issue.record(
                """
                after kill \(number):
                  \((losses + found.map(HouseRecovery.words) + tale).joined(separator: "\n  "))
                \(story())
                """)
        }
        let faults = await watcher.faults
        #expect(faults.isEmpty, "\(faults)\n\(story())")
        #expect(joined > 0, "no Cast session was ever joined\n\(story())")
        print("hard stops: \(Self.kills) kills, \(joined) sessions with a Cast device joined, seed \(seed)")
    }

    /// What has not been taken up yet.
    private func waiting(_ house: MixedHouse) async -> [String] {
        guard let left = try? await house.owner.sessionsToRejoin() else { return ["no answer"] }
        return left.map { "\($0.id) has not been taken up again" }
    }
}
