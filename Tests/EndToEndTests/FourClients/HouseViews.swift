import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterAPI
import SimulatedReceivers

/// All that can be seen of the house at one moment, held beside each other.
struct HouseViews {
    let house: MixedHouse
    let watcher: HouseWatcher
    private let clock = SystemHostClock()

    /// Seconds that a place may be from what is told: of AirPlay, whose sound has the time of each frame; of a Cast
    /// device, which follows by its own reports; and of a program that was started to ask.
    static let airplayTolerance = 0.25
    static let castTolerance = 0.8
    static let askingTolerance = 0.3
    /// And that a Cast device may be behind other rooms: a load on a busy machine.
    static let driftLimit = 1.5
    /// Of a simulated speaker that nobody has told one.
    private static let volumeAtFirst = -20.0

    init(_ house: MixedHouse, _ watcher: HouseWatcher) {
        self.house = house
        self.watcher = watcher
    }

    /// What differs now, in words; empty where all agree.
    func differences() async -> [String] {
        let before: [SessionSnapshot]
        do { before = try await engine() } catch { return ["the engine cannot be asked: \(error)"] }
        if let busy = before.first(where: { ![.playing, .paused].contains($0.media) || $0.announcement != nil }) {
            return ["\(busy.id) is \(busy.media)\(busy.announcement == nil ? "" : ", announcing")"]
        }
        let framesBefore = await frames()
        let begun = clock.now()
        var found = await events(before)
        found += await http(before)
        found += await terminal(before)
        for session in before { found += await desktop(session) }
        found += await players(before)
        found += await receivers(before, since: begun, frames: framesBefore)
        guard let after = try? await engine() else { return ["the engine cannot be asked any more"] }
        let moved = zip(before, after).contains { Self.differences("", $0, $1).isEmpty == false }
        if before.count != after.count || moved { return ["the engine is not at rest"] + found }
        return found
    }

    private func engine() async throws -> [SessionSnapshot] {
        let (status, body) = try await house.owner.send(method: "GET", path: "/api/v1/sessions")
        guard status == 200 else { throw RouterError(.internal, "status \(status)") }
        return try Self.decoded(body)
    }

    private static func decoded(_ body: [UInt8]) throws -> [SessionSnapshot] {
        try JSONDecoder().decode([SessionSnapshot].self, from: Data(body)).filter(\.isGoingOn).sorted { $0.id < $1.id }
    }

    // MARK: Views of the model

    private func events(_ engine: [SessionSnapshot]) async -> [String] {
        Self.differences("events", engine, await watcher.active)
    }

    private func http(_ engine: [SessionSnapshot]) async -> [String] {
        do {
            let (status, body) = try await house.web.send(method: "GET", path: "/api/v1/sessions")
            guard status == 200 else { return ["HTTP answers \(status)"] }
            return Self.differences("HTTP", engine, try Self.decoded(body))
        } catch {
            return ["HTTP: \(error)"]
        }
    }

    private func terminal(_ engine: [SessionSnapshot]) async -> [String] {
        do {
            let status = try await house.router(["status", "-o", "json"])
            var found = Self.differences("router status", engine, try Self.decoded(Array(status.output.utf8)))
            for session in engine {
                let list = try await house.router(["queue", "list", "-r", session.id.rawValue, "-o", "json"])
                let queue = try JSONDecoder().decode(QueueSnapshot.self, from: Data(list.output.utf8))
                found += Self.differences("router queue", session.queue, queue)
            }
            return found
        } catch {
            return ["the command line: \(error)"]
        }
    }

    private static func differences(
        _ view: String, _ engine: [SessionSnapshot], _ other: [SessionSnapshot]
    ) -> [String] {
        guard engine.map(\.id) == other.map(\.id) else {
            return ["\(view) has the sessions \(other.map(\.id)), the engine \(engine.map(\.id))"]
        }
        return zip(engine, other).flatMap { differences(view, $0, $1) }
    }

