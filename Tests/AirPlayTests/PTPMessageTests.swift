import Testing

@testable import AirPlay

@Suite("PTP messages")
struct PTPMessageTests {
    static let master = PTPPortIdentity(clockID: 0x0102_0304_0506_0708, port: 0x8005)
    static let slave = PTPPortIdentity(clockID: 0x1112_1314_1516_1718, port: 1)
    static let time = PTPTimestamp(nanosecondsSinceEpoch: 0x1_0000_0002 * 1_000_000_000 + 999_999_999)

    /// One message of each kind with its bytes.
    static let samples: [(name: String, message: PTPMessage, hex: String)] = [
        (
            "announce",
            PTPMessage(
                PTPHeader(source: master, sequence: 7, flags: [.unicast, .ptpTimescale], logInterval: 0),
                .announce(PTPAnnounce(grandmasterID: master.clockID, quality: .airPlaySender)),
                tlvs: [.pathTrace([master.clockID])]),
            "1B02 004C 00 00 0408 0000000000000000 00000000 0102030405060708 8005 0007 00 00"
                + "00000000000000000000 0000 00 80 06 21 436A 80 0102030405060708 0000 20"
                + "0008 0008 0102030405060708"
        ),
        (
            "sync",
            PTPMessage(
                PTPHeader(
                    source: master, sequence: 0xFFFF, flags: [.unicast, .ptpTimescale, .twoStep], logInterval: -3),
                .sync(origin: .zero)),
            "1002 002C 00 00 0608 0000000000000000 00000000 0102030405060708 8005 FFFF 00 FD 00000000000000000000"
        ),
        (
            "follow-up",
            PTPMessage(
                PTPHeader(
                    source: master, sequence: 1, flags: [.unicast, .ptpTimescale], logInterval: -3,
                    correction: 0x10000),
                .followUp(preciseOrigin: time),
                tlvs: [
                    .followUpInformation(PTPFollowUpInformation()),
                    .appleClock(PTPPortIdentity(clockID: master.clockID, port: 0)),
                ]),
            "1802 0060 00 00 0408 0000000000010000 00000000 0102030405060708 8005 0001 00 FD 0001 00000002 3B9AC9FF"
                + "0003 001C 0080C2 000001 00000000 0000 000000000000000000000000 00000000"
                + "0003 0010 000D93 000004 0102030405060708 0000"
        ),
        (
            "delay-request",
            PTPMessage(
                PTPHeader(source: slave, sequence: 2, control: 1), .delayRequest(origin: .zero)),
            "1102 002C 00 00 0000 0000000000000000 00000000 1112131415161718 0001 0002 01 7F 00000000000000000000"
        ),
        (
            "delay-response",
            PTPMessage(
                PTPHeader(source: master, sequence: 2, flags: .unicast, logInterval: -3),
                .delayResponse(received: time, requester: slave)),
            "1902 0036 00 00 0400 0000000000000000 00000000 0102030405060708 8005 0002 00 FD 0001 00000002 3B9AC9FF"
                + "1112131415161718 0001"
        ),
        (
            "peer-delay-request",
            PTPMessage(PTPHeader(source: slave, sequence: 3), .peerDelayRequest(origin: .zero)),
            "1202 0036 00 00 0000 0000000000000000 00000000 1112131415161718 0001 0003 00 7F 00000000000000000000"
                + "00000000000000000000"
        ),
        (
            "peer-delay-response",
            PTPMessage(
                PTPHeader(source: master, sequence: 3, flags: .twoStep),
                .peerDelayResponse(received: time, requester: slave)),
            "1302 0036 00 00 0200 0000000000000000 00000000 0102030405060708 8005 0003 00 7F 0001 00000002 3B9AC9FF"
                + "1112131415161718 0001"
        ),
        (
            "peer-delay-follow-up",
            PTPMessage(
                PTPHeader(source: master, sequence: 3), .peerDelayFollowUp(sent: time, requester: slave)),
            "1A02 0036 00 00 0000 0000000000000000 00000000 0102030405060708 8005 0003 00 7F 0001 00000002 3B9AC9FF"
                + "1112131415161718 0001"
        ),
        (
            "signaling",
            PTPMessage(
                PTPHeader(source: slave, sequence: 4, control: 5), .signaling(target: .all),
                tlvs: [
                    .requestUnicast(.announce, logInterval: 0, seconds: 300),
                    .grantUnicast(.sync, logInterval: -3, seconds: 0x1_0000, renewable: true),
                    .cancelUnicast(.delayResponse), .acknowledgeCancelUnicast(.announce),
                    .other(type: 0x0003, value: [0, 0x80, 0xC2, 0, 0, 2, 9]),
                ]),
            "1C02 0059 00 00 0000 0000000000000000 00000000 1112131415161718 0001 0004 05 7F FFFFFFFFFFFFFFFF FFFF"
                + "0004 0006 B0 00 0000012C 0005 0008 00 FD 00010000 00 01 0006 0002 90 00 0007 0002 B0 00"
                + "0003 0007 0080C2 000002 09"
        ),
    ]

    @Test("Layouts, byte by byte, and back", arguments: samples.map(\.name))
    func layouts(name: String) throws {
        let (_, message, hex) = try #require(Self.samples.first { $0.name == name })
        #expect(message.encoded() == bytes(hex: hex))
        #expect(try PTPMessage(decoding: bytes(hex: hex)) == message)
        // Padding behind the stated length, as some have it with IPv6.
        #expect(try PTPMessage(decoding: bytes(hex: hex) + [0, 0]) == message)
    }

