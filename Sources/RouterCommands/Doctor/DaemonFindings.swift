import RouteModel
import RouterAPI
import RouterDaemon

/// What a daemon that runs here means for an examination, which is done without it: it has ports, and plays.
struct DaemonFindings {
    /// Nil where no daemon runs here.
    private(set) var finding: Finding?
    private var sessions: [SessionSnapshot] = []

    init(_ options: GlobalOptions) async {
        guard case .daemon(let client) = RouterConnection.side(options, passesConfiguration: true) else { return }
        do {
            let status = try await RouterConnection.answer(of: client) { try await client.status() }
            finding = Finding("daemon", .ok, "runs since \(status.since), process \(status.pid)")
            sessions = await client.sessions().filter(\.isActive)
        } catch {
            finding = Finding("daemon", RouterError(wrapping: error))
        }
    }

    /// A port that the daemon has is where it is to be.
    func explained(_ finding: Finding) -> Finding {
        guard self.finding?.result == .ok, finding.result == .warning,
            ["media server", "clock"].contains(finding.check)
        else { return finding }
        return Finding(finding.check, .ok, "\(finding.message): the daemon may have it")
    }

    /// What it plays in the room that is to be examined, which is not disturbed.
    func plays(in device: String) -> Finding? {
        let wanted = device.lowercased()
        let session = sessions.first { session in
            session.members.contains { $0.name.lowercased() == wanted || $0.route.rawValue == wanted }
        }
        return session.map { session in
            Finding(
                "sound", .skipped,
                "the daemon plays \(session.currentItem.map { "“\($0.title)”" } ?? "something") there, and is not disturbed",
                cure: "Ask again when it is free, or free it: router stop --room \(ShellWord.quoted(device))")
        }
    }
}
