import RouteModel
import Testing

@testable import RouterCommands

@Suite("The player's picture")
struct PlayerViewTests {
    private func lines(
        _ snapshot: SessionSnapshot?, columns: Int = 80, rows: Int = 24, phase: String = "", question: String? = nil,
        now: Int64 = 0
    ) -> [String] {
        PlayerView(columns: columns, rows: rows).lines(snapshot, phase: phase, question: question, now: now)
    }

    @Test("title, who and what from, where it is, each room, the keys")
    func whole() {
        let items = [Samples.item("i1"), Samples.item("i2", title: "Green")]
        let picture = lines(
            Samples.session(items: items, members: [Samples.member("Kitchen"), Samples.member("Lounge")]))
        #expect(picture.count == 6)
        #expect(picture[0] == "▶ Blue  1/2")
        #expect(picture[1] == "  Joni – Album")
        #expect(picture[2].hasPrefix("  0:10 ━") && picture[2].hasSuffix("─ 3:20"))
        #expect(picture[3] == "  Kitchen · AirPlay 1 (RAOP) · volume 40")
        #expect(picture[4].hasPrefix("  Lounge"))
        #expect(picture[5].contains("space pause") && picture[5].contains("q stop"))
    }

    @Test("the bar grows with time, and stands while paused")
    func bar() {
        func filled(_ snapshot: SessionSnapshot, _ seconds: Int64) -> Int {
            lines(snapshot, now: seconds * 1_000_000_000)[2].filter { $0 == "━" }.count
        }
        let playing = Samples.session()
        #expect(filled(playing, 0) < filled(playing, 60) && filled(playing, 60) < filled(playing, 120))
        // Past the end it is full, and no longer than that.
        #expect(filled(playing, 10_000) + 2 + 2 + 4 + 4 == 79)
        let paused = Samples.session(media: .paused)
        #expect(filled(paused, 0) == filled(paused, 120))
        #expect(lines(paused)[0].hasPrefix("‖ "))
    }

    @Test(
        "no line is wider than the terminal and no picture higher, whatever is in it",
        arguments: [20, 21, 30, 40, 60, 79, 80, 120, 200])
    func fits(_ columns: Int) {
        let long = String(repeating: "A very long title 日本語の題名 🎵 ", count: 20)
        let lost = RouterError(.routeLost, "the connection to Kitchen was lost: " + long)
        let members = [Samples.member("Kitchen"), Samples.member(long), Samples.member("Lost", error: lost)]
        for snapshot in [
            Samples.session(),
            Samples.session(items: [Samples.item(title: long, artist: long, album: long)], members: members),
            Samples.session(items: [Samples.item(duration: nil)]),
            Samples.session(items: [Samples.item(duration: 400_000)]),
        ] {
            for rows in [2, 3, 5, 10, 24] {
                for question in [nil, "Password of \(long): ••••"] {
                    let picture = lines(snapshot, columns: columns, rows: rows, question: question)
                    #expect(picture.allSatisfy { TerminalText.width($0) < columns }, "\(picture)")
                    #expect(picture.count < max(3, rows), "\(rows): \(picture)")
                }
            }
        }
        #expect(TerminalText.width(lines(nil, columns: columns, phase: long)[0]) < columns)
    }

    @Test("many rooms on few rows: those that are left out are counted")
    func manyRooms() {
        let members = (1...30).map { Samples.member("Room \($0)") }
        let picture = lines(Samples.session(members: members), rows: 12)
        #expect(picture.count == 11)
        #expect(picture[9] == "  and 24 more rooms")
        #expect(picture.filter { $0.contains("Room ") }.count == 6)
    }

    @Test("without a length it is live")
    func live() {
        let picture = lines(Samples.session(items: [Samples.item(duration: nil)]))
        #expect(picture[2] == "  0:10  live")
    }

    @Test("without tags it is the file's name, and no empty line")
    func untagged() {
        let picture = lines(Samples.session(items: [Samples.item(title: nil, artist: nil, album: nil)]))
        #expect(picture[0] == "▶ i1.flac  1/1" && picture.count == 4)
    }

    @Test("a room's state: its volume, muted, fixed, or what went wrong")
    func states() {
        var fixed = Samples.member("A")
        fixed.volumeHandling = .fixed
        let muted = Samples.member("B", volume: VolumeState(level: VolumePosition(0.4), muted: true))
        let lost = Samples.member("C", error: RouterError(.routeLost, "it went away"))
        let unknown = Samples.member("D", volume: nil)
        let picture = lines(Samples.session(members: [fixed, muted, lost, unknown]))
        for (line, state) in zip(picture[3...], ["volume fixed", "muted", "it went away", "connected"]) {
            #expect(line.hasSuffix(state), "\(line)")
        }
    }

    @Test("nothing from outside can drive the terminal")
    func escapes() {
        let evil = "a\u{1b}[2J\u{7}\r\n\u{9b}31m\u{202E}b\u{2028}c"
        let error = RouterError(.routeLost, evil)
        let snapshot = Samples.session(
            items: [Samples.item(title: evil, artist: evil, album: evil)],
            members: [Samples.member(evil), Samples.member(evil, error: error)])
        for picture in [lines(snapshot), lines(nil, phase: evil), lines(snapshot, question: evil)] {
            for scalar in picture.joined().unicodeScalars {
                #expect(scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value))
                #expect(scalar != "\u{202E}" && scalar != "\u{2028}")
            }
        }
        #expect(!PlayerView.describe(Samples.item(title: evil)).contains("\u{1b}"))
    }

    @Test("a question takes the place of the keys")
    func question() {
        let picture = lines(Samples.session(), question: "Password of Kitchen: ••")
        #expect(picture.last == "Password of Kitchen: ••")
        #expect(lines(nil, phase: "connecting", question: "Password of Kitchen: ") == ["Password of Kitchen: "])
    }

    @Test("colours are put round what fits already")
    func colours() {
        let error = RouterError(.routeLost, String(repeating: "lost ", count: 40))
        let view = PlayerView(columns: 40, rows: 24) { text, style in "<\(style.rawValue)>\(text)</>" }
        let picture = view.lines(Samples.session(members: [Samples.member("K", error: error)]), phase: "", now: 0)
        #expect(picture[0].hasPrefix("▶ <1>Blue</>"))
        #expect(picture[3].hasSuffix("…</>"))
    }
}
