import ArgumentParser
import Foundation
import RouteBackend
import RouteModel

struct PairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair",
        abstract: "Make a receiver know this router, by the code that it shows.",
        discussion: """
            Apple TVs and speakers with access control play only for senders they know. The key that a device gives is \
            kept with the router's own data, readable by you alone.

              router pair "Living Room"
              router pair list
              router pair remove "Living Room"
              router pair start TV       with a daemon: another terminal may finish it
            """,
        subcommands: [
            PairWizardCommand.self, PairStartCommand.self, PairFinishCommand.self, PairListCommand.self,
            PairRemoveCommand.self,
        ],
        defaultSubcommand: PairWizardCommand.self)
}

struct PairWizardCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "wizard",
        abstract: "Pair with a device, step by step.",
        discussion: """
            The device shows its code when it is asked to; it is typed here then, or read from standard input where that \
            is no terminal. A device with a password takes that.

              router pair "Living Room"
              echo 1234 | router pair --device airplay://192.168.1.30
            """)
    static let remembers = true

    @OptionGroup var options: GlobalOptions

    @Argument(help: "The device: a name, an id or the beginning of one. May be left out where --device names one.")
    var name: String?

    @Option(name: .long, help: "The code, where it is known before: a receiver with a fixed one.")
    var pin: String?

    func run(_ context: VerbContext) async throws -> Int32 {
        let device: String
        if let name {
            device = name
        } else {
            device = try await Self.only(context.router, stated: options.device.count == 1)
        }
        return try await Self.untilInterrupted {
            try await PairWizard(options: options, control: context.router, pin: pin).run(device)
        }
    }

    /// Ctrl-C ends the question, and leaves the terminal and the device as they were.
    private static func untilInterrupted(_ body: @escaping @Sendable () async throws -> Int32) async throws -> Int32 {
        try await withThrowingTaskGroup(of: Int32.self) { group in
            defer { group.cancelAll() }
            group.addTask(operation: body)
            group.addTask {
                for await _ in Signals.interrupts() { break }
                throw RouterError(.cancelled, "stopped")
            }
            return try await group.next() ?? 0
        }
    }

    /// The only device that a person named by URI.
    private static func only(_ control: any RouterControlling, stated: Bool) async throws -> String {
        let routes = try await control.routes(settle: !stated).routes
        let meant = stated ? routes.filter { $0.endpoints.contains { $0.origin == .stated } } : routes
        guard let first = meant.first, meant.count == 1 else {
            throw RouterError(
                .routeAmbiguous, "no device was named", hint: "Say which, such as router pair \"Living Room\"",
                scope: .route, candidates: routes.map(\.name))
        }
        return first.id.rawValue
    }
}

/// Leads a person, or a pipe, from the device's code to the end.
struct PairWizard {
    let options: GlobalOptions
    let control: any RouterControlling
    var pin: String?
    /// Asks for a line; nil for none.
    var ask: @Sendable (_ prompt: String, _ hidden: Bool) async -> String? = { await CodePrompt.ask($0, hidden: $1) }
    /// Whether there is somebody to ask again.
    var isPersonThere = CodePrompt.isPossible

    /// Codes that a person may get wrong before the pairing is begun anew by hand.
    private static let tries = 5

    func run(_ device: String) async throws -> Int32 {
        var progress = try await control.startPairing(device)
        if pin != nil, progress.kind == .password {
            try? await control.cancelPairing(progress.id)
            throw RouterError(
                .configuration,
                "\(progress.device) has a password, and everybody on this machine can read a command line",
                hint: "Leave --pin out, and type the password or pipe it into this command", scope: .command)
        }
        for attempt in 1...Self.tries {
            guard progress.state == .waiting else { break }
            if options.speaks, pin == nil { options.console.err(Console.clean(progress.prompt)) }
            let hidden = progress.kind == .password
            let typed: String?
            if let pin {
                typed = pin
            } else {
                typed = await ask(hidden ? "Password: " : "Code: ", hidden)
            }
            guard let code = typed?.trimmingCharacters(in: .whitespaces), !code.isEmpty else {
                try? await control.cancelPairing(progress.id)
                throw RouterError(
                    .cancelled, "no \(hidden ? "password" : "code") was given for \(progress.device)",
                    hint: "Type the one that it shows, or pipe it into this command", scope: .route)
            }
            do {
                progress = try await control.finishPairing(progress.id, code: code)
            } catch let error as RouterError where error.code == .authFailed {
                // A code from elsewhere will not become right; a device that has had enough of us says so in the causes.
                let left = Self.tries - attempt
                guard pin == nil, left > 0, isPersonThere, error.causes.isEmpty else {
                    // After too many wrong codes it is over by itself.
                    try? await control.cancelPairing(progress.id)
                    throw error
                }
                let tries = "\(left) \(left == 1 ? "try is" : "tries are") left"
                options.console.err(
                    "\(options.console.styled("wrong:", .red)) \(Console.clean(error.message)); \(tries)")
            }
        }
        switch options.output {
        case .json, .ndjson, .yaml: options.console.out(try Renderer.document(progress, options.output))
        default:
            guard options.speaks else { break }
            options.console.err("\(Console.clean(progress.prompt)). Its key is kept with the router’s data.")
        }
        return 0
    }
}

struct PairListCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the devices that know us.",
        discussion: """
              router pair list
            """)
    static let discovers = false

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let pairings = try await context.router.pairings()
        if pairings.isEmpty { context.note("No device was paired.") }
        try context.renderer.render(pairings, on: context.console)
        return 0
    }
}

struct PairRemoveCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Make a device forget us, and forget its key.",
        discussion: """
            A device that is away cannot be told, but its key is forgotten all the same.

              router pair remove "Living Room" --yes
            """)
    static let remembers = true

    @OptionGroup var options: GlobalOptions

    @Argument(help: "The device: a name, an id or the beginning of one.")
    var name: String

    func run(_ context: VerbContext) async throws -> Int32 {
        try await context.confirmed("\(name) will not know this router any more")
        let notice = try await context.router.unpair(name)
        try context.show(Change(.removed, .pairing, name), "\(name) is forgotten")
        if let notice { context.report.say(notice) }
        return 0
    }
}

extension PairingRecord: ListDisplayable {
    static var header: [String] { ["DEVICE", "KIND", "SINCE"] }

    var row: [String] {
        let date = Date(timeIntervalSince1970: madeAt)
        return [name, kind.words, date.formatted(.iso8601.year().month().day())]
    }

    var quietValue: String { name }
}

extension PairingKind {
    /// How the device was made to know us.
    var words: String {
        switch self {
        case .pin: "code"
        case .legacyPin: "code (older pairing)"
        case .password: "password"
        case .transient, .legacy: "open"
        }
    }
}
