import Testing

@testable import AirPlay

@Suite("The RAOP ladder and the connection's state machine")
struct RAOPLadderTests {
    static func parameters(rsa: Bool = false, authSetup: Bool = false) -> RAOPSessionParameters {
        RAOPSessionParameters(
            sessionID: 77, senderAddress: "10.0.0.1", receiverAddress: "10.0.0.2", codec: .appleLossless(.init()),
            encryption: rsa ? .init(encryptedKey: [1], initialVector: [UInt8](repeating: 0, count: 16)) : nil,
            needsAuthSetup: authSetup, dacpID: "00000000000000AB", activeRemote: 5, clientName: "test")
    }

    static func announcement(_ parameters: RAOPSessionParameters) throws -> RAOPAnnouncement {
        switch try RAOPIntroduction(parameters, challenge: []).accept(RTSPResponse()) {
        case .announcement(let next): return next
        case .authSetup(let step): return step.accept(RTSPResponse())
        }
    }

    static func ready(_ transport: String?, session: String?) throws -> RAOPReady {
        var headers = RTSPHeaders()
        headers["Transport"] = transport
        headers["Session"] = session
        return try announcement(parameters()).accept(RTSPResponse()).setup(controlPort: 1, timingPort: 2)
            .accept(RTSPResponse(headers: headers))
    }

