import AirPlay
import Testing

@testable import SimulatedReceivers

@Suite("RAOP receiver: answers to requests")
struct RAOPServerMachineTests {
    let uri = "rtsp://127.0.0.1/1"

    func machine(_ change: (inout SimulatedRAOPConfiguration) -> Void = { _ in }) -> RAOPServerMachine {
        var configuration = SimulatedRAOPConfiguration()
        change(&configuration)
        return RAOPServerMachine(configuration, nonce: "A1B2", session: "DEADBEEF")
    }

    func around(isTaken: Bool = false) -> RAOPServerMachine.Surroundings {
        RAOPServerMachine.Surroundings(
            isTaken: isTaken, volume: -12.5, signature: { $0 }, publicKey: { [UInt8](repeating: 9, count: 32) },
            refusal: { _ in nil })
    }

    func request(_ method: String, _ headers: RTSPHeaders = [:], body: [UInt8] = [], uri: String? = nil) -> RTSPRequest
    {
        var headers = headers
        headers["CSeq"] = "3"
        return RTSPRequest(method: method, uri: uri ?? self.uri, headers: headers, body: body)
    }

    var announce: RTSPRequest {
        let description = RAOPSessionDescription(
            sessionID: 1, senderAddress: "127.0.0.1", receiverAddress: "127.0.0.1",
            codec: .l16(sampleRate: 44_100, channels: 2))
        return request("ANNOUNCE", ["Content-Type": "application/sdp"], body: description.encoded())
    }

    var setUp: RTSPRequest {
        request("SETUP", ["Transport": RTSPTransport(controlPort: 6001, timingPort: 6002).text])
    }

