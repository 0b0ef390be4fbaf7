import Testing

@testable import AirPlay

@Suite("Packets, DMAP and SDP")
struct PacketLayoutTests {
    @Test("Layouts, byte by byte, and back")
    func layouts() {
        let header = RTPAudioHeader(marker: true, sequence: 0x1234, timestamp: 0x5678_9ABC, ssrc: 0xDEF0_1122)
        #expect(header.encoded() == bytes(hex: "80E0 1234 56789ABC DEF01122"))
        #expect(RTPAudioHeader(decoding: header.encoded()) == header)
        #expect(RTPAudioHeader(marker: false, sequence: 0, timestamp: 0, ssrc: 0).encoded()[1] == 0x60)

        let time = NTPTime(rawValue: 0x83AA_7E80_4000_0000)
        let sync = RAOPSyncPacket(first: true, playing: 1, time: time, next: 0x0001_5889)
        #expect(sync.encoded() == bytes(hex: "90D40007 00000001 83AA7E80 40000000 00015889"))
        #expect(RAOPSyncPacket(decoding: sync.encoded()) == sync)
        #expect(RAOPSyncPacket(first: false, playing: 1, time: time, next: 2).encoded()[0] == 0x80)

        let question = RAOPTimingPacket(
            kind: .request, origin: NTPTime(rawValue: 0), receive: NTPTime(rawValue: 0), transmit: time)
        #expect(
            question.encoded()
                == bytes(hex: "80D20007 00000000 0000000000000000 0000000000000000 83AA7E8040000000"))
        let reply = question.reply(received: NTPTime(rawValue: 5), transmitted: NTPTime(rawValue: 6))
        #expect(
            reply.encoded() == bytes(hex: "80D30007 00000000 83AA7E8040000000 0000000000000005 0000000000000006"))
        #expect(RAOPTimingPacket(decoding: reply.encoded()) == reply)

        let resend = RAOPResendRequest(firstSequence: 0xFFFF, count: 3)
        #expect(resend.encoded() == bytes(hex: "80D50001 FFFF0003"))
        #expect(RAOPResendRequest(decoding: resend.encoded()) == resend)
        #expect(RAOPResendRequest(decoding: bytes(hex: "80D50001 00070000"))?.count == 1)
        let answer = RAOPResendAnswer(sequence: 0x1234, packet: header.encoded() + [9])
        #expect(answer.encoded() == bytes(hex: "80D61234 80E0 1234 56789ABC DEF01122 09"))
        #expect(RAOPResendAnswer(decoding: answer.encoded()) == answer)
    }

    @Test("Cut short by any number of bytes, a packet is none")
    func truncated() {
        for length in 0..<12 { #expect(RTPAudioHeader(decoding: [UInt8](repeating: 0x80, count: length)) == nil) }
        let sync = RAOPSyncPacket(first: true, playing: 1, time: NTPTime(rawValue: 9), next: 2).encoded()
        for length in 0..<20 { #expect(RAOPSyncPacket(decoding: sync.prefix(length)) == nil) }
        for length in 0..<32 {
            let packet = bytes(hex: "80D2") + [UInt8](repeating: 0, count: 30)
            #expect(RAOPTimingPacket(decoding: packet.prefix(length)) == nil)
        }
        for length in 0..<8 {
            #expect(RAOPResendRequest(decoding: bytes(hex: "80D5000100070001").prefix(length)) == nil)
        }
        #expect(RAOPSyncPacket(decoding: bytes(hex: "80D5") + sync.dropFirst(2)) == nil)
        #expect(RAOPTimingPacket(decoding: bytes(hex: "80D4") + [UInt8](repeating: 0, count: 30)) == nil)
    }

    @Test("NTP time keeps nanoseconds", arguments: [0, 1, 999_999_999, 1_000_000_000, 86_400_123_456_789] as [Int64])
    func ntp(nanoseconds: Int64) {
        #expect(abs(NTPTime(nanoseconds: nanoseconds).nanoseconds - nanoseconds) <= 1)
        #expect(NTPTime(nanoseconds: 500_000_000).rawValue & 0xFFFF_FFFF == 0x8000_0000)
    }

    @Test("DMAP: a track's titles, byte by byte, and back")
    func dmap() throws {
        var track = RAOPTrackMetadata(persistentID: 0x1_0000_0002)
        track.title = "Tü"
        track.trackNumber = 300
        let encoded = track.item.encoded()
        let expected =
            bytes(hex: "6D6C6974 0000004F 6D696B64 00000001 02 6D696964 00000004 00000002")
            + bytes(hex: "6D706572 00000008 0000000100000002 6D696E6D 00000003 54C3BC")
            + bytes(hex: "61736172 00000000 6173616C 00000000 6173746E 00000002 012C")
        #expect(encoded.dropFirst(8) == expected.dropFirst(8))
        #expect(encoded.prefix(4) == expected.prefix(4))
        let items = try DMAPDecoder().decode(encoded)
        #expect(items.count == 1)
        #expect(items[0]["minm"]?.text == "Tü")
        #expect(items[0]["mper"]?.number == 0x1_0000_0002)
        #expect(items == [track.item])
    }

    @Test("DMAP that isn't, and DMAP without end")
    func malformedDMAP() {
        let decoder = DMAPDecoder(limits: .init(bytes: 200, depth: 3, items: 5))
        #expect(throws: DMAPDecodingError.truncated) { try decoder.decode(bytes(hex: "6D696E6D 0000000F 00")) }
        #expect(throws: DMAPDecodingError.truncated) { try decoder.decode(bytes(hex: "6D696E6D FFFFFFFF 00")) }
        #expect(throws: DMAPDecodingError.truncated) { try decoder.decode([0x6D]) }
        #expect(throws: DMAPDecodingError.malformedTag) { try decoder.decode(bytes(hex: "01020304 00000000")) }
        #expect(throws: DMAPDecodingError.tooLong(limit: 200)) { try decoder.decode([UInt8](repeating: 1, count: 201)) }
        var nested = DMAPItem("mlit", [DMAPItem]())
        for _ in 0..<4 { nested = DMAPItem("mlit", [nested]) }
        #expect(throws: DMAPDecodingError.tooDeep(limit: 3)) { try decoder.decode(nested.encoded()) }
        let many = DMAPItem("mlit", (0..<6).map { DMAPItem("minm", "\($0)") })
        #expect(throws: DMAPDecodingError.tooManyItems(limit: 5)) { try decoder.decode(many.encoded()) }
    }

    @Test("SDP: Apple Lossless, PCM without fmtp, a key, IPv6")
    func sdp() throws {
        let plain = RAOPSessionDescription(
            sessionID: 77, senderAddress: "10.0.0.1", receiverAddress: "10.0.0.2", codec: .appleLossless(.init()),
            minimumLatency: 11025)
        let text = String(decoding: plain.encoded(), as: UTF8.self)
        #expect(
            text
                == "v=0\r\no=iTunes 77 0 IN IP4 10.0.0.1\r\ns=iTunes\r\nc=IN IP4 10.0.0.2\r\nt=0 0\r\n"
                + "m=audio 0 RTP/AVP 96\r\na=rtpmap:96 AppleLossless\r\n"
                + "a=fmtp:96 352 0 16 40 10 14 2 255 0 0 44100\r\na=min-latency:11025\r\n")
        #expect(try RAOPSessionDescription(parsing: plain.encoded()) == plain)
        let secret = RAOPSessionDescription(
            sessionID: 1, senderAddress: "fe80::1", receiverAddress: "fe80::2",
            codec: .l16(sampleRate: 44_100, channels: 2),
            encryption: .init(encryptedKey: [1, 2, 3, 4], initialVector: [UInt8](repeating: 7, count: 16)))
        let lines = String(decoding: secret.encoded(), as: UTF8.self)
        #expect(!lines.contains("fmtp"))
        #expect(lines.contains("IN IP6 fe80::1"))
        #expect(lines.contains("a=rsaaeskey:AQIDBA\r\n"))
        #expect(!lines.contains("=\r"))
        #expect(try RAOPSessionDescription(parsing: secret.encoded()) == secret)
    }

    @Test(
        "SDP that isn't",
        arguments: [
            ("empty", "", .missingRTPMap),
            ("other-codec", "a=rtpmap:96 opus/48000\r\n", .unsupportedCodec("opus/48000")),
            ("alac-without-fmtp", "a=rtpmap:96 AppleLossless\r\n", .malformedFormat),
            ("fmtp-of-words", "a=rtpmap:96 AppleLossless\r\na=fmtp:96 a b c\r\n", .malformedFormat),
            (
                "fmtp-of-giants", "a=rtpmap:96 AppleLossless\r\na=fmtp:96 999999999 0 16 40 10 14 2 255 0 0 44100\r\n",
                .malformedFormat
            ),
            ("key-without-vector", "a=rtpmap:96 L16/44100/2\r\na=rsaaeskey:AQID\r\n", .malformedEncryption),
            ("vector-too-short", "a=rtpmap:96 L16\r\na=rsaaeskey:AQID\r\na=aesiv:AQID\r\n", .malformedEncryption),
        ] as [(String, String, SDPDecodingError)])
    func malformedSDP(name: String, text: String, error: SDPDecodingError) {
        #expect(throws: error) { try RAOPSessionDescription(parsing: Array(text.utf8)) }
    }

    @Test("Silence that needs no encoder")
    func silence() {
        let alac = RAOPSilence.payload(.appleLossless(.init()), frames: 352)
        #expect(alac.count == (23 + 352 * 32 + 3 + 7) / 8)
        #expect(Array(alac.prefix(3)) == [0x20, 0x00, 0x02])
        // 23 bits of header and the samples end one bit before a whole byte; the end tag 111 goes over.
        #expect(alac.suffix(2) == [0x01, 0xC0])
        #expect(RAOPSilence.payload(.l16(sampleRate: 44_100, channels: 2), frames: 352).count == 1408)
    }
}
