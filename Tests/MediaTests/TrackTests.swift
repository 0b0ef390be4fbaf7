import Foundation
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import Media

@Suite("Tracks beside and inside the media", .enabled(if: Tools.ffmpegPath != nil, "ffmpeg is not installed"))
struct TrackTests {
    let folder: ScratchFolder
    let srt = "1\n00:00:00,500 --> 00:00:01,000\n{\\an8}<i>Guten</i> Tag\n"

    init() throws { folder = try ScratchFolder() }

    private func film(_ name: String, subtitles: [(file: String, language: String)] = [], codec: String = "subrip")
        async throws -> String
    {
        var inputs = ["-f", "lavfi", "-i", "color=red:size=64x64:rate=5:duration=2"]
        var maps = ["-map", "0:v"]
        for (index, text) in subtitles.enumerated() {
            inputs += ["-i", text.file]
            maps += ["-map", "\(index + 1):s", "-metadata:s:s:\(index)", "language=\(text.language)"]
        }
        let codecs = subtitles.isEmpty ? [] : ["-c:s", codec]
        try await Tools.ffmpeg(inputs + maps + ["-c:v", "mpeg4"] + codecs + [folder(name)])
        return folder(name)
    }

    private func published(
        _ path: String, _ request: SubtitleRequest? = nil, _ body: (MediaLibrary, PullMedia) async throws -> Void
    ) async throws {
        let media = library()
        do {
            let item = QueueItem(id: ItemID(rawValue: "1"), source: .file(path: path), subtitles: request)
            try await body(
                media,
                try await media.publish(
                    item, token: .random(), for: PullRequirements(receiverAddress: "127.0.0.1")))
        } catch {
            await media.stop()
            throw error
        }
        await media.stop()
    }

    private func get(
        _ url: String?, _ method: String = "GET", _ headers: [String: String] = [:]
    ) async throws -> RawHTTPClient.Answer {
        let url = try #require(url.flatMap { URL(string: $0) })
        return try await RawHTTPClient(port: try #require(url.port)).get(url.path, method: method, headers)
    }

    @Test(
        "C12 files beside the film and in Subs are offered by language, and served as WebVTT with Range, HEAD and CORS")
    func sidecars() async throws {
        let path = try await film("film.mkv")
        for name in ["film.srt", "film.pt-BR.forced.srt", "Subs/2_English.srt", "other.de.srt", "Film.de.sdh.ass"] {
            try folder.write(name, srt)
        }
        try folder.write("film.idx", "VobSub")
        try await published(path) { media, published in
            let tracks = published.tracks
            #expect(tracks.map(\.language) == ["de", "pt-BR", "und", "en"])
            #expect(tracks.map(\.name) == ["German (SDH)", "Portuguese (BR) (forced)", "Subtitles", "English"])
            #expect(tracks.map(\.subtype) == [.captions, .subtitles, .subtitles, .subtitles])
            #expect(tracks.allSatisfy { $0.kind == .text && !$0.isInband && $0.contentType == "text/vtt" })
            #expect(published.activeTracks == [2])
            #expect(published.notices.first?.message.contains("film.idx") == true)
            let url = try #require(tracks[2].url)
            #expect(url.contains("/track/\(published.token.rawValue)/3.vtt"))
            let answer = try await get(url, "GET", ["Origin": "https://www.gstatic.com"])
            let text = "WEBVTT\n\n00:00:00.500 --> 00:00:01.000 line:0\n<i>Guten</i> Tag\n"
            #expect(answer.status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self) == text)
            #expect(answer["Content-Type"] == "text/vtt; charset=utf-8")
            #expect(answer["Access-Control-Allow-Origin"] == "*")
            let head = try await get(url, "HEAD")
            #expect(head.status == 200 && head.body.isEmpty && head["Content-Length"] == "\(text.utf8.count)")
            let part = try await get(url, "GET", ["Range": "bytes=0-5"])
            #expect(part.status == 206 && String(decoding: part.body, as: UTF8.self) == "WEBVTT")
            let tag = try #require(answer["ETag"])
            #expect(try await get(url, "GET", ["If-None-Match": tag]).status == 304)
            #expect(try await get(url.replacingOccurrences(of: "/3.vtt", with: "/9.vtt")).status == 404)
            // C21: what was asked is on record, apart from the media's own.
            let record = try #require(await media.fetches(of: published.token))
            let first = try #require(record.exchanges.first)
            #expect(first.key.target == .track && first.key.origin == "https://www.gstatic.com")
            #expect(first.key.allowedOrigin && first.key.host == "test")
            #expect(await eventually { await media.fetches(of: published.token)?.exchanges.first?.completed == 1 })
            await media.withdraw([published.token])
            #expect(try await get(url).status == 404)
        }
    }

    @Test(
        "C12 tracks inside a Matroska and an MP4 file come out as WebVTT, when they are asked for",
        arguments: [("film.mkv", "subrip"), ("film.mkv", "ass"), ("film.mp4", "mov_text"), ("film.mkv", "webvtt")])
    func embedded(_ name: String, _ codec: String) async throws {
        let german = try folder.write("in/g.srt", "1\n00:00:00,500 --> 00:00:01,000\n<i>Guten</i> Tag\n")
        let english = try folder.write("in/e.srt", "1\n00:00:00,500 --> 00:00:01,000\nHello & <i>bye</i>\n")
        let path = try await film(name, subtitles: [(german, "ger"), (english, "eng")], codec: codec)
        try await published(path, SubtitleRequest(language: "en", offset: MediaTime(seconds: 1))) { media, published in
            #expect(published.tracks.map(\.language) == ["de", "en"])
            #expect(published.activeTracks == [2])
            #expect(await media.subtitles.inProgress == 0)
            let answer = try await get(published.tracks[1].url)
            #expect(
                String(decoding: answer.body, as: UTF8.self)
                    == "WEBVTT\n\n00:00:01.500 --> 00:00:02.000\nHello &amp; <i>bye</i>\n")
            let facts = try await media.facts(.file(path: path))
            #expect(facts.tracks.map(\.kind) == [.video, .text, .text])
            #expect(facts.tracks.map(\.language) == [nil, "de", "en"])
        }
    }

