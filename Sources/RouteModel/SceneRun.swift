/// Runs scenes: the daemon does so itself, and a lone command inside its own process. Every function throws
/// `RouterError` and no other error.
public protocol SceneControlling: Sendable {
    /// Checks a scene and begins to run it; returns once it is under way. Throws `sceneInvalid`, its causes being the
    /// diagnostics.
    func startScene(_ request: SceneRequest) async throws -> SceneRun
    /// The state of a run, of those under way and the last fifty that have ended.
    func sceneRun(_ id: String) async throws -> SceneRun
    func sceneRuns() async throws -> [SceneRun]
    /// Ends a run: what its scene says under `finally` is done, within some seconds.
    func cancelScene(_ id: String) async throws
    /// Each new state of every run.
    func sceneUpdates() async -> AsyncStream<SceneRun>
}

/// A scene to run.
public struct SceneRequest: Codable, Sendable, Hashable {
    /// The YAML document, at most 256 KiB.
    public var text: String
    /// What the document is called in diagnostics.
    public var path: String
    /// Values of its variables, in place of those it gives (`--set`).
    public var values: [String: String]
    /// Relative paths of media and of other scenes are taken from here.
    public var workingDirectory: String

    public init(text: String, path: String, values: [String: String] = [:], workingDirectory: String = "/") {
        self.text = text
        self.path = path
        self.values = values
        self.workingDirectory = workingDirectory
    }
}

/// One run of one scene, as it stands.
public struct SceneRun: Codable, Sendable, Hashable, Identifiable {
    public enum State: String, Codable, Sendable, Hashable, CaseIterable {
        case running, done
        /// It went on to its end, and some of its steps failed.
        case partial
        case failed, timedOut, cancelled
    }

    public var id: String
    public var name: String
    public var path: String
    public var state: State
    /// In the order that they began in, those of `finally` last.
    public var steps: [SceneStepReport]
    /// Seconds since 1970.
    public var started: Double
    public var ended: Double?
    /// What asked for it, where that was not a person: a schedule's name.
    public var startedBy: String?
    /// The scenes that hold a room which this one wants, by name: their end is waited for. Nil once it runs.
    public var waitsFor: [String]?

    public init(
        id: String, name: String, path: String, state: State = .running, steps: [SceneStepReport] = [],
        started: Double, ended: Double? = nil, startedBy: String? = nil
    ) {
        self.id = id
        self.name = name
        self.path = path
        self.state = state
        self.steps = steps
        self.started = started
        self.ended = ended
        self.startedBy = startedBy
    }

    /// The exit status of a command that followed it (`interfaces.md` 2.3).
    public var exitStatus: Int32 {
        switch state {
        case .running, .done: 0
        case .partial: 8
        case .failed: 1
        case .timedOut: 124
        case .cancelled: 130
        }
    }
}

/// What became of one step.
public struct SceneStepReport: Codable, Sendable, Hashable {
    public enum Result: String, Codable, Sendable, Hashable, CaseIterable {
        case running, done, doneUnverified, skipped, failed, timedOut, cancelled, superseded
    }

    /// The step's own id, or its place: `steps[2].parallel[0]`.
    public var id: String
    public var verb: String
    public var line: Int
    public var column: Int
    /// As resolved.
    public var target: String?
    public var result: Result
    /// Seconds; nil while it runs.
    public var duration: Double?
    /// Why it was skipped or failed, and what else there is to say.
    public var detail: String?
    public var error: RouterError?

    public init(
        id: String, verb: String, line: Int, column: Int, target: String? = nil, result: Result = .running,
        duration: Double? = nil, detail: String? = nil, error: RouterError? = nil
    ) {
        self.id = id
        self.verb = verb
        self.line = line
        self.column = column
        self.target = target
        self.result = result
        self.duration = duration
        self.detail = detail
        self.error = error
    }
}

/// When a scene is run without a person.
public struct SceneSchedule: Codable, Sendable, Hashable, Identifiable {
    public enum Trigger: Codable, Sendable, Hashable {
        /// At a time of the local clock, minutes after midnight, on these days (1 is Monday, 7 Sunday; empty: every day).
        case time(minutes: Int, days: [Int])
        /// When a device or room is found that was not there.
        case appears(room: String)
        /// When an item has ended in a room.
        case itemEnds(room: String)
    }

    /// 1 to 64 characters.
    public var id: String
    public var trigger: Trigger
    public var scene: SceneRequest
    public var enabled: Bool

    public init(id: String, trigger: Trigger, scene: SceneRequest, enabled: Bool = true) {
        self.id = id
        self.trigger = trigger
        self.scene = scene
        self.enabled = enabled
    }
}

/// Keeps schedules and runs their scenes. Every function throws `RouterError` and no other error.
public protocol SceneScheduling: Sendable {
    func schedules() async throws -> [SceneSchedule]
    /// Takes the place of one with the same id.
    func saveSchedule(_ schedule: SceneSchedule) async throws
    func removeSchedule(_ id: String) async throws
}
