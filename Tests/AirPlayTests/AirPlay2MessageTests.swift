import Testing

@testable import AirPlay

@Suite("AirPlay 2 messages")
struct AirPlay2MessageTests {
    static let peer = AirPlay2TimingPeer(
        id: "2A63E4E0-0A1F-4D5E-8B3C-2A2B2C2D2E2F", addresses: ["10.0.0.1", "fe80::1"],
        clockID: 0xF011_2233_4455_6677)

    static var session: AirPlay2SessionSetup {
        var session = AirPlay2SessionSetup(
            deviceID: "02:11:22:33:44:55", sessionUUID: "5C2F0F2E-0000-4000-8000-000000000001",
            timing: .ptp(us: peer), name: "Küche")
        session.groupUUID = "5C2F0F2E-0000-4000-8000-000000000002"
        session.groupContainsLeader = false
        session.isMultiSelect = true
        session.model = "router"
        session.osName = "Linux"
        session.osVersion = "6"
        session.osBuildVersion = "1"
        session.sourceVersion = "1.0"
        return session
    }

    static let key = (0..<32).map { UInt8($0) }
    static let lossless = AirPlayAudioFormat(.appleLossless, sampleRate: 44_100)

    /// Encodes, reads the bytes again and gives what was read.
    func again<Message: AirPlay2Message>(_ message: Message) throws -> Message { try Message(body: message.body) }

