import Foundation
import NIOHTTP1
import RouteBackend
import RouteModel
import Testing

@testable import Media

/// Lists of tracks on the web, as a person names them.
struct FeedExpansionTests {
    private static let podcast = """
        <rss><channel><title>Show</title><item><title>One</title><enclosure url="ep/1.mp3" type="audio/mpeg"/></item>
        <item><title>Two</title><enclosure url="file:///etc/passwd" type="audio/mpeg"/></item></channel></rss>
        """
    private static let chart = """
        {"results": [{"trackName": "Hit", "artistName": "A", "previewUrl": "https://s.example/1", "trackTimeMillis": 1000}]}
        """

    /// A server on which these paths have these types and bodies.
    private func server(_ pages: [String: (type: String, body: String)]) async throws -> ImageTestServer {
        try await ImageTestServer { path, _ in
            guard let page = pages[path] else { return ImageTestServer.Answer(status: 404) }
            return ImageTestServer.Answer(headers: [("Content-Type", page.type)], body: [UInt8](page.body.utf8))
        }
    }

    private func expand(_ what: [String], _ configuration: MediaConfiguration? = nil) async throws -> ExpandedMedia {
        try await library(configuration ?? MediaConfiguration(serverPort: 0)).expand(what, workingDirectory: "/")
    }

    private func refusal(_ what: String, _ configuration: MediaConfiguration? = nil) async -> RouterError? {
        do {
            Issue.record("\(try await expand([what], configuration))")
            return nil
        } catch {
            return error as? RouterError
        }
    }

    @Test("C24 a feed at an address without a telling name becomes a queue, its addresses seen from the feed")
    func feeds() async throws {
        let server = try await server([
            "/show": ("application/rss+xml; charset=utf-8", Self.podcast),
            "/search?term=a&media=music": ("text/javascript; charset=utf-8", Self.chart),
        ])
        let show = try await expand([server.url("/show")])
        #expect(show.entries.map(\.source) == [.url(server.url("/ep/1.mp3"))])
        #expect(show.entries.map(\.context) == ["Show"])
        #expect(show.entries[0].metadata.kind == .podcastEpisode && show.entries[0].metadata.title == "One")
        #expect(show.notices.count == 1)
        let chart = try await expand([server.url("/search?term=a&media=music")])
        #expect(chart.entries.map(\.source) == [.url("https://s.example/1")])
        #expect(chart.entries[0].metadata.artist == "A")
        // Of an entry nothing is asked.
        #expect(server.requests.count == 2)
        await server.stop()
    }

    @Test("C24 feeds by their names: .rss and .json of the web and of this machine, and .xml by its content")
    func named() async throws {
        let server = try await server([
            "/feed.rss": ("text/plain", Self.podcast), "/top.json": ("text/plain", Self.chart),
        ])
        #expect(try await expand([server.url("/feed.rss")]).entries.count == 1)
        #expect(try await expand([server.url("/top.json")]).entries.count == 1)
        let folder = try ScratchFolder()
        try folder.write("chart.json", Self.chart)
        try folder.write("show.xml", Self.podcast.replacingOccurrences(of: "ep/1.mp3", with: "https://a.example/1.mp3"))
        #expect(try await expand([folder("chart.json")]).entries[0].metadata.title == "Hit")
        let show = try await expand([folder("show.xml")])
        #expect(show.entries.map(\.source).first == .url("https://a.example/1.mp3"))
        await server.stop()
    }

    @Test("C24 what is no list is one item, and so is what does not answer")
    func items() async throws {
        let server = try await server([
            "/live": ("audio/mpeg", "sound"), "/page": ("text/html", "<html>"),
            "/tune.mp3": ("application/rss+xml", Self.podcast),
        ])
        let addresses = ["/live", "/page", "/gone", "/tune.mp3"].map { server.url($0) } + ["http://127.0.0.1:9/x"]
        let expanded = try await expand(addresses)
        #expect(expanded.entries.map(\.source) == addresses.map { .url($0) })
        #expect(!server.requests.contains { $0.uri == "/tune.mp3" })
        await server.stop()
    }

    @Test("C24 a feed that is broken, empty or too long is refused by name")
    func broken() async throws {
        let server = try await server([
            "/cut": ("application/rss+xml", "<rss><channel><item>"),
            "/odd": ("application/json", "{\"answer\": 42}"),
            "/none": ("application/rss+xml", "<rss><channel/></rss>"),
            "/bomb": ("text/xml", "<!DOCTYPE x [<!ENTITY a 'a'>]><rss>&a;</rss>"),
            "/long": ("application/rss+xml", String(repeating: " ", count: 5000) + Self.podcast),
        ])
        let cut = await refusal(server.url("/cut"))
        #expect(cut?.code == .mediaUnsupported && cut?.message.contains("podcast feed") == true)
        let odd = await refusal(server.url("/odd"))
        #expect(odd?.code == .mediaUnsupported && odd?.message.contains("chart") == true)
        #expect(await refusal(server.url("/none"))?.code == .mediaNotFound)
        #expect(await refusal(server.url("/bomb"))?.message.contains("entities") == true)
        let small = MediaConfiguration(serverPort: 0, maximumPlaylistBytes: 4000)
        let long = await refusal(server.url("/long"), small)
        #expect(long?.code == .mediaUnsupported && long?.message.contains("longer") == true)
        await server.stop()
    }
}
