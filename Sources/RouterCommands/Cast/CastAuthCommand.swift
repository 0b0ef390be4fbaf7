import ArgumentParser
import CastBackend
import Foundation
import RouteModel
import RouterDaemon

struct CastAuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auth",
        abstract: "Ask a Cast device who it is, and check the answer.",
        discussion: """
            With a root (--root, or “cast: roots” in the configuration) the device must show a chain of certificates to \
            it. Without one, the key that a device shows first is kept, and another key is refused from then on until \
            it is accepted. Exit status 4 where the device is not to be trusted.

              router cast auth "Living Room"
              router cast auth "Living Room" --accept
              router cast auth cast://192.168.1.21 --root cast_root.pem -o json
            """)

    @OptionGroup var options: GlobalOptions
    @OptionGroup var target: CastTarget

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Trust devices signed under the certificates in this file (PEM or DER); may be repeated.",
            valueName: "pem"), completion: .file())
    var root: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Refuse devices on this list (a CrlBundle), which must be signed under a root.", valueName: "file"),
        completion: .file())
    var crl: String?

    @Flag(name: .long, help: "Keep the key that the device shows now in place of the one that it was known by.")
    var accept = false

    func validate() throws {
        if accept, !root.isEmpty { throw ValidationError("--accept keeps a key, and with --root none is kept.") }
    }

    func run() async throws {
        try await reporting(options) {
            var setup = try options.setup()
            if !root.isEmpty {
                setup.configuration.cast.roots = root
                setup.configuration.cast.identity = .require
            } else if accept || setup.configuration.cast.identity == .off {
                // Whoever asks here wants an answer, whatever is done when something plays.
                setup.configuration.cast.identity = .pin
            }
            if let crl { setup.configuration.cast.crl = crl }
            let finding = try await CastIdentityService.identify(
                try await target.endpoint(options), setup: setup, accept: accept)
            if options.quiet {
                options.console.out(finding.verdict.rawValue)
            } else {
                switch options.output {
                case .json, .ndjson, .yaml: options.console.out(try Renderer.document(finding, options.output))
                case .plain:
                    for (name, value) in Self.facts(finding) { options.console.out("\(name)\t" + Console.clean(value)) }
                case .table: show(finding)
                }
            }
            guard let error = finding.error else { return 0 }
            options.report.say(error)
            return error.code.exitStatus
        }
    }

    private func show(_ finding: CastIdentityFinding) {
        let console = options.console
        console.out(
            console.styled(Console.clean(finding.device), .bold) + "  "
                + console.styled(Console.clean(finding.address), .dim))
        for (name, value) in Self.facts(finding).dropFirst(2) {
            console.out("  " + TerminalText.padded(name, to: 13) + Console.clean(value))
        }
    }

    /// Everything, in the order in which a person wants to know it.
    static func facts(_ finding: CastIdentityFinding) -> [(String, String)] {
        let words =
            switch finding.verdict {
            case .verified: "verified: it shows a chain to a trusted root"
            case .pinned: "pinned: it shows the key that it is known by"
            case .firstSeen: "new: it is known by this key from now on"
            case .accepted: "accepted: it is known by this key from now on"
            case .changed: "changed: it shows another key than the one it is known by"
            case .refused: "refused: what it shows does not hold"
            case .silent: "silent: it does not say who it is"
            }
        var facts = [("device", finding.device), ("address", finding.address), ("verdict", words)]
        func add(_ name: String, _ value: String?) { if let value { facts.append((name, value)) } }
        add("failure", finding.failure)
        add("plays", finding.policy.map { $0 == "audioOnly" ? "sound only" : "sound and picture" })
        for certificate in finding.chain {
            add(
                "certificate",
                "\(certificate.subject), signed by \(certificate.issuer), \(day(certificate.notBefore)) to "
                    + day(certificate.notAfter))
        }
        add("root", finding.root)
        add("expires", finding.expires.map(day))
        add("tls expires", finding.tlsExpires.map(day))
        add("signature", finding.signature.map { "\($0) with \(finding.digest ?? "")" })
        add("revocation", finding.revocation)
        add("key", finding.fingerprint)
        add("known key", finding.pinned == finding.fingerprint ? nil : finding.pinned)
        return facts
    }

    private static func day(_ date: Date) -> String { date.formatted(.iso8601.year().month().day()) }
}
