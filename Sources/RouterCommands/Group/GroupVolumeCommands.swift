import ArgumentParser
import RouteModel

struct GroupVolumeCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "volume", abstract: "Set how loud a group is, where it plays.",
        discussion: """
            Where nothing else plays along, the loudest room is set and the others keep their distance to it; else each of \
            its rooms is set by its trim.

              router group volume upstairs 30
              router group volume upstairs -5
              router group volume upstairs mute
              router group volume upstairs link
            """)
    static let discovers = false

    @Argument(help: "The group.", completion: .custom { _, _, _ in await DynamicCompletion.groups() })
    var name: String

    @Argument(help: ArgumentHelp("45, +5, -5, mute, unmute, link or unlink.", valueName: "level"))
    var level: String

    @OptionGroup var options: GlobalOptions

    func validate() throws { _ = try VolumeSetting(level) }

    func run(_ context: VerbContext) async throws -> Int32 {
        let group = try await TargetFinder(context).group(name)
        let setting = try VolumeSetting(level)
        let targets = try await TargetFinder(context).sessions(
            TargetOptions(on: ["@group:\(group.name)"]))
        return try await CommandPerformer(context: context, name: "volume").perform(
            on: targets, { Self.commands(setting, group, $0) },
            sentence: { report in
                if case .linked(let on) = setting { return VolumeSetting.sentence(linked: on) }
                let isPart = targets.contains { $0.session.id == report.session && $0.part != nil }
                return Self.sentence(setting, group, report, isPart: isPart)
            })
    }

    /// - Parameter isPart: Others play along: what the session as a whole is at is not the group's.
    private static func sentence(
        _ setting: VolumeSetting, _ group: RoomGroup, _ report: PerformedCommand, isPart: Bool
    ) -> String {
        var muted = report.muted == true
        if isPart, case .muted(let on) = setting { muted = on }
        // A group is as loud as the loudest of its rooms.
        let volume = isPart ? report.levels?.values.max() : report.volume
        let loud = volume.map { "at \($0) %" } ?? "set"
        return "\(group.name) (\(report.place)) is \(muted ? "muted" : loud)"
    }

    static func commands(_ setting: VolumeSetting, _ group: RoomGroup, _ target: SessionTarget) -> [RemoteCommand] {
        let all = target.session.members
        let meant = all.filter { target.rooms?.contains($0.name) ?? true }
        guard meant.count < all.count, !setting.isOfSession else { return [setting.command(room: nil)] }
        // A room of several devices is one by its name, which is what a trim is kept under.
        return meant.map(\.roomName).unique.map { room in
            guard case .level(let level) = setting else { return setting.command(room: room) }
            return .setVolume(VolumePosition(level.value * (group.trims[room] ?? 1)), room: room)
        }
    }
}

struct GroupTrimCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "trim", abstract: "Say how loud one room of a group is against the loudest.",
        discussion: """
              router group trim upstairs Bath 60
              router group trim upstairs Bath 100
            """)
    static let discovers = false
    static let remembers = true

    @Argument(help: "The group.", completion: .custom { _, _, _ in await DynamicCompletion.groups() })
    var name: String

    @Argument(help: "The room.", completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var room: String

    @Argument(help: ArgumentHelp("0 to 100; 100 is as loud as the loudest.", valueName: "percent"))
    var percent: Int

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        guard (0...100).contains(percent) else {
            throw ValidationError("A trim is a number from 0 to 100, not \(percent).")
        }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        var group = try await TargetFinder(context).group(name)
        let room = try group.room(room)
        let trim = Double(percent) / 100
        group.trims[room] = percent == 100 ? nil : trim
        let saved = try await context.router.saveGroup(group)
        let playing = await context.router.sessions().first { session in
            session.isActive && session.members.contains { $0.roomName == room && $0.error == nil }
                && session.roomNames.count(where: { group.rooms.contains($0) }) > 1
        }
        if let playing {
            let devices = playing.members.filter { $0.roomName == room }.map(\.name)
            return try await CommandPerformer(context: context, name: "trim").perform(
                on: [SessionTarget(session: playing, rooms: devices)], { _ in [.trim(trim, room: room)] },
                sentence: { _ in "\(room) is at \(percent) % of the loudest of \(saved.name)" })
        }
        try context.show(saved, "\(room) is at \(percent) % of the loudest of \(saved.name)")
        return 0
    }
}
