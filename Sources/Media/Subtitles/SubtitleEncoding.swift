import Foundation
import RouteModel

/// Which encoding a subtitle file is written in, and its text.
struct SubtitleEncoding: Sendable, Hashable {
    /// The name that people use.
    let name: String
    private let encoding: String.Encoding

    private init(_ name: String, _ encoding: String.Encoding) {
        self.name = name
        self.encoding = encoding
    }

    /// Of CoreFoundation's numbers (`CFStringEncodings`).
    private init(_ name: String, core: UInt) { self.init(name, String.Encoding(rawValue: 0x8000_0000 | core)) }

    static let utf8 = SubtitleEncoding("utf-8", .utf8)
    static let utf16LittleEndian = SubtitleEncoding("utf-16le", .utf16LittleEndian)
    static let utf16BigEndian = SubtitleEncoding("utf-16be", .utf16BigEndian)
    static let windows1250 = SubtitleEncoding("windows-1250", .windowsCP1250)
    static let windows1251 = SubtitleEncoding("windows-1251", .windowsCP1251)
    static let windows1252 = SubtitleEncoding("windows-1252", .windowsCP1252)
    static let windows1253 = SubtitleEncoding("windows-1253", .windowsCP1253)
    static let windows1254 = SubtitleEncoding("windows-1254", .windowsCP1254)
    static let latin2 = SubtitleEncoding("iso-8859-2", .isoLatin2)
    static let cyrillic = SubtitleEncoding("iso-8859-5", core: 0x0205)
    static let koi8 = SubtitleEncoding("koi8-r", core: 0x0A02)

    private static let all: [SubtitleEncoding] = [
        utf8, utf16LittleEndian, utf16BigEndian, windows1250, windows1251, windows1252, windows1253, windows1254,
        SubtitleEncoding("windows-1255", core: 0x0505), SubtitleEncoding("windows-1256", core: 0x0506),
        SubtitleEncoding("windows-1257", core: 0x0507), SubtitleEncoding("windows-1258", core: 0x0508),
        SubtitleEncoding("iso-8859-1", .isoLatin1), latin2, cyrillic, SubtitleEncoding("iso-8859-7", core: 0x0207),
        SubtitleEncoding("iso-8859-9", core: 0x0209), SubtitleEncoding("iso-8859-15", core: 0x020F), koi8,
        SubtitleEncoding("shift_jis", .shiftJIS), SubtitleEncoding("euc-jp", .japaneseEUC),
        SubtitleEncoding("big5", core: 0x0A03), SubtitleEncoding("gb18030", core: 0x0632),
        SubtitleEncoding("euc-kr", core: 0x0940),
    ]
    private static let otherNames = [
        "utf8": "utf-8", "utf-16": "utf-16le", "utf16": "utf-16le", "latin1": "iso-8859-1", "latin2": "iso-8859-2",
        "latin9": "iso-8859-15", "ascii": "utf-8", "sjis": "shift_jis", "shift-jis": "shift_jis", "gbk": "gb18030",
        "gb2312": "gb18030", "koi8r": "koi8-r",
    ]

    /// By a name that a person gave. Throws `unsupported` with those there are.
    static func named(_ text: String) throws -> SubtitleEncoding {
        var name = text.lowercased().trimmingCharacters(in: .whitespaces)
        if name.hasPrefix("cp125") { name = "windows-" + name.dropFirst(2) }
        name = otherNames[name] ?? name
        if let found = all.first(where: { $0.name == name }) { return found }
        let names = all.map(\.name)
        throw RouterError(
            .unsupported, "“\(text)” is no encoding that is known here",
            hint: NearNames.of(name, among: names).first.map { "Did you mean “\($0)”?" }
                ?? "Give one of \(names.joined(separator: ", "))", scope: .item)
    }

    /// The text of a file, by its mark, by what is valid, and at last by which letters are likely.
    static func decode(_ bytes: [UInt8], as given: SubtitleEncoding? = nil) -> (
        text: String, encoding: SubtitleEncoding
    ) {
        let (marked, length) = mark(bytes)
        let body = Array(bytes.dropFirst(length))
        // A mark is never wrong; what a person says is about what has none.
        let encoding = marked ?? given ?? guess(body)
        return (encoding.text(body), encoding)
    }

