import ArgumentParser
import Foundation
import RouteModel
import SimulatedReceivers

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run simulated receivers that any sender can play to.",
        discussion: """
            They speak the real protocols on real sockets, play what they are sent in real time, and write what was \
            heard to NAME.wav and what happened to NAME.ndjson in the folder of --record. Ctrl-C stops them.

              router simulate --cast
              router simulate --cast --raop --name TV --name Kitchen --record /tmp/heard
              ROUTER_PASSWORD=secret router simulate --raop
            """)

    @OptionGroup var options: GlobalOptions

    @Flag(help: "Run a Google Cast receiver; repeat for more.")
    var cast: Int

    @Flag(help: "Run an AirPlay 1 (RAOP) receiver; repeat for more. ROUTER_PASSWORD makes it ask for a password.")
    var raop: Int

    @Option(name: .long, help: "The next receiver's name, Cast receivers first; may be repeated.")
    var name: [String] = []

    @Option(name: .long, help: ArgumentHelp("The address to listen on.", valueName: "address"))
    var host = "127.0.0.1"

    @Option(name: .long, help: "The first Cast receiver's port; 0 takes a free one.")
    var castPort = 8009

    @Option(name: .long, help: "The first Cast receiver's port of its set-up page (eureka_info); 0 takes a free one.")
    var httpPort = 8008

    @Option(name: .long, help: "The first RAOP receiver's port; 0 takes a free one.")
    var raopPort = 5000

    @Option(name: .long, help: "Write what was heard, and what happened, to this folder.", completion: .directory)
    var record: String?

    @Flag(name: .long, help: "Announce them by mDNS on this machine's network.")
    var announce = false

    func validate() throws {
        if cast + raop == 0 { throw ValidationError("Say what to simulate: --cast, --raop or both.") }
        if name.count > cast + raop { throw ValidationError("There are more names than receivers.") }
        if Set(name).count < name.count { throw ValidationError("Give each receiver a name of its own.") }
        if let bad = name.first(where: { $0.isEmpty || $0.contains("/") || $0.hasPrefix(".") }) {
            throw ValidationError("“\(bad)” cannot be a name: it names files too.")
        }
        for port in [castPort, httpPort, raopPort] where !(0...65_000).contains(port) {
            throw ValidationError("A port is a number from 0 to 65000, not \(port).")
        }
    }

    func run() async throws {
        try await reporting(options) {
            let house = SimulatedHouse(try plan(), logger: options.logger())
            do {
                try await house.start()
            } catch let error as SimulatedReceiverError {
                throw RouterError(
                    .unavailable, "a simulated receiver could not start: \(error)",
                    hint: "Choose other ports with --cast-port, --http-port or --raop-port")
            }
            for receiver in await house.receivers {
                options.console.out(
                    "\(receiver.name)\t\(receiver.family.displayName)\t\(receiver.uri)")
            }
            let events = await house.events()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await (name, event) in events { show(name, event) }
                }
                group.addTask { for await _ in Signals.interrupts() { return } }
                await group.next()
                group.cancelAll()
            }
            await house.stop()
            return 0
        }
    }

    private func plan() throws -> SimulatedHouse.Plan {
        let folder = try record.map { path in
            let url = URL(fileURLWithPath: path, isDirectory: true)
            do {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            } catch {
                throw RouterError(
                    .configuration, "the folder \(path) cannot be made", hint: "Give --record a folder you may write to"
                )
            }
            return url
        }
        var names = name[...]
        var plan = SimulatedHouse.Plan()
        plan.announces = announce
        for index in 0..<cast {
            var configuration = SimulatedCastConfiguration(
                name: names.popFirst() ?? (index == 0 ? "Simulated Cast" : "Simulated Cast \(index + 1)"), host: host,
                port: castPort == 0 ? 0 : castPort + index, httpPort: httpPort == 0 ? 0 : httpPort + index * 1000)
            configuration.recordingFolder = folder
            plan.cast.append(configuration)
        }
        let password = ProcessInfo.processInfo.environment["ROUTER_PASSWORD"]
        for index in 0..<raop {
            plan.raop.append(
                SimulatedRAOPConfiguration(
                    name: names.popFirst() ?? (index == 0 ? "Simulated Speaker" : "Simulated Speaker \(index + 1)"),
                    host: host, port: raopPort == 0 ? 0 : raopPort + index, password: password, recordingFolder: folder)
            )
        }
        return plan
    }

    private func show(_ name: String, _ event: SimulatedReceiverEvent) {
        let console = options.console
        if options.output == .json || options.output == .ndjson {
            if let line = try? Renderer.jsonLine(ShownEvent(name: name, event: event)) { console.out(line) }
            return
        }
        guard !options.noProgress else { return }
        let details = event.details.sorted { $0.key < $1.key }.map { key, value in
            "\(key)=\((try? Renderer.jsonLine(value)) ?? "")"
        }.joined(separator: " ")
        console.out(Console.clean("\(name)\t\(event.word)\t\(details)"))
    }

    private struct ShownEvent: Encodable {
        var receiver: String
        var event: String
        var hostNanoseconds: Int64
        var details: [String: JSONValue]

        init(name: String, event: SimulatedReceiverEvent) {
            receiver = name
            self.event = event.word
            hostNanoseconds = event.hostNanoseconds
            details = event.details
        }
    }
}
