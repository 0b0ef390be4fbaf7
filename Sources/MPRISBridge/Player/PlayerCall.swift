import Foundation
import RouteModel

/// What is to be done for a call of the bus.
enum PlayerAction: Sendable, Hashable {
    case command(RemoteCommand)
    /// To the level, and heard: this bus knows no mute.
    case volume(VolumePosition)
    /// Plays an address now, in the session's rooms and its queue.
    case open(String)
    case add(String, after: ItemID?, playing: Bool)
    case remove(ItemID)
    case quit
}

/// A call of the bus, understood without a bus.
enum PlayerCall: Sendable, Hashable {
    case answer([BusValue])
    case refuse(BusFailure)
    case act(PlayerAction)

    static let schemes = ["file", "http", "https"]
    static let mimeTypes = [
        "audio/mpeg", "audio/mp4", "audio/aac", "audio/flac", "audio/ogg", "audio/opus", "audio/x-wav", "audio/webm",
        "video/mp4", "video/webm", "application/vnd.apple.mpegurl", "audio/x-mpegurl", "audio/x-scpls",
        "application/xspf+xml",
    ]
    /// Bytes of an address at most.
    private static let maximumAddress = 8192

    /// - Parameters:
    ///   - interface: nil where the caller left it out, as D-Bus allows.
    ///   - signature: the types of all arguments.
    init(
        interface: String?, member: String, signature: String, arguments: [BusValue], state: PlayerState, now: Int64
    ) {
        guard let interface = interface ?? PlayerInterface.all.first(where: { $0.method(member) != nil })?.name,
            let known = PlayerInterface.named(interface)
        else {
            self = .refuse(
                BusFailure(
                    BusFailure.Name.unknownInterface, "a player has no interface \(interface ?? "with \(member)")"))
            return
        }
        guard let method = known.method(member) else {
            self = .refuse(BusFailure(BusFailure.Name.unknownMethod, "\(interface) has no method \(member)"))
            return
        }
        guard method.signature == signature else {
            let wanted = method.takes.map { "\($0.name) (\($0.type))" }.joined(separator: ", ")
            self = .invalid(
                "\(member) takes \(wanted.isEmpty ? "nothing" : wanted), and was given "
                    + (signature.isEmpty ? "nothing" : signature))
            return
        }
        self =
            switch interface {
            case MPRISName.root: member == "Quit" ? .act(.quit) : .answer([])
            case MPRISName.player: Self.player(member, arguments, state, now)
            case MPRISName.trackList: Self.trackList(member, arguments, state)
            case MPRISName.properties: Self.properties(member, arguments, state, now)
            default: .answer([.string(PlayerInterface.document)])
            }
    }

    static func invalid(_ message: String) -> PlayerCall {
        .refuse(BusFailure(BusFailure.Name.invalidArguments, message))
    }

    // MARK: Player

    private static func player(
        _ member: String, _ arguments: [BusValue], _ state: PlayerState, _ now: Int64
    ) -> PlayerCall {
        switch (member, arguments.first) {
        case ("Next", _): .act(.command(.next))
        case ("Previous", _): .act(.command(.previous))
        case ("Pause", _): .act(.command(.pause))
        case ("PlayPause", _): .act(.command(.toggle))
        case ("Stop", _): .act(.command(.stop))
        case ("Play", _): .act(.command(.play))
        case ("Seek", .int64(let offset)?): seek(by: offset, state, now)
        case ("SetPosition", .path(let track)?): seek(to: arguments.last, of: track, state)
        case ("OpenUri", .string(let uri)?): address(uri).map { .act(.open($0)) } ?? noAddress(uri)
        default: invalid("\(member) was given something that cannot be read")
        }
    }

    private static func seek(by offset: Int64, _ state: PlayerState, _ now: Int64) -> PlayerCall {
        guard state.canSeek else { return .answer([]) }
        let delta = PlayerMetadata.time(microseconds: offset)
        // Beyond the end means the next track.
        if let duration = state.duration, state.position(at: now) + delta > duration {
            return .act(.command(.next))
        }
        return .act(.command(.seekBy(delta)))
    }

    /// What is stale, or out of the track, has no effect.
    private static func seek(to position: BusValue?, of track: String, _ state: PlayerState) -> PlayerCall {
        guard case .int64(let microseconds)? = position else { return invalid("SetPosition takes a Position (x)") }
        let time = PlayerMetadata.time(microseconds: microseconds)
        guard state.canSeek, track == state.currentPath, time >= .zero, time <= state.duration ?? time else {
            return .answer([])
        }
        return .act(.command(.seek(to: time)))
    }

