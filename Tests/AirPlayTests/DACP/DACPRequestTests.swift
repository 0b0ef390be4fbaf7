import Testing

@testable import AirPlay

@Suite("A10 DACP requests and answers")
struct DACPRequestTests {
    static func request(
        _ target: String, method: String = "GET", remote: String? = "77"
    ) -> RTSPRequest {
        RTSPRequest(
            method: method, uri: "/ctrl-int/1/" + target, version: .http11,
            headers: remote.map { ["Active-Remote": $0] } ?? [:])
    }

    @Test(
        "every command by its name",
        arguments: [
            ("play", AirPlayRemoteCommand.play), ("pause", .pause), ("discrete-pause", .pause), ("playpause", .toggle),
            ("stop", .stop), ("nextitem", .next), ("previtem", .previous), ("beginff", .beginFastForward),
            ("beginrew", .beginRewind), ("playresume", .endSearch), ("volumeup", .volumeUp),
            ("volumedown", .volumeDown), ("mutetoggle", .muteToggle), ("shuffle_songs", .toggleShuffle),
            ("setproperty?dmcp.device-volume=-12.500000", .setDeviceVolume(-12.5)),
            ("setproperty?dmcp.device-volume=-144.000000", .setDeviceVolume(-144)),
            ("setproperty?dmcp.volume=40", .setVolumePercent(40)),
            ("setproperty?speaker-id=0&dmcp.volume=40.0", .setVolumePercent(40)),
            ("setproperty?dmcp.device-prevent-playback=1", .preventPlayback(true)),
            ("setproperty?device-prevent-playback=0", .preventPlayback(false)),
            ("setproperty?dacp.playingtime=61500", .seek(to: 61.5)),
            ("setproperty?dacp.shufflestate=1", .setShuffle(true)),
            ("setproperty?dacp.repeatstate=2", .setRepeat(.all)),
            ("setproperty?dmcp%2Evolume=%34%30", .setVolumePercent(40)),
        ])
    func commands(target: String, command: AirPlayRemoteCommand) throws {
        let request = try DACPRequest(Self.request(target))
        #expect(request.content == .command(command))
        #expect(request.activeRemote == 77)
    }

