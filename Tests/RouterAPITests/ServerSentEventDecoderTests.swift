import RouterAPI
import Testing

@Suite("Server-sent events as bytes")
struct ServerSentEventDecoderTests {
    private func text(_ event: ServerSentEvent) -> String {
        "\(event.id ?? "-") \(event.name) \(String(decoding: event.data, as: UTF8.self))"
    }

    private static let streams: [(name: String, bytes: [UInt8], events: [String])] = [
        ("one event", Array("id: 1\nevent: a\ndata: x\n\n".utf8), ["1 a x"]),
        ("no name", Array("data: x\n\n".utf8), ["- message x"]),
        ("CRLF", Array("id: 1\r\nevent: a\r\ndata: x\r\n\r\n".utf8), ["1 a x"]),
        ("CR alone", Array("event: a\rdata: x\r\rdata: y\r\r".utf8), ["- a x", "- message y"]),
        ("lines of data", Array("data: x\ndata:\ndata:  y\n\n".utf8), ["- message x\n\n y"]),
        ("comments", Array(": here\n\n:\n\ndata: x\n: there\n\n".utf8), ["- message x"]),
        (
            "the id stays", Array("id: 7\ndata: x\n\ndata: y\n\nid\ndata: z\n\n".utf8),
            ["7 message x", "7 message y", " message z"]
        ),
        ("an id with a zero is none", Array("id: 1\u{0}2\ndata: x\n\n".utf8), ["- message x"]),
        ("no data is no event", Array("event: a\n\ndata: x\n\n".utf8), ["- message x"]),
        ("unknown fields", Array("retry: 5\nfoo: bar\nfoo\ndata: x\n\n".utf8), ["- message x"]),
        ("a byte order mark", [0xEF, 0xBB, 0xBF] + Array("data: x\n\n".utf8), ["- message x"]),
        ("an event without its end", Array("data: x\n\ndata: y\n".utf8), ["- message x"]),
        ("no UTF-8 in a name", Array("event: ".utf8) + [0xFF] + Array("\ndata: x\n\n".utf8), ["- \u{FFFD} x"]),
    ]

    @Test("however the bytes are cut, the events are the same", arguments: streams.indices)
    func cuts(_ index: Int) throws {
        let (name, bytes, wanted) = Self.streams[index]
        for size in [1, 2, 3, 7, bytes.count] {
            var decoder = ServerSentEventDecoder()
            var events: [ServerSentEvent] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                events += try decoder.push(bytes[start..<min(bytes.count, start + size)])
            }
            #expect(events.map(text) == wanted, "\(name), by \(size)")
        }
    }

    @Test("an event that is too large ends the stream", arguments: ["data: ", "event: ", ": ", ""])
    func tooLarge(_ field: String) throws {
        var decoder = ServerSentEventDecoder(maximumBytes: 64)
        #expect(throws: ServerSentEventDecoder.TooLarge.self) {
            _ = try decoder.push(Array((field + String(repeating: "x", count: 100)).utf8))
        }
        var lines = ServerSentEventDecoder(maximumBytes: 64)
        #expect(throws: ServerSentEventDecoder.TooLarge.self) {
            for _ in 0..<40 { _ = try lines.push(Array("data: xx\n".utf8)) }
        }
    }
}
