import Foundation
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import Media

@Suite("Audio feed", .enabled(if: Tools.ffmpegPath != nil, "ffmpeg is not installed"))
struct FeedTests {
    let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    @Test("A FLAC's frames come out bit by bit, the last packet filled with silence", arguments: [1, 351, 352, 50_001])
    func exact(frames: Int) async throws {
        let source = Tone.samples(frames: frames)
        let path = try await Tone.write(source, to: folder("a.flac"))
        let script = FeedScript()
        let feed = try await library().feed(item("a", path), events: script.feedEvents)
        let packets = try await drain(feed.packets(.l16, from: 0))
        #expect(packets.count == (frames + 351) / 352)
        #expect(packets.map(\.frame) == (0..<packets.count).map { Int64($0 * 352) })
        #expect(packets.allSatisfy { $0.frameCount == 352 && $0.payload.count == 1408 })
        let decoded = samples(ofL16: packets)
        #expect(Array(decoded.prefix(source.count)) == source)
        #expect(decoded.dropFirst(source.count).allSatisfy { $0 == 0 })
        #expect(
            script.events == [
                .started(ItemID(rawValue: "a"), frame: 0, offset: .zero),
                .ended(ItemID(rawValue: "a"), frame: Int64(frames), code: nil),
            ])
    }

    @Test(
        "Two files cut from one at any frame join without a frame added or lost", arguments: [1, 352, 30_011, 99_999])
    func gapless(cut: Int) async throws {
        let source = Tone.samples(frames: 100_000)
        let one = try await Tone.write(Array(source.prefix(cut * 4)), to: folder("1.flac"))
        let two = try await Tone.write(Array(source.dropFirst(cut * 4)), to: folder("2.flac"))
        let script = FeedScript([item("two", two)])
        let feed = try await library().feed(item("one", one), events: script.feedEvents)
        let decoded = samples(ofL16: try await drain(feed.packets(.l16, from: 0)))
        #expect(Array(decoded.prefix(source.count)) == source)
        #expect(
            script.events == [
                .started(ItemID(rawValue: "one"), frame: 0, offset: .zero),
                .ended(ItemID(rawValue: "one"), frame: Int64(cut), code: nil),
                .started(ItemID(rawValue: "two"), frame: Int64(cut), offset: .zero),
                .ended(ItemID(rawValue: "two"), frame: 100_000, code: nil),
            ])
    }

    @Test("ALAC packets of 352 frames decode to the source")
    func alac() async throws {
        let source = Tone.samples(frames: 352 * 100 + 17)
        let path = try await Tone.write(source, to: folder("a.flac"))
        let feed = try await library().feed(item("a", path), events: FeedScript().feedEvents)
        let packets = try await drain(feed.packets(.alac, from: 0))
        let decoder = try #require(ALACDecoder())
        var decoded: [UInt8] = []
        for packet in packets { decoded += try #require(decoder.decode(packet.payload)) }
        #expect(Array(decoded.prefix(source.count)) == source)
        #expect(decoded.count == packets.count * 1408)
        #expect(packets.map(\.payload.count).reduce(0, +) < source.count, "it is compressed")
    }

    @Test(
        "MP3, M4A, Ogg and Opus decode in their length",
        arguments: [("mp3", 0), ("m4a", 1024), ("ogg", 0), ("opus", 0)])
    func formats(name: String, tolerance: Int) async throws {
        let source = Tone.samples(frames: 88_200)
        let path = try await Tone.write(source, to: folder("a.\(name)"))
        let script = FeedScript()
        let feed = try await library().feed(item("a", path), events: script.feedEvents)
        _ = try await drain(feed.packets(.alac, from: 0))
        guard case .ended(_, let frames, nil) = script.events.last else {
            Issue.record("\(script.events)")
            return
        }
        // Opus is 48 kHz inside: 96,000 frames resampled.
        #expect(abs(Int(frames) - 88_200) <= max(tolerance, 2))
    }

    @Test("Mono and 48 kHz come out as 44,100 Hz stereo")
    func converted() async throws {
        let path = folder("mono.wav")
        try await Tools.ffmpeg([
            "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=1", "-ac", "1", path,
        ])
        let script = FeedScript()
        let feed = try await library().feed(item("a", path), events: script.feedEvents)
        let decoded = samples(ofL16: try await drain(feed.packets(.l16, from: 0)))
        guard case .ended(_, let frames, nil) = script.events.last else {
            Issue.record("\(script.events)")
            return
        }
        #expect(abs(frames - 44_100) <= 1)
        #expect(stride(from: 0, to: decoded.count, by: 4).allSatisfy { decoded[$0] == decoded[$0 + 2] })
    }

    @Test("A start in the middle is exact for FLAC")
    func seek() async throws {
        let source = Tone.samples(frames: 44_100 * 3)
        let path = try await Tone.write(source, to: folder("a.flac"))
        let script = FeedScript()
        let start = MediaTime(frames: 44_100 * 2, sampleRate: 44_100)
        let feed = try await library().feed(item("a", path, start: start), events: script.feedEvents)
        let decoded = samples(ofL16: try await drain(feed.packets(.l16, from: 0)))
        #expect(Array(decoded.prefix(44_100 * 4)) == Array(source.dropFirst(44_100 * 8)))
        #expect(script.events.first == .started(ItemID(rawValue: "a"), frame: 0, offset: start))
        let late = FeedScript()
        let past = try await library().feed(
            item("a", path, start: MediaTime(seconds: 60)), events: late.feedEvents)
        await #expect(throws: RouterError.self) { try await drain(past.packets(.l16, from: 0)) }
    }

    @Test("Decoding waits for the furthest reader; who lags goes on with the oldest")
    func bounded() async throws {
        let seconds = 30
        let path = try await Tone.write(Tone.samples(frames: 44_100 * seconds), to: folder("a.flac"))
        let media = library()
        let feed = try await media.feed(item("a", path), events: FeedScript().feedEvents)
        #expect(await eventually { await feed.retained().upperBound >= 4 * 44_100 })
        // Nobody reads: no more than the bound and one read.
        #expect(await feed.retained().upperBound < 5 * 44_100)
        let slow = try await feed.packets(.l16, from: 0)
        let first = try #require(try await slow.next())
        #expect(first.frame == 0)
        let fast = try await feed.packets(.alac, from: 0)
        let all = try await drain(fast)
        #expect(all.count == (44_100 * seconds + 351) / 352)
        let retained = await feed.retained()
        #expect(retained.upperBound == Int64(44_100 * seconds))
        #expect(retained.count >= 5 * 44_100 && retained.count <= 11 * 44_100)
        // The slow one has a handful in its hands, then it jumps.
        var last = first
        var jumps = 0
        while let packet = try await slow.next() {
            if packet.frame != last.frame + 352 { jumps += 1 }
            last = packet
        }
        #expect(jumps == 1)
        // A late one finds the window.
        let late = try await feed.packets(.l16, from: retained.upperBound - 44_100)
        #expect(try await late.next()?.frame == (retained.upperBound - 44_100) / 352 * 352)
        let tooLate = try await feed.packets(.l16, from: 0)
        let oldest = try #require(try await tooLate.next()).frame
        #expect(oldest >= retained.lowerBound && oldest < retained.lowerBound + 352)
    }

    @Test("Items that cannot be played are told and passed over")
    func passedOver() async throws {
        let source = Tone.samples(frames: 10_000)
        let good = try await Tone.write(source, to: folder("good.flac"))
        let text = try folder.write("text.mp3", String(repeating: "This is no music.\n", count: 500))
        let empty = try folder.write("empty.mp3", "")
        let script = FeedScript([
            item("empty", empty), item("gone", folder("gone.flac")), item("folder", folder.path), item("good", good),
        ])
        let feed = try await library().feed(item("text", text), events: script.feedEvents)
        let decoded = samples(ofL16: try await drain(feed.packets(.l16, from: 0)))
        #expect(Array(decoded.prefix(source.count)) == source)
        #expect(
            script.events == [
                .ended(ItemID(rawValue: "text"), frame: 0, code: .mediaUnsupported),
                .ended(ItemID(rawValue: "empty"), frame: 0, code: .mediaUnsupported),
                .ended(ItemID(rawValue: "gone"), frame: 0, code: .mediaNotFound),
                .ended(ItemID(rawValue: "folder"), frame: 0, code: .mediaUnsupported),
                .started(ItemID(rawValue: "good"), frame: 0, offset: .zero),
                .ended(ItemID(rawValue: "good"), frame: 10_000, code: nil),
            ])
    }

    @Test("A lone text file named .mp3 is refused in words")
    func textAsMP3() async throws {
        let text = try folder.write("text.mp3", String(repeating: "This is no music.\n", count: 500))
        let feed = try await library().feed(item("a", text), events: FeedScript().feedEvents)
        let cursor = try await feed.packets(.alac, from: 0)
        let error = await #expect(throws: RouterError.self) { try await cursor.next() }
        #expect(error?.code == .mediaUnsupported)
        #expect(error?.message.contains("text.mp3") == true)
    }

    @Test("A truncated FLAC plays what is there, then says where it broke")
    func truncated() async throws {
        let source = Tone.samples(frames: 44_100 * 6)
        let whole = try await Tone.write(source, to: folder("whole.flac"))
        let bytes = try Data(contentsOf: URL(fileURLWithPath: whole))
        let broken = try folder.write("broken.flac", bytes.prefix(bytes.count / 2))
        let script = FeedScript()
        let feed = try await library().feed(item("a", broken), events: script.feedEvents)
        let decoded = samples(ofL16: try await drain(feed.packets(.l16, from: 0)))
        guard case .ended(_, let frames, .itemFailed) = script.events.last else {
            Issue.record("\(script.events)")
            return
        }
        #expect(frames > 44_100 * 2 && frames < 44_100 * 4)
        // The very last block is the one that was cut.
        let sound = Int(frames) * 4 - 4608 * 4
        #expect(Array(decoded.prefix(sound)) == Array(source.prefix(sound)))
        #expect(script.errors.first?.message.contains("breaks off at 0:0") == true)
    }

    @Test("ffmpeg not installed is said with the package to install")
    func missing() async throws {
        let path = try await Tone.write(Tone.samples(frames: 100), to: folder("a.flac"))
        let media = library(MediaConfiguration(ffmpeg: "/nonexistent/ffmpeg"))
        let feed = try await media.feed(item("a", path), events: FeedScript().feedEvents)
        let cursor = try await feed.packets(.alac, from: 0)
        let error = await #expect(throws: RouterError.self) { try await cursor.next() }
        #expect(error?.code == .dependencyMissing)
        #expect(error?.hint?.contains("apt install ffmpeg") == true)
    }

    @Test(
        "Hostile file names are only names",
        arguments: [
            "-y.flac", "a b.flac", "it's \"so\".flac", "Ünï ☃.flac", "concat:a|b.flac", "%2e%2e.flac", "$(id).flac",
        ])
    func names(name: String) async throws {
        let source = Tone.samples(frames: 1000)
        let path = try await Tone.write(source, to: folder("plain.flac"))
        let hostile = folder(name)
        try FileManager.default.moveItem(atPath: path, toPath: hostile)
        let feed = try await library().feed(item("a", hostile), events: FeedScript().feedEvents)
        let decoded = samples(ofL16: try await drain(feed.packets(.l16, from: 0)))
        #expect(Array(decoded.prefix(source.count)) == source)
    }

    @Test("A feed that nobody holds ends its decoder")
    func released() async throws {
        let path = try await Tone.write(Tone.samples(frames: 44_100 * 30), to: folder("a.flac"))
        let media = library()
        var feed: (any AudioFeed)? = try await media.feed(item("a", path), events: FeedScript().feedEvents)
        var cursor: (any AudioPacketCursor)? = try await feed?.packets(.alac, from: 0)
        _ = try await cursor?.next()
        feed = nil
        #expect(try await cursor?.next() != nil, "a reader keeps it")
        #expect(await media.activeFeeds == 1)
        cursor = nil
        #expect(await eventually { await media.activeFeeds == 0 })
    }

    @Test("stop ends decoding, and a reader that waits is told")
    func stopped() async throws {
        let path = try await Tone.write(Tone.samples(frames: 44_100 * 30), to: folder("a.flac"))
        let media = library()
        let feed = try await media.feed(item("a", path), events: FeedScript().feedEvents)
        let cursor = try await feed.packets(.alac, from: 0)
        _ = try await cursor.next()
        await media.stop()
        #expect(await media.activeFeeds == 0)
        let rest = try await drain(cursor)
        #expect(rest.count < 44_100 * 12 / 352)
    }
}
