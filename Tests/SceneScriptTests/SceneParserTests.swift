import Foundation
import RouteModel
import Testing

@testable import SceneScript

@Suite struct SceneParserTests {
    private func parse(_ text: String, values: [String: String] = [:]) -> (Scene?, [SceneDiagnostic]) {
        let (scene, diagnostics) = SceneParser.parse(text, path: "test.yaml", values: values)
        return (scene, diagnostics)
    }

    private func steps(_ text: String) throws -> [SceneStep] {
        let (scene, diagnostics) = parse(SceneScriptTests.scene(text))
        #expect(diagnostics.errors.isEmpty, "\(diagnostics)")
        return try #require(scene).steps
    }

    @Test("R4 every verb is read") func verbs() throws {
        let steps = try steps(
            """
            - play: {media: [a.mp3, b.mp3], volume: 30%, start: 1m, item: 2, via: cast, repeat: all, context: false}
              target: kitchen
              timeout: 5s
            - {queue: {append: [c.mp3]}, target: kitchen}
            - {pause: , target: kitchen}
            - {resume: null, target: [kitchen, bath]}
            - {stop: ~, target: kitchen}
            - {seek: -10s, target: kitchen}
            - {volume: {level: 5%, fade: 1h}, target: kitchen}
            - {volume: +5%, target: kitchen}
            - {volume: mute, target: kitchen}
            - {group: {join: bath}, target: kitchen}
            - {transfer: bath, target: kitchen}
            - {announce: {media: d.mp3, priority: low, deadline: 5s}, target: [kitchen, bath]}
            - {snapshot: before, target: kitchen}
            - restore: before
            - {wait_for: kitchen.item changes, timeout: 5m}
            - delay: 250ms
            - {parallel: {steps: [{log: x}], join: any}}
            - {repeat: {times: 2, steps: [{log: y}]}}
            - {when: {if: kitchen.present, then: [{log: z}], else: [{log: w}]}}
            - {run_scene: {path: other.yaml, set: {level: 30%}}}
            - {log: {message: done, level: warning}}
            """)
        #expect(
            Set(steps.map(\.verb.name)) == Set(SceneShape.verbs.map(\.name)), "each verb of the format is among them")
        guard case .play(let play) = steps[0].verb else { throw RouterError(.internal, "no play") }
        #expect(play.media == ["a.mp3", "b.mp3"] && play.item == 2 && play.via == .cast && play.context == false)
        #expect(play.volume == VolumePosition(0.3) && play.start == MediaTime(seconds: 60) && play.repeatMode == .all)
        #expect(steps[0].timeout == MediaTime(seconds: 5) && steps[1].timeout == MediaTime(seconds: 60))
        #expect(steps[5].verb == .seek(.by(MediaTime(seconds: -10))))
        #expect(steps[6].verb == .volume(.level(VolumePosition(0.05), fade: MediaTime(seconds: 3600))))
        #expect(steps[7].verb == .volume(.change(0.05)) && steps[8].verb == .volume(.mute(true)))
        #expect(steps[9].verb == .group(join: ["bath"], leave: []))
        #expect(steps[10].verb == .transfer(.move, to: ["bath"]))
        #expect(steps[15].verb == .delay(MediaTime(milliseconds: 250)))
        #expect(steps[19].verb == .runScene(path: "other.yaml", values: ["level": "30%"]))
        #expect(steps[16].id == "steps[16]" && steps[16].verb.blocks[0].steps[0].id == "steps[16].parallel[0]")
    }

    @Test("R4 words that old YAML turns into numbers and booleans stay text")
    func plainScalars() throws {
        for word in ["no", "on", "off", "y", "1:30", "012", "0x1F", "1_000", "1e3", ".inf", "2026-11-22", "=", "NaN"] {
            let steps = try steps("- {play: \(word), target: kitchen}\n- {log: x}\n- {pause: , target: bath}")
            #expect(steps[0].verb == .play(ScenePlay(media: [word])))
        }
    }

    @Test("R4 anchors and merge keys are expanded; what is given wins over what is merged") func anchors() throws {
        let text = """
            version: 1
            name: Test
            targets: {kitchen: Kitchen, bath: Bath}
            steps:
              - &gentle
                volume: 10%
                target: kitchen
                timeout: 5s
                on_error: &go continue
              - <<: *gentle
                target: bath
              - <<:
                  - *gentle
                timeout: 9s
                on_error: *go
            """
        let (scene, diagnostics) = parse(text)
        #expect(diagnostics.isEmpty, "\(diagnostics)")
        let steps = try #require(scene).steps
        #expect(steps.map(\.targets) == [["kitchen"], ["bath"], ["kitchen"]])
        #expect(steps.map(\.timeout?.seconds) == [5, 5, 9])
        #expect(steps.allSatisfy { $0.onError == .continue })
    }

    @Test("R4 defaults fill in what steps do not say, and not where nothing is asked of a device")
    func defaults() throws {
        let head = "defaults: {timeout: 7s, on_error: continue}\n"
        let (scene, diagnostics) = parse(
            SceneScriptTests.scene(
                "- {play: a.mp3, target: kitchen}\n- {delay: 1h}\n"
                    + "- {stop: , target: bath, timeout: 2s, on_error: stop}",
                head: head))
        #expect(diagnostics.isEmpty, "\(diagnostics)")
        let steps = try #require(scene).steps
        #expect(steps.map(\.timeout?.seconds) == [7, nil, 2])
        #expect(steps.map(\.onError) == [.continue, .continue, .stop])
    }

    @Test("R4 variables have types, and --set takes the place of their defaults") func variables() throws {
        let head = """
            vars:
              music: a.mp3
              price: $$5
              loud: {type: level, default: 30%}
              long: {type: duration, default: 5m}
              often: {type: number, default: 3}
              mixed: {type: boolean, default: true}

            """
        let text = SceneScriptTests.scene(
            """
            - {play: {media: $music, shuffle: $mixed}, target: kitchen}
            - {volume: $loud, target: bath}
            - repeat:
                times: $often
                until: kitchen.position > $long or kitchen.item == $music
                steps: [{log: $price}]
            - {log: $$music}
            """, head: head)
        let (scene, diagnostics) = parse(text, values: ["loud": "55%", "often": "4"])
        #expect(diagnostics.isEmpty, "\(diagnostics)")
        let steps = try #require(scene).steps
        guard case .play(let play) = steps[0].verb, case .repeat(let loop) = steps[2].verb else {
            throw RouterError(.internal, "other verbs")
        }
        #expect(play.media == ["a.mp3"] && play.shuffle)
        #expect(steps[1].verb == .volume(.level(VolumePosition(0.55), fade: nil)))
        #expect(loop.times == 4 && loop.steps[0].verb == .log("$5", .info))
        #expect(loop.until?.comparisons.map(\.value) == [.number(300), .text("a.mp3")])
        #expect(steps[3].verb == .log("$music", .info), "a doubled sign is one, and names nothing")

        let (none, wrong) = parse(text, values: ["loud": "loud", "musik": "b.mp3"])
        #expect(none == nil)
        #expect(wrong.errors.map(\.code).sorted() == ["level", "unknown-variable", "value"])
        #expect(wrong.contains { $0.help == "did you mean “music”?" })
    }

    @Test("R4 a condition follows and, or, not and brackets, each in its rank") func conditions() throws {
        func value(_ text: String, _ known: [String: Bool]) throws -> Bool? {
            try SceneConditionParser.parse(text) { _ throws(SceneConditionParser.Failure) in "" }
                .evaluate { known[$0.target ?? ""] }
        }
        #expect(try value("a.present or b.present and c.present", ["a": true, "b": false, "c": false]) == true)
        #expect(try value("(a.present or b.present) and c.present", ["a": true, "b": false, "c": false]) == false)
        #expect(try value("not a.present or b.present", ["a": true, "b": false]) == false)
        #expect(try value("not (a.present and b.present)", ["a": true]) == nil)
        #expect(try value("a.present and b.present", ["b": false]) == false, "one that is false decides")
        #expect(try value("true and not false", [:]) == true)
        #expect(throws: SceneConditionParser.Failure.self) {
            try value(String(repeating: "(", count: 400) + "true", [:])
        }
    }

    @Test("R4 a time that no clock shows is found, over midnight and by days") func reachability() throws {
        func known(_ text: String) throws -> Bool? {
            SceneReachability.value(
                of: try SceneConditionParser.parse(text) { _ throws(SceneConditionParser.Failure) in "" })
        }
        #expect(try known("time >= 22:00 and time < 07:00") == false)
        #expect(try known("time >= 22:00 or time < 07:00") == nil)
        #expect(try known("time >= 00:00") == true)
        #expect(try known("day == weekday or day == weekend") == true)
        #expect(try known("day == monday and day == tuesday") == false)
        #expect(try known("kitchen.present or time >= 00:00") == true)
        #expect(try known("kitchen.present and time >= 12:00") == nil)
        #expect(try known("time == 12:34") == nil)
    }

    @Test(
        "R4 durations are read with their units and written back",
        arguments: [
            ("90s", 90.0), ("1m30s", 90), ("1h 5m", 3900), ("250ms", 0.25), ("2.5s", 2.5), ("24h", 86_400), ("0s", 0),
            ("2min", 120),
        ])
    func durations(text: String, seconds: Double) {
        let time = SceneValues.duration(text)
        #expect(time == MediaTime(seconds: seconds))
        #expect(time.map(SceneValues.text).flatMap(SceneValues.duration) == time)
    }

    @Test(
        "R4 what is no duration is none",
        arguments: [
            "", " ", "30", "1:30", "5x", "s", "1s1m", "1m1m", "-5s", "+5s", "1e3s", "25h", "1.2.3s", "5 s", "٣s",
            "1m 30",
        ])
    func noDurations(text: String) { #expect(SceneValues.duration(text) == nil) }

    @Test("R4 levels and times of day are strict") func strictValues() {
        #expect(SceneValues.level("33.5%") == VolumePosition(0.335))
        for text in ["30", "%", "-1%", "101%", "1e1%", "nan%", "٣%", "30 %"] { #expect(SceneValues.level(text) == nil) }
        #expect(SceneValues.change("-5%") == -0.05 && SceneValues.change("5%") == nil)
        #expect(SceneValues.minutes("07:30") == 450 && SceneValues.minutes("7:30") == 450)
        for text in ["24:00", "7:3", "7", "07:60", "-1:30", "007:30", "7:30:00"] {
            #expect(SceneValues.minutes(text) == nil)
        }
    }

    // MARK: Abuse

    private func quickly(_ what: String, _ body: () -> Void) {
        let began = ContinuousClock.now
        body()
        // Far above what it takes, far below what a bomb would.
        #expect(ContinuousClock.now - began < .seconds(20), "\(what)")
    }

    @Test("R4 no document makes the parser slow or deep") func bombs() {
        let laughs =
            "a: &a [x, x]\n"
            + (0..<40).map {
                "k\($0): &k\($0)\n  - *\($0 == 0 ? "a" : "k\($0 - 1)")\n  - *\($0 == 0 ? "a" : "k\($0 - 1)")\n"
            }.joined()
        let keys =
            "a: &a [x, x]\n"
            + (0..<40).map { "? &k\($0) [*\($0 == 0 ? "a" : "k\($0 - 1)"), *\($0 == 0 ? "a" : "k\($0 - 1)")]\n: 1\n" }
            .joined()
        let flow = "a: &a x\nb: { {c: *a\n  } }\n"
        let chain =
            "a: &k0 x\n"
            + (1..<100).map {
                "k\($0): &k\($0)\n" + (0..<60).map { String(repeating: " ", count: $0 + 1) + "-\n" }.joined()
                    + String(repeating: " ", count: 61) + "- *k\($0 - 1)\n"
            }.joined()
        let documents = [
            laughs, keys, flow, chain, String(repeating: "[", count: 200_000), String(repeating: "- ", count: 100_000),
            String(repeating: "{a: ", count: 60_000), String(repeating: "a: x\n", count: 40_000),
            String(repeating: "- a\n", count: 60_000), String(repeating: "&a ", count: 80_000),
            String(repeating: "*a\n", count: 80_000), "name: " + String(repeating: "x", count: 250_000),
            String(repeating: "x", count: 300 * 1024), String(repeating: "\n", count: 200_000),
            "version: 1\nname: x\nsteps:\n" + String(repeating: "  - log: x\n    log: y\n", count: 2000),
            "version: 1\nname: x\nsteps:\n" + String(repeating: "  - bad: x\n", count: 3000),
            "if: " + String(repeating: "not ", count: 60_000), "%YAML 9.9\n---\na: b\n", "\u{FEFF}version: 1\n",
            "--- >\n" + String(repeating: "x ", count: 100_000), "a: !!binary x\n", "!<tag:x> a: b\n", "? a\n: b\n",
        ]
        for (number, document) in documents.enumerated() {
            quickly("document \(number)") {
                let (scene, diagnostics) = SceneParser.parse(document, path: "x")
                #expect(scene == nil && diagnostics.hasErrors, "document \(number)")
                #expect(diagnostics.count <= SceneLimits.diagnostics)
            }
        }
    }

    @Test("R4 a long document within the limits is read") func long() {
        let text =
            "version: 1\nname: Long\ntargets: {kitchen: Kitchen}\nsteps:\n  - play: a.mp3\n"
            + (0..<2000).map { "  - log: step \($0)\n" }.joined()
        quickly("a long one") {
            let (scene, diagnostics) = SceneParser.parse(text, path: "x")
            #expect(diagnostics.isEmpty)
            #expect(scene?.steps.count == 2001)
        }
    }

    @Test("R4 every cut and every changed byte of a scene is answered with a scene or a diagnostic")
    func mutations() throws {
        let text = try String(
            contentsOf: repository.appending(path: "Samples/Scenes/opening-hours.yaml"), encoding: .utf8)
        let bytes = Array(text.utf8)
        for end in stride(from: 0, to: bytes.count, by: 7) { check(String(decoding: bytes[..<end], as: UTF8.self)) }
        let marks = Array("\t:-[]{}&*!|>'\"%@`#,?\n $\0".utf8)
        for (number, place) in stride(from: 0, to: bytes.count, by: 3).enumerated() {
            var changed = bytes
            changed[place] = marks[number % marks.count]
            check(String(decoding: changed, as: UTF8.self))
        }
    }

    private func check(_ text: String) {
        let (scene, diagnostics) = SceneParser.parse(text, path: "x")
        #expect((scene == nil) == diagnostics.hasErrors)
        for diagnostic in diagnostics {
            #expect(diagnostic.span.line >= 1 && diagnostic.span.column >= 1 && diagnostic.span.length >= 1)
            #expect(!diagnostic.description.isEmpty)
        }
    }

    @Test("R4 lines end with LF, CR LF or CR, and columns count what people see") func lines() {
        let lines = ["version: 1", "name: Tést 😀", "steps:", "  - pley: “x”"]
        for end in ["\n", "\r\n", "\r"] {
            let (_, diagnostics) = SceneParser.parse(lines.joined(separator: end), path: "x")
            #expect(diagnostics.places == ["4:5 unknown-key"])
            #expect(diagnostics.first?.source == "  - pley: “x”")
        }
        let (_, wide) = SceneParser.parse("version: 1\nname: \"😀😀\" x\nsteps: []\n", path: "x")
        #expect(wide.first?.span.line == 2)
    }

    @Test("R4 the caret stands under the span, also in a long line and after a tab") func carets() {
        let long = String(repeating: "x", count: 300)
        let one = SceneDiagnostic(
            .error, "c", "m", path: "p", span: SceneSpan(line: 1, column: 251, length: 5), source: long)
        let lines = one.description.split(separator: "\n")
        #expect(lines[1].count == 4 + 90 && lines[2].count == 4 + 40 + 5)
        let tab = SceneDiagnostic(
            .error, "c", "m", path: "p", span: SceneSpan(line: 1, column: 3, length: 99), source: "\ta\u{1B}b")
        #expect(tab.description.hasSuffix("\n    \ta\u{FFFD}b\n    \t ^^"))
    }
}
