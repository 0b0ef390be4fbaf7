import CastV2
import Testing

@Suite struct CastFramingTests {
    static let ping = CastMessage(
        sourceID: "sender-0", destinationID: "receiver-0", namespace: CastNamespace.heartbeat,
        payload: .text(#"{"type":"PING"}"#))
    static let binary = CastMessage(
        sourceID: "s", destinationID: "*", namespace: CastNamespace.deviceAuthentication, payload: .binary([10, 0]))
    static let long = CastMessage(
        sourceID: "sender-0", destinationID: "web-1", namespace: CastNamespace.media,
        payload: .text(String(repeating: "å", count: 9000)))

    /// `Protocols/cast/vectors/ping.hex`: derived by hand from the field table.
    static let pingFrame: [UInt8] =
        [0, 0, 0, 0x54, 0x08, 0x00, 0x12, 0x08] + Array("sender-0".utf8) + [0x1a, 0x0a] + Array("receiver-0".utf8)
        + [0x22, 0x27] + Array("urn:x-cast:com.google.cast.tp.heartbeat".utf8) + [0x28, 0x00, 0x32, 0x0f]
        + Array(#"{"type":"PING"}"#.utf8)

    @Test func encodesTheVector() throws {
        let frame = try CastFraming.encode(Self.ping)
        // The length is that of the body: 4 + 8 + 2 + 10 + 2 + 39 + 2 + 2 + 15 bytes.
        #expect(frame.count == 4 + 0x54)
        #expect(frame == Self.pingFrame)
        var decoder = CastFrameDecoder()
        decoder.append(frame)
        #expect(try decoder.next() == Self.ping)
        #expect(try decoder.next() == nil)
    }

    @Test("the same messages come out byte by byte, in one lump, and in pieces of every size")
    func cutting() throws {
        let messages = [Self.ping, Self.binary, Self.long, Self.ping, Self.ping]
        let bytes = try messages.flatMap { try CastFraming.encode($0) }
        for size in [1, 2, 3, 4, 5, 7, 83, 88, 89, 1000, 16_384, bytes.count] {
            var decoder = CastFrameDecoder()
            var result: [CastMessage] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                decoder.append(bytes[start..<min(start + size, bytes.count)])
                while let message = try decoder.next() { result.append(message) }
            }
            #expect(result == messages, "pieces of \(size)")
            #expect(decoder.bufferedBytes == 0)
        }
    }

    @Test("two frames in one TLS record are both read at once")
    func drains() throws {
        var decoder = CastFrameDecoder()
        decoder.append(try CastFraming.encode(Self.ping) + CastFraming.encode(Self.binary))
        #expect(try decoder.next() == Self.ping)
        #expect(try decoder.next() == Self.binary)
    }

    struct Malformed: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var error: CastFramingError
    }

    static let malformed = [
        Malformed(testDescription: "length 0", bytes: [0, 0, 0, 0], error: .emptyFrame),
        Malformed(
            testDescription: "length 4 GiB - 1", bytes: [0xff, 0xff, 0xff, 0xff],
            error: .frameTooLong(announced: 4_294_967_295)),
        Malformed(
            testDescription: "one byte too long", bytes: [0, 1, 0, 1], error: .frameTooLong(announced: 65_537)),
        Malformed(
            testDescription: "HTTP", bytes: Array("HTTP/1.1 400 Bad Request\r\n".utf8),
            error: .frameTooLong(announced: 0x4854_5450)),
        Malformed(testDescription: "no protobuf", bytes: [0, 0, 0, 3, 0xff, 0xff, 0xff], error: .malformedMessage),
        Malformed(
            testDescription: "a field that runs past the end", bytes: [0, 0, 0, 3, 0x12, 0x20, 0x41],
            error: .malformedMessage),
        Malformed(
            testDescription: "source is not UTF-8", bytes: [0, 0, 0, 4, 0x12, 0x02, 0xc3, 0x28],
            error: .malformedMessage),
        Malformed(
            testDescription: "a chunk of a longer message", bytes: [0, 0, 0, 4, 0x08, 0x01, 0x40, 0x01],
            error: .chunkedMessage),
    ]

    @Test(arguments: malformed)
    func refuses(_ input: Malformed) {
        for dripping in [true, false] {
            var decoder = CastFrameDecoder()
            var caught: CastFramingError?
            for piece in dripping ? input.bytes.map({ [$0] }) : [input.bytes] {
                decoder.append(piece)
                do {
                    #expect(try decoder.next() == nil)
                } catch { caught = caught ?? error }
            }
            #expect(caught == input.error)
            // It stays broken, whatever comes.
            decoder.append(Self.pingFrame)
            #expect(throws: input.error) { try decoder.next() }
            #expect(decoder.bufferedBytes == 0)
        }
    }

    @Test("missing and unknown fields are let pass")
    func tolerates() throws {
        var decoder = CastFrameDecoder()
        // Only a namespace; then an unknown field 15; then a payload of an unknown type 7.
        decoder.append([0, 0, 0, 3, 0x22, 0x01, 0x61])
        decoder.append([0, 0, 0, 6, 0x22, 0x01, 0x61, 0x7a, 0x01, 0x62])
        decoder.append([0, 0, 0, 5, 0x28, 0x07, 0x32, 0x01, 0x63])
        // Binary by its field, though the type was left out.
        decoder.append([0, 0, 0, 3, 0x3a, 0x01, 0x09])
        let empty = CastMessage(sourceID: "", destinationID: "", namespace: "a", payload: .text(""))
        #expect(try decoder.next() == empty)
        #expect(try decoder.next() == empty)
        #expect(try decoder.next()?.text == "c")
        #expect(try decoder.next()?.payload == .binary([9]))
    }

    @Test func theLargestFrameIsTakenAndOneMoreByteIsNot() throws {
        func message(_ count: Int) -> CastMessage {
            CastMessage(
                sourceID: "s", destinationID: "d", namespace: "n",
                payload: .text(String(repeating: "x", count: count)))
        }
        // 13 bytes of other fields, 4 of the payload's own key and length.
        let fitting = CastFraming.maximumBody - 17
        let frame = try CastFraming.encode(message(fitting))
        #expect(frame.count == CastFraming.prefixLength + CastFraming.maximumBody)
        var decoder = CastFrameDecoder()
        decoder.append(frame)
        #expect(try decoder.next() == message(fitting))
        #expect(throws: CastFramingError.frameTooLong(announced: 65_537)) {
            try CastFraming.encode(message(fitting + 1))
        }
    }

    @Test("an empty source, destination or namespace is never sent")
    func strictEncoding() {
        for broken in [("", "d", "n"), ("s", "", "n"), ("s", "d", "")] {
            let message = CastMessage(
                sourceID: broken.0, destinationID: broken.1, namespace: broken.2, payload: .text("{}"))
            #expect(throws: CastFramingError.missingAddress) { try CastFraming.encode(message) }
        }
    }
}
