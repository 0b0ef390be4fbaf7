import Testing

@testable import RouterCommands

@Suite("Keys of the player")
struct KeyTests {
    static let table: [(String, [PlayerKey])] = [
        (" ", [.toggle]), ("n", [.next]), ("P", [.previous]), ("+=-", [.louder, .louder, .softer]), ("m", [.mute]),
        ("q", [.quit]), ("\u{1b}[A", [.louder]), ("\u{1b}OB", [.softer]), ("\u{1b}[C\u{1b}[D", [.forward, .back]),
        (" \u{1b}[Aq", [.toggle, .louder, .quit]), ("", []), ("xyz", []),
        // Other keys: F5, Delete, Home, Ctrl-Right, Alt-q, a mouse report, a bracketed paste. None may press q or n.
        ("\u{1b}[15~", []), ("\u{1b}[3~n", [.next]), ("\u{1b}[H", []), ("\u{1b}[1;5C", []), ("\u{1b}q", []),
        ("\u{1b}[<0;10;10M", []), ("\u{1b}[200~", []), ("\u{1b}OP", []), ("\u{1b}", []), ("\u{1b}[", []),
        ("\u{1b}[1;", []), ("\u{1b}O", []),
        // Letters of other alphabets are no keys, whole or in pieces.
        ("ñ", []), ("日本", []), ("🙂q", [.quit]),
    ]

    @Test("each key and no other", arguments: table)
    func keys(_ text: String, _ keys: [PlayerKey]) {
        #expect(PlayerKey.parse(text.utf8) == keys)
    }

    @Test("a character of several bytes that comes in two reads presses nothing")
    func splitUTF8() {
        let bytes = Array("é日🙂".utf8)
        for cut in 0...bytes.count {
            #expect(PlayerKey.parse(bytes[..<cut]).isEmpty && PlayerKey.parse(bytes[cut...]).isEmpty)
        }
    }

    @Test("any bytes at all are survived")
    func anyBytes() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max { _ = PlayerKey.parse([0x1B, first, second]) }
        }
    }

    @Test("a password is typed blindly, with the usual keys to mend it")
    func passwordLine() {
        var line = PasswordLine()
        #expect(line.take("sesam".utf8) == .more && line.count == 5)
        #expect(line.take("ö".utf8) == .more && line.count == 6)
        #expect(line.take([0x7F]) == .more && line.count == 5)
        #expect(line.take("e\rrest".utf8) == .done("sesame"))
        var second = PasswordLine()
        #expect(second.take("abc\u{15}\u{7F}d\n".utf8) == .done("d"))
        for leaving in ["\n", "\u{4}", "\u{1b}", "a\u{4}"] {
            var line = PasswordLine()
            #expect(line.take(leaving.utf8) == .done(nil))
        }
        var split = PasswordLine()
        let bytes = Array("é".utf8)
        #expect(split.take(bytes[..<1]) == .more)
        #expect(split.take(bytes[1...]) == .more)
        #expect(split.take([0x0A]) == .done("é"))
        var endless = PasswordLine()
        #expect(endless.take([UInt8](repeating: 65, count: 100_000)) == .more && endless.count == 1024)
    }
}
