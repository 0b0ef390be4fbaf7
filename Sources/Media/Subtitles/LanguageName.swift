import Foundation

/// Languages as containers, file names and receivers call them.
enum LanguageName {
    /// BCP 47's primary subtag, the three-letter codes of ISO 639-2 (bibliographic ones too), the English name.
    private static let table: [(tag: String, codes: [String], name: String)] = [
        ("ar", ["ara"], "Arabic"), ("bg", ["bul"], "Bulgarian"), ("ca", ["cat"], "Catalan"),
        ("cs", ["ces", "cze"], "Czech"), ("da", ["dan"], "Danish"), ("de", ["deu", "ger"], "German"),
        ("el", ["ell", "gre"], "Greek"), ("en", ["eng"], "English"), ("es", ["spa"], "Spanish"),
        ("et", ["est"], "Estonian"), ("eu", ["eus", "baq"], "Basque"), ("fa", ["fas", "per"], "Persian"),
        ("fi", ["fin"], "Finnish"), ("fr", ["fra", "fre"], "French"), ("gl", ["glg"], "Galician"),
        ("he", ["heb"], "Hebrew"), ("hi", ["hin"], "Hindi"), ("hr", ["hrv", "scr"], "Croatian"),
        ("hu", ["hun"], "Hungarian"), ("id", ["ind"], "Indonesian"), ("is", ["isl", "ice"], "Icelandic"),
        ("it", ["ita"], "Italian"), ("ja", ["jpn"], "Japanese"), ("ko", ["kor"], "Korean"),
        ("lt", ["lit"], "Lithuanian"), ("lv", ["lav"], "Latvian"), ("mk", ["mkd", "mac"], "Macedonian"),
        ("ms", ["msa", "may"], "Malay"), ("nb", ["nob"], "Norwegian Bokmål"), ("nl", ["nld", "dut"], "Dutch"),
        ("no", ["nor"], "Norwegian"), ("pl", ["pol"], "Polish"), ("pt", ["por"], "Portuguese"),
        ("ro", ["ron", "rum"], "Romanian"), ("ru", ["rus"], "Russian"), ("sk", ["slk", "slo"], "Slovak"),
        ("sl", ["slv"], "Slovenian"), ("sq", ["sqi", "alb"], "Albanian"), ("sr", ["srp", "scc"], "Serbian"),
        ("sv", ["swe"], "Swedish"), ("ta", ["tam"], "Tamil"), ("te", ["tel"], "Telugu"), ("th", ["tha"], "Thai"),
        ("tr", ["tur"], "Turkish"), ("uk", ["ukr"], "Ukrainian"), ("vi", ["vie"], "Vietnamese"),
        ("zh", ["zho", "chi"], "Chinese"),
    ]
    private static let byCode: [String: String] = Dictionary(
        table.flatMap { entry in ([entry.tag] + entry.codes).map { ($0, entry.tag) } },
        uniquingKeysWith: { one, _ in one })
    private static let byName: [String: String] = Dictionary(
        table.map { ($0.name.lowercased(), $0.tag) }, uniquingKeysWith: { one, _ in one })
    private static let names: [String: String] = Dictionary(
        table.map { ($0.tag, $0.name) }, uniquingKeysWith: { one, _ in one })

    /// The BCP 47 tag for a code, a tag or an English name; nil for what is none, and for “undetermined”.
    static func tag(_ text: String) -> String? {
        let parts = text.split(whereSeparator: { $0 == "-" || $0 == "_" }).map(String.init)
        guard let first = parts.first?.lowercased(), first != "und" else { return nil }
        if parts.count == 1 { return byCode[first] ?? byName[first] }
        guard let primary = byCode[first], parts.count <= 4,
            parts.dropFirst().allSatisfy({
                (2...8).contains($0.count) && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
            })
        else { return nil }
        // A region is written in capitals, a script with one.
        let rest = parts.dropFirst().map { part in
            part.count == 2 ? part.uppercased() : part.count == 4 ? part.capitalized : part.lowercased()
        }
        return ([primary] + rest).joined(separator: "-")
    }

    /// For people: the name, and the region if there is one.
    static func name(_ tag: String) -> String {
        let parts = tag.split(separator: "-", maxSplits: 1)
        guard let first = parts.first, let name = names[String(first)] else { return tag }
        return parts.count > 1 ? "\(name) (\(parts[1]))" : name
    }

    /// Whether a track of language `tag` is what was asked for: the same, or the same but for the region.
    static func matches(_ tag: String?, _ wanted: String) -> Bool {
        guard let tag else { return false }
        let wanted = Self.tag(wanted) ?? wanted.lowercased()
        return tag.lowercased() == wanted.lowercased()
            || (!wanted.contains("-") && tag.prefix { $0 != "-" }.lowercased() == wanted.lowercased())
    }
}
