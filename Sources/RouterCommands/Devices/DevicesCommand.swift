import ArgumentParser

struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Show the receivers that can be played to.",
        discussion: """
            Devices are what was found, each with the protocols that it speaks; rooms are what people call them.

              router devices
              router devices --long
              router devices show Kitchen
              router devices watch
              router devices forget "Old Speaker"
            """,
        subcommands: [
            DevicesListCommand.self, DevicesShowCommand.self, DevicesWatchCommand.self, DevicesForgetCommand.self,
        ],
        defaultSubcommand: DevicesListCommand.self)
}
