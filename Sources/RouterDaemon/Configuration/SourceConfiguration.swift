import Foundation
import Media
import RouteModel
import Yams

/// What the configuration file says of places that media comes from.
extension ConfigurationReader {
    /// That can be listed: every item is held against each.
    static let maximumSources = 256

    func sources(_ node: Node) throws -> [SourceRule] {
        let nodes = try sequence(node, "sources")
        guard nodes.count <= Self.maximumSources else {
            throw error(
                nodes[Self.maximumSources], "there are more than \(Self.maximumSources) sources",
                hint: "Name the folder or the server that several of them are in")
        }
        var seen: Set<String> = []
        return try nodes.map { node in
            let rule = try source(node)
            guard seen.insert(rule.from).inserted else {
                throw error(node, "two sources are “\(rule.from)”", hint: "Keep one of them")
            }
            return rule
        }
    }

    private func source(_ node: Node) throws -> SourceRule {
        let fields = try mapping(node, "a source", ["from", "external_playback"])
        guard let from = fields["from"] else {
            throw error(node, "a source needs a place", hint: "Add “from:” with a folder, a file or an address")
        }
        let text = try string(from, "from")
        let place = text == "~" || text.hasPrefix("~/") ? NSHomeDirectory() + text.dropFirst() : text
        guard SourceRule.isPlace(place) else {
            throw error(
                from, "“\(text)” is no absolute path, and no http or https address",
                hint: "Begin it with /, ~/, http:// or https://")
        }
        guard let word = fields["external_playback"] else {
            throw error(
                node, "nothing is said of the source \(text)", hint: "Add “external_playback: false” or take it out")
        }
        return SourceRule(
            from: place.hasPrefix("/") ? URL(fileURLWithPath: place).standardizedFileURL.path : place,
            externalPlayback: try boolean(word, "external_playback"))
    }

    private func boolean(_ node: Node, _ what: String) throws -> Bool {
        switch node.scalar?.string {
        case "true": return true
        case "false": return false
        default: throw error(node, "\(what) must be true or false", hint: "Write it without quotes")
        }
    }
}