    @Test("C12 pictures for subtitles are told and not offered")
    func bitmaps() throws {
        let offer = TrackOffer(
            source: .file(path: "/a.mkv"),
            streams: [
                SourceStream(kind: .text, index: 2, codec: "hdmv_pgs_subtitle", language: "de"),
                SourceStream(kind: .text, index: 3, codec: "subrip", language: "fr", isForHearingImpaired: true),
                SourceStream(kind: .text, index: 4, codec: "subrip", language: "fr"),
                SourceStream(kind: .audio, index: 0, codec: "aac", language: "en"),
                SourceStream(kind: .audio, index: 1, codec: "aac", language: "fr", title: "Commentary"),
            ], sidecars: SidecarSubtitles(), request: SubtitleRequest(language: "fr"))
        #expect(offer.notices.first?.message.contains("German") == true)
        #expect(offer.tracks.map(\.id) == [1, 2, 1000, 1001])
        #expect(offer.tracks.last?.name == "Commentary" && offer.tracks.last?.isInband == true)
        #expect(offer.active == [2])
        let none = TrackOffer(
            source: .file(path: "/a.mkv"), streams: [], sidecars: SidecarSubtitles(),
            request: SubtitleRequest(language: "fr"))
        #expect(none.notices.first?.message == "there are no subtitles in “fr”")
    }

    @Test("C12 a person's own file: read at once, its faults told, off means off")
    func own() async throws {
        let path = try await film("film.mkv")
        let own = try folder.write(
            "x/own.de.srt", Array("1\n00:00:00,500 --> 00:00:01,000\n".utf8) + [0xC4, 0x68, 0xE9, 0xDF, 10])
        try await published(path, SubtitleRequest(source: .file(path: own), encoding: "windows-1252")) { _, published in
            #expect(published.tracks.map(\.language) == ["de"])
            #expect(published.activeTracks == [1])
            let answer = try await get(published.tracks[0].url)
            #expect(String(decoding: answer.body, as: UTF8.self).hasSuffix("Ähéß\n"))
        }
        try await published(path, SubtitleRequest(isOff: true)) { _, published in
            #expect(published.activeTracks.isEmpty)
        }
        for (name, code) in [("no.srt", RouterError.Code.mediaNotFound), ("bad.srt", .mediaUnsupported)] {
            try folder.write("bad.srt", "this is no subtitle")
            let error = await #expect(throws: RouterError.self) {
                try await published(path, SubtitleRequest(source: .file(path: folder(name)))) { _, _ in }
            }
            #expect(error?.code == code && error?.description.contains(name) == true)
        }
    }

    @Test("C12 what nobody wants any more is not read to its end: withdraw and stop end the reading")
    func cancelled() async throws {
        // A program that never ends stands for ffmpeg on a long film.
        let program = try folder.write("slow", "#!/bin/sh\nexec /bin/sleep 600\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let media = folder("a.mkv")
        try folder.write("a.mkv", "x")
        let store = SubtitleStore(
            tool: MediaTool(program: program, clock: SystemHostClock()), logger: quietLogger())
        let source = SubtitleStore.Source(
            origin: .stream(.file(path: media), index: 1, codec: "subrip"), request: SubtitleRequest())
        func isRefused() async -> Bool {
            do {
                _ = try await store.text(source)
                return false
            } catch {
                return true
            }
        }
        async let first = isRefused()
        async let second = isRefused()
        #expect(await eventually { await store.inProgress == 1 })
        await store.forget([source])
        #expect(await first)
        #expect(await second)
        async let third = isRefused()
        #expect(await eventually { await store.inProgress == 1 })
        await store.stop()
        #expect(await third)
        #expect(await store.inProgress == 0)
    }
}
