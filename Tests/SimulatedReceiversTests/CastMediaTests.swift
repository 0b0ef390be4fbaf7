import COpenSSL
import CastV2
import Foundation
import NIOHTTP1
import RouterTestKit
import SimulatedReceivers
import Testing

/// Loading and playing at the simulated Cast receiver, over real sockets, with media fetched over real HTTP.
@Suite struct CastMediaTests {
    static func load(
        _ url: String, type: String = "audio/flac", request: Int, _ fields: [String: JSONValue] = [:]
    ) -> JSONValue {
        .object(
            [
                "type": "LOAD", "requestId": .integer(request),
                "media": ["contentId": .string(url), "contentType": .string(type), "streamType": .null],
            ].merging(fields) { $1 })
    }

    private func withPlayer(
        _ change: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: (SimulatedCastReceiver, CastTestSender, String) async throws -> Void
    ) async throws {
        try await CastReceiverTests.withReceiver(change) { receiver, port, _ in
            let sender = try await CastTestSender(port: port)
            let transport = try #require(await sender.launchPlayer())
            try await body(receiver, sender, transport)
            await sender.close()
        }
    }

    private func sha256(_ bytes: [UInt8]) -> String {
        var digest = [UInt8](repeating: 0, count: 32)
        SHA256(bytes, bytes.count, &digest)
        return digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test("R8 a load goes through the faithful sequence, is fetched in ranges, heard to its end, and is recorded")
    func wholePlay() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-castsim-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        // Over a mebibyte, so that one range is not enough.
        let tone = try await CastTestTone.make(seconds: 7, format: "wav")
        let server = try await CastTestMediaServer(tone, .init(contentType: "audio/wav"))
        try await withPlayer {
            $0.recordingFolder = folder
        } _: { receiver, sender, transport in
            await sender.say(
                Self.load(server.url, type: "audio/wav", request: 10, ["currentTime": 5]), in: CastNamespace.media,
                to: transport)
            let reply = await sender.hear("MEDIA_STATUS", request: 10)
            #expect(reply?.source == transport && reply?.destination == "sender-0")
            #expect(reply?.json["status"]?.array?.first?["playerState"]?.string == "BUFFERING")
            let playing = await sender.hearState("PLAYING")
            #expect(playing?["mediaSessionId"]?.int == 1)
            #expect(playing?["currentTime"]?.double == 5)
            let ended = await sender.hearState("IDLE")
            #expect(ended?["idleReason"]?.string == "FINISHED")

            // What was pushed, in order.
            let states = await sender.received.filter { $0.namespace == CastNamespace.media && $0.destination == "*" }
                .compactMap { $0.json["status"]?.array?.first }
                .map { $0["extendedStatus"]?["playerState"]?.string ?? $0["playerState"]?.string ?? "" }
            #expect(states == ["LOADING", "BUFFERING", "PLAYING", "IDLE"])

            let record = await receiver.record()
            #expect(record.contents.map(\.sha256) == [sha256(tone)])
            #expect(record.contents.map(\.bytes) == [tone.count])
            #expect(record.fetches.count == 2 && record.fetches.allSatisfy { $0.status == 206 })
            #expect(record.fetches.first?.range == "bytes=0-1048575")
            #expect(record.heardFrames == 2 * 44_100)
            let interval = try #require(record.intervals.first)
            #expect(interval.from == 5 && abs(interval.to - 7) < 0.001)

            // The recording is sample for sample the end of the tone.
            let wav = Array(try Data(contentsOf: try #require(record.recording)))
            #expect(wav.count == 44 + 2 * 44_100 * 4)
            #expect(Array(wav.suffix(2 * 44_100 * 4)) == Array(tone.suffix(2 * 44_100 * 4)))
            let journal = try String(contentsOf: try #require(record.journal), encoding: .utf8)
            let words = journal.split(separator: "\n").compactMap { JSONValue(text: String($0))?["event"]?.string }
            #expect(words == record.words)
        }
        await server.stop()
    }

    @Test("R8 pause, resume, seek, stream volume, rate and stop do what they say")
    func controls() async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 30))
        try await withPlayer { receiver, sender, transport in
            func say(_ type: String, _ request: Int, _ fields: [String: JSONValue] = [:]) async -> JSONValue? {
                let message: JSONValue = .object(
                    ["type": .string(type), "requestId": .integer(request), "mediaSessionId": 1].merging(fields) { $1 })
                await sender.say(message, in: CastNamespace.media, to: transport)
                return await sender.hear("MEDIA_STATUS", request: request)?.json["status"]?.array?.first
            }
            await sender.say(Self.load(server.url, request: 10), in: CastNamespace.media, to: transport)
            #expect(await sender.hearState("PLAYING") != nil)
            #expect(await eventually { await receiver.record().position > 0.3 })
            let paused = await say("PAUSE", 11)
            #expect(paused?["playerState"]?.string == "PAUSED")
            let position = try #require(paused?["currentTime"]?.double)
            #expect(await receiver.record().position == position)
            // What was heard is what the clock allowed, to the frame.
            #expect(abs(Double(await receiver.record().heardFrames) - position * 44_100) <= 1)
            #expect(await say("PLAY", 12)?["playerState"]?.string == "PLAYING")

            let before = await sender.received.count
            let sought = await say("SEEK", 13, ["currentTime": 20, "resumeState": "PLAYBACK_PAUSE"])
            #expect(sought?["playerState"]?.string == "BUFFERING")
            #expect(await sender.hearState("PAUSED", after: before)?["currentTime"]?.double == 20)
            #expect(await say("SEEK", 14, ["relativeTime": -5])?["currentTime"]?.double == 15)
            #expect(await say("SET_VOLUME", 15, ["volume": ["level": 0.5]])?["volume"]?["level"]?.double == 0.5)
            #expect(await say("SET_PLAYBACK_RATE", 16, ["playbackRate": 2])?["playbackRate"]?.double == 2)
            let resumed = await sender.received.count
            _ = await say("PLAY", 17)
            #expect(await sender.hearState("PLAYING", after: resumed) != nil)
            #expect(await eventually { await receiver.record().position > 16 })
            let stopped = await say("STOP", 18)
            #expect(stopped?["idleReason"]?.string == "CANCELLED")
            let last = try #require(await receiver.record().intervals.last)
            let heard = Double(last.hostEnd - last.hostStart) / 1e9
            #expect(last.rate == 2 && abs((last.to - last.from) - 2 * heard) < 0.001)

            await sender.say(["type": "GET_STATUS", "requestId": 19], in: CastNamespace.media, to: transport)
            let idle = await sender.hear("MEDIA_STATUS", request: 19)?.json["status"]?.array?.first
            #expect(idle?["playerState"]?.string == "IDLE" && idle?["mediaSessionId"] == nil)
        }
        await server.stop()
    }

