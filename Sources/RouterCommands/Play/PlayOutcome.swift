import RouteModel

/// How a session ended: what is left to say, and the exit status.
struct PlayOutcome {
    /// What the process exits with (`interfaces.md` 1.3).
    let status: Int32
    /// The error that speaks for the whole, where there is one that was not told before.
    var error: RouterError?
    /// With some rooms lost and others not: what became of each.
    var stories: [String] = []

    init(_ snapshot: SessionSnapshot) {
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
        let sum = RouterError(
            .itemFailed, "\(failed.count) of \(snapshot.queue.items.count) items did not play to their end",
            hint: "Check these files with ffprobe", scope: .item,
            causes: failed.map { "\($0.title): \($0.failure ?? "")" })
        status = sum.code.exitStatus
        error = sum
    }
}
