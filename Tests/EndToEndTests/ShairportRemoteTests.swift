import Foundation
import PeerSupport
import RouteModel
import RouterTestKit
import Testing

/// shairport-sync's own remote control: it finds us by mDNS and sends what its D-Bus interface is told by DACP. Acceptance
/// line 6 of issue 4.
@Suite(
    "A10 shairport-sync's buttons reach the queue",
    .enabled(if: ShairportSync.missing == nil && Lab.isInside, Lab.reason), .serialized, .timeLimit(.minutes(5)))
struct ShairportRemoteTests {
    /// What a router that prints its events has said so far.
    private struct Told {
        var commands: [CommandReport] = []
        var session: SessionSnapshot?

        init(_ process: RouterProcess) {
            for line in process.output.split(separator: "\n") {
                guard let event = try? JSONDecoder().decode(RouterEvent.self, from: Data(line.utf8)) else { continue }
                switch event.body {
                case .command(let report): commands.append(report)
                case .session(let snapshot): session = snapshot
                default: break
                }
            }
        }
    }

    private static let object = "/org/gnome/ShairportSync"
    private static let interface = "org.gnome.ShairportSync.RemoteControl"

    private func bus(_ arguments: [String]) async throws -> String {
        let outcome = try await Command.run(
            "dbus-send",
            ["--system", "--print-reply", "--dest=org.gnome.ShairportSync", Self.object] + arguments)
        try #require(outcome.status == 0, "\(arguments): \(outcome.errors)")
        return outcome.output
    }

    private func press(_ method: String, _ arguments: [String] = []) async throws {
        _ = try await bus(["\(Self.interface).\(method)"] + arguments)
    }

    /// Whether it has found us: presses before that go nowhere.
    private func isConnected() async throws -> Bool {
        try await bus([
            "org.freedesktop.DBus.Properties.Get", "string:\(Self.interface)", "string:Available",
        ]).contains("boolean true")
    }

    @Test("play/pause, next, previous and volume, each told with the device as its origin")
    func buttons() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let files = [try await sound.file("one.flac", seconds: 60), try await sound.file("two.flac", seconds: 60)]
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let router = try RouterProcess(
            ["play"] + files.map(\.path)
                + ["--device", "raop://127.0.0.1:\(receiver.port)", "-o", "ndjson"])
        defer { router.interrupt() }
        func said(_ condition: (Told) -> Bool) async -> Bool {
            await eventually(within: .seconds(40)) { condition(Told(router)) }
        }
        #expect(await said { $0.session?.media == .playing }, "\(router.errors)")
        #expect(
            try await eventually(within: .seconds(40)) { try await isConnected() },
            "it has not found us: \(receiver.log.suffix(3000))")

        try await press("PlayPause")
        #expect(await said { $0.session?.media == .paused }, "\(receiver.log.suffix(2000))")
        try await press("Play")
        #expect(await said { $0.session?.media == .playing })
        try await press("Next")
        #expect(await said { told in told.session.map { $0.queue.current == $0.queue.items.last?.id } ?? false })
        try await press("Previous")
        #expect(await said { told in told.session.map { $0.queue.current == $0.queue.items.first?.id } ?? false })

        // −12 of −30 to 0: three fifths of the slider.
        try await press("SetAirplayVolume", ["double:-12.0"])
        #expect(
            await said { abs(($0.session?.members.first?.volume?.level.value ?? 0) - 0.6) < 0.005 },
            "\(Told(router).commands)")
        try await press("VolumeUp")
        #expect(await said { ($0.session?.members.first?.volume?.level.value ?? 0) > 0.65 })

        let told = Told(router)
        let route = try #require(told.session?.members.first?.route)
        #expect(told.commands.map(\.command).prefix(4) == [.toggle, .play, .next, .previous])
        #expect(told.commands.allSatisfy { $0.origin == .device(route) && $0.outcome == .succeeded })
        // The receiver was told its new volume by us.
        #expect(receiver.metadata["ssnc pvol"]?.contains { $0.starts(with: Data("-12.00".utf8)) } == true)
    }
}