    func expectSame(_ message: some AirPlay2Message) throws { #expect(try again(message) == message) }

    @Test("A8 Every message comes back from its bytes")
    func roundTrips() throws {
        try expectSame(Self.session)
        try expectSame(AirPlay2SessionSetup(deviceID: "a", sessionUUID: "b", timing: .ntp(port: 6002)))
        try expectSame(AirPlay2SessionSetup(deviceID: "a", sessionUUID: "b", timing: .none))
        try expectSame(AirPlay2SessionAnswer(eventPort: 1, timingPort: 65_535, timingPeer: Self.peer))
        try expectSame(AirPlay2SessionAnswer())
        try expectSame(AirPlay2PeerList(["10.0.0.1", "10.0.0.2"]))
        try expectSame(AirPlay2ExtendedPeerList([Self.peer]))
        try expectSame(
            AirPlay2StreamSetup([
                .audio(.realtime(Self.lossless, key: Self.key, controlPort: 6001, connectionID: .max)),
                .audio(.buffered(AirPlayAudioFormat(.aacLC, sampleRate: 48_000), key: Self.key)),
                .data(AirPlay2DataStream(channelID: "c", clientUUID: "d", seed: .max)),
            ]))
        var stream = AirPlay2StreamAnswer.Stream(type: .buffered, id: 7, dataPort: 8, controlPort: 9)
        stream.bufferSize = 8 << 20
        stream.renderLatency = 75
        try expectSame(AirPlay2StreamAnswer([stream, .init(type: .realtime)]))
        try expectSame(
            AirPlay2RateAnchor.playing(.init(timestamp: .max, seconds: 1, fraction: .max, clockID: .max)))
        try expectSame(AirPlay2RateAnchor.paused)
        try expectSame(AirPlay2FlushBuffered(until: .init(sequence: 0x7F_FFFF, timestamp: .max)))
        try expectSame(
            AirPlay2FlushBuffered(
                from: .init(sequence: 1, timestamp: 2), until: .init(sequence: 3, timestamp: 4)))
        try expectSame(AirPlay2Feedback([.init(type: 96, sampleRate: 44_100.5), .init(type: 103)]))
        try expectSame(AirPlay2Teardown())
        try expectSame(AirPlay2Teardown(streams: [.init(type: .realtime, id: 4)]))
        try expectSame(AirPlay2AudioMode.spoken)
        try expectSame(AirPlay2Command(type: "sendMediaRemoteCommand", ["value": .string("paus")]))
        var info = AirPlay2Info(deviceID: "AA:BB:CC:DD:EE:FF", name: "Bad")
        info.model = "AudioAccessory5,1"
        info.sourceVersion = "366.0"
        info.firmware = "5.2.1"
        info.features = AirPlayFeatures(rawValue: 0x8000_0340_405F_CA00)
        info.statusFlags = [.pinRequired]
        info.publicKey = Self.key
        info.pairingIdentifier = "x"
        info.initialVolume = -15.5
        info.volumeControlType = 3
        info.realtimeFormats = AudioFormatBits(rawValue: 0x144_0800)
        info.bufferedFormats = AudioFormatBits(rawValue: 0x180_00E4_0000)
        try expectSame(info)
    }

    @Test("A8 What goes by which name")
    func names() throws {
        let list = Self.session.propertyList
        #expect(list["timingProtocol"]?.string == "PTP")
        #expect(list["timingPeerInfo"]?["ClockID"] == .integer(Int64(bitPattern: 0xF011_2233_4455_6677)))
        #expect(list["timingPeerList"]?.array == [Self.peer.propertyList])
        #expect(list["macAddress"]?.string == "02:11:22:33:44:55")
        let remote = AirPlay2SessionSetup(deviceID: "a", sessionUUID: "b", timing: .none).propertyList
        #expect(remote["isRemoteControlOnly"]?.bool == true)
        let setup = AirPlay2StreamSetup([
            .audio(.realtime(Self.lossless, key: Self.key, controlPort: 6001)),
            .audio(.buffered(AirPlayAudioFormat(.aacLC, sampleRate: 44_100), key: Self.key)),
        ])
        let streams = try #require(setup.propertyList["streams"]?.array)
        #expect(streams[0]["type"]?.integer == 96)
        #expect(streams[0]["ct"]?.integer == 2)
        #expect(streams[0]["audioFormat"]?.integer == 0x4_0000)
        #expect(streams[0]["spf"]?.integer == 352)
        #expect(streams[0]["latencyMax"]?.integer == 88_200)
        #expect(streams[0]["shk"]?.data == Self.key)
        #expect(streams[1]["type"]?.integer == 103)
        #expect(streams[1]["audioFormat"]?.integer == 0x40_0000)
        #expect(streams[1]["spf"]?.integer == 1024)
        #expect(streams[1]["latencyMax"] == nil)
        #expect(streams[1]["controlPort"] == nil)
        guard case .audio(let audio) = setup.streams[0] else { return }
        #expect(!"\(audio)".contains("1, 2, 3"))
        #expect(AirPlay2Teardown().propertyList == .dictionary([:]))
    }

    @Test("A8 Either SETUP is told by what it holds")
    func setups() throws {
        #expect(try AirPlay2Setup(body: Self.session.body) == .session(Self.session))
        let streams = AirPlay2StreamSetup([.data(AirPlay2DataStream(channelID: "c", clientUUID: "d", seed: 1))])
        #expect(try AirPlay2Setup(body: streams.body) == .streams(streams))
    }

    @Test("A8 Answers as receivers write them: negative ports, reals for integers, an order of their own")
    func lenient() throws {
        let answer = try AirPlay2SessionAnswer(
            .dictionary(["eventPort": .integer(-15_536), "timingPort": .integer(0)]))
        #expect(answer == AirPlay2SessionAnswer(eventPort: 50_000))
        let streams = try AirPlay2StreamAnswer(
            .dictionary([
                "streams": .array([
                    .dictionary([
                        "dataPort": .integer(-1), "controlPort": .real(6001), "type": .integer(96),
                        "unknown": .array([]),
                    ])
                ])
            ]))
        #expect(streams.stream(.realtime)?.dataPort == 65_535)
        #expect(streams.stream(.realtime)?.controlPort == 6001)
        #expect(streams.stream(.buffered) == nil)
        let odd = try AirPlay2Info(.dictionary(["features": .string("0x1"), "initialVolume": .real(.nan)]))
        #expect(odd == AirPlay2Info())
        #expect(try AirPlay2Feedback(body: PropertyList.dictionary([:]).encoded()).streams.isEmpty)
    }

    @Test("A8 The anchor: nanoseconds there and back, to the last of them")
    func anchor() throws {
        for nanoseconds in [0, 1, 999_999_999, 1_000_000_000, 1_700_000_000_123_456_789, .max] as [UInt64] {
            let anchor = AirPlay2RateAnchor.Anchor(timestamp: 0, nanoseconds: nanoseconds, clockID: 1)
            #expect(anchor.nanoseconds == nanoseconds)
        }
        let half = AirPlay2RateAnchor.Anchor(timestamp: 0, nanoseconds: 1_500_000_000, clockID: 1)
        #expect(half.seconds == 1)
        #expect(half.fraction >> 32 == 0x8000_0000)
        #expect(
            AirPlay2RateAnchor.Anchor(timestamp: 0, seconds: .max, fraction: 0, clockID: 1).nanoseconds == nil)
        let real = try AirPlay2RateAnchor(.dictionary(["rate": .real(0)]))
        #expect(real == .paused)
    }

    static func stream(_ fields: [String: PropertyList]) -> PropertyList {
        let whole: [String: PropertyList] = ["type": .integer(96), "shk": .data(key)]
        return .dictionary(["streams": .array([.dictionary(whole.merging(fields) { $1 })])])
    }

    static func anchorList(_ fields: [String: PropertyList]) -> PropertyList {
        let whole: [String: PropertyList] = [
            "rate": .integer(1), "rtpTime": .integer(1), "networkTimeSecs": .integer(1), "networkTimeFrac": .integer(1),
        ]
        return .dictionary(whole.merging(fields) { $1 })
    }

    struct Malformed: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var error: AirPlay2MessageError
        var read: @Sendable () throws -> any AirPlay2Message

