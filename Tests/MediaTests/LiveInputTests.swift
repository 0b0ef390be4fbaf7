import Foundation
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import Media

@Suite("A8 keeping live input in step")
struct LivePaceTests {
    private static let second: Int64 = 1_000_000_000

    @Test("A8 a reader that waits is given silence after a quarter of a second, and as much as is missing")
    func starves() {
        var pace = LivePace(isCapture: false, sampleRate: 44_100)
        #expect(pace.arrived(upTo: 4410, at: 0, waiting: true) == 0)
        var end: Int64 = 4410
        var silences: [Int64] = []
        for tick in 1...40 {
            let count = pace.silence(after: end, wanted: end, at: Int64(tick) * 50_000_000)
            if count > 0 { silences.append(count) }
            end += count
        }
        // Two seconds went by, of which all but the last quarter is made up for.
        let first: Int64 = 13_230
        #expect(silences.first == first, "\(silences)")
        #expect(abs(end - 4410 - 2 * 44_100) <= 44_100 / 4 + 44_100 / 20)
        // What comes then is in time, and nothing is owed for it.
        #expect(pace.arrived(upTo: end + 441, at: 2_010_000_000, waiting: true) == 0)
    }

    @Test("A8 a pipe that waited while nobody read is not late for it")
    func pausedPipe() {
        var pace = LivePace(isCapture: false, sampleRate: 44_100)
        _ = pace.arrived(upTo: 44_100, at: 0, waiting: false)
        // An hour later somebody reads again, and comes to where nothing is yet.
        #expect(pace.silence(after: 44_100, wanted: 44_100, at: 3600 * Self.second) == 0)
        #expect(pace.silence(after: 44_100, wanted: 44_100, at: 3600 * Self.second + 100_000_000) == 0)
        #expect(pace.silence(after: 44_100, wanted: 44_100, at: 3600 * Self.second + 300_000_000) == 13_230)
    }

    @Test("A8 where the timeline went on without a reader, the sound comes in where it is by then")
    func goneOn() {
        var pace = LivePace(isCapture: false, sampleRate: 44_100)
        _ = pace.arrived(upTo: 44_100, at: 0, waiting: true)
        #expect(pace.silence(after: 44_100, wanted: 20 * 44_100, at: Self.second) == 19 * 44_100)
    }

    @Test(
        "A8 a capture's clock that runs fast or slow is corrected by single frames",
        arguments: [-400, -100, 0, 100, 400])
    func drift(partsPerMillion: Int64) {
        var pace = LivePace(isCapture: true, sampleRate: 44_100)
        var corrected: Int64 = 0
        var worst: Int64 = 0
        let chunk: Int64 = 1764
        for number in 0..<45_000 as Range<Int64> {
            // Forty milliseconds by its own clock, and up to fifteen late.
            let instant = number * 40_000_000 * (1_000_000 - partsPerMillion) / 1_000_000
            let late = number * 7 % 16 * 1_000_000
            let end = (number + 1) * chunk + corrected
            corrected += Int64(pace.arrived(upTo: end, at: instant + late, waiting: true))
            worst = max(worst, abs(end - (chunk + (instant + late) / 1000 * 44_100 / 1_000_000)))
        }
        // Half an hour: what drifts beyond a twentieth of a second is taken back.
        #expect(worst < 6000, "\(worst)")
        if partsPerMillion == 0 { #expect(corrected == 0) }
        if partsPerMillion != 0 { #expect(corrected.signum() == -partsPerMillion.signum()) }
    }

    @Test("A8 a pipe that gives all at once is not touched")
    func burst() {
        var pace = LivePace(isCapture: false, sampleRate: 44_100)
        for number in 1...10_000 as ClosedRange<Int64> {
            #expect(pace.arrived(upTo: number * 8192, at: number * 1_000_000, waiting: number % 3 == 0) == 0)
        }
    }
}

@Suite("A8 how live input is named")
struct LiveWordTests {
    @Test("A8 words for standard input, pipes and sinks")
    func words() throws {
        #expect(try LiveWord.parse("-") == LiveInput(.standardInput))
        #expect(try LiveWord.parse("pulse://router") == LiveInput(.pulse, name: "router"))
        #expect(
            try LiveWord.parse("PULSE://alsa_output.pci-0000_00_1f.3.analog-stereo")
                == LiveInput(.pulse, name: "alsa_output.pci-0000_00_1f.3.analog-stereo"))
        #expect(try LiveWord.parse("pcm://-") == LiveInput(.standardInput, raw: RawAudio()))
        #expect(
            try LiveWord.parse("pcm:///tmp/a%20b?rate=48000&channels=1&format=F32LE")
                == LiveInput(.pipe, name: "/tmp/a b", raw: RawAudio(sample: .f32le, rate: 48_000, channels: 1)))
        for other in ["a.flac", "--", "/tmp/pipe", "https://example.org/-", "file:///a", "pulse"] {
            #expect(try LiveWord.parse(other) == nil, "\(other)")
        }
    }

