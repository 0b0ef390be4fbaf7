import Foundation
import PeerSupport
import RouteModel
import RouterAPI
import RouterTestKit

extension MixedHouse {
    /// Has a client do something by its own means; returns once that client says that it is done, or refused.
    func perform(_ line: HouseScript.Line) async -> HouseAnswer {
        do {
            switch line.client {
            case .terminal: return try await byTerminal(line.act, line.session)
            case .web: return try await byWeb(line.act, line.session)
            case .desktop: return try await byDesktop(line.act, line.session)
            case .scene: return try await byScene(line.act, line.session)
            }
        } catch let error as RouterError {
            return .refused(error.code.rawValue, ([error.description] + error.causes).joined(separator: "; "))
        } catch {
            return .refused("\(type(of: error))", "\(error)")
        }
    }

    /// Act that a client has no words for: a fault of the script.
    private struct NoWords: Error {}

    // MARK: The command line

    private func byTerminal(_ act: HouseAct, _ session: SessionSnapshot?) async throws -> HouseAnswer {
        let target = session.map { ["-r", $0.id.rawValue] } ?? []
        let words: [String]
        switch act {
        case .play(let items, let rooms, let shuffled, let mode):
            words =
                ["play"] + items.map { album[$0] } + rooms.flatMap { ["-r", $0] }
                + (shuffled ? ["--shuffle"] : []) + ["--repeat", mode.rawValue]
        // A room and a session named together would be all of the session's rooms.
        case .command(.setVolume(let level, let room?)): words = ["volume", "\(level.percent)", "-r", room]
        case .command(let command): words = try self.words(of: command) + target
        case .add(let items, let next): words = ["queue", next ? "next" : "add"] + items.map { album[$0] } + target
        case .move(let from, let before):
            words =
                ["queue", "move", "\(from + 1)"] + (before.map { ["--before", "\($0 + 1)"] } ?? ["--last"]) + target
        case .remove(let place): words = ["queue", "remove", "\(place + 1)"] + target
        case .undo: words = ["queue", "undo"] + target
        case .transfer(let kind, let rooms):
            words = ["transfer"] + rooms + (kind == .move ? [] : ["--\(kind.rawValue)"]) + target
        case .announce(let rooms): words = ["announce", gong] + rooms.flatMap { ["-r", $0] }
        case .open, .interlude: throw NoWords()
        }
        let outcome = try await router(words + ["-o", "json"])
        guard outcome.status != 0 else { return .done }
        let last = outcome.errors.split(separator: "\n").last.map(String.init) ?? ""
        if let error = try? JSONDecoder().decode(RouterError.self, from: Data(last.utf8)) {
            return .refused(error.code.rawValue, error.description)
        }
        return .refused("status \(outcome.status)", outcome.errors + outcome.output)
    }

    private func words(of command: RemoteCommand) throws -> [String] {
        switch command {
        case .pause: return ["pause"]
        case .toggle: return ["toggle"]
        case .stop: return ["stop"]
        case .next: return ["next"]
        case .previous: return ["prev"]
        case .seek(let time): return ["seek", "\(time.seconds)"]
        case .seekBy(let time): return ["seek", (time.seconds < 0 ? "" : "+") + "\(time.seconds)s"]
        case .setVolume(let level, nil): return ["volume", "\(level.percent)"]
        case .mute(let muted, nil): return ["volume", muted ? "mute" : "unmute"]
        case .shuffle(let on): return ["queue", "shuffle", on ? "on" : "off"]
        case .repeatMode(let mode): return ["queue", "repeat", mode.rawValue]
        case .jump(let item): return ["queue", "jump", item.rawValue]
        default: throw NoWords()
        }
    }

    // MARK: HTTP

    private func byWeb(_ act: HouseAct, _ session: SessionSnapshot?) async throws -> HouseAnswer {
        let id = session?.id
        func edited(_ edit: QueueEdit, version: Int? = nil) async throws -> HouseAnswer {
            _ = try await web.edit(edit, session: id, ifVersion: version, workingDirectory: "/")
            return .done
        }
        let items = session?.queue.items.map(\.id) ?? []
        let version = session?.queue.version
        switch act {
        case .play(let items, let rooms, let shuffled, let mode):
            _ = try await web.play(
                PlayRequest(what: items.map { album[$0] }, rooms: rooms, repeatMode: mode, shuffle: shuffled))
        case .command(let command):
            return HouseAnswer(try await web.perform(command, session: id, origin: .web).outcome)
        case .add(let items, let next):
            let what = items.map { album[$0] }
            return try await edited(next ? .playNext(what) : .append(what))
        case .move(let from, let before):
            return try await edited(.move([items[from]], before: before.map { items[$0] }), version: version)
        case .remove(let place): return try await edited(.remove([items[place]]), version: version)
        case .undo: return try await edited(.undo)
        case .transfer(let kind, let rooms):
            _ = try await web.transfer(TransferRequest(kind, session: id, rooms: rooms))
        case .announce(let rooms): _ = try await web.announce(AnnounceRequest(what: gong, rooms: rooms))
        case .open, .interlude: throw NoWords()
        }
        return .done
    }

    // MARK: The desktop

    /// What `playerctl` calls a session.
    static func player(_ session: SessionID) -> String { "router.\(session.rawValue)" }

