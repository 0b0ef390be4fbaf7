import CastV2
import Testing

@Suite("Cast Streaming: packets")
struct StreamingPacketTests {
    static let payload = Array("opus".utf8)
    static let packets: [String: CastRTPPacket] = [
        "first": CastRTPPacket(
            payloadType: 127, marker: true, sequence: 0x1234, timestamp: 960, ssrc: 0x2B0B_0001, keyFrame: true,
            frameID: 0, packetID: 0, lastPacketID: 0, payload: payload),
        "reference": CastRTPPacket(
            payloadType: 96, marker: false, sequence: 0xFFFF, timestamp: 0xFFFF_FFFF, ssrc: 1, keyFrame: false,
            frameID: 255, packetID: 1, lastPacketID: 2, referencedFrameID: 254, payload: payload),
        "delay": CastRTPPacket(
            payloadType: 127, marker: true, sequence: 1, timestamp: 2, ssrc: 3, keyFrame: true, frameID: 7,
            packetID: 0, lastPacketID: 0, referencedFrameID: 7, playoutDelay: 400, payload: payload),
        "empty": CastRTPPacket(
            payloadType: 127, marker: true, sequence: 1, timestamp: 2, ssrc: 3, keyFrame: true, frameID: 7,
            packetID: 0, lastPacketID: 0, payload: []),
    ]

    @Test("R5 the vectors of RTP, read and written")
    func rtp() throws {
        #expect(Set(StreamingVectors.all.rtp.keys) == Set(Self.packets.keys))
        for (name, hex) in StreamingVectors.all.rtp {
            let bytes = StreamingVectors.bytes(hex)
            #expect(try CastRTPPacket(decoding: bytes) == Self.packets[name], "\(name)")
            #expect(Self.packets[name]?.encoded() == bytes, "\(name)")
            #expect(!CastRTCP.matches(bytes), "\(name)")
        }
        #expect(
            try CastRTPPacket(decoding: StreamingVectors.bytes(StreamingVectors.all.unknownExtension))
                == Self.packets["delay"])
    }

    @Test("R5 every malformed packet has its error, and every cut of a whole one is refused or whole")
    func badRTP() throws {
        let errors: [String: CastRTPError] = [
            "empty": .truncated, "oneByte": .truncated, "shortHeader": .truncated, "versionOne": .notRTP,
            "padded": .notRTP, "extended": .notRTP, "sources": .notRTP, "packetBeyondLast": .packetNumber,
            "lastIsAllLost": .packetNumber, "noReference": .truncated, "noExtension": .truncated,
            "extensionOverrun": .truncated, "sixtyThreeExtensions": .truncated, "delayOfThreeBytes": .playoutDelay,
        ]
        #expect(Set(StreamingVectors.all.badRTP.keys) == Set(errors.keys))
        for (name, hex) in StreamingVectors.all.badRTP {
            let error = try #require(errors[name])
            #expect(throws: error, "\(name)") { try CastRTPPacket(decoding: StreamingVectors.bytes(hex)) }
        }
        #expect(throws: CastRTPError.tooLong) {
            try CastRTPPacket(decoding: [UInt8](repeating: 0x80, count: CastRTPPacket.maximumBytes + 1))
        }
        let whole = StreamingVectors.bytes(StreamingVectors.all.unknownExtension)
        for count in whole.indices {
            let packet = try? CastRTPPacket(decoding: Array(whole.prefix(count)))
            #expect((packet == nil) == (count < whole.count - Self.payload.count), "\(count) bytes")
        }
    }

    @Test("R5 frames are cut into datagrams that fit, numbered without gaps")
    func packetizer() throws {
        var packetizer = CastFramePacketizer(payloadType: 127, ssrc: 9, firstSequence: 0xFFFE, maximumBytes: 33)
        let payload = (0..<25).map(UInt8.init)
        let frame = CastStreamFrame(id: 258, timestamp: 77, playoutDelay: 250, payload: payload)
        let cut = packetizer.packets(frame)
        let datagrams = try #require(cut)
        #expect(datagrams.map(\.count) == [33, 29, 24])
        let packets = try datagrams.map { try CastRTPPacket(decoding: $0) }
        #expect(packets.flatMap(\.payload) == payload)
        #expect(packets.map(\.sequence) == [0xFFFE, 0xFFFF, 0])
        #expect(packets.map(\.packetID) == [0, 1, 2] && packets.allSatisfy { $0.lastPacketID == 2 })
        #expect(packets.map(\.marker) == [false, false, true])
        #expect(packets.map(\.playoutDelay) == [250, nil, nil])
        #expect(packets.allSatisfy { $0.frameID == 2 && $0.referencedFrameID == 2 && $0.keyFrame })
        #expect(packets.allSatisfy { $0.timestamp == 77 && $0.ssrc == 9 && $0.payloadType == 127 })
        // Silence, as codecs write it.
        let silence = packetizer.packets(CastStreamFrame(id: 259, timestamp: 78, payload: []))
        let empty = try #require(silence)
        #expect(try empty.map { try CastRTPPacket(decoding: $0).payload } == [[]])
        let next = packetizer.takeSequence()
        #expect(next == 2)
        // Ten bytes of payload each: one more packet than can be numbered.
        let huge = [UInt8](repeating: 0, count: 655_351)
        let uncut = packetizer.packets(CastStreamFrame(id: 260, timestamp: 79, payload: huge))
        #expect(uncut == nil)
        #expect(packetizer.nextSequence == 3)
    }

    @Test("R5 a frame's number comes out of its low bits")
    func frameIDs() {
        for frame in [0, 1, 127, 128, 255, 256, 1000, 70_000] {
            let low = CastFrameID.wire(frame)
            for reference in (frame - 128)...(frame + 127) {
                #expect(CastFrameID.expand(low, near: reference) == frame, "\(frame) near \(reference)")
            }
            for limit in frame...(frame + 255) { #expect(CastFrameID.expand(low, atMost: limit) == frame) }
            for reference in (frame - 256)..<frame { #expect(CastFrameID.expand(low, after: reference) == frame) }
        }
        // Before the first frame there is a checkpoint of 255.
        #expect(CastFrameID.expand(255, atMost: 0) == -1)
        #expect(CastFrameID.expand(255, near: 0) == -1)
    }

    @Test("R5 frames are encrypted as OpenSSL's own command does it")
    func cipher() throws {
        let vectors = StreamingVectors.all.aes
        let cipher = try #require(
            CastFrameCipher(key: StreamingVectors.bytes(vectors.key), mask: StreamingVectors.bytes(vectors.mask)))
        for vector in vectors.cases {
            let (plain, secret) = (StreamingVectors.bytes(vector.plain), StreamingVectors.bytes(vector.cipher))
            #expect(cipher.crypt(plain, frame: vector.frame) == secret)
            #expect(cipher.crypt(secret, frame: vector.frame) == plain)
        }
        #expect(cipher.crypt([], frame: 1) == [])
        #expect(CastFrameCipher(key: [1], mask: cipher.mask) == nil)
        #expect(CastFrameCipher(key: cipher.key, mask: []) == nil)
        #expect(CastFrameCipher.random() != CastFrameCipher.random())
        #expect(!"\(cipher) \(String(reflecting: cipher))".contains("1, 2"))
    }
}
