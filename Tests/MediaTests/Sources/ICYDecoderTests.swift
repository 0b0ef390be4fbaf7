import RouteModel
import Testing

@testable import Media

struct ICYDecoderTests {
    private static func block(_ text: [UInt8]) -> [UInt8] {
        let count = (text.count + 15) / 16
        return [UInt8(count)] + text + [UInt8](repeating: 0, count: count * 16 - text.count)
    }

    private static func block(_ text: String) -> [UInt8] { block([UInt8](text.utf8)) }

    private static let sound = [UInt8](repeating: 0x27, count: 10)
    private static let head = [UInt8]("ICY 200 OK\r\nicy-name: One  FM\r\nIcy-MetaInt: 10\r\n\r\n".utf8)
    private static let stream =
        head + sound + block("StreamTitle='A - B';StreamUrl='';") + sound + [0] + sound + block("StreamTitle='';")
        + sound + block("StreamUrl='x';")

    private func decode(_ bytes: [UInt8], by size: Int) throws -> [ICYDecoder.Event] {
        var decoder = ICYDecoder()
        var events: [ICYDecoder.Event] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += try decoder.take(Array(bytes[start..<min(bytes.count, start + size)]))
        }
        return events
    }

    private func titles(_ events: [ICYDecoder.Event]) -> [String?] {
        events.compactMap { if case .words(let words) = $0 { .some(words.title) } else { nil } }
    }

    @Test("C24 titles are taken from between the sound, whatever the bytes' cut", arguments: [1, 2, 3, 7, 16, 1000])
    func cuts(_ size: Int) throws {
        let events = try decode(Self.stream, by: size)
        guard case .head(let head)? = events.first else { return #expect(Bool(false), "no head") }
        #expect(head.status == 200 && head.interval == 10 && head.stationName == "One  FM")
        #expect(titles(events) == ["A - B", "", nil])
    }

    @Test("C24 an answer without titles is sound and nothing else")
    func silent() throws {
        let plain = [UInt8]("HTTP/1.1 200 OK\nContent-Type: audio/mpeg\n\n".utf8) + Self.sound
        #expect(try decode(plain, by: 5).count == 1)
        for odd in ["0", "-1", "x", "99999999999999999999", "1048577", ""] {
            let head = [UInt8]("HTTP/1.0 200 OK\r\nicy-metaint: \(odd)\r\n\r\n".utf8)
            let events = try decode(head + Self.sound + Self.block("StreamTitle='no';"), by: 4)
            #expect(titles(events).isEmpty, "\(odd)")
        }
        let refused = [UInt8]("HTTP/1.0 404 Gone\r\nicy-metaint: 10\r\n\r\n".utf8)
        #expect(titles(try decode(refused + Self.sound + Self.block("StreamTitle='no';"), by: 9)).isEmpty)
    }

    @Test("C24 what is no answer, too long a head, and chunks are refused by name")
    func malformed() {
        func refusal(_ text: String) -> ICYFailure? {
            do {
                _ = try decode([UInt8](text.utf8), by: 64)
                return nil
            } catch {
                return error as? ICYFailure
            }
        }
        #expect(refusal("SSH-2.0-x\r\n") == .noAnswer)
        #expect(refusal("HTTP/1.1 OK\r\n\r\n") == .noAnswer)
        #expect(refusal("HTTP/1.1 20000\r\n\r\n") == .noAnswer)
        #expect(refusal("ICY 200 OK\r\n" + String(repeating: "a: b\r\n", count: 10_000)) == .headTooLong)
        #expect(refusal("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n") == .chunked)
        #expect(refusal("HTTP/1.1 200 OK\r\n") == nil)
    }

    @Test(
        "C24 quotes in titles, Latin-1, a missing end and words without a title",
        arguments: [
            ("StreamTitle='Don't stop';StreamUrl='';", "Don't stop"), ("StreamTitle='It's';' end';", "It's';' end"),
            ("StreamTitle='open", "open"), ("StreamTitle='closed'", "closed"), ("StreamTitle='';", ""),
            ("StreamUrl='http://a';", nil), ("", nil), ("StreamUrl='';StreamTitle='late';", "late"),
        ])
    func words(_ text: String, _ title: String?) {
        #expect(ICYWords([UInt8](text.utf8)).title == title)
        #expect(ICYWords([UInt8](text.utf8) + [0, 0, 0]).title == title)
    }

    @Test("C24 a title is artist and song where it is written so")
    func metadata() {
        let song = ICYWords([UInt8]("StreamTitle='Somebody - A song - live';".utf8)).metadata(of: "One FM")
        #expect(song.artist == "Somebody" && song.title == "A song - live" && song.studio == "One FM")
        #expect(song.kind == .live)
        #expect(ICYWords([UInt8]("StreamTitle='News';".utf8)).metadata(of: nil).title == "News")
        #expect(ICYWords([UInt8]("StreamTitle=' ';".utf8)).metadata(of: nil).title == nil)
        #expect(ICYWords(Array("StreamTitle='".utf8) + [0xFC] + Array("';".utf8)).metadata(of: nil).title == "ü")
    }

    @Test("C24 any bytes at all do no harm")
    func random() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var decoder = ICYDecoder()
            let begin = Bool.random(using: &generator) ? Self.head : []
            let bytes = begin + (0..<500).map { _ in UInt8.random(in: 0...255, using: &generator) }
            _ = try? decoder.take(bytes)
        }
    }
}
