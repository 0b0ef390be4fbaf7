import Foundation
import RouteModel

/// Subtitle files that lie beside a film: `film.srt`, `film.de.srt`, `film.pt-BR.forced.ass`, `Subs/film.srt`,
/// `Subs/film/2_English.srt`.
struct SidecarSubtitles: Sendable {
    struct File: Sendable, Hashable {
        var path: String
        /// BCP 47.
        var language: String?
        var isForced: Bool
        var isForHearingImpaired: Bool
    }

    /// Of text; bitmaps are in `bitmaps`.
    var files: [File] = []
    /// Names of VobSub indexes: pictures, which no receiver takes.
    var bitmaps: [String] = []

    static let extensions: Set<String> = ["srt", "vtt", "ass", "ssa"]
    private static let folders: Set<String> = ["subs", "sub", "subtitles", "subtitle"]
    private static let maximumFiles = 32
    private static let maximumEntries = 10_000

    /// Looks in the file's folder, and in one for subtitles there. Reads names only.
    static func find(beside path: String) -> SidecarSubtitles {
        let folder = (path as NSString).deletingLastPathComponent
        let name = ((path as NSString).lastPathComponent as NSString).deletingPathExtension.lowercased()
        var found = SidecarSubtitles()
        guard !name.isEmpty, let entries = entries(folder) else { return found }
        found.add(entries, in: folder, film: name, all: false)
        let films = entries.filter { ContentType.isVideo(extension: ($0 as NSString).pathExtension) }
        for entry in entries where folders.contains(entry.lowercased()) {
            let inner = "\(folder)/\(entry)"
            guard let files = Self.entries(inner) else { continue }
            // What lies there is this film's when there is no other.
            found.add(files, in: inner, film: name, all: films.count <= 1)
            for own in files where own.lowercased() == name {
                found.add(Self.entries("\(inner)/\(own)") ?? [], in: "\(inner)/\(own)", film: name, all: true)
            }
        }
        return found
    }

    private static func entries(_ folder: String) -> [String]? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder), names.count <= maximumEntries
        else { return nil }
        return names.sorted()
    }

    private mutating func add(_ names: [String], in folder: String, film: String, all: Bool) {
        for entry in names where files.count < Self.maximumFiles {
            let kind = (entry as NSString).pathExtension.lowercased()
            guard Self.extensions.contains(kind) || kind == "idx" else { continue }
            let bare = (entry as NSString).deletingPathExtension
            let words: Substring
            if bare.lowercased() == film {
                words = ""
            } else if bare.lowercased().hasPrefix(film + ".") {
                words = bare.dropFirst(film.count + 1)
            } else if all {
                words = Substring(bare)
            } else {
                continue
            }
            if kind == "idx" {
                bitmaps.append(entry)
            } else {
                files.append(Self.file("\(folder)/\(entry)", words))
            }
        }
    }

    /// What the words after the film's name say: `de`, `en.sdh`, `2_English`.
    private static func file(_ path: String, _ words: Substring) -> File {
        var file = File(path: path, language: nil, isForced: false, isForHearingImpaired: false)
        for word in words.split(whereSeparator: { ". ,()[]".contains($0) }).map(String.init) {
            switch word.lowercased() {
            case "forced", "foreign": file.isForced = true
            case "sdh", "cc", "hi": file.isForHearingImpaired = true
            default:
                // `2_English`: a track's number before its name.
                let plain = word.drop { $0.isNumber }.drop { $0 == "_" }
                file.language = LanguageName.tag(String(plain)) ?? file.language
            }
        }
        // Alone, `hi` is Hindi.
        if words.lowercased() == "hi" {
            file.language = "hi"
            file.isForHearingImpaired = false
        }
        return file
    }
}
