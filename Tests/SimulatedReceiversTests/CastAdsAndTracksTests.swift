import CastV2
import Foundation
import NIOHTTP1
import RouterTestKit
import SimulatedReceivers
import Testing

/// Ad breaks, text tracks, live windows, stored sessions and refusals of the simulated media app.
@Suite struct CastAdsAndTracksTests {
    private func media(_ url: String, breaks: JSONValue, clips: JSONValue) -> JSONValue {
        CastTestPlayer.media(url, ["breaks": breaks, "breakClips": clips])
    }

    private func clip(_ id: String, _ url: String, skippable: Double? = nil) -> JSONValue {
        var fields: [String: JSONValue] = [
            "id": .string(id), "contentId": .string(url), "contentType": "audio/flac", "duration": 1,
        ]
        fields["whenSkippable"] = skippable.map { .number($0) }
        return .object(fields)
    }

    @Test("C15 a pre-roll is fetched and played first, its time is told, and the content follows")
    func preRoll() async throws {
        let content = try await CastTestMediaServer(try await CastTestTone.make(seconds: 2))
        let ad = try await CastTestMediaServer(try await CastTestTone.make(seconds: 1))
        try await CastTestPlayer.with { player in
            let media = media(
                content.url, breaks: [["id": "b", "breakClipIds": ["c", "c2"], "position": 0]],
                clips: [clip("c", ad.url), clip("c2", ad.url)])
            await player.say("LOAD", 10, ["media": media], session: nil)
            let first = await player.sender.hear {
                $0.json["status"]?.array?.first?["breakStatus"]?["breakClipId"]?.string == "c"
            }?.json["status"]?.array?.first
            #expect(first?["currentTime"]?.double == 0)
            let second = await player.sender.hear {
                $0.json["status"]?.array?.first?["breakStatus"]?["breakClipId"]?.string == "c2"
            }?.json["status"]?.array?.first
            #expect(abs((second?["breakStatus"]?["currentBreakTime"]?.double ?? 0) - 1) < 0.01)
            // Not skippable.
            #expect(await player.ask("SKIP_AD", 11)?.json["type"]?.string != "MEDIA_STATUS")
            let ended = await player.sender.hearState("IDLE")
            #expect(ended?["idleReason"]?.string == "FINISHED")
            let record = await player.receiver.record()
            #expect(record.heardFrames == 4 * 44_100)
            #expect(record.words.filter { $0 == "clip" }.count == 2)
            let watched = await player.sender.received.compactMap {
                $0.json["status"]?.array?.first?["media"]?["breaks"]
            }
            #expect(watched.last?.array?.first?["isWatched"]?.bool == true)
        }
        await content.stop()
        await ad.stop()
    }

    @Test("C15 a seek across a break plays it first; it can be skipped when its time has come")
    func seekAndSkip() async throws {
        let content = try await CastTestMediaServer(try await CastTestTone.make(seconds: 20))
        let ad = try await CastTestMediaServer(try await CastTestTone.make(seconds: 15))
        try await CastTestPlayer.with { player in
            let media = media(
                content.url, breaks: [["id": "mid", "breakClipIds": ["c"], "position": 5]],
                clips: [clip("c", ad.url, skippable: 3)])
            await player.say("LOAD", 10, ["media": media], session: nil)
            #expect(await player.sender.hearState("PLAYING") != nil)
            #expect(await player.ask("SKIP_AD", 11)?.type == "INVALID_PLAYER_STATE")
            let sought = await player.status("SEEK", 12, ["currentTime": 10])
            #expect(sought?["breakStatus"]?["breakId"]?.string == "mid")
            #expect(await player.ask("SEEK", 13, ["currentTime": 12])?.type == "INVALID_PLAYER_STATE")
            let playing = await player.sender.hear {
                let status = $0.json["status"]?.array?.first
                return status?["breakStatus"] != nil && status?["playerState"]?.string == "PLAYING"
            }
            #expect(playing != nil)
            #expect(await player.ask("SKIP_AD", 14)?.json["reason"]?.string == "INVALID_REQUEST")
            let skippable = await player.sender.hear {
                ($0.json["status"]?.array?.first?["breakStatus"]?["currentBreakClipTime"]?.double ?? 0) >= 3
            }?.json["status"]?.array?.first
            #expect((skippable?["supportedMediaCommands"]?.int ?? 0) & 512 != 0)
            let skipped = await player.status("SKIP_AD", 15)
            #expect(skipped?["breakStatus"] == nil && skipped?["currentTime"]?.double == 10)
            #expect(await eventually { await player.receiver.record().position > 10.2 })
            // The content was fetched once.
            #expect(await player.receiver.record().contents.count == 2)
        }
        await content.stop()
        await ad.stop()
    }

