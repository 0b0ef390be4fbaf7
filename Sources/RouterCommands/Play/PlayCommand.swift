import ArgumentParser
import Foundation
import RouteModel
import RouterDaemon

struct PlayCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Play files, folders, playlists and URLs to one or more rooms.",
        discussion: """
            Chooses AirPlay or Cast for each room by itself, and plays to the end of the queue. On a terminal it shows a \
            player: space pauses, n and p skip, the arrow keys seek and change the volume, q stops.

            With a daemon (“router daemon run”) the daemon plays: the command returns once it does, and every terminal can \
            go on from there. --wait ended stays until the end. --timeout is for the time until it plays.

            With nothing named what is paused or was cut short plays on as it was, with --room only what was in that room.

              router play album/ --room Kitchen
              router play song.flac -r Kitchen -r "Living Room"
              router play https://example.org/radio.mp3 -r Kitchen --via cast --detach
              router play song.flac --device raop://192.168.1.20
              router play album/ -r Kitchen --explain
              router play                            what was cut short, again
              router play -r Kitchen                 what was cut short there

            Live input is heard as it comes, by AirPlay or --via cast-streaming:

              some-player | router play -          any format with a header
              router play 'pcm://-?rate=48000'     samples: format=s16le, channels=2
              router play /tmp/music.pipe          a named pipe
              router play pcm:///tmp/music.pipe    a named pipe of samples
              router play pulse://router           what is played into the sink “router”

            Only the sink that is named is captured. Alert sounds of the desktop go to its default sink: make one of your \
            own for music, with “pactl load-module module-null-sink sink_name=router”, and they stay on this machine.

            Exit status: 0 played; 3 no such room or file; 4 a password or pairing is needed; 5 the device was not \
            reached or was lost; 6 it cannot play this; 8 some rooms failed and others played; 130 interrupted.
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(help: "Files, folders, playlists (M3U, PLS, XSPF), URLs or live input.", completion: .file())
    var what: [String] = []

    @OptionGroup var target: TargetOptions

    @Option(name: .long, help: "airplay, cast or cast-streaming: use that and nothing else; auto chooses.")
    var via: ViaPreference = .auto

    @Flag(name: .long, help: "Say what would be chosen for each room and why, and do not play.")
    var explain = false

    @Option(
        name: .long, parsing: .unconditional,
        help: "Set the volume, 0 to 100. Without it a room is as loud as its start volume says.")
    var volume: Int?

    @Option(name: .long, parsing: .unconditional, help: "Begin here in the first item: seconds, 1:23 or 1:02:03.")
    var start: String?

    @Option(name: .long, parsing: .unconditional, help: "How fast to play, 0.5 to 2, where the receiver can.")
    var rate: Double = 1

    @Option(name: .long, help: "Begin again after the last item: off, one or all.")
    var `repeat`: RepeatMode = .off

    @Flag(name: .long, help: "Play all but the first item in a random order.")
    var shuffle = false

    @OptionGroup var picture: PictureOptions

    @OptionGroup var subtitles: SubtitleOptions

    @Option(
        name: .long, help: ArgumentHelp("Play a queue that was kept under this name.", valueName: "name"),
        completion: .custom { _, _, _ in await DynamicCompletion.savedQueues() })
    var saved: String?

    @Flag(
        name: .customLong("context"), help: "What follows the one file in its folder or playlist follows it.")
    var withContext = false

    @Option(name: .long, help: "What to do with an item that does not play: skip, stop, or retry=1 to retry=10.")
    var onFailure: FailurePolicy?

    @Flag(
        name: .long,
        help: "Return once it plays. Without a daemon only where it goes on by itself: a Cast receiver and a URL.")
    var detach = false

    func validate() throws {
        if saved != nil, !what.isEmpty { throw ValidationError("Give files or --saved, not both.") }
        if withContext, what.count != 1 { throw ValidationError("--context is for one file of a folder or playlist.") }
        if namesNothing, explain || detach {
            throw ValidationError("Say what to play: a file, a folder, a playlist or a URL.")
        }
        if namesNothing, let option = optionsOfRequest.first {
            throw ValidationError(
                "\(option) is for what is begun anew: say what to play, or leave it out to have what was cut short play on."
            )
        }
        if !namesNothing { try options.refuseNoWait("play returns once it plays") }
        if !PlaybackRate.range.contains(rate) {
            throw ValidationError("The rate is a number from 0.5 to 2, not \(rate).")
        }
        if let volume, !(0...100).contains(volume) {
            throw ValidationError("The volume is a number from 0 to 100, not \(volume).")
        }
        try subtitles.check()
        if let start, ClockTime.parse(start) == nil {
            throw ValidationError("“\(start)” is not a time. Write seconds, 1:23 or 1:02:03.")
        }
    }

    private var namesNothing: Bool { what.isEmpty && saved == nil }

    /// Those that were given of the options that say how something new is played.
    private var optionsOfRequest: [String] {
        [
            ("--via", via != .auto), ("--volume", volume != nil), ("--start", start != nil), ("--rate", rate != 1),
            ("--repeat", `repeat` != .off), ("--shuffle", shuffle), ("--on-failure", onFailure != nil),
            (picture.picture == false ? "--no-picture" : "--picture", picture.picture != nil),
            ("--subtitles", subtitles.subtitles != nil), ("--subtitle-offset", subtitles.subtitleOffset != nil),
            ("--subtitle-scale", subtitles.subtitleScale != nil),
            ("--subtitle-encoding", subtitles.subtitleEncoding != nil),
        ].filter(\.1).map(\.0)
    }

    func run() async throws {
        if namesNothing { return try await playOn() }
        try await reporting(options) {
            // What is piped into this command no other process can read.
            let side = what.contains(where: Self.isStandardInput) ? .here : RouterConnection.side(options)
            // What can be known before a sound is made: files are served by this process.
            if case .here = side, detach, !explain,
                what.count != 1 || !what[0].contains("://") || what[0].hasPrefix("file:")
            {
                throw PlaySession.nothingGoesOn
            }
            return try await RouterConnection.open(options, side: side) { try await run($0) }
        }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        if namesNothing { return try await playOn(context) }
        let request = try await request(context)
        if explain { return try await explain(request, context) }
        guard context.isDaemon else {
            return try await PlaySession(options: options, detach: detach, control: context.router).run(request)
        }
        return try await DaemonPlay(context: context).run(request)
    }

    private func request(_ context: VerbContext) async throws -> PlayRequest {
        // A device named on the command line, with no room, is where to play.
        let rooms =
            target.selectors.isEmpty && !options.device.isEmpty
            ? options.device : try await TargetFinder(context).rooms(target)
        let folder = FileManager.default.currentDirectoryPath
        return PlayRequest(
            what: what, rooms: rooms, via: via, volume: volume.map { VolumePosition(percent: Double($0)) },
            start: start.flatMap(ClockTime.parse) ?? .zero, workingDirectory: folder,
            subtitles: try subtitles.request(workingDirectory: folder), rate: rate, repeatMode: `repeat`,
            shuffle: shuffle, context: withContext ? true : nil, savedQueue: saved, failurePolicy: onFailure,
            externalPlayback: picture.picture)
    }

    private static func isStandardInput(_ what: String) -> Bool { what == "-" || what.hasPrefix("pcm://-") }

    /// With nothing said, what is paused or was cut short plays on, where that is one thing only.
    private func playOn() async throws {
        try await reporting(options) {
            try await RouterConnection.open(options) { context in try await playOn(context) }
        }
    }

    func playOn(_ context: VerbContext) async throws -> Int32 {
        if let targets = try await playing(context) {
            return try await CommandPerformer(context: context, name: "play").perform(
                on: targets, { _ in [.play] }, sentence: { "Playing \($0.what) in \($0.place)" })
        }
        let left = try await context.router.sessionsToRejoin()
        guard !left.isEmpty else {
            throw UsageError(
                "nothing is paused or was cut short, and nothing was named to play",
                hint: "Say what to play: a file, a folder, a playlist or a URL")
        }
        if options.noWait {
            throw UsageError(
                "--no-wait is not possible for what was cut short: play returns once it plays",
                hint: "Leave --no-wait out")
        }
        let sessions = try await TargetFinder(context).sessions(target, of: left)
        guard sessions.count == 1, let only = sessions.first else {
            let place = target.selectors.isEmpty ? "" : " there"
            throw RouterError(
                .routeAmbiguous, "\(sessions.count) sessions were cut short\(place), and none was named",
                hint: "Run “router session list”, then “router session join ID”", scope: .session,
                candidates: sessions.map(\.id.rawValue))
        }
        guard context.isDaemon else {
            return try await PlaySession(options: options, detach: false, control: context.router).rejoin(only.id)
        }
        return try await DaemonPlay(context: context).rejoin(only.id)
    }

    /// Nil where nothing plays, or what is meant was cut short while others play.
    private func playing(_ context: VerbContext) async throws -> [SessionTarget]? {
        guard try await context.router.knownSessions().contains(where: \.isActive) else { return nil }
        do { return try await TargetFinder(context).sessions(target) } catch let error as RouterError {
            guard error.code == .routeNotFound, !target.selectors.isEmpty,
                let left = try? await context.router.sessionsToRejoin(),
                let meant = try? await TargetFinder(context).sessions(target, of: left), !meant.isEmpty
            else { throw error }
            return nil
        }
    }

    private func explain(_ request: PlayRequest, _ context: VerbContext) async throws -> Int32 {
        let choices = try await context.router.explain(request)
        let console = context.console
        if !options.output.isForPeople {
            console.out(try Renderer.document(choices, options.output))
            return choices.allSatisfy { $0.chosen != nil } ? 0 : RouterError.Code.unsupported.exitStatus
        }
        for choice in choices {
            console.out(console.styled(Console.clean(choice.name), .bold))
            var rank = 0
            for candidate in choice.candidates {
                rank += candidate.usable ? 1 : 0
                let mark = candidate.usable ? "\(rank)." : "✗"
                console.out(
                    "  \(mark) \(candidate.endpoint.protocol.displayName) at \(Console.clean(candidate.endpoint.address))"
                )
                for reason in candidate.reasons { console.out("     \(Console.clean(reason))") }
                if !candidate.losses.isEmpty {
                    console.out("     gives up: \(candidate.losses.joined(separator: ", "))")
                }
            }
            if choice.chosen == nil { console.out("  nothing here can play this") }
        }
        return choices.allSatisfy { $0.chosen != nil } ? 0 : RouterError.Code.unsupported.exitStatus
    }
}

extension FailurePolicy: ExpressibleByArgument {
    /// `skip`, `stop`, or `retry=1` to `retry=10`.
    public init?(argument: String) {
        switch argument {
        case "skip": self = .skip
        case "stop": self = .stop
        default:
            guard argument.hasPrefix("retry="), let times = Int(argument.dropFirst(6)), (1...10).contains(times) else {
                return nil
            }
            self = .retry(times)
        }
    }
}
