import ArgumentParser

struct DaemonCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Run the router for everybody: terminals, pages, desktop keys and scripts.",
        discussion: """
            What a daemon plays goes on when terminals close, and everybody may join in. It is reached by a socket that \
            only you may use, and by HTTP on this machine. To have it always, see Samples/Configs/router.service.

              router daemon run
              router daemon status
              router daemon logs -f
              router daemon stop
            """,
        subcommands: [
            DaemonRunCommand.self, DaemonStatusCommand.self, DaemonStopCommand.self, DaemonLogsCommand.self,
        ],
        defaultSubcommand: DaemonStatusCommand.self)
}
