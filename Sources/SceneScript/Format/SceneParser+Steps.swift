import RouteModel

extension SceneDocumentParser {
    /// A router answers within this, where neither a step nor `defaults` says otherwise.
    private static let usualTimeout = MediaTime(seconds: 60)

    func steps(_ node: SceneNode, _ place: String, at span: SceneSpan, target: [String]) -> [SceneStep] {
        guard let list = node.list else {
            findings.error(
                "type", "“\(place.split(separator: ".").last ?? "steps")” must be a list of steps, not \(node.kind)",
                at: node.isNothing ? span : node.span, help: "begin each step with “- ”")
            return []
        }
        if list.isEmpty {
            findings.error("value", "a list of steps is empty", at: node.span, help: "add a step, or remove the key")
        }
        depth += 1
        defer { depth -= 1 }
        return list.enumerated().compactMap { index, node in step(node, "\(place)[\(index)]", target: target) }
    }

    private func step(_ node: SceneNode, _ place: String, target outer: [String]) -> SceneStep? {
        if let word = node.scalar, SceneShape.verbs.contains(where: { $0.name == word }) {
            findings.error(
                "type", "a step must be a map, not text", at: node.span, help: "write “- \(word):” with a colon")
            return nil
        }
        guard let fields = reader.fields(node, .step) else { return nil }
        let verbs = SceneShape.verbs.compactMap { field in fields.entries[field.name] }
            .sorted { ($0.span.line, $0.span.column) < ($1.span.line, $1.span.column) }
        guard let verb = verbs.first else {
            let unknown = node.map?.contains { !SceneShape.step.keys.contains($0.key) } ?? false
            if !unknown {
                findings.error(
                    "no-verb", "the step does nothing: it has no verb", at: node.map?.first?.span ?? node.span,
                    help: "add one of \(SceneShape.verbs.map(\.name).joined(separator: ", "))")
            }
            return nil
        }
        for other in verbs.dropFirst() {
            findings.error(
                "two-verbs", "a step has one verb, and this one has “\(verb.key)” already", at: other.span,
                help: "make it a step of its own: “- \(other.key): …”")
        }
        let id = fields["id"].flatMap { reader.name($0, "a step") }
        if let id, let span = fields["id"]?.span { claim(id: id, at: span) }
        let targets = fields["target"].map { targetNames($0, "“target”") ?? [] }
        let inherited = targets ?? outer
        guard let read = self.verb(verb, place, target: inherited) else { return nil }
        let timeout = fields["timeout"].flatMap { reader.duration($0, "“timeout”") }
        let onError = fields["on_error"].map { policy($0, place, target: inherited) ?? .stop } ?? usualPolicy(of: read)
        if let note = fields["note"] { _ = reader.text(note, "“note”") }
        return SceneStep(
            id: id ?? place, verb: read, span: verb.span,
            targets: Self.acts(read) ? self.target(inherited, stated: targets != nil, of: read, at: verb.span) : [],
            timeout: limit(timeout, of: read, at: verb.span), onError: onError, note: fields["note"]?.scalar)
    }

    /// Whether a step does something to a target of its own.
    static func acts(_ verb: SceneVerb) -> Bool {
        switch verb {
        case .restore, .waitFor, .delay, .parallel, .repeat, .when, .runScene, .log: false
        default: true
        }
    }

    private func target(_ names: [String], stated: Bool, of verb: SceneVerb, at span: SceneSpan) -> [String] {
        if stated || !names.isEmpty { return names }
        if targets.count == 1 {
            mention(targets[0].name, at: span)
            return [targets[0].name]
        }
        findings.error(
            "no-target", "“\(verb.name)” needs a target", at: span,
            help: targets.isEmpty
                ? "declare one under “targets” and name it with “target: …”"
                : "add “target: \(targets[0].name)”, or another of \(targets.map(\.name).joined(separator: ", "))")
        return []
    }

