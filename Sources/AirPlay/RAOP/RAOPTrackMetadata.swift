/// A track's titles as RAOP carries them (`Protocols/airplay/README.md`, “Metadata”).
public struct RAOPTrackMetadata: Sendable, Hashable {
    public static let contentType = "application/x-dmap-tagged"

    /// Stays the same for one item and differs between items.
    public var persistentID: UInt64
    public var title: String?
    public var artist: String?
    public var album: String?
    public var albumArtist: String?
    public var genre: String?
    public var composer: String?
    public var trackNumber: Int?
    public var discNumber: Int?
    public var year: Int?
    public var durationMilliseconds: Int?

    public init(persistentID: UInt64) { self.persistentID = persistentID }

    /// Empty titles are sent: without, a receiver keeps those of the track before.
    public var item: DMAPItem {
        var items = [
            DMAPItem("mikd", UInt8(2)), DMAPItem("miid", UInt32(truncatingIfNeeded: persistentID)),
            DMAPItem("mper", persistentID), DMAPItem("minm", title ?? ""), DMAPItem("asar", artist ?? ""),
            DMAPItem("asal", album ?? ""),
        ]
        if let albumArtist { items.append(DMAPItem("asaa", albumArtist)) }
        if let genre { items.append(DMAPItem("asgn", genre)) }
        if let composer { items.append(DMAPItem("ascp", composer)) }
        if let trackNumber { items.append(DMAPItem("astn", UInt16(clamping: trackNumber))) }
        if let discNumber { items.append(DMAPItem("asdn", UInt16(clamping: discNumber))) }
        if let year { items.append(DMAPItem("asyr", UInt16(clamping: year))) }
        if let durationMilliseconds { items.append(DMAPItem("astm", UInt32(clamping: durationMilliseconds))) }
        return DMAPItem("mlit", items)
    }
}
