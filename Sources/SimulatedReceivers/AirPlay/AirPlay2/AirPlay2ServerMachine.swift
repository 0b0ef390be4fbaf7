import AirPlay

/// The receiver's side of one AirPlay 2 connection after pairing: requests in, answers and deeds out. No I/O.
struct AirPlay2ServerMachine: Sendable {
    /// What the receiver has to do before the answer goes out.
    enum Deed: Sendable, Equatable {
        case setUpSession(AirPlay2SessionRequest)
        case setUpStreams([AirPlay2StreamRequest])
        case record(RTPInfo)
        case setPeers([String])
        case flush(RTPInfo)
        case anchor(AirPlay2AnchorRequest)
        case flushBuffered(AirPlay2FlushRequest)
        case take(SenderParameter)
        case command(PropertyList)
        case audioMode(String)
        case feedback
        /// Streams by their ids.
        case tearDownStreams([Int])
        case tearDown
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

    /// What the machine itself can't know.
    struct Surroundings {
        /// Somebody else's session is going on.
        var isTaken = false
        /// The volume now.
        var volume = 0.0
        /// Whether the sender's time is known by now.
        var knowsTheTime = false
        /// The status that strangers get; nil once whoever is at the other end was let in.
        var refusal: Int?
        /// The body of an answer to GET /info, with the record in it or without.
        var information: (_ withRecord: Bool) -> PropertyList = { _ in .dictionary([:]) }
    }

    let configuration: SimulatedAirPlay2Configuration
    private var session: AirPlay2SessionRequest?
    private(set) var streams: [Int: AirPlay2StreamRequest] = [:]
    private var nextStream = 1
    private(set) var isRecording = false
    /// RECORD came too late to be heard.
    private(set) var isMute = false
    private var requests = 0
    private var anchorRefusals: Int
    private var gate: PasswordGate?

    static let listType = "application/x-apple-binary-plist"

    /// - Parameter nonce: of the password challenge.
    init(_ configuration: SimulatedAirPlay2Configuration, nonce: String) {
        self.configuration = configuration
        anchorRefusals = configuration.faults.anchorRefusals
        gate = configuration.headerPassword.map {
            PasswordGate(password: $0, nonce: nonce, extraChallenges: configuration.faults.extraChallenges)
        }
    }

    /// Counts a request, also one of pairing. True where it is the one at which the receiver hangs up.
    mutating func countsAsLast() -> Bool {
        requests += 1
        return configuration.faults.closesAfterRequests.map { requests >= $0 } ?? false
    }

    mutating func answer(_ request: RTSPRequest, _ around: Surroundings) -> Answer {
        let path = Self.path(request.uri)
        let faults = configuration.faults
        if let status = faults.refusals[request.method] ?? faults.refusals[path] { return refuse(status) }
        let isOpen = request.method == "OPTIONS" || request.method == "GET" && path == "/info"
        if !isOpen {
            if let status = around.refusal { return refuse(status) }
            if let challenge = gate?.challenge(request) { return Answer(response: challenge, deeds: [.challenged]) }
        }
        return perform(request, path, around)
    }

    /// Puts on an answer what all of them have.
    func finish(_ response: inout RTSPResponse, to request: RTSPRequest) {
        response.version = request.version
        response.headers["Server"] = "AirTunes/366.0"
        switch (configuration.faults.sequenceHeader, request.headers["CSeq"]) {
        case (.right, let number?): response.headers["CSeq"] = number
        case (.wrong, let number?): response.headers["CSeq"] = String((Int(number) ?? 0) &+ 7)
        default: break
        }
    }

    /// The part of a URL that a receiver looks at, without what is asked for it.
    static func path(_ uri: String) -> String {
        let rest = uri.prefix { $0 != "?" }
        // scheme, two slashes, place: then the path.
        let parts = rest.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[0].hasSuffix(":"), parts[1].isEmpty else { return String(rest) }
        return parts.count == 4 ? "/" + parts[3] : "/"
    }

