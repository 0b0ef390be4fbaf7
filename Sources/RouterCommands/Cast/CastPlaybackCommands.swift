import ArgumentParser
import CastBackend
import RouteModel
import RouterDaemon

struct CastTracksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tracks",
        abstract: "List or choose the text and audio tracks of what plays.",
        discussion: """
            A track is chosen by its language, its name or its number.

              router cast tracks TV
              router cast tracks TV --text de --audio en
              router cast tracks TV --text off
              router cast tracks TV --style fontScale=1.5 --style edgeType=OUTLINE

            Styles: foregroundColor, backgroundColor, edgeColor, windowColor (#RRGGBB or #RRGGBBAA); edgeType NONE, \
            OUTLINE, DROP_SHADOW, RAISED, DEPRESSED; windowType NONE, NORMAL, ROUNDED_CORNERS; \
            windowRoundedCornerRadius in pixels; fontScale; fontFamily; fontGenericFamily SANS_SERIF, \
            MONOSPACED_SANS_SERIF, SERIF, MONOSPACED_SERIF, CASUAL, CURSIVE, SMALL_CAPITALS; fontStyle NORMAL, BOLD, \
            BOLD_ITALIC, ITALIC.
            """)

    @OptionGroup var target: CastTarget

    @Option(name: .long, help: "The text track, or off.")
    var text: String?

    @Option(name: .long, help: "The audio track.")
    var audio: String?

    @Option(name: .long, help: ArgumentHelp("How text looks; may be repeated.", valueName: "key=value"))
    var style: [String] = []

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if let odd = style.first(where: { !$0.contains("=") }) {
            throw ValidationError("“\(odd)” is no style. Write it as fontScale=1.5.")
        }
    }

    func run() async throws {
        if text == nil, audio == nil, style.isEmpty {
            try await list()
            return
        }
        let styles = Dictionary(
            style.map { words in
                let parts = words.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), String(parts[1]))
            }
        ) { _, last in last }
        try await target.act(options) { control in
            try await control.setTracks(text: text, audio: audio, style: styles)
            return "tracks are chosen on \(control.endpoint.name)"
        }
    }

    private func list() async throws {
        try await reporting(options) {
            let report = try await target.control(options) { try await $0.report() }
            let tracks = report.media?.tracks ?? []
            if tracks.isEmpty, options.speaks {
                options.console.err(
                    report.media == nil ? "Nothing is loaded." : "What plays has no tracks to choose from.")
            }
            try options.renderer.render(tracks, on: options.console)
            return 0
        }
    }
}

extension CastMediaReport.Track: ListDisplayable {
    static var header: [String] { ["", "ID", "KIND", "LANGUAGE", "NAME", "FOR"] }
    var row: [String] { [active ? "✓" : "", String(id), kind, language ?? "", name ?? "", subtype ?? ""] }
    var quietValue: String { String(id) }
}

struct CastRateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rate", abstract: "Set the playback rate, 0.5 to 2.")

    @OptionGroup var target: CastTarget

    @Argument(help: "1 is as recorded.")
    var rate: Double

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        guard (0.5...2).contains(rate) else {
            throw ValidationError("The rate is a number from 0.5 to 2, not \(rate).")
        }
    }

    func run() async throws {
        try await target.act(options) { control in
            let rate = try await control.setRate(rate)
            return "\(control.endpoint.name) plays at \(CastStatusLines.number(rate)) times the speed"
        }
    }
}

struct CastSkipAdCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skip-ad", abstract: "Skip the ad that plays, once it may be skipped.")

    @OptionGroup var target: CastTarget
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await target.act(options) { control in
            try await control.skipAd()
            return "\(control.endpoint.name) skips the ad"
        }
    }
}

struct CastStopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop what plays, and the app with it.")

    @OptionGroup var target: CastTarget

    @Flag(name: .long, help: "Stop what plays only, and leave the app running.")
    var mediaOnly = false

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await target.act(options) { control in
            if mediaOnly { try await control.stop() } else { try await control.stopApp() }
            return "\(control.endpoint.name) is stopped"
        }
    }
}

struct CastAppsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apps",
        abstract: "Ask which receiver apps a device can run.",
        discussion: """
              router cast apps TV CC1AD845 233637DE

            CC1AD845 is the Default Media Receiver. A device with no screen has no apps that need one.
            """)

    @OptionGroup var target: CastTarget

    @Argument(help: ArgumentHelp("App ids.", valueName: "app-id"))
    var apps: [String]

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            let answers = try await target.control(options) { try await $0.availability(of: apps) }
            let rows = apps.map { id in
                CastAppAvailability(
                    id: id, available: answers.first { $0.key.lowercased() == id.lowercased() }?.value)
            }
            try options.renderer.render(rows, on: options.console)
            return rows.contains { $0.available == false } ? RouterError.Code.unsupported.exitStatus : 0
        }
    }
}

struct CastAppAvailability: ListDisplayable {
    var id: String
    /// Nil where the device did not say.
    var available: Bool?

    static var header: [String] { ["APP", "AVAILABLE"] }
    var row: [String] { [id, available.map { $0 ? "yes" : "no" } ?? "not told"] }
    var quietValue: String { id }
}

struct CastTransferCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfer",
        abstract: "Carry what plays on one Cast device over to another.",
        discussion: """
            The app stores and resumes it where it can; else it is loaded there at its position, with its queue. It ends \
            on the first once it plays on the second, and goes on there if it does not.

              router cast transfer Kitchen "Living Room"
            """)

    @Argument(help: "Where it plays.")
    var from: String

    @Argument(help: "Where it shall play.")
    var to: String

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            let endpoints = try await CastTarget.endpoints([from, to], options)
            guard endpoints[0].id != endpoints[1].id else {
                throw RouterError(
                    .configuration, "it plays on “\(endpoints[0].name)” already", hint: "Name another device",
                    scope: .command)
            }
            let (identity, logger) = (try CastIdentityService.policy(try options.setup()), try options.logger())
            let report = try await CastControl.with(endpoints[0], identity: identity, logger: logger) { source in
                try await CastControl.with(endpoints[1], identity: identity, logger: logger) { target in
                    try await source.transfer(to: target)
                }
            }
            switch options.output {
            case .json, .ndjson, .yaml: options.console.out(try Renderer.document(report, options.output))
            case .table, .plain:
                if options.speaks {
                    let place = ClockTime.format(MediaTime(seconds: report.position))
                    options.console.out(Console.clean("\(report.title) goes on at \(place) on \(report.to)"))
                }
            }
            return 0
        }
    }
}
