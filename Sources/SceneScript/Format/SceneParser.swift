import RouteModel

/// Reads a scene's document (`interfaces.md` 2.1).
public enum SceneParser {
    /// The scene, where there is no error, and all that is wrong or doubtful, by its place.
    ///
    /// A pure function: it looks at no file and no router. What needs those is `SceneChecker`'s.
    ///
    /// - Parameter values: values of its variables, in place of their defaults (`--set`).
    public static func parse(
        _ text: String, path: String, values: [String: String] = [:]
    ) -> (scene: Scene?, diagnostics: [SceneDiagnostic]) {
        let findings = SceneFindings(SceneSource(text, path: path))
        var composer = SceneComposer(text: text, findings: findings)
        guard let root = composer.compose() else { return (nil, findings.sorted) }
        let parser = SceneDocumentParser(reader: SceneReader(findings: findings), values: values)
        let scene = parser.scene(root)
        if let scene, !findings.all.hasErrors { SceneReachability(findings: findings).look(at: scene) }
        let diagnostics = findings.sorted
        return (diagnostics.hasErrors ? nil : scene, diagnostics)
    }
}

/// One reading of one document.
final class SceneDocumentParser {
    let reader: SceneReader
    private let values: [String: String]
    var targets: [SceneTarget] = []
    private var mentioned: Set<String> = []
    var timeout: MediaTime?
    var policy = SceneErrorPolicy.stop
    /// What is read is done at the end: it goes on after an error unless it says otherwise.
    var isLast = false
    private var ids: [String: SceneSpan] = [:]
    /// Snapshots that are taken somewhere, and those that are restored, with where.
    var taken: Set<String> = []
    var restored: [(name: String, span: SceneSpan)] = []
    /// Within how many lists of steps.
    var depth = 0

    init(reader: SceneReader, values: [String: String]) {
        self.reader = reader
        self.values = values
    }

    var findings: SceneFindings { reader.findings }

    func scene(_ root: SceneNode) -> Scene? {
        guard let fields = reader.fields(root, .scene) else { return nil }
        if let version = fields["version"], version.scalar != "1" {
            findings.error(
                "version", "this router reads version 1 of the format only", at: version.span,
                help: "write “version: 1”")
        }
        let name = fields["name"].flatMap { reader.text($0, "the scene's name", limit: 64) }
        let summary = fields["description"].flatMap { reader.text($0, "“description”") }
        if let vars = fields["vars"] { readVariables(vars) }
        refuseStrangers(at: fields.keySpan("vars"))
        let exclusive = fields["exclusive"].flatMap { reader.boolean($0, "“exclusive”") } ?? false
        let whenBusy = fields["when_busy"].flatMap { reader.choice($0, "“when_busy”", Scene.WhenBusy.self) } ?? .queue
        if let targets = fields["targets"] { readTargets(targets) }
        if let defaults = fields["defaults"] { readDefaults(defaults) }
        let steps = fields["steps"].map { self.steps($0, "steps", at: fields.keySpan("steps"), target: []) }
        // One that fails does not keep the others from putting things in order.
        policy = policy.goingOn
        isLast = true
        let finally = fields["finally"].map { self.steps($0, "finally", at: fields.keySpan("finally"), target: []) }
        for (name, span) in restored where !taken.contains(name) {
            let near = NearNames.of(name, among: taken.sorted()).first
            findings.error(
                "unknown-snapshot", "no step takes a snapshot “\(name)”", at: span,
                help: near.map { "did you mean “\($0)”?" } ?? "add a step “snapshot: \(name)” before it")
        }
        // What is wrong may be what would use them.
        if !findings.all.hasErrors { warnOfUnused() }
        guard let name, let steps else { return nil }
        return Scene(
            path: findings.source.path, name: name, summary: summary, exclusive: exclusive, whenBusy: whenBusy,
            targets: targets, variables: reader.variables, steps: steps, finally: finally ?? [])
    }

    // MARK: Head

    private func readVariables(_ node: SceneNode) {
        guard let map = node.map else {
            findings.error(
                "type", "“vars” must be a map, not \(node.kind)", at: node.span,
                help: "write “name: value” lines below it")
            return
        }
        for entry in map where reader.name(entry.key, "a variable", at: entry.span) {
            var variable = SceneVariable(name: entry.key, kind: .text, value: "", span: entry.span)
            if let text = entry.value.scalar {
                variable.value = Self.literal(text)
            } else if let fields = reader.fields(entry.value, .variable, at: entry.span) {
                if let type = fields["type"] {
                    variable.kind = reader.choice(type, "“type”", SceneVariable.Kind.self) ?? .text
                }
                if let text = fields["default"]?.scalar {
                    variable.value = Self.literal(text)
                    tellOfMisfit(text, variable, at: fields["default"]?.span ?? entry.span)
                } else if let wrong = fields["default"] {
                    findings.error("type", "“default” must be text, not \(wrong.kind)", at: wrong.span)
                }
            }
            if let given = values[entry.key] {
                variable.value = given
                tellOfMisfit(given, variable, at: entry.span)
            }
            reader.variables.append(variable)
        }
    }

