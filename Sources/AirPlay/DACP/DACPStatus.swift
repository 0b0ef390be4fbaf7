/// What a remote control may ask about a session (`Protocols/dacp`, “Answers”).
public struct DACPStatus: Sendable, Hashable {
    public enum Playing: UInt8, Sendable, Hashable {
        case stopped = 2
        case paused = 3
        case playing = 4
    }

    public var playing: Playing
    /// The room's level, 0 to 100.
    public var volumePercent: Int
    /// How the room is called.
    public var name: String
    /// Nil where it is not known, and not told then: shairport-sync 3.3.8 says back what it is told, as a command.
    public var shuffle: Bool?
    public var repeatMode: AirPlayRepeatMode?
    public var title: String?
    public var artist: String?
    public var album: String?
    public var durationMilliseconds: Int?

    public init(
        playing: Playing = .stopped, volumePercent: Int = 0, name: String = "", shuffle: Bool? = nil,
        repeatMode: AirPlayRepeatMode? = nil, title: String? = nil, artist: String? = nil, album: String? = nil,
        durationMilliseconds: Int? = nil
    ) {
        self.playing = playing
        self.volumePercent = volumePercent
        self.name = name
        self.shuffle = shuffle
        self.repeatMode = repeatMode
        self.title = title
        self.artist = artist
        self.album = album
        self.durationMilliseconds = durationMilliseconds
    }

    private var volume: UInt32 { UInt32(min(100, max(0, volumePercent))) }

    /// The answer to `getproperty`: those properties that there are. Throws where there is none of them.
    public func properties(_ names: [String]) throws(DACPRefusal) -> DMAPItem {
        let items = names.compactMap { name -> DMAPItem? in
            switch name {
            case "dmcp.volume": DMAPItem("cmvo", volume)
            case "dacp.playerstate": DMAPItem("caps", playing.rawValue)
            case "dacp.shufflestate": shuffleItem
            case "dacp.repeatstate": repeatItem
            default: nil
            }
        }
        guard !items.isEmpty else { throw .unknownProperty }
        return DMAPItem("cmgt", [Self.done] + items)
    }

    /// The answer to `playstatusupdate`.
    public func update(revision: UInt32) -> DMAPItem {
        var items = [Self.done, DMAPItem("cmsr", revision), DMAPItem("caps", playing.rawValue)]
        items += [shuffleItem, repeatItem].compactMap(\.self)
        if let title { items.append(DMAPItem("cann", title)) }
        if let artist { items.append(DMAPItem("cana", artist)) }
        if let album { items.append(DMAPItem("canl", album)) }
        if let durationMilliseconds { items.append(DMAPItem("astm", UInt32(clamping: durationMilliseconds))) }
        return DMAPItem("cmst", items)
    }

    /// The answer to `getspeakers`: the one room whose remote asks.
    public var speakers: DMAPItem {
        DMAPItem(
            "casp",
            [
                Self.done,
                DMAPItem(
                    "mdcl",
                    [
                        DMAPItem("caia", UInt8(1)), DMAPItem("minm", name), DMAPItem("msma", UInt64(0)),
                        DMAPItem("cmvo", volume),
                    ]),
            ])
    }

    private var shuffleItem: DMAPItem? { shuffle.map { DMAPItem("cash", UInt8($0 ? 1 : 0)) } }
    private var repeatItem: DMAPItem? { repeatMode.map { DMAPItem("carp", UInt8($0.rawValue)) } }

    private static var done: DMAPItem { DMAPItem("mstt", UInt32(200)) }
}
