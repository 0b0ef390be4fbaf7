import ArgumentParser
import CastBackend
import Foundation
import RouteModel

/// What is said of the thing to load.
struct CastItemOptions: ParsableArguments {
    @Option(name: .long, help: "MIME type, such as audio/mpeg; else what the URL's ending tells.")
    var type: String?

    @Option(name: .long, help: "Its title.")
    var title: String?

    @Option(name: .long, help: "Its subtitle.")
    var subtitleText: String?

    @Option(name: .long, help: "Its artist; makes it a music track.")
    var artist: String?

    @Option(name: .long, help: "Its album; makes it a music track.")
    var album: String?

    @Option(name: .long, help: "The URL of a picture for it.")
    var image: [String] = []

    @Flag(name: .long, help: "It is a live stream.")
    var live = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A text track: WebVTT or TTML, with its language; may be repeated.", valueName: "url[:lang]"))
    var subtitle: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A file with a MediaInformation object, or a whole LOAD; - reads it from standard input.",
            valueName: "json-file"), completion: .file())
    var media: String?

    @Option(name: .long, help: ArgumentHelp("JSON for the receiver's app.", valueName: "json"))
    var custom: String?

    func item(_ url: String?) throws -> CastLoadItem {
        var item = CastLoadItem(url: url)
        item.contentType = type
        item.live = live
        let music = artist != nil || album != nil
        item.metadata = MediaMetadata(
            kind: music ? .music : .generic, title: title, subtitle: subtitleText, artist: artist, album: album,
            images: image.map { MediaImage(url: $0) })
        item.subtitles = subtitle.map(CastLoadItem.Subtitle.init)
        item.customJSON = custom
        item.mediaJSON = try media.map(Self.read)
        return item
    }

    /// A frame holds 64 KiB: a file of more cannot be sent, and one without an end is not read to it.
    private static let longest = 65_536

    private static func read(_ path: String) throws -> String {
        let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let handle else {
            throw RouterError(.mediaNotFound, "there is no file “\(path)”", hint: "Check the path", scope: .item)
        }
        var data = Data()
        while data.count <= longest, let part = try? handle.read(upToCount: longest), !part.isEmpty { data += part }
        guard data.count <= longest, let text = String(data: data, encoding: .utf8) else {
            throw RouterError(
                .configuration, "“\(path)” is no JSON that fits into a message of 64 KiB",
                hint: "Shorten it", scope: .item)
        }
        return text
    }
}

struct CastLoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Have a Cast device play a URL that it fetches by itself.",
        discussion: """
            The URL is handed over as it is; “router play” serves files of this machine and converts them. Returns once \
            it plays, and it goes on by itself.

              router cast load Kitchen http://192.168.1.10/song.mp3 --title Song
              router cast load TV http://192.168.1.10/film.mp4 --subtitle \\
                http://192.168.1.10/film.vtt:en --start 1:30
              router cast load Kitchen https://example.org/radio.mp3 --live
              router cast load TV --media film.json
            """)

    @OptionGroup var target: CastTarget

    @Argument(help: "What to play; may be left out where --media names it.")
    var url: String?

    @OptionGroup var item: CastItemOptions

    @Option(name: .long, parsing: .unconditional, help: "Begin here: seconds, 1:23 or 1:02:03.")
    var start: String?

    @Flag(name: .long, help: "Hold it ready, and do not begin.")
    var paused = false

    @Option(name: .long, parsing: .unconditional, help: "Playback rate, 0.5 to 2.")
    var rate: Double?

    @Option(name: .long, help: ArgumentHelp("The receiver app to load it in.", valueName: "id"))
    var app: String?

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if url == nil, item.media == nil { throw ValidationError("Say what to load: a URL, or --media FILE.") }
        if let start, ClockTime.parse(start) == nil {
            throw ValidationError("“\(start)” is not a time. Write seconds, 1:23 or 1:02:03.")
        }
        if let rate, !(0.5...2).contains(rate) {
            throw ValidationError("The rate is a number from 0.5 to 2, not \(rate).")
        }
    }

    func run() async throws {
        try await target.act(options) { control in
            var what = try item.item(url)
            what.start = start.flatMap(ClockTime.parse)?.seconds
            try await control.load(what, autoplay: !paused, rate: rate, appID: app)
            return "\(control.endpoint.name) \(paused ? "holds it ready" : "plays it")"
        }
    }
}
