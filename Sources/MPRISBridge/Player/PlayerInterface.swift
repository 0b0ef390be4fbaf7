/// One interface of a player as data: what calls are checked against, and what introspection shows.
struct PlayerInterface: Sendable {
    struct Argument: Sendable {
        var name: String
        var type: String
        init(_ name: String, _ type: String) {
            self.name = name
            self.type = type
        }
    }

    struct Method: Sendable {
        var name: String
        var takes: [Argument] = []
        var gives: [Argument] = []

        var signature: String { takes.map(\.type).joined() }
    }

    struct Property: Sendable {
        var name: String
        var type: String
        var isWritable = false
        /// What a change of it says: `true` (the value), `invalidates` or `false` (nothing).
        var tells = "true"
    }

    struct Signal: Sendable {
        var name: String
        var tells: [Argument]
    }

    var name: String
    var methods: [Method] = []
    var properties: [Property] = []
    var signals: [Signal] = []

    func method(_ name: String) -> Method? { methods.first { $0.name == name } }
    func property(_ name: String) -> Property? { properties.first { $0.name == name } }

    static let all = [root, player, trackList, propertiesAccess, introspection]

    static func named(_ name: String) -> PlayerInterface? { all.first { $0.name == name } }

    // MARK: The interfaces (MPRIS D-Bus Interface Specification 2.2)

    static let root = PlayerInterface(
        name: MPRISName.root,
        methods: [Method(name: "Raise"), Method(name: "Quit")],
        properties: [
            Property(name: "CanQuit", type: "b"), Property(name: "CanRaise", type: "b"),
            Property(name: "HasTrackList", type: "b"), Property(name: "Identity", type: "s"),
            Property(name: "SupportedUriSchemes", type: "as"), Property(name: "SupportedMimeTypes", type: "as"),
        ])

    static let player = PlayerInterface(
        name: MPRISName.player,
        methods: [
            Method(name: "Next"), Method(name: "Previous"), Method(name: "Pause"), Method(name: "PlayPause"),
            Method(name: "Stop"), Method(name: "Play"),
            Method(name: "Seek", takes: [Argument("Offset", "x")]),
            Method(name: "SetPosition", takes: [Argument("TrackId", "o"), Argument("Position", "x")]),
            Method(name: "OpenUri", takes: [Argument("Uri", "s")]),
        ],
        properties: [
            Property(name: "PlaybackStatus", type: "s"), Property(name: "LoopStatus", type: "s", isWritable: true),
            Property(name: "Rate", type: "d", isWritable: true),
            Property(name: "Shuffle", type: "b", isWritable: true), Property(name: "Metadata", type: "a{sv}"),
            Property(name: "Volume", type: "d", isWritable: true),
            Property(name: "Position", type: "x", tells: "false"), Property(name: "MinimumRate", type: "d"),
            Property(name: "MaximumRate", type: "d"), Property(name: "CanGoNext", type: "b"),
            Property(name: "CanGoPrevious", type: "b"), Property(name: "CanPlay", type: "b"),
            Property(name: "CanPause", type: "b"), Property(name: "CanSeek", type: "b"),
            Property(name: "CanControl", type: "b", tells: "false"),
        ],
        signals: [Signal(name: "Seeked", tells: [Argument("Position", "x")])])

    static let trackList = PlayerInterface(
        name: MPRISName.trackList,
        methods: [
            Method(
                name: "GetTracksMetadata", takes: [Argument("TrackIds", "ao")], gives: [Argument("Metadata", "aa{sv}")]),
            Method(
                name: "AddTrack",
                takes: [Argument("Uri", "s"), Argument("AfterTrack", "o"), Argument("SetAsCurrent", "b")]),
            Method(name: "RemoveTrack", takes: [Argument("TrackId", "o")]),
            Method(name: "GoTo", takes: [Argument("TrackId", "o")]),
        ],
        properties: [
            Property(name: "Tracks", type: "ao", tells: "invalidates"), Property(name: "CanEditTracks", type: "b"),
        ],
        signals: [
            Signal(name: "TrackListReplaced", tells: [Argument("Tracks", "ao"), Argument("CurrentTrack", "o")]),
            Signal(name: "TrackMetadataChanged", tells: [Argument("TrackId", "o"), Argument("Metadata", "a{sv}")]),
        ])

    static let propertiesAccess = PlayerInterface(
        name: MPRISName.properties,
        methods: [
            Method(
                name: "Get", takes: [Argument("interface_name", "s"), Argument("property_name", "s")],
                gives: [Argument("value", "v")]),
            Method(
                name: "GetAll", takes: [Argument("interface_name", "s")], gives: [Argument("properties", "a{sv}")]),
            Method(
                name: "Set",
                takes: [Argument("interface_name", "s"), Argument("property_name", "s"), Argument("value", "v")]),
        ],
        signals: [
            Signal(
                name: "PropertiesChanged",
                tells: [
                    Argument("interface_name", "s"), Argument("changed_properties", "a{sv}"),
                    Argument("invalidated_properties", "as"),
                ])
        ])

    static let introspection = PlayerInterface(
        name: MPRISName.introspectable, methods: [Method(name: "Introspect", gives: [Argument("xml", "s")])])

    // MARK: Introspection

    /// The document that `Introspect` gives for a player.
    static let document: String = {
        let head = """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">

            """
        return head + "<node>\n" + all.map(\.description).joined() + "</node>\n"
    }()

    private var description: String {
        var lines = [" <interface name=\"\(name)\">"]
        for method in methods {
            let arguments =
                method.takes.map { Self.line($0, direction: "in") }
                + method.gives.map { Self.line($0, direction: "out") }
            lines += Self.element("method", method.name, arguments)
        }
        for signal in signals {
            lines += Self.element("signal", signal.name, signal.tells.map { Self.line($0, direction: nil) })
        }
        for property in properties {
            let access = property.isWritable ? "readwrite" : "read"
            lines += [
                "  <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"\(access)\">",
                "   <annotation name=\"org.freedesktop.DBus.Property.EmitsChangedSignal\" value=\"\(property.tells)\"/>",
                "  </property>",
            ]
        }
        return (lines + [" </interface>", ""]).joined(separator: "\n")
    }

    private static func element(_ kind: String, _ name: String, _ arguments: [String]) -> [String] {
        guard !arguments.isEmpty else { return ["  <\(kind) name=\"\(name)\"/>"] }
        return ["  <\(kind) name=\"\(name)\">"] + arguments + ["  </\(kind)>"]
    }

    private static func line(_ argument: Argument, direction: String?) -> String {
        let way = direction.map { " direction=\"\($0)\"" } ?? ""
        return "   <arg name=\"\(argument.name)\" type=\"\(argument.type)\"\(way)/>"
    }
}
