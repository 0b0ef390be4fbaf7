import Foundation
import PeerSupport
import RouterTestKit
import Testing

@testable import SimulatedReceivers

/// The pairing server against senders that others wrote: pyatv, and a script on srptools and cryptography.
@Suite(.enabled(if: AirPlayPairingPeers.python != nil, "\(AirPlayPairingPeers.absence)"))
struct AirPlayPairingPeerTests {
    private func with<Result>(
        _ policy: PairingServerPolicy, _ body: (AirPlayPairingTestServer, Int) async throws -> Result
    ) async throws -> Result {
        let server = AirPlayPairingTestServer(policy)
        let port = try await server.start()
        do {
            let result = try await body(server, port)
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }

    // MARK: pyatv

    private struct PyatvResult: Decodable {
        var paired: String?
        var info: [Info]?
        var failure: String?
        /// What became of playing, paired and not.
        var with: String?
        var without: String?

        enum Info: Decodable, Equatable {
            case status(Int)
            case body(String)

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let number = try? container.decode(Int.self) {
                    self = .status(number)
                } else {
                    self = .body(try container.decode(String.self))
                }
            }
        }
    }

    private func pyatv(_ port: Int, _ arguments: String...) async throws -> PyatvResult {
        let script = AirPlayPairingPeers.folder.appending(path: "pairing_pyatv.py").path
        let outcome = try await Command.run(
            AirPlayPairingPeers.python ?? "python3", [script, "\(port)"] + arguments)
        guard outcome.status == 0 else { throw Command.Failed(message: outcome.errors) }
        return try JSONDecoder().decode(PyatvResult.self, from: Data(outcome.output.utf8))
    }

