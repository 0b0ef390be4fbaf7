/// A document's value with its place; anchors are expanded and merge keys merged.
struct SceneNode: Sendable {
    struct Entry: Sendable {
        var key: String
        var span: SceneSpan
        var value: SceneNode
    }

    enum Content: Sendable {
        /// `plain` is text without quotes.
        case scalar(String, plain: Bool)
        case list([SceneNode])
        case map([Entry])
    }

    var content: Content
    var span: SceneSpan

    /// Nothing was written, or `null` or `~`.
    var isNothing: Bool {
        if case .scalar(let text, plain: true) = content { ["", "~", "null"].contains(text) } else { false }
    }

    var list: [SceneNode]? { if case .list(let nodes) = content { nodes } else { nil } }
    var map: [Entry]? { if case .map(let entries) = content { entries } else { nil } }
    var scalar: String? { if case .scalar(let text, _) = content { text } else { nil } }
    var isPlain: Bool { if case .scalar(_, let plain) = content { plain } else { false } }

    /// What it is, for people.
    var kind: String {
        switch content {
        case .scalar(_, plain: true) where isNothing: "nothing"
        case .scalar: "text"
        case .list: "a list"
        case .map: "a map"
        }
    }
}
