import ArgumentParser

/// The command, as a library: one folder for each noun, one file for each verb.
public struct RouterCommand: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "router",
        abstract: "Play to every AirPlay and Google Cast receiver as one system.",
        discussion: """
            Begin here:

              router devices                      what can be played to
              router play album/ --room Kitchen   play to it
              router demo                         the same in a simulated house, without any receiver

            Rooms and devices without mDNS are named in ~/.config/router/config.yaml (see “router rooms --help”).
            """,
        version: "0.1.0",
        subcommands: [
            PlayCommand.self, DevicesCommand.self, RoomsCommand.self, SimulateCommand.self, DemoCommand.self,
            CompletionsCommand.self,
        ])

    public init() {}
}

/// The whole program.
public enum RouterProgram {
    /// Reads the process's arguments, does what they say and exits with the status of `interfaces.md` 1.3.
    public static func run() async { await RouterCommand.main() }
}
