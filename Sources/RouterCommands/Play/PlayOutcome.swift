import RouteModel

/// How a session ended: what is left to say, and the exit status.
struct PlayOutcome {
    /// What the process exits with (`interfaces.md` 1.3).
    let status: Int32
    /// The error that speaks for the whole, where there is one that was not told before.
    var error: RouterError?
    /// With some rooms lost and others not: what became of each.
    var stories: [String] = []
    /// What did not play, where the rest does.
    var notice: Notice?

    /// - Parameter goesOn: What plays is left to a daemon: items that were passed over before it are no end of it.
    init(_ snapshot: SessionSnapshot, goesOn: Bool = false) {
        let lost = snapshot.members.filter { $0.error != nil }
        if let first = lost.first?.error {
            if lost.count < snapshot.members.count {
                status = 8
                stories = snapshot.members.map { member in
                    "\(member.name): \(member.error.map { "failed: \($0.message)" } ?? "played")"
                }
            } else {
                // Each room's loss was told when it happened; programs get the first.
                status = first.code.exitStatus
                error = first
            }
            return
        }
        if let failure = snapshot.error {
            status = failure.code.exitStatus
            error = failure
            return
        }
        let failed = snapshot.queue.items.filter { $0.failure != nil }
        guard !failed.isEmpty else {
            status = 0
            return
        }
        if goesOn, snapshot.isActive {
            status = 0
            notice = Self.passedOver(failed, of: snapshot.queue.items.count)
            return
        }
        let sum = RouterError(
            .itemFailed, "\(failed.count) of \(snapshot.queue.items.count) items did not play to their end",
            hint: "Check these files with ffprobe", scope: .item,
            causes: failed.map { "\($0.title): \($0.failure ?? "")" })
        status = sum.code.exitStatus
        error = sum
    }

    /// Names the first of them: an album may have many.
    private static func passedOver(_ failed: some Collection<QueueItem>, of count: Int) -> Notice {
        let named = failed.prefix(3).map { "\($0.title): \($0.failure ?? "")" }.joined(separator: "; ")
        let more = failed.count > 3 ? "; and \(failed.count - 3) more" : ""
        return Notice(
            .warning, "\(failed.count) of \(count) items did not play and were passed over (\(named)\(more))",
            hint: "Check these files with ffprobe; “router queue list” shows the others, too")
    }
}