    private mutating func perform(_ request: RTSPRequest, _ path: String, _ around: Surroundings) -> Answer {
        switch (request.method, path) {
        case ("OPTIONS", _): options()
        case ("GET", "/info"): information(request, around)
        case ("SETUP", _): setUp(request, around)
        case ("RECORD", _): record(request)
        case ("SETPEERS", _): peers(request, extended: false)
        case ("SETPEERSX", _): peers(request, extended: true)
        case ("FLUSH", _): flush(request)
        case ("SETRATEANCHORTIME", _): anchor(request, around)
        case ("FLUSHBUFFERED", _): flushBuffered(request)
        case ("SET_PARAMETER", _): setParameter(request)
        case ("GET_PARAMETER", _):
            Answer(response: ReceiverAnswer.parameters(asked: request.body, volume: around.volume))
        case ("TEARDOWN", _): tearDown(request)
        case ("POST", "/feedback"): feedback()
        case ("POST", "/command"): command(request)
        case ("POST", "/audioMode"): audioMode(request)
        case ("GET", _), ("POST", _), ("PUT", _): refuse(404)
        default: refuse(501)
        }
    }

    // MARK: Who it is

    private func options() -> Answer {
        let methods =
            "ANNOUNCE, SETUP, RECORD, PAUSE, FLUSH, FLUSHBUFFERED, TEARDOWN, OPTIONS, POST, GET, PUT, SETPEERS, "
            + "SETPEERSX, SETRATEANCHORTIME, GET_PARAMETER, SET_PARAMETER"
        return Answer(response: RTSPResponse(headers: ["Public": methods]))
    }

    private func information(_ request: RTSPRequest, _ around: Surroundings) -> Answer {
        var withRecord = false
        if !request.body.isEmpty {
            guard let list = try? PropertyList(parsing: request.body) else { return refuse(400) }
            withRecord = list["qualifier"]?.array?.contains(.string("txtAirPlay")) ?? false
        }
        return answer(with: around.information(withRecord))
    }

    // MARK: Setting up

    private mutating func setUp(_ request: RTSPRequest, _ around: Surroundings) -> Answer {
        guard let list = try? PropertyList(parsing: request.body) else { return refuse(400) }
        if AirPlay2SessionRequest.isSession(list) { return setUpSession(list, around) }
        guard session != nil else { return refuse(455) }
        guard let items = list["streams"]?.array, !items.isEmpty, items.count <= 4 else { return refuse(400) }
        var wanted: [AirPlay2StreamRequest] = []
        for item in items {
            do throws(SenderParameter.Refusal) {
                let stream = try AirPlay2StreamRequest(item)
                guard canPlay(stream) else { return refuse(415) }
                wanted.append(stream)
            } catch {
                return refuse(error.status)
            }
        }
        return Answer(response: RTSPResponse(), deeds: [.setUpStreams(wanted)])
    }

    private mutating func setUpSession(_ list: PropertyList, _ around: Surroundings) -> Answer {
        // Whoever only controls takes nothing away from whoever plays.
        let controls = list["isRemoteControlOnly"]?.bool ?? false
        if configuration.faults.isBusy || around.isTaken && !controls {
            return Answer(response: ReceiverAnswer.refusal(453), deeds: [.wasBusy])
        }
        guard session == nil else { return refuse(455) }
        guard let wanted = AirPlay2SessionRequest(list) else { return refuse(400) }
        switch wanted.timing {
        case .ntp:
            if configuration.faults.ignoresNTP { return Answer(response: nil) }
            guard configuration.timing.contains(.ntp) else { return refuse(400) }
        case .ptp: guard configuration.timing.contains(.ptp) else { return refuse(400) }
        case .none: break
        }
        session = wanted
        return Answer(response: RTSPResponse(), deeds: [.setUpSession(wanted)])
    }

