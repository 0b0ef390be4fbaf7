import RouteModel

/// What a value of a scene may be.
indirect enum SceneKind: Sendable {
    case text, name, boolean, duration, offset, level, change, condition, nothing, steps
    case number(ClosedRange<Int>)
    case choice([String])
    /// The name of a target of the scene.
    case target
    /// A file or a URL.
    case media
    case shape(SceneShape)
    case list(SceneKind)
    case map(SceneKind)
    case either([SceneKind])
    /// One, or a list of them.
    static func some(_ kind: SceneKind) -> SceneKind { .either([kind, .list(kind)]) }
}

/// One key of a map.
struct SceneField: Sendable {
    var name: String
    var kind: SceneKind
    var required: Bool
    var summary: String

    init(_ name: String, _ kind: SceneKind, required: Bool = false, _ summary: String) {
        self.name = name
        self.kind = kind
        self.required = required
        self.summary = summary
    }
}

/// Every map of the format: the parser refuses keys that are not named here, and the JSON schema is made of it.
enum SceneShape: String, CaseIterable, Sendable {
    case scene, target, variable, defaults, step, play, queue, volume, group, transfer, announce, parallel, loop, when
    case call, log, policy, retry

    /// With its article, for people.
    var title: String {
        switch self {
        case .scene: "a scene"
        case .target: "a target"
        case .variable: "a variable"
        case .defaults: "“defaults”"
        case .step: "a step"
        case .policy: "“on_error”"
        case .retry: "“retry”"
        case .loop: "“repeat”"
        case .call: "“run_scene”"
        default: "“\(rawValue)”"
        }
    }

    var keys: [String] { fields.map(\.name) }

    var fields: [SceneField] {
        switch self {
        case .scene: Self.sceneFields
        case .target:
            [
                SceneField(
                    "rooms", .some(.text), required: true, "Rooms, devices, aliases, @all, @active, @group:NAME."),
                SceneField("optional", .boolean, "Steps on it are skipped while it is not there."),
                SceneField("fallback", .some(.text), "Rooms in its place while it is not there."),
            ]
        case .variable:
            [
                SceneField("type", .choice(SceneVariable.Kind.allCases.map(\.rawValue)), "Where it may stand."),
                SceneField("default", .text, required: true, "Its value where none is given with --set."),
                SceneField("description", .text, "For people."),
            ]
        case .defaults:
            [
                SceneField("timeout", .duration, "Of every step that asks a device for something."),
                SceneField("on_error", Self.policyKind, "What is done when a step fails."),
            ]
        case .step: Self.verbs + Self.common
        case .policy:
            [
                SceneField("retry", .shape(.retry), "Tries the step again."),
                SceneField("fallback", .steps, "Steps in its place."),
            ]
        case .retry:
            [
                SceneField("times", .number(1...10), required: true, "How often it is tried again."),
                SceneField("backoff", .duration, "The pause before that; it doubles each time. 1s."),
                SceneField("then", .choice(["stop", "continue"]), "What is done when it still fails."),
            ]
        default: verbFields
        }
    }

    private static let sceneFields = [
        SceneField("version", .choice(["1"]), required: true, "Of the format."),
        SceneField("name", .text, required: true, "For people, 1 to 64 characters."),
        SceneField("description", .text, "For people."),
        SceneField("exclusive", .boolean, "A person's command does not end what the scene does to a target."),
        SceneField(
            "when_busy", .choice(Scene.WhenBusy.allCases.map(\.rawValue)), "While another scene holds one of its rooms."
        ),
        SceneField(
            "targets", .map(.either([.text, .list(.text), .shape(.target)])), "The scene's own names for rooms."),
        SceneField(
            "vars", .map(.either([.text, .shape(.variable)])), "Values that --set gives; “$name” stands for one."),
        SceneField("defaults", .shape(.defaults), "What steps do not say themselves."),
        SceneField("steps", .steps, required: true, "What is done, one after the other."),
        SceneField("finally", .steps, "What is done at the end, however that came."),
    ]

    static let policyKind = SceneKind.either([.choice(["stop", "continue"]), .shape(.policy)])

    static let common = [
        SceneField("id", .name, "What reports call it."),
        SceneField("target", .some(.target), "On what; without it, the only target there is."),
        SceneField("timeout", .duration, "It fails after this long."),
        SceneField("on_error", policyKind, "What is done when it fails."),
        SceneField("note", .text, "For people."),
    ]

