import Yams

/// Makes the node tree of a document, within `SceneLimits`, and reports what YAML itself forbids.
///
/// Yams resolves no types here: what is not quoted is text still, so that `on`, `1:30` and `012` mean what they look
/// like.
struct SceneComposer {
    let text: String
    let findings: SceneFindings
    /// Keys given twice, under the names that they were given for the composer to accept them.
    private var renamed: [String: String] = [:]
    private var nodes = 0

    init(text: String, findings: SceneFindings) {
        self.text = text
        self.findings = findings
    }

    private var source: SceneSource { findings.source }

    /// Nil where the document cannot be read at all, which is among the findings then.
    mutating func compose() -> SceneNode? {
        guard SceneTextCheck(findings: findings).passes(bytes: text.utf8.count) else { return nil }
        guard let root = composed() else { return nil }
        var tooMuch = false
        let tree = convert(root, depth: 0, tooMuch: &tooMuch)
        return tooMuch ? nil : tree
    }

    /// The composer stops at a key that is given twice. It gets another name then, so that what else is wrong with the
    /// document is found too; `convert` tells of it.
    private mutating func composed() -> Node? {
        var text = text
        var twice: [(name: String, mark: Mark)] = []
        // Each takes a whole reading, of which a large document is given few.
        for _ in 0..<max(3, min(20, 1 << 20 / max(1, text.utf8.count))) {
            do {
                guard let root = try Yams.compose(yaml: text, .basic) else {
                    findings.error(
                        "empty", "the document is empty", at: SceneSpan(line: 1, column: 1),
                        help: "begin with “version: 1”, “name: …” and “steps:”")
                    return nil
                }
                return root
            } catch YamlError.duplicatedKeysInMapping(let names, let context) {
                guard let name = names.sorted().first, let other = rename(name, at: context.mark, in: &text) else {
                    findings.error(
                        "duplicate-key", "a key is given twice in one map",
                        at: SceneSpan(line: context.mark.line, column: context.mark.column),
                        help: "keep one of the two")
                    return nil
                }
                renamed[other] = name
                twice.append((name, context.mark))
            } catch let error as YamlError {
                report(error)
                return nil
            } catch {
                findings.error("yaml", "this is no YAML document", at: SceneSpan(line: 1, column: 1))
                return nil
            }
        }
        for (name, mark) in twice {
            findings.error(
                "duplicate-key", "“\(name)” is given again in the same map; there are more such keys",
                at: SceneSpan(line: mark.line, column: mark.column, length: name.unicodeScalars.count),
                help: "keep one of them")
        }
        return nil
    }

    /// Puts characters that no document may hold in place of a key, as many of them; gives the new key.
    private func rename(_ name: String, at mark: Mark, in text: inout String) -> String? {
        let count = name.unicodeScalars.count
        guard count > 0, let first = Unicode.Scalar(0xE000 + UInt32(renamed.count)) else { return nil }
        var lines = SceneSource(text, path: "").lines
        guard mark.line >= 1, mark.line <= lines.count else { return nil }
        let line = lines[mark.line - 1]
        let key = Array(name.unicodeScalars)
        guard
            let start = (max(0, mark.column - 1)..<line.count).first(where: {
                line.count - $0 >= count && Array(line[$0..<($0 + count)]) == key
            })
        else { return nil }
        let other = [first] + Array(repeating: "\u{E0FF}" as Unicode.Scalar, count: count - 1)
        lines[mark.line - 1].replaceSubrange(start..<(start + count), with: other)
        var view = String.UnicodeScalarView()
        for (number, line) in lines.enumerated() {
            if number > 0 { view.append("\n") }
            view.append(contentsOf: line)
        }
        text = String(view)
        var result = String.UnicodeScalarView()
        result.append(contentsOf: other)
        return String(result)
    }

    // MARK: Errors of YAML

