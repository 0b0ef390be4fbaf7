import Testing

@testable import AirPlay

@Suite("AirPlay 2 packets")
struct AirPlay2PacketTests {
    static let key = (0..<32).map { UInt8($0) }
    static let cipher = AirPlay2AudioCipher(key: key)

    @Test("A8 Sealed audio as an independent implementation makes it, and back")
    func vectors() throws {
        let vectors = try Vectors.load().audio
        #expect(vectors.count == 3)
        for vector in vectors {
            let cipher = AirPlay2AudioCipher(key: bytes(hex: vector.key))
            let packet = cipher.seal(bytes(hex: vector.plain), header: bytes(hex: vector.header), number: vector.number)
            #expect(packet == bytes(hex: vector.packet))
            #expect(cipher.open(packet) == bytes(hex: vector.plain))
        }
    }

    @Test("A8 What is too short, or changed in header, payload, tag or nonce, is not opened")
    func refused() {
        let packet = Self.cipher.seal(
            [1, 2, 3], header: RTPAudioHeader(marker: true, sequence: 1, timestamp: 2, ssrc: 3).encoded(), number: 1)
        for count in 0..<packet.count { #expect(Self.cipher.open(Array(packet.prefix(count))) == nil) }
        // Of the header, timestamp and SSRC are authenticated; the sequence number is in the nonce.
        for index in 4..<packet.count {
            var changed = packet
            changed[index] ^= 0x80
            #expect(Self.cipher.open(changed) == nil)
        }
        #expect(AirPlay2AudioCipher(key: [UInt8](repeating: 0, count: 32)).open(packet) == nil)
        #expect("\(Self.cipher)" == "AirPlay2AudioCipher(••••)")
    }

    @Test("A8 Realtime packets: marker once, numbers on, and no nonce twice when they wrap")
    func realtime() {
        var packetizer = AirPlay2Packetizer(
            cipher: Self.cipher, ssrc: 0, firstSequence: 65_534, firstTimestamp: 4_294_967_000)
        packetizer.begin(at: 4_294_967_100)
        #expect(packetizer.next == RTPInfo(sequence: 65_534, timestamp: 4_294_967_100))
        var nonces: Set<[UInt8]> = []
        for index in 0..<4 {
            let packet = packetizer.packet([9], at: 4_294_967_100 + Int64(index) * 352)
            let header = RTPAudioHeader(decoding: packet.bytes)
            #expect(header?.marker == (index == 0))
            #expect(header?.sequence == 65_534 &+ UInt16(index))
            #expect(header?.timestamp == 4_294_967_100 &+ UInt32(index) &* 352)
            #expect(packet.sequence == header?.sequence)
            #expect(Self.cipher.open(packet.bytes) == [9])
            nonces.insert(Array(packet.bytes.suffix(8)))
        }
        #expect(nonces.count == 4)
        #expect(nonces.contains([1, 0, 1, 0, 0, 0, 0, 0]))
        packetizer.rewind(2)
        #expect(packetizer.next == RTPInfo(sequence: 0, timestamp: UInt32(truncatingIfNeeded: 4_294_967_100 + 704)))
    }

    @Test("A8 Sync packets by PTP, byte by byte; the frame heard is the one the clock says")
    func sync() {
        let packet = AirPlayPTPSyncPacket(
            first: true, timestamp: 0x0102_0304, time: 0x1112_1314_1516_1718, next: 0x2122_2324,
            clockID: 0x3132_3334_3536_3738)
        #expect(
            packet.encoded() == bytes(hex: "90D70006 01020304 1112131415161718 21222324 3132333435363738"))
        #expect(AirPlayPTPSyncPacket(decoding: packet.encoded()) == packet)
        for count in 0..<AirPlayPTPSyncPacket.byteCount {
            #expect(AirPlayPTPSyncPacket(decoding: packet.encoded().prefix(count)) == nil)
        }
        #expect(AirPlayPTPSyncPacket(decoding: bytes(hex: "90D40006") + packet.encoded().dropFirst(4)) == nil)

        let clock = RAOPStreamClock(instant: 5_000_000_000, timestamp: 1_000_000, sampleRate: 44_100)
        let sync = clock.ptpSync(at: 6_000_000_010, first: false, lead: 88_200, clockID: 9) { UInt64($0) + 100 }
        #expect(sync.heard == 1_044_100)
        #expect(sync.time == 6_000_000_100)
        #expect(sync.timestamp == 1_055_135)
        #expect(sync.next &- sync.timestamp == 77_175)
        #expect(sync.encoded()[0] == 0x80)
    }