    @Test(
        "A8 what is wrong with such a word is said, with what to write",
        arguments: [
            "pulse://", "pulse://@DEFAULT_SINK@", "pulse://a b", "pulse://a/b", "pulse://ü",
            "pulse://\(String(repeating: "a", count: 129))", "pcm://", "pcm://relative", "pcm://-?rate=0",
            "pcm://-?rate=1e9", "pcm://-?rate", "pcm://-?channels=9", "pcm://-?format=mp3", "pcm://-?bits=16",
        ])
    func wrong(word: String) throws {
        let error = #expect(throws: RouterError.self) { _ = try LiveWord.parse(word) }
        #expect(error?.code == .configuration)
        #expect(error?.hint?.isEmpty == false)
    }

    @Test("A8 it keeps its JSON form, beside files and addresses")
    func json() throws {
        let sources: [MediaSource] = [
            .live(LiveInput(.pulse, name: "router")), .live(LiveInput(.standardInput, raw: RawAudio(rate: 8000))),
            .file(path: "/a"), .url("http://a"),
        ]
        let data = try JSONEncoder().encode(sources)
        #expect(try JSONDecoder().decode([MediaSource].self, from: data) == sources)
    }
}

@Suite("A8 live input", .enabled(if: Tools.ffmpegPath != nil, "ffmpeg is not installed"), .timeLimit(.minutes(2)))
struct LiveInputTests {
    let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    private func pipe(_ name: String = "pipe") throws -> String {
        let path = folder(name)
        guard mkfifo(path, 0o600) == 0 else { throw RouterError(.internal, "mkfifo: \(errno)") }
        return path
    }

    /// Writes into a pipe from a thread, and closes it.
    private static func write(_ bytes: [UInt8], to path: String, then: (@Sendable () -> Void)? = nil) {
        Thread.detachNewThread {
            guard let handle = FileHandle(forWritingAtPath: path) else { return }
            try? handle.write(contentsOf: Data(bytes))
            then?()
            try? handle.close()
        }
    }

    private func feed(
        _ input: LiveInput, script: FeedScript, clock: any HostClock = SystemHostClock()
    ) async throws -> any AudioFeed {
        let media = MediaLibrary(
            configuration: MediaConfiguration(serverPort: 0), clock: clock, logger: quietLogger())
        return try await media.feed(
            FeedItem(item: ItemID(rawValue: "a"), source: .live(input)), events: script.feedEvents)
    }

    /// Where `source` begins in `sound`, past silence.
    static func start(_ source: [UInt8], in sound: [UInt8]) -> Int? {
        let head = Array(source.prefix(4096))
        return stride(from: 0, to: max(0, sound.count - head.count), by: 4).first {
            Array(sound[$0..<($0 + head.count)]) == head
        }
    }

    @Test(
        "A8 a container from a named pipe is heard bit by bit, and the pipe's end is the item's",
        arguments: ["wav", "flac"])
    func container(name: String) async throws {
        let source = Tone.samples(frames: 100_000)
        let file = try await Tone.write(source, to: folder("a.\(name)"))
        let path = try pipe()
        let script = FeedScript()
        let feed = try await feed(LiveInput(.pipe, name: path), script: script)
        Self.write([UInt8](try Data(contentsOf: URL(fileURLWithPath: file))), to: path)
        let sound = samples(ofL16: try await drain(feed.packets(.l16, from: 0)))
        let start = try #require(Self.start(source, in: sound))
        #expect(Array(sound[start..<(start + source.count)]) == source)
        #expect(sound[..<start].allSatisfy { $0 == 0 })
        guard case .ended(_, _, nil)? = script.events.last else {
            Issue.record("\(script.events)")
            return
        }
    }

    @Test("A8 samples without a header, from a pipe")
    func raw() async throws {
        let source = Tone.samples(frames: 60_000)
        let path = try pipe()
        let feed = try await feed(LiveInput(.pipe, name: path, raw: RawAudio()), script: FeedScript())
        Self.write(source, to: path)
        let sound = samples(ofL16: try await drain(feed.packets(.l16, from: 0)))
        let start = try #require(Self.start(source, in: sound))
        #expect(Array(sound[start..<(start + source.count)]) == source)
    }