    private func limit(_ own: MediaTime?, of verb: SceneVerb, at span: SceneSpan) -> MediaTime? {
        switch verb {
        case .waitFor:
            if let limit = own ?? timeout { return limit }
            findings.error(
                "unbounded", "“wait_for” could wait for ever", at: span, help: "add “timeout: 10m” or the like")
            return nil
        case .delay, .parallel, .repeat, .when, .runScene, .log, .announce, .volume(.level(_, fade: _?)):
            return own
        default:
            return own ?? timeout ?? Self.usualTimeout
        }
    }

    /// What the defaults say for a step. Steps inside a block try again for themselves: the block does not begin anew.
    private func usualPolicy(of verb: SceneVerb) -> SceneErrorPolicy {
        switch (verb, policy) {
        case (.parallel, .retry(_, _, let then)), (.repeat, .retry(_, _, let then)), (.when, .retry(_, _, let then)),
            (.runScene, .retry(_, _, let then)):
            then
        case (.parallel, .fallback), (.repeat, .fallback), (.when, .fallback), (.runScene, .fallback):
            isLast ? .continue : .stop
        default: policy
        }
    }

    func policy(_ node: SceneNode, _ place: String, target: [String]) -> SceneErrorPolicy? {
        if let text = node.scalar {
            if text == "retry" || text == "fallback" {
                findings.error(
                    "value", "“\(text)” says too little", at: node.span,
                    help: text == "retry"
                        ? "write “retry: {times: 3, backoff: 2s}” below it" : "write “fallback:” with steps")
                return nil
            }
            return reader.choice(node, "“on_error”", among: ["stop", "continue"]).map {
                $0 == "stop" ? .stop : .continue
            }
        }
        guard let fields = reader.fields(node, .policy) else { return nil }
        guard fields.entries.count == 1 else {
            findings.error(
                "value", "“on_error” takes either “retry” or “fallback”", at: node.span, help: "keep one of the two")
            return nil
        }
        if let fallback = fields["fallback"] {
            return .fallback(
                steps(fallback, "\(place).fallback", at: fields.keySpan("fallback"), target: target))
        }
        guard let retry = fields["retry"], let parts = reader.fields(retry, .retry, at: fields.keySpan("retry")) else {
            return nil
        }
        let times = parts["times"].flatMap { reader.integer($0, "“times”", 1...10) }
        let backoff = parts["backoff"].map { reader.duration($0, "“backoff”") } ?? MediaTime(seconds: 1)
        let then =
            parts["then"].map { reader.choice($0, "“then”", among: ["stop", "continue"]) }
            ?? (isLast ? "continue" : "stop")
        guard let times, let backoff, let then else { return nil }
        return .retry(times: times, backoff: backoff, then: then == "stop" ? .stop : .continue)
    }

    // MARK: Verbs

    private func verb(_ entry: SceneNode.Entry, _ place: String, target: [String]) -> SceneVerb? {
        let node = entry.value
        switch entry.key {
        case "play": return play(node)
        case "queue": return queue(node, at: entry.span)
        case "pause", "resume", "stop": return bare(entry)
        case "seek": return seek(node)
        case "volume": return volume(node)
        case "group": return group(node, at: entry.span)
        case "transfer": return transfer(node)
        case "announce": return announce(node)
        case "snapshot":
            guard let name = reader.name(node, "a snapshot") else { return nil }
            taken.insert(name)
            return .snapshot(name)
        case "restore":
            guard let name = reader.name(node, "a snapshot") else { return nil }
            restored.append((name, node.span))
            return .restore(name)
        case "wait_for": return waitFor(node)
        case "delay": return reader.duration(node, "“delay”").map { .delay($0) }
        case "parallel": return parallel(node, place, at: entry.span, target: target)
        case "repeat": return loop(node, place, at: entry.span, target: target)
        case "when": return when(node, place, at: entry.span, target: target)
        case "run_scene": return call(node)
        default: return log(node)
        }
    }

