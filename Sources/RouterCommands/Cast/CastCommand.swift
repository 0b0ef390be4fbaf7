import ArgumentParser

/// What only Google Cast has. Every verb talks to the device itself, as one more sender: several may drive a receiver.
struct CastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cast",
        abstract: "What only Google Cast has: identity, queues on the device, tracks, custom channels.",
        discussion: """
            DEVICE is a name, an id or a unique beginning of one from “router devices”, or a URI such as \
            cast://192.168.1.21.

              router cast auth Kitchen
              router cast status Kitchen
              router cast load Kitchen http://192.168.1.10/song.mp3
              router cast queue Kitchen

            With -o json each verb prints one document; what plays has the same keys everywhere, and times are seconds.
            """,
        subcommands: [
            CastAuthCommand.self, CastStatusCommand.self, CastLoadCommand.self, CastQueueCommand.self,
            CastTracksCommand.self,
            CastRateCommand.self, CastSkipAdCommand.self, CastStopCommand.self, CastVolumeCommand.self,
            CastAppsCommand.self, CastTransferCommand.self, CastMessageCommand.self, CastListenCommand.self,
        ])
}