    static func differences(_ view: String, _ engine: SessionSnapshot, _ other: SessionSnapshot) -> [String] {
        var found: [String] = []
        func same<Value: Equatable>(_ what: String, _ one: Value, _ two: Value) {
            if one != two { found.append("\(view), \(engine.id): \(what) is \(two), the engine's \(one)") }
        }
        same("connection", engine.connection, other.connection)
        same("media", engine.media, other.media)
        same("ownership", engine.ownership, other.ownership)
        same("rooms", engine.members.map(\.name), other.members.map(\.name))
        same("rooms' connections", engine.members.map(\.connection), other.members.map(\.connection))
        same("rooms' errors", engine.members.map(\.error), other.members.map(\.error))
        same("rooms' volumes", engine.members.map(\.volume), other.members.map(\.volume))
        same("rooms' trims", engine.members.map(\.trim), other.members.map(\.trim))
        same("volume", engine.volume, other.volume)
        same("announcement", engine.announcement, other.announcement)
        same("anchor's item", engine.anchor?.item, other.anchor?.item)
        same("anchor's rate", engine.anchor?.rate, other.anchor?.rate)
        let places = [engine, other].map { $0.anchor?.position(at: engine.now).seconds ?? -1 }
        if abs(places[0] - places[1]) > 0.001 { same("position", places[0], places[1]) }
        return found + differences("\(view), \(engine.id)", engine.queue, other.queue)
    }

    private static func differences(_ view: String, _ engine: QueueSnapshot, _ other: QueueSnapshot) -> [String] {
        guard engine != other else { return [] }
        var found: [String] = []
        func same<Value: Equatable>(_ what: String, _ one: Value, _ two: Value) {
            if one != two { found.append("\(view): the queue's \(what) is \(two), the engine's \(one)") }
        }
        same("version", engine.version, other.version)
        same("order", engine.items.map(\.id), other.items.map(\.id))
        same("current item", engine.current, other.current)
        same("repeat mode", engine.repeatMode, other.repeatMode)
        same("original order", engine.original, other.original)
        same("seed", engine.shuffleSeed, other.shuffleSeed)
        same("failure policy", engine.failurePolicy, other.failurePolicy)
        for (one, two) in zip(engine.items, other.items) where one != two {
            found.append("\(view): an item is \(two), the engine's \(one)")
        }
        return found
    }

    // MARK: The desktop

    private func players(_ engine: [SessionSnapshot]) async -> [String] {
        let list = try? await house.bus.playerctl(nil, "--list-all")
        let names = (list?.output ?? "").split(separator: "\n").map(String.init).sorted()
        let wanted = engine.map { MixedHouse.player($0.id) }.sorted()
        return names == wanted ? [] : ["playerctl lists \(names), the engine has \(wanted)"]
    }

    private static let fields = [
        "status", "mpris:trackid", "xesam:title", "position", "volume", "shuffle", "loop", "mpris:length",
    ]

    private func desktop(_ session: SessionSnapshot) async -> [String] {
        let format = Self.fields.map { "{{\($0)}}" }.joined(separator: "|")
        let from = clock.now()
        let answer = try? await house.bus.playerctl(
            MixedHouse.player(session.id), "metadata", "--format", format)
        let until = clock.now()
        guard let answer, answer.status == 0 else { return ["playerctl, \(session.id): \(answer?.errors ?? "")"] }
        let values = answer.output.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        guard values.count == Self.fields.count, let position = Double(values[3]), let volume = Double(values[4]) else {
            return ["playerctl, \(session.id): \(answer.output)"]
        }
        var found: [String] = []
        func same(_ what: String, _ engine: String, _ shown: String) {
            if engine != shown {
                found.append("playerctl, \(session.id): \(what) is \(shown), the engine's \(engine)")
            }
        }
        same("status", session.media == .playing ? "Playing" : "Paused", values[0])
        // An object's path is printed in quotes.
        same("track", "'/org/router/track/\(session.queue.current?.rawValue ?? "")'", values[1])
        same("title", session.currentItem?.title ?? "", values[2])
        same("shuffle", session.queue.original == nil ? "false" : "true", values[5])
        let loops: [RepeatMode: String] = [.off: "None", .one: "Track", .all: "Playlist"]
        same("loop", loops[session.queue.repeatMode] ?? "", values[6])
        let shown = session.volume ?? session.members.compactMap(\.volume).max { $0.level < $1.level }
        if let shown, abs((shown.muted ? 0 : shown.level.value) - volume) > 0.0001 {
            found.append("playerctl, \(session.id): volume is \(volume), the engine's \(shown)")
        }
        if let anchor = session.anchor {
            let range = (anchor.position(at: from).seconds, anchor.position(at: until).seconds)
            let place = position / 1e6
            if place < range.0 - Self.askingTolerance || place > range.1 + Self.askingTolerance {
                found.append("playerctl, \(session.id): position is \(place), the engine's \(range)")
            }
        }
        return found
    }

