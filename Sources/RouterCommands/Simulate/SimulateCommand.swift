import ArgumentParser
import Foundation
import RouteModel
import RouterDaemon
import SimulatedReceivers

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run simulated receivers that any sender can play to.",
        discussion: """
            They speak the real protocols on real sockets and play what they are sent in real time. Each prints a line of \
            JSON when it listens; what happens then goes to standard error, or with -o ndjson to standard output. \
            Without --cast, --raop \
            and --airplay2 there is one Cast and one AirPlay 1 receiver. Ctrl-C stops them.

              router simulate --cast
              router simulate --cast TV --raop Kitchen --record /tmp/heard
              router simulate --raop Kitchen --raop Study --fault Study:lose=3
              router simulate --cast A --cast B --group Both=A,B --fault Both:move@5
              router simulate --cast TV@10.0.0.5 --raop TV@10.0.0.5 --advertise
              ROUTER_PASSWORD=secret router simulate --raop
              router simulate --airplay2 'HomePod@127.0.0.2?timing=ptp'
              router simulate --airplay2 'TV@127.0.0.3?pin=1234'

            One NAME given to several at one ADDR is one device that is all of them. What kind of AirPlay 2 receiver it \
            is stands behind a question mark: pairing=everybody|pin|password|home|legacy|none, pin=DIGITS, \
            timing=both|ptp|ntp, streams=both|realtime|buffered, record=any|before|after|silent-after, \
            codec-word=needed|ignored, tsid=UUID of a stereo pair, gid=UUID of a group, gpn=NAME of either, igl=1 for \
            the one that leads. PTP takes UDP ports 319 and 320 \
            of ADDR. Faults: \(SimulatedFault.words). With NAME: before a fault it is of that receiver only.
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
        name: .customLong("airplay2"),
        help: ArgumentHelp(
            "Run an AirPlay 2 receiver; may be repeated, and stand without a value.",
            valueName: "name[@addr[:port]][?key=value&…]"), transform: SimulatedAirPlay2Spec.init(parsing:))
    var airPlay2: [SimulatedAirPlay2Spec] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Run a Google Cast group of Cast receivers of this command, or of mere names; may be repeated.",
            valueName: "name[@addr[:port]]=member,…"), transform: SimulatedGroupSpec.init(parsing:))
    var group: [SimulatedGroupSpec] = []

    @Option(
        name: .long, parsing: .unconditional,
        help:
            "The first receiver's port; the next ones follow, Cast first. 0 takes free ones. Else 8009, 5000 and 7000.")
    var port: Int?

    @Flag(name: .long, help: "Announce them by mDNS on this machine's network.")
    var advertise = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Write what was heard to DIR/NAME.wav and what happened to DIR/NAME.ndjson; of a device of several kinds, to "
                + "NAME-cast and NAME-raop, say.",
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
        if rootOut != nil, cast.isEmpty, group.isEmpty, !(raop.isEmpty && airPlay2.isEmpty) {
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
            let authority = plan.cast.isEmpty ? nil : try self.authority()
            for index in plan.cast.indices { plan.cast[index].authority = authority }
            if let rootOut, let authority { try writeRoot(of: authority, to: rootOut) }
            let house = SimulatedHouse(plan, logger: try options.logger())
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
        let none = cast.isEmpty && raop.isEmpty && airPlay2.isEmpty && group.isEmpty
        return SimulatePlanner(
            cast: none ? [SimulatedReceiverSpec(name: SimulateArguments.castName)] : cast,
            raop: none ? [SimulatedReceiverSpec(name: SimulateArguments.raopName)] : raop, airPlay2: airPlay2,
            groups: group, firstPort: port, faults: fault, recordingFolder: folder, password: password)
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

    /// The keys of the Cast receivers stay, beside the router's state: a device that showed another key after each start
    /// would be refused by whoever keeps keys.
    private func authority() throws -> CastTestAuthority {
        let state = RouterSetup.defaultStorePath(environment: ProcessInfo.processInfo.environment)
        do {
            return try CastTestAuthority.kept(in: URL(fileURLWithPath: state).deletingLastPathComponent())
        } catch {
            options.report.say(
                Notice(
                    .warning, "the keys of the simulated receivers could not be kept (\(error))",
                    hint: "Senders that keep the keys of devices will refuse them after the next start"))
        }
        do {
            return try CastTestAuthority.ofProcess()
        } catch {
            throw RouterError(.internal, "\(error)")
        }
    }

    private func writeRoot(of authority: CastTestAuthority, to path: String) throws {
        do {
            try Data(authority.rootPEM.utf8).write(to: URL(fileURLWithPath: path))
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
        if !options.output.isForPeople {
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
