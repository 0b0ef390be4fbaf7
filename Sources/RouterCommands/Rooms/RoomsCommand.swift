import ArgumentParser

struct RoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms",
        abstract: "Show, make and change rooms.",
        discussion: """
            A room is one or more devices under a name of yours; a device that is in none is a room of its own name. Rooms \
            are made by these commands, or named in the configuration file, where only you change them:

              version: 1
              rooms:
                - name: Kitchen
                  devices: [Sonos Kitchen]
                  prefer: airplay
                  offset: 20ms

            An offset has a room heard that much later than the others, or earlier with a minus: where a television or an \
            amplifier adds a delay of its own.

              router rooms
              router rooms create "Ground Floor" Kitchen "Living Room TV"
              router rooms prefer Kitchen airplay
              router rooms set Kitchen --volume-limit 60
              router rooms -o json
            """,
        subcommands: [
            RoomsListCommand.self, RoomsShowCommand.self, RoomsCreateCommand.self, RoomsAddCommand.self,
            RoomsRemoveCommand.self, RoomsPreferCommand.self, RoomsSetCommand.self, RoomsRenameCommand.self,
        ],
        defaultSubcommand: RoomsListCommand.self)
}
