import RouteModel

/// Reads values from a document's tree, tells everything that is wrong with them, and goes on.
///
/// Every function gives nil where it has told of an error.
final class SceneReader {
    let findings: SceneFindings
    /// As declared, with the values that the run gave; filled before the steps are read.
    var variables: [SceneVariable] = []
    private(set) var used: Set<String> = []

    init(findings: SceneFindings) { self.findings = findings }

    // MARK: Maps

    struct Fields {
        var node: SceneNode
        var entries: [String: SceneNode.Entry]

        subscript(name: String) -> SceneNode? { entries[name]?.value }
        func keySpan(_ name: String) -> SceneSpan { entries[name]?.span ?? node.span }
    }

    /// The entries of a map of this shape. Tells of keys that it does not have, and of those that are missing.
    func fields(_ node: SceneNode, _ shape: SceneShape, at span: SceneSpan? = nil) -> Fields? {
        guard let map = node.map else {
            findings.error(
                "type", "\(shape.title) must be a map, not \(node.kind)", at: span ?? node.span,
                help: "write its keys below it, indented: \(shape.keys.prefix(4).joined(separator: ", "))…")
            return nil
        }
        var entries: [String: SceneNode.Entry] = [:]
        for entry in map {
            if shape.keys.contains(entry.key) {
                entries[entry.key] = entry
            } else {
                unknown(entry, of: shape)
            }
        }
        for field in shape.fields where field.required && entries[field.name] == nil {
            findings.error(
                "missing-key", "\(shape.title) needs “\(field.name)”", at: span ?? map.first?.span ?? node.span,
                help: "add “\(field.name): …”")
        }
        return Fields(node: node, entries: entries)
    }

    private func unknown(_ entry: SceneNode.Entry, of shape: SceneShape) {
        // Near names are looked for only as long as they are told.
        guard findings.all.count < SceneLimits.diagnostics else { return }
        var help = "it takes \(shape.keys.joined(separator: ", "))"
        if shape == .step { help = "a step has one verb: \(SceneShape.verbs.map(\.name).joined(separator: ", "))" }
        if let near = NearNames.of(entry.key, among: shape.keys).first { help = "did you mean “\(near)”?" }
        // YAML 1.1 reads this key as a boolean, so that it is no good name for one.
        if shape == .step, ["on", "On", "ON"].contains(entry.key) { help = "did you mean “target”?" }
        findings.error("unknown-key", "\(shape.title) has no key “\(entry.key)”", at: entry.span, help: help)
    }

    // MARK: Scalars

    /// Text, or what a variable stands for; `kinds` of variables may stand here.
    private func scalar(_ node: SceneNode, _ what: String, _ kinds: Set<SceneVariable.Kind>) -> String? {
        guard let text = node.scalar else {
            findings.error("type", "\(what) must be text, not \(node.kind)", at: node.span)
            return nil
        }
        guard text.hasPrefix("$") else { return text }
        if text.hasPrefix("$$") { return String(text.dropFirst()) }
        do {
            return try value(String(text.dropFirst()), kinds, what)
        } catch {
            findings.error(error.code, error.message, at: node.span, help: error.help)
            return nil
        }
    }

    private func value(
        _ name: String, _ kinds: Set<SceneVariable.Kind>?, _ what: String
    ) throws(SceneConditionParser.Failure) -> String {
        guard let variable = variables.first(where: { $0.name == name }) else {
            let near = NearNames.of(name, among: variables.map(\.name)).first
            throw SceneConditionParser.Failure(
                code: "unknown-variable", message: "there is no variable “\(name)”",
                help: near.map { "did you mean “$\($0)”?" }
                    ?? "declare it under “vars”, or write “$$” for a dollar sign", offset: 0, length: 1)
        }
        used.insert(name)
        if let kinds, !kinds.contains(variable.kind) {
            throw SceneConditionParser.Failure(
                code: "type", message: "“$\(name)” is \(Self.article(variable.kind)) and cannot be \(what)",
                help: kinds.map(\.rawValue).sorted().first.map { "declare it with “type: \($0)”" }, offset: 0, length: 1
            )
        }
        return variable.value
    }

    private static func article(_ kind: SceneVariable.Kind) -> String {
        kind == .text ? "text" : "a \(kind.rawValue)"
    }

    /// Text of 1 to `limit` characters.
    func text(_ node: SceneNode, _ what: String, limit: Int = 4096) -> String? {
        guard let text = scalar(node, what, [.text, .number]) else { return nil }
        guard !text.isEmpty, text.count <= limit, !node.isNothing else {
            let message = text.count > limit ? "\(what) is longer than \(limit) characters" : "\(what) is empty"
            findings.error("value", message, at: node.span, help: "write some text")
            return nil
        }
        return text
    }

