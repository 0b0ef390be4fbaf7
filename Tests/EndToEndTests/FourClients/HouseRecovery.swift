import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import SimulatedReceivers

/// What a daemon was at when it was killed, as its clients had seen it: what the next one has to go on with.
struct HouseRecovery {
    /// What a kill may cost: what is written half a second after a change, and the time that a busy machine takes.
    static let windowNanoseconds: Int64 = 1_000_000_000
    /// Seconds.
    static let positionTolerance = 1.0

    let killedAt: Int64
    /// Under way when it was killed; nobody knows whether it was done.
    let inFlight: HouseScript.Line?
    /// Each session's states that may be found, the last one last.
    private let candidates: [SessionID: [SessionSnapshot]]
    /// Sessions that were there throughout.
    private let lasting: Set<SessionID>
    private let clock = SystemHostClock()

    init(killedAt: Int64, inFlight: HouseScript.Line?, moments: [HouseWatcher.Moment]) {
        self.killedAt = killedAt
        self.inFlight = inFlight
        let begun = killedAt - Self.windowNanoseconds
        var candidates: [SessionID: [SessionSnapshot]] = [:]
        for moment in moments {
            if moment.instant < begun { candidates[moment.session.id] = [] }
            candidates[moment.session.id, default: []].append(moment.session)
        }
        self.candidates = candidates.compactMapValues { $0.contains(where: \.isGoingOn) ? $0 : nil }
        let before = Dictionary(
            moments.filter { $0.instant < begun }.map { ($0.session.id, $0.session.isGoingOn) },
            uniquingKeysWith: { $1 })
        lasting = Set(
            self.candidates.filter { before[$0.key] == true && $0.value.allSatisfy(\.isGoingOn) }.keys)
    }

    private func isTouched(_ session: SessionID) -> Bool {
        guard let inFlight else { return false }
        // Rooms that it plays in now may be of any session.
        if case .play = inFlight.act { return true }
        if case .announce = inFlight.act { return true }
        if case .transfer = inFlight.act { return true }
        return inFlight.session?.id == session
    }

    /// What the next daemon has otherwise than it should, in words. To be asked once all views agree.
    func losses(_ found: [SessionSnapshot]) -> [String] {
        var losses: [String] = []
        for id in lasting where !isTouched(id) && !found.contains(where: { $0.id == id }) && !mayBeOver(id) {
            losses.append("\(id) is gone: it played \(candidates[id]?.last.map(Self.words) ?? "")")
        }
        for session in found {
            guard let known = candidates[session.id], let last = known.last else {
                if inFlight == nil { losses.append("\(session.id) was never seen before: \(Self.words(session))") }
                continue
            }
            if isTouched(session.id) { continue }
            losses += self.losses(of: session, last: last, among: known)
        }
        return losses
    }

    /// Whether the last item of its queue may have come to its end since.
    private func mayBeOver(_ id: SessionID) -> Bool {
        guard let last = candidates[id]?.last, last.media == .playing, last.queue.repeatMode == .off,
            last.queue.current == last.queue.items.last?.id, let anchor = last.anchor
        else { return false }
        let elapsed = anchor.time.seconds + Double(max(0, clock.now() - anchor.instant)) / 1e9 * anchor.rate
        return elapsed > Double(MixedHouse.itemSeconds) - 1
    }

    private func losses(
        of session: SessionSnapshot, last: SessionSnapshot, among known: [SessionSnapshot]
    ) -> [String] {
        var losses: [String] = []
        func lost(_ what: String, _ now: Any, _ before: [Any]) {
            losses.append("\(session.id): \(what) is \(now), before the kill \(before)")
        }
        let rooms = Set(session.members.map(\.name))
        if !known.contains(where: { Set($0.members.map(\.name)) == rooms }) {
            lost("rooms are", rooms, known.map { $0.members.map(\.name) })
        }
        let order = session.queue.items.map(\.id)
        if !known.contains(where: { $0.queue.items.map(\.id) == order }) {
            lost("the order", order, known.map { $0.queue.items.map(\.id) })
        }
        if !known.contains(where: { $0.queue.repeatMode == session.queue.repeatMode }) {
            lost("the repeat mode", session.queue.repeatMode, known.map(\.queue.repeatMode))
        }
        if !known.contains(where: { $0.queue.original == session.queue.original }) {
            lost("the original order", session.queue.original as Any, known.map { $0.queue.original as Any })
        }
        if !known.contains(where: { ($0.media == .paused) == (session.media == .paused) }) {
            lost("the state", session.media, known.map(\.media))
        }
        let now = clock.now()
        guard let place = session.anchor?.position(at: now).seconds else { return losses + ["\(session.id): nowhere"] }
        // Where each state would be by now, unless an item has ended since.
        var places: [Double] = []
        for state in known {
            guard let anchor = state.anchor else { continue }
            let end = Double(MixedHouse.itemSeconds) - 1
            let elapsed = anchor.time.seconds + Double(max(0, now - anchor.instant)) / 1e9 * anchor.rate
            if elapsed > end { return losses }
            if anchor.item == session.queue.current { places.append(anchor.position(at: now).seconds) }
        }
        if places.isEmpty {
            lost("the item", session.queue.current as Any, known.map { $0.queue.current as Any })
        } else if !places.contains(where: { abs($0 - place) <= Self.positionTolerance }) {
            lost("the position", place, places)
        }
        return losses
    }

