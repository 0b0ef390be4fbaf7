import AirPlayBackend
import Foundation
import Logging
import Media
import Pacing
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

@testable import RouterCore

/// Rooms heard by what comes out of them: two real shairport-sync 3.3.8 against each other, and simulated speakers
/// against each other by the clock of what they played. Never across: 3.3.8 writes a second early.
@Suite("R5 rooms in time, by their sound", .serialized, .timeLimit(.minutes(15)))
struct GroupsInTimeTests {
    private static var isLong: Bool { ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1" }

    /// A real engine that plays to devices by their addresses.
    private struct Rig {
        let engine: RouterEngine
        let media: MediaLibrary
        let running: Task<Void, Never>

        init(_ devices: [(name: String, port: Int)], offsets: [String: Int] = [:]) throws {
            let clock = SystemHostClock()
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            media = MediaLibrary(configuration: MediaConfiguration(serverPort: 0), clock: clock, logger: logger)
            let provider = AirPlayProvider(clock: clock, pacer: try Pacer(), logger: logger)
            let stated = try devices.map { device in
                try provider.endpoint(from: DeviceURI("raop://127.0.0.1:\(device.port)?name=\(device.name)"))
            }
            let rooms = offsets.map { name, offset in
                Room(name: name, devices: [name], offsetMilliseconds: offset, configured: true)
            }
            let engine = RouterEngine(
                providers: [provider], browsing: nil, media: media, store: InMemoryStore(), clock: clock,
                configuration: EngineConfiguration(rooms: rooms, stated: stated))
            self.engine = engine
            running = Task { await engine.run() }
        }

        func end() async {
            await engine.shutdown()
            await running.value
            await media.stop()
        }
    }

    private static func tone(_ seconds: Int) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("groups-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try PositionTone.write(seconds: seconds, to: folder.appendingPathComponent("tone.wav").path)
        return folder
    }

    /// Waits until both have been heard for so many pieces from now on, and compares those.
    private static func skew(_ one: OutputTap, _ other: OutputTap, seconds: Int, _ what: String) async -> Skew {
        let pieces = seconds * 120
        // What was in the pipes belongs to before.
        let (first, second) = (one.heard.count + 40, other.heard.count + 40)
        let came = await eventually(within: .seconds(seconds + 30)) {
            one.heard.count >= first + pieces && other.heard.count >= second + pieces
        }
        guard came else { return Skew([]) }
        let (heard, beside) = (Array(one.heard[first...]), Array(other.heard[second...]))
        let skew = Skew(earliest: heard, beside)
        print("skew of two shairport-sync, \(what): \(skew); as they wrote: \(Skew(heard, beside))")
        return skew
    }

    @Test(
        "R5 two real receivers: after the start, a pause, a seek, and the death and return of one",
        .enabled(if: ShairportSync.missing == nil))
    func real() async throws {
        let folder = try Self.tone(340)
        defer { try? FileManager.default.removeItem(at: folder) }
        let taps = [OutputTap(), OutputTap()]
        let receivers = [
            try await ShairportSync(output: taps[0].writing), try await ShairportSync(output: taps[1].writing),
        ]
        defer { for receiver in receivers { receiver.stop() } }
        let rig = try Rig([("Kitchen", receivers[0].port), ("Bath", receivers[1].port)])
        _ = try await rig.engine.play(
            PlayRequest(what: [folder.appendingPathComponent("tone.wav").path], rooms: ["Kitchen", "Bath"]))
        let start = await Self.skew(taps[0], taps[1], seconds: 4, "after the start")
        #expect(start.median <= 1, "\(start)")

        _ = try await rig.engine.perform(.pause, session: nil, origin: .cli)
        _ = try await rig.engine.perform(.play, session: nil, origin: .cli)
        let paused = await Self.skew(taps[0], taps[1], seconds: 4, "after a pause")
        #expect(paused.median <= 1, "\(paused)")

        _ = try await rig.engine.perform(.seek(to: MediaTime(seconds: 30)), session: nil, origin: .cli)
        let sought = await Self.skew(taps[0], taps[1], seconds: 4, "after a seek")
        #expect(sought.median <= 1, "\(sought)")

        receivers[1].kill()
        let before = taps[0].heard.count
        #expect(
            await eventually { await rig.engine.sessions().last?.members.last?.connection == .suspended })
        try await receivers[1].restart()
        let silent = taps[1].heard.count
        #expect(await eventually(within: .seconds(40)) { taps[1].heard.count > silent + 10 })
        let returned = await Self.skew(taps[0], taps[1], seconds: 4, "after the death and return of one")
        #expect(returned.median <= 1, "\(returned)")
        // The other one has heard every frame meanwhile.
        let kitchen = Array(taps[0].heard[before...])
        let gaps = zip(kitchen, kitchen.dropFirst()).map { $1.frame - $0.frame }.max() ?? 0
        #expect(gaps < 44_100 / 4, "\(gaps)")

        if Self.isLong {
            let long = await Self.skew(taps[0], taps[1], seconds: 300, "over five minutes")
            #expect(long.median <= 1, "\(long)")
        }
        await rig.end()
    }

    // MARK: Simulated speakers

    /// When the tone's first frame would have been heard, by each mark of a speaker's record from `frame` of its recording.
    private static func origins(_ receiver: SimulatedRAOPReceiver, _ recording: URL, from first: Int) async -> [Double]
    {
        let marks = await receiver.record().clockMarks.filter { $0.frame >= first }
        guard let file = try? FileHandle(forReadingFrom: recording) else { return [] }
        defer { try? file.close() }
        return marks.compactMap { mark in
            // A little on: the first frames of a run are the lead-in's silence.
            for ahead in stride(from: 0, to: 44_100, by: 441) {
                guard (try? file.seek(toOffset: UInt64(44 + (mark.frame + ahead) * 4))) != nil,
                    let data = try? file.read(upToCount: 4), data.count == 4
                else { return nil }
                let samples = data.withUnsafeBytes { raw in
                    [0, 2].map { Int16(littleEndian: raw.loadUnaligned(fromByteOffset: $0, as: Int16.self)) }
                }
                if let frame = PositionTone.frame(samples[0], samples[1]) {
                    return Double(mark.hostNanoseconds) - Double(frame - Int64(ahead)) * 1e9 / 44_100
                }
            }
            return nil
        }
    }

