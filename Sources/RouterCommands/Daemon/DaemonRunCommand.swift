import ArgumentParser
import Foundation
import RouteModel
import RouterAPI
import RouterDaemon

struct DaemonRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the daemon until Ctrl-C or SIGTERM.",
        discussion: """
            At its end, what plays without us plays on, and the next daemon takes it up again. Beyond this machine it \
            listens only with a token, from ROUTER_TOKEN or from “daemon:” in the configuration, where what the flags \
            say can also be written down.

              router daemon run
              router daemon run --listen none
              ROUTER_TOKEN=… router daemon run --listen 0.0.0.0:7765 --root /srv/music
            """)

    @Option(
        name: .long,
        help: ArgumentHelp("Where to listen by HTTP: HOST[:PORT], or none.", valueName: "place"))
    var listen: String?

    @Option(
        name: .long, help: ArgumentHelp("The socket, in place of the usual one.", valueName: "path"),
        completion: .file())
    var socket: String?

    @Option(
        name: .long,
        help: ArgumentHelp("A folder whose files HTTP clients may play; may be repeated.", valueName: "folder"),
        completion: .directory)
    var root: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("A name that this machine is called by in addresses; may be repeated.", valueName: "host"))
    var hostName: [String] = []

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if let listen, listen != "none", (try? RouterPlace(listen)) == nil || listen.hasPrefix("/") {
            throw ValidationError(
                "“\(listen)” is no place to listen. Write HOST:PORT, such as 127.0.0.1:7765, or none.")
        }
        if options.host != nil { throw ValidationError("A daemon runs here; leave --host out, and say --listen.") }
    }

    func run() async throws {
        try await reporting(options) {
            let environment = ProcessInfo.processInfo.environment
            var service = ServiceOptions.usual(environment: environment)
            let setup = try options.setup()
            service.apply(setup.configuration.daemon)
            if let socket { service.socketPath = URL(fileURLWithPath: socket).standardizedFileURL.path }
            if let listen { service.http = listen == "none" ? nil : try RouterPlace(listen) }
            if let token = environment["ROUTER_TOKEN"], !token.isEmpty {
                guard APIToken.isFit(token) else {
                    throw RouterError(
                        .configuration, "ROUTER_TOKEN does not do: \(APIToken.rule)", hint: APIToken.cure,
                        retry: .afterUserAction)
                }
                service.token = APIToken(token)
            }
            service.roots += root.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
            service.hostNames += hostName
            let (speaks, console) = (options.speaks, options.console)
            service.ready = { places in
                // One line, so that a script can wait for it.
                if speaks { console.err("Listening at \(Phrase.list(places.map(\.description)))") }
            }
            try await RouterService.run(setup, service)
            return 0
        }
    }
}
