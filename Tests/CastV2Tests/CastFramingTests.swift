import CastV2
import Foundation
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

    /// Bytes of a file in `Protocols/cast/vectors`, which were derived without our code.
    private static func vector(_ name: String) throws -> [UInt8] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Protocols/cast/vectors/\(name).hex")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let digits = Array(lines.filter { !$0.hasPrefix("#") }.joined().utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
        }
    }

    private static func text(_ text: String, _ namespace: String, from: String, to: String) -> CastMessage {
        CastMessage(sourceID: from, destinationID: to, namespace: namespace, payload: .text(text))
    }

    @Test(
        "the vectors, read and written",
        arguments: [
            ("ping", [ping]),
            ("connect", [text(#"{"type":"CONNECT"}"#, CastNamespace.connection, from: "sender-0", to: "receiver-0")]),
            (
                "auth-challenge-empty",
                [
                    CastMessage(
                        sourceID: "sender-vlc", destinationID: "receiver-0",
                        namespace: CastNamespace.deviceAuthentication, payload: .binary([0x0a, 0x00]))
                ]
            ),
            (
                "launch-two-frames",
                [
                    text(
                        #"{"type":"LAUNCH_STATUS","launchRequestId":2,"status":"USER_ALLOWED"}"#,
                        CastNamespace.receiver,
                        from: "receiver-0", to: "sender-0"),
                    text(
                        #"{"type":"RECEIVER_STATUS","requestId":2,"status":{}}"#, CastNamespace.receiver,
                        from: "receiver-0", to: "sender-0"),
                ]
            ),
        ])
    func vectors(name: String, messages: [CastMessage]) throws {
        let bytes = try Self.vector(name)
        #expect(try messages.flatMap { try CastFraming.encode($0) } == bytes)
        var decoder = CastFrameDecoder()
        decoder.append(bytes)
        var result: [CastMessage] = []
        while let message = try decoder.next() { result.append(message) }
        #expect(result == messages)
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

    @Test(
        "malformed input by name",
        arguments: [
            ("bad-length-zero", CastFramingError.emptyFrame),
            ("bad-length-4gib", .frameTooLong(announced: 4_294_967_295)),
            ("bad-length-one-over", .frameTooLong(announced: 65_537)),
            ("bad-http", .frameTooLong(announced: 0x4854_5450)),
            ("bad-proto", .malformedMessage),
            ("bad-utf8", .malformedMessage),
            ("bad-field-overrun", .malformedMessage),
        ])
    func malformed(name: String, error: CastFramingError) throws { try refuse(Self.vector(name), with: error) }

    @Test("a chunk of a longer message is refused")
    func chunked() throws { try refuse([0, 0, 0, 4, 0x08, 0x01, 0x40, 0x01], with: .chunkedMessage) }

    private func refuse(_ bytes: [UInt8], with error: CastFramingError) throws {
        for dripping in [true, false] {
            var decoder = CastFrameDecoder()
            var caught: CastFramingError?
            for piece in dripping ? bytes.map({ [$0] }) : [bytes] {
                decoder.append(piece)
                do {
                    #expect(try decoder.next() == nil)
                } catch { caught = caught ?? error }
            }
            #expect(caught == error)
            // It stays broken, whatever comes.
            decoder.append(try CastFraming.encode(Self.ping))
            #expect(throws: error) { try decoder.next() }
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
