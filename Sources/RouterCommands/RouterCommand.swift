import ArgumentParser
import Foundation

/// The command, as a library: one folder for each noun, one file for each verb.
public struct RouterCommand: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "router",
        abstract: "Play to every AirPlay and Google Cast receiver as one system.",
        discussion: """
            Begin here:

              router devices                      what can be played to
              router play album/ --room Kitchen   play to it
              router                              what plays where
              router daemon run                   plays on when terminals close
              router demo                         the same in a simulated house

            Rooms and devices without mDNS are named in ~/.config/router/config.yaml (see “router rooms --help”).
            """,
        version: "0.1.0",
        subcommands: [
            PlayCommand.self, PauseCommand.self, ToggleCommand.self, StopCommand.self, NextCommand.self,
            PreviousCommand.self, SeekCommand.self, VolumeCommand.self, StatusCommand.self, WatchCommand.self,
            QueueCommand.self, SessionCommand.self, TransferCommand.self, AnnounceCommand.self, DevicesCommand.self,
            RoomsCommand.self, GroupCommand.self, PairCommand.self, DoctorCommand.self, SceneCommand.self,
            ScheduleCommand.self, CastCommand.self,
            DaemonCommand.self, ConfigCommand.self, APICommand.self, SimulateCommand.self, DemoCommand.self,
            CompletionsCommand.self,
        ],
        defaultSubcommand: StatusCommand.self)

    public init() {}
}

/// The whole program.
public enum RouterProgram {
    /// Reads the process's arguments, does what they say and exits with the status of `interfaces.md` 1.3.
    public static func run() async {
        let words = CommandWords.complete(Array(CommandLine.arguments.dropFirst()))
        if let error = CommandWords.unknownCommand(words, among: commandNames) {
            ErrorReport(console: Console(), format: .table, verbose: false).say(error.error)
            exit(UsageError.exitStatus)
        }
        await RouterCommand.main(words)
    }

    /// Every first word that means something.
    static var commandNames: [String] {
        RouterCommand.configuration.subcommands.flatMap { command in
            [command.configuration.commandName ?? ""] + command.configuration.aliases
        } + ["help"]
    }
}
