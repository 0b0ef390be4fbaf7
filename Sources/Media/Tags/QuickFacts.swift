import Foundation
import RouteModel

/// What a sound file's first bytes say of it, without a process: enough to tell a receiver, not all that a probe finds.
///
/// Read by ourselves only where the form is plain and certain: FLAC, WAV, and MP3 with its ID3 tag. All else is probed.
struct QuickFacts: Sendable, Equatable {
    var contentType: String
    var metadata: MediaMetadata
    var hasPicture: Bool

    /// Bytes of a file by their place; fewer at its end, nil when it cannot be read.
    typealias Bytes = (_ at: Int64, _ count: Int) -> [UInt8]?

    /// Nil where only a probe can tell.
    static func read(_ path: String) -> QuickFacts? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let facts = FileFacts(descriptor: descriptor), facts.kind == .file else { return nil }
        return of(extension: (path as NSString).pathExtension, size: facts.size) { at, count in
            var bytes = [UInt8](repeating: 0, count: count)
            let got = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, count, off_t(at)) }
            return got >= 0 ? Array(bytes.prefix(got)) : nil
        }
    }

    /// By the name and the content together: where they disagree, a probe is asked.
    static func of(extension name: String, size: Int64, _ bytes: Bytes) -> QuickFacts? {
        switch name.lowercased() {
        case "flac": FLACTags.read(size: size, bytes)
        case "mp3": ID3Tags.read(size: size, bytes)
        case "wav": WAVTags.read(size: size, bytes)
        default: nil
        }
    }

    init(contentType: String, fields: TagFields, duration: MediaTime?, hasPicture: Bool) {
        self.contentType = contentType
        var metadata = fields.metadata
        metadata.duration = duration
        self.metadata = metadata
        self.hasPicture = hasPicture
    }
}

/// Tags by the names that Vorbis comments use, in upper case; the first of a name counts.
struct TagFields: Sendable, Equatable {
    /// Characters of one tag at most: receivers draw a line of it.
    static let maximumCharacters = 1000
    private static let maximumFields = 256

    private(set) var values: [String: String] = [:]

    mutating func add(_ name: String, _ value: String) {
        let trimmed = value.trimmingCharacters(in: .whitespacesAndNewlines.union(.controlCharacters))
        let key = name.uppercased()
        guard !trimmed.isEmpty, values[key] == nil, values.count < Self.maximumFields else { return }
        values[key] = String(trimmed.prefix(Self.maximumCharacters))
    }

    /// A store's word on a song: 1 and 4 are explicit, 2 is a cleaned one; nothing else says anything.
    static func explicit(_ advisory: String) -> Bool? {
        switch advisory {
        case "1", "4": true
        case "2": false
        default: nil
        }
    }

    var metadata: MediaMetadata {
        func number(_ name: String) -> Int? {
            values[name].flatMap { Int($0.prefix { $0.isASCII && $0.isNumber }) }
        }
        return MediaMetadata(
            kind: .music, title: values["TITLE"], subtitle: values["SUBTITLE"], artist: values["ARTIST"],
            album: values["ALBUM"], albumArtist: values["ALBUMARTIST"] ?? values["ALBUM ARTIST"],
            composer: values["COMPOSER"], genre: values["GENRE"], trackNumber: number("TRACKNUMBER"),
            discNumber: number("DISCNUMBER"), releaseDate: values["DATE"] ?? values["YEAR"],
            isExplicit: values["ITUNESADVISORY"].flatMap(Self.explicit),
            language: values["LANGUAGE"].flatMap(LanguageName.tag))
    }
}
