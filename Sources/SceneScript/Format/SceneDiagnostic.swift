import RouteModel

/// A place in a scene's document. Lines and columns count from 1; columns and lengths are Unicode scalars.
public struct SceneSpan: Codable, Sendable, Hashable {
    public var line: Int
    public var column: Int
    public var length: Int

    public init(line: Int, column: Int, length: Int = 1) {
        self.line = line
        self.column = column
        self.length = length
    }
}

/// Something wrong with a scene, or doubtful, with its place and a cure.
public struct SceneDiagnostic: Codable, Sendable, Hashable, CustomStringConvertible {
    public enum Severity: String, Codable, Sendable, Hashable { case error, warning }

    public var severity: Severity
    /// Of a closed list, for programs: `unknown-key`.
    public var code: String
    /// One sentence without a full stop.
    public var message: String
    public var path: String
    public var span: SceneSpan
    /// The line of the document that it is about, without its end.
    public var source: String
    public var help: String?

    public init(
        _ severity: Severity, _ code: String, _ message: String, path: String, span: SceneSpan, source: String,
        help: String? = nil
    ) {
        self.severity = severity
        self.code = code
        self.message = message
        self.path = path
        self.span = span
        self.source = source
        self.help = help
    }

    /// `path:line:column: error[code]: message`.
    public var summary: String {
        "\(path):\(span.line):\(span.column): \(severity.rawValue)[\(code)]: \(message)"
    }

    /// The summary, the line with a caret under the span, and the help.
    public var description: String {
        var lines = [summary]
        if !source.isEmpty {
            let (text, marks) = Self.excerpt(source, span: span)
            lines += ["    " + text, "    " + marks]
        }
        if let help { lines.append("help: \(help)") }
        return lines.joined(separator: "\n")
    }

    /// Columns of a line that are shown; of a longer one, those around the span.
    private static let width = 100

    private static func excerpt(_ line: String, span: SceneSpan) -> (text: String, marks: String) {
        let scalars = Array(line.unicodeScalars)
        let start = min(max(0, span.column - 1), scalars.count)
        let first = start < width - 20 ? 0 : start - 40
        let last = min(scalars.count, first + width)
        var text = String.UnicodeScalarView()
        var marks = ""
        for index in first..<last {
            let scalar = scalars[index]
            let isTab = scalar == "\t"
            // What could drive a terminal is not shown as it is.
            let shown: Unicode.Scalar = isTab || scalar.properties.generalCategory != .control ? scalar : "\u{FFFD}"
            text.append(shown)
            if index < start { marks.append(isTab ? "\t" : " ") }
        }
        let length = max(1, min(span.length, max(1, last - start)))
        return (String(text), marks + String(repeating: "^", count: length))
    }
}

extension [SceneDiagnostic] {
    public var hasErrors: Bool { contains { $0.severity == .error } }

    /// Whether there is a place for one more. An error takes the place of a warning: it is never left out while one is
    /// told.
    func takes(_ severity: SceneDiagnostic.Severity) -> Bool {
        count < SceneLimits.diagnostics || severity == .error && contains { $0.severity == .warning }
    }

    /// Adds one, where there is a place for it.
    mutating func add(_ finding: SceneDiagnostic) {
        guard takes(finding.severity) else { return }
        if count >= SceneLimits.diagnostics, let place = lastIndex(where: { $0.severity == .warning }) {
            remove(at: place)
        }
        append(finding)
    }
}

/// A scene's document as lines, for diagnostics.
struct SceneSource {
    let path: String
    let lines: [[Unicode.Scalar]]

    init(_ text: String, path: String) {
        self.path = path
        var lines: [[Unicode.Scalar]] = [[]]
        var last: Unicode.Scalar = " "
        for scalar in text.unicodeScalars {
            if scalar == "\n" || scalar == "\r" {
                // CR LF is one end of a line.
                if !(scalar == "\n" && last == "\r") { lines.append([]) }
            } else {
                lines[lines.count - 1].append(scalar)
            }
            last = scalar
        }
        self.lines = lines
    }

    /// Empty for a line that there is not.
    func line(_ number: Int) -> String {
        guard number >= 1, number <= lines.count else { return "" }
        var view = String.UnicodeScalarView()
        view.append(contentsOf: lines[number - 1])
        return String(view)
    }

    func scalars(of line: Int) -> [Unicode.Scalar] {
        line >= 1 && line <= lines.count ? lines[line - 1] : []
    }
}

/// What is found while a document is read, all of it in its order.
final class SceneFindings {
    let source: SceneSource
    private(set) var all: [SceneDiagnostic] = []
    private var seen: Set<SceneDiagnostic> = []

    init(_ source: SceneSource) { self.source = source }

    func error(_ code: String, _ message: String, at span: SceneSpan, help: String? = nil) {
        add(.error, code, message, at: span, help: help)
    }

    func warning(_ code: String, _ message: String, at span: SceneSpan, help: String? = nil) {
        add(.warning, code, message, at: span, help: help)
    }

    private func add(
        _ severity: SceneDiagnostic.Severity, _ code: String, _ message: String, at span: SceneSpan, help: String?
    ) {
        // Before it is made: a document may have very many, on very long lines.
        guard all.takes(severity) else { return }
        let finding = SceneDiagnostic(
            severity, code, message, path: source.path, span: span, source: source.line(span.line), help: help)
        // An anchor's content is read wherever it is repeated.
        if seen.insert(finding).inserted { all.add(finding) }
    }

    /// By place in the document.
    var sorted: [SceneDiagnostic] {
        all.enumerated().sorted {
            ($0.element.span.line, $0.element.span.column, $0.offset)
                < ($1.element.span.line, $1.element.span.column, $1.offset)
        }.map(\.element)
    }
}
