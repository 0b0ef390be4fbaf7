import RouteModel

/// One kind of document that lists tracks (C24): a playlist's format, a podcast's feed, a store's chart.
///
/// Reads bytes and reaches for nothing: `MediaExpander` fetches the document and looks after what it names. Folders are no
/// documents and are read there.
protocol TrackSource: Sendable {
    /// For people: “playlist”.
    var name: String { get }
    /// Of file names, in lower case.
    var extensions: Set<String> { get }
    /// MIME types in lower case, without parameters.
    var contentTypes: Set<String> { get }

    /// Whether a document whose name or type several kinds share is of this one, by its content.
    func claims(_ bytes: [UInt8]) -> Bool

    /// Throws `Playlist.Failure`.
    func read(_ bytes: [UInt8]) throws -> Playlist
}

extension TrackSource {
    func claims(_ bytes: [UInt8]) -> Bool { true }
}

/// The kinds that there are.
enum TrackSources {
    static let all: [any TrackSource] = [
        M3USource(), PLSSource(), XSPFSource(), PodcastFeed(), ChartFeed(),
    ]

    /// Those that a name's extension may stand for; empty for what is no list.
    static func named(_ fileExtension: String) -> [any TrackSource] {
        all.filter { $0.extensions.contains(fileExtension.lowercased()) }
    }

    /// Those that a server's word may stand for.
    static func typed(_ contentType: String) -> [any TrackSource] {
        let bare = contentType.split(separator: ";").first.map { $0.filter { !$0.isWhitespace }.lowercased() } ?? ""
        return all.filter { $0.contentTypes.contains(bare) }
    }

    /// The one among several that a document is of; the first where none of them claims it, which then says what is wrong.
    static func choose(_ sources: [any TrackSource], _ bytes: [UInt8]) -> (any TrackSource)? {
        sources.count > 1 ? sources.first { $0.claims(bytes) } ?? sources.first : sources.first
    }
}

/// A document that was fetched, which its server calls a list of tracks.
struct TrackDocument: Sendable {
    var sources: [any TrackSource]
    var bytes: [UInt8]
}

// MARK: Playlists

struct M3USource: TrackSource {
    let name = "playlist"
    let extensions: Set = ["m3u", "m3u8"]
    // Not the type of HTTP Live Streaming: that is one item.
    let contentTypes: Set = ["audio/x-mpegurl", "audio/mpegurl", "audio/m3u"]
    func read(_ bytes: [UInt8]) throws -> Playlist { try M3UPlaylist.parse(try Playlist.text(bytes)) }
}

struct PLSSource: TrackSource {
    let name = "playlist"
    let extensions: Set = ["pls"]
    let contentTypes: Set = ["audio/x-scpls", "application/pls+xml"]
    func read(_ bytes: [UInt8]) throws -> Playlist { try PLSPlaylist.parse(try Playlist.text(bytes)) }
}

struct XSPFSource: TrackSource {
    let name = "playlist"
    let extensions: Set = ["xspf", "xml"]
    let contentTypes: Set = ["application/xspf+xml", "application/xml", "text/xml"]
    func claims(_ bytes: [UInt8]) -> Bool { XMLDocument.root(bytes) == "playlist" }
    func read(_ bytes: [UInt8]) throws -> Playlist { try XSPFPlaylist.parse(bytes) }
}