    @Test("Cut short by any number of bytes, a message is none", arguments: samples.map(\.name))
    func truncated(name: String) throws {
        let (_, message, _) = try #require(Self.samples.first { $0.name == name })
        let whole = message.encoded()
        for length in 0..<whole.count {
            #expect(throws: PTPDecodingError.self) { try PTPMessage(decoding: whole.prefix(length)) }
            // And with a length that fits what is left: no byte beyond it is read.
            guard length >= PTPHeader.byteCount else { continue }
            var shorter = Array(whole.prefix(length))
            shorter[2] = UInt8(length >> 8)
            shorter[3] = UInt8(length & 0xFF)
            if let decoded = try? PTPMessage(decoding: shorter) {
                #expect(decoded.tlvs.count < message.tlvs.count)
            }
        }
    }

    @Test("Any byte changed to any value: a message or an error, never a crash", arguments: samples.map(\.name))
    func mutated(name: String) throws {
        let (_, message, _) = try #require(Self.samples.first { $0.name == name })
        let whole = message.encoded()
        for index in whole.indices {
            for value in [0x00, 0x01, 0x7F, 0x80, 0xFF] as [UInt8] {
                var bytes = whole
                bytes[index] = value
                // Whatever is understood can be written and read again.
                if let decoded = try? PTPMessage(decoding: bytes) {
                    #expect(try PTPMessage(decoding: decoded.encoded()) == decoded)
                }
            }
        }
    }

    private static let header = "0408 0000000000000000 00000000 0102030405060708 8005 0007 00 00"
    private static let zeroTime = "00000000000000000000"

    @Test(
        "Named malformed messages",
        arguments: [
            ("empty", "", .truncated),
            ("header-only", "1002 0022 00 00" + header, .truncated),
            ("version-1", "1001 002C 00 00" + header + zeroTime, .unsupportedVersion(1)),
            ("management", "1D02 0030 00 00" + header + "FFFFFFFFFFFFFFFF FFFF 00000000", .unsupportedKind(0xD)),
            ("reserved-kind", "1402 002C 00 00" + header + zeroTime, .unsupportedKind(4)),
            ("length-of-nothing", "1002 0000 00 00" + header + zeroTime, .wrongLength(stated: 0)),
            ("length-beyond", "1002 002D 00 00" + header + zeroTime, .wrongLength(stated: 45)),
            ("length-of-giants", "1002 FFFF 00 00" + header + zeroTime, .wrongLength(stated: 65535)),
            ("a-second-of-nanoseconds", "1002 002C 00 00" + header + "0000 00000000 3B9ACA00", .malformedTimestamp),
            ("tlv-beyond", "1002 0032 00 00" + header + zeroTime + "0008 0008 0102", .truncatedTLV),
            ("tlv-half-a-head", "1002 002E 00 00" + header + zeroTime + "0008", .truncatedTLV),
            (
                "path-of-half-clocks", "1002 0034 00 00" + header + zeroTime + "0008 0004 01020304",
                .malformedTLV(type: 8)
            ),
            (
                "organization-without-subtype", "1002 0034 00 00" + header + zeroTime + "0003 0004 000D9300",
                .malformedTLV(type: 3)
            ),
            (
                "apple-clock-too-short", "1002 003A 00 00" + header + zeroTime + "0003 000A 000D93 000004 01020304",
                .malformedTLV(type: 3)
            ),
            (
                "request-too-short", "1C02 0034 00 00" + header + "FFFFFFFFFFFFFFFF FFFF" + "0004 0004 B0000000",
                .malformedTLV(type: 4)
            ),
            (
                "grant-of-no-kind",
                "1C02 0038 00 00" + header + "FFFFFFFFFFFFFFFF FFFF" + "0005 0008 F000000000000001",
                .malformedTLV(type: 5)
            ),
        ] as [(String, String, PTPDecodingError)])
    func malformed(name: String, hex: String, error: PTPDecodingError) {
        #expect(throws: error) { try PTPMessage(decoding: bytes(hex: hex)) }
    }

    @Test("Too long, and too many TLVs")
    func limits() {
        let sync = PTPMessage(PTPHeader(source: Self.master, sequence: 1), .sync(origin: .zero)).encoded()
        let long = sync + [UInt8](repeating: 0, count: PTPMessage.maximumByteCount + 1 - sync.count)
        #expect(throws: PTPDecodingError.tooLong(limit: 1500)) { try PTPMessage(decoding: long) }
        let many = PTPMessage(
            PTPHeader(source: Self.master, sequence: 1), .sync(origin: .zero),
            tlvs: [PTPTLV](repeating: .other(type: 0x7F00, value: []), count: 17))
        #expect(throws: PTPDecodingError.tooManyTLVs(limit: 16)) { try PTPMessage(decoding: many.encoded()) }
    }

    @Test("Times are 48 bits of seconds; what 64 bits of nanoseconds cannot hold is none")
    func times() {
        #expect(PTPTimestamp(nanosecondsSinceEpoch: .max).nanosecondsSinceEpoch == .max)
        #expect(PTPTimestamp(seconds: 18_446_744_074, nanoseconds: 0).nanosecondsSinceEpoch == nil)
        #expect(PTPTimestamp(seconds: 0xFFFF_FFFF_FFFF, nanoseconds: 999_999_999).nanosecondsSinceEpoch == nil)
        #expect(Self.time.seconds == 0x1_0000_0002)
        #expect(Self.time.nanoseconds == 999_999_999)
    }
}