    /// One that a player takes; nil for any other.
    private static func address(_ text: String) -> String? {
        guard text.utf8.count <= maximumAddress, let end = text.range(of: "://"),
            schemes.contains(text[..<end.lowerBound].lowercased()), end.upperBound < text.endIndex
        else { return nil }
        return text
    }

    private static func noAddress(_ text: String) -> PlayerCall {
        let shown = text.utf8.count <= 200 ? "“\(MediaSource.url(text).label)”" : "that"
        return invalid("\(shown) is no address of \(schemes.map { "\($0)://" }.joined(separator: ", "))")
    }

    // MARK: Track list

    private static func trackList(_ member: String, _ arguments: [BusValue], _ state: PlayerState) -> PlayerCall {
        switch (member, arguments.first) {
        case ("GetTracksMetadata", .paths(let paths)?):
            let wanted = Set(paths)
            return .answer([
                .dictionaries(
                    state.tracks.filter { wanted.contains(MPRISName.track($0.id)) }.map { state.metadata(of: $0) })
            ])
        case ("AddTrack", .string(let uri)?):
            guard case .path(let after) = arguments[1], case .boolean(let playing) = arguments[2] else { break }
            guard let uri = address(uri) else { return noAddress(uri) }
            guard after == MPRISName.noTrack || MPRISName.item(after) != nil else {
                return invalid("\(after) is no track of this player")
            }
            return .act(.add(uri, after: MPRISName.item(after), playing: playing))
        case ("RemoveTrack", .path(let track)?): return MPRISName.item(track).map { .act(.remove($0)) } ?? .answer([])
        // What is not in the list has no effect.
        case ("GoTo", .path(let track)?):
            guard let item = MPRISName.item(track), state.tracks.contains(where: { $0.id == item }) else {
                return .answer([])
            }
            return .act(.command(.jump(item)))
        default: break
        }
        return invalid("\(member) was given something that cannot be read")
    }

    // MARK: Properties

    private static func properties(
        _ member: String, _ arguments: [BusValue], _ state: PlayerState, _ now: Int64
    ) -> PlayerCall {
        guard case .string(let interface)? = arguments.first,
            let all = state.properties(of: interface, at: now), let known = PlayerInterface.named(interface)
        else {
            return .refuse(
                BusFailure(
                    BusFailure.Name.unknownInterface,
                    "a player has no interface \(arguments.first?.text.map { String($0.prefix(200)) } ?? "")"))
        }
        if member == "GetAll" { return .answer([.dictionary(all)]) }
        guard case .string(let name) = arguments[1], let property = known.property(name), let value = all[name] else {
            return .refuse(
                BusFailure(
                    BusFailure.Name.unknownProperty,
                    "\(interface) has no property \(arguments[1].text.map { String($0.prefix(200)) } ?? "")"))
        }
        if member == "Get" { return .answer([.variant(value)]) }
        guard property.isWritable else {
            return .refuse(BusFailure(BusFailure.Name.readOnly, "\(name) can only be read"))
        }
        guard case .variant(let wanted) = arguments[2], wanted.signature == property.type else {
            return invalid("\(name) is of type \(property.type)")
        }
        return set(name, to: wanted, state)
    }

    private static func set(_ name: String, to value: BusValue, _ state: PlayerState) -> PlayerCall {
        switch (name, value) {
        case ("LoopStatus", .string(let text)):
            RepeatMode(loopStatus: text).map { .act(.command(.repeatMode($0))) }
                ?? invalid("LoopStatus is None, Track or Playlist")
        case ("Shuffle", .boolean(let on)): .act(.command(.shuffle(on)))
        // As the specification has it: no rate at all is a pause.
        case ("Rate", .double(0)): .act(.command(.pause))
        case ("Rate", .double(let rate)) where rate == state.rate: .answer([])
        case ("Rate", .double(let rate)) where state.rates.contains(rate): .act(.command(.rate(rate)))
        case ("Rate", _):
            invalid("Rate is from \(state.rates.lowerBound) to \(state.rates.upperBound) here")
        case ("Volume", .double(let level)) where !level.isNaN: .act(.volume(VolumePosition(level)))
        default: invalid("\(name) cannot be that")
        }
    }
}
