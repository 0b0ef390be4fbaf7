import Foundation
import RouteModel
import Testing

@testable import Media

@Suite("Subtitles")
struct SubtitleTests {
    private func vtt(_ text: String, _ request: SubtitleRequest = SubtitleRequest()) throws -> String {
        try vtt(Array(text.utf8), request)
    }

    private func vtt(_ bytes: [UInt8], _ request: SubtitleRequest = SubtitleRequest()) throws -> String {
        String(decoding: try SubtitleText.convert(bytes, label: "a.srt", request: request).webVTT, as: UTF8.self)
    }

    private func notices(_ text: String) throws -> [String] {
        try SubtitleText.convert(Array(text.utf8), label: "a", request: SubtitleRequest()).notices.map(\.text)
    }

    private let two = "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nOne\n\n00:00:03.500 --> 00:00:04.000\nTwo\n"

    @Test(
        "C12 SubRip as people write it",
        arguments: [
            "1\n00:00:01,000 --> 00:00:02,000\nOne\n\n2\n00:00:03,500 --> 00:00:04,000\nTwo\n",
            // CRLF, CR, a mark.
            "\u{FEFF}1\r\n00:00:01,000 --> 00:00:02,000\r\nOne\r\n\r\n2\r\n00:00:03,500 --> 00:00:04,000\r\nTwo\r\n",
            "1\r00:00:01,000 --> 00:00:02,000\rOne\r\r2\r00:00:03,500 --> 00:00:04,000\rTwo",
            // No blank lines; no numbers; wrong numbers; too many blank lines.
            "1\n00:00:01,000 --> 00:00:02,000\nOne\n2\n00:00:03,500 --> 00:00:04,000\nTwo",
            "00:00:01,000 --> 00:00:02,000\nOne\n\n00:00:03,500 --> 00:00:04,000\nTwo",
            "7\n00:00:01,000 --> 00:00:02,000\nOne\n\n3\n00:00:03,500 --> 00:00:04,000\nTwo\n\n\n\n",
            "\n\n\n1\n\n00:00:01,000 --> 00:00:02,000\n\nOne\n\n\n2\n00:00:03,500 --> 00:00:04,000\nTwo\n",
            // Points, short fractions, no hours, coordinates, out of order.
            "1\n0:0:1.0 --> 0:0:2\nOne\n\n2\n00:03,5 --> 00:04,000 X1:10 Y1:20\nTwo",
            "2\n00:00:03,500 --> 00:00:04,000\nTwo\n\n1\n00:00:01,000 --> 00:00:02,000\nOne\n",
        ])
    func subRip(_ text: String) throws { #expect(try vtt(text) == two) }

    @Test("C12 a number that somebody says stays")
    func numbers() throws {
        let text = "1\n00:00:01,000 --> 00:00:02,000\nThe year?\n1984\n\n2\n00:00:03,000 --> 00:00:04,000\n42\n"
        #expect(try vtt(text).contains("The year?\n1984\n"))
        #expect(try vtt(text).hasSuffix("\n42\n"))
    }

    @Test(
        "C12 tags: bold, italic and underline stay, balanced; the rest goes; what is no tag is text",
        arguments: [
            ("<i>a</i> b", "<i>a</i> b"), ("<I>a", "<i>a</i>"), ("<b><i>a</b>c</i>", "<b><i>a</i></b><i>c</i>"),
            ("<font color=\"#fff\">a</font>", "a"), ("{\\an8}a", "a"), ("{\\i1}a{\\i0}b", "<i>a</i>b"),
            ("{b}a{/b}", "<b>a</b>"),
            ("I <3 you & a < b > c", "I &lt;3 you &amp; a &lt; b &gt; c"),
            ("&amp;&lt;&nbsp;x&bogus;", "&amp;&lt;\u{A0}x&amp;bogus;"),
            ("a -- > b", "a -- &gt; b"), ("a<br>b", "a\nb"), ("{laughs} a", "{laughs} a"), ("a\\Nb", "a\nb"),
            ("<unknown>a", "&lt;unknown&gt;a"), ("a</i>", "a"), ("<", "&lt;"), ("{", "{"), ("&", "&amp;"), ("\\", "\\"),
        ])
    func tags(_ text: String, _ expected: String) throws {
        let body = try vtt("1\n00:00:01,000 --> 00:00:02,000\n\(text)\n").components(separatedBy: ".000").last ?? ""
        let payload = body.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        #expect(payload == expected + "\n")
    }

    @Test("C12 where a text stands is kept")
    func places() throws {
        #expect(try vtt("1\n00:00:01,000 --> 00:00:02,000\n{\\an8}Up\n").contains("00:00:02.000 line:0\nUp"))
        #expect(
            try vtt("1\n00:00:01,000 --> 00:00:02,000\n{\\an1}Left\n").contains("position:0% align:start\nLeft"))
    }

