import ArgumentParser
import SimulatedReceivers
import Testing

@testable import RouterCommands

@Suite("R8 router simulate --airplay2: kinds and faults")
struct SimulateAirPlay2Tests {
    func plan(_ text: String, faults: [String] = [], password: String? = nil) throws -> SimulatedAirPlay2Configuration {
        var planner = SimulatePlanner(airPlay2: [try SimulatedAirPlay2Spec(parsing: text)], password: password)
        planner.faults = try faults.map(SimulatedFault.init(parsing:))
        return try #require(try planner.plan().airPlay2.first)
    }

    @Test("a name alone is a receiver of everything on port 7000 that lets everybody in")
    func plain() throws {
        let configuration = try plan("Kitchen")
        #expect(configuration.name == "Kitchen" && configuration.port == 7_000)
        #expect(configuration.pairing == .everybody && configuration.timing == [.ptp, .ntp])
        #expect(configuration.streams == [.realtime, .buffered, .data])
        #expect(configuration.recordOrder == .any && !configuration.ignoresCodecWord)
    }

    @Test("settings behind the question mark")
    func settings() throws {
        let tv = try plan(
            "TV@10.0.0.3:7001?pin=1234&timing=ptp&streams=buffered&record=silent-after&codec-word=ignored")
        #expect(tv.host == "10.0.0.3" && tv.port == 7_001)
        #expect(tv.pairing == .code(.fixed("1234")) && tv.timing == [.ptp] && tv.streams == [.buffered, .data])
        #expect(tv.recordOrder == .silentAfter && tv.ignoresCodecWord)
        #expect(try plan("A?pairing=pin").pairing == .code(.random))
        #expect(try plan("A?pairing=home").pairing == .accessControl())
        #expect(try plan("A?pairing=legacy&pin=4321").pairing == .legacy(.code(.fixed("4321"))))
        #expect(try plan("A?pairing=none").pairing.admitsStrangers)
        #expect(try plan("A?pairing=password", password: "p").pairing == .password("p"))
        let pair = try plan("A?tsid=T&gid=G&gpn=Den&igl=1")
        #expect(pair.pairID == "T" && pair.groupID == "G" && pair.groupName == "Den" && pair.leadsGroup)
    }

    @Test(
        "a setting that is none, or of a wrong value, is told with what there is",
        arguments: [
            ("A?", "A?x", "KEY=VALUE"), ("A", "A?colour=red", "pairing, pin"),
            ("A", "A?timing=sundial", "both, ptp, ntp"),
            ("A", "A?pin=12", "4 to 8 digits"), ("A", "A?pin=12a4", "4 to 8 digits"),
            ("A", "A?codec-word=maybe", "needed or ignored"), ("A", "A?igl=2", "leads its group"),
            ("A", "?timing=ptp", "name is empty"),
        ])
    func badSettings(_: String, text: String, part: String) {
        let error = #expect(throws: ValidationError.self) { try SimulatedAirPlay2Spec(parsing: text) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test("a receiver that wants a password is given one by ROUTER_PASSWORD, or not started")
    func password() {
        let error = #expect(throws: ValidationError.self) { try plan("A?pairing=password") }
        #expect(error?.message.contains("ROUTER_PASSWORD") == true)
    }

    @Test("faults of both generations, and of the second alone")
    func faults() throws {
        let configuration = try plan(
            "A",
            faults: [
                "lose=3", "lost-sync=2", "no-resend", "cseq=wrong", "challenge", "negative-ports", "close=30",
                "status=/command/501", "A:status=SETUP/453", "ntp-ignored", "deaf", "late-events=2", "early-volume",
                "anchor-refused=3", "no-feedback", "pairing-setup-2=error-3-30x2", "press@3=pause", "A:press@4=next",
            ])
        let faults = configuration.faults
        #expect(faults.dropAudio == 0.03 && faults.dropSyncs == 2 && faults.ignoresGaps)
        #expect(faults.sequenceHeader == .wrong && faults.extraChallenges == 1 && faults.writesNegativePorts)
        #expect(faults.closesAfterSeconds == 30 && faults.refusals == ["/command": 501, "SETUP": 453])
        #expect(faults.ignoresNTP && faults.isDeafToPTP && faults.eventPortDelay == 2 && faults.refusesEarlyVolume)
        #expect(faults.anchorRefusals == 3 && faults.ignoresFeedback)
        #expect(
            configuration.pairing.faults[.setup2]
                == PairingServerFault(.error(.backOff, retryAfter: 30), times: 2))
        #expect(configuration.buttons == [.init(after: 3, .pause), .init(after: 4, .next)])
        let speaker = try SimulatePlanner(
            raop: [SimulatedReceiverSpec(name: "B")],
            faults: ["lost-sync", "cseq=missing", "press@1=volume-up"].map(SimulatedFault.init(parsing:))
        ).plan().raop[0]
        #expect(speaker.faults.dropSyncs == 1 && speaker.faults.sequenceHeader == .missing)
        #expect(speaker.buttons == [.init(after: 1, .volumeUp)])
    }

    @Test(
        "a fault of a wrong value, or of another kind of receiver, is told",
        arguments: [
            ("cseq=odd", "cseq=missing"), ("lost-sync=0", "lost-sync=1"), ("close", "close=30"),
            ("status=SETUP", "status=SETUP/453"), ("status=/200", "status=SETUP/453"), ("deaf=1", "takes no value"),
            ("pairing-setup-9=hang", "no step of pairing"), ("pairing-setup-2=fire", "needs a fault"),
            ("press@3=self-destruct", "needs a button"), ("press@soon=play", "not a time"),
            ("load-failed", "is a fault of --cast receivers"),
        ])
    func badFaults(text: String, part: String) {
        let error = #expect(throws: ValidationError.self) { try plan("A", faults: [text]) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test("a device of two kinds has two recordings; two receivers of one name are refused")
    func names() throws {
        let plan = try SimulatePlanner(
            raop: [SimulatedReceiverSpec(name: "A")], airPlay2: [SimulatedAirPlay2Spec(name: "A")]
        ).plan()
        #expect(plan.raop[0].recordingName == "A-raop" && plan.airPlay2[0].recordingName == "A-airplay2")
        #expect(throws: ValidationError.self) {
            try SimulatePlanner(airPlay2: [SimulatedAirPlay2Spec(name: "A"), SimulatedAirPlay2Spec(name: "A")]).plan()
        }
        #expect(
            SimulateArguments.complete(["simulate", "--airplay2"]) == ["simulate", "--airplay2", "Simulated AirPlay 2"])
    }
}
