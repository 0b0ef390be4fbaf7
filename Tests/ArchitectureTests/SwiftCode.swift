/// Swift text with its comments and the content of its strings blanked out, line by line as it was.
struct SwiftCode {
    let lines: [Substring]

    init(_ text: String) {
        lines = Self.blanked(text).split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Names of the modules that are imported, whatever stands before `import` or between it and the name.
    var imports: [(module: String, line: Int)] {
        lines.enumerated().flatMap { index, line in
            line.split(separator: ";").compactMap { statement in
                guard
                    let match = statement.prefixMatch(
                        of:
                            #/
                            \s*(?:@\w+(?:\([^)]*\))?\s+)*
                            (?:(?:public|package|internal|fileprivate|private)\s+)?
                            import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)\s+)?
                            (?<module>\w+)
                        /#)
                else { return nil }
                return (String(match.module), index + 1)
            }
        }
    }

    /// Lines on which `pattern` is found, once for each time.
    func occurrences(of pattern: Regex<Substring>) -> [Int] {
        lines.enumerated().flatMap { index, line in line.matches(of: pattern).map { _ in index + 1 } }
    }

    private static func blanked(_ text: String) -> String {
        let source = Array(text)
        var result = ""
        var index = 0

        func starts(with text: String, at place: Int) -> Bool {
            let wanted = Array(text)
            return place + wanted.count <= source.count && source[place..<(place + wanted.count)].elementsEqual(wanted)
        }
        func keepLineBreaks(_ range: Range<Int>) {
            for place in range where source[place].isNewline { result.append("\n") }
        }
        /// The end of a literal whose opening quotes begin at `start`, after `hashes` number signs.
        func literalEnd(_ start: Int, hashes: Int) -> Int {
            let multiline = starts(with: "\"\"\"", at: start)
            let signs = String(repeating: "#", count: hashes)
            let closing = (multiline ? "\"\"\"" : "\"") + signs
            let escape = "\\" + signs
            var place = start + (multiline ? 3 : 1)
            while place < source.count {
                if starts(with: closing, at: place) { return place + closing.count }
                if !multiline, source[place].isNewline { return place }
                place += starts(with: escape, at: place) ? escape.count + 1 : 1
            }
            return source.count
        }

        while index < source.count {
            if starts(with: "//", at: index) {
                while index < source.count, !source[index].isNewline { index += 1 }
            } else if starts(with: "/*", at: index) {
                var depth = 1
                let start = index
                index += 2
                while index < source.count, depth > 0 {
                    if starts(with: "/*", at: index) {
                        depth += 1
                        index += 2
                    } else if starts(with: "*/", at: index) {
                        depth -= 1
                        index += 2
                    } else {
                        index += 1
                    }
                }
                keepLineBreaks(start..<min(index, source.count))
                result.append(" ")
            } else if source[index] == "\"" || source[index] == "#" {
                var hashes = 0
                while index + hashes < source.count, source[index + hashes] == "#" { hashes += 1 }
                guard index + hashes < source.count, source[index + hashes] == "\"" else {
                    result.append(contentsOf: source[index..<(index + max(1, hashes))])
                    index += max(1, hashes)
                    continue
                }
                let end = min(literalEnd(index + hashes, hashes: hashes), source.count)
                result.append("\"")
                keepLineBreaks(index..<end)
                result.append("\"")
                index = end
            } else {
                result.append(source[index])
                index += 1
            }
        }
        return result
    }
}