    @Test("C12 WebVTT: headers, notes and styles go, settings stay, voices become text")
    func webVTT() throws {
        let text = """
            WEBVTT - a title
            Kind: captions

            STYLE
            ::cue { color: red }

            NOTE 00:00:00.000 is no time

            id 1
            00:01.000 --> 00:02.000 line:10% align:start region:fred bad:<x>
            <v.loud Bob>Hello <c.red>you</c> <00:01.500>there</v>

            00:00:03.500 --> 00:00:04.000
            <lang en>a</lang> &lt;b&gt; <i>c
            """
        #expect(
            try vtt(text)
                == "WEBVTT\n\n00:00:01.000 --> 00:00:02.000 line:10% align:start\nHello you there\n\n"
                + "00:00:03.500 --> 00:00:04.000\na &lt;b&gt; <i>c</i>\n")
    }

    private let ass = """
        [Script Info]
        Title: x
        [V4+ Styles]
        Format: Name, Fontname, Fontsize, Bold, Italic, Underline, Alignment
        Style: Default,Arial,20,0,0,0,2
        Style: Sign,Arial,20,-1,-1,0,8
        [Events]
        Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
        Comment: 0,0:00:00.00,0:00:09.00,Default,,0,0,0,,not this
        Dialogue: 0,0:00:03.50,0:00:04.00,Default,,0,0,0,,{\\i1}Well{\\i0}, yes,\\Nand no
        Dialogue: 1,0:00:01.00,0:00:02.00,Sign,,0,0,0,,{\\pos(1,2)\\fad(1,2)}Shop{\\r} it
        Dialogue: 0,0:00:01.00,0:00:02.00,Sign,,0,0,0,,{\\pos(1,2)}Shop it
        Dialogue: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,{\\p1}m 0 0 l 100 0{\\p0}
        Dialogue: 0,bad,0:00:06.00,Default,,0,0,0,,x
        """

    @Test("C12 ASS: styles reduced, overrides read, drawings and twins left out, order by time")
    func subStation() throws {
        #expect(
            try vtt(ass)
                == "WEBVTT\n\n00:00:01.000 --> 00:00:02.000 line:0\n<b><i>Shop it</i></b>\n\n"
                + "00:00:03.500 --> 00:00:04.000\n<i>Well</i>, yes,\nand no\n")
        #expect(try notices(ass) == ["line 14: a dialogue without times: write 0:00:01.00,0:00:02.00"])
    }

    @Test("C12 SSA's own numbers of places")
    func legacy() {
        #expect(SubtitleMarkup.legacy(6)?.key == 8)
        #expect(SubtitleMarkup.legacy(10)?.key == 5)
        #expect(SubtitleMarkup.legacy(4) == nil)
    }

    @Test("C12 offset and scale; what ends before the film begins goes")
    func timing() throws {
        let text = "1\n00:00:01,000 --> 00:00:02,000\nOne\n\n2\n00:00:03,500 --> 00:00:04,000\nTwo\n"
        let later = try vtt(text, SubtitleRequest(offset: MediaTime(seconds: 1.5)))
        #expect(later.contains("00:00:02.500 --> 00:00:03.500\nOne"))
        let earlier = try vtt(text, SubtitleRequest(offset: MediaTime(seconds: -3.7)))
        #expect(earlier == "WEBVTT\n\n00:00:00.000 --> 00:00:00.300\nTwo\n")
        let scaled = try vtt(text, SubtitleRequest(offset: MediaTime(milliseconds: 100), scale: 2))
        #expect(scaled.contains("00:00:02.100 --> 00:00:04.100\nOne"))
    }

    @Test(
        "Malformed lines are told by their number, and the rest is read",
        arguments: [
            ("1\n00:00:01,000 --> 00:00:02,000\nOne\n\n2\n00:00:0x --> 00:00:04,000\nTwo\n", "line 6: this is no time"),
            ("1\n00:00:02,000 --> 00:00:01,000\nNo\n\n00:00:01,000 --> 00:00:02,000\nOne\n", "line 2: it ends before"),
            (
                "1\n00:00:02,000 --> 00:00:02,000\nNo\n\n00:00:01,000 --> 00:00:02,000\nOne\n",
                "line 2: seen for no time"
            ),
            ("Downloaded from\n00:00:01,000 --> 00:00:02,000\nOne\n", "line 1: text before"),
            ("1\n00:61:01,000 --> 00:62:02,000\nNo\n\n00:00:01,000 --> 00:00:02,000\nOne\n", "line 2: this is no time"),
            ("1\n-1:00:01,000 --> 00:00:02,000\nNo\n\n00:00:01,000 --> 00:00:02,000\nOne\n", "line 2: this is no time"),
            ("1\n99999999:00:01,000 --> 1\nNo\n\n00:00:01,000 --> 00:00:02,000\nOne\n", "line 2: this is no time"),
            (
                "1\n00:00:01,000 --> 00:00:02,000\n" + String(repeating: "é", count: 3000) + "\n\n"
                    + "00:00:01,000 --> 00:00:02,000\nOne\n", "line 3: longer than"
            ),
        ])
    func malformed(_ text: String, _ notice: String) throws {
        let told = try notices(text)
        #expect(told.first?.hasPrefix(notice) == true, "\(told)")
        #expect(try vtt(text).contains("00:00:01.000 --> 00:00:02.000\nOne\n"))
        #expect(!(try vtt(text)).contains("No\n"))
    }

    @Test(
        "What is no subtitle file is refused with what to do",
        arguments: [
            "", "hello", "\u{0}\u{1}\u{2}", "WEBVTT\n", "1\nx --> y\nz\n", "[Script Info]\n[Events]\n", "<html></html>",
            "00:00:02,000 --> 00:00:01,000\nx",
        ])
    func refused(_ text: String) {
        let error = #expect(throws: RouterError.self) { try vtt(text) }
        #expect(error?.code == .mediaUnsupported && error?.hint != nil)
    }

    @Test("Limits: size, cues, lines of a cue and notices")
    func limits() throws {
        #expect(throws: RouterError.self) { try vtt([UInt8](repeating: 65, count: SubtitleLimits.bytes + 1)) }
        let cue = "00:00:01,000 --> 00:00:02,000\n"
        let lines = try vtt(cue + (1...100).map { "l\($0)\n" }.joined())
        #expect(lines.split(separator: "\n").count == 2 + SubtitleLimits.linesPerCue)
        let bad = try notices(cue + "x\n\n" + String(repeating: "1 --> 2\n", count: 100))
        #expect(bad.count == SubtitleLimits.notices + 1 && bad.last == "and 80 more like these")
        var document = SubtitleDocument()
        let one = SubtitleCue(start: 0, end: 1, runs: [SubtitleCue.Run(text: "x", style: [])])
        for _ in 0..<SubtitleLimits.cues { document.add(one) }
        #expect(!document.add(one) && document.cues.count == SubtitleLimits.cues)
    }

    @Test("Random cuts and bytes neither crash nor give what is no WebVTT")
    func fuzz() {
        var state: UInt64 = 7
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        let seeds = [
            Array(ass.utf8), Array("1\n00:00:01,000 --> 00:00:02,000\n<i>{\\an8}A&amp;</i>\n".utf8), Array(two.utf8),
        ]
        for round in 0..<600 {
            var bytes = seeds[round % seeds.count]
            for _ in 0..<1 + random(6) {
                let at = random(bytes.count)
                switch random(3) {
                case 0: bytes[at] = UInt8(random(256))
                case 1: bytes.remove(at: at)
                default: bytes.insert(contentsOf: Array("-->{\\<&".utf8).prefix(1 + random(7)), at: at)
                }
            }
            guard let text = try? vtt(bytes) else { continue }
            #expect(text.hasPrefix("WEBVTT\n"))
            for line in text.split(separator: "\n") where line.contains("-->") {
                #expect(SubtitleClock.timing(String(line)) != .broken, "\(line)")
            }
        }
    }

    // MARK: Encodings

    @Test(
        "C12 encodings are told apart by their letters",
        arguments: [
            (SubtitleEncoding.utf8, "Žluťoučký kůň"),
            (.windows1252, "Où est-il ? Là-bas, à côté de l'hôtel où ça s'est passé."),
            (.windows1252, "Ich weiß nicht, wo die schönen Schlüssel für das Gebäude sind. Können Sie?"),
            (.windows1252, "¿Qué pasó mañana? El niño está aquí, ¡señor!"),
            (.windows1250, "Příliš žluťoučký kůň úpěl ďábelské ódy. Řekni mi, kdo přišel večer."),
            (.windows1250, "Zażółć gęślą jaźń. Chodź, już późno, musimy iść spać."),
            (.latin2, "Zażółć gęślą jaźń. Chodź, już późno, musimy iść spać, śmieszne."),
            (.windows1254, "Şu anda çalışıyorum. Bugün hava çok güzel değil mi, öğretmenim?"),
            (.windows1251, "Здравствуйте, как ваши дела сегодня? Мне нужно поговорить с вами."),
            (.koi8, "Здравствуйте, как ваши дела сегодня? Мне нужно поговорить с вами."),
            (.cyrillic, "Здравствуйте, как ваши дела сегодня? Мне нужно поговорить с вами."),
            (.windows1253, "Καλημέρα, τι κάνετε σήμερα; Θέλω να μιλήσω μαζί σας για το θέμα."),
            (.utf16LittleEndian, "Plain text of some length"), (.utf16BigEndian, "Plain text of some length"),
        ])
    func guessed(_ encoding: SubtitleEncoding, _ text: String) throws {
        let bytes = try #require(encoded(text, encoding))
        let decoded = SubtitleEncoding.decode(bytes)
        #expect(decoded.text == text, "taken for \(decoded.encoding.name)")
    }

    private func encoded(_ text: String, _ encoding: SubtitleEncoding) -> [UInt8]? {
        let encodings: [SubtitleEncoding: String.Encoding] = [
            .utf8: .utf8, .windows1250: .windowsCP1250, .windows1251: .windowsCP1251, .windows1252: .windowsCP1252,
            .windows1253: .windowsCP1253, .windows1254: .windowsCP1254, .latin2: .isoLatin2,
            .utf16LittleEndian: .utf16LittleEndian, .utf16BigEndian: .utf16BigEndian,
            .koi8: String.Encoding(rawValue: 0x8000_0A02), .cyrillic: String.Encoding(rawValue: 0x8000_0205),
        ]
        return encodings[encoding].flatMap { text.data(using: $0) }.map { [UInt8]($0) }
    }

    @Test("C12 a byte that stands for nothing costs no other letter, also where letters have two bytes")
    func brokenByte() throws {
        let bytes = try ["字幕", "です"].map { [UInt8](try #require($0.data(using: .shiftJIS))) }
        let decoded = SubtitleEncoding.decode(bytes[0] + [0xFF] + bytes[1], as: try .named("shift_jis"))
        #expect(decoded.text == "字幕\u{FFFD}です")
    }

    @Test("C12 a person's word on the encoding counts, but not against a mark")
    func override() throws {
        let bytes: [UInt8] = [0xE6, 0xE9]
        #expect(SubtitleEncoding.decode(bytes, as: try .named("CP1250")).text == "ćé")
        #expect(SubtitleEncoding.decode(bytes, as: try .named("windows-1251")).text == "жй")
        #expect(SubtitleEncoding.decode([0xEF, 0xBB, 0xBF, 0xC3, 0xA9], as: .windows1250).text == "é")
        #expect(SubtitleEncoding.decode([0xFF, 0xFE, 0x41, 0x00], as: .windows1250).text == "A")
        // A byte that stands for nothing costs itself alone.
        #expect(SubtitleEncoding.decode([0x41, 0x81, 0xE9], as: .windows1252).text.hasSuffix("é"))
        let error = #expect(throws: RouterError.self) { try SubtitleEncoding.named("windows-1520") }
        #expect(error?.hint?.contains("windows-125") == true)
    }

    @Test("Languages by code, tag and name")
    func languages() {
        #expect(LanguageName.tag("ger") == "de" && LanguageName.tag("deu") == "de" && LanguageName.tag("DE") == "de")
        #expect(LanguageName.tag("pt-br") == "pt-BR" && LanguageName.tag("zh_hant") == "zh-Hant")
        #expect(LanguageName.tag("English") == "en" && LanguageName.tag("und") == nil && LanguageName.tag("xq") == nil)
        #expect(LanguageName.name("pt-BR") == "Portuguese (BR)")
        #expect(LanguageName.matches("pt-BR", "pt") && !LanguageName.matches("pt", "pt-BR"))
        #expect(LanguageName.matches("de", "ger") && !LanguageName.matches(nil, "de"))
    }
}
