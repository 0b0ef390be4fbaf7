import RouteModel

/// A request's body that says more of its fields than their types do. Where it is a choice among several, a field is named
/// with the choice before it: `seek.to`.
protocol RefinedSchema {
    static var refinements: [String: JSONSchema] { get }
}

private let place = JSONSchema.string(lengths: 0...4096)
private let word = JSONSchema.string(lengths: 1...4096)
private let shortName = JSONSchema.string(lengths: 1...256)
private let roomNames = JSONSchema.array(shortName, atMost: 64)
private let words = JSONSchema.array(word, atMost: 10_000)
private let fromZero = JSONSchema.number(0...SchemaTable.seconds.upperBound)

/// What to play, where and how; what is left out is as `PlayRequest` has it.
public struct PlayBody: Codable, Sendable, Hashable, RefinedSchema {
    public var what: [String]?
    public var rooms: [String]?
    public var via: ViaPreference?
    public var volume: VolumePosition?
    public var start: MediaTime?
    public var workingDirectory: String?
    public var subtitles: SubtitleRequest?
    public var rate: Double?
    public var repeatMode: RepeatMode?
    public var shuffle: Bool?
    public var context: Bool?
    public var savedQueue: String?
    public var failurePolicy: FailurePolicy?
    /// False: no picture is to be shown on receivers.
    public var externalPlayback: Bool?
    /// What some of these are shown as.
    public var descriptions: [MediaDescription]?
    /// True loads it, and does not begin: a command does.
    public var paused: Bool?

    public init(_ request: PlayRequest) {
        what = request.what
        rooms = request.rooms
        via = request.via
        volume = request.volume
        start = request.start
        workingDirectory = request.workingDirectory
        subtitles = request.subtitles
        rate = request.rate
        repeatMode = request.repeatMode
        shuffle = request.shuffle
        context = request.context
        savedQueue = request.savedQueue
        failurePolicy = request.failurePolicy
        externalPlayback = request.externalPlayback
        descriptions = request.descriptions
        paused = request.paused
    }

    public var request: PlayRequest {
        PlayRequest(
            what: what ?? [], rooms: rooms ?? [], via: via ?? .auto, volume: volume, start: start ?? .zero,
            workingDirectory: workingDirectory ?? "/", subtitles: subtitles, rate: rate ?? 1,
            repeatMode: repeatMode ?? .off, shuffle: shuffle ?? false, context: context, savedQueue: savedQueue,
            failurePolicy: failurePolicy, externalPlayback: externalPlayback, descriptions: descriptions,
            paused: paused)
    }

    static var refinements: [String: JSONSchema] {
        [
            "what": words, "rooms": roomNames, "start": fromZero, "workingDirectory": place,
            "rate": .number(PlaybackRate.range), "savedQueue": .string(lengths: 1...64),
        ]
    }
}

public struct DiscoveryBody: Codable, Sendable, Hashable {
    public var activity: DiscoveryActivity

    public init(activity: DiscoveryActivity) { self.activity = activity }
}

/// A room as a person makes it.
public struct RoomBody: Codable, Sendable, Hashable, RefinedSchema {
    public var name: String
    public var devices: [String]
    public var aliases: [String]?
    public var via: ViaPreference?
    public var volumeLimit: VolumePosition?
    public var offsetMilliseconds: Int?
    public var quietHours: QuietHours?
    public var startVolume: StartVolume?
    public var volumeCurve: VolumeCurve?

    public init(_ room: Room) {
        name = room.name
        devices = room.devices
        aliases = room.aliases
        via = room.via
        volumeLimit = room.volumeLimit
        offsetMilliseconds = room.offsetMilliseconds
        quietHours = room.quietHours
        startVolume = room.startVolume
        volumeCurve = room.volumeCurve
    }

    public var room: Room {
        Room(
            name: name, aliases: aliases ?? [], devices: devices, via: via ?? .auto, volumeLimit: volumeLimit,
            offsetMilliseconds: offsetMilliseconds ?? 0, quietHours: quietHours, startVolume: startVolume,
            volumeCurve: volumeCurve)
    }

    static var refinements: [String: JSONSchema] {
        [
            "name": .string(lengths: 1...64), "devices": .array(word, atMost: 64),
            "aliases": .array(.string(lengths: 1...64), atMost: 32), "offsetMilliseconds": .integer(-5000...5000),
            "quietHours": .object([
                .init("from", .integer(0...1439)), .init("to", .integer(0...1439)), .init("limit", .number(0...1)),
            ]),
        ]
    }
}

/// The rooms of a group, which the path names.
public struct GroupBody: Codable, Sendable, Hashable, RefinedSchema {
    public var rooms: [String]
    public var trims: [String: Double]?

    public init(_ group: RoomGroup) {
        rooms = group.rooms
        trims = group.trims
    }

    static var refinements: [String: JSONSchema] {
        ["rooms": roomNames, "trims": .map(.number(0...1))]
    }
}

public struct RoomsBody: Codable, Sendable, Hashable, RefinedSchema {
    public var rooms: [String]

    public init(rooms: [String]) { self.rooms = rooms }

    static var refinements: [String: JSONSchema] { ["rooms": roomNames] }
}

/// Who a client says that it asks for. Devices and other senders speak by other ways.
public enum ClientOrigin: String, Codable, Sendable, Hashable, CaseIterable {
    case cli, api, web, mpris, scene