    @Test("R6 pyatv pairs with a code, verifies and speaks over the encrypted channel") func pyatvCode() async throws {
        try await with(.code(.fixed("0421"))) { server, port in
            let result = try await pyatv(port, "code", "0421")
            #expect(result.failure == nil)
            #expect(result.paired == "HAP")
            #expect(result.info == [.status(200), .body("admin")])
            let controllers = await server.book.controllers
            #expect(controllers.count == 1)
            let identifier = try #require(controllers.first?.identifier)
            #expect(
                await server.news == [
                    .showsCode("0421"), .showsCode("0421"), .paired(identifier), .hidesCode, .verified(identifier),
                ])
        }
    }

    @Test("R6 pyatv with another code fails, and the try is counted") func pyatvWrongCode() async throws {
        try await with(.code(.fixed("0421"))) { server, port in
            let result = try await pyatv(port, "code", "1240")
            #expect(result.failure != nil)
            #expect(await server.book.wrongTries == 1)
            #expect(await server.book.controllers.isEmpty)
        }
    }

    @Test("R6 a random code is told by the screen, and pyatv pairs with it") func pyatvRandomCode() async throws {
        try await with(.code(.random)) { server, port in
            let process = Process()
            process.executableURL = URL(filePath: AirPlayPairingPeers.python ?? "")
            process.arguments = [
                AirPlayPairingPeers.folder.appending(path: "pairing_pyatv.py").path, "\(port)", "code", "-",
            ]
            let (input, output) = (Pipe(), Pipe())
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            #expect(await eventually { await server.book.code != nil })
            let code = await server.book.code ?? ""
            #expect(code.count == 4 && code.allSatisfy(\.isNumber))
            try input.fileHandleForWriting.write(contentsOf: Data("\(code)\n".utf8))
            try input.fileHandleForWriting.close()
            #expect(await eventually(within: .seconds(30)) { !process.isRunning })
            let result = try JSONDecoder().decode(
                PyatvResult.self, from: output.fileHandleForReading.readDataToEndOfFile())
            #expect(result.failure == nil)
            #expect(result.info == [.status(200), .body("admin")])
            #expect(await server.book.code == nil)
        }
    }

    @Test("R6 pyatv pairs for one connection, and nobody is remembered") func pyatvTransient() async throws {
        try await with(.everybody) { server, port in
            let result = try await pyatv(port, "transient")
            #expect(result.failure == nil)
            #expect(result.info == [.status(200), .body("transient")])
            #expect(await server.news == [.pairedForConnection])
            #expect(await server.book.controllers.isEmpty)
        }
    }

    @Test("R6 pyatv is turned away by 470 and by 403 where transient pairing is not for everybody")
    func pyatvRefused() async throws {
        // What pyatv says of 403.
        for (policy, words) in [(PairingServerPolicy.code(.random), "470"), (.accessControl(), "not authenticated")] {
            try await with(policy) { _, port in
                let result = try await pyatv(port, "transient")
                #expect(result.info == nil)
                #expect(result.failure?.contains(words) == true)
            }
        }
    }

    @Test("R6 pyatv pairs in the older way with a code and verifies") func pyatvLegacy() async throws {
        try await with(.legacy(.code(.fixed("7361")))) { server, port in
            let result = try await pyatv(port, "legacy", "7361")
            #expect(result.failure == nil)
            #expect(result.paired == "Legacy")
            #expect(result.info == [.status(200), .body("legacy")])
            #expect(await server.book.legacyKeys.count == 1)
            let wrong = try await pyatv(port, "legacy", "7362")
            #expect(wrong.failure?.contains("470") == true)
        }
    }

    @Test("R6 A1 pyatv pairs with a speaker in the older way and plays to it, and does not play without")
    func pyatvSpeaker() async throws {
        let receiver = SimulatedRAOPReceiver(
            SimulatedRAOPConfiguration(
                name: "Third Generation", port: 0, pairing: .code(.fixed("2468")), latencyFrames: 0))
        let port = try await receiver.start()
        let result = try await pyatv(port, "raop", "2468")
        #expect(result.failure == nil)
        #expect(result.paired == "Legacy")
        #expect(result.with == "played")
        // What pyatv says of 403.
        #expect(result.without?.contains("not authenticated") == true)
        #expect(await receiver.pairings().legacyKeys.count == 1)
        #expect(await receiver.record().announcements.count == 1)
        await receiver.stop()
    }

    @Test("R6 a speaker that wants to be paired with refuses everything else before", arguments: ["http", "rtsp"])
    func speaker(_ spelling: String) async throws {
        let configuration = SimulatedRAOPConfiguration(
            name: "Third Generation", port: 0, pairing: .code(.fixed("0001")))
        #expect(configuration.txtRecord["sf"] == "0x204")
        #expect(configuration.txtRecord["pk"]?.count == 64)
        let receiver = SimulatedRAOPReceiver(configuration)
        let port = try await receiver.start()
        let steps = try await AirPlayPairingPeers.client(port, spelling, "speaker", "0001")
        #expect(steps["options before"] == "403")
        #expect(steps["pin-start"] == "200")
        #expect(steps["setup"] == "null")
        #expect(steps["options after setup"] == "403")
        #expect(steps["verify"] == "null")
        #expect(steps["options"] == "200")
        await receiver.stop()
    }

    // MARK: srptools and cryptography

    @Test("R6 setup, verify and frames in both spellings", arguments: ["http", "rtsp"])
    func code(_ spelling: String) async throws {
        try await with(.code(.fixed("1357"))) { _, port in
            let steps = try await AirPlayPairingPeers.client(port, spelling, "code", "1357")
            #expect(steps["pin-start"] == "200")
            #expect(steps["setup"] == "null")
            #expect(steps["verify"] == "null")
            #expect(steps["info"] == #"[200,"admin"]"#)
            #expect(steps["echo"] == "[200,5000]")
        }
    }

    @Test("R6 transient setup, and a password in place of what stands for the code", arguments: ["http", "rtsp"])
    func transient(_ spelling: String) async throws {
        try await with(.everybody) { _, port in
            let steps = try await AirPlayPairingPeers.client(port, spelling, "transient")
            #expect(steps["info before"] == #"[200,"stranger"]"#)
            #expect(steps["setup"] == "null")
            #expect(steps["info"] == #"[200,"transient"]"#)
        }
        try await with(.password("open sesame")) { server, port in
            let wrong = try await AirPlayPairingPeers.client(port, spelling, "transient")
            #expect(wrong["setup"] == #"{"error":2,"state":4}"#)
            #expect(await server.book.wrongTries == 1)
            let right = try await AirPlayPairingPeers.client(port, spelling, "transient", "open sesame")
            #expect(right["info"] == #"[200,"transient"]"#)
            #expect(await server.book.wrongTries == 0)
            // And pair-setup for good takes it too.
            let good = try await AirPlayPairingPeers.client(port, spelling, "code", "open sesame")
            #expect(good["info"] == #"[200,"admin"]"#)
        }
    }

    @Test("R6 wrong codes: back-off with its seconds, the tries come to an end, a restart begins anew")
    func tries() async throws {
        var policy = PairingServerPolicy.code(.fixed("1111"))
        policy.backOff = [0, 5, 30]
        policy.maximumTries = 4
        try await with(policy) { server, port in
            func tries(_ codes: [String]) async throws -> [String?] {
                var result: [String?] = []
                for code in codes {
                    result.append(try await AirPlayPairingPeers.client(port, "rtsp", "tries", code)[code])
                }
                return result
            }
            let wrong = #"{"error":2,"state":4}"#
            let round1 = try await tries(["2222", "3333"])
            #expect(round1 == [wrong, wrong])
            let round2 = try await tries(["1111"])
            #expect(round2 == [#"{"delay":5,"error":3,"state":2}"#])
            await server.advance(seconds: 3)
            let round3 = try await tries(["1111"])
            #expect(round3 == [#"{"delay":2,"error":3,"state":2}"#])
            await server.advance(seconds: 2)
            let round4 = try await tries(["4444"])
            #expect(round4 == [wrong])
            let round5 = try await tries(["1111"])
            #expect(round5 == [#"{"delay":30,"error":3,"state":2}"#])
            await server.advance(seconds: 30)
            let round6 = try await tries(["5555"])
            #expect(round6 == [wrong])
            await server.advance(seconds: 1000)
            let round7 = try await tries(["1111"])
            #expect(round7 == [#"{"error":5,"state":2}"#])
            await server.restart()
            let round8 = try await tries(["1111"])
            #expect(round8 == ["null"])
        }
    }

    @Test("R6 one pairs at a time, and a connection that is gone makes way") func busy() async throws {
        try await with(.code(.fixed("1111"))) { _, port in
            let steps = try await AirPlayPairingPeers.client(port, "rtsp", "busy", "1111")
            #expect(steps["first"] == "null")
            #expect(steps["second"] == #"{"error":7,"state":2}"#)
            #expect(steps["second again"] == "null")
        }
    }

    @Test("R6 controllers are added, listed and removed by an admin, and all go with the last one")
    func controllers() async throws {
        try await with(.code(.fixed("1111"))) { server, port in
            let steps = try await AirPlayPairingPeers.client(port, "rtsp", "controllers", "1111")
            let refused = #"{"error":2,"state":4}"#
            #expect(steps["setup"] == "null")
            #expect(steps["list without verify"] == "470")
            #expect(steps["guest before"] == refused)
            #expect(steps["verify"] == "null")
            #expect(steps["add"] == "null")
            #expect(steps["add another key"] == #"{"error":1,"state":2}"#)
            #expect(steps["list"] == #"[["admin","admin",1],["guest","guest",0]]"#)
            #expect(steps["guest"] == "null")
            #expect(steps["guest lists"] == #"{"error":2,"state":2}"#)
            #expect(steps["remove"] == "null")
            #expect(steps["remove again"] == "null")
            #expect(steps["guest after"] == refused)
            #expect(steps["add again"] == "null")
            #expect(steps["remove admin"] == "null")
            #expect(steps["admin after"] == refused)
            #expect(steps["guest without admin"] == refused)
            #expect(await server.book.controllers.isEmpty)
            let removed = await server.news.compactMap { if case .removed(let who) = $0 { who.count } else { nil } }
            #expect(removed == [1, 2])
        }
    }

    @Test("R6 the older pairing in both spellings, with a code and without", arguments: ["http", "rtsp"])
    func legacy(_ spelling: String) async throws {
        try await with(.legacy(.code(.fixed("0099")))) { _, port in
            let steps = try await AirPlayPairingPeers.client(port, spelling, "legacy_code", "0099")
            #expect(steps["pin-start"] == "200")
            #expect(steps["setup"] == "null")
            #expect(steps["verify"] == "null")
            #expect(steps["info"] == #"[200,"legacy"]"#)
            #expect(steps["stranger"] == #"{"status":470,"step":1}"#)
            let wrong = try await AirPlayPairingPeers.client(port, spelling, "legacy_code", "9900", "wrong")
            #expect(wrong["setup"] == #"{"status":470,"step":2}"#)
        }
        try await with(.legacy(.open)) { _, port in
            let steps = try await AirPlayPairingPeers.client(port, spelling, "legacy_open")
            #expect(steps["setup"] == "null")
            #expect(steps["verify"] == "null")
            #expect(steps["info"] == #"[200,"legacy"]"#)
            #expect(steps["stranger"] == #"{"status":470,"step":1}"#)
        }
    }

    @Test(
        "R6 each mistake made on purpose is seen by the other side",
        arguments: [
            (PairingServerStep.setup4, "wrong-proof", #"{"mistake":"proof"}"#),
            (.setup6, "wrong-signature", #"{"mistake":"signature"}"#),
            (.setup2, "status-403", #"{"status":403}"#),
            (.setup4, "error-3-30", #"{"delay":30,"error":3,"state":4}"#),
            (.setup6, "error-4", #"{"error":4,"state":6}"#),
            (.setup4, "close", #"{"status":0}"#),
        ])
    func setupFaults(_ step: PairingServerStep, _ fault: String, _ outcome: String) async throws {
        var policy = PairingServerPolicy.code(.fixed("1111"))
        let parsed: PairingServerFault = try #require(PairingServerFault(fault))
        policy.faults[step] = parsed
        try await with(policy) { _, port in
            let steps = try await AirPlayPairingPeers.client(port, "rtsp", "faulty", "1111", "setup")
            #expect(steps["setup"] == outcome)
        }
    }

    @Test(
        "R6 each mistake of pair-verify made on purpose is seen by the other side",
        arguments: [
            (PairingServerStep.verify2, "wrong-signature", #"{"mistake":"signature"}"#),
            (.verify2, "wrong-identity", #"{"mistake":"identity"}"#),
            (.verify2, "status-401", #"{"status":401}"#),
            (.verify4, "error-2", #"{"error":2,"state":4}"#),
            (.verify4, "close", #"{"status":0}"#),
        ])
    func verifyFaults(_ step: PairingServerStep, _ fault: String, _ outcome: String) async throws {
        var policy = PairingServerPolicy.code(.fixed("1111"))
        let parsed: PairingServerFault = try #require(PairingServerFault(fault))
        policy.faults[step] = parsed
        try await with(policy) { _, port in
            let steps = try await AirPlayPairingPeers.client(port, "rtsp", "faulty", "1111", "verify")
            #expect(steps["verify"] == outcome)
        }
    }

    @Test("R6 the numbers of SRP are what srptools makes of the same seeds") func vectors() async throws {
        let outcome = try await Command.run(
            AirPlayPairingPeers.python ?? "python3",
            [AirPlayPairingPeers.folder.appending(path: "pairing_vectors.py").path])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let kept = try String(
            contentsOf: AirPlayPairingPeers.folder.appending(path: "pairing_vectors.json"), encoding: .utf8)
        #expect(outcome.output == kept)
    }
}
