import ArgumentParser
import CastBackend
import Foundation
import Testing

@testable import RouterCommands

@Suite("router cast: what it takes, and how it says what a device does")
struct CastCommandTests {
    static let verbs: [any ParsableCommand.Type] = CastCommand.configuration.subcommands

    @Test("C7 C10 C12 C14 C15 C16 C17 the verbs")
    func list() {
        let names = Set(Self.verbs.compactMap { $0.configuration.commandName })
        #expect(
            names.isSuperset(of: [
                "status", "load", "queue", "tracks", "rate", "skip-ad", "stop", "volume", "apps", "transfer", "message",
                "listen",
            ]))
    }

    @Test("no help line is wider than 80 columns as it was written, and each verb takes -o")
    func help() {
        for verb in Self.verbs {
            #expect(!verb.configuration.abstract.isEmpty)
            for line in verb.configuration.discussion.split(separator: "\n") where line.hasPrefix("  ") {
                #expect(line.count <= 80, "\(line)")
            }
            #expect(RouterCommand.helpMessage(for: verb, columns: 100).contains("--output"))
        }
    }

    @Test("C15 C17 no number of a device is too large to be told")
    func hugeNumbers() throws {
        let ad = #"{"position":1e300,"breakRemaining":1e300,"skippableIn":1e300}"#
        let line = CastStatusLines.ad(try JSONDecoder().decode(CastMediaReport.Ad.self, from: Data(ad.utf8)))
        #expect(line.contains("can be skipped in"))
        #expect(CastStatusLines.percent(1e300) == 100)
        #expect(CastStatusLines.percent(-1e300) == 0)
    }

    @Test(
        "what is wrong on the command line is told, and exits 64",
        arguments: [
            (["load", "TV"], "--media"), (["load", "TV", "u", "--rate", "3"], "0.5 to 2"),
            (["load", "TV", "u", "--start", "soon"], "not a time"), (["rate", "TV", "0.1"], "0.5 to 2"),
            (["queue", "TV", "remove"], "ids"), (["queue", "TV", "remove", "x"], "no item id"),
            (["queue", "TV", "jump", "1", "2"], "one item"), (["queue", "TV", "shuffle", "maybe"], "on or off"),
            (["queue", "TV", "repeat", "often"], "allAndShuffle"),
            (["queue", "TV", "load", "u", "v", "--first", "3"], "there are 2"),
            (["queue", "TV", "list", "1"], "nothing after it"), (["queue", "TV", "update", "3"], "what to change"),
            (["queue", "TV", "load"], "Say what"), (["queue", "TV", "dance"], "dance"),
            (["queue", "TV", "load", "u", "--first", "0"], "from 1"), (["volume", "TV", "101"], "0 to 100"),
            (["volume", "TV", "loud"], "0 to 100"), (["tracks", "TV", "--style", "big"], "fontScale=1.5"),
            (["message", "TV", "urn:x-cast:a"], "json"), (["message", "TV", "n", "{}", "--listen", "-1"], "seconds"),
            (["apps", "TV"], "app-id"), (["transfer", "TV"], "to"), (["status"], "device"),
        ])
    func refused(arguments: [String], words: String) {
        do {
            _ = try RouterCommand.parseAsRoot(["cast"] + arguments)
            Issue.record("taken: \(arguments)")
        } catch {
            #expect(RouterCommand.exitCode(for: error).rawValue == 64)
            #expect(RouterCommand.fullMessage(for: error).contains(words), "\(RouterCommand.fullMessage(for: error))")
        }
    }

    @Test("volumes as they are typed", arguments: [("0", 0.0), ("40", 0.4), ("100", 1), ("12.5", 0.125)])
    func volume(text: String, level: Double) throws {
        let command = try CastVolumeCommand.parse(["TV", text])
        #expect(try command.setting() == .level(level))
        #expect(try CastVolumeCommand.parse(["TV", "unmute"]).setting() == .muted(false))
    }

    @Test(
        "C12 a subtitle with and without its language",
        arguments: [
            ("http://h/a.vtt:en", "http://h/a.vtt", "en"), ("http://h/a.vtt", "http://h/a.vtt", nil),
            ("http://h:8080/a.vtt", "http://h:8080/a.vtt", nil), ("http://h:8080/a:de-AT", "http://h:8080/a", "de-AT"),
            ("http://h:8080", "http://h:8080", nil),
        ])
    func subtitles(words: String, url: String, language: String?) {
        let subtitle = CastLoadItem.Subtitle(words)
        #expect(subtitle.url == url)
        #expect(subtitle.language == language)
    }

    private func lines(_ media: String) throws -> [String] {
        let json = #"""
            {"name":"TV","address":"10.0.0.2:8009","volume":{"level":0.4,"muted":true,"kind":"master","step":0.05},
             "app":{"id":"CC1AD845","name":"Player","sessionID":"s","namespaces":[]}\#(media)}
            """#
        return CastStatusLines.lines(try JSONDecoder().decode(CastDeviceReport.self, from: Data(json.utf8)))
    }

    @Test("C11 C13 C14 C15 a device in words")
    func status() throws {
        #expect(
            try lines("") == [
                "TV at 10.0.0.2:8009", "  volume: 40 %, muted, master, steps of 5 %", "  app: Player (CC1AD845)",
                "  nothing is loaded",
            ])
        let film = try lines(
            #"""
            ,"media":{"mediaSessionID":1,"state":"playing","url":"http://h/f.mp4","metadata":{"title":"Film"},
             "images":[],"position":61,"duration":3600,"rate":1.5,"commands":[],
             "video":{"width":3840,"height":2160,"hdr":"dv"},
             "ad":{"title":"Soap","clip":1,"clips":2,"position":1,"breakRemaining":29,"skippableIn":3.2},
             "tracks":[{"id":4,"kind":"text","subtype":"subtitles","language":"de","active":true}],"breaks":[],
             "queue":{"count":9,"complete":true,"index":1,"repeatMode":"all","shuffle":true,
              "items":[{"itemID":7,"index":1,"mark":"current","title":"Film"},{"itemID":8,"index":2,"url":"http://h/g.mp4"}]}}
            """#)
        #expect(
            film.dropFirst(3) == [
                "  playing: Film", "  1:01 of 1:00:00, at 1.5 times the speed", "  video: 3840 × 2160, DV",
                "  ad: Soap, 1 of 2, 0:29 left, can be skipped in 4 s", "  text track 4: de, subtitles (on)",
                "  queue: item 2 of 9, repeat all, shuffled", "    ▶ 7  Film", "      8  g.mp4",
            ])
        let live = try lines(
            #"""
            ,"media":{"mediaSessionID":1,"state":"paused","url":"http://h/radio","stream":"live","metadata":{},
             "images":[],"position":40,"rate":1,"commands":[],"tracks":[],"breaks":[],
             "live":{"start":10,"end":70,"behind":30,"movingWindow":true,"done":false}}
            """#)
        #expect(live.dropFirst(3) == ["  paused: radio", "  0:30 behind live, can go to 0:10 to 1:10"])
    }
}