    public init(_ origin: CommandOrigin) {
        switch origin {
        case .cli: self = .cli
        case .web: self = .web
        case .mpris: self = .mpris
        case .scene: self = .scene
        case .api, .device, .otherSender, .system: self = .api
        }
    }

    public var origin: CommandOrigin {
        switch self {
        case .cli: .cli
        case .api: .api
        case .web: .web
        case .mpris: .mpris
        case .scene: .scene
        }
    }
}

public struct CommandBody: Codable, Sendable, Hashable, RefinedSchema {
    public var command: RemoteCommand
    /// `api` if it is not given.
    public var origin: ClientOrigin?
    /// As `CommandTerms` has them.
    public var expected: ItemID?
    public var within: MediaTime?

    public init(command: RemoteCommand, origin: ClientOrigin? = nil, terms: CommandTerms = CommandTerms()) {
        self.command = command
        self.origin = origin
        expected = terms.expected
        within = terms.within
    }

    public var terms: CommandTerms { CommandTerms(expected: expected, within: within) }

    static var refinements: [String: JSONSchema] {
        ["expected": .string(lengths: 1...128), "within": .number(CommandTerms.seconds)]
    }
}

extension RemoteCommand: RefinedSchema {
    static var refinements: [String: JSONSchema] { ["seek.to": fromZero, "stepVolume.by": .number(-1...1)] }
}

public struct EditBody: Codable, Sendable, Hashable, RefinedSchema {
    public var edit: QueueEdit
    public var workingDirectory: String?

    public init(edit: QueueEdit, workingDirectory: String? = nil) {
        self.edit = edit
        self.workingDirectory = workingDirectory
    }

    static var refinements: [String: JSONSchema] { ["workingDirectory": place] }
}

public struct SaveQueueBody: Codable, Sendable, Hashable {
    /// The only one, if it is not given.
    public var session: SessionID?

    public init(session: SessionID?) { self.session = session }
}

public struct TransferBody: Codable, Sendable, Hashable, RefinedSchema {
    public var rooms: [String]
    /// `move` if it is not given.
    public var kind: TransferRequest.Kind?
    public var preflight: Bool?

    public init(_ request: TransferRequest) {
        rooms = request.rooms
        kind = request.kind
        preflight = request.preflight
    }

    public func request(session: SessionID?) -> TransferRequest {
        TransferRequest(kind ?? .move, session: session, rooms: rooms, preflight: preflight ?? false)
    }

    static var refinements: [String: JSONSchema] { ["rooms": roomNames] }
}

public struct AnnounceBody: Codable, Sendable, Hashable, RefinedSchema {
    public var what: String
    public var rooms: [String]?
    public var volume: VolumePosition?
    public var priority: AnnounceRequest.Priority?
    public var deadline: MediaTime?
    public var workingDirectory: String?

    public init(_ request: AnnounceRequest) {
        what = request.what
        rooms = request.rooms
        volume = request.volume
        priority = request.priority
        deadline = request.deadline
        workingDirectory = request.workingDirectory
    }

    public var request: AnnounceRequest {
        AnnounceRequest(
            what: what, rooms: rooms ?? [], volume: volume, priority: priority ?? .high,
            deadline: deadline ?? MediaTime(seconds: 60), workingDirectory: workingDirectory ?? "/")
    }

    static var refinements: [String: JSONSchema] {
        [
            "what": word, "rooms": roomNames, "deadline": .number(1...600),
            "workingDirectory": place,
        ]
    }
}

public struct PairBody: Codable, Sendable, Hashable, RefinedSchema {
    /// A room, device or id.
    public var device: String

    public init(device: String) { self.device = device }

    static var refinements: [String: JSONSchema] { ["device": shortName] }
}

public struct CodeBody: Codable, Sendable, Hashable, RefinedSchema {
    /// Secret.
    public var code: String

    public init(code: String) { self.code = code }

    static var refinements: [String: JSONSchema] { ["code": shortName] }
}

public struct SceneBody: Codable, Sendable, Hashable, RefinedSchema {
    /// Of the text.
    public static let maximumText = 256 << 10
    /// With what JSON adds to it.
    static let maximumBody = 2 * maximumText

    public var text: String
    public var path: String?
    public var values: [String: String]?
    public var workingDirectory: String?

    public init(_ request: SceneRequest) {
        text = request.text
        path = request.path
        values = request.values
        workingDirectory = request.workingDirectory
    }

    public var request: SceneRequest {
        SceneRequest(
            text: text, path: path ?? "scene.yaml", values: values ?? [:], workingDirectory: workingDirectory ?? "/")
    }

    static var refinements: [String: JSONSchema] {
        [
            "text": .string(lengths: 1...maximumText), "path": .string(lengths: 1...4096),
            "values": .map(.string(lengths: 0...4096)), "workingDirectory": place,
        ]
    }
}

/// A schedule, whose id the path names.
public struct ScheduleBody: Codable, Sendable, Hashable {
    public var trigger: SceneSchedule.Trigger
    public var scene: SceneBody
    public var enabled: Bool?

    public init(_ schedule: SceneSchedule) {
        trigger = schedule.trigger
        scene = SceneBody(schedule.scene)
        enabled = schedule.enabled
    }

    public func schedule(id: String) -> SceneSchedule {
        SceneSchedule(id: id, trigger: trigger, scene: scene.request, enabled: enabled ?? true)
    }
}