    @Test("A1 From OPTIONS to RECORD")
    func climb() throws {
        let introduction = RAOPIntroduction(Self.parameters(), challenge: [UInt8](repeating: 1, count: 16))
        #expect(introduction.request.method == "OPTIONS")
        #expect(introduction.request.headers["Apple-Challenge"] == nil)
        let announcement = try Self.announcement(Self.parameters())
        #expect(announcement.request.uri == "rtsp://10.0.0.1/77")
        #expect(announcement.request.headers["Client-Instance"] == "00000000000000AB")
        let setup = try announcement.accept(RTSPResponse()).setup(controlPort: 6001, timingPort: 6002)
        #expect(
            setup.request.headers["Transport"]
                == "RTP/AVP/UDP;unicast;interleaved=0-1;mode=record;control_port=6001;timing_port=6002")
        let ready = try setup.accept(
            RTSPResponse(headers: [
                "Transport": "server_port=7;control_port=8;timing_port=0", "Session": "AB;timeout=60",
            ]))
        #expect(ready.ports == RAOPPorts(server: 7, control: 8))
        let record = ready.record(sequence: 9, timestamp: 10)
        #expect(record.request.headers["RTP-Info"] == "seq=9;rtptime=10")
        #expect(record.request.headers["Session"] == "AB")
        let recording = try record.accept(RTSPResponse(headers: ["Audio-Latency": "11025"]))
        #expect(recording.audioLatency == 11025)
        #expect(recording.flush(RTPInfo(sequence: 1, timestamp: 2)).headers["RTP-Info"] == "seq=1;rtptime=2")
        #expect(recording.artwork(mimeType: "image/png", bytes: [1], timestamp: 3).headers["RTP-Info"] == "rtptime=3")
        #expect(recording.requests.volume(-144).body == Array("volume: -144.000000\r\n".utf8))
    }

    @Test("A1 The challenge goes with RSA only, auth-setup where et has 4")
    func variants() throws {
        let rsa = RAOPIntroduction(Self.parameters(rsa: true), challenge: [UInt8](repeating: 1, count: 16))
        #expect(rsa.request.headers["Apple-Challenge"] == "AQEBAQEBAQEBAQEBAQEBAQ")
        guard
            case .authSetup(let step) = try RAOPIntroduction(Self.parameters(authSetup: true), challenge: [])
                .accept(RTSPResponse())
        else {
            Issue.record("auth-setup was left out")
            return
        }
        #expect(step.request.uri == "/auth-setup")
        #expect(step.request.body.count == 33)
        #expect(step.request.body[0] == 1)
    }

    @Test("A1 Answers that lack things, and answers that refuse")
    func odd() throws {
        #expect(try Self.ready("server_port=-1", session: nil).ports == RAOPPorts(server: 65535, control: nil))
        #expect(throws: RAOPError.incompleteSetup) { try Self.ready(nil, session: "1") }
        #expect(throws: RAOPError.incompleteSetup) { try Self.ready("server_port=0", session: "1") }
        let announcement = try Self.announcement(Self.parameters())
        #expect(throws: RAOPError.busy) { try announcement.accept(RTSPResponse(status: 453)) }
        #expect(throws: RAOPError.forbidden(method: "ANNOUNCE")) { try announcement.accept(RTSPResponse(status: 403)) }
        #expect(throws: RAOPError.refused(method: "ANNOUNCE", status: 500, reason: "No")) {
            try announcement.accept(RTSPResponse(status: 500, reason: "No"))
        }
        let introduction = RAOPIntroduction(Self.parameters(), challenge: [])
        _ = try introduction.accept(RTSPResponse(status: 501))
        #expect(throws: RAOPError.busy) { try introduction.accept(RTSPResponse(status: 453)) }
        let record = try Self.ready("server_port=1", session: nil).record(sequence: 0, timestamp: 0)
        #expect(record.request.headers["Session"] == nil)
        #expect(try record.accept(RTSPResponse(headers: ["Audio-Latency": "-5"])).audioLatency == 0)
    }

    @Test("Requests go one by one, numbered; answers are taken in order whatever their CSeq")
    func order() {
        var machine = RTSPClientStateMachine(password: nil)
        let first = machine.submit(RTSPRequest(method: "A", uri: "*"))
        #expect(first?.headers["CSeq"] == "1")
        #expect(machine.submit(RTSPRequest(method: "B", uri: "*")) == nil)
        #expect(machine.receive(RTSPResponse(status: 100)) == .ignore)
        let answer = RTSPResponse(headers: ["CSeq": "99"])
        #expect(machine.receive(answer) == .complete(answer))
        #expect(machine.next()?.headers["CSeq"] == "2")
        #expect(machine.receive(answer) == .complete(answer))
        #expect(machine.next() == nil)
        #expect(machine.receive(answer) == .ignore)
    }

    static func refusal(_ nonce: String) -> RTSPResponse {
        RTSPResponse(
            status: 401, reason: "Unauthorized",
            headers: ["WWW-Authenticate": "Digest realm=\"raop\", nonce=\"\(nonce)\""])
    }

    static func user(_ action: RTSPClientStateMachine.Action) -> String? {
        guard case .send(let request) = action else { return nil }
        return request.headers["Authorization"].flatMap(DigestAuthorization.init(parsing:))?.user
    }

    @Test("A1 A challenge is answered plainly, then as the first AirPort Express wants it, then given up")
    func styles() {
        var machine = RTSPClientStateMachine(password: "p")
        _ = machine.submit(RTSPRequest(method: "ANNOUNCE", uri: "u"))
        #expect(Self.user(machine.receive(Self.refusal("1"))) == "")
        let second = machine.receive(Self.refusal("1"))
        #expect(Self.user(second) == "iTunes")
        guard case .send(let request) = second, let text = request.headers["Authorization"],
            let authorization = DigestAuthorization(parsing: text)
        else { return }
        #expect(authorization.response == authorization.response.uppercased())
        #expect(authorization.matches(password: "p", method: "ANNOUNCE"))
        #expect(machine.receive(Self.refusal("1")) == .fail(.passwordRefused))
    }

    @Test("A1 Once taken, every request is signed, and a new nonce is answered in the same style")
    func proven() {
        var machine = RTSPClientStateMachine(password: "p")
        _ = machine.submit(RTSPRequest(method: "A", uri: "u"))
        _ = machine.receive(Self.refusal("1"))
        _ = machine.receive(Self.refusal("1"))
        _ = machine.receive(RTSPResponse())
        let next = machine.submit(RTSPRequest(method: "B", uri: "u"))
        #expect(next?.headers["Authorization"]?.contains("username=\"iTunes\"") == true)
        let renewed = machine.receive(Self.refusal("2"))
        #expect(Self.user(renewed) == "iTunes")
        guard case .send(let request) = renewed else { return }
        #expect(request.headers["Authorization"]?.contains("nonce=\"2\"") == true)
    }

    @Test("A1 Without a password a challenge ends the request in words")
    func noPassword() {
        var machine = RTSPClientStateMachine(password: nil)
        _ = machine.submit(RTSPRequest(method: "A", uri: "u"))
        #expect(machine.receive(Self.refusal("1")) == .fail(.passwordRequired))
        var other = RTSPClientStateMachine(password: "p")
        _ = other.submit(RTSPRequest(method: "A", uri: "u"))
        #expect(other.receive(RTSPResponse(status: 401)) == .fail(.passwordRefused))
    }
}
