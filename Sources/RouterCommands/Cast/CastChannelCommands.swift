import ArgumentParser
import CastBackend
import RouteModel

struct CastMessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message",
        abstract: "Say something to the app that runs, in a namespace of its own.",
        discussion: """
              router cast message TV urn:x-cast:org.example.game '{"type":"start"}'
              router cast message TV urn:x-cast:org.example.game '{"type":"ping"}' \\
                --app 0A1B2C3D --listen 2

            Nothing tells whether the app took it, unless it answers: --listen prints what comes.
            """)

    @OptionGroup var target: CastTarget

    @Argument(help: "urn:x-cast: and the name that the app listens to.")
    var namespace: String

    @Argument(help: ArgumentHelp("The message: JSON by custom, and any text.", valueName: "json"))
    var message: String

    @Option(name: .long, help: ArgumentHelp("Launch this app where it does not run.", valueName: "id"))
    var app: String?

    @Option(name: .long, parsing: .unconditional, help: "Print what comes back within so many seconds.")
    var listen: Double = 0

    @OptionGroup var options: GlobalOptions

    func validate() throws {
        guard (0...86_400).contains(listen) else { throw ValidationError("--listen takes seconds, 0 to 86400.") }
    }

    func run() async throws {
        try await reporting(options) {
            let printer = CastChannelPrinter(options: options)
            try await target.control(options) {
                try await $0.send(message, in: namespace, appID: app, wait: listen, heard: printer.print)
            }
            return 0
        }
    }
}

struct CastListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Print what apps say in namespaces of their own.",
        discussion: """
            Tells when an app that speaks them comes and goes, and what it says; to the end of the connection, or until \
            Ctrl-C. With -o json or ndjson, one object a line.

              router cast listen TV urn:x-cast:org.example.game
            """)

    @OptionGroup var target: CastTarget

    @Argument(help: ArgumentHelp("urn:x-cast: and a name; several may be given.", valueName: "namespace"))
    var namespaces: [String]

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            let printer = CastChannelPrinter(options: options)
            try await target.control(options) { try await $0.listen(namespaces, printer.print) }
            return 0
        }
    }
}

/// One line for each thing that happens, at once.
private struct CastChannelPrinter: Sendable {
    let console: Console
    let format: OutputFormat
    let quiet: Bool

    init(options: GlobalOptions) {
        console = options.console
        format = options.output
        quiet = options.quiet
    }

    func print(_ report: CastChannelReport) {
        if !format.isForPeople {
            if let line = try? Renderer.jsonLine(report) { console.out(line) }
            return
        }
        let said = report.text ?? report.binary.map { "(binary, base 64) \($0)" }
        if let said {
            console.out(quiet ? Console.clean(said) : "\(Console.clean(report.namespace))\t\(Console.clean(said))")
        } else if !quiet {
            let about = report.app ?? report.reason ?? report.missed.map { "\($0) messages" } ?? ""
            console.err(Console.clean("\(report.namespace): \(report.event) \(about)"))
        }
    }
}
