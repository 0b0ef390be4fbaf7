import RouteModel

/// A scene that has been read: every value of its type, every variable in its place, every default filled in.
public struct Scene: Sendable, Hashable {
    /// What a scene does while another one holds one of its rooms.
    public enum WhenBusy: String, Sendable, Hashable, CaseIterable { case queue, refuse }

    public var path: String
    public var name: String
    public var summary: String?
    /// A person's command on its targets does not end what it does there.
    public var exclusive: Bool
    public var whenBusy: WhenBusy
    public var targets: [SceneTarget]
    public var variables: [SceneVariable]
    public var steps: [SceneStep]
    /// Done at the end, however that came.
    public var finally: [SceneStep]

    func target(_ name: String) -> SceneTarget? { targets.first { $0.name == name } }
}

/// A name of the scene's own for rooms.
public struct SceneTarget: Sendable, Hashable {
    public var name: String
    /// Rooms, devices, aliases, ids or unique prefixes, `@all`, `@active` or `@group:NAME`.
    public var rooms: [String]
    /// Steps on it are skipped while it is not there.
    public var optional: Bool
    /// Rooms in its place while it is not there.
    public var fallback: [String]
    public var span: SceneSpan
}

public struct SceneVariable: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable { case text, number, level, duration, boolean }

    public var name: String
    public var kind: Kind
    /// As given to the run, or its default.
    public var value: String
    public var span: SceneSpan
}

public struct SceneStep: Sendable, Hashable {
    /// Its own id, or its place: `steps[2].parallel[0]`.
    public var id: String
    public var verb: SceneVerb
    /// Of the verb's key.
    public var span: SceneSpan
    /// Names of `Scene.targets`.
    public var targets: [String]
    /// Nil: as long as it takes.
    public var timeout: MediaTime?
    public var onError: SceneErrorPolicy
    public var note: String?
}

/// What is done when a step fails.
public indirect enum SceneErrorPolicy: Sendable, Hashable {
    case stop
    case `continue`
    /// Again, so many times, after a pause that doubles each time; then as `then` says.
    case retry(times: Int, backoff: MediaTime, then: SceneErrorPolicy)
    case fallback([SceneStep])

    /// The same, but that nothing stops the steps that follow.
    var goingOn: SceneErrorPolicy {
        switch self {
        case .stop, .continue: return .continue
        case .retry(let times, let backoff, let then): return .retry(times: times, backoff: backoff, then: then.goingOn)
        case .fallback(let steps):
            return .fallback(
                steps.map { step in
                    var step = step
                    step.onError = step.onError.goingOn
                    return step
                })
        }
    }
}

public indirect enum SceneVerb: Sendable, Hashable {
    case play(ScenePlay)
    case queue(SceneQueueChange)
    case pause
    case resume
    case stop
    case seek(SceneSeek)
    case volume(SceneVolume)
    case group(join: [String], leave: [String])
    case transfer(TransferRequest.Kind, to: [String])
    case announce(SceneAnnouncement)
    case snapshot(String)
    case restore(String)
    case waitFor(SceneCondition)
    case delay(MediaTime)
    case parallel([SceneStep], any: Bool)
    case `repeat`(SceneRepeat)
    case when(SceneCondition, then: [SceneStep], otherwise: [SceneStep])
    case runScene(path: String, values: [String: String])
    case log(String, Notice.Severity)

    /// Its key in a scene.
    public var name: String {
        switch self {
        case .play: "play"
        case .queue: "queue"
        case .pause: "pause"
        case .resume: "resume"
        case .stop: "stop"
        case .seek: "seek"
        case .volume: "volume"
        case .group: "group"
        case .transfer: "transfer"
        case .announce: "announce"
        case .snapshot: "snapshot"
        case .restore: "restore"
        case .waitFor: "wait_for"
        case .delay: "delay"
        case .parallel: "parallel"
        case .repeat: "repeat"
        case .when: "when"
        case .runScene: "run_scene"
        case .log: "log"
        }
    }

    /// Steps inside it, by what they are called in a place.
    var blocks: [(name: String, steps: [SceneStep])] {
        switch self {
        case .parallel(let steps, _): [("parallel", steps)]
        case .repeat(let loop): [("repeat", loop.steps)]
        case .when(_, let then, let otherwise): [("then", then), ("else", otherwise)]
        default: []
        }
    }

    var condition: SceneCondition? {
        switch self {
        case .waitFor(let condition), .when(let condition, _, _): condition
        case .repeat(let loop): loop.until
        default: nil
        }
    }

    /// Names of targets that it speaks of beside the step's own.
    var otherTargets: [String] {
        switch self {
        case .group(let join, let leave): join + leave
        case .transfer(_, let to): to
        default: condition.map { $0.targets.sorted() } ?? []
        }
    }
}

public struct ScenePlay: Sendable, Hashable {
    public var media: [String] = []
    public var savedQueue: String?
    public var volume: VolumePosition?
    public var start: MediaTime = .zero
    /// Which of what is asked for plays first, from 1; what is before it can be gone back to.
    public var item = 1
    public var via: ViaPreference = .auto
    public var shuffle = false
    public var repeatMode: RepeatMode = .off
    public var context: Bool?
}

public enum SceneQueueChange: Sendable, Hashable {
    case append([String])
    case next([String])
    case replaceUpcoming([String])
    case clearUpcoming
    case clear
    case shuffle(Bool)
    case repeatMode(RepeatMode)
    case save(String)
}

public enum SceneSeek: Sendable, Hashable {
    case to(MediaTime)
    case by(MediaTime)
}

public enum SceneVolume: Sendable, Hashable {
    case level(VolumePosition, fade: MediaTime?)
    /// A part of one, up or down.
    case change(Double)
    case mute(Bool)
}

public struct SceneAnnouncement: Sendable, Hashable {
    public var media: String
    public var volume: VolumePosition?
    public var priority: AnnounceRequest.Priority = .high
    public var deadline = MediaTime(seconds: 60)
}

public struct SceneRepeat: Sendable, Hashable {
    public var times: Int?
    public var until: SceneCondition?
    public var duration: MediaTime?
    public var steps: [SceneStep]
}
