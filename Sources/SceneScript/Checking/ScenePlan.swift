import RouteModel

/// What a scene would do, without doing it (`--dry-run`).
public struct ScenePlan: Codable, Sendable, Hashable {
    public struct Step: Codable, Sendable, Hashable {
        /// As the report of a run has it.
        public var id: String
        public var verb: String
        public var path: String
        public var line: Int
        /// In how many blocks it lies.
        public var depth: Int
        /// As resolved, or as the scene calls it where there was no router to ask.
        public var target: String?
        /// In words.
        public var command: String
        /// How long it takes, in seconds, where the scene says so.
        public var expected: Double?
        /// After how many seconds it fails.
        public var limit: Double?
        public var warnings: [String]
    }

    public var name: String
    public var path: String
    public var steps: [Step]
}

extension SceneStep {
    /// What it does, in words.
    var words: String {
        switch verb {
        case .play(let play):
            var words = play.savedQueue.map { "play the saved queue “\($0)”" } ?? "play \(Self.list(play.media))"
            if let volume = play.volume { words += " at \(volume.percent)%" }
            if play.start != .zero { words += " from \(SceneValues.text(play.start))" }
            if play.shuffle { words += ", shuffled" }
            return words
        case .queue(let change): return change.words
        case .pause: return "pause"
        case .resume: return "play on"
        case .stop: return "stop"
        case .seek(.to(let time)): return "seek to \(SceneValues.text(time))"
        case .seek(.by(let time)):
            return time < .zero
                ? "seek back by \(SceneValues.text(.zero - time))" : "seek on by \(SceneValues.text(time))"
        case .volume(.level(let level, let fade)):
            return fade.map { "fade to \(level.percent)% over \(SceneValues.text($0))" }
                ?? "set the volume to \(level.percent)%"
        case .volume(.change(let change)):
            return "turn \(change < 0 ? "down" : "up") by \(Int((abs(change) * 100).rounded()))%"
        case .volume(.mute(let muted)): return muted ? "mute" : "unmute"
        case .group(let join, let leave):
            return [
                join.isEmpty ? nil : "join \(join.joined(separator: ", "))",
                leave.isEmpty ? nil : "leave \(leave.joined(separator: ", "))",
            ].compactMap { $0 }.joined(separator: ", ")
        case .transfer(let kind, let to): return "\(kind.rawValue) to \(to.joined(separator: ", "))"
        case .announce(let announcement):
            let volume = announcement.volume.map { " at \($0.percent)%" } ?? ""
            return "announce \(announcement.media)\(volume)"
        case .snapshot(let name): return "keep how things are as “\(name)”"
        case .restore(let name): return "make things as they were in “\(name)”"
        case .waitFor: return "wait for a condition"
        case .delay(let time): return "wait \(SceneValues.text(time))"
        case .parallel(_, let any): return any ? "at the same time, until one is done" : "at the same time"
        case .repeat(let loop):
            let bounds = [loop.times.map { "\($0) times" }, loop.duration.map { "for \(SceneValues.text($0))" }]
            return "repeat \(bounds.compactMap { $0 }.joined(separator: ", "))"
        case .when: return "where a condition holds"
        case .runScene(let path, _): return "run the scene \(path)"
        case .log(let message, _): return "say “\(message)”"
        }
    }

    /// Seconds that it takes, where the scene itself says so.
    var expected: Double? {
        switch verb {
        case .delay(let time), .volume(.level(_, fade: let time?)): time.seconds
        case .pause, .resume, .stop, .seek, .volume, .queue, .snapshot, .log: 0
        default: nil
        }
    }

    private static func list(_ media: [String]) -> String {
        media.count > 3
            ? "\(media.prefix(2).joined(separator: ", ")) and \(media.count - 2) more" : media.joined(separator: ", ")
    }
}

extension SceneQueueChange {
    fileprivate var words: String {
        switch self {
        case .append(let media): "add \(media.count) at the end of the queue"
        case .next(let media): "play \(media.count) next"
        case .replaceUpcoming(let media): "replace what is to come by \(media.count)"
        case .clearUpcoming: "remove what is to come"
        case .clear: "empty the queue"
        case .shuffle(let on): on ? "shuffle" : "unshuffle"
        case .repeatMode(let mode): "repeat \(mode.rawValue)"
        case .save(let name): "save the queue as “\(name)”"
        }
    }
}
