import ArgumentParser
import RouteModel

struct VolumeCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "volume", abstract: "Show or set how loud it is, 0 to 100.",
        discussion: """
            Of several rooms that play together the loudest is set, and the others keep their distance to it; --room sets \
            one room by itself.

              router volume
              router volume 45
              router volume -5 -r Kitchen
              router volume mute
              router volume 10 --fade 30s
              router volume link

            Linked, a volume that is changed on one device moves all rooms that play together, and not that one against \
            the others.
            """)
    static let discovers = false

    @Argument(
        help: ArgumentHelp(
            "45, +5, -5, mute, unmute, link or unlink; nothing shows how loud it is.", valueName: "level"))
    var level: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Go there evenly over this time, at most an hour.", valueName: "time"))
    var fade: Delay?

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        let change = try level.map(VolumeSetting.init)
        guard let fade else { return }
        guard case .level? = change else {
            throw ValidationError("--fade needs a level to go to: router volume 10 --fade 30s.")
        }
        guard fade.seconds <= 3600 else { throw ValidationError("A fade takes an hour at most.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let targets = try await TargetFinder(context).sessions(target)
        guard let level else { return try show(targets, context) }
        let change = try VolumeSetting(level)
        return try await CommandPerformer(context: context, name: "volume").perform(
            on: targets,
            { target in
                // All rooms of a session are its master; one or some of them are each set by itself.
                let all = target.rooms.map { Set($0) == Set(target.session.members.map(\.name)) } ?? true
                let rooms: [String?] = all || change.isOfSession ? [nil] : target.rooms ?? []
                return rooms.map { change.command(room: $0, fade: fade?.mediaTime) }
            },
            sentence: { report in
                if case .linked(let on) = change { return VolumeSetting.sentence(linked: on) }
                guard let volume = report.volume else { return "The volume of \(report.place) was set" }
                if let fade {
                    return
                        "\(report.place) \(report.rooms.count > 1 ? "go" : "goes") to \(level) over \(ClockTime.words(fade.seconds))"
                }
                if report.muted == true { return "\(report.placeIs) muted" }
                // Together they have a master; what each is at is its own.
                let levels = report.levels ?? [:]
                guard Set(levels.values).count > 1 else { return "\(report.placeIs) at \(volume) %" }
                let known = report.rooms.filter { levels[$0] != nil }
                return Phrase.list(known.map { "\($0)\($0 == known[0] ? " is" : "") at \(levels[$0] ?? 0) %" })
            })
    }

    private func show(_ targets: [SessionTarget], _ context: VerbContext) throws -> Int32 {
        let rooms = targets.flatMap { target in
            target.session.members.filter { target.rooms?.contains($0.name) ?? true }.map {
                RoomVolume($0, target.session)
            }
        }
        try context.renderer.render(rooms, on: context.console)
        return 0
    }
}

/// What to do to a volume.
enum VolumeSetting: Sendable, Equatable {
    case level(VolumePosition)
    /// −1 to 1.
    case step(Double)
    case muted(Bool)
    case linked(Bool)

    /// Whether it is no room's own.
    var isOfSession: Bool { if case .linked = self { true } else { false } }

    static func sentence(linked: Bool) -> String {
        "Who turns one device now turns " + (linked ? "all that play together" : "that one alone")
    }

    /// Throws `ValidationError`.
    init(_ text: String) throws {
        let typed = CommandWords.typed(text)
        switch typed {
        case "mute": self = .muted(true)
        case "unmute": self = .muted(false)
        case "link": self = .linked(true)
        case "unlink": self = .linked(false)
        default:
            let sign = typed.first.flatMap { $0 == "+" || $0 == "-" ? $0 : nil }
            var digits = sign == nil ? typed[...] : typed.dropFirst()
            if digits.hasSuffix("%") { digits = digits.dropLast() }
            guard digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let number = Double(digits),
                (0...100).contains(number)
            else {
                throw ValidationError("“\(typed)” is no volume. Write 0 to 100, +5, -5, mute, unmute, link or unlink.")
            }
            switch sign {
            case "+"?: self = .step(number / 100)
            case "-"?: self = .step(-number / 100)
            default: self = .level(VolumePosition(percent: number))
            }
        }
    }

    func command(room: String?, fade: MediaTime? = nil) -> RemoteCommand {
        switch self {
        case .level(let level): fade.map { .fade(to: level, over: $0, room: room) } ?? .setVolume(level, room: room)
        case .step(let step): .stepVolume(step, room: room)
        case .muted(let muted): .mute(muted, room: room)
        case .linked(let on): .linkVolumes(on)
        }
    }
}

/// How loud a room is.
struct RoomVolume: ListDisplayable, Equatable {
    var room: String
    /// 0 to 100; none where the room has no volume that is known.
    var volume: Int?
    var muted: Bool?
    /// 0 to 100: against the loudest room.
    var trim: Int?
    /// 0 to 100: the loudest that it may be.
    var limit: Int?
    var session: SessionID

    init(_ member: SessionMember, _ session: SessionSnapshot) {
        room = member.name
        volume = member.volume?.level.percent
        muted = member.volume?.muted
        trim = member.trim.map { Int(($0 * 100).rounded()) }
        limit = member.volumeLimit?.percent
        self.session = session.id
    }

    static var header: [String] { ["ROOM", "VOLUME", "MUTED", "TRIM", "LIMIT"] }
    var row: [String] {
        [
            room, volume.map(String.init) ?? "fixed", muted == true ? "muted" : "", trim.map(String.init) ?? "",
            limit.map(String.init) ?? "",
        ]
    }
    var quietValue: String { volume.map(String.init) ?? "" }
}
