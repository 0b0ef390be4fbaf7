import AirPlay
import AirPlayBackend
import Foundation
import Logging
import Media
import Pacing
import PeerSupport
import RouteBackend
import RouteModel
import RouterCore
import RouterTestKit
import SimulatedReceivers

/// A real engine that plays to devices by their addresses.
struct GroupRig {
    let engine: RouterEngine
    private let media: MediaLibrary
    private let running: Task<Void, Never>

    /// - Parameters:
    ///   - devices: URIs, with names.
    ///   - offsets: milliseconds of rooms that have one, by name.
    ///   - clockPorts: of the clock of AirPlay 2.
    init(_ devices: [String], offsets: [String: Int] = [:], clockPorts: PTPPorts = .standard) throws {
        let clock = SystemHostClock()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        media = MediaLibrary(configuration: MediaConfiguration(serverPort: 0), clock: clock, logger: logger)
        let provider = AirPlayProvider(clock: clock, pacer: try Pacer(), clockPorts: clockPorts, logger: logger)
        let stated = try devices.map { try provider.endpoint(from: DeviceURI($0)) }
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

/// A simulated receiver of either generation, whose recording and clock tell what was heard when.
struct SimulatedSpeaker: Sendable {
    enum Kind: String, Sendable { case raop = "RAOP", ptp = "AirPlay 2 by PTP", ntp = "AirPlay 2 by NTP" }

    let name: String
    let kind: Kind
    let uri: String
    let port: Int
    private let recording: URL
    private let receiver: Receiver

    private enum Receiver: Sendable {
        case raop(SimulatedRAOPReceiver)
        case airPlay2(SimulatedAirPlay2Receiver)
    }

    /// What both kinds of record say.
    struct Heard: Sendable {
        var marks: [SimulatedRAOPRecord.ClockMark]
        var frames: Int
        /// Of those, silence in the place of what was lost.
        var lostFrames: Int
        var dropped: Int
        var recovered: Int
        /// As they were told, the last one last.
        var volumes: [Double] = []
        var titles: [String?] = []
    }

    /// Listens. PTP is spoken on `ports` of `host`, which no other speaker may have.
    ///
    /// - Parameters:
    ///   - loss: the share of audio packets that get lost.
    ///   - recording: what the files in `folder` are called in place of the name.
    init(
        _ name: String, _ kind: Kind, host: String = "127.0.0.1", port: Int = 0, ports: PTPPorts = .standard,
        in folder: URL, as recording: String? = nil, loss: Double = 0
    ) async throws {
        self.name = name
        self.kind = kind
        self.recording = folder.appendingPathComponent("\(recording ?? name).wav")
        if kind == .raop {
            var configuration = SimulatedRAOPConfiguration(name: name, host: host, port: port)
            configuration.recordingFolder = folder
            configuration.recordingName = recording
            configuration.faults.dropAudio = loss
            let receiver = SimulatedRAOPReceiver(configuration)
            self.port = try await receiver.start()
            uri = "raop://\(host):\(self.port)?name=\(name)"
            self.receiver = .raop(receiver)
        } else {
            var configuration = SimulatedAirPlay2Configuration(
                name: name, host: host, port: port, timing: [kind == .ptp ? .ptp : .ntp], recordingFolder: folder)
            configuration.recordingName = recording
            configuration.ptpPorts = ports
            configuration.faults.dropAudio = loss
            let receiver = SimulatedAirPlay2Receiver(configuration)
            self.port = try await receiver.start()
            let record = await receiver.airPlayRecord
            let told = ["features", "flags", "deviceid"].compactMap { key in record[key].map { "\(key)=\($0)" } }
            uri = "airplay://\(host):\(self.port)?name=\(name)&\(told.joined(separator: "&"))"
            self.receiver = .airPlay2(receiver)
        }
    }

    func heard() async -> Heard {
        switch receiver {
        case .raop(let receiver):
            let record = await receiver.record()
            return Heard(
                marks: record.clockMarks, frames: record.renderedFrames, lostFrames: record.lostFrames,
                dropped: record.droppedPackets, recovered: record.recoveredPackets,
                volumes: record.volumes, titles: record.metadata.map(\.title))
        case .airPlay2(let receiver):
            let record = await receiver.record()
            return Heard(
                marks: record.clockMarks, frames: record.renderedFrames, lostFrames: record.lostFrames,
                dropped: record.droppedPackets, recovered: record.recoveredPackets,
                volumes: record.volumes, titles: record.metadata.map(\.title))
        }
    }

    /// Goes as a device does that loses power, as far as a sender can tell.
    func stop() async {
        switch receiver {
        case .raop(let receiver): await receiver.stop()
        case .airPlay2(let receiver): await receiver.stop()
        }
    }

    /// Recorded so far.
    func samples() throws -> [Int16] { try Recording.samples(wav: recording) }

    /// Where in the tone the recording is at one of its frames or soon after, and how many frames after; nil for silence
    /// and for what is no such tone.
    func tone(at frame: Int) -> (frame: Int64, ahead: Int)? {
        guard let file = try? FileHandle(forReadingFrom: recording) else { return nil }
        defer { try? file.close() }
        return Self.tone(in: file, at: frame, within: 22_050)
    }

    private static func tone(in file: FileHandle, at frame: Int, within limit: Int) -> (frame: Int64, ahead: Int)? {
        // A little on: the first frames of a run are the lead-in's silence.
        for ahead in stride(from: 0, to: limit, by: 441) {
            guard (try? file.seek(toOffset: UInt64(44 + (frame + ahead) * 4))) != nil,
                let data = try? file.read(upToCount: 4), data.count == 4
            else { return nil }
            let samples = data.withUnsafeBytes { raw in
                [0, 2].map { Int16(littleEndian: raw.loadUnaligned(fromByteOffset: $0, as: Int16.self)) }
            }
            if let found = PositionTone.frame(samples[0], samples[1]) { return (found, ahead) }
        }
        return nil
    }

    /// When the tone's first frame would have been heard, in host nanoseconds: by each mark of the record from `first` of
    /// the recording's frames on.
    func origins(from first: Int) async -> [Double] {
        let marks = await heard().marks.filter { $0.frame >= first }
        guard let file = try? FileHandle(forReadingFrom: recording) else { return [] }
        defer { try? file.close() }
        return marks.compactMap { mark in
            Self.tone(in: file, at: mark.frame, within: 44_100).map { found in
                Double(mark.hostNanoseconds) - Double(found.frame - Int64(found.ahead)) * 1e9 / 44_100
            }
        }
    }
}

extension PTPPorts {
    /// Above 1023, so that nobody needs to be privileged, and hardly anybody else's.
    static func ofATest() -> PTPPorts {
        let event = UInt16.random(in: 10_000...15_000) * 2
        return PTPPorts(event: event, general: event + 1)
    }
}
