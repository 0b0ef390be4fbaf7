/// Who may ask what: the sessions of the process by their `Active-Remote`, and the answers. Pure.
struct DACPDesk {
    struct Session {
        var status = DACPStatus()
        /// Counts the changes of `status`; 1 is what a remote begins with, so that it is never a number of ours.
        var revision: UInt32 = 2
        /// Remotes that wait for the next change.
        var waiting: [Int] = []
    }

    enum Answer: Equatable {
        case now(RTSPResponse)
        /// Once the session's status has changed.
        case later
    }

    /// Remotes that may wait at one session; more are answered at once.
    static let waitingLimit = 8

    private(set) var sessions: [UInt32: Session] = [:]

    mutating func open(_ activeRemote: UInt32) { sessions[activeRemote] = Session() }

    /// Those who wait are answered with what was last known.
    mutating func close(_ activeRemote: UInt32) -> [(waiter: Int, answer: RTSPResponse)] {
        guard let session = sessions.removeValue(forKey: activeRemote) else { return [] }
        return session.waiting.map { ($0, Self.refused(.wrongRemote)) }
    }

    /// Takes a session's new state, and gives the answers to those who waited for it.
    mutating func report(_ status: DACPStatus, of activeRemote: UInt32) -> [(waiter: Int, answer: RTSPResponse)] {
        guard var session = sessions[activeRemote], session.status != status else { return [] }
        session.status = status
        session.revision &+= 1
        if session.revision < 2 { session.revision = 2 }
        let answer = Self.data(status.update(revision: session.revision))
        let answers = session.waiting.map { ($0, answer) }
        session.waiting = []
        sessions[activeRemote] = session
        return answers
    }

    mutating func forget(_ waiter: Int) {
        for key in sessions.keys { sessions[key]?.waiting.removeAll { $0 == waiter } }
    }

    /// - Parameter waiter: names the connection, should the answer have to wait.
    /// - Returns: the answer, and the command to be done with whose it is.
    mutating func take(
        _ request: RTSPRequest, waiter: Int
    ) -> (answer: Answer, command: (AirPlayRemoteCommand, session: UInt32)?) {
        do throws(DACPRefusal) {
            let request = try DACPRequest(request)
            guard let remote = request.activeRemote, let session = sessions[remote] else { throw .wrongRemote }
            switch request.content {
            case .command(let command):
                return (.now(RTSPResponse(version: .http11, status: 204, reason: "No Content")), (command, remote))
            case .properties(let names): return (.now(Self.data(try session.status.properties(names))), nil)
            case .speakers: return (.now(Self.data(session.status.speakers)), nil)
            case .status(let revision):
                guard UInt32(exactly: revision) == session.revision, session.waiting.count < Self.waitingLimit else {
                    return (.now(Self.data(session.status.update(revision: session.revision))), nil)
                }
                sessions[remote]?.waiting.append(waiter)
                return (.later, nil)
            }
        } catch {
            return (.now(Self.refused(error)), nil)
        }
    }

    private static func data(_ item: DMAPItem) -> RTSPResponse {
        RTSPResponse(
            version: .http11, headers: ["Content-Type": RAOPTrackMetadata.contentType], body: item.encoded())
    }

    private static func refused(_ refusal: DACPRefusal) -> RTSPResponse {
        RTSPResponse(version: .http11, status: refusal.rawValue, reason: refusal.reason)
    }
}
