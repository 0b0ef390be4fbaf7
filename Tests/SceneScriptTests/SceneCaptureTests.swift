import Foundation
import RouteModel
import RouterTestKit
import Testing

@testable import SceneScript

@Suite struct SceneCaptureTests {
    @Test("R4 what plays is written as a scene, which makes it so again") func roundTrip() async throws {
        let rig = SceneRig(["Kitchen", "Bath & Beyond: “x”", "42"])
        try await rig.run {
            let first = try await rig.house.play(
                PlayRequest(
                    what: ["a.mp3", "$b \"c\".mp3", "http://x/y?z=1#f"], rooms: ["Kitchen", "Bath & Beyond: “x”"],
                    workingDirectory: "/m", repeatMode: .all))
            await rig.house.itemEnds(in: "Kitchen")
            _ = try await rig.house.perform(
                .setVolume(VolumePosition(0.33), room: "Kitchen"), session: first.id, origin: .cli)
            _ = try await rig.house.perform(.seek(to: MediaTime(seconds: 75.25)), session: first.id, origin: .cli)
            let second = try await rig.house.play(
                PlayRequest(what: ["- [x]: {y}"], rooms: ["42"], workingDirectory: "/m"))
            _ = try await rig.house.perform(.pause, session: second.id, origin: .cli)
            let text = try await SceneCapture.capture(rig.house, name: "It's: mine")
            let (scene, diagnostics) = SceneParser.parse(text, path: "captured.yaml")
            #expect(diagnostics.isEmpty, "\(text)\n\(diagnostics)")
            #expect(scene?.name == "It's: mine")
            #expect(scene?.targets.flatMap(\.rooms) == ["Kitchen", "Bath & Beyond: “x”", "42"])

            for session in await rig.house.sessions() { try await rig.house.end(session: session.id, reason: .stop) }
            await rig.house.forgetCalls()
            let ended = try await rig.ended(try await rig.start(text))
            #expect(ended.state == .done, "\(ended.steps)")
            #expect(
                await rig.house.calls == [
                    "play /m/$b \"c\".mp3 http://x/y?z=1#f in Kitchen+Bath & Beyond: “x”", "insert /m/a.mp3",
                    "volume 33% Kitchen", "volume 50% Bath & Beyond: “x”", "play /m/- [x]: {y} in 42", "volume 50%",
                    "pause",
                ])
            let again = try #require(await rig.house.session("Kitchen"))
            #expect(again.queue.repeatMode == .all && again.queue.items.count == 3)
            #expect(abs((again.position ?? .zero).seconds - 75.25) < 1)
        }
    }

    @Test("R4 a station is captured without a place in it") func station() async throws {
        let rig = SceneRig()
        _ = try await rig.house.play(
            PlayRequest(what: ["http://x/station"], rooms: ["Kitchen"], workingDirectory: "/m"))
        rig.clock.manual.advance(seconds: 90)
        let text = try await SceneCapture.capture(rig.house)
        #expect(!text.contains("start:"), "\(text)")
        _ = try await rig.house.play(PlayRequest(what: ["a.mp3"], rooms: ["Kitchen"], workingDirectory: "/m"))
        rig.clock.manual.advance(seconds: 90)
        #expect(try await SceneCapture.capture(rig.house).contains("start: 1m30s"))
    }

    @Test("R4 more than a scene can hold is not captured, and the error says what to do", arguments: [9000, 10_001])
    func large(count: Int) async throws {
        let house = FakeHouse(clock: TestClock())
        let name = String(repeating: "x", count: count == 9000 ? 40 : 1)
        _ = try await house.play(
            PlayRequest(
                what: (0..<count).map { "\($0)\(name)" }, rooms: ["Kitchen", "Bath"], workingDirectory: "/m"))
        let error = await #expect(throws: RouterError.self) { _ = try await SceneCapture.capture(house) }
        #expect(error?.message == "the queue of Bath, Kitchen has \(count) items: more than a scene can hold")
        #expect(error?.hint?.contains("saved_queue: NAME") == true)
    }

    @Test("R4 capturing nothing is an error that says so") func nothing() async throws {
        let house = FakeHouse(clock: TestClock())
        let error = await #expect(throws: RouterError.self) { _ = try await SceneCapture.capture(house) }
        #expect(error?.message == "nothing is playing")
        _ = try await house.play(PlayRequest(what: ["a"], rooms: ["Kitchen"]))
        let other = await #expect(throws: RouterError.self) {
            _ = try await SceneCapture.capture(house, rooms: ["Bath"])
        }
        #expect(other?.message == "nothing plays in Bath")
        #expect(try await SceneCapture.capture(house, rooms: ["kitchen"]).contains("\"Kitchen\""))
    }

    @Test("R4 quoted text is read as it was, whatever is in it") func quoting() throws {
        let texts = [
            "plain", "$x", "$$", "\"", "\\", "a\nb\tc", "\u{0}\u{1B}\u{7F}", "\u{E000}\u{FEFF}\u{2028}", "😀 é", "#",
            "- x",
            " ", "null", "*a", "&a", "!t", "%", "@", "`", ": ",
        ]
        for text in texts {
            let scene = SceneParser.parse(
                "version: 1\nname: x\nsteps:\n  - log: \(SceneCapture.quoted(text))\n", path: "x"
            ).scene
            #expect(scene?.steps.first?.verb == .log(text, .info), "\(text.debugDescription)")
        }
    }

    @Test("R4 the JSON schema in Protocols/api is the format's own") func schema() throws {
        let file = repository.appending(path: "Protocols/api/scene.schema.json")
        let document = try SceneJSONSchema.document()
        if ProcessInfo.processInfo.environment["ROUTER_WRITE_GENERATED"] == "1" {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try document.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(document == (try String(contentsOf: file, encoding: .utf8)), "run with ROUTER_WRITE_GENERATED=1")
        let root = try #require(try JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any])
        let definitions = try #require(root["$defs"] as? [String: [String: Any]])
        let step = try #require(definitions["step"]?["properties"] as? [String: Any])
        #expect(Set(step.keys) == Set(SceneShape.step.keys))
        // Every reference leads somewhere.
        for match in document.matches(of: /"#\/\$defs\/([a-z]+)"/) { #expect(definitions[String(match.1)] != nil) }
    }
}
