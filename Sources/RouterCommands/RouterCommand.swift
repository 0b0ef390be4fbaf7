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
        let status = await run(Array(CommandLine.arguments.dropFirst()), Console())
        if status != 0 { exit(status) }
        if let lost = OutputFailure.status { exit(lost) }
    }

    /// - Parameter typed: the words after `router`.
    /// - Parameter console: where a wrong use is told, and help; a verb has its own.
    static func run(_ typed: [String], _ console: Console) async -> Int32 {
        let words = CommandWords.complete(typed)
        let report = ErrorReport(console: console, format: CommandWords.format(words), verbose: false)
        if let error = CommandWords.emptyWord(words) ?? CommandWords.unknownCommand(words, among: commandNames)
            ?? CommandWords.misplacedRooms(words)
        {
            report.say(error.error)
            return UsageError.exitStatus
        }
        do {
            var command = try await RouterCommand.asyncParseAsRoot(words)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return 0
        } catch {
            return end(error, words, report)
        }
    }

    /// Says what the argument parser has to say: help, or a wrong use. What a verb threw it has told before.
    private static func end(_ error: any Error, _ words: [String], _ report: ErrorReport) -> Int32 {
        let status = RouterCommand.exitCode(for: error).rawValue
        let message = RouterCommand.message(for: error)
        if status == UsageError.exitStatus, !report.format.isForPeople, !message.isEmpty {
            let path = CommandWords.Verb(words)?.path ?? "router"
            report.say(UsageError(message, hint: "Run “\(path) --help” to see how it is used").error)
            return status
        }
        let text = RouterCommand.fullMessage(for: error)
        if !text.isEmpty { status == 0 ? report.console.out(text) : report.console.err(text) }
        return status
    }

    /// Every first word that means something.
    static var commandNames: [String] {
        RouterCommand.configuration.subcommands.flatMap { command in
            [command.configuration.commandName ?? ""] + command.configuration.aliases
        } + ["help"]
    }
}
