import ArgumentParser
import Foundation
import RouteModel
import RouterDaemon
import Synchronization
import Testing

@testable import RouterCommands

@Suite("R6 router doctor: what it finds, how it says so, and its exit status")
struct DoctorTests {
    private static let name = "Living Room"

    private static func endpoint(
        _ proto: RouteProtocol = .airplay2, access: RouteAccess = .open, busyWith: String? = nil
    ) -> Endpoint {
        Endpoint(
            id: EndpointID(rawValue: "\(proto.rawValue):1"), protocol: proto, name: name, host: "10.0.0.9", port: 7000,
            firmware: "17.4", access: access, busyWith: busyWith, origin: .discovered)
    }

    private static func choice(_ endpoints: [Endpoint], usable: Bool = true) -> RouteChoice {
        RouteChoice(
            route: RouteID(rawValue: "rt-1"), name: name,
            candidates: endpoints.map {
                RouteChoice.Candidate(
                    endpoint: $0, usable: usable, reasons: usable ? [] : ["it takes no sound"], losses: [])
            })
    }

    private static func member(
        proof: PlayingProof? = nil, delivery: DeliveryStatistics? = sent(900),
        error: RouterError? = nil
    ) -> SessionMember {
        SessionMember(
            route: RouteID(rawValue: "rt-1"), name: name, endpoint: EndpointID(rawValue: "airplay2:1"),
            protocol: .airplay2, connection: .connected, media: .playing, error: error, delivery: delivery, proof: proof
        )
    }

    /// - Parameter late: microseconds.
    private static func sent(_ count: Int, again: Int = 0, late: Int = 900) -> DeliveryStatistics {
        DeliveryStatistics(
            packetsSent: count, packetsResent: again, packetsMissed: 0, latenessMedianMicroseconds: 50,
            latenessMaximumMicroseconds: late)
    }

    /// What is found of a device that played so.
    private static func findings(
        _ member: SessionMember, access: RouteAccess = .open, told: [RouterEvent.Body] = []
    ) async -> [Finding] {
        var over = Samples.session(members: [member])
        over.connection = .ended
        var script = ScriptedRouter.Script()
        script.choices = .success([choice([endpoint(access: access)])])
        script.played = .success(Samples.session(members: [member]))
        script.told = told + [.session(Samples.session(members: [member])), .session(over)]
        return await examine(script)
    }

    private static func examine(_ script: ScriptedRouter.Script) async -> [Finding] {
        let findings = Mutex<[Finding]>([])
        let router = ScriptedRouter(script)
        await DeviceDoctor(control: router, silent: true).examine(name) { finding in
            findings.withLock { $0.append(finding) }
        }
        return findings.withLock { $0 }
    }

    @Test("a healthy device: found, connected, let in, told the time, sent to and heard")
    func healthy() async {
        let proof = PlayingProof(.known, "Living Room follows our clock", timing: "it asks for our time")
        let findings = await Self.findings(Self.member(proof: proof))
        #expect(findings.map(\.check) == ["found", "connection", "pairing", "timing", "sending", "sound"])
        #expect(findings.allSatisfy { $0.result == .ok }, "\(findings)")
        #expect(findings[1].message.contains("10.0.0.9:7000"))
    }

    @Test("no clock, no sound: both are failures, and the firewall's rule stands once")
    func silent() async {
        let proof = PlayingProof(.doubtful, "it never asks for our time", hint: "Let it in: ufw allow …")
        let findings = await Self.findings(Self.member(proof: proof))
        #expect(findings.filter { $0.result == .failed }.map(\.check) == ["timing", "sound"])
        #expect(findings.compactMap(\.cure) == ["Let it in: ufw allow …"])
    }

    @Test("losses and lateness are warnings with a cure; nothing sent at all is a failure")
    func sending() async {
        let proof = PlayingProof(.known, "it plays", timing: "it asks")
        let cases: [(DeliveryStatistics, Finding.Result)] = [
            (Self.sent(900, again: 50), .warning),
            (Self.sent(900, late: 300_000), .warning),
            (Self.sent(900, late: 100_000), .ok),
            (Self.sent(0), .failed),
        ]
        for (delivery, result) in cases {
            let findings = await Self.findings(Self.member(proof: proof, delivery: delivery))
            let sending = findings.first { $0.check == "sending" }
            #expect(sending?.result == result, "\(delivery)")
            #expect((sending?.cure == nil) == (result == .ok))
        }
    }

    @Test("a room that fetches has no clock to speak of")
    func fetching() async {
        let findings = await Self.findings(Self.member(delivery: nil))
        #expect(findings.map(\.check) == ["found", "connection", "pairing", "sound"])
        #expect(findings.last?.result == .ok)
    }

    @Test("an error of the play is told with its causes, and its code is what the process exits by")
    func playFails() async {
        var script = ScriptedRouter.Script()
        script.choices = .success([Self.choice([Self.endpoint(access: .pin)])])
        script.played = .failure(
            RouterError(.authRequired, "it wants to be paired", hint: "Run router pair", causes: ["470"]))
        let findings = await Self.examine(script)
        #expect(findings.map(\.check) == ["found", "pairing", "connection"])
        #expect(findings[1].cure == "Run: router pair 'Living Room'")
        #expect(findings[2].message == "it wants to be paired (470)")
        #expect(findings[2].code == .authRequired)
        #expect(await Self.status(findings) == 4)
    }

