extension QueueEdit: TaggedCodable {
    public static let tags = [
        "playNext", "append", "insert", "move", "remove", "clearUpcoming", "clear", "replaceUpcoming", "undo",
        "failurePolicy", "settings", "describe",
    ]

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: TaggedKey.self)
        let tag = try fields.decode(String.self, forKey: .type)
        func what() throws -> [String] { try fields.decode([String].self, forKey: "what") }
        func settings() throws -> QueueItemSettings? {
            try fields.decodeIfPresent(QueueItemSettings.self, forKey: "settings")
        }
        func items() throws -> [ItemID] { try fields.decode([ItemID].self, forKey: "items") }
        switch tag {
        case "playNext": self = .playNext(try what(), settings: try settings())
        case "append": self = .append(try what(), settings: try settings())
        case "insert":
            self = .insert(
                try what(), before: try fields.decode(ItemID.self, forKey: "before"), settings: try settings())
        case "move": self = .move(try items(), before: try fields.decodeIfPresent(ItemID.self, forKey: "before"))
        case "remove": self = .remove(try items())
        case "clearUpcoming": self = .clearUpcoming
        case "clear": self = .clear
        case "replaceUpcoming": self = .replaceUpcoming(try what(), settings: try settings())
        case "undo": self = .undo
        case "failurePolicy": self = .failurePolicy(try fields.decode(FailurePolicy.self, forKey: "policy"))
        case "settings":
            self = .settings(try items(), try fields.decode(QueueItemSettings.self, forKey: "settings"))
        case "describe": self = .describe(try fields.decode([ItemDescription].self, forKey: "items"))
        default: throw unknownTag(tag, of: Self.self, in: fields)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: TaggedKey.self)
        func tag(_ name: String) throws { try fields.encode(name, forKey: .type) }
        func insertion(_ name: String, _ what: [String], _ settings: QueueItemSettings?) throws {
            try tag(name)
            try fields.encode(what, forKey: "what")
            try fields.encodeIfPresent(settings, forKey: "settings")
        }
        switch self {
        case .playNext(let what, let settings): try insertion("playNext", what, settings)
        case .append(let what, let settings): try insertion("append", what, settings)
        case .insert(let what, let before, let settings):
            try insertion("insert", what, settings)
            try fields.encode(before, forKey: "before")
        case .move(let items, let before):
            try tag("move")
            try fields.encode(items, forKey: "items")
            try fields.encodeIfPresent(before, forKey: "before")
        case .remove(let items):
            try tag("remove")
            try fields.encode(items, forKey: "items")
        case .clearUpcoming: try tag("clearUpcoming")
        case .clear: try tag("clear")
        case .replaceUpcoming(let what, let settings): try insertion("replaceUpcoming", what, settings)
        case .undo: try tag("undo")
        case .failurePolicy(let policy):
            try tag("failurePolicy")
            try fields.encode(policy, forKey: "policy")
        case .settings(let items, let settings):
            try tag("settings")
            try fields.encode(items, forKey: "items")
            try fields.encode(settings, forKey: "settings")
        case .describe(let items):
            try tag("describe")
            try fields.encode(items, forKey: "items")
        }
    }
}

extension FailurePolicy: TaggedCodable {
    public static let tags = ["skip", "stop", "retry"]

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: TaggedKey.self)
        let tag = try fields.decode(String.self, forKey: .type)
        switch tag {
        case "skip": self = .skip
        case "stop": self = .stop
        case "retry": self = .retry(try fields.decode(Int.self, forKey: "times"))
        default: throw unknownTag(tag, of: Self.self, in: fields)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: TaggedKey.self)
        switch self {
        case .skip: try fields.encode("skip", forKey: .type)
        case .stop: try fields.encode("stop", forKey: .type)
        case .retry(let times):
            try fields.encode("retry", forKey: .type)
            try fields.encode(times, forKey: "times")
        }
    }
}

