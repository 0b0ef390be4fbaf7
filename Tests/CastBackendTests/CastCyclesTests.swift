import CastBackend
import CastV2
import Foundation
import Logging
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

/// The same evening over and over, against a receiver that answers at once: nothing fails and nothing is left behind.
@Suite(.enabled(if: PeerProgram.absence == nil, "\(PeerProgram.absence ?? "")"), .timeLimit(.minutes(30)))
struct CastCyclesTests {
    @Test("C3 C7 C8 connect, launch or join, load, pause, seek, volume, stop: again and again") func cycles()
        async throws
    {
        let long = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1"
        let count = long ? 1_000 : 20
        // By then every pool has its threads and every cache its size.
        let warm = long ? 100 : 8
        let device = try RouterProcess(["simulate", "--cast", "--port", "0"])
        let port = try await Self.port(of: device)
        let file = try SoundFile(seconds: 30)
        let server = try PeerProgram("range_file_server.py", [file.path, "audio/x-wav"])
        let url = "http://127.0.0.1:\(try await server.start())/media"
        let provider = CastProvider()
        let endpoint = try provider.endpoint(from: DeviceURI("cast://127.0.0.1:\(port)?name=Cycles"))

        var before: (sender: Footprint, receiver: Footprint)?
        var joined = 0
        for cycle in 1...count {
            let session = try await provider.open(endpoint, options: OpenOptions())
            if session.descriptor.joined { joined += 1 }
            let media = PullMedia(
                token: .random(), url: url, contentType: "audio/x-wav", live: false,
                metadata: MediaMetadata(kind: .music, title: "Cycle \(cycle)"), start: .zero)
            try await session.load(.pull(media), timeline: nil, autoplay: true)
            #expect(try await session.perform(.pause) == .succeeded, "pause, cycle \(cycle)")
            let outcome = try await session.perform(.seek(to: MediaTime(seconds: 10), resume: true))
            #expect(outcome == .succeeded, "seek, cycle \(cycle)")
            try await session.setVolume(VolumeState(level: VolumePosition(cycle % 2 == 0 ? 0.4 : 0.5)))
            #expect(try await session.perform(.stop) == .succeeded, "stop, cycle \(cycle)")
            // Every other time the app is left running, so that the next cycle joins it.
            await session.end(.leave)
            if cycle % 2 == 0 { try await stopApp(port: port) }
            if cycle == warm {
                before = (
                    try await .settled(process: "self"), try await .settled(process: "\(device.processIdentifier)")
                )
            }
        }
        let start = try #require(before)
        let end = (
            sender: try await Footprint.settled(process: "self", atMost: start.sender),
            receiver: try await Footprint.settled(process: "\(device.processIdentifier)", atMost: start.receiver)
        )
        print("\(count) cycles, \(joined) joined")
        print("sender:   \(start.sender) after \(warm) cycles, \(end.sender) at the end")
        print("receiver: \(start.receiver) after \(warm) cycles, \(end.receiver) at the end")
        #expect(joined == count / 2)
        for (before, after) in [(start.sender, end.sender), (start.receiver, end.receiver)] {
            #expect(after.threads <= before.threads)
            #expect(after.descriptors <= before.descriptors)
            #expect(after.residentBytes - before.residentBytes < max(4 << 20, (count - warm) * 4_096))
        }
        device.interrupt()
        _ = await device.outcome()
        await server.stop()
        withExtendedLifetime(file) {}
    }

    private static func port(of device: RouterProcess) async throws -> Int {
        struct Line: Decodable { var port: Int }
        #expect(await eventually { device.output.contains("\n") || !device.isRunning })
        let line = try #require(device.output.split(separator: "\n").first, "\(device.errors)")
        return try JSONDecoder().decode(Line.self, from: Data(line.utf8)).port
    }

    /// As a remote control would.
    private func stopApp(port: Int) async throws {
        let host = SystemHostClock()
        let session = try await CastSession.connect(
            CastSession.Configuration(host: "127.0.0.1", port: port),
            clock: CastClock(now: { host.now() }, sleepUntil: { try await host.sleep(until: $0) }),
            logger: Logger(label: "test"))
        _ = try CastSession.value(of: await session.request(.receiver(.stop(sessionID: nil))).result())
        await session.end(stopApp: false)
    }
}

/// What a process holds on to.
private struct Footprint: CustomStringConvertible {
    var residentBytes = 0
    var threads = 0
    var descriptors = 0

    init() {}

    static func now(process: String) throws -> Footprint {
        var result = Footprint()
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        for line in status.split(separator: "\n") {
            let number = Int(line.filter(\.isNumber)) ?? 0
            if line.hasPrefix("VmRSS:") { result.residentBytes = number * 1_024 }
            if line.hasPrefix("Threads:") { result.threads = number }
        }
        result.descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        return result
    }

    /// Once what was just closed is closed: at most as much as `bound`, or the same twice.
    static func settled(process: String, atMost bound: Footprint? = nil) async throws -> Footprint {
        var last = bound?.descriptors ?? -1
        _ = await eventually {
            guard let now = try? Footprint.now(process: process) else { return false }
            defer { if bound == nil { last = now.descriptors } }
            return bound.map { now.descriptors <= last && now.threads <= $0.threads } ?? (now.descriptors == last)
        }
        return try now(process: process)
    }

    var description: String {
        "\(residentBytes >> 20) MiB, \(threads) threads, \(descriptors) descriptors"
    }
}