    private func bare(_ entry: SceneNode.Entry) -> SceneVerb? {
        guard entry.value.isNothing || entry.value.map?.isEmpty == true else {
            let isTarget = entry.value.scalar.map { text in targets.contains { $0.name == text } } ?? false
            findings.error(
                "value", "“\(entry.key)” takes no value", at: entry.value.span,
                help: isTarget
                    ? "write “target: \(entry.value.scalar ?? "")” on a line of its own" : "write “\(entry.key):”")
            return nil
        }
        return entry.key == "pause" ? .pause : entry.key == "resume" ? .resume : .stop
    }

    private func play(_ node: SceneNode) -> SceneVerb? {
        guard node.map != nil else { return reader.texts(node, "“play”").map { .play(ScenePlay(media: $0)) } }
        guard let fields = reader.fields(node, .play) else { return nil }
        var play = ScenePlay()
        play.media = fields["media"].flatMap { reader.texts($0, "“media”") } ?? []
        play.savedQueue = fields["saved_queue"].flatMap { reader.text($0, "“saved_queue”", limit: 64) }
        if (fields["media"] == nil) == (fields["saved_queue"] == nil) {
            findings.error(
                "missing-key", "“play” takes either “media” or “saved_queue”", at: node.span,
                help: "say what to play with “media: …”")
        }
        play.volume = fields["volume"].flatMap { reader.level($0, "“volume”") }
        play.start = fields["start"].flatMap { reader.duration($0, "“start”") } ?? .zero
        play.item = fields["item"].flatMap { reader.integer($0, "“item”", 1...1_000_000) } ?? 1
        if let item = fields["item"], play.item > max(1, play.media.count) {
            findings.error(
                "value", "there is no item \(play.item) among \(play.media.count)", at: item.span,
                help: "count the entries of “media” from 1")
        }
        play.via = fields["via"].flatMap { reader.choice($0, "“via”", ViaPreference.self) } ?? .auto
        play.shuffle = fields["shuffle"].flatMap { reader.boolean($0, "“shuffle”") } ?? false
        play.repeatMode = fields["repeat"].flatMap { reader.choice($0, "“repeat”", RepeatMode.self) } ?? .off
        play.context = fields["context"].flatMap { reader.boolean($0, "“context”") }
        return .play(play)
    }

    private func queue(_ node: SceneNode, at span: SceneSpan) -> SceneVerb? {
        guard let fields = reader.fields(node, .queue, at: span) else { return nil }
        guard fields.entries.count == 1, let (key, entry) = fields.entries.first else {
            if fields.entries.count > 1 || node.map?.isEmpty == true {
                findings.error(
                    "value", "“queue” takes one change", at: span,
                    help: "make each change a step of its own: \(SceneShape.queue.keys.joined(separator: ", "))")
            }
            return nil
        }
        let value = entry.value
        switch key {
        case "append": return reader.texts(value, "“append”").map { .queue(.append($0)) }
        case "next": return reader.texts(value, "“next”").map { .queue(.next($0)) }
        case "replace_upcoming":
            return reader.texts(value, "“replace_upcoming”").map { .queue(.replaceUpcoming($0)) }
        case "clear":
            return reader.choice(value, "“clear”", among: ["upcoming", "all"])
                .map { .queue($0 == "all" ? .clear : .clearUpcoming) }
        case "shuffle": return reader.boolean(value, "“shuffle”").map { .queue(.shuffle($0)) }
        case "repeat": return reader.choice(value, "“repeat”", RepeatMode.self).map { .queue(.repeatMode($0)) }
        default: return reader.text(value, "“save”", limit: 64).map { .queue(.save($0)) }
        }
    }

    private func seek(_ node: SceneNode) -> SceneVerb? {
        guard let text = reader.word(node, "“seek”", [.duration]) else { return nil }
        let sign = text.first == "+" || text.first == "-" ? text.first : nil
        guard let time = SceneValues.duration(sign == nil ? text : String(text.dropFirst())) else {
            findings.error(
                "duration", "“\(text)” is no duration for “seek”", at: node.span,
                help: sign == nil ? SceneWords.durationHelp(text) : "write one such as +10s or -1m30s")
            return nil
        }
        return .seek(sign == nil ? .to(time) : .by(sign == "+" ? time : .zero - time))
    }

