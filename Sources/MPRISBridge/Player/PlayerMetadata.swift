import Foundation
import RouteModel

/// An item as MPRIS writes it, and the other way (`Protocols/mpris`, “Metadata”).
enum PlayerMetadata {
    /// Characters of a text at most: desktops draw a line of it.
    private static let maximumText = 1000
    private static let microsecondsLimit = 9e18

    /// - Parameters:
    ///   - duration: nil where it has no end, or none is known.
    ///   - art: the address of a file.
    static func dictionary(_ item: QueueItem, duration: MediaTime?, art: String?) -> [String: BusValue] {
        let metadata = item.metadata
        var fields: [String: BusValue] = ["mpris:trackid": .path(MPRISName.track(item.id))]
        fields["mpris:length"] = duration.map { .int64(microseconds($0)) }
        fields["mpris:artUrl"] = art.map { .string($0) }
        fields["xesam:title"] = text(item.title).map { .string($0) }
        fields["xesam:artist"] = (text(metadata.artist) ?? text(metadata.seriesTitle)).map { .strings([$0]) }
        fields["xesam:album"] = text(metadata.album).map { .string($0) }
        fields["xesam:albumArtist"] = text(metadata.albumArtist).map { .strings([$0]) }
        fields["xesam:composer"] = text(metadata.composer).map { .strings([$0]) }
        fields["xesam:genre"] = text(metadata.genre).map { .strings([$0]) }
        fields["xesam:comment"] = text(metadata.subtitle).map { .strings([$0]) }
        fields["xesam:trackNumber"] = metadata.trackNumber.flatMap(Int32.init(exactly:)).map { .int32($0) }
        fields["xesam:discNumber"] = metadata.discNumber.flatMap(Int32.init(exactly:)).map { .int32($0) }
        // A year alone is no date.
        if let date = metadata.releaseDate, date.prefix(10).wholeMatch(of: #/\d{4}-\d\d-\d\d/#) != nil {
            fields["xesam:contentCreated"] = text(date).map { .string($0) }
        }
        fields["xesam:url"] = address(item.source).map { .string($0) }
        return fields
    }

    /// Nothing: a track id all the same, which desktops expect.
    static let nothing: [String: BusValue] = ["mpris:trackid": .path(MPRISName.noTrack)]

    static func microseconds(_ time: MediaTime) -> Int64 { time.nanoseconds / 1000 }

    static func time(microseconds: Int64) -> MediaTime { MediaTime(seconds: Double(microseconds) / 1e6) }

    private static func text(_ text: String?) -> String? {
        guard let text else { return nil }
        // A zero would end it on the bus.
        let clean = text.filter { $0 != "\0" }.prefix(maximumText)
        return clean.isEmpty ? nil : String(clean)
    }

    private static func address(_ source: MediaSource) -> String? {
        switch source {
        case .file(let path): URL(filePath: path).absoluteString
        // Without a query or a user, which may be secret.
        case .url: text(source.label)
        case .live: nil
        }
    }

    // MARK: Others' players

    /// What another player says of what it plays, whatever types it writes it in.
    static func read(_ fields: [String: BusValue]) -> (metadata: MediaMetadata, url: String?) {
        func one(_ key: String) -> String? { text(fields[key]?.texts.first) }
        func all(_ key: String) -> String? {
            fields[key].flatMap { text($0.texts.filter { !$0.isEmpty }.joined(separator: ", ")) }
        }
        func number(_ key: String) -> Int? {
            fields[key]?.number.flatMap { (0...99_999).contains($0) ? Int($0) : nil }
        }
        var metadata = MediaMetadata(
            title: one("xesam:title"), artist: all("xesam:artist"), album: one("xesam:album"),
            albumArtist: all("xesam:albumArtist"), composer: all("xesam:composer"), genre: all("xesam:genre"),
            trackNumber: number("xesam:trackNumber"), discNumber: number("xesam:discNumber"),
            releaseDate: one("xesam:contentCreated"))
        if let length = fields["mpris:length"]?.number, length > 0, length < microsecondsLimit {
            metadata.duration = MediaTime(seconds: length / 1e6)
        }
        if let art = fields["mpris:artUrl"]?.text, art.utf8.count <= 8192, art.contains("://") {
            metadata.images = [MediaImage(url: art)]
        }
        if metadata.artist != nil || metadata.album != nil { metadata.kind = .music }
        let url = fields["xesam:url"]?.text.flatMap { $0.utf8.count <= 8192 ? $0 : nil }
        return (metadata, url)
    }
}
