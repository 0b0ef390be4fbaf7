import ArgumentParser
import RouteModel

struct SeekCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "seek", abstract: "Go to another place in what plays.",
        discussion: """
            A place is a time from the beginning, a way forward or back from here, or a part of the whole.

              router seek 1:23
              router seek +30
              router seek -10s -r Kitchen
              router seek 50%
            """)
    static let discovers = false

    @Argument(help: ArgumentHelp("1:23, +30, -10s or 50%.", valueName: "place"))
    var place: String

    @OptionGroup var terms: TermsOptions
    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws { _ = try SeekPlace(place) }

    func run(_ context: VerbContext) async throws -> Int32 {
        let place = try SeekPlace(place)
        let targets = try await TargetFinder(context).sessions(target)
        return try await CommandPerformer(context: context, name: "seek", terms: terms).perform(
            on: targets, { [try place.command(in: $0.session)] },
            sentence: { report in
                let at = report.position.map { " at \(ClockTime.format($0))" } ?? ""
                return "\(report.what.prefix(1).uppercased() + report.what.dropFirst()) in \(report.place) is\(at)"
            })
    }
}

/// Where to go to.
enum SeekPlace: Sendable, Equatable {
    case time(MediaTime)
    case by(MediaTime)
    /// 0 to 1.
    case part(Double)

    /// Throws `ValidationError`.
    init(_ text: String) throws {
        let typed = CommandWords.typed(text)
        let wrong = ValidationError("“\(typed)” is no place to go to. Write 1:23, +30, -10s or 50%.")
        if typed.hasSuffix("%") {
            guard let percent = Double(typed.dropLast()), (0...100).contains(percent) else { throw wrong }
            self = .part(percent / 100)
            return
        }
        let sign = typed.first.flatMap { $0 == "+" || $0 == "-" ? $0 : nil }
        let digits = String(sign == nil ? typed[...] : typed.dropFirst())
        guard let time = digits.contains(":") ? ClockTime.parse(digits) : Self.length(digits) else { throw wrong }
        switch sign {
        case "-"?: self = .by(.zero - time)
        case "+"?: self = .by(time)
        default: self = .time(time)
        }
    }

    private static func length(_ text: String) -> MediaTime? {
        ClockTime.parse(text)
            ?? Delay.seconds(text).flatMap { $0 <= 86_400 ? MediaTime(seconds: $0) : nil }
    }

    /// Throws `unavailable` for a part of what has no known end.
    func command(in session: SessionSnapshot) throws -> RemoteCommand {
        switch self {
        case .time(let time): return .seek(to: time)
        case .by(let delta): return .seekBy(delta)
        case .part(let part):
            guard let length = session.anchor?.duration ?? session.currentItem?.metadata.duration, length > .zero else {
                throw RouterError(
                    .unavailable, "the length of what plays is not known",
                    hint: "Give a time in place of a part: router seek 1:23", scope: .command)
            }
            return .seek(to: MediaTime(seconds: length.seconds * part))
        }
    }
}
