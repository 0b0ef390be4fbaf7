import Foundation
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import SceneScript

/// Clocks that a test turns: both together, or the one on the wall alone.
final class TestClock: SceneClock {
    let manual = ManualClock()
    private struct Wall {
        var offset: Double
        var zone: TimeZone
    }
    private let wall: Mutex<Wall>

    /// - Parameter wall: what the clock on the wall shows at first, in seconds since 1970.
    init(wall: Double = 1_790_000_000, zone: String = "Europe/Berlin") {
        self.wall = Mutex(Wall(offset: wall - 1, zone: TimeZone(identifier: zone) ?? .gmt))
    }

    func now() -> Int64 { manual.now() }
    func sleep(until instant: Int64) async throws { try await manual.sleep(until: instant) }
    func wallTime() -> Double { wall.withLock { $0.offset } + Double(manual.now()) / 1e9 }
    func timeZone() -> TimeZone { wall.withLock { $0.zone } }

    /// Sets the clock on the wall forward or back.
    func jump(_ seconds: Double) { wall.withLock { $0.offset += seconds } }

    /// Turns time on, a step at a time, whenever nothing else goes on, until a condition holds.
    func pass(
        step: Double = 0.25, busy: @escaping @Sendable () async -> Int = { 0 }, until done: () async throws -> Bool
    ) async rethrows -> Bool {
        let end = ContinuousClock.now + .seconds(60)
        var last = (sleepers: -1, busy: -1)
        var quiet = 0
        while ContinuousClock.now < end {
            if try await done() { return true }
            let now = (sleepers: manual.sleepers, busy: await busy())
            quiet = now == last && now.sleepers > 0 ? quiet + 1 : 0
            last = now
            if quiet >= 3 {
                manual.advance(seconds: step)
                quiet = 0
            }
            try? await Task.sleep(for: .milliseconds(1))
        }
        return try await done()
    }
}

/// Seconds since 1970 of a local time.
func wall(_ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, zone: String = "Europe/Berlin") -> Double {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(identifier: zone) ?? .gmt
    let date = calendar.date(
        from: DateComponents(year: year, month: month, day: day, hour: hour, minute: minute))
    return date?.timeIntervalSince1970 ?? 0
}

/// Files in memory.
func files(_ contents: [String: String] = [:], others: @escaping @Sendable (String) -> Bool = { _ in true })
    -> SceneFiles
{
    SceneFiles(
        read: { path in
            guard let text = contents[path] else {
                throw RouterError(.mediaNotFound, "there is no file \(path)", hint: "Check the path")
            }
            return text
        }, exists: { contents[$0] != nil || others($0) })
}

let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// A scene with a kitchen and a bath around these steps.
func scene(_ steps: String, head: String = "", finally: String = "") -> String {
    var text = "version: 1\nname: Test\n\(head)targets:\n  kitchen: Kitchen\n  bath: Bath\nsteps:\n"
    for line in steps.split(separator: "\n", omittingEmptySubsequences: false) { text += "  \(line)\n" }
    if !finally.isEmpty {
        text += "finally:\n"
        for line in finally.split(separator: "\n", omittingEmptySubsequences: false) { text += "  \(line)\n" }
    }
    return text
}

extension [SceneDiagnostic] {
    /// `line:column code` of each.
    var places: [String] { map { "\($0.span.line):\($0.span.column) \($0.code)" } }
    var errors: [SceneDiagnostic] { filter { $0.severity == .error } }
}
