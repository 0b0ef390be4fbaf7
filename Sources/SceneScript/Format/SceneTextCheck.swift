/// What is looked at before the composer sees a document: whatever could make it slow or deep.
///
/// The composer shares what an alias stands for, and compares the keys of each map by all that they hold. So an alias
/// is only taken as a whole value at the end of its line, never within a key, and what it repeats is counted
/// afterwards.
struct SceneTextCheck {
    let findings: SceneFindings

    private var source: SceneSource { findings.source }

    func passes(bytes: Int) -> Bool {
        guard bytes <= SceneLimits.bytes else {
            findings.error(
                "too-large", "the document has \(bytes / 1024) KiB", at: SceneSpan(line: 1, column: 1),
                help: "a scene may have \(SceneLimits.bytes / 1024) KiB; put parts of it into scenes of their own")
            return false
        }
        return [characters(), depth(), aliases()].allSatisfy { $0 }
    }

    /// YAML 1.2.2 5.1, and none of the private characters that `SceneComposer` renames keys with.
    private func characters() -> Bool {
        var passes = true
        for (number, line) in source.lines.enumerated() {
            guard
                let column = line.firstIndex(where: { scalar in
                    let value = scalar.value
                    return (value < 0x20 && scalar != "\t") || (0x7F...0x9F).contains(value) && value != 0x85
                        || (0xE000...0xF8FF).contains(value) || value & 0xFFFE == 0xFFFE
                        || value == 0xFEFF && number + column(of: scalar, in: line) > 0
                })
            else { continue }
            let code = String(line[column].value, radix: 16, uppercase: true)
            let zeros = String(repeating: "0", count: max(0, 4 - code.count))
            findings.error(
                "character",
                "the character U+\(zeros)\(code) has no place in a scene",
                at: SceneSpan(line: number + 1, column: column + 1), help: "remove it")
            passes = false
        }
        return passes
    }

    private func column(of scalar: Unicode.Scalar, in line: [Unicode.Scalar]) -> Int {
        line.firstIndex(of: scalar) ?? 0
    }

    /// How deep text can lie, at most, by its columns and brackets: Yams and the tree's release are recursive.
    private func depth() -> Bool {
        let limit = 2 * SceneLimits.depth
        var open = 0
        for (number, line) in source.lines.enumerated() {
            var dashes = 0
            var column = line.prefix { $0 == " " }.count
            while column + 1 < line.count, line[column] == "-" || line[column] == "?", line[column + 1] == " " {
                dashes += 1
                column += 2
                while column < line.count, line[column] == " " { column += 1 }
            }
            for scalar in line {
                if scalar == "[" || scalar == "{" { open += 1 }
                if scalar == "]" || scalar == "}" { open = max(0, open - 1) }
            }
            if dashes > limit || open > limit {
                findings.error(
                    "too-large", "the document is too deep", at: SceneSpan(line: number + 1, column: 1),
                    help: "values may lie \(SceneLimits.depth) inside one another")
                return false
            }
        }
        return true
    }

    private func aliases() -> Bool {
        guard source.lines.contains(where: { line in tokens("&", in: line).first != nil }) else { return true }
        var count = 0
        var passes = true
        for (number, line) in source.lines.enumerated() {
            let found = tokens("*", in: line)
            count += found.count
            if count > SceneLimits.aliases { break }
            if let first = found.first, !standsAlone(line) || closes(after: number) {
                findings.error(
                    "anchor", "an alias must be a whole value, at the end of its line",
                    at: SceneSpan(line: number + 1, column: first + 1),
                    help: "write “key: *name”, “- *name” or “<<: [*one, *two]”")
                passes = false
            }
            // An explicit key could hold an alias.
            let rest = line.drop { " -".unicodeScalars.contains($0) }
            if rest.first == "?", rest.count == 1 || rest.dropFirst().first == " " {
                findings.error(
                    "key", "keys are written without “?”",
                    at: SceneSpan(line: number + 1, column: rest.startIndex + 1), help: "write “key: value”")
                passes = false
            }
        }
        if count > SceneLimits.aliases {
            findings.error(
                "too-large", "more than \(SceneLimits.aliases) aliases (*name)", at: SceneSpan(line: 1, column: 1),
                help: "write the values out")
            passes = false
        }
        return passes
    }

    /// Where `mark` begins a token: after white space that follows an indicator, or at the beginning of the line.
    private func tokens(_ mark: Unicode.Scalar, in line: [Unicode.Scalar]) -> [Int] {
        line.indices.filter { index in
            guard line[index] == mark, index + 1 < line.count, !" \t".unicodeScalars.contains(line[index + 1]) else {
                return false
            }
            let before = line[..<index].reversed()
            let spaces = before.prefix { $0 == " " || $0 == "\t" }.count
            guard let last = before.dropFirst(spaces).first else { return true }
            return ",[{".unicodeScalars.contains(last) || spaces > 0 && ":-?".unicodeScalars.contains(last)
        }
    }

    /// `…: *name`, `- *name` or a list of aliases in brackets, with a comment at most after it.
    private func standsAlone(_ line: [Unicode.Scalar]) -> Bool {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: line)
        let shape =
            #/
            (?: [^*]* [:\-] [\ \t]+ | [\ \t]* )                      # what comes before
            (?: \*[^\s,\[\]{}:]+                                     # one alias
              | \[ [\ \t]* \*[^\s,\[\]{}:]+                          # or several in brackets
                (?: [\ \t]*,[\ \t]* \*[^\s,\[\]{}:]+ )* [\ \t]* \] )
            [\ \t]* (?: \#.* )?
            /#
        return String(view).wholeMatch(of: shape) != nil
    }

    /// Whether the next line with anything on it closes a bracket, or makes a key of what came before.
    private func closes(after number: Int) -> Bool {
        for line in source.lines[(number + 1)...] {
            let rest = line.drop { $0 == " " || $0 == "\t" }
            guard let first = rest.first, first != "#" else { continue }
            return ",]}:".unicodeScalars.contains(first)
        }
        return false
    }
}
