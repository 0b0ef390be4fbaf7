import ArgumentParser
import Foundation
import RouteModel
import Synchronization
import Testing

@testable import RouterCommands

/// One command line, run on a scripted router: what it printed, and how it ended.
struct VerbRun {
    var output: [String]
    var errors: [String]
    /// The exit status.
    var status: Int32
    var router: ScriptedRouter

    var text: String { output.joined(separator: "\n") }

    init(
        _ words: [String], _ script: ScriptedRouter.Script = .init(), isDaemon: Bool = true, defaultRoom: String? = nil,
        answer: Bool? = nil
    ) async throws {
        let router = ScriptedRouter(script)
        let printed = Mutex<[(text: String, descriptor: Int32)]>([])
        let sink = Console.Sink(columns: 100) { text, descriptor in printed.withLock { $0.append((text, descriptor)) } }
        let console = Console(writingTo: sink)
        // As the program itself reads them.
        let parsed = try RouterCommand.parseAsRoot(CommandWords.complete(words))
        let verb = try #require(parsed as? any RouterVerb, "“\(words.joined(separator: " "))” is no verb of a router")
        let confirm: (@Sendable (String) async -> Bool)? = answer.map { answer in { @Sendable _ in answer } }
        let context = VerbContext(
            router, isDaemon: isDaemon, options: verb.options, console: console,
            defaultRoom: defaultRoom, confirm: confirm)
        do {
            status = try await verb.run(context)
        } catch let error as RouterError {
            verb.options.report(console).say(error)
            status = ExitStatus.of(error, verb.options)
        } catch let error as UsageError {
            verb.options.report(console).say(error.error)
            status = UsageError.exitStatus
        }
        let all = printed.withLock { $0 }
        func lines(_ descriptor: Int32) -> [String] {
            var text = all.filter { $0.descriptor == descriptor }.map(\.text).joined()
            if text.hasSuffix("\n") { text.removeLast() }
            return text.isEmpty ? [] : text.components(separatedBy: "\n")
        }
        output = lines(1)
        errors = lines(2)
        self.router = router
    }

    /// What an event of `watch` is called.
    static func event(_ line: String) throws -> OutputValue? {
        try JSONDecoder().decode(OutputValue.self, from: Data(line.utf8)).value(at: ["event"])
    }

    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text.utf8))
    }
}

/// A house of three rooms, for scripts.
enum SampleHouse {
    static func route(_ name: String, _ id: String) -> Route {
        Route(
            id: RouteID(rawValue: id), name: name,
            endpoints: [
                Endpoint(
                    id: EndpointID(rawValue: "ep-\(id)"), protocol: .raop, name: name, host: "10.0.0.\(id.count)",
                    port: 5000, strongKeys: [StrongKey(.mac, "aa\(id)")], origin: .discovered)
            ])
    }

    static let routes = [route("Kitchen", "rt-kitchen"), route("Kids", "rt-kids"), route("Den", "rt-den")]
    static let rooms =
        routes.map { Room(name: $0.name, devices: [$0.id.rawValue], routes: [$0.id]) } + [
            Room(
                name: "Upstairs", aliases: ["up"], devices: ["Kids", "Attic"], configured: false,
                routes: [RouteID(rawValue: "rt-kids")], stored: true)
        ]

    static func session(_ id: String, _ names: [String], media: MediaState = .playing, items: Int = 3)
        -> SessionSnapshot
    {
        var session = Samples.session(
            items: (1...items).map { Samples.item("ITEM0\($0)", title: ["Blue", "Green", "Red"][($0 - 1) % 3]) },
            members: names.map { Samples.member($0) }, media: media)
        session.id = SessionID(rawValue: id)
        for index in session.members.indices {
            session.members[index].route = RouteID(rawValue: "rt-\(names[index].lowercased())")
        }
        return session
    }

    static func script(_ sessions: [SessionSnapshot] = [session("se-1", ["Kitchen"])]) -> ScriptedRouter.Script {
        var script = ScriptedRouter.Script()
        script.routes = routes
        script.rooms = rooms
        script.sessions = sessions
        script.groups = [RoomGroup(name: "upper", rooms: ["Kids", "Den"], trims: ["Den": 0.5])]
        return script
    }
}
