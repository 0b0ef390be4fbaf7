import Foundation

/// The reference of all commands as Markdown, made of what the argument parser knows of itself.
enum CommandReference {
    /// As `RouterCommand._dumpHelp` gives it.
    private struct Dump: Decodable { var command: Command }

    private struct Command: Decodable {
        var commandName: String
        var abstract: String?
        var discussion: String?
        var aliases: [String]?
        var defaultSubcommand: String?
        var subcommands: [Command]?
        var arguments: [Argument]?
        var shouldDisplay: Bool?
    }

    private struct Argument: Decodable {
        enum Kind: String, Decodable { case positional, option, flag }

        struct Name: Decodable {
            enum Kind: String, Decodable { case long, short, longWithSingleDash }
            var kind: Kind
            var name: String

            var text: String { kind == .long ? "--\(name)" : "-\(name)" }
        }

        var kind: Kind
        var shouldDisplay: Bool
        var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        var valueName: String?
        var defaultValue: String?
        var abstract: String?
        var discussion: String?

        /// As it is typed.
        var usage: String {
            let value = "<\(valueName ?? "value")>\(isRepeating ? "…" : "")"
            switch kind {
            case .positional: return value
            case .option, .flag:
                let names = (self.names ?? []).sorted { $0.kind == .short && $1.kind != .short }.map(\.text)
                return names.joined(separator: ", ") + (kind == .option ? " \(value)" : "")
            }
        }

        /// The same argument wherever it stands, for telling those apart that every command takes.
        var key: String { (names ?? []).map(\.text).joined(separator: " ") }
    }

    /// - Parameter dump: `RouterCommand._dumpHelp()`.
    static func markdown(_ dump: String) throws -> String {
        let root = try JSONDecoder().decode(Dump.self, from: Data(dump.utf8)).command
        let shared = shared(root)
        var lines = [
            "# Commands", "",
            "Every command of `router`, made from the program itself: `Tests/RouterCommandsTests` fails where this page is",
            "not what it says (`ROUTER_WRITE=1` writes it anew).", "",
        ]
        if let abstract = root.abstract { lines += [abstract, ""] }
        lines += code(root.discussion)
        lines += ["## Flags that every command takes", ""]
        lines += shared.map { item($0) } + [""]
        let keys = Set(shared.map(\.key))
        for command in visible(root.subcommands) { lines += section(command, ["router"], keys, level: 2) }
        lines += exits
        return lines.joined(separator: "\n") + "\n"
    }

    private static func visible(_ commands: [Command]?) -> [Command] {
        (commands ?? []).filter { $0.commandName != "help" && $0.shouldDisplay ?? true }
            .sorted { $0.commandName < $1.commandName }
    }

    /// What every command that does something takes.
    private static func shared(_ root: Command) -> [Argument] {
        let leaves = self.leaves(root).map { displayed($0.arguments) }.filter { !$0.isEmpty }
        guard let first = leaves.max(by: { $0.count < $1.count }) else { return [] }
        return first.filter { argument in
            argument.kind != .positional
                && leaves.count { list in list.contains { $0.key == argument.key && $0.abstract == argument.abstract } }
                    * 10
                    > leaves.count * 8
        }
    }

    private static func leaves(_ command: Command) -> [Command] {
        let children = visible(command.subcommands)
        return children.isEmpty ? [command] : children.flatMap(leaves)
    }

    private static func displayed(_ arguments: [Argument]?) -> [Argument] { (arguments ?? []).filter(\.shouldDisplay) }

    private static func section(_ command: Command, _ path: [String], _ shared: Set<String>, level: Int) -> [String] {
        let path = path + [command.commandName]
        var lines = [String(repeating: "#", count: level) + " " + path.joined(separator: " "), ""]
        if let abstract = command.abstract { lines += [abstract, ""] }
        let own = displayed(command.arguments)
        let positional = own.filter { $0.kind == .positional }
        if visible(command.subcommands).isEmpty {
            let words = positional.map { $0.isOptional ? "[\($0.usage)]" : $0.usage }
            lines += ["`\((path + words + ["[options]"]).joined(separator: " "))`", ""]
        }
        if let aliases = command.aliases, !aliases.isEmpty {
            lines += ["Also: `\(aliases.joined(separator: "`, `"))`", ""]
        }
        if let usual = command.defaultSubcommand { lines += ["Without a verb: `\(usual)`", ""] }
        lines += code(command.discussion)
        let listed = positional + own.filter { $0.kind != .positional && !shared.contains($0.key) }
        if !listed.isEmpty { lines += listed.map { item($0) } + [""] }
        for child in visible(command.subcommands) { lines += section(child, path, shared, level: level + 1) }
        return lines
    }

    private static func item(_ argument: Argument) -> String {
        let text = argument.abstract ?? ""
        let usual = argument.defaultValue.map { " (\($0))" } ?? ""
        return "- `\(argument.usage)`: \(text)\(usual)"
    }

    /// Paragraphs as they are, and indented lines as examples.
    private static func code(_ discussion: String?) -> [String] {
        var lines: [String] = []
        var isCode = false
        for line in (discussion ?? "").components(separatedBy: "\n") {
            let indented = line.hasPrefix("  ")
            if indented != isCode, indented || !line.isEmpty {
                lines.append("```")
                isCode = indented
                if !indented { lines.append("") }
            }
            lines.append(indented ? String(line.dropFirst(2)) : line)
        }
        if isCode {
            while lines.last == "" { lines.removeLast() }
            lines.append("```")
        }
        while lines.last == "" { lines.removeLast() }
        return lines.isEmpty ? [] : lines + [""]
    }

    private static let exits = [
        "## Exit status", "",
        "| Status | Meaning |", "| --- | --- |",
        "| 0 | done, or taken, with a note that it does not show yet |", "| 1 | failed |",
        "| 3 | not found, or ambiguous |", "| 4 | a password or a pairing is needed |",
        "| 5 | the device was not reached, or was lost |", "| 6 | it cannot do this, or not now |",
        "| 7 | no daemon answers |", "| 8 | some rooms failed, and others did not |", "| 64 | wrong use |",
        "| 65 | a scene or other input is not valid |", "| 70 | a defect of ours |",
        "| 74 | standard output cannot be written |",
        "| 78 | the configuration is wrong, or a program is missing |", "| 124 | the wait has passed |",
        "| 130 | interrupted |",
    ]
}