        init(
            _ name: String, _ error: AirPlay2MessageError, _ read: @escaping @Sendable () throws -> any AirPlay2Message
        ) {
            testDescription = name
            self.error = error
            self.read = read
        }
    }

    static func sessionList(_ protocolName: String?) -> PropertyList {
        var items: [String: PropertyList] = ["deviceID": .string("a"), "sessionUUID": .string("b")]
        items["timingProtocol"] = protocolName.map { .string($0) }
        return .dictionary(items)
    }

    static func one(_ key: String, _ value: PropertyList) -> PropertyList { .dictionary([key: value]) }

    static let halfFlush = PropertyList.dictionary([
        "flushUntilSeq": .integer(1), "flushUntilTS": .integer(1), "flushFromSeq": .integer(1),
    ])
    static let empties = PropertyList.array([PropertyList](repeating: .dictionary([:]), count: 9))
    static let peers = PropertyList.array([PropertyList](repeating: peer.propertyList, count: 65))

    static let malformed: [Malformed] = [
        Malformed("setup-of-a-list", .wrongShape) { try AirPlay2Setup(.array([])) },
        Malformed("session-without-a-clock", .missing(key: "timingProtocol")) {
            try AirPlay2SessionSetup(sessionList(nil))
        },
        Malformed("session-of-a-clock-unheard-of", .outOfRange(key: "timingProtocol")) {
            try AirPlay2SessionSetup(sessionList("GPS"))
        },
        Malformed("session-answer-port-of-text", .wrongType(key: "eventPort")) {
            try AirPlay2SessionAnswer(one("eventPort", .string("7")))
        },
        Malformed("session-answer-port-too-high", .outOfRange(key: "eventPort")) {
            try AirPlay2SessionAnswer(one("eventPort", .integer(70_000)))
        },
        Malformed("stream-of-a-kind-unheard-of", .outOfRange(key: "type")) {
            try AirPlay2StreamSetup(stream(["type": .integer(97)]))
        },
        Malformed("stream-with-a-short-key", .outOfRange(key: "shk")) {
            try AirPlay2StreamSetup(stream(["shk": .data([1])]))
        },
        Malformed("stream-with-two-formats", .outOfRange(key: "audioFormat")) {
            try AirPlay2StreamSetup(stream(["audioFormat": .integer(0xC_0000)]))
        },
        Malformed("stream-whose-codec-is-another", .outOfRange(key: "ct")) {
            try AirPlay2StreamSetup(stream(["ct": .integer(4)]))
        },
        Malformed("stream-of-no-frames", .outOfRange(key: "spf")) {
            try AirPlay2StreamSetup(stream(["spf": .integer(0)]))
        },
        Malformed("streams-without-end", .tooMany(key: "streams", limit: 8)) {
            try AirPlay2StreamSetup(one("streams", empties))
        },
        Malformed("stream-answer-without-a-kind", .missing(key: "type")) {
            try AirPlay2StreamAnswer(one("streams", .array([.dictionary([:])])))
        },
        Malformed("peers-of-numbers", .wrongType(key: "SETPEERS")) { try AirPlay2PeerList(.array([.integer(1)])) },
        Malformed("peers-by-key", .wrongShape) { try AirPlay2PeerList(.dictionary([:])) },
        Malformed("peers-without-end", .tooMany(key: "SETPEERSX", limit: 64)) { try AirPlay2ExtendedPeerList(peers) },
        Malformed("peer-without-addresses", .missing(key: "Addresses")) {
            try AirPlay2TimingPeer(one("ID", .string("x")))
        },
        Malformed("anchor-at-double-speed", .outOfRange(key: "rate")) {
            try AirPlay2RateAnchor(anchorList(["rate": .integer(2)]))
        },
        Malformed("anchor-without-a-frame", .missing(key: "rtpTime")) {
            try AirPlay2RateAnchor(one("rate", .integer(1)))
        },
        Malformed("anchor-frame-of-33-bits", .outOfRange(key: "rtpTime")) {
            try AirPlay2RateAnchor(anchorList(["rtpTime": .integer(1 << 32)]))
        },
        Malformed("flush-of-nothing", .missing(key: "flushUntilSeq")) { try AirPlay2FlushBuffered(.dictionary([:])) },
        Malformed("flush-from-half-a-point", .missing(key: "flushFromTS")) { try AirPlay2FlushBuffered(halfFlush) },
        Malformed("teardown-of-text", .wrongType(key: "streams")) {
            try AirPlay2Teardown(one("streams", .string("all")))
        },
        Malformed("command-without-a-type", .missing(key: "type")) {
            try AirPlay2Command(one("value", .string("play")))
        },
        Malformed("no-list-at-all", .notAPropertyList(.malformed)) { try AirPlay2Command(body: [1, 2, 3]) },
        Malformed("nothing", .notAPropertyList(.malformed)) { try AirPlay2Teardown(body: []) },
    ]

    @Test("A8 Malformed requests and answers, each with what is wrong", arguments: malformed)
    func refused(_ malformed: Malformed) {
        #expect(throws: malformed.error) { try malformed.read() }
    }
}
