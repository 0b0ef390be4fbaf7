import Testing

@testable import AirPlay

@Suite("Packets and clock of a stream")
struct RAOPPacketizerTests {
    @Test("Numbers without gaps, over their wraps; the marker on the first of a run")
    func numbers() {
        var packetizer = RAOPPacketizer(ssrc: 3, firstSequence: 65_535, firstTimestamp: .max - 100)
        let start = packetizer.nextTimestamp
        packetizer.begin(at: start)
        let first = packetizer.packet([1, 2], at: start)
        #expect(
            first.bytes == RTPAudioHeader(marker: true, sequence: 65_535, timestamp: .max - 100, ssrc: 3).encoded() + [
                1, 2,
            ])
        let second = packetizer.packet([], at: start + 352)
        #expect(
            RTPAudioHeader(decoding: second.bytes)
                == RTPAudioHeader(marker: false, sequence: 0, timestamp: 251, ssrc: 3))
        #expect(packetizer.next == RTPInfo(sequence: 1, timestamp: 603))
    }

    @Test("What was not sent gives its numbers back, and time never goes back beyond what was sent")
    func rewind() {
        var packetizer = RAOPPacketizer(ssrc: 0, firstSequence: 10, firstTimestamp: 1000)
        for index in 0..<5 { _ = packetizer.packet([], at: 1000 + Int64(index) * 352) }
        packetizer.rewind(2)
        #expect(packetizer.next == RTPInfo(sequence: 13, timestamp: 1000 + 3 * 352))
        packetizer.begin(at: 500)
        #expect(packetizer.nextTimestamp == 1000 + 3 * 352)
        packetizer.begin(at: 90_000)
        let packet = packetizer.packet([], at: 90_000)
        #expect(RTPAudioHeader(decoding: packet.bytes)?.marker == true)
        #expect(packet.sequence == 13)
    }

    @Test("Instants and timestamps agree, after days and before the start")
    func clock() {
        let clock = RAOPStreamClock(instant: 5_000_000_000, timestamp: 700)
        for frames in [0, 1, 352, 44_100, 44_100 * 86_400 * 30 + 1, -1, -44_101] as [Int64] {
            let instant = clock.instant(of: 700 + frames)
            #expect(abs(clock.timestamp(at: instant) - (700 + frames)) <= 1)
            #expect(clock.timestamp(at: instant + 30_000) >= 700 + frames)
        }
        #expect(clock.timestamp(at: 6_000_000_000) == 700 + 44_100)
        #expect(clock.timestamp(at: 4_999_999_999) == 699)
    }

    @Test("A sync packet says the same line through time, whenever it is made")
    func sync() {
        let clock = RAOPStreamClock(instant: 5_000_000_000, timestamp: 1_000_000)
        for now in stride(from: Int64(3_000_000_000), to: 9_000_000_000, by: 123_456_789) {
            let sync = clock.sync(at: now, first: false, lead: 88_200, audioLatency: 11_025)
            #expect(sync.next &- sync.playing == 77_175)
            // The frame that the receiver will hear at the packet's time, less what it adds by itself.
            let heard = Int64(sync.playing) - 11_025
            #expect(abs(clock.instant(of: heard) - sync.time.nanoseconds) <= 1)
            #expect(sync.time.nanoseconds <= now && now - sync.time.nanoseconds < 30_000)
        }
    }

    @Test(
        "What a record says is taken, and what it leaves out",
        arguments: [
            (
                ["et": "0,1", "cn": "0,1"], RAOPEncryptionChoice.unencrypted, RAOPAdvertisement.Codec.appleLossless,
                false
            ),
            (["et": "1", "cn": "0"], .rsa, .pcm, false), (["et": "0,4"], .unencrypted, .appleLossless, true),
            (["et": "4"], .unencrypted, .appleLossless, true), (["et": "3,5"], nil, .appleLossless, false),
            (["cn": "2,3"], .unencrypted, nil, false), ([:], .unencrypted, .appleLossless, false),
        ] as [([String: String], RAOPEncryptionChoice?, RAOPAdvertisement.Codec?, Bool)])
    func advertisement(
        txt: [String: String], encryption: RAOPEncryptionChoice?, codec: RAOPAdvertisement.Codec?, authSetup: Bool
    ) {
        let advertisement = RAOPAdvertisement(txt: txt)
        #expect(advertisement.encryption == encryption)
        #expect(advertisement.codec == codec)
        #expect(advertisement.needsAuthSetup == authSetup)
        #expect(advertisement.metadataKinds.isEmpty)
        #expect(RAOPAdvertisement(txt: [:], stated: true).metadataKinds.count == 3)
    }

    @Test("Feature bits in all their writings")
    func features() {
        let features = AirPlayFeatures(text: "0x405FCA00,0x18340")
        #expect(features == AirPlayFeatures(extendedText: "AMpfQECDAQA"))
        #expect(features?.supportsAirPlay2 == true)
        #expect(features?.contains(.ptp) == true)
        #expect(AirPlayFeatures(text: "0x444F8A00")?.supportsAirPlay2 == false)
        #expect(AirPlayFeatures(text: "0x1,0x2,0x3") == nil)
        #expect(AirPlayFeatures(text: "0x100000000,0x0") == nil)
        #expect(AirPlayFeatures(text: "") == nil)
        #expect(AirPlayStatusFlags(text: "0x84") == [.passwordRequired, AirPlayStatusFlags(rawValue: 4)])
    }
}
