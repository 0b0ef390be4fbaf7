import Foundation
import RouteBackend
import RouteModel
import RouterAPI

/// A reader of the daemon's events over HTTP: its view of the house is what they add up to, and nothing else.
actor HouseWatcher {
    /// A session as it was from an instant on.
    struct Moment: Sendable {
        /// Host monotonic nanoseconds.
        var instant: Int64
        var session: SessionSnapshot
    }

    private(set) var sessions: [SessionID: SessionSnapshot] = [:]
    /// All that was seen, oldest first.
    private(set) var moments: [Moment] = []
    /// What must never happen, as it was told.
    private(set) var faults: [String] = []
    private(set) var notices: [Notice] = []
    private let clock = SystemHostClock()
    private static let keptMoments = 4000

    var active: [SessionSnapshot] { sessions.values.filter(\.isGoingOn).sorted { $0.id < $1.id } }

    /// Follows until cancelled.
    func follow(_ client: RouterClient) async {
        while !Task.isCancelled {
            for await event in await client.events() { take(event.body) }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private func take(_ body: RouterEvent.Body) {
        switch body {
        case .snapshot(_, let all):
            // A daemon that was killed says no goodbye.
            for old in sessions.values where old.isGoingOn && !all.contains(where: { $0.id == old.id }) {
                var gone = old
                gone.connection = .ended
                keep(gone)
            }
            sessions = Dictionary(all.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
            for session in all { keep(session) }
        case .session(let session):
            sessions[session.id] = session
            keep(session)
        case .command(let report):
            if case .failed(let error) = report.outcome, Self.isOurFault(error) {
                faults.append("\(report.command) by \(report.origin): \(error)")
            }
        case .notice(let notice): notices.append(notice)
        default: break
        }
    }

    private func keep(_ session: SessionSnapshot) {
        moments.append(Moment(instant: clock.now(), session: session))
        if moments.count > Self.keptMoments { moments.removeFirst(Self.keptMoments / 2) }
        for error in session.members.compactMap(\.error) + [session.error].compactMap({ $0 })
        where Self.isOurFault(error) {
            faults.append("\(session.id): \(error)")
        }
    }

    private static func isOurFault(_ error: RouterError) -> Bool {
        [.internal, .storage, .protocolViolation, .dependencyMissing].contains(error.code)
    }
}

extension SessionSnapshot {
    var isGoingOn: Bool { connection != .ended && connection != .failed }
}