    private func volume(_ node: SceneNode) -> SceneVerb? {
        if node.map != nil {
            guard let fields = reader.fields(node, .volume),
                let level = fields["level"].flatMap({ reader.level($0, "“level”") })
            else { return nil }
            let fade = fields["fade"].flatMap { reader.duration($0, "“fade”") }
            if let fade, fade.seconds > 3600, let span = fields["fade"]?.span {
                findings.error("duration", "a fade lasts an hour at most", at: span, help: "write “fade: 1h” or less")
            }
            return .volume(.level(level, fade: fade))
        }
        guard let text = reader.word(node, "“volume”", [.level]) else { return nil }
        if text == "mute" || text == "unmute" { return .volume(.mute(text == "mute")) }
        if let change = SceneValues.change(text) { return .volume(.change(change)) }
        if let level = SceneValues.level(text) { return .volume(.level(level, fade: nil)) }
        let near = NearNames.of(text, among: ["mute", "unmute"]).first
        findings.error(
            "level", "“\(text)” is no volume", at: node.span,
            help: near.map { "did you mean “\($0)”?" } ?? "\(SceneWords.levelHelp(text)), +5%, -5%, mute or unmute")
        return nil
    }

    private func group(_ node: SceneNode, at span: SceneSpan) -> SceneVerb? {
        guard let fields = reader.fields(node, .group, at: span) else { return nil }
        if fields.entries.isEmpty {
            findings.error(
                "missing-key", "“group” needs “join” or “leave”", at: span, help: "say which targets play along")
            return nil
        }
        let join = fields["join"].map { targetNames($0, "“join”") } ?? []
        let leave = fields["leave"].map { targetNames($0, "“leave”") } ?? []
        guard let join, let leave else { return nil }
        return .group(join: join, leave: leave)
    }

    private func transfer(_ node: SceneNode) -> SceneVerb? {
        guard node.map != nil else { return targetNames(node, "“transfer”").map { .transfer(.move, to: $0) } }
        guard let fields = reader.fields(node, .transfer) else { return nil }
        let kind = fields["kind"].map { reader.choice($0, "“kind”", TransferRequest.Kind.self) } ?? .move
        guard let to = fields["to"].flatMap({ targetNames($0, "“to”") }), let kind else { return nil }
        return .transfer(kind, to: to)
    }

    private func announce(_ node: SceneNode) -> SceneVerb? {
        guard node.map != nil else {
            return reader.text(node, "“announce”").map { .announce(SceneAnnouncement(media: $0)) }
        }
        guard let fields = reader.fields(node, .announce) else { return nil }
        guard let media = fields["media"].flatMap({ reader.text($0, "“media”") }) else { return nil }
        var announcement = SceneAnnouncement(media: media)
        announcement.volume = fields["volume"].flatMap { reader.level($0, "“volume”") }
        announcement.priority =
            fields["priority"].flatMap { reader.choice($0, "“priority”", AnnounceRequest.Priority.self) } ?? .high
        if let node = fields["deadline"], let deadline = reader.duration(node, "“deadline”") {
            announcement.deadline = deadline
            if !(1...600).contains(deadline.seconds) {
                findings.error(
                    "duration", "an announcement is over after 1s to 10m", at: node.span, help: "write “deadline: 60s”")
            }
        }
        return .announce(announcement)
    }

    private func waitFor(_ node: SceneNode) -> SceneVerb? {
        condition(node, "“wait_for”").map { .waitFor($0) }
    }

    private func condition(_ node: SceneNode, _ what: String) -> SceneCondition? {
        guard let condition = reader.condition(node, what) else { return nil }
        for target in condition.targets.sorted() { mention(target, at: node.span) }
        return condition
    }