    private func byDesktop(_ act: HouseAct, _ session: SessionSnapshot?) async throws -> HouseAnswer {
        guard let session else { throw NoWords() }
        let words: [String]
        switch act {
        case .command(.play): words = ["play"]
        case .command(.pause): words = ["pause"]
        case .command(.toggle): words = ["play-pause"]
        case .command(.stop): words = ["stop"]
        case .command(.next): words = ["next"]
        case .command(.previous): words = ["previous"]
        case .command(.seek(let time)): words = ["position", "\(time.seconds)"]
        case .command(.seekBy(let time)):
            words = ["position", "\(abs(time.seconds))\(time.seconds < 0 ? "-" : "+")"]
        case .command(.setVolume(let level, nil)): words = ["volume", "\(level.value)"]
        case .command(.shuffle(let on)): words = ["shuffle", on ? "On" : "Off"]
        case .command(.repeatMode(let mode)):
            words = ["loop", mode == .off ? "None" : mode == .one ? "Track" : "Playlist"]
        case .open(let item): words = ["open", "file://\(album[item])"]
        default: throw NoWords()
        }
        let outcome = try await bus.run("playerctl", ["--player", Self.player(session.id)] + words)
        guard outcome.status != 0 else { return .done }
        // It is over, or was a moment after playerctl had found it.
        if outcome.errors.contains("No players found") || outcome.errors.contains("DBus.Error.ServiceUnknown") {
            return .refused("routeNotFound", outcome.errors)
        }
        // The player says that it cannot do this now: there is nothing to go to.
        if outcome.errors.contains("No player could handle") { return .refused("unavailable", outcome.errors) }
        let code = outcome.errors.firstMatch(of: #/org\.router\.Error\.([A-Za-z]+)/#).map { String($0.1) }
        return .refused(code ?? "status \(outcome.status)", outcome.errors)
    }

    // MARK: Scenes

    private func byScene(_ act: HouseAct, _ session: SessionSnapshot?) async throws -> HouseAnswer {
        var rooms = session?.members.map(\.name) ?? []
        var others: [String] = []
        let steps: [String]
        switch act {
        case .play(let items, let wanted, let shuffled, let mode):
            rooms = wanted
            steps = [
                "play: {media: [\(items.map { album[$0] }.joined(separator: ", "))], shuffle: \(shuffled), "
                    + "repeat: \(mode.rawValue)}"
            ]
        case .command(.play): steps = ["resume:"]
        case .command(.pause): steps = ["pause:"]
        case .command(.stop): steps = ["stop:"]
        case .command(.seek(let time)): steps = ["seek: \(Int(time.seconds))s"]
        case .command(.seekBy(let time)):
            steps = ["seek: \"\(time.seconds < 0 ? "-" : "+")\(Int(abs(time.seconds)))s\""]
        case .command(.setVolume(let level, let room)):
            if let room { rooms = [room] }
            steps = ["volume: \(level.percent)%"]
        case .command(.mute(let muted, nil)): steps = ["volume: \(muted ? "mute" : "unmute")"]
        case .command(.shuffle(let on)): steps = ["queue: {shuffle: \(on)}"]
        case .command(.repeatMode(let mode)): steps = ["queue: {repeat: \(mode.rawValue)}"]
        case .add(let items, let next):
            steps = ["queue: {\(next ? "next" : "append"): [\(items.map { album[$0] }.joined(separator: ", "))]}"]
        case .transfer(let kind, let to):
            others = to
            steps = ["transfer: {to: there, kind: \(kind.rawValue)}"]
        case .announce(let wanted):
            rooms = wanted
            steps = ["announce: \(gong)"]
        case .interlude(let level): steps = ["snapshot: before", "volume: \(level.percent)%", "restore: before"]
        case .command, .open, .move, .remove, .undo: throw NoWords()
        }
        let text = """
            version: 1
            name: A step of the test
            targets:
              here: [\(rooms.joined(separator: ", "))]
            \(others.isEmpty ? "" : "  there: [\(others.joined(separator: ", "))]")
            steps:

            """ + steps.map { "  - \($0)\n    target: here\n" }.joined()
        var run = try await owner.startScene(SceneRequest(text: text, path: "step.yaml"))
        var lost: (any Error)?
        let ended = await eventually(within: .seconds(60)) {
            do { run = try await owner.sceneRun(run.id) } catch { lost = error }
            return run.state != .running || lost != nil
        }
        // A daemon that is killed meanwhile has no more to tell.
        if let lost { throw lost }
        guard ended else { return .refused("scene", "the scene never ended: \(run.steps)") }
        if run.state == .done { return .done }
        let failed = run.steps.first { $0.error != nil || ($0.result != .done && $0.result != .doneUnverified) }
        return .refused(
            failed?.error?.code.rawValue ?? failed.map { "\($0.result)" } ?? "\(run.state)",
            "\(failed?.verb ?? "scene"): \(failed?.error.map { "\($0) \($0.causes)" } ?? failed?.detail ?? "")")
    }
}

extension HouseAnswer {
    init(_ outcome: CommandOutcome) {
        switch outcome {
        case .failed(let error): self = .refused(error.code.rawValue, error.description)
        case .succeeded, .accepted, .unverified: self = .done
        default: self = .refused("\(outcome)", "the outcome")
        }
    }
}
