/// A choice among several, in JSON an object whose `type` says which: `{"type": "seek", "to": 12.5}`.
///
/// The compiler's own form has a key `_0` for each value without a label, which is no contract with anybody.
public protocol TaggedCodable: Codable {
    /// Every `type` that there is.
    static var tags: [String] { get }
}

/// Keys of what is coded by hand.
struct TaggedKey: CodingKey, ExpressibleByStringLiteral {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringLiteral value: String) { stringValue = value }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    static let type: TaggedKey = "type"
}

func unknownTag(
    _ tag: String, of type: any TaggedCodable.Type, in fields: KeyedDecodingContainer<TaggedKey>
) -> DecodingError {
    .dataCorruptedError(
        forKey: .type, in: fields, debugDescription: "“\(tag)” is none of \(type.tags.joined(separator: ", "))")
}

extension RemoteCommand: TaggedCodable {
    public static let tags = [
        "play", "pause", "toggle", "stop", "next", "previous", "seek", "seekBy", "setVolume", "stepVolume", "mute",
        "setStreamVolume", "rate", "jump", "shuffle", "toggleShuffle", "repeat", "selectTracks", "skipAd", "trim",
        "linkVolumes", "fade",
    ]

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: TaggedKey.self)
        let tag = try fields.decode(String.self, forKey: .type)
        switch tag {
        case "play": self = .play
        case "pause": self = .pause
        case "toggle": self = .toggle
        case "stop": self = .stop
        case "next": self = .next
        case "previous": self = .previous
        case "seek": self = .seek(to: try fields.decode(MediaTime.self, forKey: "to"))
        case "seekBy": self = .seekBy(try fields.decode(MediaTime.self, forKey: "by"))
        case "setVolume":
            self = .setVolume(
                try fields.decode(VolumePosition.self, forKey: "level"),
                room: try fields.decodeIfPresent(String.self, forKey: "room"))
        case "stepVolume":
            self = .stepVolume(
                try fields.decode(Double.self, forKey: "by"),
                room: try fields.decodeIfPresent(String.self, forKey: "room"))
        case "mute":
            self = .mute(
                try fields.decode(Bool.self, forKey: "muted"),
                room: try fields.decodeIfPresent(String.self, forKey: "room"))
        case "setStreamVolume":
            self = .setStreamVolume(
                try fields.decode(VolumePosition.self, forKey: "level"),
                room: try fields.decodeIfPresent(String.self, forKey: "room"))
        case "rate": self = .rate(try fields.decode(Double.self, forKey: "rate"))
        case "jump": self = .jump(try fields.decode(ItemID.self, forKey: "item"))
        case "shuffle": self = .shuffle(try fields.decode(Bool.self, forKey: "on"))
        case "toggleShuffle": self = .toggleShuffle
        case "repeat": self = .repeatMode(try fields.decode(RepeatMode.self, forKey: "mode"))
        case "selectTracks": self = .selectTracks(try fields.decode([Int].self, forKey: "tracks"))
        case "skipAd": self = .skipAd
        case "trim":
            self = .trim(
                try fields.decode(Double.self, forKey: "trim"), room: try fields.decode(String.self, forKey: "room"))
        case "linkVolumes": self = .linkVolumes(try fields.decode(Bool.self, forKey: "on"))
        case "fade":
            self = .fade(
                to: try fields.decode(VolumePosition.self, forKey: "to"),
                over: try fields.decode(MediaTime.self, forKey: "over"),
                room: try fields.decodeIfPresent(String.self, forKey: "room"))
        default: throw unknownTag(tag, of: Self.self, in: fields)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: TaggedKey.self)
        func tag(_ name: String) throws { try fields.encode(name, forKey: .type) }
        switch self {
        case .play: try tag("play")
        case .pause: try tag("pause")
        case .toggle: try tag("toggle")
        case .stop: try tag("stop")
        case .next: try tag("next")
        case .previous: try tag("previous")
        case .seek(let time):
            try tag("seek")
            try fields.encode(time, forKey: "to")
        case .seekBy(let time):
            try tag("seekBy")
            try fields.encode(time, forKey: "by")
        case .setVolume(let level, let room):
            try tag("setVolume")
            try fields.encode(level, forKey: "level")
            try fields.encodeIfPresent(room, forKey: "room")
        case .stepVolume(let step, let room):
            try tag("stepVolume")
            try fields.encode(step, forKey: "by")
            try fields.encodeIfPresent(room, forKey: "room")
        case .mute(let muted, let room):
            try tag("mute")
            try fields.encode(muted, forKey: "muted")
            try fields.encodeIfPresent(room, forKey: "room")
        case .setStreamVolume(let level, let room):
            try tag("setStreamVolume")
            try fields.encode(level, forKey: "level")
            try fields.encodeIfPresent(room, forKey: "room")
        case .rate(let rate):
            try tag("rate")
            try fields.encode(rate, forKey: "rate")
        case .jump(let item):
            try tag("jump")
            try fields.encode(item, forKey: "item")
        case .shuffle(let on):
            try tag("shuffle")
            try fields.encode(on, forKey: "on")
        case .toggleShuffle: try tag("toggleShuffle")
        case .repeatMode(let mode):
            try tag("repeat")
            try fields.encode(mode, forKey: "mode")
        case .selectTracks(let tracks):
            try tag("selectTracks")
            try fields.encode(tracks, forKey: "tracks")
        case .skipAd: try tag("skipAd")
        case .trim(let trim, let room):
            try tag("trim")
            try fields.encode(trim, forKey: "trim")
            try fields.encode(room, forKey: "room")
        case .linkVolumes(let on):
            try tag("linkVolumes")
            try fields.encode(on, forKey: "on")
        case .fade(let level, let time, let room):
            try tag("fade")
            try fields.encode(level, forKey: "to")
            try fields.encode(time, forKey: "over")
            try fields.encodeIfPresent(room, forKey: "room")
        }
    }
}

