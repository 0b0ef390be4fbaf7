import RouteModel

/// Reads a condition: `kitchen.state == playing and not (time >= 22:00 or time < 07:00)`.
///
///     condition  = conjunction { "or" conjunction }
///     conjunction = term { "and" term }
///     term       = "not" term | "(" condition ")" | "true" | "false" | comparison
///     comparison = "time" op HH:MM | "day" ("==" | "!=") DAY | TARGET ".present" | TARGET ".muted"
///                | TARGET "." field op value | TARGET ".item" "changes"
struct SceneConditionParser {
    struct Failure: Error {
        var code = "condition"
        var message: String
        var help: String?
        /// In Unicode scalars from the beginning of the condition.
        var offset: Int
        var length: Int
    }

    private struct Token {
        var text: String
        var quoted = false
        var offset: Int
        var length: Int
    }

    /// What a `$name` stands for; throws a `Failure` without a place for one that does not fit.
    typealias Variables = (_ name: String) throws(Failure) -> String

    private let tokens: [Token]
    private let end: Int
    private let variables: Variables
    private var index = 0
    private var depth = 0

    static func parse(_ text: String, variables: @escaping Variables) throws(Failure) -> SceneCondition {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count <= SceneLimits.condition else {
            throw Failure(
                message: "a condition may have \(SceneLimits.condition) characters",
                help: "split it into several steps",
                offset: 0, length: 1)
        }
        var parser = SceneConditionParser(tokens: try split(scalars), end: scalars.count, variables: variables)
        let condition = try parser.disjunction()
        if let token = parser.next {
            throw parser.failure(
                "“\(token.text)” is not expected here", help: "join comparisons with “and” or “or”", token)
        }
        return condition
    }

    private init(tokens: [Token], end: Int, variables: @escaping Variables) {
        self.tokens = tokens
        self.end = end
        self.variables = variables
    }

    // MARK: Tokens

