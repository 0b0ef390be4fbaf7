import Foundation
import PeerSupport
import RouteModel
import RouterTestKit
import Testing

@testable import MPRISBridge

@Suite(.enabled(if: DesktopBus.absence == nil, "dbus-daemon, dbus-send and playerctl are needed"), .serialized)
struct DesktopLifeTests {
    private static let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 7]

    private func names(_ desktop: Desktop) async -> Int {
        guard let names = try? await desktop.bus.names() else { return -1 }
        return names.split(separator: "\n").count { $0.contains("org.mpris.MediaPlayer2.router.") }
    }

    @Test("C17 players come and go with their sessions")
    func comeAndGo() async throws {
        let desktop = Desktop(try DesktopBus(), sessions: [])
        try #require(await desktop.bus.isUp())
        try await desktop.live {
            desktop.router.begin(.sample("se-1", rooms: ["Den"]))
            #expect(await eventually { await names(desktop) == 1 })
            desktop.router.begin(.sample("se-2", rooms: ["Attic"]))
            #expect(await eventually { await names(desktop) == 2 })
            desktop.router.change("se-1") { $0.connection = .ended }
            #expect(await eventually { await names(desktop) == 1 })
            desktop.router.change("se-2") { $0.connection = .failed }
            #expect(await eventually { await names(desktop) == 0 })
        }
        #expect(await names(desktop) == 0)
    }

    @Test("C17 when the router's events end, the bridge ends and no player is left")
    func ends() async throws {
        let desktop = Desktop(try DesktopBus())
        try #require(await desktop.bus.isUp())
        async let running: Void = MPRISBridge.run(router: desktop.router, configuration: desktop.configuration())
        #expect(await eventually { await names(desktop) == 2 })
        desktop.router.finish()
        await running
        #expect(await eventually { await names(desktop) == 0 })
    }

    @Test("C17 no bus is told once, and all players come when there is one; a bus that restarts is survived")
    func busRestarts() async throws {
        let desktop = Desktop(try DesktopBus())
        try #require(await desktop.bus.isUp())
        try desktop.bus.stop()
        #expect(await eventually { await !desktop.isUpNow() })
        try await desktop.live {
            #expect(await eventually { desktop.notices.list.count == 1 })
            #expect(desktop.notices.list.first?.hint?.contains("DBUS_SESSION_BUS_ADDRESS") == true)
            try desktop.bus.start()
            #expect(await eventually { await names(desktop) == 2 })
            #expect(desktop.notices.list.count == 1)
            // And once more, while players are there.
            try desktop.bus.stop()
            #expect(await eventually { desktop.notices.list.count == 2 })
            try desktop.bus.start()
            #expect(await eventually { await names(desktop) == 2 })
            #expect(try await desktop.player(Desktop.kitchen, "play-pause") == "")
            #expect(desktop.told("se-kitchen") == .toggle)
        }
    }

    @Test("C17 a bus that does not let us have a name is told once")
    func noPermission() async throws {
        let desktop = Desktop(try DesktopBus(policy: "<deny own=\"*\"/>"))
        try #require(await desktop.bus.isUp())
        try await desktop.live {
            #expect(await eventually { desktop.notices.list.count == 1 })
            desktop.router.begin(.sample("se-3"))
            desktop.router.change("se-kitchen") { $0.media = .paused }
            await othersHaveRun()
            #expect(desktop.notices.list.count == 1)
        }
    }

    @Test("C17 an address that is none, and an environment without a bus, are told and not fatal")
    func noBus() async throws {
        for address in ["nonsense", "unix:path=/nonexistent/bus", ""] {
            let desktop = Desktop(try DesktopBus())
            var configuration = desktop.configuration()
            configuration.address = address
            try await desktop.live(configuration) {
                #expect(await eventually { desktop.notices.list.count == 1 }, "\(address)")
            }
        }
    }

    @Test("C17 C18 the picture of what plays is a local file, and another one is another file")
    func pictures() async throws {
        let desktop = Desktop(try DesktopBus())
        try #require(await desktop.bus.isUp())
        let art = desktop.bus.folder + "/art"
        let configuration = desktop.configuration(art: art) { item in
            item.id.rawValue == "four" ? nil : Self.picture + [UInt8](item.id.rawValue.utf8)
        }
        try await desktop.live(configuration) {
            let player = Desktop.kitchen
            #expect(
                await eventually { (try? await desktop.player(player, "metadata", "mpris:artUrl"))?.isEmpty == false })
            let first = try await desktop.player(player, "metadata", "mpris:artUrl")
            #expect(first.hasPrefix("file://\(art)/"))
            let bytes = try Data(contentsOf: try #require(URL(string: first)))
            #expect([UInt8](bytes) == Self.picture + [UInt8]("one".utf8))
            _ = try await desktop.player(player, "next")
            #expect(
                await eventually {
                    let now = (try? await desktop.player(player, "metadata", "mpris:artUrl")) ?? ""
                    return !now.isEmpty && now != first
                })
            #expect(try await desktop.player(Desktop.lounge, "metadata", "mpris:artUrl") == "")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: art).isEmpty)
    }

    @Test("C17 a folder for pictures that cannot be had is told, and players are there all the same")
    func noArtFolder() async throws {
        let desktop = Desktop(try DesktopBus())
        try #require(await desktop.bus.isUp())
        try await desktop.live(desktop.configuration(art: "/proc/none/art")) {
            #expect(await desktop.isThere())
            #expect(await eventually { desktop.notices.list.count == 1 })
        }
    }
}

extension Desktop {
    func isUpNow() async -> Bool {
        let answer = try? await bus.send(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetId")
        return answer?.status == 0
    }
}
