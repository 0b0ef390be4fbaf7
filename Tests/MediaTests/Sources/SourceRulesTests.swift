import Foundation
import RouteBackend
import RouteModel
import Testing

@testable import Media

@Suite("A6 what is said of places that media comes from")
struct SourceRulesTests {
    private let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    private func rules(_ rules: [(String, Bool)]) -> SourceRules {
        SourceRules(rules.map { SourceRule(from: $0.0, externalPlayback: $0.1) })
    }

    @Test(
        "a place stands for what is below it, by whole names",
        arguments: [
            ("/srv/films", "/srv/films/a.mp4", true), ("/srv/films/", "/srv/films/deep/er/a.mp4", true),
            ("/srv/films/a.mp4", "/srv/films/a.mp4", true), ("/srv/films", "/srv/films2/a.mp4", false),
            ("/srv/films", "/srv/films/../a.mp4", false), ("/", "/anything", true),
            ("/srv/films", "/SRV/films/a.mp4", false), ("/h/a", "http://h/a", false),
            ("http://h/a", "http://h/a/b.mp4", true), ("http://h/a", "http://h/ab.mp4", false),
            ("http://H.Example/a", "https://h.example/a/b.mp4", true), ("http://h", "http://h:80/x", true),
            ("http://h", "http://h:8080/x", false), ("https://h:443/x", "http://h/x/y", true),
            ("http://h/a", "http://h/b/../a/x.mp4", true), ("http://h/a", "http://h/%61/x.mp4", true),
            ("http://h/a", "http://h/a/../b", false), ("http://h/a?id=1", "http://h/a?id=1", true),
            ("http://h/a?id=1", "http://h/a?id=2", false), ("http://h/a?id=1", "http://h/a/b?id=1", false),
            ("http://h/a", "http://h/a?id=2", true), ("http://other/", "http://h/a", false),
            ("ftp://h/", "http://h/", false),
        ])
    func places(rule: String, item: String, isOf: Bool) {
        var rules = rules([(rule, false)])
        let source = item.hasPrefix("/") ? MediaSource.file(path: item) : .url(item)
        #expect(rules.externalPlayback(of: source) == (isOf ? false : nil))
    }

    @Test("the closest place counts, in whatever order they are written")
    func closest() {
        for pair in [[("/m", false), ("/m/kids", true)], [("/m/kids", true), ("/m", false)]] {
            var rules = rules(pair)
            #expect(rules.externalPlayback(of: .file(path: "/m/a.mp4")) == false)
            #expect(rules.externalPlayback(of: .file(path: "/m/kids/a.mp4")) == true)
            #expect(rules.externalPlayback(of: .live(LiveInput(.pipe, name: "/m/kids/fifo"))) == nil)
        }
    }

    @Test("a list says it of all that it names, the innermost first, and an item's own place goes before them")
    func lists() {
        var rules = rules([("http://h/outer.pls", false), ("/lists/inner.m3u", true), ("http://films/", false)])
        rules.open(.url("http://h/outer.pls"))
        #expect(rules.externalPlayback(of: .url("http://elsewhere/a.mp4")) == false)
        rules.open(.file(path: "/lists/unknown.m3u"))
        #expect(rules.externalPlayback(of: .url("http://elsewhere/a.mp4")) == false)
        rules.close()
        rules.open(.file(path: "/lists/inner.m3u"))
        #expect(rules.externalPlayback(of: .url("http://elsewhere/a.mp4")) == true)
        #expect(rules.externalPlayback(of: .url("http://films/a.mp4")) == false)
        rules.close()
        rules.close()
        #expect(rules.externalPlayback(of: .url("http://elsewhere/a.mp4")) == nil)
    }

    @Test("links lead nowhere that a rule does not follow")
    func links() throws {
        try folder.write("films/a.mp4", "x")
        try folder.write("pool/1.mp4", "x")
        let manager = FileManager.default
        func link(_ name: String, _ target: String) throws {
            try manager.createSymbolicLink(
                atPath: "\(folder.path)/\(name)", withDestinationPath: "\(folder.path)/\(target)")
        }
        try link("alias", "films")
        try link("films/b.mp4", "pool/1.mp4")
        for (rule, item) in [
            ("films", "alias/a.mp4"), ("alias", "films/a.mp4"), ("alias", "alias/a.mp4"), ("films", "films/b.mp4"),
            ("films", "alias/b.mp4"), ("pool", "films/b.mp4"),
        ] {
            var rules = rules([("\(folder.path)/\(rule)", false)])
            #expect(rules.externalPlayback(of: .file(path: "\(folder.path)/\(item)")) == false, "\(rule) \(item)")
        }
        var rules = rules([("\(folder.path)/pool", false)])
        #expect(rules.externalPlayback(of: .file(path: "\(folder.path)/films/a.mp4")) == nil)
    }

    @Test("folders, playlists and what they name, as they are expanded; from then on as it is said later")
    func expanded() async throws {
        try folder.write("films/a.mp4", "x")
        try folder.write("music/b.mp3", "x")
        try folder.write("lists/all.m3u", "#EXTM3U\n../films/a.mp4\nhttp://h/r.mp4\n../music/b.mp3\n")
        try folder.write(
            "lists/two.xspf", "<playlist><trackList><track><location>all.m3u</location></track></trackList></playlist>")
        let library = library()
        func words(_ what: String) async throws -> [Bool?] {
            try await library.expand([what], workingDirectory: folder.path).entries.map(\.externalPlayback)
        }
        #expect(try await words("films") == [nil])
        await library.setSources([
            SourceRule(from: folder.path + "/films", externalPlayback: false),
            SourceRule(from: "https://h/", externalPlayback: false),
        ])
        #expect(try await words("films") == [false])
        #expect(try await words("lists/all.m3u") == [false, false, nil])
        await library.setSources([
            SourceRule(from: folder.path + "/lists/two.xspf", externalPlayback: false),
            SourceRule(from: folder.path + "/music", externalPlayback: true),
        ])
        #expect(try await words("lists/all.m3u") == [nil, nil, true])
        #expect(try await words("lists/two.xspf") == [false, false, true])
    }
}
