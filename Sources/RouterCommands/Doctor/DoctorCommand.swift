import ArgumentParser
import Foundation
import RouteModel
import RouterDaemon

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out why a receiver is silent, and what to do about it.",
        discussion: """
            Without a device this machine and the network are looked at. With one it is followed all the way: found, \
            paired, connected to, given the time, and played a quiet tone of a second by each way that it has. What the \
            device says and asks tells whether the tone can be heard.

              router doctor
              router doctor Kitchen
              router doctor Kitchen --silent
              router doctor --device raop://192.168.1.20

            Exit status: 0 nothing failed, though there may be warnings; 3 no such device; 4 a password or pairing is \
            needed; 5 it was not reached; 6 something is not as it has to be; 78 a program is missing.
            """)

    @OptionGroup var options: GlobalOptions

    @Argument(
        help: "A room or device: a name, an id or the beginning of one.",
        completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var name: String?

    @Flag(name: .long, help: "Send silence in place of the tone.")
    var silent = false

    func run() async throws {
        try await reporting(options) {
            let setup = try options.setup()
            let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
            let report = DoctorReport(options: options)
            let daemon = await DaemonFindings(options)
            for finding in SystemCheck.findings(setup, path: path) { await report.add(daemon.explained(finding)) }
            if let finding = daemon.finding { await report.add(finding) }
            let silent = silent
            let device = name ?? (options.device.count == 1 ? options.device[0] : nil)
            if let device, let busy = daemon.plays(in: device) {
                await report.add(busy)
                try await report.finish()
                return await report.status
            }
            try await InProcessRouter.run(setup) { control in
                var doctor = DeviceDoctor(control: control, silent: silent)
                if options.speaks, !options.noProgress {
                    doctor.phase = { options.console.err(options.console.styled("     \(Console.clean($0))…", .dim)) }
                }
                let stated = options.device.contains { $0 == device }
                for finding in await doctor.discovery(stated: stated) { await report.add(finding) }
                if let device { await doctor.examine(device) { await report.add($0) } }
            }
            try await report.finish()
            return await report.status
        }
    }
}

/// Shows findings as they come, or all of them as JSON at the end.
actor DoctorReport {
    private let options: GlobalOptions
    private(set) var findings: [Finding] = []

    init(options: GlobalOptions) { self.options = options }

    /// What the process exits with: the device's own failure, which comes last, counts more than this machine's.
    var status: Int32 {
        guard let failed = findings.last(where: { $0.result == .failed }) else { return 0 }
        return (failed.code ?? .unavailable).exitStatus
    }

    func add(_ finding: Finding) {
        findings.append(finding)
        switch options.output {
        case .json, .yaml: break
        case .ndjson: if let line = try? Renderer.jsonLine(finding) { options.console.out(line) }
        default: for line in Self.lines(finding, options) { options.console.out(line) }
        }
    }

    func finish() throws {
        guard options.output == .json || options.output == .yaml else { return }
        options.console.out(try Renderer.document(findings, options.output))
    }

    nonisolated static func lines(_ finding: Finding, _ options: GlobalOptions) -> [String] {
        if options.output == .plain {
            let cells = [finding.result.rawValue, finding.check, finding.message, finding.cure ?? ""]
            return [cells.map(Console.clean).joined(separator: "\t")]
        }
        // Who wants it quiet reads only what is wrong.
        if options.quiet, finding.result == .ok || finding.result == .skipped { return [] }
        let (word, style): (String, Console.Style) =
            switch finding.result {
            case .ok: ("ok  ", .green)
            case .warning: ("warn", .yellow)
            case .failed: ("FAIL", .red)
            case .skipped: ("–   ", .dim)
            }
        let check = finding.check.padding(toLength: max(14, finding.check.count), withPad: " ", startingAt: 0)
        let first = "\(options.console.styled(word, style)) \(check) \(Console.clean(finding.message))"
        return [first] + (finding.cure.map { ["     cure: \(Console.clean($0))"] } ?? [])
    }
}
