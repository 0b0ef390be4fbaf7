import Foundation
import PeerSupport
import RouterTestKit
import SimulatedReceivers
import Testing

/// One command to a house of simulated receivers over real sockets, judged by what they recorded.
@Suite("R1 R5 one command, several rooms")
struct HouseTests {
    @Test(
        "killing one room in the middle leaves the other playing to its end; exit 8 with both stories",
        arguments: ["Lounge", "Kitchen"])
    func oneRoomDies(_ victim: String) async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 10)
        let speaker = SimulatedRAOPReceiver(
            SimulatedRAOPConfiguration(name: "Kitchen", port: 0, recordingFolder: sound.folder))
        let raopPort = try await speaker.start()
        var configuration = SimulatedCastConfiguration(name: "Lounge", port: 0, httpPort: nil)
        configuration.recordingFolder = sound.folder
        let television = try SimulatedCastReceiver(configuration)
        let castPort = try await television.start().port
        let process = try RouterProcess([
            "play", file.path, "--device", "raop://127.0.0.1:\(raopPort)?name=Kitchen", "--device",
            "cast://127.0.0.1:\(castPort)?name=Lounge",
        ])
        #expect(await eventually { process.output.contains("Playing") })
        let heard = sound.folder.appendingPathComponent("\(victim).wav")
        #expect(
            await eventually {
                ((try? Recording.samples(wav: heard).count) ?? 0) > 2 * 44_100
            })
        if victim == "Lounge" { await television.stop() } else { await speaker.stop() }
        let result = await process.outcome()
        await speaker.stop()
        await television.stop()
        let survivor = victim == "Lounge" ? "Kitchen" : "Lounge"
        #expect(result.status == 8, "\(result.errors)")
        #expect(result.errors.contains("\(survivor): played"), "\(result.errors)")
        #expect(result.errors.contains("\(victim): failed"), "\(result.errors)")
        let recorded = try Recording.samples(wav: sound.folder.appendingPathComponent("\(survivor).wav"))
        let match = Recording.match(recorded, try await sound.samples(file))
        #expect(match.matching == match.frames, "\(match)")
    }

    @Test("R3 a room that speaks both falls back before sound, and says so")
    func fallback() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 3)
        var busy = SimulatedRAOPConfiguration(name: "Kitchen", port: 0)
        busy.faults.isBusy = true
        let speaker = SimulatedRAOPReceiver(busy)
        let raopPort = try await speaker.start()
        var configuration = SimulatedCastConfiguration(name: "Kitchen", port: 0, httpPort: nil)
        configuration.recordingFolder = sound.folder
        let television = try SimulatedCastReceiver(configuration)
        let castPort = try await television.start().port
        let result = try await RouterProcess.run([
            "play", file.path, "--device", "raop://127.0.0.1:\(raopPort)?name=Kitchen", "--device",
            "cast://127.0.0.1:\(castPort)?name=Kitchen", "--room", "Kitchen",
        ])
        await speaker.stop()
        await television.stop()
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("trying Google Cast"), "\(result.errors)")
        let heard = try Recording.samples(wav: sound.folder.appendingPathComponent("Kitchen.wav"))
        #expect(heard.count / 2 > 2 * 44_100)
    }

    @Test("Ctrl-C stops every room and exits 130")
    func interrupt() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 30)
        let speaker = SimulatedRAOPReceiver(SimulatedRAOPConfiguration(name: "Kitchen", port: 0))
        let port = try await speaker.start()
        let process = try RouterProcess(["play", file.path, "--device", "raop://127.0.0.1:\(port)?name=Kitchen"])
        #expect(await eventually { process.output.contains("Playing") })
        process.interrupt()
        let result = await process.outcome(within: .seconds(15))
        #expect(result.status == 130, "\(result.errors)")
        #expect(await eventually { await speaker.record().requests.contains("TEARDOWN") })
        await speaker.stop()
    }

    @Test("router demo hears both tones in all four rooms, and by one protocol only in the one that speaks both")
    func demo() async throws {
        let result = try await RouterProcess.run(["demo"])
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(result.output.contains("Sound really came out, in all four rooms"), "\(result.output)")
        #expect(result.output.contains("Bedroom is one device that speaks both"), "\(result.output)")
        #expect(result.output.contains("heard nothing, as it should"), "\(result.output)")
    }
}
