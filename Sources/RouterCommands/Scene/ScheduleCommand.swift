import ArgumentParser
import Foundation
import RouteModel
import RouterDaemon
import SceneScript

struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Run scenes at a time of day, or when something happens.",
        discussion: """
            The daemon keeps schedules, over restarts too. A time that passes while no daemon runs is missed: it is \
            told and not made up for.

              router schedule add wake-up morning.yaml --at 06:45 --days weekdays
              router schedule add patio party.yaml --appears Patio
              router schedule list
              router schedule remove wake-up
            """,
        subcommands: [ScheduleListCommand.self, ScheduleAddCommand.self, ScheduleRemoveCommand.self],
        defaultSubcommand: ScheduleListCommand.self)
}

struct ScheduleListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the schedules.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            let schedules = try await SceneConnection.schedules(options) { scenes, _ in try await scenes.schedules() }
            if schedules.isEmpty, options.speaks {
                options.console.err("No schedules. “router schedule add” makes one.")
            }
            try options.renderer.render(schedules, on: options.console)
            return 0
        }
    }
}

struct ScheduleAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a schedule, or put it in place of the one with the same name.",
        discussion: """
            The scene is kept as it is now; after a change of its file, add it again.

              router schedule add wake-up morning.yaml --at 06:45 --days monday,friday
              router schedule add next evening.yaml --item-ends Lounge --set level=20%
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(help: "What the schedule is called.")
    var id: String

    @Argument(
        help: "A file, or the name of a scene.",
        completion: .custom { _, _, typed in DynamicCompletion.scenes(typed) })
    var scene: String

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("At this time of day, by the local clock.", valueName: "HH:MM"))
    var at: String?

    @Option(
        name: .long,
        help: ArgumentHelp("On these days: monday to sunday, weekdays, weekends; with commas.", valueName: "days"))
    var days: String?

    @Option(
        name: .long, help: ArgumentHelp("When this room or device appears.", valueName: "room"),
        completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var appears: String?

    @Option(
        name: .long, help: ArgumentHelp("When an item has ended in this room.", valueName: "room"),
        completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var itemEnds: String?

    @Option(name: .long, help: ArgumentHelp("Give a variable a value; may be repeated.", valueName: "name=value"))
    var set: [String] = []

    @Flag(name: .long, help: "Keep it without running it.")
    var disabled = false

    func validate() throws { _ = try trigger() }

    func trigger() throws -> SceneSchedule.Trigger {
        guard [at, appears, itemEnds].count(where: { $0 != nil }) == 1 else {
            throw ValidationError("Say when: one of --at HH:MM, --appears ROOM and --item-ends ROOM.")
        }
        if let at {
            guard let minutes = ScheduleWords.minutes(at) else {
                throw ValidationError("“\(at)” is no time of day. Write one such as 06:45.")
            }
            guard let numbers = ScheduleWords.days(days ?? "") else {
                throw ValidationError("“\(days ?? "")” are no days. Write monday to sunday, weekdays or weekends.")
            }
            return .time(minutes: minutes, days: numbers)
        }
        if days != nil { throw ValidationError("--days goes with --at.") }
        return appears.map { .appears(room: $0) } ?? .itemEnds(room: itemEnds ?? "")
    }

    func run() async throws {
        try await reporting(options) {
            let request = try SceneFile.request(scene, set: set, options: options)
            let schedule = SceneSchedule(id: id, trigger: try trigger(), scene: request, enabled: !disabled)
            try await SceneConnection.schedules(options) { scenes, isDaemon in
                try await scenes.saveSchedule(schedule)
                try options.show(
                    schedule, "“\(schedule.id)” runs \(schedule.trigger.words)", on: options.console)
                if !isDaemon, options.speaks {
                    options.console.err("  hint: Only a daemon runs it: start one with “router daemon run”")
                }
            }
            return 0
        }
    }
}

struct ScheduleRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a schedule.")

    @OptionGroup var options: GlobalOptions

    @Argument(help: "What the schedule is called.")
    var id: String

    func run() async throws {
        try await reporting(options) {
            try await SceneConnection.schedules(options) { scenes, _ in try await scenes.removeSchedule(id) }
            try options.show(Change(.removed, .schedule, id), "Removed the schedule \(id)", on: options.console)
            return 0
        }
    }
}

extension SceneSchedule: ListDisplayable {
    static var header: [String] { ["SCHEDULE", "WHEN", "SCENE", "STATE"] }
    var row: [String] { [id, trigger.words, scene.path, enabled ? "on" : "off"] }
    var quietValue: String { id }
}

extension SceneSchedule.Trigger {
    var words: String {
        switch self {
        case .time(let minutes, let days): "at \(ScheduleWords.clock(minutes)) \(ScheduleWords.words(days))"
        case .appears(let room): "when \(room) appears"
        case .itemEnds(let room): "when an item ends in \(room)"
        }
    }
}
