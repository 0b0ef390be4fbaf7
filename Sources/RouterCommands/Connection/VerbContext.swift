import ArgumentParser
import Foundation
import RouteModel
import RouterDaemon

/// What a verb has at hand: a router, and where to say things.
struct VerbContext: Sendable {
    let router: any RouterControlling
    /// What is begun goes on when this command has ended.
    let isDaemon: Bool
    let options: GlobalOptions
    let console: Console
    /// Where to play when nothing is said: `default_room` of the configuration, or `ROUTER_ROOM`.
    let defaultRoom: String?
    /// Asks a yes or no question; nil where there is nobody to ask.
    var confirm: (@Sendable (String) async -> Bool)?

    init(
        _ router: any RouterControlling, isDaemon: Bool, options: GlobalOptions, console: Console? = nil,
        defaultRoom: String? = nil, confirm: (@Sendable (String) async -> Bool)? = Confirmation.onTerminal
    ) {
        self.router = router
        self.isDaemon = isDaemon
        self.options = options
        self.console = console ?? options.console
        self.defaultRoom = defaultRoom
        self.confirm = confirm
    }

    var renderer: Renderer { options.renderer(console) }
    var report: ErrorReport { options.report(console) }

    /// For people, on standard output, and not for those who want it quiet.
    func say(_ line: String) {
        if options.speaks { console.out(Console.clean(line)) }
    }

    /// For people, beside what is printed.
    func note(_ line: String, hint: String? = nil) {
        guard options.speaks else { return }
        console.err(Console.clean(line))
        if let hint { console.err("  hint: \(Console.clean(hint))") }
    }

    /// Prints what a verb has made or changed: a sentence for people, its document for programs.
    func show<Item: ListDisplayable>(_ item: Item, _ sentence: String) throws {
        try options.show(item, sentence, on: console)
    }

    /// Says what cannot be undone, and asks. Throws where it is not wanted, or there is nobody to ask.
    func confirmed(_ what: String) async throws {
        if options.yes { return }
        guard let confirm else {
            throw UsageError("\(what); nobody is there to be asked whether that is wanted", hint: "Add --yes to do it")
        }
        guard await confirm("\(what). Go on? [y/N] ") else {
            throw RouterError(.cancelled, "nothing was done", scope: .command)
        }
    }

    static func tookTooLong(_ what: String, _ timeout: Delay) -> RouterError {
        RouterError(
            .timeout, "\(what) took longer than \(ClockTime.words(timeout.seconds))",
            hint: "Give it more time with --timeout, or look with “router status” at what became of it",
            scope: .command, retry: .later)
    }

    /// Does something within what `--timeout` allows.
    func within<Value: Sendable>(
        _ what: String, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let timeout = options.timeout else { return try await body() }
        return try await withThrowingTaskGroup(of: Value.self) { group in
            defer { group.cancelAll() }
            group.addTask(operation: body)
            group.addTask {
                try await Task.sleep(for: timeout.duration)
                throw Self.tookTooLong(what, timeout)
            }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}

/// A verb that works on a router, wherever that is.
protocol RouterVerb: AsyncParsableCommand, Sendable {
    var options: GlobalOptions { get }
    /// Whether devices have to be known for it.
    static var discovers: Bool { get }
    /// Whether it does nothing but what is to be known the next time.
    static var remembers: Bool { get }
    /// Gives the exit status.
    func run(_ context: VerbContext) async throws -> Int32
}

extension RouterVerb {
    static var discovers: Bool { true }
    static var remembers: Bool { false }

    func run() async throws {
        try await reporting(options) {
            try await RouterConnection.open(options, discovers: Self.discovers, remembers: Self.remembers) {
                try await run($0)
            }
        }
    }
}

/// Asks before what cannot be undone.
enum Confirmation {
    /// Nil where there is no person at a terminal.
    static var onTerminal: (@Sendable (String) async -> Bool)? {
        guard CodePrompt.isPossible else { return nil }
        return { question in
            let answer = await CodePrompt.ask(question, hidden: false) ?? ""
            return ["y", "yes"].contains(answer.trimmingCharacters(in: .whitespaces).lowercased())
        }
    }
}

/// Where to play when nothing is said.
enum DefaultRoom {
    /// - Parameter file: the configuration to look into; nil for the usual one.
    static func name(
        in file: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String? {
        if let room = environment["ROUTER_ROOM"], !room.isEmpty { return room }
        let path = file ?? RouterConfiguration.defaultPath(environment: environment)
        return (try? RouterConfiguration.load(path: path, mustExist: false))?.defaultRoom
    }
}
