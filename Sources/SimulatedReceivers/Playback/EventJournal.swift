import Foundation
import RouteBackend

/// What happened at a receiver, one JSON object for each line, written before `append` returns.
///
/// Every line has `event`, and `host_ns`: the host's monotonic clock, which all receivers of a host share, so that the
/// journals of several rooms can be laid side by side.
public final class EventJournal: Sendable {
    private let descriptor: Int32
    private let clock: any HostClock

    /// - Parameter url: nil keeps no journal.
    /// - Throws: `SimulatedReceiverError.cannotWrite`.
    public init(url: URL?, clock: any HostClock = SystemHostClock()) throws {
        self.clock = clock
        guard let url else {
            descriptor = -1
            return
        }
        // O_APPEND and one write for each line: lines of concurrent writers never mix.
        descriptor = open(url.path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SimulatedReceiverError.cannotWrite(url.path, errno) }
    }

    deinit { if descriptor >= 0 { _ = close(descriptor) } }

    /// Writes one line. `event` is a word; fields named `event` or `host_ns` are overwritten.
    public func append(_ event: String, _ fields: [String: JSONValue] = [:]) {
        guard descriptor >= 0 else { return }
        var fields = fields
        fields["event"] = .string(event)
        fields["host_ns"] = .integer(Int(clock.now()))
        let line = Array((JSONValue.object(fields).text + "\n").utf8)
        var done = 0
        while done < line.count {
            let count = line.withUnsafeBytes { write(descriptor, $0.baseAddress! + done, line.count - done) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            done += count
        }
    }
}
