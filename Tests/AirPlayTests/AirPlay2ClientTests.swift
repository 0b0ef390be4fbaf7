import HomeKitPairing
import NIOCore
import NIOPosix
import RouterTestKit
import Synchronization
import Testing

@testable import AirPlay

@Suite("AirPlay 2 sessions")
struct AirPlay2ClientTests {
    typealias Receiver = AirPlay2ScriptedReceiver

    static let secret = [UInt8](repeating: 3, count: 64)
    static let info: AirPlay2Info = {
        var info = AirPlay2Info(deviceID: "AA:BB:CC:DD:EE:FF", name: "Room")
        info.initialVolume = -20
        return info
    }()

    static func list(_ message: some AirPlay2Message) -> RTSPResponse {
        RTSPResponse(headers: ["Content-Type": PropertyList.contentType], body: message.body)
    }

    /// What a receiver that lets everybody in says.
    static func usual(_ request: RTSPRequest, eventPort: Int? = nil) -> Receiver.Answer {
        switch (request.method, request.uri) {
        case ("GET", "/info"): return Receiver.Answer(list(info))
        case ("POST", "/pair-setup"): return Receiver.Answer(RTSPResponse(body: [1, 2]), keys: .control(secret))
        case ("SETUP", _):
            guard let setup = try? AirPlay2Setup(body: request.body) else {
                return Receiver.Answer(RTSPResponse(status: 400, reason: "Bad Request"))
            }
            switch setup {
            case .session: return Receiver.Answer(list(AirPlay2SessionAnswer(eventPort: eventPort)))
            case .streams:
                return Receiver.Answer(
                    list(AirPlay2StreamAnswer([.init(type: .realtime, id: 5, dataPort: 6001, controlPort: 6002)])))
            }
        case ("RECORD", _): return Receiver.Answer(RTSPResponse(headers: ["Audio-Latency": "100"]))
        case ("GET_PARAMETER", _): return Receiver.Answer(RTSPResponse(body: TextParameters.volume(-11).body))
        default: return Receiver.Answer()
        }
    }