    @Test("C15 a clip that cannot be played is told and passed over")
    func brokenClip() async throws {
        let content = try await CastTestMediaServer(try await CastTestTone.make(seconds: 1))
        let ad = try await CastTestMediaServer([1], .init(status: .notFound))
        try await CastTestPlayer.with { player in
            let media = media(
                content.url, breaks: [["id": "post", "breakClipIds": ["c"], "position": -1]],
                clips: [clip("c", ad.url)])
            await player.say("LOAD", 10, ["media": media], session: nil)
            #expect(await player.sender.hear("ERROR")?.json["detailedErrorCode"]?.int == 901)
            #expect(await player.sender.hearState("IDLE")?["idleReason"]?.string == "FINISHED")
        }
        await content.stop()
        await ad.stop()
    }

    private static let text =
        "WEBVTT\n\n1\n00:00.200 --> 00:01.000 align:start\nHello\nthere\n\n01:00:00.000 --> 01:00:02.000\nLate\n"

    @Test("C12 a text track is fetched where CORS allows it, and its cues come up")
    func tracks() async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 3))
        let text = try await CastTestMediaServer(
            Array(Self.text.utf8), .init(contentType: "text/vtt", allowedOrigin: "*"))
        let closed = try await CastTestMediaServer(Array(Self.text.utf8), .init(contentType: "text/vtt"))
        try await CastTestPlayer.with { player in
            func track(_ id: Int, _ url: String, _ language: String) -> JSONValue {
                [
                    "trackId": .integer(id), "type": "TEXT", "subtype": "SUBTITLES", "trackContentId": .string(url),
                    "trackContentType": "text/vtt", "language": .string(language), "name": "Text",
                ]
            }
            let media = CastTestPlayer.media(
                server.url, ["tracks": [track(1, text.url, "en"), track(2, closed.url, "de")]])
            let loaded = await player.status("LOAD", 10, ["media": media, "activeTrackIds": [1]], session: nil)
            #expect(loaded?["activeTrackIds"]?.array?.compactMap(\.int) == [1])
            #expect(await eventually { await player.receiver.record().events("cueShown").count == 1 })
            let record = await player.receiver.record()
            #expect(record.events("cue").compactMap { $0["text"]?.string } == ["Hello\nthere", "Late"])
            #expect(record.events("cue").compactMap { $0["start"]?.double } == [0.2, 3_600])

            let german = await player.status(
                "EDIT_TRACKS_INFO", 11, ["language": "de", "textTrackStyle": ["fontScale": 2]])
            #expect(german?["activeTrackIds"]?.array?.compactMap(\.int) == [2])
            #expect(german?["media"]?["textTrackStyle"]?["fontScale"]?.double == 2)
            #expect(await eventually { await player.receiver.record().words.contains("trackFailed") })
            #expect(await player.ask("EDIT_TRACKS_INFO", 12, ["activeTrackIds": [9]])?.type == "INVALID_REQUEST")
            let unknown = await player.ask("EDIT_TRACKS_INFO", 13, ["language": "xx"])
            #expect(unknown?.json["reason"]?.string == "LANGUAGE_NOT_SUPPORTED")
            let off = await player.status("EDIT_TRACKS_INFO", 14, ["enableTextTracks": false])
            #expect(off?["activeTrackIds"]?.array?.isEmpty == true)
        }
        for server in [server, text, closed] { await server.stop() }
    }

    @Test("C12 text that is no WebVTT is no track", arguments: ["SRT\n00:01.000 --> 00:02.000\nx", "", "WEBVTTX\n"])
    func badText(_ body: String) async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 1))
        let text = try await CastTestMediaServer(
            Array(body.utf8), .init(ranges: false, contentType: "text/vtt", allowedOrigin: "*"))
        try await CastTestPlayer.with { player in
            let media = CastTestPlayer.media(
                server.url,
                ["tracks": [["trackId": 1, "type": "TEXT", "trackContentId": .string(text.url)]]])
            await player.say("LOAD", 10, ["media": media, "activeTrackIds": [1]], session: nil)
            #expect(await eventually { await player.receiver.record().words.contains("trackFailed") })
            // The film plays without.
            #expect(await player.sender.hearState("IDLE")?["idleReason"]?.string == "FINISHED")
        }
        await server.stop()
        await text.stop()
    }

    @Test("C13 a live stream has a window that moves, and seeks stay in it")
    func live() async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 60))
        try await CastTestPlayer.with {
            $0.liveWindow = 20
        } _: { player in
            let media = CastTestPlayer.media(server.url, ["streamType": "LIVE"])
            let loaded = await player.status("LOAD", 10, ["media": media], session: nil)
            #expect((loaded?["liveSeekableRange"]?["end"]?.double ?? 0) >= 20)
            #expect(loaded?["liveSeekableRange"]?["isMovingWindow"]?.bool == true)
            #expect(loaded?["media"]?["duration"] == nil)
            #expect((loaded?["currentTime"]?.double ?? 0) >= 20)
            #expect(await player.status("SEEK", 11, ["currentTime": 50])?["currentTime"]?.double ?? 99 < 40)
            #expect(await player.ask("SET_PLAYBACK_RATE", 12, ["playbackRate": 2])?.type == "INVALID_PLAYER_STATE")
        }
        await server.stop()
    }

    @Test("C6 a stored session goes on at another device, queue and place kept")
    func transfer() async throws {
        func change(_ configuration: inout SimulatedCastConfiguration) { configuration.playsSilence = true }
        try await CastTestPlayer.with(change) { first in
            let items = CastTestPlayer.items(["http://127.0.0.1:1/a", "http://127.0.0.1:1/b"])
            let data: JSONValue = ["items": items, "startIndex": 1, "repeatMode": "REPEAT_ALL"]
            let media = CastTestPlayer.media("http://127.0.0.1:1/b")
            _ = await first.status(
                "LOAD", 10, ["media": media, "queueData": data, "currentTime": 42, "autoplay": false], session: nil)
            let stored = await first.ask("STORE_SESSION", 11)
            #expect(stored?.type == "SESSION_STATE")
            let state = try #require(stored?.json["sessionState"])
            try await CastTestPlayer.with(change) { second in
                let resumed = await second.status("RESUME_SESSION", 12, ["sessionState": state], session: nil)
                #expect(resumed?["currentTime"]?.double == 42)
                #expect(resumed?["repeatMode"]?.string == "REPEAT_ALL")
                #expect(await second.itemIDs(13).count == 2)
            }
        }
        try await CastTestPlayer.with {
            $0.storesSessions = false
        } _: { player in
            #expect(await player.ask("RESUME_SESSION", 10, session: nil)?.json["reason"]?.string == "NOT_SUPPORTED")
        }
    }

    @Test("C21 a host name, a type without a decoder, and media without CORS fail with their code")
    func refusals() async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 1))
        try await CastTestPlayer.with {
            $0.refusesHostNames = true
            $0.needsOrigin = true
            $0.refusedContentTypes = ["audio/x-ape"]
            $0.faults.loadFailureData = ["why": "asked for"]
        } _: { player in
            func code(_ request: Int, _ url: String, _ type: String) async -> Int? {
                let media = CastTestPlayer.media(url, ["contentType": .string(type)])
                let answer = await player.ask("LOAD", request, ["media": media], session: nil)
                #expect(answer?.type == "LOAD_FAILED" && answer?.json["customData"]?["why"]?.string == "asked for")
                return answer?.json["detailedErrorCode"]?.int
            }
            #expect(await code(10, "http://localhost:\(server.port)/media", "audio/flac") == 103)
            #expect(await player.receiver.record().fetches.isEmpty)
            #expect(await code(11, server.url, "audio/x-ape") == 104)
            #expect(await code(12, server.url, "text/html") == 104)
            #expect(await code(13, server.url, "audio/flac") == 300)
        }
        await server.stop()
    }
}