    private static func split(_ scalars: [Unicode.Scalar]) throws(Failure) -> [Token] {
        var tokens: [Token] = []
        var index = 0
        while index < scalars.count {
            let scalar = scalars[index]
            let start = index
            if scalar == " " || scalar == "\n" || scalar == "\t" {
                index += 1
                continue
            }
            if scalar == "'" || scalar == "\"" {
                guard let close = scalars[(start + 1)...].firstIndex(of: scalar) else {
                    throw Failure(
                        message: "a quote is not closed", help: "end the text with the quote that it begins with",
                        offset: start, length: scalars.count - start)
                }
                tokens.append(
                    Token(
                        text: text(scalars[(start + 1)..<close]), quoted: true, offset: start, length: close - start + 1
                    ))
                index = close + 1
                continue
            }
            if "()".unicodeScalars.contains(scalar) {
                index += 1
            } else if "=!<>".unicodeScalars.contains(scalar) {
                while index < scalars.count, "=!<>".unicodeScalars.contains(scalars[index]) { index += 1 }
            } else {
                while index < scalars.count, !" \n\t()=!<>'\"".unicodeScalars.contains(scalars[index]) { index += 1 }
            }
            tokens.append(Token(text: text(scalars[start..<index]), offset: start, length: index - start))
        }
        return tokens
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    private var next: Token? { index < tokens.count ? tokens[index] : nil }

    private func failure(_ message: String, help: String? = nil, _ token: Token?) -> Failure {
        Failure(message: message, help: help, offset: token?.offset ?? max(0, end - 1), length: token?.length ?? 1)
    }

    private mutating func takes(_ word: String) -> Bool {
        guard let token = next, !token.quoted, token.text == word else { return false }
        index += 1
        return true
    }

    // MARK: Rules

    private mutating func disjunction() throws(Failure) -> SceneCondition {
        var parts = [try conjunction()]
        while takes("or") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private mutating func conjunction() throws(Failure) -> SceneCondition {
        var parts = [try term()]
        while takes("and") { parts.append(try term()) }
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    private mutating func term() throws(Failure) -> SceneCondition {
        depth += 1
        defer { depth -= 1 }
        guard depth <= SceneLimits.depth else {
            throw failure("the condition is too deep", help: "split it into several steps", next)
        }
        if takes("not") { return .not(try term()) }
        if takes("true") { return .constant(true) }
        if takes("false") { return .constant(false) }
        if let open = next, takes("(") {
            let condition = try disjunction()
            guard takes(")") else { throw failure("this bracket is not closed", help: "add a “)”", open) }
            return condition
        }
        return try comparison()
    }

    private mutating func comparison() throws(Failure) -> SceneCondition {
        guard let token = next, !token.quoted else {
            throw failure(
                "a comparison is missing here", help: "write one such as “kitchen.state == playing” or “time >= 22:00”",
                next)
        }
        index += 1
        if token.text == "time" { return try timeComparison(token) }
        if token.text == "day" { return try dayComparison(token) }
        let parts = token.text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, SceneValues.isName(parts[0]) else {
            throw failure(
                "“\(token.text)” can not be compared",
                help: "write TARGET.state (or .\(Self.fields.dropFirst().joined(separator: ", ."))), time or day", token
            )
        }
        guard let field = SceneComparison.Field(rawValue: parts[1]) else {
            let near = NearNames.of(parts[1], among: Self.fields).first
            throw failure(
                "a target has no “\(parts[1])”",
                help: near.map { "did you mean “\(parts[0]).\($0)”?" }
                    ?? "write one of \(Self.fields.joined(separator: ", "))", token)
        }
        return .comparison(try compare(.target(parts[0], field), field, token))
    }

    private static let fields = SceneComparison.Field.allCases.map(\.rawValue)

    private mutating func timeComparison(_ subject: Token) throws(Failure) -> SceneCondition {
        let comparison = try operation(subject)
        let (text, token) = try operand(subject)
        guard comparison != .changes, let minutes = SceneValues.minutes(text) else {
            throw failure("“\(text)” is no time of day", help: "write one such as 07:30", token)
        }
        return .comparison(SceneComparison(subject: .time, comparison: comparison, value: .number(Double(minutes))))
    }

    private mutating func dayComparison(_ subject: Token) throws(Failure) -> SceneCondition {
        let comparison = try operation(subject)
        let (text, token) = try operand(subject)
        guard comparison == .equal || comparison == .unequal else {
            throw failure("a day is compared with == or != only", help: "write “day == monday”", subject)
        }
        guard let days = SceneValues.days(text.lowercased()) else {
            throw failure("“\(text)” is no day", help: "write monday to sunday, weekday or weekend", token)
        }
        return .comparison(SceneComparison(subject: .day, comparison: comparison, value: .days(days)))
    }

    private mutating func compare(
        _ subject: SceneComparison.Subject, _ field: SceneComparison.Field, _ token: Token
    ) throws(Failure) -> SceneComparison {
        if field == .present || field == .muted, next.map({ $0.quoted || !Self.operators.contains($0.text) }) ?? true {
            return SceneComparison(subject: subject, comparison: .equal, value: .boolean(true))
        }
        if field == .item, takes("changes") {
            return SceneComparison(subject: subject, comparison: .changes, value: .text(""))
        }
        let place = next
        let comparison = try operation(token)
        let (text, operand) = try operand(token)
        let ordered: Set<SceneComparison.Field> = [.position, .remaining, .volume, .upcoming]
        guard !comparison.isOrder || ordered.contains(field) else {
            throw failure("“\(field.rawValue)” is compared with == or != only", help: "write == or !=", place)
        }
        return SceneComparison(subject: subject, comparison: comparison, value: try value(text, field, operand))
    }

    private func value(
        _ text: String, _ field: SceneComparison.Field, _ token: Token
    ) throws(Failure) -> SceneComparison.Value {
        switch field {
        case .state:
            let names = SceneComparison.State.allCases.map(\.rawValue)
            guard let state = SceneComparison.State(rawValue: text) else {
                let near = NearNames.of(text, among: names).first
                throw failure(
                    "“\(text)” is no state",
                    help: near.map { "did you mean “\($0)”?" } ?? "write \(names.joined(separator: ", "))", token)
            }
            return .state(state)
        case .position, .remaining:
            guard let time = SceneValues.duration(text) else {
                throw failure(
                    "“\(text)” is no duration", help: SceneWords.durationHelp(text), token)
            }
            return .number(time.seconds)
        case .volume:
            guard let level = SceneValues.level(text) else {
                throw failure("“\(text)” is no level", help: SceneWords.levelHelp(text), token)
            }
            return .number(level.value)
        case .upcoming:
            guard let count = Int(text), count >= 0 else {
                throw failure("“\(text)” is no number of items", help: "write a whole number", token)
            }
            return .number(Double(count))
        case .item: return .text(text)
        case .present, .muted:
            guard text == "true" || text == "false" else {
                throw failure("“\(text)” is neither true nor false", help: "write true or false", token)
            }
            return .boolean(text == "true")
        }
    }

    private static let operators = ["==", "!=", "<", "<=", ">", ">=", "="]

    private mutating func operation(_ subject: Token) throws(Failure) -> SceneComparison.Operator {
        guard let token = next, !token.quoted else {
            throw failure("“\(subject.text)” is compared with nothing", help: "add == and a value", subject)
        }
        guard let operation = SceneComparison.Operator(rawValue: token.text), operation != .changes else {
            let help = token.text == "=" ? "write “==”" : "write ==, !=, <, <=, > or >="
            throw failure("“\(token.text)” is no comparison", help: help, token)
        }
        index += 1
        return operation
    }

    private mutating func operand(_ subject: Token) throws(Failure) -> (text: String, token: Token) {
        guard let token = next, token.quoted || !["(", ")", "and", "or", "not"].contains(token.text) else {
            throw failure("a value is missing here", help: "write what “\(subject.text)” is compared with", next)
        }
        index += 1
        guard !token.quoted, token.text.hasPrefix("$") else { return (token.text, token) }
        do {
            return (try variables(String(token.text.dropFirst())), token)
        } catch {
            throw Failure(
                code: error.code, message: error.message, help: error.help, offset: token.offset, length: token.length)
        }
    }
}