    @Test("one that is not there, has no way, or is busy")
    func notPlayed() async {
        var script = ScriptedRouter.Script()
        script.choices = .failure(RouterError(.routeNotFound, "no such room"))
        #expect(await Self.status(Self.examine(script)) == 3)
        script.choices = .success([Self.choice([Self.endpoint()], usable: false)])
        let unusable = await Self.examine(script)
        #expect(unusable.map(\.result) == [.skipped, .failed])
        #expect(await Self.status(unusable) == 6)
        script.choices = .success([Self.choice([Self.endpoint(busyWith: "Radio")])])
        let busy = await Self.examine(script)
        #expect(busy.map(\.result) == [.ok, .skipped])
        #expect(busy.last?.message.contains("Radio") == true)
        #expect(await Self.status(busy) == 0)
    }

    @Test("each family of ways is tried once, and warnings on the way are told")
    func families() async {
        var script = ScriptedRouter.Script()
        script.choices = .success([Self.choice([Self.endpoint(), Self.endpoint(.raop), Self.endpoint(.cast)])])
        var over = Samples.session(members: [Self.member(delivery: nil)])
        over.connection = .ended
        script.played = .success(over)
        script.told = [.notice(Notice(.warning, "AirPlay 2 failed, trying AirPlay 1")), .session(over)]
        let router = ScriptedRouter(script)
        let warnings = Mutex(0)
        await DeviceDoctor(control: router, silent: true).examine(Self.name) { finding in
            if finding.result == .warning { warnings.withLock { $0 += 1 } }
        }
        #expect(router.requests.map(\.via) == [.airplay, .cast])
        #expect(warnings.withLock { $0 } == 2)
        // The tone is gone again.
        for request in router.requests { #expect(!FileManager.default.fileExists(atPath: request.what[0])) }
    }

    @Test("without Avahi discovery fails, and is no more than a warning for a device named by URI")
    func discovery() async {
        var script = ScriptedRouter.Script()
        script.discovery = [
            DiscoveryState(source: "mDNS", status: .unavailable, message: "no daemon", hint: "Start it")
        ]
        let doctor = DeviceDoctor(control: ScriptedRouter(script), silent: true)
        let failed = await doctor.discovery(stated: false)
        #expect(failed.map(\.result) == [.failed] && failed[0].code == .dependencyMissing)
        #expect(await doctor.discovery(stated: true).map(\.result) == [.warning])
        let none = await DeviceDoctor(control: ScriptedRouter(.init()), silent: true).discovery(stated: false)
        #expect(none.map(\.result) == [.warning] && none[0].cure?.contains("5353") == true)
    }

    private static func status(_ findings: [Finding]) async -> Int32 {
        guard let options = try? GlobalOptions.parse(["-o", "json"]) else { return -1 }
        let report = DoctorReport(options: options)
        for finding in findings { await report.add(finding) }
        return await report.status
    }

    @Test("lines: aligned for people, tabs in plain, nothing that went well in quiet, no colour but where asked")
    func lines() throws {
        let good = Finding("clock", .ok, "it\u{1b}[31m ticks")
        let bad = Finding("timing", .failed, "it stands", cure: "Wind it up")
        let table = try GlobalOptions.parse([])
        #expect(DoctorReport.lines(good, table) == ["ok   clock          it [31m ticks"])
        #expect(DoctorReport.lines(bad, table) == ["FAIL timing         it stands", "     cure: Wind it up"])
        let plain = try GlobalOptions.parse(["-o", "plain"])
        #expect(DoctorReport.lines(bad, plain) == ["failed\ttiming\tit stands\tWind it up"])
        let quiet = try GlobalOptions.parse(["-q"])
        #expect(DoctorReport.lines(good, quiet).isEmpty && DoctorReport.lines(bad, quiet).count == 2)
        let coloured = try GlobalOptions.parse(["--color", "always"])
        #expect(DoctorReport.lines(bad, coloured)[0].hasPrefix("\u{1b}[31mFAIL\u{1b}[0m timing"))
    }

    @Test("a finding as JSON has its code by name")
    func json() throws {
        let finding = Finding("found", RouterError(.routeNotFound, "no such room", hint: "Look"))
        let text = try Renderer.jsonLine(finding)
        #expect(
            text
                == #"{"check":"found","code":"routeNotFound","cure":"Look","message":"no such room","result":"failed"}"#
        )
    }

    @Test("the tone is one quiet second with soft edges, then silence; silent, it is silence alone")
    func tone() {
        let wav = ToneFile.wav(silent: false)
        let samples = stride(from: 44, to: wav.count, by: 4).map { offset in
            Int16(bitPattern: UInt16(wav[offset]) | UInt16(wav[offset + 1]) << 8)
        }
        #expect(samples.count == ToneFile.rate * (ToneFile.toneSeconds + ToneFile.silenceSeconds))
        #expect((500...700).contains(samples.max() ?? 0))
        #expect(samples.prefix(20).allSatisfy { abs($0) < 30 })
        #expect(samples.dropFirst(ToneFile.rate * ToneFile.toneSeconds).allSatisfy { $0 == 0 })
        #expect(ToneFile.wav(silent: true).dropFirst(44).allSatisfy { $0 == 0 })
    }
}