    /// A name of the scene's own: of a step, a target, a variable, a snapshot. No variable may stand for it.
    func name(_ node: SceneNode, _ what: String) -> String? {
        guard let text = node.scalar else {
            findings.error("type", "\(what) must be text, not \(node.kind)", at: node.span)
            return nil
        }
        return name(text, what, at: node.span) ? text : nil
    }

    func name(_ text: String, _ what: String, at span: SceneSpan) -> Bool {
        if SceneValues.isName(text) { return true }
        findings.error(
            "name", "“\(text)” is no name for \(what)", at: span,
            help: "use letters, digits, “_” and “-”, and begin with a letter")
        return false
    }

    func boolean(_ node: SceneNode, _ what: String) -> Bool? {
        guard let text = scalar(node, what, [.boolean]) else { return nil }
        if text == "true" { return true }
        if text == "false" { return false }
        findings.error(
            "type", "“\(text)” is no boolean for \(what)", at: node.span, help: SceneWords.booleanHelp(text))
        return nil
    }

    func integer(_ node: SceneNode, _ what: String, _ range: ClosedRange<Int>) -> Int? {
        guard let text = scalar(node, what, [.number]) else { return nil }
        // Neither “010”, which some take for eight, nor “1_000”.
        if let value = Int(text), String(value) == text, range.contains(value) { return value }
        findings.error(
            "value", "“\(text)” is no number for \(what)", at: node.span,
            help: "write a whole number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    func duration(_ node: SceneNode, _ what: String) -> MediaTime? {
        guard let text = scalar(node, what, [.duration]) else { return nil }
        if let time = SceneValues.duration(text) { return time }
        findings.error(
            "duration", "“\(text)” is no duration for \(what)", at: node.span, help: SceneWords.durationHelp(text))
        return nil
    }

    func level(_ node: SceneNode, _ what: String) -> VolumePosition? {
        guard let text = scalar(node, what, [.level]) else { return nil }
        if let level = SceneValues.level(text) { return level }
        findings.error("level", "“\(text)” is no level for \(what)", at: node.span, help: SceneWords.levelHelp(text))
        return nil
    }

    /// The text of a scalar that may be several things, or what a variable of one of `kinds` stands for.
    func word(_ node: SceneNode, _ what: String, _ kinds: Set<SceneVariable.Kind>) -> String? {
        scalar(node, what, kinds)
    }

    func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ node: SceneNode, _ what: String, _ type: Value.Type = Value.self
    ) -> Value? {
        let names = Value.allCases.map(\.rawValue)
        return choice(node, what, among: names).flatMap { Value(rawValue: $0) }
    }

    func choice(_ node: SceneNode, _ what: String, among names: [String]) -> String? {
        guard let text = scalar(node, what, [.text]) else { return nil }
        if names.contains(text) { return text }
        let near = NearNames.of(text, among: names).first
        findings.error(
            "value", "“\(text)” is nothing for \(what)", at: node.span,
            help: near.map { "did you mean “\($0)”?" } ?? "write one of \(names.joined(separator: ", "))")
        return nil
    }

    // MARK: Several

    /// Texts: one, or a list of at least one.
    func texts(_ node: SceneNode, _ what: String) -> [String]? {
        guard let list = node.list else { return text(node, what).map { [$0] } }
        guard !list.isEmpty else {
            findings.error("value", "\(what) is an empty list", at: node.span, help: "name at least one")
            return nil
        }
        let texts = list.map { text($0, what) }
        return texts.contains(nil) ? nil : texts.compactMap { $0 }
    }

    func condition(_ node: SceneNode, _ what: String) -> SceneCondition? {
        guard let text = node.scalar else {
            findings.error(
                "type", "\(what) must be a condition, not \(node.kind)", at: node.span,
                help: "write one such as “kitchen.state == playing”")
            return nil
        }
        do {
            return try SceneConditionParser.parse(text) { [self] name throws(SceneConditionParser.Failure) in
                try value(name, nil, what)
            }
        } catch {
            var span = node.span
            // Within one line, as written, a place in the condition is a place in the document.
            let quote = node.isPlain ? 0 : 1
            let source = findings.source.scalars(of: span.line).dropFirst(span.column - 1 + quote)
            if source.starts(with: text.unicodeScalars) {
                span.column += error.offset + quote
                span.length = error.length
            }
            findings.error(error.code, error.message, at: span, help: error.help)
            return nil
        }
    }
}
