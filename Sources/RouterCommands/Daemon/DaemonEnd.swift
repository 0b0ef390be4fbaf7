import Foundation
import RouteModel

/// Ends a process in order, and sees that it has ended.
enum DaemonEnd {
    /// Sends SIGTERM and returns once the process does not run any more. Throws `unavailable` where that is not allowed,
    /// and `timeout` where it goes on.
    static func end(_ pid: pid_t, within patience: Duration) async throws {
        if kill(pid, SIGTERM) != 0, errno != ESRCH {
            throw RouterError(
                .unavailable, "the daemon, process \(pid), cannot be stopped (\(String(cString: strerror(errno))))",
                hint: "Stop it as whoever started it: systemctl --user stop router", scope: .command)
        }
        let end = ContinuousClock.now + patience
        while !hasEnded(pid) {
            guard ContinuousClock.now < end else {
                throw RouterError(
                    .timeout,
                    "the daemon, process \(pid), has not ended within "
                        + ClockTime.words(patience / .seconds(1)),
                    hint: "Look at its log for what holds it up. “kill -9 \(pid)” ends it at once, and the next daemon "
                        + "takes up what plays", scope: .command, retry: .later)
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Also where its parent has not looked at how it ended: such a process is there for `kill`, but does nothing more.
    static func hasEnded(_ pid: pid_t) -> Bool {
        if kill(pid, 0) != 0, errno == ESRCH { return true }
        guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return false }
        // proc(5): the state is the letter after the name, which stands in parentheses and may hold any.
        guard let name = data.lastIndex(of: UInt8(ascii: ")")), name + 2 < data.endIndex else { return false }
        return [UInt8(ascii: "Z"), UInt8(ascii: "X")].contains(data[name + 2])
    }
}
