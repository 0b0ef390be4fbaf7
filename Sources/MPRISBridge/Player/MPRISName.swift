import RouteModel

/// Names on the bus (`Protocols/mpris`).
enum MPRISName {
    static let path = "/org/mpris/MediaPlayer2"
    static let root = "org.mpris.MediaPlayer2"
    static let player = "org.mpris.MediaPlayer2.Player"
    static let trackList = "org.mpris.MediaPlayer2.TrackList"
    static let properties = "org.freedesktop.DBus.Properties"
    static let introspectable = "org.freedesktop.DBus.Introspectable"
    /// The track id of nothing.
    static let noTrack = "/org/mpris/MediaPlayer2/TrackList/NoTrack"

    /// What the names of all players begin with, and those of ours.
    static let playerPrefix = root + "."
    static let ownPrefix = playerPrefix + "router."
    /// What the paths of our tracks begin with; not `/org/mpris`, which the specification keeps for itself.
    private static let trackPrefix = "/org/router/track/"
    /// Bytes of a session's id in a name, whose whole length is at most 255.
    private static let maximumElement = 180

    /// The bus name of a session's player.
    static func bus(_ session: SessionID) -> String {
        // An element must not begin with a digit.
        let element = escaped(session.rawValue, keeping: "-")
        return ownPrefix + (element.first?.isNumber ?? true ? "s" + element : element).prefix(maximumElement)
    }

    /// The path of an occurrence of an item.
    static func track(_ item: ItemID) -> String { trackPrefix + escaped(item.rawValue, keeping: "") }

    /// The item that a path is of; nil for what is no path of ours.
    static func item(_ path: String) -> ItemID? {
        guard path.hasPrefix(trackPrefix) else { return nil }
        var bytes: [UInt8] = []
        var rest = path.utf8.dropFirst(trackPrefix.utf8.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "_") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let text = String(rest.prefix(2)), let value = UInt8(text, radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self).map { ItemID(rawValue: $0) }
    }

    /// ASCII letters and digits as they are; all else as `_` and two hex digits.
    private static func escaped(_ text: String, keeping kept: String) -> String {
        text.utf8.reduce(into: "") { result, byte in
            let scalar = Unicode.Scalar(byte)
            if scalar.isASCII, scalar.properties.isAlphabetic || (48...57).contains(byte) || kept.utf8.contains(byte) {
                result.unicodeScalars.append(scalar)
            } else {
                result += "_" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
    }
}