    private func canPlay(_ stream: AirPlay2StreamRequest) -> Bool {
        guard configuration.streams.contains(stream.streamKind) else { return false }
        // Two of a kind, or sound without a clock, are more than there is.
        if streams.values.contains(where: { $0.streamKind == stream.streamKind }) { return false }
        switch stream.kind {
        case .data: return configuration.dataSpeaker != nil
        case .realtime:
            return session?.timing != AirPlay2SessionRequest.Timing.none
                && configuration.realtimeFormats & stream.audioFormat != 0
        case .buffered:
            return session?.timing != AirPlay2SessionRequest.Timing.none
                && configuration.bufferedFormats & stream.audioFormat != 0
        }
    }

    /// Keeps a stream whose ports are open, and answers its number.
    mutating func add(_ stream: AirPlay2StreamRequest) -> Int {
        defer { nextStream += 1 }
        streams[nextStream] = stream
        return nextStream
    }

    /// Completes an answer to the first SETUP by the ports that were opened for it.
    func sessionAnswer(eventPort: Int, timingPort: Int, identity: String) -> PropertyList {
        .dictionary([
            "eventPort": .integer(written(eventPort)), "timingPort": .integer(written(timingPort)),
            "timingPeerInfo": .dictionary([
                "Addresses": .array([.string(configuration.host)]), "ID": .string(identity),
            ]),
        ])
    }

    /// One stream of the answer to the second.
    func streamAnswer(
        _ id: Int, _ stream: AirPlay2StreamRequest, dataPort: Int, controlPort: Int?
    ) -> PropertyList {
        var answer: [String: PropertyList] = [
            "type": .integer(Int64(stream.streamKind.rawValue)), "streamID": .integer(Int64(id)),
            "dataPort": .integer(written(dataPort)),
        ]
        answer["controlPort"] = controlPort.map { .integer(written($0)) }
        if stream.streamKind == .buffered {
            answer["audioBufferSize"] = .integer(Int64(configuration.bufferBytes))
        }
        return .dictionary(answer)
    }

    private func written(_ port: Int) -> Int64 {
        Int64(configuration.faults.writesNegativePorts && port > 32_767 ? port - 65_536 : port)
    }

    private func peers(_ request: RTSPRequest, extended: Bool) -> Answer {
        guard session != nil else { return refuse(455) }
        guard let list = try? PropertyList(parsing: request.body),
            let addresses = AirPlay2PeersRequest.addresses(list, extended: extended)
        else { return refuse(400) }
        return Answer(response: RTSPResponse(), deeds: [.setPeers(addresses)])
    }

    // MARK: Playing

    private mutating func record(_ request: RTSPRequest) -> Answer {
        guard session != nil else { return refuse(455) }
        let hasStream = streams.values.contains { $0.streamKind != .data }
        switch configuration.recordOrder {
        case .any: break
        case .before: if hasStream { return refuse(455) }
        case .after: if !hasStream { return refuse(455) }
        case .silentAfter: isMute = hasStream
        }
        isRecording = true
        return Answer(response: RTSPResponse(headers: ["Audio-Latency": "0"]), deeds: [.record(info(request))])
    }

    private func flush(_ request: RTSPRequest) -> Answer {
        guard isRecording else { return refuse(455) }
        return Answer(response: RTSPResponse(), deeds: [.flush(info(request))])
    }

    private mutating func anchor(_ request: RTSPRequest, _ around: Surroundings) -> Answer {
        guard streams.values.contains(where: { $0.streamKind == .buffered }) else { return refuse(455) }
        guard let list = try? PropertyList(parsing: request.body), let wanted = AirPlay2AnchorRequest(list) else {
            return refuse(400)
        }
        if case .play = wanted {
            if anchorRefusals > 0 {
                anchorRefusals -= 1
                return refuse(400)
            }
            guard around.knowsTheTime else { return refuse(400) }
        }
        return Answer(response: RTSPResponse(), deeds: [.anchor(wanted)])
    }

