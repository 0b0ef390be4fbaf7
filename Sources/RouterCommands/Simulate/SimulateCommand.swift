import ArgumentParser
import Foundation
import RouteModel
import SimulatedReceivers

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run simulated receivers that any sender can play to.",
        discussion: """
            They speak the real protocols on real sockets, and play what they are sent in real time. Each prints one line \
            of JSON when it listens; what happens is told on standard error. With --record, what was heard is written to \
            NAME.wav and what happened to NAME.ndjson. Ctrl-C stops them. Without --cast and --raop there is one of each.

              router simulate
              router simulate --cast TV --raop Kitchen --record /tmp/heard
              router simulate --raop Kitchen@10.77.0.1 --raop Study@10.77.0.2:5001
              router simulate --cast TV --fault load-failed=905
              ROUTER_PASSWORD=secret router simulate --raop Kitchen
            """)

    @OptionGroup var options: GlobalOptions

    @Option(help: ArgumentHelp("A Google Cast receiver; may be repeated.", valueName: "name[@addr[:port]]"))
    var cast: [SimulatedPlace] = []

    @Option(
        help: ArgumentHelp(
            "An AirPlay 1 (RAOP) receiver; may be repeated. ROUTER_PASSWORD makes them ask for a password.",
            valueName: "name[@addr[:port]]"))
    var raop: [SimulatedPlace] = []

    @Option(
        help: ArgumentHelp(
            "The first receiver's port; the next ones follow, Cast receivers first. 0 takes free ones.",
            discussion: "Without it Cast receivers begin at 8009 and AirPlay ones at 5000."))
    var port: Int?

    @Flag(help: "Announce them by mDNS on this machine's network.")
    var advertise = false

    @Option(
        help: ArgumentHelp("Write what was heard, and what happened, to this folder.", valueName: "dir"),
        completion: .directory)
    var record: String?

    @Option(
        help: ArgumentHelp(
            "Write the root certificate of the Cast receivers to this file, for senders that verify devices.",
            valueName: "file"), completion: .file())
    var rootOut: String?

    @Option(
        help: ArgumentHelp(
            "Something that goes wrong; may be repeated: \(SimulatedFault.words).", valueName: "[name:]fault"))
    var fault: [SimulatedFault] = []

    func validate() throws {
        // One of each kind may share a name: that is a device that speaks both.
        for list in [cast, raop] where Set(list.map(\.name)).count < list.count {
            throw ValidationError("Give each receiver of a kind a name of its own.")
        }
        let names = (cast + raop).map(\.name)
        if let port, !(0...65_000).contains(port) {
            throw ValidationError("A port is a number from 0 to 65000, not \(port).")
        }
        for fault in fault {
            if let name = fault.receiver, !names.contains(name) {
                throw ValidationError("There is no receiver “\(name)” to have a fault.")
            }
        }
    }

    func run() async throws {
        try await reporting(options) {
            let interrupts = Signals.interrupts()
            try writeRoot()
            let house = SimulatedHouse(try plan(), logger: options.logger())
            do {
                try await house.start()
            } catch let error as SimulatedReceiverError {
                throw RouterError(
                    .unavailable, "a simulated receiver could not start: \(error)",
                    hint: "Choose other ports with --port, or another address: NAME@ADDR:PORT")
            }
            for notice in await house.notices { options.report.say(notice) }
            for receiver in await house.receivers { options.console.out(try Renderer.jsonLine(receiver)) }
            let events = await house.events()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await (name, event) in events { show(name, event) }
                }
                group.addTask { for await _ in interrupts { return } }
                await group.next()
                group.cancelAll()
            }
            await house.stop()
            return 0
        }
    }

    private func writeRoot() throws {
        guard let rootOut else { return }
        do {
            try Data(CastTestAuthority.ofProcess().rootPEM.utf8).write(to: URL(fileURLWithPath: rootOut))
        } catch let error as SimulatedReceiverError {
            throw RouterError(.internal, "the root certificate could not be made: \(error)")
        } catch {
            throw RouterError(
                .configuration, "the file \(rootOut) cannot be written", hint: "Give --root-out a file you may write to"
            )
        }
    }

    /// What is to run, from the command line.
    func plan() throws -> SimulatedHouse.Plan {
        let none = cast.isEmpty && raop.isEmpty
        let cast = none ? [SimulatedPlace(name: "Simulated Cast")] : cast
        let raop = none ? [SimulatedPlace(name: "Simulated Speaker")] : raop
        let password = ProcessInfo.processInfo.environment["ROUTER_PASSWORD"]
        var plan = SimulatedHouse.Plan()
        plan.announces = advertise
        var next = port
        // On an address of its own each takes the usual port.
        var taken: Set<String> = []
        func choose(_ place: SimulatedPlace, _ host: String, usual: Int) -> Int {
            if let port = place.port { return port }
            if let port = next {
                next = port == 0 ? 0 : port + 1
                return port
            }
            var port = usual
            while !taken.insert("\(host) \(port)").inserted { port += 1 }
            return port
        }
        for place in cast {
            let host = place.host ?? "127.0.0.1"
            var configuration = SimulatedCastConfiguration(
                name: place.name, host: host, port: choose(place, host, usual: 8009), httpPort: 8008)
            configuration.recordingFolder = try recordingFolder(raop.contains { $0.name == place.name } ? "cast" : nil)
            for fault in faults(of: place) { try fault.apply(to: &configuration) }
            plan.cast.append(configuration)
        }
        for place in raop {
            let host = place.host ?? "127.0.0.1"
            var configuration = SimulatedRAOPConfiguration(
                name: place.name, host: host, port: choose(place, host, usual: 5000), password: password,
                recordingFolder: try recordingFolder(cast.contains { $0.name == place.name } ? "airplay" : nil))
            for fault in faults(of: place) { try fault.apply(to: &configuration) }
            plan.raop.append(configuration)
        }
        return plan
    }

    private func faults(of place: SimulatedPlace) -> [SimulatedFault] {
        fault.filter { $0.receiver == nil || $0.receiver == place.name }
    }

    /// - Parameter kind: for receivers that share a name, a folder of each kind keeps their recordings apart.
    private func recordingFolder(_ kind: String?) throws -> URL? {
        try record.map { path in
            var url = URL(fileURLWithPath: path, isDirectory: true)
            if let kind { url.appendPathComponent(kind, isDirectory: true) }
            do {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            } catch {
                throw RouterError(
                    .configuration, "the folder \(path) cannot be made", hint: "Give --record a folder you may write to"
                )
            }
            return url
        }
    }

    private func show(_ name: String, _ event: SimulatedReceiverEvent) {
        let console = options.console
        if options.output == .json || options.output == .ndjson {
            if let line = try? Renderer.jsonLine(ShownEvent(name: name, event: event)) { console.out(line) }
            return
        }
        guard !options.noProgress, !options.quiet else { return }
        let details = event.details.sorted { $0.key < $1.key }.map { key, value in
            "\(key)=\((try? Renderer.jsonLine(value)) ?? "")"
        }.joined(separator: " ")
        console.err(Console.clean("\(name): \(event.word) \(details)"))
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