    @Test("what can be asked")
    func questions() throws {
        #expect(
            try DACPRequest(Self.request("getproperty?properties=dmcp.volume,dacp.playerstate")).content
                == .properties(["dmcp.volume", "dacp.playerstate"]))
        #expect(
            try DACPRequest(Self.request("playstatusupdate?revision-number=12")).content == .status(revision: 12))
        #expect(try DACPRequest(Self.request("playstatusupdate")).content == .status(revision: 1))
        #expect(try DACPRequest(Self.request("getspeakers")).content == .speakers)
    }

    @Test(
        "bad input, each with its status",
        arguments: [
            ("", 404), ("reboot", 404), ("../server-info", 404), ("setproperty", 501), ("setproperty?", 501),
            ("setproperty?dmcp.unknown=1", 501), ("setproperty?dmcp.volume=", 400),
            ("setproperty?dmcp.volume=101", 400), ("setproperty?dmcp.volume=-1", 400),
            ("setproperty?dmcp.volume=nan", 400), ("setproperty?dmcp.volume=inf", 400),
            ("setproperty?dmcp.device-volume=1e400", 400), ("setproperty?dmcp.device-volume=6", 400),
            ("setproperty?dmcp.device-prevent-playback=yes", 400), ("setproperty?dacp.repeatstate=3", 400),
            ("setproperty?dacp.playingtime=-5", 400), ("getproperty", 400), ("getproperty?properties=", 400),
            ("getproperty?properties=" + String(repeating: "a", count: 3000), 400),
        ])
    func badInput(target: String, status: Int) {
        let refusal = #expect(throws: DACPRefusal.self) { try DACPRequest(Self.request(target)) }
        #expect(refusal?.rawValue == status, "\(target)")
    }

    @Test("other methods and other paths")
    func elsewhere() {
        #expect(throws: DACPRefusal.methodNotAllowed) { try DACPRequest(Self.request("play", method: "DELETE")) }
        #expect(throws: DACPRefusal.unknownCommand) {
            try DACPRequest(RTSPRequest(method: "GET", uri: "/", version: .http11))
        }
    }

    // MARK: The desk

    /// A desk that can be asked inside an expectation.
    private final class Desk {
        private var desk = DACPDesk()
        func open(_ remote: UInt32) { desk.open(remote) }
        func close(_ remote: UInt32) -> [(waiter: Int, answer: RTSPResponse)] { desk.close(remote) }
        func forget(_ waiter: Int) { desk.forget(waiter) }
        @discardableResult
        func report(_ status: DACPStatus, of remote: UInt32) -> [(waiter: Int, answer: RTSPResponse)] {
            desk.report(status, of: remote)
        }
        func take(
            _ request: RTSPRequest, waiter: Int
        ) -> (answer: DACPDesk.Answer, command: (AirPlayRemoteCommand, session: UInt32)?) {
            desk.take(request, waiter: waiter)
        }
    }

    @Test("a wrong Active-Remote, or none, is refused with 403 and does nothing")
    func wrongRemote() throws {
        let desk = Desk()
        desk.open(77)
        for remote in [nil, "", "78", "77x", "-77", "4294967296", "0x4d"] {
            let (answer, command) = desk.take(Self.request("pause", remote: remote), waiter: 1)
            guard case .now(let response) = answer else {
                Issue.record("no answer")
                continue
            }
            #expect(response.status == 403, "\(remote ?? "none")")
            #expect(command == nil)
        }
    }

    @Test("two sessions: each command goes to the one whose number it names, and to none once it is closed")
    func sessions() throws {
        let desk = Desk()
        desk.open(77)
        desk.open(78)
        let (answer, command) = desk.take(Self.request("nextitem", remote: "78"), waiter: 1)
        #expect(answer == .now(RTSPResponse(version: .http11, status: 204, reason: "No Content")))
        #expect(command?.0 == .next)
        #expect(command?.session == 78)
        _ = desk.close(78)
        let late = desk.take(Self.request("nextitem", remote: "78"), waiter: 1)
        #expect(late.command == nil)
    }

    private func body(_ answer: DACPDesk.Answer) throws -> DMAPItem {
        guard case .now(let response) = answer else { throw DACPRefusal.malformed }
        #expect(response.status == 200)
        #expect(response.headers["Content-Type"] == "application/x-dmap-tagged")
        return try #require(try DMAPDecoder().decode(response.body).first)
    }

    @Test("volume, state and speakers as DMAP")
    func answers() throws {
        let desk = Desk()
        desk.open(77)
        _ = desk.report(
            DACPStatus(
                playing: .paused, volumePercent: 35, name: "Küche", shuffle: true, repeatMode: .all, title: "東京"),
            of: 77)
        let properties = try body(
            desk.take(Self.request("getproperty?properties=dmcp.volume,nonsense"), waiter: 1).answer)
        #expect(properties.tag == "cmgt")
        #expect(properties["mstt"]?.number == 200)
        #expect(properties["cmvo"]?.number == 35)
        let status = try body(desk.take(Self.request("playstatusupdate?revision-number=1"), waiter: 1).answer)
        #expect(status.tag == "cmst")
        #expect(status["caps"]?.number == 3)
        #expect(status["cash"]?.number == 1)
        #expect(status["carp"]?.number == 2)
        #expect(status["cann"]?.text == "東京")
        let speakers = try body(desk.take(Self.request("getspeakers"), waiter: 1).answer)
        #expect(speakers.tag == "casp")
        #expect(speakers["mdcl"]?["minm"]?.text == "Küche")
        #expect(speakers["mdcl"]?["cmvo"]?.number == 35)
        let unknown = desk.take(Self.request("getproperty?properties=dmcp.nothing"), waiter: 1).answer
        #expect(unknown == .now(RTSPResponse(version: .http11, status: 501, reason: "Not Implemented")))
    }

    @Test("shuffle and repeat that nobody knows are not told: shairport-sync would say them back as a command")
    func unknownOrder() throws {
        let desk = Desk()
        desk.open(77)
        let status = try body(desk.take(Self.request("playstatusupdate?revision-number=1"), waiter: 1).answer)
        #expect(status["cash"] == nil)
        #expect(status["carp"] == nil)
        let asked = desk.take(Self.request("getproperty?properties=dacp.repeatstate"), waiter: 1).answer
        #expect(asked == .now(RTSPResponse(version: .http11, status: 501, reason: "Not Implemented")))
    }

    @Test("a question under the newest revision is answered when something changes, and not before")
    func waiting() throws {
        let desk = Desk()
        desk.open(77)
        let revision = try #require(
            try body(desk.take(Self.request("playstatusupdate?revision-number=1"), waiter: 1).answer)["cmsr"]?.number)
        let ask = Self.request("playstatusupdate?revision-number=\(revision)")
        #expect(desk.take(ask, waiter: 5).answer == .later)
        let same = desk.report(DACPStatus(), of: 77)
        #expect(same.isEmpty, "nothing has changed")
        let answers = desk.report(DACPStatus(playing: .playing), of: 77)
        #expect(answers.map(\.waiter) == [5])
        let newer = try body(.now(try #require(answers.first?.answer)))
        #expect(newer["cmsr"]?.number == revision + 1)
        #expect(newer["caps"]?.number == 4)
    }

    @Test("no more than a few wait: the next is answered at once; who has gone is not answered")
    func waitingLimit() throws {
        let desk = Desk()
        desk.open(77)
        let ask = Self.request("playstatusupdate?revision-number=2")
        for waiter in 0..<DACPDesk.waitingLimit { #expect(desk.take(ask, waiter: waiter).answer == .later) }
        #expect(desk.take(ask, waiter: 99).answer != .later)
        desk.forget(0)
        #expect(desk.report(DACPStatus(volumePercent: 1), of: 77).count == DACPDesk.waitingLimit - 1)
    }

    @Test("closing a session answers those who wait")
    func closing() {
        let desk = Desk()
        desk.open(77)
        _ = desk.take(Self.request("playstatusupdate?revision-number=2"), waiter: 3)
        #expect(desk.close(77).map(\.answer.status) == [403])
    }
}
