/// How text takes up room on a terminal: columns, not characters.
enum TerminalText {
    /// Columns that a terminal gives this text: none for marks that sit on others, two for East Asian wide characters and
    /// emoji (Unicode Standard Annex 11, as terminals implement it).
    static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

    static func width(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if first.isASCII { return 1 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // A picture by itself, or one that a following U+FE0F makes a picture.
        if first.properties.isEmojiPresentation || character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        return wide.contains { $0.contains(first.value) } ? 2 : 1
    }

    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]

    /// At most `columns` columns of it, with an ellipsis in place of what is left out.
    static func cut(_ text: String, to columns: Int) -> String {
        guard width(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var kept = ""
        var used = 0
        for character in text {
            let next = width(character)
            guard used + next <= columns - 1 else { break }
            kept.append(character)
            used += next
        }
        return kept + "…"
    }

    static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - width(text)))
    }

    /// Text from outside (titles, names) without what could drive the terminal or turn the order of a line round: control
    /// and format characters and line separators become spaces. The joiners that emoji and some scripts need stay.
    static func clean(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: result.append(" ")
            case .format where scalar != "\u{200C}" && scalar != "\u{200D}": result.append(" ")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
