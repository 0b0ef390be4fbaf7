import SwiftProtobuf
import Testing

@testable import AirPlay

@Suite("A10 frames and payloads of MRP")
struct MRPFrameTests {
    static func message(_ kind: MRPKind, title: String? = nil) -> MRPProtocolMessage {
        var message = MRPProtocolMessage(kind, identifier: "an identifier of some length")
        message.uniqueIdentifier = "7C5B1E9A-0000-4000-8000-000000000000"
        if let title { message.setState.displayName = title }
        return message
    }

    @Test("the header, byte by byte")
    func header() {
        let frame = MRPFrame(kind: .sync, sequence: 0x1_0203_0405, payload: [0xAA])
        #expect(
            frame.encoded() == [
                0, 0, 0, 33, 0x73, 0x79, 0x6E, 0x63, 0, 0, 0, 0, 0, 0, 0, 0, 0x63, 0x6F, 0x6D, 0x6D, 0, 0, 0, 1, 2, 3,
                4, 5, 0, 0, 0, 0, 0xAA,
            ])
        #expect(
            MRPFrame(kind: .reply, sequence: 2).encoded() == [
                0, 0, 0, 32, 0x72, 0x70, 0x6C, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0,
                0, 0,
            ])
    }

    @Test("byte by byte, in lumps and at once: the same frames", arguments: [1, 3, 31, 32, 33, 1000])
    func lumps(size: Int) throws {
        let frames = [
            MRPFrame(kind: .sync, sequence: 1, payload: MRPPayload.encode([Self.message(.deviceInfo)])),
            MRPFrame(kind: .reply, sequence: 1), MRPFrame(kind: .other("evnt"), sequence: .max, payload: [1, 2]),
        ]
        let stream = frames.flatMap { $0.encoded() }
        var held: [UInt8] = []
        var seen: [MRPFrame] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            held += stream[start..<min(stream.count, start + size)]
            while let (frame, used) = try MRPFrame.decode(held[...]) {
                seen.append(frame)
                held.removeFirst(used)
            }
        }
        #expect(seen == frames)
        #expect(held.isEmpty)
    }

    @Test("lengths that cannot be: too short, too long")
    func lengths() {
        #expect(throws: MRPDecodingError.frameTooShort(0)) { try MRPFrame.decode([0, 0, 0, 0]) }
        #expect(throws: MRPDecodingError.frameTooShort(31)) { try MRPFrame.decode([0, 0, 0, 31, 1]) }
        #expect(throws: MRPDecodingError.frameTooLong(0xFFFF_FFFF)) { try MRPFrame.decode([255, 255, 255, 255]) }
    }

    @Test("several messages in one payload, long ones too")
    func payload() throws {
        let messages = [Self.message(.setState, title: String(repeating: "ж", count: 20_000)), Self.message(.generic)]
        #expect(try MRPPayload.decode(MRPPayload.encode(messages)) == messages)
        #expect(try MRPPayload.decode([]).isEmpty)
    }

    private func wrapped(_ data: [UInt8]) -> [UInt8] {
        PropertyList.dictionary(["params": .dictionary(["data": .data(data)])]).encoded()
    }

    @Test("the one kind that comes without its length")
    func withoutLength() throws {
        let message = Self.message(.generic)
        let bytes: [UInt8] = try message.serializedBytes()
        #expect(try MRPPayload.decode(wrapped(bytes)) == [message])
    }

    @Test("a message of a kind, and with fields, that nobody knows is kept and passed on")
    func unknownKind() throws {
        // Type 120, an extension 200 with two bytes in it.
        let bytes: [UInt8] = [0x08, 120, 0xC2, 0x0C, 2, 1, 2]
        let message = try #require(try MRPPayload.decode(wrapped([UInt8(bytes.count)] + bytes)).first)
        #expect(message.kind == nil)
        #expect(try message.serializedBytes() as [UInt8] == bytes)
    }

    @Test("malformed payloads, each by its name")
    func malformed() throws {
        func decode(_ payload: [UInt8]) throws { _ = try MRPPayload.decode(payload) }
        #expect(throws: MRPDecodingError.malformedPayload) { try decode([1, 2, 3]) }
        #expect(throws: MRPDecodingError.malformedPayload) { try decode(PropertyList.array([]).encoded()) }
        // Beyond the end, and a number that never ends.
        #expect(throws: MRPDecodingError.malformedLength) { try decode(wrapped([5, 8, 1])) }
        #expect(throws: MRPDecodingError.malformedLength) { try decode(wrapped([0x80])) }
        #expect(throws: MRPDecodingError.malformedLength) {
            try decode(wrapped([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]))
        }
        // No type, no protobuf.
        #expect(throws: MRPDecodingError.malformedMessage) { try decode(wrapped([2, 0x12, 0])) }
        #expect(throws: MRPDecodingError.malformedMessage) { try decode(wrapped([3, 0xFF, 0xFF, 0xFF])) }
        let many = [UInt8](repeating: 0, count: 0) + (0..<300).flatMap { _ in [UInt8(2), 0x08 + 0, 1] }
        #expect(throws: MRPDecodingError.tooManyMessages(limit: 256)) { try decode(wrapped(many)) }
        let nothing = PropertyList.dictionary(["params": .dictionary(["other": .bool(true)])]).encoded()
        #expect(try MRPPayload.decode(nothing).isEmpty)
    }
}
