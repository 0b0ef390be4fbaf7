import ArgumentParser
import RouteModel
import RouterDaemon

struct RoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms",
        abstract: "List the rooms.",
        discussion: """
            Rooms are named in the configuration file; a device that is in none is a room of its own name.

              version: 1
              rooms:
                - name: Kitchen
                  devices: [Sonos Kitchen]
                  prefer: airplay
                  offset: 20ms

            An offset has a room heard that much later than the others, or earlier with a minus: where a television or an \
            amplifier adds a delay of its own.

              router rooms
              router rooms -o json
            """)

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            let rooms = try await InProcessRouter.run(try options.setup()) { try await $0.rooms(settle: true) }
            if rooms.isEmpty, options.output == .table || options.output == .plain {
                options.console.err("No rooms: none is configured, and no receiver answered on this network.")
                options.console.err("  hint: Run “router devices” to see why")
            }
            try options.renderer.render(rooms, on: options.console)
            return 0
        }
    }
}

extension Room: ListDisplayable {
    static var header: [String] { ["ROOM", "DEVICES", "PREFERS", "STATE", "ALIASES"] }

    var row: [String] {
        let there = routes.count
        let state = there == 0 ? "not there" : there < devices.count ? "\(there) of \(devices.count) there" : "ready"
        return [
            name, configured ? devices.joined(separator: ", ") : "this device", via.rawValue, state,
            aliases.joined(separator: ", "),
        ]
    }

    var quietValue: String { name }
}
