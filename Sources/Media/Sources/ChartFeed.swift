import Foundation
import RouteModel

/// A chart: the JSON that a store's search gives, songs with an address to hear a part of each (the iTunes Search API's
/// keys). Other things among the results, and songs that cannot be heard, are left out.
struct ChartFeed: TrackSource {
    let name = "chart"
    let extensions: Set = ["json"]
    let contentTypes: Set = ["application/json", "text/javascript", "application/javascript"]

    private struct Answer: Decodable {
        var results: [Result]
    }

    /// Each may be anything: one that is odd does not spoil the others.
    private struct Result: Decodable {
        var song: Song?
        init(from decoder: any Decoder) throws { song = try? Song(from: decoder) }
    }

    private struct Song: Decodable {
        var trackName: String
        var previewUrl: String
        var artistName: String?
        var collectionName: String?
        var collectionArtistName: String?
        var artworkUrl100: String?
        var trackTimeMillis: Double?
        var trackNumber: Int?
        var discNumber: Int?
        var primaryGenreName: String?
        var releaseDate: String?
        var kind: String?
        var trackExplicitness: String?
    }

    func read(_ bytes: [UInt8]) throws -> Playlist {
        var bytes = bytes[...]
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        guard !Self.isDeep(bytes) else { throw Playlist.Failure.malformed("its values are nested too deep") }
        let answer: Answer
        do {
            answer = try JSONDecoder().decode(Answer.self, from: Data(bytes))
        } catch DecodingError.dataCorrupted {
            throw Playlist.Failure.malformed("not JSON")
        } catch {
            throw Playlist.Failure.malformed("no list of “results”")
        }
        return Playlist(
            entries: answer.results.lazy.compactMap(\.song).prefix(Playlist.maximumEntries).map(Self.entry))
    }

    private static func entry(_ song: Song) -> Playlist.Entry {
        var metadata = MediaMetadata(kind: song.kind == "podcast-episode" ? .podcastEpisode : .music)
        metadata.title = Playlist.clean(song.trackName)
        metadata.artist = song.artistName.flatMap { Playlist.clean($0) }
        metadata.album = song.collectionName.flatMap { Playlist.clean($0) }
        metadata.albumArtist = song.collectionArtistName.flatMap { Playlist.clean($0) }
        metadata.genre = song.primaryGenreName.flatMap { Playlist.clean($0) }
        metadata.trackNumber = song.trackNumber
        metadata.discNumber = song.discNumber
        metadata.isExplicit = song.trackExplicitness.flatMap {
            $0 == "explicit" ? true : $0 == "notExplicit" || $0 == "cleaned" ? false : nil
        }
        metadata.releaseDate = song.releaseDate.map { String($0.prefix(10)) }
        // The song's own length, as the store says it: what can be heard may be less.
        if let milliseconds = song.trackTimeMillis, milliseconds > 0, milliseconds < 1e11 {
            metadata.duration = MediaTime(seconds: milliseconds / 1000)
        }
        if let artwork = song.artworkUrl100 { metadata.images = [MediaImage(url: artwork, width: 100, height: 100)] }
        return Playlist.Entry(location: song.previewUrl, metadata: metadata)
    }

    /// A decoder goes down with every bracket, and a document of nothing else would take the stack.
    private static func isDeep(_ bytes: ArraySlice<UInt8>) -> Bool {
        var depth = 0
        var isText = false
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                isEscaped = false
            } else if isText {
                if byte == UInt8(ascii: "\\") { isEscaped = true } else if byte == UInt8(ascii: "\"") { isText = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isText = true
                case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
                case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
                default: break
                }
                if depth > 64 { return true }
            }
        }
        return false
    }
}
