import AirPlay
import Testing

@testable import SimulatedReceivers

@Suite("AirPlay 2 receiver: what it answers")
struct AirPlay2ServerMachineTests {
    func machine(
        _ change: (inout SimulatedAirPlay2Configuration) -> Void = { _ in }
    ) -> AirPlay2ServerMachine {
        var configuration = SimulatedAirPlay2Configuration(name: "X")
        change(&configuration)
        return AirPlay2ServerMachine(configuration, nonce: "N")
    }

    func request(
        _ method: String, _ list: PropertyList? = nil, uri: String = "rtsp://127.0.0.1/7", body: [UInt8]? = nil
    ) -> RTSPRequest {
        RTSPRequest(method: method, uri: uri, headers: ["CSeq": "5"], body: body ?? list?.encoded() ?? [])
    }

    /// Statuses of these, one after another.
    func statuses(
        _ machine: inout AirPlay2ServerMachine, _ requests: [RTSPRequest],
        _ around: AirPlay2ServerMachine.Surroundings = .init(knowsTheTime: true)
    ) -> [Int?] {
        requests.map { machine.answer($0, around).response?.status }
    }

    var session: RTSPRequest { request("SETUP", AirPlay2TestMessage.session(timingPort: 6_000)) }
    func stream(_ type: Int64 = 96, _ format: Int64 = 0x4_0000) -> RTSPRequest {
        request("SETUP", AirPlay2TestMessage.stream(type, format))
    }

    /// As the receiver does once the ports are open.
    func setUp(_ machine: inout AirPlay2ServerMachine, _ type: Int64 = 96, _ format: Int64 = 0x4_0000) throws {
        let answer = machine.answer(stream(type, format), .init(knowsTheTime: true))
        guard case .setUpStreams(let streams) = answer.deeds.first else {
            Issue.record("\(answer.response?.status ?? 0)")
            return
        }
        for stream in streams { _ = machine.add(stream) }
    }