    static let verbs = [
        SceneField("play", .either([.some(.media), .shape(.play)]), "Plays media in place of what plays there."),
        SceneField("queue", .shape(.queue), "Changes what follows."),
        SceneField("pause", .nothing, "Pauses what plays there."),
        SceneField("resume", .nothing, "Plays on."),
        SceneField("stop", .nothing, "Ends what plays there."),
        SceneField("seek", .offset, "To a position (1m30s), or by one (+10s, -10s)."),
        SceneField(
            "volume", .either([.level, .change, .choice(["mute", "unmute"]), .shape(.volume)]), "How loud it is."),
        SceneField("group", .shape(.group), "Has targets join or leave what plays there."),
        SceneField(
            "transfer", .either([.some(.target), .shape(.transfer)]), "Moves what plays there to other targets."),
        SceneField("announce", .either([.media, .shape(.announce)]), "Says something over what plays there."),
        SceneField("snapshot", .name, "Keeps how things are there, under a name."),
        SceneField("restore", .name, "Makes things as they were: rooms, queue and position, volume, play state."),
        SceneField("wait_for", .condition, "Waits until this holds; it needs a timeout."),
        SceneField("delay", .duration, "Does nothing for so long."),
        SceneField("parallel", .either([.steps, .shape(.parallel)]), "Does steps at the same time."),
        SceneField("repeat", .shape(.loop), "Does steps again and again."),
        SceneField("when", .shape(.when), "Does steps where something holds."),
        SceneField("run_scene", .either([.text, .shape(.call)]), "Runs another scene."),
        SceneField("log", .either([.text, .shape(.log)]), "Says something in the report."),
    ]

    private var verbFields: [SceneField] {
        switch self {
        case .play:
            [
                SceneField("media", .some(.media), "Files, folders, playlists and URLs."),
                SceneField("saved_queue", .text, "A saved queue, in place of media."),
                SceneField("volume", .level, "As loud as this, from the beginning."),
                SceneField("start", .duration, "Where in the first item to begin."),
                SceneField("item", .number(1...1_000_000), "Which of the media plays first, from 1."),
                SceneField("via", .choice(ViaPreference.allCases.map(\.rawValue)), "The protocol."),
                SceneField("shuffle", .boolean, "In a random order."),
                SceneField("repeat", .choice(RepeatMode.allCases.map(\.rawValue)), "What follows the last item."),
                SceneField("context", .boolean, "What follows a file in its folder or playlist follows it."),
            ]
        case .queue:
            [
                SceneField("append", .some(.media), "At the end."),
                SceneField("next", .some(.media), "After what plays now."),
                SceneField("replace_upcoming", .some(.media), "In place of all that is to come."),
                SceneField("clear", .choice(["upcoming", "all"]), "Removes what is to come, or everything."),
                SceneField("shuffle", .boolean, "A random order of what is to come, or the original one."),
                SceneField("repeat", .choice(RepeatMode.allCases.map(\.rawValue)), "What follows the last item."),
                SceneField("save", .text, "Keeps the queue under a name."),
            ]
        case .volume:
            [
                SceneField("level", .level, required: true, "How loud."),
                SceneField("fade", .duration, "Evenly, over so long."),
            ]
        case .group:
            [
                SceneField("join", .some(.target), "Targets that play it too."),
                SceneField("leave", .some(.target), "Targets that play it no more."),
            ]
        case .transfer:
            [
                SceneField("to", .some(.target), required: true, "Where it goes on."),
                SceneField(
                    "kind", .choice(TransferRequest.Kind.allCases.map(\.rawValue)), "Whether it ends where it was."),
            ]
        case .announce:
            [
                SceneField("media", .media, required: true, "What is said."),
                SceneField("volume", .level, "How loud."),
                SceneField(
                    "priority", .choice(AnnounceRequest.Priority.allCases.map(\.rawValue)), "Whether it interrupts."),
                SceneField("deadline", .duration, "It is over after this long, 1s to 10m."),
            ]
        case .parallel:
            [
                SceneField("steps", .steps, required: true, "What is done."),
                SceneField("join", .choice(["all", "any"]), "Whether all are waited for, or the first."),
            ]
        case .loop:
            [
                SceneField("times", .number(1...SceneLimits.rounds), "So many times."),
                SceneField("until", .condition, "Until this holds, looked at after each round."),
                SceneField("always", .boolean, "For as long as “for” says."),
                SceneField("for", .duration, "No round begins after this long."),
                SceneField("steps", .steps, required: true, "What is done."),
            ]
        case .when:
            [
                SceneField("if", .condition, required: true, "What must hold."),
                SceneField("then", .steps, required: true, "What is done where it holds."),
                SceneField("else", .steps, "What is done where it does not."),
            ]
        case .call:
            [
                SceneField("path", .text, required: true, "The other scene's file."),
                SceneField("set", .map(.text), "Values of its variables."),
            ]
        case .log:
            [
                SceneField("message", .text, required: true, "What is said."),
                SceneField("level", .choice(["info", "warning", "error"]), "How much it matters."),
            ]
        default: []
        }
    }
}
