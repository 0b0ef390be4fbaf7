import AirPlay
import Foundation
import PeerSupport
import RouteModel
import RouterCore
import RouterTestKit
import SimulatedReceivers
import Testing

/// Simulated rooms of both generations on one timeline, compared by the clocks by which they played what they recorded.
@Suite("R5 rooms of RAOP and AirPlay 2 in time", .serialized, .timeLimit(.minutes(15)))
struct SpeakersInTimeTests {
    private static let isLong = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1"

    /// Speakers that one engine plays a tone to, one of them 40 ms later.
    private final class House {
        static let offset = 40
        let folder: URL
        let ports = PTPPorts.ofATest()
        private(set) var speakers: [SimulatedSpeaker] = []
        private(set) var rig: GroupRig?
        private var delayed: String?

        init(toneOf seconds: Int) throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("rooms-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try PositionTone.write(seconds: seconds, to: tone)
        }

        var tone: String { folder.appendingPathComponent("tone.wav").path }

        /// - Parameter losses: the shares of packets that are lost, for one speaker after the other.
        func open(
            _ kinds: [SimulatedSpeaker.Kind], delayed: String? = nil, losses: [Double] = [0]
        ) async throws -> RouterEngine {
            for (place, kind) in kinds.enumerated() {
                speakers.append(
                    try await SimulatedSpeaker(
                        "R\(place + 1)", kind, host: "127.0.7.\(place + 1)", ports: ports, in: folder,
                        loss: losses[place % losses.count]))
            }
            self.delayed = delayed
            let rig = try GroupRig(
                speakers.map(\.uri), offsets: delayed.map { [$0: Self.offset] } ?? [:], clockPorts: ports)
            self.rig = rig
            return rig.engine
        }

        /// Each dies, is away for a moment, and comes back as a device just turned on.
        func bounce(_ places: [Int], _ engine: RouterEngine) async throws {
            for place in places { await speakers[place].stop() }
            let names = places.map { speakers[$0].name }
            #expect(
                await eventually(within: .seconds(20)) {
                    let members = await engine.sessions().last?.members ?? []
                    return names.allSatisfy { name in
                        members.contains { $0.name == name && $0.connection == .suspended }
                    }
                })
            for place in places {
                let old = speakers[place]
                speakers[place] = try await SimulatedSpeaker(
                    old.name, old.kind, host: "127.0.7.\(place + 1)", port: old.port, ports: ports, in: folder,
                    as: "\(old.name)-\(UUID().uuidString.prefix(4))")
            }
        }

        /// How many frames each has recorded.
        func here() async -> [Int] {
            var frames: [Int] = []
            for speaker in speakers { frames.append(await speaker.heard().frames) }
            return frames
        }

        /// Compares what all hear for so many seconds from `first` on; those that are away have as many seconds to return.
        func compare(_ what: String, from first: [Int], seconds: Int) async {
            let speakers = speakers
            let isWhole = await eventually(within: .seconds(seconds + 40)) {
                for (place, speaker) in speakers.enumerated()
                where await speaker.heard().marks.count(where: { $0.frame >= first[place] }) < seconds { return false }
                return true
            }
            let now = await here()
            #expect(isWhole, "\(what): \(now) since \(first)")
            var origins: [[Double]] = []
            for (place, speaker) in speakers.enumerated() {
                let late = speaker.name == delayed ? Double(Self.offset) * 1e6 : 0
                origins.append(await speaker.origins(from: first[place]).map { $0 - late })
            }
            let medians = origins.compactMap { list in list.isEmpty ? nil : list.sorted()[list.count / 2] }
            guard medians.count == speakers.count else {
                Issue.record("some heard nothing, \(what): \(origins.map(\.count))")
                return
            }
            // Each pair: what one hears later than the other, second by second.
            var apart: [Double] = []
            for one in origins.indices {
                for other in origins.indices where other > one {
                    apart += zip(origins[one], origins[other]).map { abs($0 - $1) / 1e6 }
                }
            }
            let skew = Skew(apart)
            let each = zip(speakers, medians).map { speaker, median in
                "\(speaker.name) (\(speaker.kind.rawValue)) "
                    + String(format: "%+.3f", (median - medians[0]) / 1e6)
            }
            print("skew of \(speakers.count) simulated rooms, \(what): \(skew); \(each.joined(separator: ", "))")
            #expect(skew.median <= 1, "\(what): \(skew)")
        }