    static func words(_ session: SessionSnapshot) -> String {
        "\(session.id) is \(session.media) in \(session.members.map { "\($0.name) (\($0.media))" }), "
            + "\(session.queue.items.count) items, of which it plays "
            + (session.queue.items.firstIndex { $0.id == session.queue.current }.map { "number \($0 + 1)" } ?? "none")
    }

    /// What Cast devices did around a kill, at seconds from it.
    static func tale(of house: MixedHouse, since instant: Int64, killedAt: Int64) async -> [String] {
        var result: [String] = []
        for (name, screen) in house.screens.sorted(by: { $0.key < $1.key }) {
            let events = await screen.record().events.filter { $0.hostNanoseconds >= instant }
            let words = events.map { event in
                let seconds = (Double(event.hostNanoseconds - killedAt) / 1e7).rounded() / 100
                let details = ["reason", "failure", "url", "from", "to"].compactMap { name in
                    event[name].map { "\(name): \($0)" }
                }
                return "\(event.word)\(details.isEmpty ? "" : " (\(details.joined(separator: ", ")))") \(seconds)"
            }
            result.append("\(name): \(words.joined(separator: ", "))")
        }
        return result
    }

    /// What Cast devices were told to begin anew since the kill, where they played on by themselves.
    func repeatedLoads(_ found: [SessionSnapshot], _ house: MixedHouse) async -> [String] {
        var result: [String] = []
        let now = clock.now()
        // An item that is over by the time that speakers take to begin is begun anew, or the next one is.
        func isNearlyOver(_ state: SessionSnapshot) -> Bool {
            state.anchor.map { $0.position(at: now).seconds > Double(MixedHouse.itemSeconds) - 3 } ?? false
        }
        for (name, screen) in house.screens {
            guard let session = found.first(where: { $0.members.contains { $0.name == name } }),
                !isTouched(session.id), let known = candidates[session.id],
                known.allSatisfy({ state in
                    [.playing, .paused].contains(state.media) && state.queue.current == session.queue.current
                        && state.members.contains { $0.name == name && $0.connection == .connected }
                }), !known.contains(where: isNearlyOver)
            else { continue }
            let events = await screen.record().events.filter { $0.hostNanoseconds > killedAt }
            // What had played to its end is followed by the next.
            let own = events.prefix { $0.word != "finished" }
            for event in own where event.word == "load" || event.word == "launch" {
                let seconds = Double(event.hostNanoseconds - killedAt) / 1e9
                result.append("\(name) was told to \(event.word) anew, \(seconds) s after the kill")
            }
        }
        return result
    }

    /// What is wrong with the database that a killed daemon has left, looked at in a copy; nil where nothing is.
    static func damage(in state: URL) async throws -> String? {
        let copy = state.deletingLastPathComponent().appending(path: "copy-\(UUID().uuidString.prefix(8))")
        try FileManager.default.copyItem(at: state, to: copy)
        defer { try? FileManager.default.removeItem(at: copy) }
        let script =
            "import sqlite3, sys; print([row[0] for row in sqlite3.connect(sys.argv[1]).execute('PRAGMA integrity_check')])"
        let outcome = try await Command.run(
            "python3", ["-c", script, copy.appending(path: "router/router.sqlite").path])
        let text = outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        return text == "['ok']" ? nil : text + outcome.errors
    }
}