extension QueueChange: TaggedCodable {
    public static let tags = [
        "insert", "remove", "move", "update", "order", "current", "repeat", "original", "failurePolicy",
        "shuffleSeed",
    ]

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: TaggedKey.self)
        let tag = try fields.decode(String.self, forKey: .type)
        func ids() throws -> [ItemID] { try fields.decode([ItemID].self, forKey: "items") }
        switch tag {
        case "insert":
            self = .insert(
                try fields.decode([QueueItem].self, forKey: "new"), at: try fields.decode(Int.self, forKey: "at"))
        case "remove": self = .remove(try ids())
        case "move": self = .move(try ids(), to: try fields.decode(Int.self, forKey: "to"))
        case "update": self = .update(try fields.decode(QueueItem.self, forKey: "item"))
        case "order": self = .order(try ids())
        case "current": self = .current(try fields.decodeIfPresent(ItemID.self, forKey: "current"))
        case "repeat": self = .repeatMode(try fields.decode(RepeatMode.self, forKey: "mode"))
        case "original": self = .original(try fields.decodeIfPresent([ItemID].self, forKey: "items"))
        case "failurePolicy":
            self = .failurePolicy(try fields.decodeIfPresent(FailurePolicy.self, forKey: "policy"))
        case "shuffleSeed": self = .shuffleSeed(try fields.decodeIfPresent(UInt32.self, forKey: "seed"))
        default: throw unknownTag(tag, of: Self.self, in: fields)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: TaggedKey.self)
        func tag(_ name: String) throws { try fields.encode(name, forKey: .type) }
        switch self {
        case .insert(let items, let index):
            try tag("insert")
            try fields.encode(items, forKey: "new")
            try fields.encode(index, forKey: "at")
        case .remove(let ids):
            try tag("remove")
            try fields.encode(ids, forKey: "items")
        case .move(let ids, let index):
            try tag("move")
            try fields.encode(ids, forKey: "items")
            try fields.encode(index, forKey: "to")
        case .update(let item):
            try tag("update")
            try fields.encode(item, forKey: "item")
        case .order(let ids):
            try tag("order")
            try fields.encode(ids, forKey: "items")
        case .current(let id):
            try tag("current")
            try fields.encodeIfPresent(id, forKey: "current")
        case .repeatMode(let mode):
            try tag("repeat")
            try fields.encode(mode, forKey: "mode")
        case .original(let ids):
            try tag("original")
            try fields.encodeIfPresent(ids, forKey: "items")
        case .failurePolicy(let policy):
            try tag("failurePolicy")
            try fields.encodeIfPresent(policy, forKey: "policy")
        case .shuffleSeed(let seed):
            try tag("shuffleSeed")
            try fields.encodeIfPresent(seed, forKey: "seed")
        }
    }
}

extension SceneSchedule.Trigger: TaggedCodable {
    public static let tags = ["time", "appears", "itemEnds"]

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: TaggedKey.self)
        let tag = try fields.decode(String.self, forKey: .type)
        switch tag {
        case "time":
            self = .time(
                minutes: try fields.decode(Int.self, forKey: "minutes"),
                days: try fields.decode([Int].self, forKey: "days"))
        case "appears": self = .appears(room: try fields.decode(String.self, forKey: "room"))
        case "itemEnds": self = .itemEnds(room: try fields.decode(String.self, forKey: "room"))
        default: throw unknownTag(tag, of: Self.self, in: fields)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: TaggedKey.self)
        switch self {
        case .time(let minutes, let days):
            try fields.encode("time", forKey: .type)
            try fields.encode(minutes, forKey: "minutes")
            try fields.encode(days, forKey: "days")
        case .appears(let room):
            try fields.encode("appears", forKey: .type)
            try fields.encode(room, forKey: "room")
        case .itemEnds(let room):
            try fields.encode("itemEnds", forKey: .type)
            try fields.encode(room, forKey: "room")
        }
    }
}