extension CommandOrigin: TaggedCodable {
    public static let tags = ["cli", "api", "web", "mpris", "scene", "device", "otherSender", "system"]

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: TaggedKey.self)
        // Queues that were stored before have the compiler's form, in which the only key is the case's name.
        let tag =
            try fields.decodeIfPresent(String.self, forKey: .type) ?? fields.allKeys.first?.stringValue ?? ""
        switch tag {
        case "cli": self = .cli
        case "api": self = .api
        case "web": self = .web
        case "mpris": self = .mpris
        case "scene": self = .scene
        case "device":
            if let route = try fields.decodeIfPresent(RouteID.self, forKey: "route") {
                self = .device(route)
            } else {
                let inner = try fields.nestedContainer(keyedBy: TaggedKey.self, forKey: "device")
                self = .device(try inner.decode(RouteID.self, forKey: "_0"))
            }
        case "otherSender": self = .otherSender
        case "system": self = .system
        default: throw unknownTag(tag, of: Self.self, in: fields)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: TaggedKey.self)
        let tag =
            switch self {
            case .cli: "cli"
            case .api: "api"
            case .web: "web"
            case .mpris: "mpris"
            case .scene: "scene"
            case .device: "device"
            case .otherSender: "otherSender"
            case .system: "system"
            }
        try fields.encode(tag, forKey: .type)
        if case .device(let route) = self { try fields.encode(route, forKey: "route") }
    }
}

extension CommandOutcome: TaggedCodable {
    public static let tags = [
        "succeeded", "accepted", "unverified", "superseded", "noSuchContent", "noActionableItem", "deviceNotFound",
        "unsupported", "denied", "timedOut", "failed",
    ]

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: TaggedKey.self)
        let tag = try fields.decode(String.self, forKey: .type)
        switch tag {
        case "succeeded": self = .succeeded
        case "accepted": self = .accepted
        case "unverified": self = .unverified
        case "superseded": self = .superseded
        case "noSuchContent": self = .noSuchContent
        case "noActionableItem": self = .noActionableItem
        case "deviceNotFound": self = .deviceNotFound
        case "unsupported": self = .unsupported
        case "denied": self = .denied
        case "timedOut": self = .timedOut
        case "failed": self = .failed(try fields.decode(RouterError.self, forKey: "error"))
        default: throw unknownTag(tag, of: Self.self, in: fields)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: TaggedKey.self)
        let tag =
            switch self {
            case .succeeded: "succeeded"
            case .accepted: "accepted"
            case .unverified: "unverified"
            case .superseded: "superseded"
            case .noSuchContent: "noSuchContent"
            case .noActionableItem: "noActionableItem"
            case .deviceNotFound: "deviceNotFound"
            case .unsupported: "unsupported"
            case .denied: "denied"
            case .timedOut: "timedOut"
            case .failed: "failed"
            }
        try fields.encode(tag, forKey: .type)
        if case .failed(let error) = self { try fields.encode(error, forKey: "error") }
    }
}
