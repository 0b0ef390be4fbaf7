import Foundation
import FoundationXML

/// What is the same for every XML document that we read.
enum XMLDocument {
    /// Bytes that are looked at for the root element.
    private static let headBytes = 4096

    /// Throws `Playlist.Failure` for what declares types or entities: nothing that we read needs them, and they are how XML
    /// bombs are made.
    static func check(_ bytes: [UInt8]) throws {
        // Any other encoding than these would hide a declaration from the look below.
        let text = try Playlist.text(bytes)
        guard !text.contains("<!ENTITY"), text.range(of: "<!DOCTYPE", options: .caseInsensitive) == nil else {
            throw Playlist.Failure.malformed("it declares document types or entities")
        }
    }

    /// A parser that reaches for nothing.
    static func parser(_ bytes: [UInt8], _ reader: any XMLParserDelegate) -> XMLParser {
        let parser = XMLParser(data: Data(bytes))
        parser.shouldResolveExternalEntities = false
        parser.delegate = reader
        return parser
    }

    /// The name of the root element in lower case, as far as the beginning shows it.
    static func root(_ bytes: [UInt8]) -> String? {
        guard let text = try? Playlist.text(Array(bytes.prefix(headBytes))) else { return nil }
        var rest = text[...]
        while let open = rest.firstIndex(of: "<") {
            rest = rest[rest.index(after: open)...]
            let end: String
            switch rest.first {
            case "?": end = "?>"
            case "!": end = rest.hasPrefix("!--") ? "-->" : ">"
            default: return rest.prefix { $0.isLetter || $0.isNumber }.lowercased()
            }
            guard let close = rest.range(of: end) else { return nil }
            rest = rest[close.upperBound...]
        }
        return nil
    }
}
