/// What `Package.swift` says each target depends on, read from its text: asking SwiftPM from within `swift test` would
/// wait for itself.
struct Manifest {
    struct Row {
        var name: String
        /// Names of targets and products.
        var dependencies: [String]
    }

    var sources: [Row]

    /// Throws when the text has not the form that this reader knows, so that it cannot pass by finding nothing.
    init(_ text: String) throws {
        let text = text.split(separator: "\n").filter { !$0.drop(while: \.isWhitespace).hasPrefix("//") }
            .joined(separator: "\n")
        var products: [String: String] = [:]
        for match in text.matches(
            of: #/let\s+(?<alias>\w+):\s*Target\.Dependency\s*=\s*\.product\(\s*name:\s*"(?<product>\w+)"/#)
        {
            products[String(match.alias)] = String(match.product)
        }
        let calls =
            #/
                (?:\bmodule\(\s*|\.(?:executableTarget|target)\(\s*name:\s*)"(?<name>\w+)"
                (?:\s*,\s*(?:dependencies:\s*)?\[(?<list>[^\]]*)\])?
            /#
        sources = try text.matches(of: calls).map { match in
            let list = match.list ?? ""
            let names = try list.split(separator: ",").map { String($0.filter { !$0.isWhitespace }) }
                .filter { !$0.isEmpty }.map { entry in
                    if entry.hasPrefix("\"") { return entry.filter { $0 != "\"" } }
                    guard let product = products[entry] else { throw Unreadable(entry: entry) }
                    return product
                }
            return Row(name: String(match.name), dependencies: names)
        }
        guard sources.count > 5 else { throw Unreadable(entry: "targets") }
    }

    struct Unreadable: Error { var entry: String }

    /// Everything that is linked into `target`, by names of targets and products.
    func closure(of target: String) -> Set<String> {
        var seen: Set<String> = []
        var open = [target]
        while let name = open.popLast() {
            for next in sources.first(where: { $0.name == name })?.dependencies ?? [] where seen.insert(next).inserted {
                open.append(next)
            }
        }
        return seen
    }
}