    @Test("A1 each step is allowed after the one before it")
    func order() throws {
        var machine = machine()
        #expect(statuses(&machine, [stream(), request("RECORD"), request("FLUSH")]) == [455, 455, 455])
        #expect(statuses(&machine, [session, session]) == [200, 455])
        try setUp(&machine)
        #expect(statuses(&machine, [stream(), request("SETRATEANCHORTIME", AirPlay2TestMessage.pause)]) == [415, 455])
        #expect(statuses(&machine, [request("RECORD"), request("FLUSH")]) == [200, 200])
        #expect(
            statuses(&machine, [request("TEARDOWN"), request("FLUSH")]) == [200, 200], "an empty body ends nothing")
        #expect(statuses(&machine, [request("TEARDOWN", .dictionary([:])), request("FLUSH")]) == [200, 455])
    }

    @Test("A1 RECORD is taken before the stream's SETUP, after it, or taken and not heard, as configured")
    func record() throws {
        var before = machine { $0.recordOrder = .before }
        #expect(statuses(&before, [session, request("RECORD")]) == [200, 200])
        try setUp(&before)
        #expect(statuses(&before, [request("RECORD")]) == [455])
        var after = machine { $0.recordOrder = .after }
        #expect(statuses(&after, [session, request("RECORD")]) == [200, 455])
        try setUp(&after)
        #expect(statuses(&after, [request("RECORD")]) == [200])
        var silent = machine { $0.recordOrder = .silentAfter }
        _ = statuses(&silent, [session])
        try setUp(&silent)
        #expect(statuses(&silent, [request("RECORD")]) == [200])
        #expect(silent.isMute)
    }

    @Test("A1 a clock that it does not keep is refused, or never answered")
    func clocks() {
        var ptpOnly = machine { $0.timing = [.ptp] }
        #expect(statuses(&ptpOnly, [session]) == [400])
        var deaf = machine { $0.faults.ignoresNTP = true }
        #expect(statuses(&deaf, [session]) == [nil])
        var ntpOnly = machine { $0.timing = [.ntp] }
        let ptp = PropertyList.dictionary([
            "timingProtocol": .string("PTP"),
            "timingPeerInfo": .dictionary([
                "Addresses": .array([.string("10.0.0.1")]), "ClockID": .integer(-5), "ID": .string("u"),
            ]),
        ])
        #expect(statuses(&ntpOnly, [request("SETUP", ptp)]) == [400])
        var both = machine()
        let answer = both.answer(request("SETUP", ptp), .init())
        guard case .setUpSession(let wanted) = answer.deeds.first else {
            Issue.record("no session")
            return
        }
        #expect(wanted.timing == .ptp(addresses: ["10.0.0.1"], clock: UInt64(bitPattern: -5)))
    }

    @Test("A1 an anchor before the clock is known gets 400, and so do as many as the fault says")
    func anchors() throws {
        var machine = machine { $0.faults.anchorRefusals = 2 }
        _ = statuses(&machine, [session])
        try setUp(&machine, 103, 0x40_0000)
        let anchor = request("SETRATEANCHORTIME", AirPlay2TestMessage.anchor(rtpTime: 1, time: 1_500_000_000))
        #expect(statuses(&machine, [anchor, anchor, anchor]) == [400, 400, 200])
        #expect(statuses(&machine, [anchor], .init(knowsTheTime: false)) == [400])
        let read = AirPlay2AnchorRequest(AirPlay2TestMessage.anchor(rtpTime: 1, time: 1_500_000_000))
        guard case .play(let rtpTime, let time, let clock) = read else {
            Issue.record("\(String(describing: read))")
            return
        }
        #expect(rtpTime == 1 && clock == 5 && abs(time - 1_500_000_000) <= 1)
    }

    @Test("A1 whoever did not pair gets the status of the policy, but for who it is")
    func strangers() {
        var machine = machine()
        let around = AirPlay2ServerMachine.Surroundings(refusal: 470)
        let requests = [
            request("GET", uri: "/info"), request("OPTIONS", uri: "*"), session, request("POST", uri: "/feedback"),
        ]
        #expect(statuses(&machine, requests, around) == [200, 200, 470, 470])
    }

    @Test(
        "A1 a password by header is challenged, as often as the fault says, and 453 and other refusals come on demand")
    func refusals() {
        var asked = machine { $0.headerPassword = "p" }
        #expect(statuses(&asked, [session, session]) == [401, 401])
        var busy = machine { $0.faults.isBusy = true }
        #expect(statuses(&busy, [session]) == [453])
        var taken = machine()
        #expect(statuses(&taken, [session], .init(isTaken: true)) == [453])
        var odd = machine { $0.faults.refusals = ["SETUP": 500, "/feedback": 501] }
        #expect(statuses(&odd, [session, request("POST", uri: "/feedback")]) == [500, 501])
        var early = machine { $0.faults.refusesEarlyVolume = true }
        var volume = request("SET_PARAMETER", body: Array("volume: -20\r\n".utf8))
        volume.headers["Content-Type"] = "text/parameters"
        #expect(statuses(&early, [session, volume]) == [200, 455])
    }

    @Test("A1 ports above 32,767 are written below zero on demand; CSeq right, wrong or missing")
    func spelling() {
        let odd = machine {
            $0.faults.writesNegativePorts = true
            $0.faults.sequenceHeader = .wrong
        }
        let answer = odd.sessionAnswer(eventPort: 40_000, timingPort: 1_000, identity: "I")
        #expect(answer["eventPort"]?.integer == 40_000 - 65_536 && answer["timingPort"]?.integer == 1_000)
        var response = RTSPResponse()
        odd.finish(&response, to: session)
        #expect(response.headers["CSeq"] == "12")
        response = RTSPResponse()
        machine { $0.faults.sequenceHeader = .missing }.finish(&response, to: session)
        #expect(response.headers["CSeq"] == nil)
        response = RTSPResponse()
        machine().finish(&response, to: session)
        #expect(response.headers["CSeq"] == "5")
    }

    @Test(
        "A1 property lists that are none, of wrong types or out of range get 400",
        arguments: [
            ("SETUP", PropertyList.string("x")), ("SETUP", .dictionary(["timingProtocol": .string("NTP")])),
            ("SETUP", .dictionary(["timingProtocol": .string("NTP"), "timingPort": .integer(70_000)])),
            ("SETUP", .dictionary(["timingProtocol": .string("PTP")])),
            ("SETUP", .dictionary(["timingProtocol": .integer(1)])), ("SETUP", .dictionary([:])),
        ])
    func malformedSession(method: String, list: PropertyList) {
        var machine = machine()
        #expect(statuses(&machine, [request(method, list), request(method, body: [1, 2, 3])]) == [400, 400])
    }

    @Test("A1 streams without a key, of a wrong rate or of sound that is unknown are refused")
    func malformedStreams() throws {
        func altered(_ key: String, _ value: PropertyList?) -> PropertyList {
            guard case .dictionary(var fields)? = AirPlay2TestMessage.stream(96, 0x4_0000)["streams"]?.array?.first
            else {
                return .dictionary([:])
            }
            fields[key] = value
            return .dictionary(["streams": .array([.dictionary(fields)])])
        }
        var machine = machine()
        _ = statuses(&machine, [session])
        let cases: [(PropertyList, Int)] = [
            (altered("shk", nil), 400), (altered("shk", .data([1, 2])), 400), (altered("sr", .integer(48_000)), 400),
            (altered("spf", .integer(0)), 400), (altered("spf", .integer(.max)), 400), (altered("type", nil), 400),
            (altered("audioFormat", .integer(0x4_0001)), 415), (altered("audioFormat", .integer(0)), 415),
            (altered("type", .integer(110)), 415), (.dictionary(["streams": .array([])]), 400),
            (.dictionary(["streams": .string("96")]), 400),
        ]
        for (list, status) in cases { #expect(statuses(&machine, [request("SETUP", list)]) == [status], "\(list)") }
        var remote = self.machine()
        let only = PropertyList.dictionary(["timingProtocol": .string("None"), "isRemoteControlOnly": .bool(true)])
        #expect(statuses(&remote, [request("SETUP", only), stream()]) == [200, 415], "no sound without a clock")
    }

    @Test("A1 peers are addresses, or what has some", arguments: [true, false])
    func peers(extended: Bool) {
        var machine = machine()
        _ = statuses(&machine, [session])
        let one = PropertyList.dictionary(["Addresses": .array([.string("10.0.0.2"), .string("fe80::1")])])
        let list: PropertyList = extended ? .array([one]) : .array([.string("10.0.0.2"), .string("fe80::1")])
        let method = extended ? "SETPEERSX" : "SETPEERS"
        #expect(
            machine.answer(request(method, list), .init()).deeds == [.setPeers(["10.0.0.2", "fe80::1"])])
        let malformed: [PropertyList] = [
            .dictionary([:]), .array([.integer(1)]), .array(Array(repeating: .string("10.0.0.2"), count: 33)),
        ]
        for list in malformed { #expect(statuses(&machine, [request(method, list)]) == [400]) }
    }

    @Test("R8 records and /info say of each kind what real ones say")
    func records() {
        let book = PairingServerBook(name: "X")
        func text(_ change: (inout SimulatedAirPlay2Configuration) -> Void) -> (AirPlayFeatures, [String: String]) {
            var configuration = SimulatedAirPlay2Configuration(name: "X")
            change(&configuration)
            return (configuration.features, configuration.airPlayRecord(book))
        }
        let (all, record) = text { _ in }
        #expect(all.supportsAirPlay2 && all.contains([.ptp, .bufferedAudio, .transientPairing, .homeKitPairing]))
        #expect(AirPlayFeatures(text: record["features"] ?? "") == all)
        #expect(record["flags"] == "0x4" && record["pk"]?.utf8.count == 64 && record["acl"] == "0")
        #expect(record["deviceid"]?.split(separator: ":").count == 6)
        let (ntp, _) = text { $0.timing = [.ntp] }
        #expect(!ntp.contains(.ptp) && !ntp.contains(.bufferedAudio))
        let (pin, pinRecord) = text { $0.pairing = .code(.random) }
        #expect(!pin.contains(.transientPairing) && pin.supportsAirPlay2 && pinRecord["flags"] == "0xc")
        #expect(text { $0.pairing = .password("p") }.1["pw"] == "true")
        #expect(text { $0.pairing = .accessControl() }.1["acl"] == "1")
        let configuration = SimulatedAirPlay2Configuration(name: "X")
        let list = configuration.information(book, volume: -12.5, record: ["a": "b"])
        #expect(list["features"]?.integer == Int64(configuration.features.rawValue))
        #expect(list["initialVolume"] == .real(-12.5))
        #expect(list["txtAirPlay"]?.data == [3] + Array("a=b".utf8))
        #expect(list["supportedFormats"]?["audioStream"]?.integer == 0x3E_A800)
    }

    @Test("A1 paths are found in every way of writing a URL")
    func paths() {
        for (uri, path) in [
            ("rtsp://10.0.0.1/77", "/77"), ("/info", "/info"), ("/command?x=1", "/command"), ("rtsp://[::1]:7000", "/"),
            ("*", "*"), ("http://a/b/c", "/b/c"), ("", ""),
        ] { #expect(AirPlay2ServerMachine.path(uri) == path) }
    }
}
