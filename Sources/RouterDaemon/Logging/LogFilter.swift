import Logging
import RouteModel

/// From which level on each component is heard (C22).
///
/// A component is a module and the file that speaks: `CastV2.CastSession`. A rule's glob is compared with the whole and
/// with the module alone, without regard to case; the first rule that fits counts.
public struct LogFilter: Sendable, Equatable {
    public struct Rule: Sendable, Equatable {
        /// `*` stands for any characters, `?` for one.
        public var glob: String
        /// Nil: not even critical.
        public var level: Logger.Level?

        public init(_ glob: String, _ level: Logger.Level?) {
            self.glob = glob
            self.level = level
        }
    }

    private static let maximumRules = 64
    private static let maximumGlob = 128

    public var rules: [Rule]
    /// Of components that no rule fits.
    public var otherwise: Logger.Level?

    public init(_ rules: [Rule] = [], otherwise: Logger.Level? = .error) {
        self.rules = rules
        self.otherwise = otherwise
    }

    /// `CastV2=trace,Cast*=debug,*=error`; a level alone is of all. Throws `configuration` saying what is wrong.
    public init(_ text: String, otherwise: Logger.Level? = .error) throws {
        self.init(otherwise: otherwise)
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: "=", omittingEmptySubsequences: false).map { Self.trimmed($0) }
            guard words.count <= 2, let last = words.last else {
                throw Self.invalid("“\(part)” is no rule", "Write COMPONENT=LEVEL, as in Cast*=debug")
            }
            let glob = words.count == 2 ? words[0] : "*"
            guard !glob.isEmpty, glob.count <= Self.maximumGlob else {
                throw Self.invalid("“\(part)” names no component", "Write COMPONENT=LEVEL, as in Cast*=debug")
            }
            rules.append(Rule(glob, try Self.named(last)))
        }
        guard rules.count <= Self.maximumRules else {
            throw Self.invalid("there are more than \(Self.maximumRules) rules", "Use * for many components")
        }
    }

    /// Whether something of this level is heard.
    public func allows(_ level: Logger.Level, component: String) -> Bool {
        guard let minimum = self.level(of: component) else { return false }
        return level >= minimum
    }

    /// From which level on a component is heard; nil: it never is.
    public func level(of component: String) -> Logger.Level? {
        let module = String(component.prefix { $0 != "." })
        guard let rule = rules.first(where: { Self.matches($0.glob, component) || Self.matches($0.glob, module) })
        else {
            return otherwise
        }
        return rule.level
    }

    /// The lowest level that any component is heard at: what a logger has to let through.
    public var lowest: Logger.Level { (rules.map(\.level) + [otherwise]).compactMap(\.self).min() ?? .critical }

    private static func named(_ text: String) throws -> Logger.Level? {
        let name = text.lowercased()
        if name == "off" || name == "none" { return nil }
        if let level = Logger.Level(rawValue: name == "warn" ? "warning" : name) { return level }
        let names = Logger.Level.allCases.map(\.rawValue) + ["off"]
        throw invalid(
            "“\(text)” is no level",
            NearNames.of(name, among: names).first.map { "Did you mean “\($0)”?" }
                ?? "Write one of \(names.joined(separator: ", "))")
    }

    private static func invalid(_ message: String, _ hint: String) -> RouterError {
        RouterError(.configuration, "the log filter cannot be read: \(message)", hint: hint, retry: .afterUserAction)
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    /// Linear but for the last star: no text makes it slow.
    static func matches(_ glob: String, _ text: String) -> Bool {
        let pattern = Array(glob.lowercased())
        let text = Array(text.lowercased())
        var at = 0
        var next = 0
        var star: (pattern: Int, text: Int)?
        while next < text.count {
            if at < pattern.count, pattern[at] == "*" {
                star = (at, next)
                at += 1
            } else if at < pattern.count, pattern[at] == "?" || pattern[at] == text[next] {
                at += 1
                next += 1
            } else if let last = star {
                at = last.pattern + 1
                next = last.text + 1
                star = (last.pattern, next)
            } else {
                return false
            }
        }
        return pattern[at...].allSatisfy { $0 == "*" }
    }
}