    @Test("A1 The steps are allowed in their order and no other")
    func order() {
        var machine = machine()
        for early in ["SETUP", "RECORD", "FLUSH"] {
            #expect(machine.answer(request(early), around()).response?.status == 455)
        }
        #expect(machine.answer(request("OPTIONS", uri: "*"), around()).response?.status == 200)
        #expect(machine.answer(announce, around()).response?.status == 200)
        #expect(machine.answer(announce, around()).response?.status == 455)
        let answer = machine.answer(setUp, around())
        #expect(answer.deeds == [.setUp(control: 6001, timing: 6002)])
        #expect(answer.response?.headers["Session"] == "DEADBEEF")
        let record = machine.answer(request("RECORD", ["RTP-Info": "seq=5;rtptime=77"]), around())
        #expect(record.deeds == [.record(RTPInfo(sequence: 5, timestamp: 77))])
        #expect(record.response?.headers["Audio-Latency"] == "11025")
        #expect(record.response?.headers["CSeq"] == "3")
        #expect(
            machine.answer(request("FLUSH", ["RTP-Info": "seq=6;rtptime=429"]), around()).deeds
                == [.flush(RTPInfo(sequence: 6, timestamp: 429))])
        #expect(machine.answer(request("TEARDOWN"), around()).deeds == [.tearDown])
        #expect(machine.answer(announce, around()).response?.status == 200, "and again")
    }

    @Test("A1 A password is asked for; a wrong one, another nonce and another address are refused")
    func password() {
        var machine = machine { $0.password = "open sesame" }
        #expect(machine.answer(request("OPTIONS", uri: "*"), around()).response?.status == 200)
        let first = machine.answer(announce, around())
        #expect(first.response?.status == 401)
        #expect(first.deeds == [.challenged])
        let challenge = first.response?.headers["WWW-Authenticate"].flatMap { DigestChallenge(parsing: $0) }
        #expect(challenge == DigestChallenge(realm: "raop", nonce: "A1B2"))
        func signed(_ password: String, nonce: String = "A1B2", uri: String? = nil) -> RTSPRequest {
            var request = announce
            request.headers["Authorization"] =
                DigestAuthorization(
                    challenge: DigestChallenge(realm: "raop", nonce: nonce), user: "iTunes", password: password,
                    method: "ANNOUNCE", uri: uri ?? self.uri
                ).text
            return request
        }
        #expect(machine.answer(signed("wrong"), around()).response?.status == 401)
        #expect(machine.answer(signed("open sesame", nonce: "FFFF"), around()).response?.status == 401)
        #expect(machine.answer(signed("open sesame", uri: "rtsp://elsewhere"), around()).response?.status == 401)
        #expect(machine.answer(signed("open sesame"), around()).response?.status == 200)
        #expect(machine.answer(setUp, around()).response?.status == 401, "later requests are signed too")
    }

    @Test("A1 Busy, encryption and codecs that it has not, auth-setup left out: each has its status")
    func refusals() {
        var busy = machine()
        #expect(busy.answer(announce, around(isTaken: true)).response?.status == 453)
        #expect(busy.answer(announce, around()).response?.status == 200)
        var onFault = machine { $0.faults.isBusy = true }
        #expect(onFault.answer(announce, around()).deeds == [.wasBusy])
        var onlyRSA = machine { $0.encryption = [.rsa] }
        #expect(onlyRSA.answer(announce, around()).response?.status == 415)
        var onlyLossless = machine { $0.codecs = [.appleLossless] }
        #expect(onlyLossless.answer(announce, around()).response?.status == 415)
        var careful = machine { $0.encryption = [.none, .authSetup] }
        #expect(careful.answer(announce, around()).response?.status == 403)
        let post = request("POST", body: [1] + [UInt8](repeating: 7, count: 32), uri: "/auth-setup")
        let answer = careful.answer(post, around())
        #expect(answer.response?.body.count == 40)
        #expect(answer.deeds == [.authenticationSetUp])
        careful.passAuthenticationSetUp()
        #expect(careful.answer(announce, around()).response?.status == 200)
        var refusing = machine { $0.faults.refusals = ["ANNOUNCE": 500] }
        #expect(refusing.answer(announce, around()).response?.status == 500)
    }

    @Test(
        "A1 Bodies that aren't what they say are refused",
        arguments: [
            ("ANNOUNCE", "application/sdp", "v=0\r\nnonsense", 400),
            ("SET_PARAMETER", "text/parameters", "volume: loud\r\n", 400),
            ("SET_PARAMETER", "text/parameters", "progress: 1/2\r\n", 400),
            ("SET_PARAMETER", "application/x-dmap-tagged", "mlit\u{1}\u{1}\u{1}\u{1}", 400),
            ("SET_PARAMETER", "application/unknown", "x", 451), ("DANCE", "text/plain", "x", 501),
        ])
    func malformed(method: String, type: String, body: String, status: Int) {
        var machine = machine()
        let answer = machine.answer(request(method, ["Content-Type": type], body: Array(body.utf8)), around())
        #expect(answer.response?.status == status)
        #expect(answer.deeds.isEmpty)
    }

    @Test("A1 Volume, titles, pictures and progress are understood, and the volume read back")
    func parameters() {
        var machine = machine()
        func set(_ type: String, _ body: [UInt8]) -> [RAOPServerMachine.Deed] {
            machine.answer(
                request("SET_PARAMETER", ["Content-Type": type, "RTP-Info": "rtptime=99"], body: body), around()
            ).deeds
        }
        #expect(set("text/parameters", Array("volume: -15.5\r\n".utf8)) == [.take(.volume(-15.5))])
        #expect(
            set("text/parameters", TextParameters.progress(start: 1, now: 2, end: 3).body)
                == [.take(.progress(SimulatedRAOPRecord.Progress(start: 1, now: 2, end: 3)))])
        let list = DMAPItem(
            "mlit", [DMAPItem("minm", "Titel"), DMAPItem("asar", "Künstler"), DMAPItem("asal", "Album")])
        #expect(
            set("application/x-dmap-tagged", list.encoded())
                == [
                    .take(
                        .metadata(
                            .init(title: "Titel", artist: "Künstler", album: "Album", rtpTime: 99)))
                ])
        #expect(
            set("image/jpeg", [0xFF, 0xD8])
                == [.take(.artwork(SimulatedRAOPRecord.Artwork(mimeType: "image/jpeg", bytes: [0xFF, 0xD8])))])
        #expect(set("image/none", []) == [.take(.artwork(nil))])
        let asked = request("GET_PARAMETER", ["Content-Type": "text/parameters"], body: Array("volume\r\n".utf8))
        let answer = machine.answer(asked, around()).response
        #expect(answer.map { TextParameters(parsing: $0.body).volume } == -12.5)
    }

    @Test("A1 Faults of the answers: CSeq, Session, Transport, negative ports, silence, hanging up")
    func faults() {
        var missing = machine { $0.faults.sequenceHeader = .missing }
        #expect(missing.answer(request("OPTIONS"), around()).response?.headers["CSeq"] == nil)
        var wrong = machine { $0.faults.sequenceHeader = .wrong }
        #expect(wrong.answer(request("OPTIONS"), around()).response?.headers["CSeq"] == "10")
        var bare = machine {
            $0.faults.omitsSession = true
            $0.faults.omitsTransport = true
        }
        _ = bare.answer(announce, around())
        #expect(bare.answer(setUp, around()).response?.headers["Session"] == nil)
        let ports = RTSPTransport(serverPort: 40_000, controlPort: 20_000, timingPort: 65_535)
        #expect(bare.transportHeader(ports) == nil)
        let negative = machine { $0.faults.writesNegativePorts = true }.transportHeader(ports)
        #expect(negative?.contains("server_port=-25536") == true)
        #expect(negative?.contains("timing_port=-1") == true)
        #expect(negative.map { RTSPTransport(parsing: $0).serverPort } == 40_000)
        var silent = machine { $0.faults.neverAnswers = true }
        #expect(silent.answer(request("OPTIONS"), around()) == RAOPServerMachine.Answer(response: nil))
        var short = machine { $0.faults.closesAfterRequests = 2 }
        #expect(short.answer(request("OPTIONS"), around()).closes == false)
        #expect(short.answer(request("OPTIONS"), around()) == RAOPServerMachine.Answer(response: nil, closes: true))
        var forgetful = machine {
            $0.password = "x"
            $0.faults.extraChallenges = 1
        }
        var signed = announce
        signed.headers["Authorization"] =
            DigestAuthorization(
                challenge: DigestChallenge(realm: "raop", nonce: "A1B2"), user: "", password: "x", method: "ANNOUNCE",
                uri: uri
            ).text
        #expect(forgetful.answer(signed, around()).response?.status == 401)
        #expect(forgetful.answer(signed, around()).response?.status == 200)
    }
}