        func close() async {
            await rig?.end()
            for speaker in speakers { await speaker.stop() }
            try? FileManager.default.removeItem(at: folder)
        }
    }

    @Test("R5 eight rooms, five of them AirPlay 2, one 40 ms later by its offset, and one that joins late")
    func eight() async throws {
        let house = try House(toneOf: Self.isLong ? 350 : 60)
        let engine = try await house.open([.raop, .ptp, .ptp, .raop, .raop, .ptp, .ntp, .ptp], delayed: "R2")
        let names = house.speakers.map(\.name)
        _ = try await engine.play(PlayRequest(what: [house.tone], rooms: Array(names.dropLast())))
        #expect(await eventually(within: .seconds(20)) { await house.speakers[0].heard().marks.count >= 2 })
        let joined = try await engine.join(session: nil, rooms: ["R8"])
        #expect(joined.members.count == 8)
        await house.compare("with one that joined late", from: await house.here(), seconds: 3)

        _ = try await engine.perform(.pause, session: nil, origin: .cli)
        let paused = await house.here()
        _ = try await engine.perform(.play, session: nil, origin: .cli)
        await house.compare("after a pause", from: paused, seconds: 3)

        _ = try await engine.perform(.seek(to: MediaTime(seconds: 20)), session: nil, origin: .cli)
        await house.compare("after a seek", from: await house.here(), seconds: 3)

        // One of each generation.
        try await house.bounce([4, 5], engine)
        let left = await house.here()
        await house.compare("after the death and return of two", from: left, seconds: Self.isLong ? 300 : 3)
        await house.close()
    }

    @Test("R5 two rooms, one of RAOP and one of AirPlay 2: after the start, a pause, a seek, and each one's death")
    func two() async throws {
        let house = try House(toneOf: Self.isLong ? 350 : 60)
        let engine = try await house.open([.raop, .ptp])
        _ = try await engine.play(PlayRequest(what: [house.tone], rooms: ["R1", "R2"]))
        await house.compare("after the start", from: [0, 0], seconds: 3)
        _ = try await engine.perform(.pause, session: nil, origin: .cli)
        let paused = await house.here()
        _ = try await engine.perform(.play, session: nil, origin: .cli)
        await house.compare("after a pause", from: paused, seconds: 3)
        _ = try await engine.perform(.seek(to: MediaTime(seconds: 20)), session: nil, origin: .cli)
        await house.compare("after a seek", from: await house.here(), seconds: 3)
        for (place, what) in ["the RAOP room", "the AirPlay 2 room"].enumerated() {
            try await house.bounce([place], engine)
            let seconds = Self.isLong && place == 1 ? 270 : 3
            await house.compare("after the death and return of \(what)", from: await house.here(), seconds: seconds)
        }
        await house.close()
    }

    // MARK: Losses

    @Test("A8 A1 of the packets 3 and 10 % are lost on their way in: they are sent again, and every sample is heard")
    func losses() async throws {
        let seconds = Self.isLong ? 60 : 5
        let house = try House(toneOf: seconds)
        let shares = [0.03, 0.1]
        let engine = try await house.open([.raop, .ptp, .ntp, .raop, .ptp, .ntp], losses: shares)
        _ = try await engine.play(PlayRequest(what: [house.tone], rooms: house.speakers.map(\.name)))
        #expect(
            await eventually(within: .seconds(seconds + 15)) { await engine.sessions().last?.connection == .ended })
        let wanted = try Recording.samples(wav: URL(fileURLWithPath: house.tone))
        for (place, speaker) in house.speakers.enumerated() {
            let share = shares[place % shares.count]
            let heard = await speaker.heard()
            let samples = try speaker.samples()
            // Silence leads in, and nothing of the tone is.
            let first = samples.firstIndex { $0 != 0 } ?? samples.endIndex
            let isExact = samples[first...].starts(with: wanted)
            #expect(isExact, "\(speaker.kind.rawValue): \(heard.lostFrames) of \(wanted.count / 2) frames were lost")
            // A quarter of them at least: chance is chance.
            let fewest = Int(share * Double(seconds) * 125 / 4)
            #expect(heard.dropped > fewest && heard.recovered > fewest, "\(heard)")
            print(
                "\(Int(share * 100)) % lost, \(speaker.kind.rawValue): \(heard.dropped) packets lost,",
                "\(heard.recovered) came again, \(heard.lostFrames) frames of silence")
        }
        await house.close()
    }
}
