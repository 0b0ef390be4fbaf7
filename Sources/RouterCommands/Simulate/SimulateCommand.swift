import ArgumentParser
import Foundation
import RouteModel
import SimulatedReceivers

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run simulated receivers that any sender can play to.",
        discussion: """
            They speak the real protocols on real sockets and play what they are sent in real time. Each prints a line of \
            JSON when it listens; what happens then goes to standard error, or with -o ndjson to standard output. \
            Without --cast and --raop \
            there is one of each. Ctrl-C stops them.

              router simulate --cast
              router simulate --cast TV --raop Kitchen --record /tmp/heard
              router simulate --raop Kitchen --raop Study --fault Study:lose=3
              router simulate --cast A --cast B --group Both=A,B --fault Both:move@5
              router simulate --cast TV@10.0.0.5 --raop TV@10.0.0.5 --advertise
              ROUTER_PASSWORD=secret router simulate --raop

            One NAME given to both at one ADDR is one device that is both. Faults: \(SimulatedFault.words). With NAME: before a fault it is of that receiver only.
            """)

    @OptionGroup var options: GlobalOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Run a Google Cast receiver; may be repeated, and stand without a value.",
            valueName: "name[@addr[:port]]"), transform: SimulatedReceiverSpec.init(parsing:))
    var cast: [SimulatedReceiverSpec] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Run an AirPlay 1 (RAOP) receiver; may be repeated, and stand without a value. ROUTER_PASSWORD makes it ask "
                + "for a password.",
            valueName: "name[@addr[:port]]"), transform: SimulatedReceiverSpec.init(parsing:))
    var raop: [SimulatedReceiverSpec] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Run a Google Cast group of Cast receivers of this command, or of mere names; may be repeated.",
            valueName: "name[@addr[:port]]=member,…"), transform: SimulatedGroupSpec.init(parsing:))
    var group: [SimulatedGroupSpec] = []

    @Option(
        name: .long,
        help: "The first receiver's port; the next ones follow, Cast first. 0 takes free ones. Else 8009 and 5000.")
    var port: Int?

    @Flag(name: .long, help: "Announce them by mDNS on this machine's network.")
    var advertise = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Write what was heard to DIR/NAME.wav and what happened to DIR/NAME.ndjson; of a device that is both, to "
                + "NAME-cast and NAME-raop.",
            valueName: "dir"), completion: .directory)
    var record: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Write the root certificate of the Cast receivers, in PEM, for senders that verify devices.",
            valueName: "file"), completion: .file())
    var rootOut: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Do something wrong on purpose; may be repeated.", valueName: "[name:]fault"),
        transform: SimulatedFault.init(parsing:))
    var fault: [SimulatedFault] = []

    func validate() throws {
        if let port, !(0...65_000).contains(port) {
            throw ValidationError("A port is a number from 0 to 65000, not \(port).")
        }
        if rootOut != nil, cast.isEmpty, group.isEmpty, !raop.isEmpty {
            throw ValidationError("--root-out is of Cast receivers, and there is none.")
        }
        _ = try planner(recordingTo: nil).plan()
    }

    func run() async throws {
        try await reporting(options) {
            // From the first line on Ctrl-C ends it properly, recordings closed.
            let interrupts = Signals.interrupts()
            var plan = try planner(recordingTo: try recordingFolder()).plan()
            plan.announces = advertise
            if let rootOut { try writeRoot(to: rootOut) }
            let house = SimulatedHouse(plan, logger: options.logger())
            do {
                try await house.start()
            } catch let error as SimulatedReceiverError {
                throw RouterError(
                    .unavailable, "a simulated receiver could not start: \(error)",
                    hint: "Choose another port or address: NAME@ADDR:PORT, or --port 0 for free ones")
            }
            let events = await house.events()
            for notice in await house.notices { options.console.err("note: \(Console.clean(notice))") }
            for receiver in await house.receivers { options.console.out(receiver.line.text) }
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

    private func planner(recordingTo folder: URL?) -> SimulatePlanner {
        let password = ProcessInfo.processInfo.environment["ROUTER_PASSWORD"].flatMap { $0.isEmpty ? nil : $0 }
        let none = cast.isEmpty && raop.isEmpty && group.isEmpty
        return SimulatePlanner(
            cast: none ? [SimulatedReceiverSpec(name: SimulateArguments.castName)] : cast,
            raop: none ? [SimulatedReceiverSpec(name: SimulateArguments.raopName)] : raop, groups: group,
            firstPort: port, faults: fault, recordingFolder: folder, password: password)
    }

    private func recordingFolder() throws -> URL? {
        try record.map { path in
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
    }

    private func writeRoot(to path: String) throws {
        let pem: String
        do {
            pem = try CastTestAuthority.ofProcess().rootPEM
        } catch {
            throw RouterError(.internal, "\(error)")
        }
        do {
            try Data(pem.utf8).write(to: URL(fileURLWithPath: path))
            // For others to read, whatever the umask says: it is public.
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        } catch {
            throw RouterError(
                .configuration, "the root certificate cannot be written to \(path)",
                hint: "Give --root-out a file you may write")
        }
    }

    private func show(_ name: String, _ event: SimulatedReceiverEvent) {
        let console = options.console
        if options.output == .json || options.output == .ndjson {
            var fields = event.details
            fields["receiver"] = .string(name)
            fields["event"] = .string(event.word)
            fields["host_ns"] = .integer(Int(event.hostNanoseconds))
            return console.out(JSONValue.object(fields).text)
        }
        // The clock's marks are for the journal: one for each second of each room.
        guard !options.noProgress, !options.quiet, event.word != "clock" else { return }
        let details = event.details.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }
        console.err(Console.clean(([name + ":", event.word] + details).joined(separator: " ")))
    }
}
