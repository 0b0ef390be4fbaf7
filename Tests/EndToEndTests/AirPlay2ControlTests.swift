import AirPlay
import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

/// One AirPlay 2 room of a real engine, judged by what the simulated receiver recorded.
@Suite("A8 A9 A10 an AirPlay 2 room from the queue to the receiver and back", .serialized, .timeLimit(.minutes(3)))
struct AirPlay2ControlTests {
    // MARK: Buffered sound

    @Test("A8 buffered AAC-LC: both tones, and nothing else, through a pause, going on, and a seek")
    func buffered() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 10)
        let house = try await AirPlay2House(query: "&stream=buffered")
        defer { house.remove() }
        try await house.play([file])
        #expect(await eventually { await house.record.renderedFrames > 44_100 })
        try await house.perform(.pause)
        let paused = await house.record
        #expect(paused.anchors.map(\.rate).suffix(2) == [1, 0])
        #expect(paused.bufferedFlushes.count == 1)
        #expect(await house.session?.media == .paused)
        try await house.perform(.play)
        #expect(await eventually { await house.record.renderedFrames > paused.renderedFrames + 22_050 })
        try await house.perform(.seek(to: MediaTime(seconds: 8)))
        #expect(await eventually(within: .seconds(20)) { await house.session?.media == .stopped })
        await house.stop()
        let record = await house.record
        #expect(record.teardowns == 1)

        #expect(record.streams.map(\.kind) == [.buffered])
        #expect(record.streams.first?.audioFormat == 0x40_0000)
        #expect(record.undecodablePackets == 0 && record.unknownCodecPackets == 0 && record.lostFrames == 0)
        // Started, paused, gone on, halted for the seek, started.
        #expect(record.anchors.map(\.rate) == [1, 0, 1, 0, 1])
        #expect(record.bufferedFlushes.count == 2)
        // Each start says the place again, and the same length.
        let places = record.progress.map { Double($0.now &- $0.start) / 44_100 }
        #expect(places.first == 0)
        #expect(abs((places.last ?? 0) - 8) < 0.1, "\(places)")
        #expect(places.contains { $0 > 0.9 && $0 < 3 }, "\(places)")
        #expect(record.progress.allSatisfy { abs(Double($0.end &- $0.start) / 44_100 - 10) < 0.1 })
        #expect(record.metadata.map(\.title) == ["Zwei Töne"])
        // 440 Hz until the seek, then the last two seconds, which are of 660 Hz.
        let heard = Recording.seconds(of: TwoTones.tones, in: try Recording.samples(wav: house.recording))
        #expect((heard[440] ?? 0) > 1 && (heard[440] ?? 0) < 4, "\(heard)")
        #expect(abs((heard[660] ?? 0) - 2) < 0.3, "\(heard)")
    }

    @Test(
        "A8 router play with stream=buffered: both tones whole",
        .enabled(if: geteuid() == 0, "the clock's ports 319 and 320 want root: Tests/lab.sh has it"))
    func bufferedCommand() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 4)
        let receiver = SimulatedAirPlay2Receiver(
            SimulatedAirPlay2Configuration(
                name: "Buffered", host: "127.0.0.77", port: 0, timing: [.ptp], recordingFolder: sound.folder))
        let port = try await receiver.start()
        let played = try await RouterProcess.run([
            "play", file.path, "--device", "airplay://127.0.0.77:\(port)?name=Buffered&stream=buffered",
        ])
        let record = await receiver.record()
        await receiver.stop()
        #expect(played.status == 0, "\(played.errors)")
        #expect(record.streams.map(\.kind) == [.buffered])
        let samples = try Recording.samples(wav: sound.folder.appendingPathComponent("Buffered.wav"))
        let heard = Recording.seconds(of: TwoTones.tones, in: samples)
        for tone in TwoTones.tones { #expect(abs((heard[tone] ?? 0) - 2) < 0.25, "\(heard)") }
    }

    // MARK: Buttons

    @Test(
        "A10 the event channel and DACP: pause, play, next, previous, louder, mute, each with the device as its origin")
    func buttons() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let files = [try await sound.file("one.flac", seconds: 30), try await sound.file("two.flac", seconds: 30)]
        let house = try await AirPlay2House { $0.initialVolume = -12 }
        defer { house.remove() }
        try await house.play(files)
        #expect(await eventually { await house.record.eventConnections == 1 })
        func press(_ button: SimulatedAirPlayButton) async { #expect(await house.receiver.press(button)) }

        await press(.pause)
        #expect(await eventually { await house.session?.media == .paused })
        await press(.playPause)
        #expect(await eventually { await house.session?.media == .playing })
        await press(.next)
        #expect(
            await eventually { await house.session.map { $0.queue.current == $0.queue.items[1].id } ?? false })
        #expect(await eventually { await house.session?.media == .playing })
        await press(.previous)
        #expect(
            await eventually { await house.session.map { $0.queue.current == $0.queue.items[0].id } ?? false })
        #expect(await eventually { await house.session?.media == .playing })
        // The event channel has no words for these: they go by DACP, to where we were announced.
        await press(.volumeUp)
        #expect(await eventually { await house.record.volumes.last == -12 + 30.0 / 16 })
        await press(.mute)
        #expect(await eventually { await house.record.volumes.last == -144 })
        #expect(await house.record.remoteAnswers == [204, 204])
        #expect(await house.record.eventAnswers.allSatisfy { $0.status == 200 && $0.repeatsSequence })

        let route = try #require(await house.session?.members.first?.route)
        #expect(await eventually { house.deviceCommands.count == 6 })
        let told = house.deviceCommands
        #expect(told.map(\.command).prefix(4) == [.pause, .toggle, .next, .previous])
        #expect(told.allSatisfy { $0.origin == .device(route) && $0.outcome == .succeeded }, "\(told)")
        await house.stop()
    }

    @Test("A10 a device that is used for something else lets go of its room, and is not taken back")
    func prevented() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let house = try await AirPlay2House()
        defer { house.remove() }
        try await house.play([try await sound.file("song.flac", seconds: 60)])
        #expect(await eventually { await house.record.eventConnections == 1 })
        #expect(await house.receiver.press(.preventPlayback))
        #expect(await eventually { await house.record.teardowns == 1 })
        #expect(await eventually { await house.session?.media != .playing })
        #expect(await house.record.sessions.count == 1)
        await house.stop()
    }

    @Test("A10 MRP: a HomePod's stream for remote control brings its buttons to the queue and its volume to the room")
    func mrp() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let files = [try await sound.file("one.flac", seconds: 30), try await sound.file("two.flac", seconds: 30)]
        let house = try await AirPlay2House {
            $0.model = "AudioAccessory5,1"
            $0.dataSpeaker = SimulatedMRPDevice(name: "Kitchen")
        }
        defer { house.remove() }
        try await house.play(files)
        func device() async -> SimulatedMRPDevice? { await house.receiver.speaker(as: SimulatedMRPDevice.self) }
        #expect(await eventually { await device()?.shown?.title == "Zwei Töne" })
        await house.receiver.change(SimulatedMRPDevice.self) { $0.press(5) }
        #expect(
            await eventually { await house.session.map { $0.queue.current == $0.queue.items[1].id } ?? false })
        await house.receiver.change(SimulatedMRPDevice.self) { $0.press(2) }
        #expect(await eventually { await house.session?.media == .paused })
        #expect(await eventually { await device()?.shown?.state == 2 })
        await house.receiver.turnKnob(to: -6)
        await house.receiver.change(SimulatedMRPDevice.self) { $0.turn(to: 0.8) }
        #expect(await eventually { await house.volume?.level.value ?? 0 > 0.79 })
        let route = try #require(await house.session?.members.first?.route)
        #expect(house.deviceCommands.map(\.command) == [.next, .pause])
        #expect(house.deviceCommands.allSatisfy { $0.origin == .device(route) && $0.outcome == .succeeded })
        // What it does not know is answered so.
        await house.receiver.change(SimulatedMRPDevice.self) { $0.press(999) }
        #expect(await eventually { await device()?.results == [0, 0, 3] })
        // Told of by the device, not by us.
        #expect(await house.record.volumes.isEmpty)
        await house.stop()
    }

    // MARK: What is drawn

    @Test("A9 titles that aren't Latin, a picture made to fit, the place again after a pause, a seek and the next item")
    func metadata() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let cover = sound.folder.appendingPathComponent("cover.jpg")
        let noise = "nullsrc=size=1500x1000,geq=random(1)*255:128:128"
        let made = try await PeerPrograms.run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-f", "lavfi", "-i", noise, "-frames:v", "1", "-q:v", "2", cover.path])
        try #require(made.succeeded, "\(made.errors)")
        let files = [
            try await sound.file("one.flac", seconds: 30, title: "東京は夜の七時"),
            try await sound.file("two.flac", seconds: 20, title: "Ленинград — 🎷"),
        ]
        let house = try await AirPlay2House { $0.drawsNowPlaying = true }
        defer { house.remove() }
        try await house.play(files)
        #expect(await eventually { await !house.record.progress.isEmpty })
        var record = await house.record
        #expect(record.metadata.map(\.title) == ["東京は夜の七時"])
        #expect(record.metadata.first?.artist == "The Oscillators")
        #expect(record.metadata.first?.rtpTime == record.progress.first?.start)
        let picture = try #require(record.artwork)
        #expect(picture.mimeType == "image/jpeg")
        #expect(picture.bytes.count < 512 * 1024)
        let shown = sound.folder.appendingPathComponent("shown.jpg")
        try Data(picture.bytes).write(to: shown)
        let size = try await PeerPrograms.run(
            "ffprobe", ["-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0", shown.path])
        #expect(size.output.hasPrefix("600,400"), "\(size)")
        // The messages for devices with a screen, in their order.
        #expect(Self.kinds(record) == ["", "replace", "commands", "state 1", "client"])
        let key = AirPlayNowPlayingKeys.self
        #expect(Self.information(record, 0)?[key.title]?.string == "東京は夜の七時")
        #expect(Self.information(record, 0)?[key.artwork]?.data == picture.bytes)

        try await house.perform(.pause)
        record = await house.record
        #expect(Self.kinds(record).suffix(2) == ["update", "state 2"])
        try await house.perform(.play)
        #expect(await eventually { await house.record.progress.count > record.progress.count })
        #expect(Self.kinds(await house.record).last { $0.hasPrefix("state") } == "state 1")
        try await house.perform(.seek(to: MediaTime(seconds: 15)))
        #expect(
            await eventually {
                await house.record.progress.last.map { abs(Double($0.now &- $0.start) / 44_100 - 15) < 0.1 } ?? false
            })
        record = await house.record
        let sought = try #require(
            record.commands.last { $0["params"]?["mergePolicy"]?.string == "update" })
        #expect(abs((sought["params"]?["params"]?[key.elapsed]?.real ?? 0) - 15) < 0.3)

        try await house.perform(.next)
        #expect(await eventually { await house.record.metadata.count == 2 })
        // From its beginning; by the time that its picture is ready, some of it may have been heard.
        #expect(await eventually { await house.record.progress.last.map { $0.now &- $0.start < 3 * 44_100 } ?? false })
        record = await house.record
        #expect(record.metadata.last?.title == "Ленинград — 🎷")
        let next = try #require(record.progress.last)
        #expect(abs(Double(next.end &- next.start) / 44_100 - 20) < 0.1)
        let drawn = record.commands.filter { $0["params"]?["mergePolicy"]?.string == "replace" }
        #expect(drawn.count == 2)
        #expect(drawn.last?["params"]?["params"]?[key.title]?.string == "Ленинград — 🎷")
        #expect(
            drawn.first?["params"]?["params"]?[key.identifier] != drawn.last?["params"]?["params"]?[key.identifier])
        await house.stop()
    }

    private enum AirPlayNowPlayingKeys {
        private static let prefix = "kMRMediaRemoteNowPlayingInfo"
        static let title = prefix + "Title"
        static let artwork = prefix + "ArtworkData"
        static let elapsed = prefix + "ElapsedTime"
        static let identifier = prefix + "UniqueIdentifier"
    }

    /// What the messages of `/command` were, in short.
    private static func kinds(_ record: SimulatedAirPlay2Record) -> [String] {
        record.commands.map { message in
            let params = message["params"]
            switch message["type"]?.string {
            case "updateMRNowPlayingInfo": return params?["mergePolicy"]?.string ?? "?"
            case "updateMRSupportedCommands": return "commands"
            case "updateMRPlaybackState": return "state \(params?["mrPlaybackState"]?.integer ?? -1)"
            case "updateMRNowPlayingClient": return "client"
            case let other: return other ?? ""
            }
        }
    }

    private static func information(_ record: SimulatedAirPlay2Record, _ index: Int) -> PropertyList? {
        record.commands.filter { $0["type"]?.string == "updateMRNowPlayingInfo" }.dropFirst(index).first?["params"]?[
            "params"]
    }

    // MARK: Volume

    @Test("A8 volume: left alone, curved, muted and back at its level, capped, not echoed, and turned at the device")
    func volume() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 60)
        let house = try await AirPlay2House(limit: VolumePosition(0.7)) { $0.initialVolume = -12 }
        defer { house.remove() }
        try await house.play([file])
        #expect(await eventually { await house.volume == VolumeState(level: VolumePosition(0.6)) })
        #expect(await house.record.volumes.isEmpty)
        try await house.perform(.setVolume(VolumePosition(0.5), room: nil))
        #expect(await house.record.volumes == [-15])
        try await house.perform(.mute(true, room: nil))
        #expect(await house.record.volumes == [-15, -144])
        // Read back twice, as the silence that it is, and its level is still known.
        let asked = await house.record.requests.count { $0 == "GET_PARAMETER" }
        #expect(
            await eventually(within: .seconds(15)) {
                await house.record.requests.count { $0 == "GET_PARAMETER" } >= asked + 2
            })
        #expect(await house.volume == VolumeState(level: VolumePosition(0.5), muted: true))
        try await house.perform(.mute(false, room: nil))
        try await house.perform(.setVolume(VolumePosition(0.95), room: nil))
        #expect(await house.record.volumes == [-15, -144, -15, -9])
        #expect(await house.volume?.level == VolumePosition(0.7))
        // Turned by hand: taken over, and not sent back.
        await house.receiver.turnKnob(to: -24)
        #expect(
            await eventually(within: .seconds(10)) { abs((await house.volume?.level.value ?? 1) - 0.2) < 0.001 })
        #expect(await house.record.volumes.count == 4)
        await house.stop()
    }
}