    private static func mark(_ bytes: [UInt8]) -> (SubtitleEncoding?, Int) {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return (utf8, 3) }
        if bytes.starts(with: [0xFF, 0xFE]) { return (utf16LittleEndian, 2) }
        if bytes.starts(with: [0xFE, 0xFF]) { return (utf16BigEndian, 2) }
        return (nil, 0)
    }

    /// What cannot be decoded becomes U+FFFD.
    private func text(_ bytes: [UInt8]) -> String {
        if self == Self.utf8 { return String(decoding: bytes, as: UTF8.self) }
        if self == Self.utf16LittleEndian || self == Self.utf16BigEndian {
            let high = self == Self.utf16BigEndian ? 0 : 1
            let units = stride(from: 0, to: bytes.count - 1, by: 2).map {
                UInt16(bytes[$0 + high]) << 8 | UInt16(bytes[$0 + 1 - high])
            }
            return String(decoding: units, as: UTF16.self)
        }
        if let text = String(bytes: bytes, encoding: encoding) { return text }
        // One byte that stands for nothing is not to cost all the others. A letter has at most four bytes.
        var letters: [ArraySlice<UInt8>: String?] = [:]
        func letter(_ bytes: ArraySlice<UInt8>) -> String? {
            if let known = letters[bytes] { return known }
            let letter = String(bytes: bytes, encoding: encoding)
            letters[bytes] = .some(letter)
            return letter
        }
        var text = ""
        var rest = bytes[...]
        while !rest.isEmpty {
            let found = (1...min(4, rest.count)).lazy.compactMap { count in
                letter(rest.prefix(count)).map { (text: $0, count: count) }
            }.first
            text += found?.text ?? "\u{FFFD}"
            rest = rest.dropFirst(found?.count ?? 1)
        }
        return text
    }

    // MARK: Guessing

    /// Bytes that are looked at.
    private static let sample = 256 << 10

    private static func guess(_ bytes: [UInt8]) -> SubtitleEncoding {
        let sample = Array(bytes.prefix(sample))
        let pairs = max(1, sample.count / 2)
        let zeros = stride(from: 0, to: sample.count - 1, by: 2).reduce(into: (even: 0, odd: 0)) { count, index in
            if sample[index] == 0 { count.even += 1 }
            if sample[index + 1] == 0 { count.odd += 1 }
        }
        if zeros.odd * 3 > pairs, zeros.even * 10 < pairs { return utf16LittleEndian }
        if zeros.even * 3 > pairs, zeros.odd * 10 < pairs { return utf16BigEndian }
        if String(validating: bytes, as: UTF8.self) != nil { return utf8 }
        let high = sample.reduce(0) { $0 + ($1 >= 0x80 ? 1 : 0) }
        let latin = sample.reduce(0) { $0 + (isLatinLetter($1) ? 1 : 0) }
        // Where every second letter is beyond ASCII, the alphabet is another.
        let candidates = high > latin ? alphabets : latins
        let scored = candidates.map { ($0.encoding, score(sample, $0)) }
        return scored.reduce(scored[0]) { $1.1 > $0.1 ? $1 : $0 }.0
    }

    private struct Candidate {
        var encoding: SubtitleEncoding
        /// The letters that its languages use most, beyond ASCII.
        var common: String
    }

    private static let latins = [
        Candidate(encoding: windows1252, common: "éèêàçäöüßñåøæãõúóíáôîâûœ¿¡"),
        Candidate(encoding: windows1250, common: "ąćęłńóśźżčřšžěůýáéíőűťďňăşţúđľ"),
        Candidate(encoding: latin2, common: "ąćęłńóśźżčřšžěůýáéíőűťďňăşţúđľ"),
        Candidate(encoding: windows1254, common: "ışğçöüİŞĞ"),
    ]
    private static let alphabets = [
        Candidate(encoding: windows1251, common: "оеаинтсрвлкмдпу"),
        Candidate(encoding: koi8, common: "оеаинтсрвлкмдпу"),
        Candidate(encoding: cyrillic, common: "оеаинтсрвлкмдпу"),
        Candidate(encoding: windows1253, common: "αοιετσνηυρπκμςά"),
    ]

    /// How well the bytes read in this encoding: common letters speak for it, and signs or capitals in the middle of
    /// a word against it.
    private static func score(_ bytes: [UInt8], _ candidate: Candidate) -> Int {
        let common = Set(candidate.common)
        let table = (0x80...0xFF).map { byte -> (Character?, points: Int, isUpper: Bool) in
            let letter = String(bytes: [UInt8(byte)], encoding: candidate.encoding.encoding)?.first
            guard let letter, !letter.unicodeScalars.allSatisfy({ $0.properties.generalCategory == .control }) else {
                return (nil, -5, false)
            }
            return (letter, common.contains(letter) ? 2 : 0, letter.isUppercase)
        }
        var total = 0
        for (index, byte) in bytes.enumerated() where byte >= 0x80 {
            let (letter, points, isUpper) = table[Int(byte) - 0x80]
            total += points
            guard let letter, index > 0, index + 1 < bytes.count else { continue }
            let before = bytes[index - 1]
            let after = bytes[index + 1]
            let isInside = isLetter(before, table) && isLetter(after, table)
            if isInside, !letter.isLetter { total -= 3 }
            let followsLower =
                (97...122).contains(before) || (before >= 0x80 && isLowercase(table[Int(before) - 0x80].0))
            if isUpper, followsLower { total -= 3 }
        }
        return total
    }

    private static func isLowercase(_ letter: Character?) -> Bool { letter?.isLowercase == true }

    private static func isLetter(_ byte: UInt8, _ table: [(Character?, points: Int, isUpper: Bool)]) -> Bool {
        byte < 0x80 ? isLatinLetter(byte) : table[Int(byte) - 0x80].0?.isLetter == true
    }

    private static func isLatinLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte) || (97...122).contains(byte) }
}