    @Test("R8 a load while loading cancels the first; a load over playing media interrupts it")
    func overlappingLoads() async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 20))
        try await withPlayer {
            $0.bufferingDelay = .milliseconds(300)
        } _: { _, sender, transport in
            await sender.say(Self.load(server.url, request: 10), in: CastNamespace.media, to: transport)
            await sender.say(Self.load(server.url, request: 11), in: CastNamespace.media, to: transport)
            #expect(await sender.hear("LOAD_CANCELLED", request: 10) != nil)
            #expect(await sender.hearState("PLAYING")?["mediaSessionId"]?.int == 2)
            await sender.say(Self.load(server.url, request: 12), in: CastNamespace.media, to: transport)
            let interrupted = await sender.hearState("IDLE")
            #expect(interrupted?["idleReason"]?.string == "INTERRUPTED")
            #expect(interrupted?["mediaSessionId"]?.int == 2)
            let answer = await sender.hear("MEDIA_STATUS", request: 12)
            #expect(answer?.json["status"]?.array?.first?["mediaSessionId"]?.int == 3)
        }
        await server.stop()
    }

    @Test("R8 a queue goes on by itself, jumps, and says what is in it")
    func queue() async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 1))
        try await withPlayer { receiver, sender, transport in
            let media: JSONValue = ["contentId": .string(server.url), "contentType": "audio/flac"]
            let items: JSONValue = [["media": media], ["media": media], ["media": media]]
            await sender.say(
                ["type": "QUEUE_LOAD", "requestId": 10, "items": items], in: CastNamespace.media, to: transport)
            #expect(await sender.hear("MEDIA_STATUS", request: 10) != nil)
            #expect(await eventually { await receiver.record().events("finished").count == 1 })
            #expect(await eventually { await receiver.record().events("playing").count == 2 })
            await sender.say(
                ["type": "QUEUE_UPDATE", "requestId": 11, "mediaSessionId": 1, "jump": 1], in: CastNamespace.media,
                to: transport)
            #expect(await sender.hear("MEDIA_STATUS", request: 11) != nil)
            await sender.say(
                ["type": "QUEUE_GET_ITEM_IDS", "requestId": 12, "mediaSessionId": 1], in: CastNamespace.media,
                to: transport)
            #expect(await sender.hear("QUEUE_ITEM_IDS")?.json["itemIds"]?.array?.compactMap(\.int) == [1, 2, 3])
            await sender.say(
                ["type": "QUEUE_NEXT", "requestId": 13, "mediaSessionId": 1], in: CastNamespace.media, to: transport)
            #expect(await sender.hear("INVALID_REQUEST", request: 13)?.json["reason"]?.string == "END_OF_QUEUE")
            #expect(await sender.hearState("IDLE")?["idleReason"]?.string == "FINISHED")
        }
        await server.stop()
    }

    @Test(
        "R8 media requests that cannot be, in the words of real devices",
        arguments: [
            (#"{"type":"PLAY","requestId":9,"mediaSessionId":77}"#, "INVALID_REQUEST", "INVALID_MEDIA_SESSION_ID"),
            (#"{"type":"PLAY","requestId":9}"#, "INVALID_REQUEST", "INVALID_PARAMS"),
            (#"{"type":"LOAD","requestId":9}"#, "INVALID_REQUEST", "INVALID_PARAMS"),
            (#"{"type":"LOAD","requestId":9,"media":{"contentId":"http://x/"}}"#, "INVALID_REQUEST", "INVALID_PARAMS"),
            (#"{"type":"QUEUE_LOAD","requestId":9,"items":[{"itemId":1}]}"#, "INVALID_REQUEST", "INVALID_PARAMS"),
        ])
    func refusals(_ request: String, _ type: String, _ reason: String) async throws {
        try await withPlayer { _, sender, transport in
            await sender.say(try #require(JSONValue(text: request)), in: CastNamespace.media, to: transport)
            #expect(await sender.hear(type, request: 9)?.json["reason"]?.string == reason)
        }
    }

    struct BadMedia: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var code: Int
        var body: [UInt8]? = nil
        var manner = CastTestMediaServer.Manner()
    }

    @Test(
        "R8 media that cannot be played fails with the device's code",
        arguments: [
            BadMedia(testDescription: "404", code: 103, manner: .init(status: .notFound)),
            BadMedia(testDescription: "cut short", code: 103, manner: .init(cutAfter: 100)),
            BadMedia(testDescription: "wrong range", code: 103, manner: .init(wrongRange: true)),
            BadMedia(testDescription: "text", code: 104, body: Array("This is no music, but text.".utf8)),
            BadMedia(
                testDescription: "text without length", code: 104, body: Array("no music".utf8),
                manner: .init(ranges: false, unknownLength: true)),
            BadMedia(
                testDescription: "HLS without CORS", code: 300, manner: .init(contentType: "application/x-mpegurl")),
        ])
    func failures(_ media: BadMedia) async throws {
        let tone = try await CastTestTone.make(seconds: 1)
        let server = try await CastTestMediaServer(media.body ?? tone, media.manner)
        try await withPlayer { receiver, sender, transport in
            await sender.say(
                Self.load(server.url, type: media.manner.contentType, request: 10), in: CastNamespace.media,
                to: transport)
            let failed = await sender.hear("LOAD_FAILED", request: 10)
            #expect(failed?.json["detailedErrorCode"]?.int == media.code)
            #expect(await sender.hearState("IDLE")?["idleReason"]?.string == "ERROR")
            #expect(await receiver.record().events("failed").first?["reason"]?.string?.isEmpty == false)
        }
        await server.stop()
    }

    @Test("R8 a server that cannot be reached, and a fault that was asked for, fail with their code")
    func unreachable() async throws {
        let server = try await CastTestMediaServer([1])
        let url = server.url
        await server.stop()
        try await withPlayer { _, sender, transport in
            await sender.say(Self.load(url, request: 10), in: CastNamespace.media, to: transport)
            #expect(await sender.hear("LOAD_FAILED", request: 10)?.json["detailedErrorCode"]?.int == 103)
        }
        try await withPlayer {
            $0.faults.loadFails = 905
        } _: { _, sender, transport in
            await sender.say(Self.load(url, request: 10), in: CastNamespace.media, to: transport)
            #expect(await sender.hear("LOAD_FAILED", request: 10)?.json["detailedErrorCode"]?.int == 905)
        }
    }

    @Test("R8 servers without ranges, without a length, and behind a redirect are played too")
    func otherServers() async throws {
        let tone = try await CastTestTone.make(seconds: 1)
        let real = try await CastTestMediaServer(tone)
        for manner in [
            CastTestMediaServer.Manner(ranges: false), .init(ranges: false, unknownLength: true),
            .init(redirect: real.url),
        ] {
            let server = try await CastTestMediaServer(tone, manner)
            try await withPlayer { receiver, sender, transport in
                // VLC's autoplay: the string "false", which devices play.
                await sender.say(
                    Self.load(server.url, request: 10, ["autoplay": "false"]), in: CastNamespace.media, to: transport)
                #expect(await sender.hearState("IDLE")?["idleReason"]?.string == "FINISHED")
                let record = await receiver.record()
                #expect(record.heardFrames == 44_100)
                #expect(record.contents.map(\.sha256) == [sha256(tone)])
            }
            await server.stop()
        }
        await real.stop()
    }

    @Test("R8 an adaptive stream whose server allows web pages is played")
    func adaptive() async throws {
        let segment = try await CastTestMediaServer(try await CastTestTone.make(seconds: 1, format: "ts"))
        let playlist = """
            #EXTM3U
            #EXT-X-VERSION:3
            #EXT-X-TARGETDURATION:2
            #EXTINF:1.0,
            \(segment.url).ts
            #EXT-X-ENDLIST

            """
        let server = try await CastTestMediaServer(
            Array(playlist.utf8), .init(contentType: "application/x-mpegurl", allowedOrigin: "*"))
        try await withPlayer { receiver, sender, transport in
            await sender.say(
                Self.load(server.url, type: "application/x-mpegurl", request: 10), in: CastNamespace.media,
                to: transport)
            #expect(await sender.hearState("IDLE")?["idleReason"]?.string == "FINISHED")
            #expect(abs(await receiver.record().heardFrames - 44_100) < 4_000)
        }
        await server.stop()
        await segment.stop()
    }

    @Test("R8 volume is in what is heard: muted is silence, half is half")
    func volumeIsHeard() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-castsim-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let tone = try await CastTestTone.make(seconds: 1, format: "wav")
        let server = try await CastTestMediaServer(tone, .init(contentType: "audio/wav"))
        for level in [0.5, 0] {
            try await withPlayer {
                $0.recordingFolder = folder
                $0.volume = level
            } _: { receiver, sender, transport in
                await sender.say(
                    Self.load(server.url, type: "audio/wav", request: 10), in: CastNamespace.media, to: transport)
                #expect(await sender.hearState("IDLE") != nil)
                let wav = Array(try Data(contentsOf: try #require(await receiver.record().recording)).dropFirst(44))
                let peak = stride(from: 0, to: wav.count - 1, by: 2).map {
                    abs(Int(Int16(bitPattern: UInt16(wav[$0]) | UInt16(wav[$0 + 1]) << 8)))
                }.max()
                let source = Array(tone.suffix(44_100 * 4))
                let loudest = stride(from: 0, to: source.count, by: 2).map {
                    abs(Int(Int16(bitPattern: UInt16(source[$0]) | UInt16(source[$0 + 1]) << 8)))
                }.max()
                #expect(abs(Double(peak ?? -1) - Double(loudest ?? 0) * level) <= 1)
            }
        }
        await server.stop()
    }

    @Test("R8 people at the device: pause, crash, and a network that goes")
    func people() async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 20))
        try await withPlayer { receiver, sender, transport in
            await sender.say(Self.load(server.url, request: 10), in: CastNamespace.media, to: transport)
            #expect(await sender.hearState("PLAYING") != nil)
            await receiver.someonePresses(play: false)
            #expect(await sender.hearState("PAUSED") != nil)
            await receiver.someoneTurnsVolume(to: 0.3)
            let pushed = await sender.hear { $0.json["status"]?["volume"]?["level"]?.double == 0.3 }
            #expect(pushed?.destination == "*")
            await receiver.appCrashes()
            #expect(await sender.hear("CLOSE")?.source == transport)
            await receiver.dropConnections()
            #expect(await eventually { await sender.closed })
        }
        await server.stop()
    }
}
