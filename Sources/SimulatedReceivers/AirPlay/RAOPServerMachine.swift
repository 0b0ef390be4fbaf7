import AirPlay

/// The receiver's side of one RTSP connection: requests in, answers and deeds out. No I/O.
struct RAOPServerMachine {
    /// What the receiver has to do before the answer goes out.
    enum Deed: Sendable, Equatable {
        case announce(RAOPSessionDescription)
        /// The sender's ports.
        case setUp(control: Int?, timing: Int?)
        case record(RTPInfo)
        case flush(RTPInfo)
        case take(SenderParameter)
        case tearDown
        case authenticationSetUp
        case challenged
        case wasBusy
    }

    struct Answer: Sendable, Equatable {
        /// Nil when it says nothing.
        var response: RTSPResponse?
        var deeds: [Deed] = []
        /// Hang up after the answer.
        var closes = false
    }

    /// How far the sender has got: each step is allowed after the one before it.
    private enum Phase { case connected, announced, ready, recording }

    private let configuration: SimulatedRAOPConfiguration
    private let session: String
    private var phase = Phase.connected
    private var requests = 0
    private var passedAuthSetUp = false
    private var gate: PasswordGate?
    /// Nil where nobody has to pair.
    private var pairing: PairingServer?

    /// - Parameters:
    ///   - nonce: of the password challenge.
    ///   - session: the value of the `Session` header.
    init(_ configuration: SimulatedRAOPConfiguration, nonce: String, session: String) {
        self.configuration = configuration
        self.session = session
        gate = configuration.password.map {
            PasswordGate(password: $0, nonce: nonce, extraChallenges: configuration.faults.extraChallenges)
        }
        pairing = configuration.pairingPolicy.map { PairingServer($0) }
    }

    /// What the machine itself can't know.
    struct Surroundings {
        /// Somebody else's session is going on.
        var isTaken = false
        /// The volume now.
        var volume: Double
        /// Answers an `Apple-Challenge`; nil without a key.
        var signature: ([UInt8]) -> [UInt8]?
        /// A fresh Curve25519 public key.
        var publicKey: () -> [UInt8]
        /// Whether this receiver can play it; a status if not.
        var refusal: (RAOPSessionDescription) -> Int?
    }

    mutating func answer(_ request: RTSPRequest, _ around: Surroundings) -> Answer {
        complete(request) { machine in machine.challenge(request) ?? machine.perform(request, around) }
    }

    /// Answers a request of pairing, with what there is to tell of it; nil for any other, and where nobody has to pair.
    mutating func pair(
        _ request: RTSPRequest, in book: inout PairingServerBook, at now: Int64
    ) -> (answer: Answer, news: [PairingServerNews])? {
        let path = AirPlay2ServerMachine.path(request.uri)
        guard pairing != nil, request.method == "POST", PairingServer.paths.contains(path) else { return nil }
        var news: [PairingServerNews] = []
        let answer = complete(request) { machine in
            if let spelling = machine.configuration.faults.spelling, request.version != spelling.version {
                return machine.refuse(400)
            }
            let answer = machine.pairing?.answer(
                path: path, headers: request.headers, body: request.body, in: &book, at: now)
            news = answer?.news ?? []
            guard let answer, answer.delivery == .send else {
                return Answer(response: nil, closes: answer?.delivery == .hangUp)
            }
            return Answer(
                response: RTSPResponse(
                    status: answer.status, reason: answer.reason, headers: answer.headers, body: answer.body))
        }
        return (answer, news)
    }

    /// The connection is gone.
    mutating func end(in book: inout PairingServerBook) { pairing?.end(in: &book) }

    /// What is said to any request, and what goes wrong with any on purpose.
    private mutating func complete(
        _ request: RTSPRequest, by answered: (inout RAOPServerMachine) -> Answer
    ) -> Answer {
        let faults = configuration.faults
        requests += 1
        if let limit = faults.closesAfterRequests, requests >= limit { return Answer(response: nil, closes: true) }
        var answer: Answer
        if let status = faults.refusals[request.method] {
            answer = refuse(status)
        } else {
            answer = answered(&self)
        }
        if faults.neverAnswers { return Answer(response: nil, deeds: answer.deeds) }
        answer.response?.version = request.version
        answer.response?.headers["Server"] = "AirTunes/105.1"
        switch (faults.sequenceHeader, request.headers["CSeq"]) {
        case (.right, let number?): answer.response?.headers["CSeq"] = number
        case (.wrong, let number?): answer.response?.headers["CSeq"] = String((Int(number) ?? 0) + 7)
        default: break
        }
        return answer
    }

    private mutating func perform(_ request: RTSPRequest, _ around: Surroundings) -> Answer {
        // What it is may be asked by everybody.
        if request.method != "GET", let status = pairing?.refusal { return refuse(status) }
        return switch request.method {
        case "OPTIONS": options(request, around)
        case "ANNOUNCE": announce(request, around)
        case "SETUP": setUp(request)
        case "RECORD": record(request)
        case "FLUSH", "PAUSE": flush(request)
        case "TEARDOWN": tearDown()
        case "SET_PARAMETER": setParameter(request)
        case "GET_PARAMETER":
            Answer(response: ReceiverAnswer.parameters(asked: request.body, volume: around.volume))
        case "POST" where request.uri.hasSuffix("/auth-setup"): authenticationSetUp(request, around)
        case "POST" where request.uri.hasSuffix("/feedback"): Answer(response: RTSPResponse())
        case "GET", "POST", "PUT": refuse(404)
        default: refuse(501)
        }
    }

