import ArgumentParser
import Foundation
import RouteModel

/// The two halves of a pairing, for one person at the device and another at a terminal: the daemon keeps what lies
/// between them.
struct PairStartCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Begin a pairing: the device shows its code. Prints a handle.",
        discussion: """
            The daemon keeps the pairing for some minutes; whoever has the handle can finish it, from any terminal.

              router pair start "Living Room"
              router pair finish pr-0123456789ab 1234
            """)
    static let remembers = true

    @Argument(
        help: "The device: a name, an id or the beginning of one.",
        completion: .custom { _, _, _ in await DynamicCompletion.devices() })
    var name: String

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            try await RouterConnection.daemon(options) { context, _ in try await run(context) }
        }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let progress = try await context.router.startPairing(name)
        if context.options.output == .table, options.format == nil, options.fields == nil, !context.options.quiet {
            context.console.out(Console.clean(progress.id))
            context.note(
                progress.prompt,
                hint: "Then run: router pair finish \(progress.id) \(progress.kind == .password ? "" : "CODE")")
        } else {
            try context.renderer.render(one: progress, on: context.console) { _ in [] }
        }
        return progress.error?.code.exitStatus ?? 0
    }
}

struct PairFinishCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "finish", abstract: "Finish a pairing with the code that the device shows.",
        discussion: """
            A password is typed blindly, or piped in; it does not belong on the command line.

              router pair finish pr-0123456789ab 1234
              echo "$PASSWORD" | router pair finish pr-0123456789ab
              router pair finish pr-0123456789ab --cancel
            """)
    static let discovers = false
    static let remembers = true

    @Argument(help: "The handle that “router pair start” printed.")
    var handle: String

    @Argument(help: "The code; without it, it is asked for.")
    var code: String?

    @Flag(name: .long, help: "Call the pairing off.")
    var cancel = false

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            try await RouterConnection.daemon(options) { context, _ in try await run(context) }
        }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        if cancel {
            try await context.router.cancelPairing(handle)
            try context.show(Change(.cancelled, .pairing, handle), "Called off")
            return 0
        }
        let typed: String?
        if let code {
            typed = code
        } else {
            typed = await CodePrompt.ask("Code or password: ", hidden: true)
        }
        guard let code = typed?.trimmingCharacters(in: .whitespaces), !code.isEmpty else {
            throw RouterError(
                .cancelled, "no code was given",
                hint: "Type the one that the device shows, or pipe it into this command",
                scope: .command)
        }
        let progress = try await context.router.finishPairing(handle, code: code)
        if let error = progress.error { throw error }
        try context.show(progress, "\(progress.device) knows this router now")
        return 0
    }
}

extension PairingProgress: ListDisplayable {
    static var header: [String] { ["HANDLE", "DEVICE", "KIND", "STATE", "PROMPT"] }
    var row: [String] { [id, device, kind.words, state.rawValue, prompt] }
    var quietValue: String { id }
}
