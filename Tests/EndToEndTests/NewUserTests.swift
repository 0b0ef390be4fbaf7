import Foundation
import PeerSupport
import RouterTestKit
import SimulatedReceivers
import Testing

/// What the README leads a new user through, typed into a terminal: a daemon, an album in two rooms of different kinds, a
/// third room, an announcement, a scene; and all of it goes on when the terminal is closed.
@Suite(
    "K1 R5 a new user's path through a terminal",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
struct NewUserTests {
    @Test("a daemon plays on when the terminal that it was told from is closed, and another one goes on from there")
    func path() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let kitchen = SimulatedRAOPReceiver(
            SimulatedRAOPConfiguration(name: "Kitchen", port: 0, recordingFolder: sound.folder))
        let den = SimulatedRAOPReceiver(
            SimulatedRAOPConfiguration(name: "Den", port: 0, recordingFolder: sound.folder))
        let lounge = try SimulatedCastReceiver(SimulatedCastConfiguration(name: "Lounge", port: 0, httpPort: nil))
        let home = try await Self.home(
            sound.folder,
            devices: [
                "raop://127.0.0.1:\(try await kitchen.start())?name=Kitchen",
                "raop://127.0.0.1:\(try await den.start())?name=Den",
                "cast://127.0.0.1:\(try await lounge.start().port)?name=Lounge",
            ])
        try FileManager.default.createDirectory(
            at: sound.folder.appendingPathComponent("album"), withIntermediateDirectories: true)
        for (name, title) in [("one.flac", "One"), ("two.flac", "Two")] {
            let file = try await sound.file(name, seconds: 60, title: title)
            try FileManager.default.moveItem(at: file, to: sound.folder.appendingPathComponent("album/\(name)"))
        }
        _ = try await sound.file("extra.flac", seconds: 20, title: "Extra")
        _ = try await sound.file("gong.wav", seconds: 1, title: "Gong")
        let readme = try Readme()
        try Data(try #require(readme.scene).utf8).write(to: sound.folder.appendingPathComponent("softer.yaml"))

        let first = try PseudoTerminal(environment: home, in: sound.folder)
        func typed(_ terminal: PseudoTerminal, _ words: String) async throws -> String {
            #expect(readme.commands.contains("router \(words)".trimmingCharacters(in: .whitespaces)), "\(words)")
            let result = try #require(
                await terminal.run("'\(RouterProcess.path)' \(words)"), "“\(words)” never ended:\n\(terminal.screen)")
            if result.status != 0 {
                let log = try? String(contentsOf: sound.folder.appendingPathComponent("daemon.log"), encoding: .utf8)
                Issue.record("\(words): \(result.status), \(result.output)\n\(log ?? "")")
            }
            return result.output
        }
        #expect(readme.commands.first == "router daemon run &")
        // On no port of the machine's. The shell tells it of its end, as every job.
        first.type("'\(RouterProcess.path)' daemon run --listen none >daemon.log 2>&1 &")
        #expect(await eventually { await first.run("'\(RouterProcess.path)' daemon status")?.status == 0 })
        let rooms = try await typed(first, "rooms")
        for room in ["Kitchen", "Den", "Lounge"] { #expect(rooms.contains(room), "\(rooms)") }
        let playing = try await typed(first, "play album/ -r Kitchen -r Lounge")
        #expect(
            // By its file name, where its tags are not read yet.
            playing.contains("Playing “") && playing.contains("Kitchen") && playing.contains("Lounge"), "\(playing)"
        )
        #expect(await eventually { await lounge.record().playerState == "PLAYING" })
        #expect(await eventually { Self.seconds(sound.folder, "Kitchen") > 1 })
        #expect(try await typed(first, "queue add extra.flac").contains("Added 1 item"))
        #expect(try await typed(first, "transfer Den").contains("goes on in Den"))
        #expect(await eventually { Self.seconds(sound.folder, "Den") > 1 })
        #expect(await eventually { await lounge.record().playerState != "PLAYING" })
        #expect(try await typed(first, "announce gong.wav -r Den").contains("what played plays on"))
        _ = try await typed(first, "scene run softer.yaml")

        first.close()
        let second = try PseudoTerminal(environment: home, in: sound.folder)
        let heard = Self.seconds(sound.folder, "Den")
        #expect(await eventually { Self.seconds(sound.folder, "Den") > heard + 1 })
        let status = try await typed(second, "")
        #expect(status.contains("▶ One") && status.contains("Den") && status.contains("volume 20"), "\(status)")
        #expect(try await typed(second, "queue").contains("Extra"))
        #expect(try await typed(second, "volume 30").contains("Den is at 30 %"))
        _ = try await typed(second, "daemon stop")
        #expect(await second.run("'\(RouterProcess.path)' daemon status")?.status == 7)
        second.close()
        for receiver in [kitchen, den] { await receiver.stop() }
        await lounge.stop()
    }

    /// What the README has under “Your own house”.
    private struct Readme {
        /// Without their comments.
        let commands: [String]
        let scene: String?

        init() throws {
            let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
            let text = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
            let part =
                text.components(separatedBy: "## Your own house").last?.components(separatedBy: "\n## ").first ?? ""
            let blocks = part.components(separatedBy: "```")
            commands = blocks.flatMap { $0.components(separatedBy: "\n") }.filter { $0.hasPrefix("router") }.map {
                $0.components(separatedBy: " #")[0].trimmingCharacters(in: .whitespaces)
            }
            scene = blocks.first { $0.hasPrefix("yaml\n") }.map { String($0.dropFirst(5)) }
        }
    }

    /// A home with a configuration that names these devices.
    private static func home(_ folder: URL, devices: [String]) async throws -> [String: String] {
        let config = folder.appendingPathComponent("config/router")
        try FileManager.default.createDirectory(at: config, withIntermediateDirectories: true)
        let lines = ["version: 1", "media:", "  port: \(Int.random(in: 20_000...29_000))", "devices:"]
        try Data((lines + devices.map { "  - \"\($0)\"" }).joined(separator: "\n").utf8)
            .write(to: config.appendingPathComponent("config.yaml"))
        return [
            "XDG_CONFIG_HOME": folder.appendingPathComponent("config").path,
            "XDG_STATE_HOME": folder.appendingPathComponent("state").path,
            "XDG_CACHE_HOME": folder.appendingPathComponent("cache").path,
            "XDG_RUNTIME_DIR": folder.appendingPathComponent("run").path,
        ]
    }

    /// How much a speaker has heard.
    private static func seconds(_ folder: URL, _ room: String) -> Double {
        let file = folder.appendingPathComponent("\(room).wav")
        let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
        // Two channels of two bytes.
        return Double(size ?? 0) / 4 / 44_100
    }
}