    static func options(
        recordsFirst: Bool = true, spelling: RTSPSpelling = .rtsp,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in }
    ) -> AirPlay2Client.Options {
        AirPlay2Client.Options(
            clientName: "test", dacpID: "00000000000000AB", activeRemote: 5, spelling: spelling,
            recordsFirst: recordsFirst, sleep: sleep)
    }

    static func client(_ port: Int, _ options: AirPlay2Client.Options = options()) async throws -> AirPlay2Client {
        let connection = try await RTSPConnection.connect(host: "127.0.0.1", port: port, password: nil)
        return try await AirPlay2Client.introduce(on: connection, options: options)
    }

    static let session = AirPlay2SessionSetup(deviceID: "02:00:00:00:00:01", sessionUUID: "u", timing: .ntp(port: 6003))
    static let stream = AirPlay2StreamSetup.Stream.audio(
        .realtime(
            AirPlayAudioFormat(.appleLossless, sampleRate: 44_100), key: Array(secret.prefix(32)), controlPort: 6004))

    @Test(
        "A8 From /info to TEARDOWN: every request in its place, encrypted behind the pairing", arguments: [true, false])
    func ladder(recordsFirst: Bool) async throws {
        let receiver = Receiver { Self.usual($0) }
        try await receiver.serve { port in
            let client = try await Self.client(port, Self.options(recordsFirst: recordsFirst))
            #expect(client.info == Self.info)
            await #expect(throws: AirPlay2Error.wrongOrder) { try await client.setVolume(-3) }
            let answer = try await client.pair(
                "/pair-setup", hkp: 4, contentType: "application/octet-stream", body: [9])
            #expect(answer.body == [1, 2])
            try await client.encrypt(Self.secret)
            #expect(await client.streamKey() == Array(Self.secret.prefix(32)))
            #expect(try await client.setUp(Self.session) == AirPlay2SessionAnswer())
            let ports = try await client.start([Self.stream], peers: .addresses(["127.0.0.1", "127.0.0.2"]))
            #expect(ports.stream(.realtime)?.dataPort == 6001)
            #expect(await client.audioLatency == 100)
            try await client.setVolume(-15)
            #expect(try await client.volume() == -11)
            try await client.setMetadata(RAOPTrackMetadata(persistentID: 1), timestamp: 77)
            try await client.setArtwork(mimeType: "image/png", bytes: [], timestamp: 78)
            try await client.setProgress(start: 1, now: 2, end: 3)
            try await client.flush(RTPInfo(sequence: 1, timestamp: 2))
            try await client.setRateAnchor(.paused)
            try await client.flushBuffered(AirPlay2FlushBuffered(until: .init(sequence: 1, timestamp: 2)))
            try await client.setAudioMode(.spoken)
            try await client.command(AirPlay2Command(type: "updateMRNowPlayingInfo"))
            #expect(try await client.feedback() == nil)
            try await client.tearDown([.init(type: .realtime, id: 5)])
            await client.end()
            await #expect(throws: AirPlay2Error.wrongOrder) { try await client.setVolume(-3) }
        }
        let requests = await receiver.requests
        let beginning =
            recordsFirst ? ["RECORD", "SETPEERS", "SETUP"] : ["SETPEERS", "SETUP", "RECORD"]
        #expect(
            requests.map(\.method) == ["GET", "POST", "SETUP"] + beginning + [
                "SET_PARAMETER", "GET_PARAMETER", "SET_PARAMETER", "SET_PARAMETER", "SET_PARAMETER", "FLUSH",
                "SETRATEANCHORTIME", "FLUSHBUFFERED", "POST", "POST", "POST", "TEARDOWN", "TEARDOWN",
            ])
        #expect(requests.map { $0.headers["CSeq"] } == (1...requests.count).map { "\($0)" })
        #expect(requests[1].headers["X-Apple-HKP"] == "4")
        #expect(requests[1].headers["Active-Remote"] == "5")
        #expect(requests[2].uri.hasPrefix("rtsp://127.0.0.1/"))
        #expect(requests[8].headers["RTP-Info"] == "rtptime=77")
        #expect(requests[9].headers["Content-Type"] == "image/none")
        #expect(requests.suffix(5).map(\.uri).prefix(3) == ["/audioMode", "/command", "/feedback"])
        #expect(try AirPlay2Teardown(body: requests[requests.count - 1].body).streams == nil)
    }

    @Test("R6 What comes in one piece with the last answer of a pairing is taken for frames")
    func theVeryByte() async throws {
        let receiver = Receiver { request in
            var answer = Self.usual(request)
            // A stray answer, sealed as the first frame: it answers nothing, and must not unsettle what follows.
            if request.method == "POST" { answer.trailing = RTSPResponse(status: 404, reason: "Stray").encoded() }
            return answer
        }
        try await receiver.serve { port in
            let client = try await Self.client(port)
            _ = try await client.pair("/pair-setup", hkp: 4, contentType: "application/octet-stream", body: [9])
            try await client.encrypt(Self.secret)
            #expect(try await client.setUp(Self.session) == AirPlay2SessionAnswer())
            await client.end()
        }
    }

    @Test("R6 A receiver whose frames are not of these keys is told by name")
    func wrongKeys() async throws {
        let receiver = Receiver { request in
            var answer = Self.usual(request)
            if answer.keys != nil { answer.keys = .control([1]) }
            return answer
        }
        try await receiver.serve { port in
            let client = try await Self.client(port)
            _ = try await client.pair("/pair-setup", hkp: 4, contentType: "application/octet-stream", body: [9])
            try await client.encrypt(Self.secret)
            // Our frames can't be opened there either: it hangs up, and what it said is not waited for.
            await #expect(throws: AirPlay2Error.rtsp(.closed)) { try await client.setUp(Self.session) }
        }
        let babbler = Receiver { request in
            var answer = Self.usual(request)
            answer.keys = nil
            if request.method == "POST" { answer.trailing = [5, 0] + [UInt8](repeating: 1, count: 21) }
            return answer
        }
        try await babbler.serve { port in
            let client = try await Self.client(port)
            _ = try await client.pair("/pair-setup", hkp: 4, contentType: "application/octet-stream", body: [9])
            await #expect(throws: AirPlay2Error.rtsp(.malformed(.notDecrypted(.notAuthentic(frame: 0))))) {
                try await client.encrypt(Self.secret)
            }
            await #expect(throws: AirPlay2Error.rtsp(.closed)) { try await client.setUp(Self.session) }
        }
    }

    @Test("R6 Pairing requests in either spelling", arguments: RTSPSpelling.allCases)
    func spelling(_ spelling: RTSPSpelling) async throws {
        let receiver = Receiver { Self.usual($0) }
        try await receiver.serve { port in
            let client = try await Self.client(port, Self.options(spelling: spelling))
            _ = try await client.pair("/pair-pin-start", hkp: 3, contentType: nil, body: [])
            _ = try await client.pair("/pair-setup", hkp: 4, contentType: "application/octet-stream", body: [9])
            try await client.encrypt(Self.secret)
            _ = try await client.pair("/pair-list", hkp: 3, contentType: "application/octet-stream", body: [9])
            _ = try await client.setUp(Self.session)
            await client.end()
        }
        let requests = await receiver.requests
        #expect(requests[1].version == spelling.version)
        #expect((requests[1].headers["CSeq"] == nil) == (spelling == .http))
        #expect(requests[1].headers["Content-Length"] == (spelling == .http ? "0" : nil))
        #expect(requests[2].headers["Host"] == (spelling == .http ? "127.0.0.1" : nil))
        // Encrypted, it is RTSP in any case.
        #expect(requests[3].version == .rtsp1)
        #expect(requests[4].version == .rtsp1)
    }

    @Test(
        "A8 Answers that refuse, lack things or can't be read",
        arguments: [
            ("470", RTSPResponse(status: 470, reason: "X"), .pairingRequired(method: "SETUP")),
            ("455", RTSPResponse(status: 455, reason: "X"), .notValidNow(method: "SETUP")),
            ("453", RTSPResponse(status: 453, reason: "X"), .rtsp(.busy)),
            ("403", RTSPResponse(status: 403, reason: "X"), .rtsp(.forbidden(method: "SETUP"))),
            ("401", RTSPResponse(status: 401, reason: "X"), .rtsp(.passwordRequired)),
            ("500", RTSPResponse(status: 500, reason: "X"), .rtsp(.refused(method: "SETUP", status: 500, reason: "X"))),
            ("no-body", RTSPResponse(), .malformedAnswer(method: "SETUP", .notAPropertyList(.malformed))),
            (
                "text-for-a-port", list(AirPlay2Command(type: "x", ["eventPort": .string("y")])),
                .malformedAnswer(method: "SETUP", .wrongType(key: "eventPort"))
            ),
            (
                "a-header-of-1-MiB", RTSPResponse(headers: ["X": String(repeating: "a", count: 1 << 20)]),
                .rtsp(.malformed(.headerTooLong(limit: 16_384)))
            ),
            (
                "chunked", RTSPResponse(headers: ["Transfer-Encoding": "chunked"]),
                .rtsp(.malformed(.unsupportedTransferEncoding))
            ),
        ] as [(String, RTSPResponse, AirPlay2Error)])
    func refusals(name: String, response: RTSPResponse, error: AirPlay2Error) async throws {
        let receiver = Receiver { $0.method == "SETUP" ? Receiver.Answer(response) : Self.usual($0) }
        try await receiver.serve { port in
            let client = try await Self.client(port)
            await #expect(throws: error) { try await client.setUp(Self.session) }
            await client.end()
        }
    }

    @Test("A8 Answers without CSeq, and with a wrong one, are taken all the same", arguments: ["", "9999"])
    func numbers(number: String) async throws {
        let receiver = Receiver { request in
            var answer = Self.usual(request)
            answer.response?.headers["CSeq"] = number
            return answer
        }
        try await receiver.serve { port in
            let client = try await Self.client(port)
            _ = try await client.setUp(Self.session)
            _ = try await client.start([Self.stream])
            await client.end()
        }
    }

    @Test("A8 A receiver that hangs up in the middle, and one that says nothing")
    func silence() async throws {
        let hangingUp = Receiver { request in
            var answer = Self.usual(request)
            if request.method == "RECORD" {
                answer.response = nil
                answer.closes = true
            }
            return answer
        }
        try await hangingUp.serve { port in
            let client = try await Self.client(port)
            _ = try await client.setUp(Self.session)
            await #expect(throws: AirPlay2Error.rtsp(.closed)) { try await client.start([Self.stream]) }
            await client.waitUntilClosed()
            await client.end()
        }
        let mute = Receiver { _ in Receiver.Answer(nil) }
        try await mute.serve { port in
            let connection = try await RTSPConnection.connect(host: "127.0.0.1", port: port, password: nil)
            var options = Self.options()
            options.requestTimeout = .milliseconds(20)
            await #expect(throws: AirPlay2Error.rtsp(.timedOut(method: "GET"))) {
                try await AirPlay2Client.introduce(on: connection, options: options)
            }
        }
    }

    @Test("A8 Two streams one after the other, with the peers told again")
    func later() async throws {
        let receiver = Receiver { Self.usual($0) }
        try await receiver.serve { port in
            let client = try await Self.client(port)
            _ = try await client.setUp(Self.session)
            try await client.record()
            _ = try await client.start([Self.stream], peers: .extended([AirPlay2MessageTests.peer]))
            _ = try await client.start([Self.stream])
            await client.end()
        }
        #expect(
            await receiver.requests.map(\.method) == [
                "GET", "SETUP", "RECORD", "SETPEERSX", "SETUP", "SETUP", "TEARDOWN",
            ])
    }
}
