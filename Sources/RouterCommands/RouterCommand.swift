import ArgumentParser
import Foundation
import RouterDaemon

/// The command, as a library: one folder for each noun, one file for each verb.
public struct RouterCommand: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "router",
        abstract: "Play to every AirPlay and Google Cast receiver as one system.",
        discussion: """
            Begin here:

              router devices                      what can be played to
              router play album/ --room Kitchen   play to it
              router demo                         the same in a simulated house

            Rooms and devices without mDNS are named in ~/.config/router/config.yaml (see “router rooms --help”).
            """,
        version: "0.1.0",
        subcommands: [
            PlayCommand.self, SessionCommand.self, DevicesCommand.self, RoomsCommand.self, PairCommand.self,
            DoctorCommand.self, SceneCommand.self, ScheduleCommand.self, CastCommand.self, SimulateCommand.self, DemoCommand.self, CompletionsCommand.self,
        ])

    public init() {}

    public func run() async throws {
        let console = Console()
        for line in Self.idle(rooms: await RoomCompletion.names()) { console.out(line) }
    }

    /// What a bare `router` says. Without a daemon nothing plays beyond the command that plays it.
    static func idle(rooms: [String]) -> [String] {
        let room = Console.clean(rooms.first ?? "Kitchen")
        let quoted = room.contains(" ") ? "\"\(room)\"" : room
        return [
            "Nothing is playing. What “router play” plays stays with the command that plays it.",
            "  router devices                  shows what can be played to",
            "  router play album/ -r \(quoted)   plays to it; “router --help” tells more",
        ]
    }
}

/// The whole program.
public enum RouterProgram {
    /// Reads the process's arguments, does what they say and exits with the status of `interfaces.md` 1.3.
    public static func run() async {
        await RouterCommand.main(SimulateArguments.complete(Array(CommandLine.arguments.dropFirst())))
    }
}
