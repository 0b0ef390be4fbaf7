import Dispatch
import RouteBackend
import RouteModel

/// Announces services by the Avahi daemon, and announces them again when the daemon was restarted.
///
/// A service with an `address` of its own gets a host record of its own (`<host name>-10-77-0-3.local`, without a reverse
/// record), so that several devices can live on one machine; services of one address share it. A loopback address is
/// announced on the loopback interface alone: to others it would name themselves. A name that is taken is changed as
/// Avahi does (`Kitchen #2`); `AvahiPublication.name` tells.
public final class AvahiPublisher: ServicePublishing {
    private let session: PublishSession

    public init() { session = PublishSession() }

    deinit {
        let session = session
        DispatchQueue.global().async { session.stop() }
    }

    /// Returns when the name is ours on the network.
    ///
    /// Throws `dependencyMissing` when there is no daemon, `configuration` for a name, type, port or address that can't be
    /// announced, `timeout` when the daemon did not establish it within 15 s, `cancelled`.
    public func publish(_ service: PublishedService) async throws -> any PublishedHandle {
        try await publication(of: service)
    }

    /// The same as `publish`, with the handle's own type.
    public func publication(of service: PublishedService) async throws -> AvahiPublication {
        let id = try session.add(service)
        let name = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { session.wait(for: id, $0) }
        } onCancel: {
            // Not here: the task's own lock is held, and who resumes it with the connection's waits for that.
            DispatchQueue.global().async { [session] in
                session.fail(id, RouterError(.cancelled, "the announcement of \(service.name) was cancelled"))
            }
        }
        return AvahiPublication(publisher: self, session: session, id: id, name: name)
    }

    /// Withdraws everything and lets the daemon go. To be called once, at the end.
    public func close() { session.stop() }
}

/// A service that is announced until `withdraw`.
public final class AvahiPublication: PublishedHandle {
    /// Kept, since without its publisher nothing is announced.
    private let publisher: AvahiPublisher
    private let session: PublishSession
    private let id: Int
    /// The name by which it was first established: the one asked for, unless that was taken.
    public let name: String

    init(publisher: AvahiPublisher, session: PublishSession, id: Int, name: String) {
        self.publisher = publisher
        self.session = session
        self.id = id
        self.name = name
    }

    /// Says goodbye on the network.
    public func withdraw() async { session.remove(id) }

    /// Changes the TXT record. Throws `unavailable` when the service is not announced now.
    public func update(txt: [String: String]) throws { try session.update(id, txt: txt) }
}
