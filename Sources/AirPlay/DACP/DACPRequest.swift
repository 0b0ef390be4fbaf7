/// A request of a receiver's remote control, as DACP has it (`Protocols/dacp`, “Requests”).
public struct DACPRequest: Sendable, Hashable {
    public enum Content: Sendable, Hashable {
        case command(AirPlayRemoteCommand)
        /// Names of properties whose values are asked for.
        case properties([String])
        /// What plays; a revision other than 1 asks to be answered once something has changed.
        case status(revision: Int)
        /// The speakers that we play to, with their volumes.
        case speakers
    }

    public var content: Content
    /// Whose remote it is; nil where the header is missing, or no number.
    public var activeRemote: UInt32?

    public init(content: Content, activeRemote: UInt32?) {
        self.content = content
        self.activeRemote = activeRemote
    }

    /// The bytes of a request line may be no longer than this, whatever the decoder lets through.
    static let maximumTarget = 2048
    private static let root = "/ctrl-int/1/"

    /// Reads a request. Throws the refusal to answer with.
    public init(_ request: RTSPRequest) throws(DACPRefusal) {
        guard request.uri.utf8.count <= Self.maximumTarget else { throw .malformed }
        guard request.uri.hasPrefix(Self.root) else { throw .unknownCommand }
        guard ["GET", "POST", "PUT"].contains(request.method) else { throw .methodNotAllowed }
        activeRemote = request.headers["Active-Remote"].flatMap { UInt32($0.trimmed) }
        let target = request.uri.dropFirst(Self.root.count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = DACPQuery(target.count > 1 ? target[1] : "")
        content = try Self.content(of: String(target[0]), query)
    }

    private static func content(of name: String, _ query: DACPQuery) throws(DACPRefusal) -> Content {
        switch name {
        case "setproperty": return .command(try command(setting: query))
        case "getproperty":
            let names = (query["properties"] ?? "").split(separator: ",").map(String.init)
            guard !names.isEmpty else { throw .malformed }
            return .properties(names)
        case "playstatusupdate": return .status(revision: query["revision-number"].flatMap { Int($0) } ?? 1)
        case "getspeakers": return .speakers
        default:
            guard let command = commands[name] else { throw .unknownCommand }
            return .command(command)
        }
    }

    static let commands: [String: AirPlayRemoteCommand] = [
        "play": .play, "pause": .pause, "discrete-pause": .pause, "playpause": .toggle, "stop": .stop,
        "nextitem": .next, "previtem": .previous, "beginff": .beginFastForward, "beginrew": .beginRewind,
        "playresume": .endSearch, "volumeup": .volumeUp, "volumedown": .volumeDown, "mutetoggle": .muteToggle,
        "shuffle_songs": .toggleShuffle,
    ]

    /// `setproperty` with the one property that we know; the speaker that may be named beside it is the one that asks.
    private static func command(setting query: DACPQuery) throws(DACPRefusal) -> AirPlayRemoteCommand {
        if let text = query["dmcp.device-volume"] {
            return .setDeviceVolume(try number(text, in: -144...0))
        }
        if let text = query["dmcp.volume"] { return .setVolumePercent(try number(text, in: 0...100)) }
        if let text = query["dmcp.device-prevent-playback"] ?? query["device-prevent-playback"] {
            return .preventPlayback(try flag(text))
        }
        if let text = query["dacp.playingtime"] { return .seek(to: try number(text, in: 0...4_294_967_295) / 1000) }
        if let text = query["dacp.shufflestate"] { return .setShuffle(try flag(text)) }
        if let text = query["dacp.repeatstate"] {
            guard let mode = Int(text).flatMap(AirPlayRepeatMode.init) else { throw .malformed }
            return .setRepeat(mode)
        }
        throw .unknownProperty
    }

    private static func number(_ text: String, in range: ClosedRange<Double>) throws(DACPRefusal) -> Double {
        guard let value = Double(text), range.contains(value) else { throw .malformed }
        return value
    }

    private static func flag(_ text: String) throws(DACPRefusal) -> Bool {
        switch text {
        case "0": false
        case "1": true
        default: throw .malformed
        }
    }
}

/// Why a request is not done: each has its HTTP status.
public enum DACPRefusal: Int, Error, Sendable, Hashable {
    /// A value is missing, no number, or out of its range.
    case malformed = 400
    /// No session of ours has this `Active-Remote`.
    case wrongRemote = 403
    case unknownCommand = 404
    case methodNotAllowed = 405
    /// A property that we do not have.
    case unknownProperty = 501

    public var reason: String {
        switch self {
        case .malformed: "Bad Request"
        case .wrongRemote: "Forbidden"
        case .unknownCommand: "Not Found"
        case .methodNotAllowed: "Method Not Allowed"
        case .unknownProperty: "Not Implemented"
        }
    }
}

/// The query of a target: `name=value` pairs, percent-decoded. The first of a name counts.
struct DACPQuery {
    private var values: [String: String] = [:]

    init(_ text: Substring) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = Self.decoded(parts[0])
            if values[name] == nil { values[name] = parts.count > 1 ? Self.decoded(parts[1]) : "" }
        }
    }

    subscript(name: String) -> String? { values[name] }

    /// What is no percent escape stays as it is.
    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            let digits = rest.dropFirst().prefix(2)
            if byte == 0x25, digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