    private func flushBuffered(_ request: RTSPRequest) -> Answer {
        guard streams.values.contains(where: { $0.streamKind == .buffered }) else { return refuse(455) }
        guard let list = try? PropertyList(parsing: request.body), let wanted = AirPlay2FlushRequest(list) else {
            return refuse(400)
        }
        return Answer(response: RTSPResponse(), deeds: [.flushBuffered(wanted)])
    }

    private func setParameter(_ request: RTSPRequest) -> Answer {
        do throws(SenderParameter.Refusal) {
            let parameters = try SenderParameter.read(request)
            let isEarly = streams.isEmpty || !isRecording
            if configuration.faults.refusesEarlyVolume, isEarly, parameters.contains(where: \.isVolume) {
                return refuse(455)
            }
            return Answer(response: RTSPResponse(), deeds: parameters.map { .take($0) })
        } catch {
            return refuse(error.status)
        }
    }

    private func feedback() -> Answer {
        if configuration.faults.ignoresFeedback { return Answer(response: nil, deeds: [.feedback]) }
        let playing = streams.sorted { $0.key < $1.key }.compactMap { _, stream -> PropertyList? in
            guard let format = AirPlay2SoundFormat(audioFormat: stream.audioFormat) else { return nil }
            return .dictionary([
                "type": .integer(Int64(stream.streamKind.rawValue)), "sr": .real(Double(format.sampleRate)),
            ])
        }
        var answer =
            playing.isEmpty
            ? Answer(response: RTSPResponse())
            : answer(
                with: .dictionary(["streams": .array(playing)]))
        answer.deeds = [.feedback]
        return answer
    }

    private func command(_ request: RTSPRequest) -> Answer {
        guard let list = try? PropertyList(parsing: request.body) else { return refuse(400) }
        return Answer(response: RTSPResponse(), deeds: [.command(list)])
    }

    private func audioMode(_ request: RTSPRequest) -> Answer {
        guard let mode = (try? PropertyList(parsing: request.body))?["audioMode"]?.string else { return refuse(400) }
        return Answer(response: RTSPResponse(), deeds: [.audioMode(mode)])
    }

    private mutating func tearDown(_ request: RTSPRequest) -> Answer {
        // As shairport-sync does: without a list it waits for the connection to end.
        guard !request.body.isEmpty else { return Answer(response: RTSPResponse()) }
        guard let list = try? PropertyList(parsing: request.body), case .dictionary = list else { return refuse(400) }
        guard let items = list["streams"]?.array else {
            session = nil
            streams = [:]
            isRecording = false
            return Answer(response: RTSPResponse(headers: ["Connection": "close"]), deeds: [.tearDown])
        }
        let ended = streams.filter { id, stream in
            items.contains { item in
                item["streamID"]?.integer.map { $0 == Int64(id) }
                    ?? (item["type"]?.integer == Int64(stream.streamKind.rawValue))
            }
        }.keys.sorted()
        for id in ended { streams[id] = nil }
        return Answer(response: RTSPResponse(), deeds: [.tearDownStreams(ended)])
    }

    // MARK: Answers

    private func info(_ request: RTSPRequest) -> RTPInfo {
        request.headers["RTP-Info"].map { RTPInfo(parsing: $0) } ?? RTPInfo()
    }

    private func answer(with list: PropertyList) -> Answer { Answer(response: Self.response(list)) }

    static func response(_ list: PropertyList) -> RTSPResponse {
        RTSPResponse(headers: ["Content-Type": listType], body: list.encoded())
    }

    private func refuse(_ status: Int) -> Answer { Answer(response: ReceiverAnswer.refusal(status)) }
}

extension SenderParameter {
    fileprivate var isVolume: Bool {
        if case .volume = self { return true }
        return false
    }
}