    private func report(_ error: YamlError) {
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            let tabs = source.lines.indices.filter { line in
                source.lines[line].prefix { $0 == " " || $0 == "\t" }.contains("\t")
            }
            if problem.contains("cannot start any token") || problem.contains("tab"), !tabs.isEmpty {
                return tabs.forEach(tab)
            }
            let known = Self.cures.first { problem.contains($0.key) }
            findings.error(
                known?.code ?? "yaml", known?.message ?? Self.sentence(problem, context: context?.text),
                at: SceneSpan(line: mark.line, column: mark.column), help: known?.help)
        case .reader(let problem, _, _, _):
            findings.error("yaml", problem, at: SceneSpan(line: 1, column: 1), help: "save the file as UTF-8 text")
        default:
            findings.error("yaml", "this is no YAML document", at: SceneSpan(line: 1, column: 1))
        }
    }

    private func tab(_ line: Int) {
        let column = (source.lines[line].firstIndex(of: "\t") ?? 0) + 1
        findings.error(
            "tab", "a tab indents this line", at: SceneSpan(line: line + 1, column: column),
            help: "indent with spaces only")
    }

    private static func sentence(_ problem: String, context: String?) -> String {
        context.map { "\(problem) (\($0))" } ?? problem
    }

    private struct Cure {
        var key: String
        var code: String
        var message: String
        var help: String
    }

    private static let cures = [
        Cure(
            key: "found undefined alias", code: "unknown-anchor", message: "no anchor of this name comes before",
            help: "write “&name” where it is defined, above this line"),
        Cure(
            key: "found another document", code: "yaml", message: "a file holds one scene only",
            help: "remove what follows “---”, or put it into a file of its own"),
        Cure(
            key: "mapping values are not allowed", code: "yaml", message: "a “:” is not possible here",
            help: "put text with “: ” in it into quotes, or indent the line as its neighbours are"),
        Cure(
            key: "could not find expected ':'", code: "yaml", message: "this line is no “key: value”",
            help: "write a “:” and a space after the key"),
        Cure(
            key: "did not find expected '-' indicator", code: "yaml", message: "a “- ” is missing here",
            help: "begin each entry of the list with “- ”, all in one column"),
        Cure(
            key: "did not find expected key", code: "yaml", message: "a key was expected here",
            help: "indent the line as its neighbours are"),
        Cure(
            key: "found unexpected end of stream", code: "yaml", message: "a quote is not closed",
            help: "end the text with the quote that it begins with"),
        Cure(
            key: "unexpected document indicator", code: "yaml", message: "a quote is not closed",
            help: "end the text with the quote that it begins with"),
        Cure(
            key: "cannot start any token", code: "yaml", message: "text cannot begin with this character",
            help: "put it into quotes"),
    ]

    // MARK: The tree

    private mutating func convert(_ node: Node, depth: Int, tooMuch: inout Bool) -> SceneNode {
        let nothing = SceneNode(content: .scalar("", plain: true), span: span(node))
        nodes += 1
        guard !tooMuch else { return nothing }
        guard nodes <= SceneLimits.nodes, depth <= SceneLimits.depth else {
            tooMuch = true
            let what = depth > SceneLimits.depth ? "too deep" : "too large"
            findings.error(
                "too-large", "the document is \(what), with what its anchors repeat", at: span(node),
                help: "at most \(SceneLimits.nodes) values, \(SceneLimits.depth) inside one another, are read")
            return nothing
        }
        refuseTag(node)
        switch node {
        case .scalar(let scalar):
            return SceneNode(content: .scalar(scalar.string, plain: scalar.style == .plain), span: span(node))
        case .sequence(let sequence):
            var list: [SceneNode] = []
            for element in sequence { list.append(convert(element, depth: depth + 1, tooMuch: &tooMuch)) }
            return SceneNode(content: .list(list), span: span(node))
        case .mapping(let mapping):
            return SceneNode(content: .map(entries(mapping, depth: depth, tooMuch: &tooMuch)), span: span(node))
        case .alias:
            return nothing
        }
    }

    private mutating func entries(_ mapping: Node.Mapping, depth: Int, tooMuch: inout Bool) -> [SceneNode.Entry] {
        var own: [SceneNode.Entry] = []
        var merged: [SceneNode.Entry] = []
        var lines: [String: Int] = [:]
        for (key, value) in mapping {
            if tooMuch { return own }
            guard let scalar = key.scalar else {
                findings.error("key", "a key must be text", at: span(key), help: "write “key: value”")
                continue
            }
            refuseTag(key)
            let place = span(key)
            let name = renamed[scalar.string] ?? scalar.string
            if name == "<<", scalar.style == .plain {
                merged += merge(convert(value, depth: depth + 1, tooMuch: &tooMuch))
            } else if let first = lines[name] {
                findings.error(
                    "duplicate-key", "“\(name)” is given twice; first on line \(first)", at: place,
                    help: "keep one of the two")
            } else {
                lines[name] = place.line
                own.append(
                    SceneNode.Entry(
                        key: name, span: place, value: convert(value, depth: depth + 1, tooMuch: &tooMuch)))
            }
        }
        // What is given here wins over what is merged, and the first of what is merged over the rest.
        for entry in merged where lines.updateValue(0, forKey: entry.key) == nil { own.append(entry) }
        return own
    }

    private func merge(_ node: SceneNode) -> [SceneNode.Entry] {
        if let entries = node.map { return entries }
        if let list = node.list, list.allSatisfy({ $0.map != nil }) { return list.flatMap { $0.map ?? [] } }
        findings.error(
            "merge", "“<<” takes a map or a list of maps, not \(node.kind)", at: node.span,
            help: "name an anchor that stands for a map: “<<: *name”")
        return []
    }

    private func refuseTag(_ node: Node) {
        let tag = node.tag.description
        guard !["str", "seq", "map"].contains(where: { tag == "tag:yaml.org,2002:\($0)" }) else { return }
        let shown = tag.replacing("tag:yaml.org,2002:", with: "!!")
        findings.error("tag", "tags such as “\(shown)” have no place in a scene", at: span(node), help: "remove it")
    }

    private func span(_ node: Node) -> SceneSpan {
        guard let mark = node.mark else { return SceneSpan(line: 1, column: 1) }
        var span = SceneSpan(line: mark.line, column: mark.column)
        guard let scalar = node.scalar else { return span }
        let line = source.scalars(of: mark.line)
        var start = mark.column - 1
        // An anchor or a tag before the value belongs to its mark.
        while start < line.count, line[start] == "&" || line[start] == "!" {
            while start < line.count, line[start] != " " { start += 1 }
            while start < line.count, line[start] == " " { start += 1 }
        }
        guard start < line.count else { return span }
        span.column = start + 1
        switch scalar.style {
        case .singleQuoted, .doubleQuoted:
            let quote: Unicode.Scalar = scalar.style == .singleQuoted ? "'" : "\""
            let end = line[(start + 1)...].firstIndex(of: quote) ?? line.count - 1
            span.length = max(1, end - start + 1)
        case .plain:
            span.length = max(1, min(scalar.string.unicodeScalars.count, line.count - start))
        default: break
        }
        return span
    }
}
