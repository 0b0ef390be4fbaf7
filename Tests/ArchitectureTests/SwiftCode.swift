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
                guard statement.utf8.contains(UInt8(ascii: "i")), statement.contains("import"),
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

    /// Works on bytes: all that it looks for is ASCII, and characters of Unicode made this the slowest of all tests.
    private static func blanked(_ text: String) -> String {
        let source = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(source.count)
        var index = 0
        let (lineEnd, quote, sign) = (UInt8(ascii: "\n"), UInt8(ascii: "\""), UInt8(ascii: "#"))
        let (slash, star) = (UInt8(ascii: "/"), UInt8(ascii: "*"))

        func starts(with wanted: [UInt8], at place: Int) -> Bool {
            place + wanted.count <= source.count && source[place] == wanted[0]
                && source[place..<(place + wanted.count)].elementsEqual(wanted)
        }
        func isPair(_ first: UInt8, _ second: UInt8, at place: Int) -> Bool {
            place + 1 < source.count && source[place] == first && source[place + 1] == second
        }
        func keepLineBreaks(_ range: Range<Int>) {
            for place in range where source[place] == lineEnd { result.append(lineEnd) }
        }
        /// The end of a literal whose opening quotes begin at `start`, after `hashes` number signs.
        func literalEnd(_ start: Int, hashes: Int) -> Int {
            let multiline = starts(with: [quote, quote, quote], at: start)
            let signs = [UInt8](repeating: sign, count: hashes)
            let closing = [UInt8](repeating: quote, count: multiline ? 3 : 1) + signs
            let escape = [UInt8(ascii: "\\")] + signs
            var place = start + (multiline ? 3 : 1)
            while place < source.count {
                if starts(with: closing, at: place) { return place + closing.count }
                if !multiline, source[place] == lineEnd { return place }
                place += starts(with: escape, at: place) ? escape.count + 1 : 1
            }
            return source.count
        }

        while index < source.count {
            if isPair(slash, slash, at: index) {
                while index < source.count, source[index] != lineEnd { index += 1 }
            } else if isPair(slash, star, at: index) {
                var depth = 1
                let start = index
                index += 2
                while index < source.count, depth > 0 {
                    if isPair(slash, star, at: index) {
                        depth += 1
                        index += 2
                    } else if isPair(star, slash, at: index) {
                        depth -= 1
                        index += 2
                    } else {
                        index += 1
                    }
                }
                keepLineBreaks(start..<min(index, source.count))
                result.append(UInt8(ascii: " "))
            } else if source[index] == quote || source[index] == sign {
                var hashes = 0
                while index + hashes < source.count, source[index + hashes] == sign { hashes += 1 }
                guard index + hashes < source.count, source[index + hashes] == quote else {
                    result.append(contentsOf: source[index..<(index + max(1, hashes))])
                    index += max(1, hashes)
                    continue
                }
                let end = min(literalEnd(index + hashes, hashes: hashes), source.count)
                result.append(quote)
                keepLineBreaks(index..<end)
                result.append(quote)
                index = end
            } else {
                result.append(source[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