    // MARK: Password

    private mutating func challenge(_ request: RTSPRequest) -> Answer? {
        guard !["OPTIONS", "GET"].contains(request.method), let challenge = gate?.challenge(request) else { return nil }
        return Answer(response: challenge, deeds: [.challenged])
    }

    // MARK: Methods

    private func options(_ request: RTSPRequest, _ around: Surroundings) -> Answer {
        var response = RTSPResponse()
        response.headers["Public"] =
            "ANNOUNCE, SETUP, RECORD, PAUSE, FLUSH, TEARDOWN, OPTIONS, GET_PARAMETER, SET_PARAMETER, POST"
        if let text = request.headers["Apple-Challenge"] {
            guard let challenge = Base64.decode(text), challenge.count == 16 else { return refuse(400) }
            if let signature = around.signature(challenge) {
                response.headers["Apple-Response"] = Base64.withoutPadding(signature)
            }
        }
        return Answer(response: response)
    }

    private mutating func announce(_ request: RTSPRequest, _ around: Surroundings) -> Answer {
        if configuration.faults.isBusy || around.isTaken {
            var answer = refuse(453)
            answer.deeds = [.wasBusy]
            return answer
        }
        if configuration.encryption.contains(.authSetup), !passedAuthSetUp { return refuse(403) }
        guard phase == .connected else { return refuse(455) }
        guard let description = try? RAOPSessionDescription(parsing: request.body) else { return refuse(400) }
        let codec: SimulatedRAOPConfiguration.Codec =
            switch description.codec {
            case .l16: .pcm
            case .appleLossless: .appleLossless
            }
        let wanted: SimulatedRAOPConfiguration.Encryption = description.encryption == nil ? .none : .rsa
        let plain = configuration.encryption.contains(.none) || configuration.encryption.contains(.authSetup)
        guard configuration.codecs.contains(codec), wanted == .rsa || plain else { return refuse(415) }
        if let status = around.refusal(description) { return refuse(status) }
        phase = .announced
        return Answer(response: RTSPResponse(), deeds: [.announce(description)])
    }

    private mutating func setUp(_ request: RTSPRequest) -> Answer {
        guard phase == .announced else { return refuse(455) }
        guard let text = request.headers["Transport"] else { return refuse(461) }
        let transport = RTSPTransport(parsing: text)
        phase = .ready
        var response = RTSPResponse()
        if !configuration.faults.omitsSession { response.headers["Session"] = session }
        response.headers["Audio-Jack-Status"] = "connected; type=analog"
        return Answer(
            response: response, deeds: [.setUp(control: transport.controlPort, timing: transport.timingPort)])
    }

    /// Completes an answer to SETUP by the ports that were opened for it.
    func transportHeader(_ ports: RTSPTransport) -> String? {
        guard !configuration.faults.omitsTransport else { return nil }
        func number(_ port: Int?) -> Int {
            let port = port ?? 0
            return configuration.faults.writesNegativePorts && port > 32_767 ? port - 65_536 : port
        }
        return "RTP/AVP/UDP;unicast;mode=record;control_port=\(number(ports.controlPort));"
            + "timing_port=\(number(ports.timingPort));server_port=\(number(ports.serverPort))"
    }

    private mutating func record(_ request: RTSPRequest) -> Answer {
        guard phase == .ready else { return refuse(455) }
        phase = .recording
        var response = RTSPResponse()
        response.headers["Audio-Latency"] = String(configuration.latencyFrames)
        return Answer(response: response, deeds: [.record(info(request))])
    }

    private func flush(_ request: RTSPRequest) -> Answer {
        guard phase == .recording else { return refuse(455) }
        return Answer(response: RTSPResponse(), deeds: [.flush(info(request))])
    }

    private mutating func tearDown() -> Answer {
        phase = .connected
        return Answer(response: RTSPResponse(headers: ["Connection": "close"]), deeds: [.tearDown])
    }

    private func authenticationSetUp(_ request: RTSPRequest, _ around: Surroundings) -> Answer {
        // Which encryption is wanted, and the sender's key.
        guard request.body.count == 33 else { return refuse(400) }
        // There is no authentication chip in here, so certificate and signature are there with no bytes.
        let body = around.publicKey() + [0, 0, 0, 0] + [0, 0, 0, 0]
        return Answer(
            response: RTSPResponse(headers: ["Content-Type": "application/octet-stream"], body: body),
            deeds: [.authenticationSetUp])
    }

    /// The receiver did its part of POST /auth-setup.
    mutating func passAuthenticationSetUp() { passedAuthSetUp = true }

    private func setParameter(_ request: RTSPRequest) -> Answer {
        do throws(SenderParameter.Refusal) {
            return Answer(response: RTSPResponse(), deeds: try SenderParameter.read(request).map { .take($0) })
        } catch {
            return refuse(error.status)
        }
    }

    private func info(_ request: RTSPRequest) -> RTPInfo {
        request.headers["RTP-Info"].map { RTPInfo(parsing: $0) } ?? RTPInfo()
    }

    private func refuse(_ status: Int) -> Answer { Answer(response: ReceiverAnswer.refusal(status)) }
}