    @Test("R5 eight simulated speakers, one of them 40 ms later by its offset, and one that joins late")
    func simulated() async throws {
        let folder = try Self.tone(Self.isLong ? 340 : 60)
        defer { try? FileManager.default.removeItem(at: folder) }
        var receivers: [(name: String, receiver: SimulatedRAOPReceiver, port: Int)] = []
        for number in 1...8 {
            var configuration = SimulatedRAOPConfiguration(name: "R\(number)", port: 0)
            configuration.recordingFolder = folder
            let receiver = SimulatedRAOPReceiver(configuration)
            receivers.append(("R\(number)", receiver, try await receiver.start()))
        }
        let rig = try Rig(receivers.map { ($0.name, $0.port) }, offsets: ["R2": 40])
        let names = receivers.map(\.name)
        _ = try await rig.engine.play(
            PlayRequest(what: [folder.appendingPathComponent("tone.wav").path], rooms: Array(names.dropLast())))
        #expect(await eventually(within: .seconds(20)) { await receivers[0].receiver.record().clockMarks.count >= 2 })
        let joined = try await rig.engine.join(session: nil, rooms: ["R8"])
        #expect(joined.members.count == 8)
        let all = receivers
        func compared(_ what: String, from first: [Int], seconds: Int) async {
            #expect(
                await eventually(within: .seconds(seconds + 30)) {
                    for (place, entry) in all.enumerated()
                    where await entry.receiver.record().clockMarks.count(where: { $0.frame >= first[place] }) < seconds
                    {
                        return false
                    }
                    return true
                }, "\(what)")
            var origins: [[Double]] = []
            for (place, entry) in all.enumerated() {
                origins.append(
                    await Self.origins(
                        entry.receiver, folder.appendingPathComponent("\(entry.name).wav"), from: first[place]))
            }
            guard let reference = origins[0].sorted().dropFirst(origins[0].count / 2).first else {
                Issue.record("nothing was heard, \(what)")
                return
            }
            let apart = origins.enumerated().flatMap { place, list in
                list.map { abs($0 - reference - (place == 1 ? 40e6 : 0)) / 1e6 }
            }
            let skew = Skew(apart)
            print("skew of eight simulated speakers, \(what): \(skew)")
            #expect(skew.median <= 1, "\(what): \(skew)")
            #expect(origins.allSatisfy { !$0.isEmpty })
        }
        func here() async -> [Int] {
            var frames: [Int] = []
            for entry in all { frames.append(await entry.receiver.record().renderedFrames) }
            return frames
        }
        await compared("with one that joined late", from: await here(), seconds: 4)
        _ = try await rig.engine.perform(.pause, session: nil, origin: .cli)
        let paused = await here()
        _ = try await rig.engine.perform(.play, session: nil, origin: .cli)
        await compared("after a pause", from: paused, seconds: 4)
        _ = try await rig.engine.perform(.seek(to: MediaTime(seconds: 20)), session: nil, origin: .cli)
        await compared("after a seek", from: await here(), seconds: 4)
        let lost = await here()
        await receivers[4].receiver.dropConnections()
        #expect(
            await eventually(within: .seconds(30)) {
                let rendered = await all[4].receiver.record().renderedFrames
                return rendered > lost[4] + 44_100
            })
        await compared("after one was lost and came back", from: await here(), seconds: Self.isLong ? 250 : 4)
        await rig.end()
        for entry in receivers { await entry.receiver.stop() }
    }

    // MARK: Hard ends

    @Test(
        "R5 the sender is killed: the receiver is not left busy, and the next process goes on in time",
        .enabled(if: ShairportSync.missing == nil))
    func senderKilled() async throws {
        let folder = try Self.tone(120)
        defer { try? FileManager.default.removeItem(at: folder) }
        let tap = OutputTap()
        let receiver = try await ShairportSync(output: tap.writing)
        defer { receiver.stop() }
        let state = ["XDG_STATE_HOME": folder.appendingPathComponent("state").path]
        let first = try RouterProcess(
            ["play", folder.appendingPathComponent("tone.wav").path, "--device", "raop://127.0.0.1:\(receiver.port)"],
            environment: state)
        #expect(await eventually(within: .seconds(30)) { tap.heard.count > 250 })
        kill(first.processIdentifier, SIGKILL)
        _ = await first.outcome()
        let before = tap.heard
        let second = try RouterProcess(["session", "join"], environment: state)
        #expect(await eventually(within: .seconds(30)) { tap.heard.count > before.count + 250 }, "\(second.errors)")
        let after = Array(tap.heard.dropFirst(before.count + 60))
        func origin(_ pieces: some Sequence<OutputTap.Piece>) -> Double {
            let sorted = pieces.map(\.origin).sorted()
            return sorted[sorted.count / 2]
        }
        // On the beat of the first: the place in the music is where it would have been without the crash.
        let apart = abs(origin(before.suffix(120)) - origin(after)) / 1e6
        print("after the sender was killed, the music goes on \(String(format: "%.3f", apart)) ms from its beat")
        #expect(apart < 5, "\(apart) ms")
        second.interrupt()
        #expect(await second.outcome(within: .seconds(20)).status == 130)
    }
}