    /// A doubled dollar sign at the beginning is one, here as everywhere.
    private static func literal(_ text: String) -> String { text.hasPrefix("$$") ? String(text.dropFirst()) : text }

    private func tellOfMisfit(_ text: String, _ variable: SceneVariable, at span: SceneSpan) {
        let help: String
        switch variable.kind {
        case .text: return
        case .number:
            if let value = Int(text), String(value) == text { return }
            help = "write a whole number"
        case .level:
            if SceneValues.level(text) != nil { return }
            help = SceneWords.levelHelp(text)
        case .duration:
            if SceneValues.duration(text) != nil { return }
            help = SceneWords.durationHelp(text)
        case .boolean:
            if text == "true" || text == "false" { return }
            help = SceneWords.booleanHelp(text)
        }
        findings.error(
            "value", "“\(text)” is no \(variable.kind.rawValue) for the variable “\(variable.name)”", at: span,
            help: help)
    }

    private func refuseStrangers(at span: SceneSpan) {
        let names = reader.variables.map(\.name)
        for name in values.keys.sorted() where !names.contains(name) {
            let near = NearNames.of(name, among: names).first
            findings.error(
                "unknown-variable", "the scene has no variable “\(name)” to set", at: span,
                help: near.map { "did you mean “\($0)”?" } ?? "declare it under “vars”")
        }
    }

    private func readTargets(_ node: SceneNode) {
        guard let map = node.map else {
            findings.error(
                "type", "“targets” must be a map, not \(node.kind)", at: node.span,
                help: "write “name: Room” lines below it")
            return
        }
        for entry in map where reader.name(entry.key, "a target", at: entry.span) {
            var target = SceneTarget(name: entry.key, rooms: [], optional: false, fallback: [], span: entry.span)
            if entry.value.map != nil {
                guard let fields = reader.fields(entry.value, .target, at: entry.span) else { continue }
                target.rooms = fields["rooms"].flatMap { reader.texts($0, "“rooms”") } ?? []
                target.optional = fields["optional"].flatMap { reader.boolean($0, "“optional”") } ?? false
                target.fallback = fields["fallback"].flatMap { reader.texts($0, "“fallback”") } ?? []
            } else {
                target.rooms = reader.texts(entry.value, "the target “\(entry.key)”") ?? []
            }
            targets.append(target)
        }
    }

    private func readDefaults(_ node: SceneNode) {
        guard let fields = reader.fields(node, .defaults) else { return }
        timeout = fields["timeout"].flatMap { reader.duration($0, "“timeout”") }
        if let node = fields["on_error"] { policy = policy(node, "defaults", target: []) ?? .stop }
    }

    private func warnOfUnused() {
        for variable in reader.variables where !reader.used.contains(variable.name) {
            findings.warning(
                "unused-variable", "the variable “\(variable.name)” is used nowhere", at: variable.span,
                help: "write “$\(variable.name)” where its value belongs, or remove it")
        }
        for target in targets where !mentioned.contains(target.name) {
            findings.warning(
                "unused-target", "no step uses the target “\(target.name)”", at: target.span,
                help: "name it with “target: \(target.name)”, or remove it")
        }
    }

    // MARK: Names

    /// A target's name, or a list of them.
    func targetNames(_ node: SceneNode, _ what: String) -> [String]? {
        let nodes = node.list ?? [node]
        guard !nodes.isEmpty else {
            findings.error("value", "\(what) is an empty list", at: node.span, help: "name at least one target")
            return nil
        }
        let names = nodes.map { node -> String? in
            guard let name = node.scalar else {
                findings.error("type", "\(what) must be a target's name, not \(node.kind)", at: node.span)
                return nil
            }
            return mention(name, at: node.span) ? name : nil
        }
        return names.contains(nil) ? nil : names.compactMap { $0 }
    }

    /// Whether there is such a target; it counts as used from now on.
    @discardableResult
    func mention(_ name: String, at span: SceneSpan) -> Bool {
        mentioned.insert(name)
        if targets.contains(where: { $0.name == name }) { return true }
        let near = NearNames.of(name, among: targets.map(\.name)).first
        findings.error(
            "unknown-target", "there is no target “\(name)”", at: span,
            help: near.map { "did you mean “\($0)”?" } ?? "declare it under “targets”: “\(name): Room”")
        return false
    }

    func claim(id: String, at span: SceneSpan) {
        if let first = ids[id] {
            findings.error(
                "duplicate-id", "two steps are called “\(id)”; the first is on line \(first.line)", at: span,
                help: "give each step an id of its own")
        }
        ids[id] = span
    }
}
