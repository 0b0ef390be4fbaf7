import CastBackend
import Foundation
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
        let device = try SimulatedCastReceiver(
            SimulatedCastConfiguration(name: "Cycles", port: 0, httpPort: nil))
        let port = try await device.start().port
        let file = try SoundFile(seconds: 30)
        let server = try PeerProgram("range_file_server.py", [file.path, "audio/x-wav"])
        let url = "http://127.0.0.1:\(try await server.start())/media"
        let provider = CastProvider()
        let endpoint = try provider.endpoint(from: DeviceURI("cast://127.0.0.1:\(port)?name=Cycles"))

        var before = Footprint()
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
            // Every other time the app is left running, so that the next cycle joins it.
            if cycle % 2 == 0 { _ = try await session.perform(.stop) }
            await session.end(cycle % 2 == 0 ? .leave : .stop)
            if cycle % 2 == 1 { await device.appCrashes() }
            if cycle == warm { before = try await Footprint.settled() }
        }
        let after = try await Footprint.settled(like: before)
        print("\(count) cycles, \(joined) joined: \(before) after \(warm), \(after) at the end")
        #expect(joined == (count - 1) / 2)
        #expect(after.threads <= before.threads)
        #expect(after.descriptors <= before.descriptors)
        // Receiver and sender are both in here; 4 KiB a cycle would already be too much.
        #expect(after.residentBytes - before.residentBytes < max(4 << 20, (count - warm) * 4_096))

        await server.stop()
        withExtendedLifetime(file) {}
        await device.stop()
    }
}

/// What this process holds on to.
private struct Footprint: CustomStringConvertible {
    var residentBytes = 0
    var threads = 0
    var descriptors = 0

    init() {}

    static func now() throws -> Footprint {
        var result = Footprint()
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        for line in status.split(separator: "\n") {
            let number = Int(line.filter(\.isNumber)) ?? 0
            if line.hasPrefix("VmRSS:") { result.residentBytes = number * 1_024 }
            if line.hasPrefix("Threads:") { result.threads = number }
        }
        result.descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        return result
    }

    /// Once what was just closed is closed; at most as much as `other` where that can be waited for.
    static func settled(like other: Footprint? = nil) async throws -> Footprint {
        if let other {
            _ = await eventually {
                guard let now = try? Footprint.now() else { return false }
                return now.descriptors <= other.descriptors && now.threads <= other.threads
            }
        } else {
            var last = -1
            _ = await eventually {
                defer { last = (try? Footprint.now().descriptors) ?? -1 }
                return last == (try? Footprint.now().descriptors)
            }
        }
        return try now()
    }

    var description: String {
        "\(residentBytes >> 20) MiB, \(threads) threads, \(descriptors) descriptors"
    }
}
