import ArgumentParser
import RouteModel

struct StatusCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show what plays, where, and what is next.",
        discussion: """
            A bare “router” is the same. A template sees title, artist, album, rooms, state, position, duration, volume, \
            muted, next and via beside the names of the document.

              router
              router status -r Kitchen -o json
              router status --format '{{title}} – {{position|time}}'
              router status --fields rooms,title,volume
            """)
    static let discovers = false

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            // Without a daemon nothing can be playing that this command could see: no router has to be started.
            let side = RouterConnection.side(options, passesConfiguration: true)
            if case .here = side, target.selectors.isEmpty { return try await idle() }
            return try await RouterConnection.open(options, discovers: false, side: side) { try await run($0) }
        }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let sessions: [SessionSnapshot]
        if target.selectors.isEmpty {
            sessions = try await context.router.knownSessions().filter(\.isActive)
        } else {
            sessions = try await TargetFinder(context).sessions(target).map(\.session)
        }
        guard context.options.output == .table, context.options.format == nil, context.options.fields == nil,
            !context.options.quiet
        else {
            try context.renderer.render(sessions, on: context.console)
            return 0
        }
        if sessions.isEmpty {
            let room = context.defaultRoom.map { " It would play in \($0)." } ?? ""
            context.console.out("Nothing is playing.\(Console.clean(room))")
            context.console.out("  router play album/ -r ROOM   plays to it; “router rooms” lists the rooms")
        }
        for session in sessions {
            for line in StatusLines(columns: context.renderer.columns, styled: context.console.styled).lines(session) {
                context.console.out(line)
            }
        }
        return 0
    }

    private func idle() async throws -> Int32 {
        guard options.speaks, options.format == nil, options.fields == nil else {
            try options.renderer.render([SessionSnapshot](), on: options.console)
            return 0
        }
        let console = options.console
        let rooms = DefaultRoom.name(in: options.config).map { [$0] } ?? RoomCompletion.names()
        for line in Self.idle(rooms: rooms) { console.out(line) }
        return 0
    }

    /// What a bare `router` says where no daemon is. Nothing plays then beyond the command that plays it.
    static func idle(rooms: [String]) -> [String] {
        let room = Console.clean(rooms.first ?? "Kitchen")
        let quoted = room.contains(" ") ? "\"\(room)\"" : room
        return [
            "Nothing is playing: no daemon is running. What “router play” plays stays with the command that plays it.",
            "  router devices                  shows what can be played to",
            "  router play album/ -r \(quoted)   plays to it; “router --help” tells more",
            "  router daemon run               plays on when terminals close, for many people at once",
        ]
    }
}

/// A session in two lines.
struct StatusLines {
    /// Nil: nothing is cut.
    var columns: Int?
    var styled: (String, Console.Style) -> String = { text, _ in text }

    func lines(_ session: SessionSnapshot) -> [String] {
        [styled(cut(first(session)), .bold), cut("  " + second(session).joined(separator: " · "))]
    }

    private func cut(_ line: String) -> String {
        let clean = Console.clean(line)
        return columns.map { TerminalText.cut(clean, to: $0) } ?? clean
    }

    private func first(_ session: SessionSnapshot) -> String {
        let glyph =
            switch session.media {
            case .playing: "▶"
            case .paused: "‖"
            case .loading, .buffering: "…"
            case .none, .stopped: "■"
            }
        guard let item = session.currentItem else { return "\(glyph) \(session.announcement ?? "getting ready")" }
        let by = item.metadata.artist.map { " – \($0)" } ?? ""
        return "\(glyph) \(item.title)\(by)"
    }

    private func second(_ session: SessionSnapshot) -> [String] {
        var parts = [Phrase.list(session.members.map { $0.error == nil ? $0.name : "\($0.name) (lost)" })]
        if let elapsed = session.position {
            let length = session.anchor?.duration ?? session.currentItem?.metadata.duration
            parts.append(ClockTime.format(elapsed) + (length.map { "/" + ClockTime.format($0) } ?? " live"))
        }
        if let volume = session.shownVolume { parts.append(volume.muted ? "muted" : "volume \(volume.level.percent)") }
        if session.volumesLinked == true, session.members.count > 1 { parts.append("volumes linked") }
        if let announcement = session.announcement, session.currentItem != nil {
            parts.append("announcing “\(announcement)”")
        }
        if session.connection == .suspended { parts.append("connection lost, trying again") }
        if let next = session.nextItem { parts.append("next “\(next.title)”") }
        return parts
    }
}

extension SessionSnapshot: ListDisplayable {
    static var header: [String] { ["ROOMS", "STATE", "TITLE", "AT", "ITEM", "VOLUME", "SESSION"] }

    var row: [String] {
        let place = queue.items.firstIndex { $0.id == queue.current }.map { "\($0 + 1)/\(queue.items.count)" } ?? ""
        return [
            members.map(\.name).joined(separator: ", "), media.rawValue, currentItem?.title ?? "",
            position.map(ClockTime.format) ?? "", place, shownVolume.map { String($0.level.percent) } ?? "",
            id.rawValue,
        ]
    }

    var quietValue: String { id.rawValue }

    /// What follows the current item in the queue, as it stands.
    var nextItem: QueueItem? {
        guard let index = queue.items.firstIndex(where: { $0.id == queue.current }), index + 1 < queue.items.count
        else { return nil }
        return queue.items[index + 1]
    }

    var facts: [String: OutputValue] {
        let item = currentItem
        var facts: [String: OutputValue] = [
            "rooms": .text(members.map(\.name).joined(separator: ", ")), "state": .text(media.rawValue),
            "title": item.map { .text($0.title) } ?? .null, "artist": item?.metadata.artist.map { .text($0) } ?? .null,
            "album": item?.metadata.album.map { .text($0) } ?? .null, "next": nextItem.map { .text($0.title) } ?? .null,
            "position": position.map { .number($0.seconds) } ?? .null, "volume": .null, "muted": .null,
            "duration": (anchor?.duration ?? item?.metadata.duration).map { .number($0.seconds) } ?? .null,
            "via": .text(
                Phrase.list(Array(Set(members.compactMap { $0.protocol?.family.displayName })).sorted())),
        ]
        if let volume = shownVolume {
            facts["volume"] = .integer(Int64(volume.level.percent))
            facts["muted"] = .boolean(volume.muted)
        }
        return facts
    }
}
