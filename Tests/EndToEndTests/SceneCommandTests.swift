import Foundation
import PeerSupport
import RouterTestKit
import SimulatedReceivers
import Testing

/// `router scene` and `router schedule` as a person runs them.
@Suite("R4 scenes on the command line", .timeLimit(.minutes(5)))
struct SceneCommandTests {
    private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let samples = repository.appending(path: "Samples/Scenes")
    private static let broken = repository.appending(path: "Tests/SceneScriptTests/Broken")

    /// A folder for files and state of one test.
    private struct Home {
        let folder: URL
        var environment: [String: String] {
            ["XDG_STATE_HOME": folder.path, "XDG_CONFIG_HOME": folder.appending(path: "config").path]
        }

        init() throws {
            folder = FileManager.default.temporaryDirectory.appending(path: "scene-home-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        func write(_ name: String, _ text: String) throws -> String {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
            return file.path
        }

        func remove() { try? FileManager.default.removeItem(at: folder) }
    }

    @Test("R4 every sample passes the check, from any folder") func samples() async throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.samples.path)
            .filter { $0.hasSuffix(".yaml") }.map { Self.samples.appending(path: $0).path }
        let result = try await RouterProcess.run(
            ["scene", "check", "--offline"] + files, workingDirectory: FileManager.default.temporaryDirectory)
        #expect(result.status == 0 && result.output.isEmpty, "\(result.output)\(result.errors)")
        #expect(result.errors == "\(files.count) scenes are right.\n")
    }

    @Test("R4 a broken scene ends with 65, its diagnostics as text and as fields") func broken() async throws {
        let file = Self.broken.appending(path: "clock-delay.yaml").path
        let result = try await RouterProcess.run(["scene", "check", "--offline", file])
        #expect(result.status == 65)
        #expect(
            result.output.hasPrefix(
                "\(file):7:12: error[duration]: “1:30” is no duration for “delay”\n      - delay: 1:30\n"))
        #expect(result.output.contains("help: write “1m30s”"))
        let json = try await RouterProcess.run(["scene", "check", "--offline", "-o", "json", file])
        let documents = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]]
        let found = (documents?.first?["diagnostics"] as? [[String: Any]])?.first
        #expect(json.status == 65 && found?["code"] as? String == "duration")
        #expect((found?["span"] as? [String: Int]) == ["line": 7, "column": 12, "length": 4])
        #expect(documents?.first?["valid"] as? Bool == false)
    }

    @Test("R4 the dry run names rooms as resolved, and plays nothing") func dryRun() async throws {
        let file = Self.samples.appending(path: "follow-me.yaml").path
        let result = try await RouterProcess.run([
            "scene", "check", "--dry-run", "-o", "plain", "--set", "to=Kitch", file, "--device",
            "raop://127.0.0.1:1?name=Kitchen",
        ])
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(result.output.contains("wait_for") == false && result.output.contains("wait for a condition"))
        #expect(result.output.contains("warning[absent]: nothing is playing"), "\(result.output)")
    }

    @Test("R4 a scene runs to its end without a daemon, and its steps are told") func runs() async throws {
        let home = try Home()
        defer { home.remove() }
        let speaker = SimulatedRAOPReceiver(SimulatedRAOPConfiguration(name: "Kitchen", port: 0))
        let port = try await speaker.start()
        let file = try home.write(
            "config/router/scenes/short.yaml",
            """
            version: 1
            name: Short
            vars: {level: {type: level, default: 10%}}
            targets: {kitchen: Kitchen}
            steps:
              - play: \(Self.samples.path)/music/chime.mp3
              - volume: $level
              - wait_for: kitchen.position >= 1s
                timeout: 20s
              - run_scene: gone.yaml
                on_error: continue
            finally:
              - stop:
            """)
        let other = try home.write("config/router/scenes/gone.yaml", "version: 1\nname: Gone\nsteps:\n  - log: here\n")
        let device = ["--device", "raop://127.0.0.1:\(port)?name=Kitchen"]
        let result = try await RouterProcess.run(
            ["scene", "run", "short", "--set", "level=20%", "-o", "json"] + device, environment: home.environment)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let run = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let steps = run?["steps"] as? [[String: Any]] ?? []
        #expect(run?["state"] as? String == "done")
        #expect(
            steps.map { $0["verb"] as? String } == [
                "play", "volume", "wait_for", "run_scene", "log", "stop",
            ])
        #expect(steps.allSatisfy { ($0["result"] as? String)?.hasPrefix("done") == true }, "\(steps)")
        #expect(await speaker.record().renderedFrames > 44_100 / 2)

        try FileManager.default.removeItem(atPath: other)
        let broken = try await RouterProcess.run(["scene", "run", file] + device, environment: home.environment)
        #expect(broken.status == 65 && broken.errors.contains("missing-scene"), "\(broken.errors)")
        let list = try await RouterProcess.run(["scene", "list", "-q"], environment: home.environment)
        #expect(list.output == "short\n")
        let unknown = try await RouterProcess.run(["scene", "run", "shorts"], environment: home.environment)
        #expect(unknown.status == 3 && unknown.errors.contains("Did you mean “short”?"), "\(unknown.errors)")
        for arguments in [["scene", "capture"], ["scene", "list", "--runs"]] {
            let alone = try await RouterProcess.run(
                arguments, environment: home.environment.merging(["XDG_RUNTIME_DIR": home.folder.path]) { $1 })
            #expect(alone.status == 7 && alone.errors.contains("no daemon is running here"), "\(alone.errors)")
        }
        await speaker.stop()
    }

    @Test("R4 without a daemon what a scene leaves playing is heard to its end, or to Ctrl-C") func stays() async throws
    {
        let home = try Home()
        defer { home.remove() }
        let speaker = SimulatedRAOPReceiver(SimulatedRAOPConfiguration(name: "Kitchen", port: 0))
        let device = ["--device", "raop://127.0.0.1:\(try await speaker.start())?name=Kitchen"]
        let head = "version: 1\nname: Left\ntargets: {kitchen: Kitchen}\nsteps:\n  - play: "
        let chime = "\(Self.samples.path)/music/chime.mp3"
        let once = try home.write("once.yaml", "\(head)\(chime)\n")
        let line = "It plays until this command ends; Ctrl-C stops it.\n"
        let result = try await RouterProcess.run(["scene", "run", once] + device, environment: home.environment)
        #expect(result.status == 0 && result.errors.contains(line), "\(result.errors)")
        // It has three seconds.
        #expect(await speaker.record().renderedFrames > 44_100 * 5 / 2)

        let always = try home.write("always.yaml", "\(head){media: \(chime), repeat: all}\n")
        let process = try RouterProcess(["scene", "run", always] + device, environment: home.environment)
        try #require(await eventually { process.errors.contains(line) })
        process.interrupt()
        let stopped = await process.outcome(within: .seconds(30))
        #expect(stopped.status == 130, "\(stopped.errors)")
        await speaker.stop()
    }

    @Test("R4 schedules are the daemon's where one runs, whatever configuration and receivers a command names")
    func schedulesOfDaemon() async throws {
        let home = try Home()
        defer { home.remove() }
        // Short, for a socket's path has 107 bytes at most.
        let runtime = URL(fileURLWithPath: "/tmp/sc-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: runtime) }
        let environment = home.environment.merging(["XDG_RUNTIME_DIR": runtime.path]) { $1 }
        let daemon = try RouterProcess(["daemon", "run"], environment: environment)
        try #require(
            await eventually { FileManager.default.fileExists(atPath: runtime.path + "/router/router.sock") },
            "\(daemon.errors)")
        func schedule(_ arguments: String...) async throws -> RouterProcess.Outcome {
            try await RouterProcess.run(["schedule"] + arguments, environment: environment)
        }
        let scene = try home.write("log.yaml", "version: 1\nname: Log\nsteps:\n  - log: said\n")
        let other = try home.write("other.yaml", "default_room: Kitchen\n")
        #expect(try await schedule("add", "first", scene, "--at", "06:45").status == 0)
        let added = try await schedule(
            "add", "second", scene, "--at", "07:45", "--config", other, "--device", "cast://127.0.0.1:1")
        #expect(added.status == 0 && !added.errors.contains("Only a daemon runs it"), "\(added.errors)")
        #expect(try await schedule("list", "-q").output == "first\nsecond\n")
        #expect(try await schedule("remove", "first", "--config", other).status == 0)
        #expect(try await schedule("list", "-q", "--device", "cast://127.0.0.1:1").output == "second\n")
        daemon.interrupt()
        _ = await daemon.outcome(within: .seconds(30))
    }

    @Test("R4 what schedules and settings were made and removed is a document for programs") func documents()
        async throws
    {
        let home = try Home()
        defer { home.remove() }
        let scene = try home.write("log.yaml", "version: 1\nname: Log\nsteps:\n  - log: said\n")
        for (arguments, keys) in [
            (["schedule", "add", "early", scene, "--at", "06:45"], ["id", "trigger"]),
            (["schedule", "remove", "early"], ["change", "kind", "name"]),
            (["config", "set", "default_room", "Den"], ["key", "value"]), (["config", "path"], ["path"]),
        ] {
            let result = try await RouterProcess.run(["-o", "json"] + arguments, environment: home.environment)
            let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            #expect(result.status == 0 && document != nil, "\(arguments): \(result.errors)")
            for key in keys { #expect(document?[key] != nil, "\(arguments): \(result.output)") }
        }
    }

    @Test("R4 Ctrl-C twice cancels, and what stands under finally is done") func interrupted() async throws {
        let home = try Home()
        defer { home.remove() }
        let file = try home.write(
            "long.yaml",
            "version: 1\nname: Long\nsteps:\n  - log: began\n  - delay: 1h\nfinally:\n  - log: put in order\n")
        let process = try RouterProcess(["scene", "run", file, "-o", "plain", "--device", "cast://127.0.0.1:1"])
        try #require(await eventually { process.errors.contains("began") })
        process.interrupt()
        try #require(await eventually { process.errors.contains("Ctrl-C again cancels the scene") })
        process.interrupt()
        let result = await process.outcome(within: .seconds(30))
        #expect(result.status == 130, "\(result.errors)")
        #expect(result.output.contains("cancelled") && result.output.contains("put in order"))
    }

    @Test("R4 schedules are kept between commands, and wrong ones are refused") func schedules() async throws {
        let home = try Home()
        defer { home.remove() }
        let scene = Self.samples.appending(path: "morning.yaml").path
        func router(_ arguments: String...) async throws -> RouterProcess.Outcome {
            try await RouterProcess.run(["schedule"] + arguments, environment: home.environment)
        }
        let added = try await router("add", "wake-up", scene, "--at", "6:45", "--days", "weekdays")
        #expect(added.status == 0, "\(added.errors)")
        #expect(added.output.contains("“wake-up” runs at 06:45 on weekdays"))
        #expect(try await router("add", "patio", scene, "--appears", "Patio").status == 0)
        #expect(try await router("add", "none", scene).status == 64)
        #expect(try await router("add", "none", scene, "--at", "25:00").status == 64)
        #expect(try await router("add", "none", scene, "--at", "06:00", "--days", "someday").status == 64)
        let broken = Self.broken.appending(path: "tab.yaml").path
        #expect(try await router("add", "none", broken, "--at", "06:00").status == 65)
        let list = try await router("list", "-o", "plain")
        #expect(
            list.output
                == "wake-up\tat 06:45 on weekdays\t\(scene)\ton\npatio\twhen Patio appears\t\(scene)\ton\n")
        #expect(try await router("remove", "wake").status == 3)
        #expect(try await router("remove", "wake-up").status == 0)
        #expect(try await router("list", "-q").output == "patio\n")
    }
}