    private func parallel(
        _ node: SceneNode, _ place: String, at span: SceneSpan, target: [String]
    ) -> SceneVerb? {
        if node.map == nil { return .parallel(steps(node, "\(place).parallel", at: span, target: target), any: false) }
        guard let fields = reader.fields(node, .parallel, at: span) else { return nil }
        let join = fields["join"].map { reader.choice($0, "“join”", among: ["all", "any"]) } ?? "all"
        guard let list = fields["steps"], let join else { return nil }
        return .parallel(
            steps(list, "\(place).parallel", at: fields.keySpan("steps"), target: target), any: join == "any")
    }

    private func loop(_ node: SceneNode, _ place: String, at span: SceneSpan, target: [String]) -> SceneVerb? {
        guard let fields = reader.fields(node, .loop, at: span) else { return nil }
        var loop = SceneRepeat(steps: [])
        loop.times = fields["times"].flatMap { reader.integer($0, "“times”", 1...SceneLimits.rounds) }
        loop.until = fields["until"].flatMap { condition($0, "“until”") }
        loop.duration = fields["for"].flatMap { reader.duration($0, "“for”") }
        if let always = fields["always"] { _ = reader.boolean(always, "“always”") }
        if fields["times"] == nil, fields["for"] == nil {
            findings.error(
                "unbounded", "“repeat” could go on for ever", at: span,
                help: "bound it with “times: 10” or “for: 30m”")
        }
        if let until = loop.until, until.comparisons.contains(where: { $0.comparison == .changes }) {
            refuseChanges(at: fields["until"]?.span ?? span)
        }
        guard let list = fields["steps"] else { return nil }
        loop.steps = steps(list, "\(place).repeat", at: fields.keySpan("steps"), target: target)
        return .repeat(loop)
    }

    private func refuseChanges(at span: SceneSpan) {
        findings.error(
            "condition", "“changes” is for “wait_for” only", at: span,
            help: "compare the item's title: “kitchen.item == Title”")
    }

    private func when(_ node: SceneNode, _ place: String, at span: SceneSpan, target: [String]) -> SceneVerb? {
        guard let fields = reader.fields(node, .when, at: span) else { return nil }
        let condition = fields["if"].flatMap { self.condition($0, "“if”") }
        if let condition, condition.comparisons.contains(where: { $0.comparison == .changes }) {
            refuseChanges(at: fields["if"]?.span ?? span)
        }
        let then = fields["then"].map { steps($0, "\(place).then", at: fields.keySpan("then"), target: target) }
        let otherwise = fields["else"].map { steps($0, "\(place).else", at: fields.keySpan("else"), target: target) }
        guard let condition, let then else { return nil }
        return .when(condition, then: then, otherwise: otherwise ?? [])
    }

    private func call(_ node: SceneNode) -> SceneVerb? {
        guard node.map != nil else { return reader.text(node, "“run_scene”").map { .runScene(path: $0, values: [:]) } }
        guard let fields = reader.fields(node, .call) else { return nil }
        var values: [String: String] = [:]
        if let set = fields["set"] {
            guard let map = set.map else {
                findings.error(
                    "type", "“set” must be a map, not \(set.kind)", at: set.span, help: "write “name: value”")
                return nil
            }
            for entry in map {
                values[entry.key] = reader.word(
                    entry.value, "“\(entry.key)”", Set(SceneVariable.Kind.allCases))
            }
        }
        guard let path = fields["path"].flatMap({ reader.text($0, "“path”") }) else { return nil }
        return .runScene(path: path, values: values)
    }

    private func log(_ node: SceneNode) -> SceneVerb? {
        let kinds = Set(SceneVariable.Kind.allCases)
        guard node.map != nil else { return reader.word(node, "“log”", kinds).map { .log($0, .info) } }
        guard let fields = reader.fields(node, .log) else { return nil }
        let level = fields["level"].map { reader.choice($0, "“level”", among: ["info", "warning", "error"]) } ?? "info"
        guard let message = fields["message"].flatMap({ reader.word($0, "“message”", kinds) }), let level else {
            return nil
        }
        return .log(message, Notice.Severity(rawValue: level) ?? .info)
    }
}