    // MARK: What the receivers themselves say

    private func frames() async -> [String: Int] {
        var result: [String: Int] = [:]
        for (name, speaker) in house.speakers { result[name] = await speaker.heard().frames }
        return result
    }

    private func receivers(
        _ engine: [SessionSnapshot], since begun: Int64, frames before: [String: Int]
    ) async -> [String] {
        var found: [String] = []
        for room in MixedHouse.rooms {
            let session = engine.first { $0.members.contains { $0.name == room } }
            let member = session?.members.first { $0.name == room }
            if let speaker = house.speakers[room] {
                found += await heard(by: speaker, session, member, since: begun, frames: before[room] ?? 0)
            } else if let screen = house.screens[room] {
                found += shown(by: await screen.record(), room, session, member, at: clock.now())
            }
        }
        return found
    }

    private func heard(
        by speaker: SimulatedSpeaker, _ session: SessionSnapshot?, _ member: SessionMember?, since begun: Int64,
        frames before: Int
    ) async -> [String] {
        let heard = await speaker.heard()
        guard let session, let member else {
            return heard.frames == before ? [] : ["\(speaker.name) is in no session, and hears something"]
        }
        var found: [String] = []
        // Readied and not begun: it is told with the stream, since devices forget what comes before that.
        let isTold = session.media != .paused || member.delivery?.packetsSent ?? 0 > 0
        if isTold, let volume = member.volume {
            let wanted = VolumeCurve.airplay.deviceValue(volume.level, muted: volume.muted)
            let last = heard.volumes.last ?? Self.volumeAtFirst
            if abs(last - wanted) > 0.01 {
                found.append("\(speaker.name) is at the volume \(last), the engine's is \(wanted) (\(volume))")
            }
        }
        guard session.media == .playing, let anchor = session.anchor else {
            return found + (heard.frames == before ? [] : ["\(speaker.name) is paused, and hears something"])
        }
        // The lead-in of a start is silence.
        let since = max(begun - 1_500_000_000, anchor.instant)
        guard let mark = heard.marks.last, mark.hostNanoseconds >= since, let tone = speaker.tone(at: mark.frame),
            let item = MixedHouse.item(ofTone: tone.frame)
        else { return found + ["\(speaker.name) is to play, and hears nothing"] }
        let instant = mark.hostNanoseconds + Int64(tone.ahead) * 1_000_000_000 / Int64(PositionTone.sampleRate)
        let wanted = anchor.position(at: instant).seconds
        if item.title != session.currentItem?.title || abs(item.seconds - wanted) > Self.airplayTolerance {
            found.append(
                "\(speaker.name) hears “\(item.title)” at \(item.seconds), the engine's is "
                    + "“\(session.currentItem?.title ?? "")” at \(wanted)")
        }
        if let title = heard.titles.last, title != session.currentItem?.title {
            found.append("\(speaker.name) shows “\(title ?? "")”, the engine “\(session.currentItem?.title ?? "")”")
        }
        return found
    }

    private func shown(
        by record: SimulatedCastRecord, _ room: String, _ session: SessionSnapshot?, _ member: SessionMember?,
        at now: Int64
    ) -> [String] {
        guard let session, let member else {
            return record.playerState == "PLAYING"
                ? ["\(room) is in no session, and plays “\(record.title ?? "")”"] : []
        }
        var found: [String] = []
        let state = session.media == .playing ? "PLAYING" : "PAUSED"
        if record.playerState != state {
            found.append("\(room) is \(record.playerState ?? "idle"), the engine \(state)")
        }
        if record.title != session.currentItem?.title {
            found.append("\(room) has “\(record.title ?? "")”, the engine “\(session.currentItem?.title ?? "")”")
        }
        // Beside others it may lag by what its load took, which the engine tells.
        let drift = Double(member.driftMilliseconds ?? 0) / 1000
        if let wanted = session.anchor.map({ $0.position(at: now).seconds + drift }),
            abs(wanted - record.position) > Self.castTolerance
        {
            found.append("\(room) is at \(record.position), the engine at \(wanted), of that its drift \(drift)")
        }
        if abs(drift) > Self.driftLimit { found.append("\(room) is \(drift) s off the others") }
        if let volume = member.volume, abs(volume.level.value - record.level) > 0.005 || volume.muted != record.muted {
            found.append("\(room) has the volume \(record.level) muted \(record.muted), the engine \(volume)")
        }
        return found
    }
}