    @Test(
        "A8 Buffered packets: 23 bits of sequence, the codec's word, and any cut of the bytes", arguments: [1, 7, 4096])
    func buffered(size: Int) throws {
        let format = AirPlayAudioFormat(.aacLC, sampleRate: 44_100)
        var packetizer = BufferedAudioPacketizer(
            cipher: Self.cipher, ssrc: try #require(format.codecWord), firstSequence: 0x7F_FFFE)
        let payloads: [[UInt8]] = [[1], [], (0..<500).map { UInt8(truncatingIfNeeded: $0) }]
        let wire = payloads.enumerated().flatMap { packetizer.packet($1, timestamp: UInt32($0) * 1024) }
        #expect(Array(wire.prefix(14)) == bytes(hex: "0027 80FFFFFE 00000000 16000000"))
        var held: [UInt8] = []
        var seen: [BufferedAudioPacket] = []
        for start in stride(from: 0, to: wire.count, by: size) {
            held += wire[start..<min(wire.count, start + size)]
            while let (packet, used) = try BufferedAudioPacket.decode(held[...]) {
                seen.append(packet)
                held.removeFirst(used)
            }
        }
        #expect(held.isEmpty)
        #expect(seen.map(\.sequence) == [0x7F_FFFE, 0x7F_FFFF, 0])
        #expect(seen.map(\.timestamp) == [0, 1024, 2048])
        #expect(seen.map { Self.cipher.open($0.sealed) } == payloads)
        #expect(AirPlayAudioFormat(codecWord: seen[0].ssrc) == format)
    }

    @Test(
        "A8 Malformed buffered streams",
        arguments: [
            ("length-of-zero", "0000", .tooShort(0)), ("no-room-for-a-tag", "0025", .tooShort(37)),
            ("not-version-2", "0026 40800000" + String(repeating: "00", count: 32), .notAudio),
        ] as [(String, String, BufferedAudioError)])
    func malformed(name: String, text: String, error: BufferedAudioError) {
        #expect(throws: error) { try BufferedAudioPacket.decode(bytes(hex: text)[...]) }
    }

    @Test("A8 Formats: bits, codec words, and the choice that keeps most")
    func formats() {
        // shairport-sync 5.2.1.
        let realtime = AudioFormatBits(rawValue: 0x144_0800)
        #expect(realtime.formats.map(\.codec) == [.pcm, .appleLossless, .aacLC, .aacELD])
        #expect(
            realtime.choice(.appleLossless, sampleRate: 48_000, bitDepth: 24)
                == AirPlayAudioFormat(.appleLossless, sampleRate: 44_100))
        let all = AudioFormatBits(rawValue: 0x3C_0000)
        #expect(
            all.choice(.appleLossless, sampleRate: 48_000, bitDepth: 16)
                == AirPlayAudioFormat(.appleLossless, sampleRate: 48_000))
        #expect(
            all.choice(.appleLossless, sampleRate: 44_100, bitDepth: 24)
                == AirPlayAudioFormat(.appleLossless, sampleRate: 44_100, bitDepth: 24))
        #expect(all.choice(.aacLC, sampleRate: 44_100) == nil)
        #expect(AudioFormatBits(rawValue: 0x180_0000_0000).formats.isEmpty)
        for format in AudioFormatBits(rawValue: 0x3FF_FC00).formats {
            #expect(AudioFormatBits(format).formats == [format])
        }
        #expect(AirPlayAudioFormat(.aacLC, sampleRate: 48_000).codecWord == 0x1700_0000)
        #expect(AirPlayAudioFormat(.pcm, sampleRate: 44_100).codecWord == nil)
        #expect(AirPlayAudioFormat(codecWord: 0) == nil)
    }
}