    @Test("A8 nothing is taken from a pipe before somebody listens, and no more than half a second ahead of who does")
    func back() async throws {
        let path = try pipe()
        let feed = try await feed(LiveInput(.pipe, name: path, raw: RawAudio()), script: FeedScript())
        Self.write(Tone.samples(frames: 44_100 * 8), to: path)
        await othersHaveRun()
        #expect(await feed.retained().isEmpty)
        let reader = try await feed.packets(.l16, from: 0)
        _ = try await reader.next()
        #expect(await eventually { await feed.retained().upperBound >= 44_100 / 2 })
        // The pipe and ffmpeg hold some; the feed itself holds its half second, and what one read brings.
        #expect(await feed.retained().upperBound < 44_100)
        _ = try await drain(reader)
    }

    @Test("A8 a writer that stops leaves silence, and what it writes then is heard at once")
    func stall() async throws {
        let clock = ManualClock()
        let path = try pipe()
        let feed = try await feed(
            LiveInput(.pipe, name: path, raw: RawAudio()), script: FeedScript(), clock: clock)
        let first = Tone.samples(frames: 20_000)
        let second = Tone.samples(frames: 30_000, seed: 9)
        let goOn = DispatchSemaphore(value: 0)
        Self.write(first, to: path) {
            goOn.wait()
            Self.write(second, to: path)
            // Held open until the other has it open too.
            Thread.sleep(forTimeInterval: 0.3)
        }
        let reader = try await feed.packets(.l16, from: 0)
        var packets: [AudioPacket] = []
        // ffmpeg takes samples by 1,024 frames: the last of them come with what comes next.
        while packets.count < 55 { packets.append(try #require(try await reader.next())) }
        // Nothing comes, until there is silence in its place.
        let filled = LatestValue(false)
        let waiting = Task {
            let packet = try await reader.next()
            filled.set(true)
            return packet
        }
        #expect(
            await eventually {
                clock.advance(seconds: 0.05)
                return filled.value
            })
        packets.append(try #require(try await waiting.value))
        goOn.signal()
        packets += try await drain(reader)
        let sound = samples(ofL16: packets)
        let start = try #require(Self.start(first, in: sound))
        let again = try #require(Self.start(second, in: sound))
        let gap = (again - start) / 4 - 20_000
        #expect(gap > 44_100 / 4, "\(gap)")
        #expect(Array(sound[again..<(again + second.count)]) == second)
    }

    @Test("A8 what is no audio, an empty pipe, and a pipe that is none are told in words")
    func broken() async throws {
        let noise = try pipe("noise")
        let empty = try pipe("empty")
        let file = try folder.write("file", "text")
        for (path, code, bytes) in [
            (noise, RouterError.Code.mediaUnsupported, Array(repeating: UInt8(ascii: "x"), count: 300_000)),
            (empty, .mediaNotFound, []), (file, .mediaUnsupported, []), (folder("none"), .mediaNotFound, []),
        ] {
            let script = FeedScript()
            let feed = try await feed(
                LiveInput(.pipe, name: path, raw: path == empty ? RawAudio() : nil), script: script)
            if path == noise || path == empty { Self.write(bytes, to: path) }
            _ = try? await drain(feed.packets(.l16, from: 0))
            #expect(await eventually { script.errors.count == 1 }, "\(path)")
            #expect(script.errors.first?.code == code, "\(path): \(script.errors)")
        }
    }

    @Test("A8 live input becomes items; its facts are known without looking, and nothing fetches it")
    func items() async throws {
        let path = try pipe()
        let media = library()
        let expanded = try await media.expand(
            [path, "pulse://router", "pcm://\(path)?rate=8000"], workingDirectory: "/")
        #expect(
            expanded.entries.map(\.source) == [
                .live(LiveInput(.pipe, name: path)), .live(LiveInput(.pulse, name: "router")),
                .live(LiveInput(.pipe, name: path, raw: RawAudio(rate: 8000))),
            ])
        let facts = try await media.facts(expanded.entries[1].source)
        #expect(facts.live && facts.hasAudio && facts.duration == nil && facts.metadata.title == "router")
        #expect(await media.artwork(expanded.entries[1].source, within: ArtworkLimits(maximumBytes: 1000)) == nil)
        let item = QueueItem(id: ItemID(rawValue: "a"), source: expanded.entries[1].source)
        let error = await #expect(throws: RouterError.self) {
            _ = try await media.publish(
                item, token: .random(), for: PullRequirements(receiverAddress: "127.0.0.1"))
        }
        #expect(error?.code == .mediaUnsupported)
        let playlist = try folder.write("list.m3u", "\(path)\n")
        let listed = await #expect(throws: RouterError.self) {
            _ = try await media.expand([playlist], workingDirectory: "/")
        }
        #expect(listed?.message.contains("not a regular file") == true)
    }
}
