// The table of architecture.md, as data. A row is changed here only together with the reason.

/// What one module may import beside the system's own modules.
struct ModuleRow {
    var modules: Set<String>
    var packages: Set<ExternalPackage>

    init(_ modules: Set<String> = [], _ packages: Set<ExternalPackage> = []) {
        self.modules = modules
        self.packages = packages
    }
}

/// An external package as the table names it, with the modules that come with it.
enum ExternalPackage: CaseIterable {
    case nio, nioSSL, protobuf, logging, hummingbird, subprocess, collections, asyncAlgorithms, grdb, yams
    case argumentParser, asyncHTTPClient

    var modules: Set<String> {
        switch self {
        case .nio:
            [
                "NIO", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket", "NIOEmbedded", "NIOTLS",
                "NIOConcurrencyHelpers", "NIOFoundationCompat",
            ]
        case .nioSSL: ["NIOSSL"]
        case .protobuf: ["SwiftProtobuf"]
        case .logging: ["Logging"]
        // Its requests, responses and bodies are made of these.
        case .hummingbird:
            [
                "Hummingbird", "HummingbirdCore", "HTTPTypes", "NIOHTTPTypes", "NIOCore", "NIOPosix",
                "ServiceLifecycle",
            ]
        case .subprocess: ["Subprocess", "System", "SystemPackage"]
        case .collections: ["Collections", "DequeModule", "OrderedCollections"]
        case .asyncAlgorithms: ["AsyncAlgorithms"]
        case .grdb: ["GRDB"]
        case .yams: ["Yams"]
        case .argumentParser: ["ArgumentParser"]
        case .asyncHTTPClient: ["AsyncHTTPClient"]
        }
    }
}

enum ModuleTable {
    /// Modules of the system and the standard library: every row may import them.
    static let system: Set<String> = [
        "Swift", "Foundation", "FoundationEssentials", "FoundationNetworking", "FoundationXML", "Glibc",
        "Synchronization", "Dispatch", "CDispatch", "os",
    ]

    static let rows: [String: ModuleRow] = [
        // C
        "CPosix": ModuleRow(), "CAvahi": ModuleRow(), "CSystemd": ModuleRow(), "CPlist": ModuleRow(),
        "COpenSSL": ModuleRow(), "CSodium": ModuleRow(), "CAVCodec": ModuleRow(),
        // Values and contract
        "RouteModel": ModuleRow(),
        "RouteBackend": ModuleRow(["RouteModel"]),
        // Wire
        "CastV2": ModuleRow(["COpenSSL"], [.nio, .nioSSL, .protobuf, .logging]),
        "HomeKitPairing": ModuleRow(["COpenSSL", "CSodium"]),
        // CPosix, because a PTP clock needs the kernel's time stamps, which NIO does not hand on.
        "AirPlay": ModuleRow(
            ["HomeKitPairing", "CPlist", "COpenSSL", "CSodium", "CPosix"], [.nio, .protobuf, .logging]),
        "Pacing": ModuleRow(["CPosix"]),
        // NIOSSL, because pictures come over HTTPS.
        "Media": ModuleRow(
            ["RouteModel", "RouteBackend", "CAVCodec", "COpenSSL"],
            [.nio, .nioSSL, .hummingbird, .subprocess, .logging]),
        // Adapters
        "AvahiDiscovery": ModuleRow(["RouteModel", "RouteBackend", "CAvahi"]),
        "CastBackend": ModuleRow(["RouteModel", "RouteBackend", "Pacing", "CastV2"], [.logging]),
        "AirPlayBackend": ModuleRow(
            ["RouteModel", "RouteBackend", "Pacing", "AirPlay", "HomeKitPairing"], [.logging]),
        // Engine
        "RouterCore": ModuleRow(["RouteBackend", "RouteModel"], [.collections, .asyncAlgorithms]),
        "RouterStore": ModuleRow(["RouteModel", "CSodium"], [.grdb]),
        // Surface
        "SceneScript": ModuleRow(["RouteModel"], [.yams]),
        "RouterAPI": ModuleRow(["RouteModel"], [.nio, .asyncHTTPClient]),
        "MPRISBridge": ModuleRow(["RouteModel", "CSystemd"]),
        // The composition root: it alone sees all sides. Yams, because it reads the configuration file; NIO, because it
        // listens on sockets that systemd has opened.
        "RouterDaemon": ModuleRow(
            [
                "RouteModel", "RouteBackend", "CastV2", "HomeKitPairing", "AirPlay", "Media", "Pacing",
                "AvahiDiscovery", "CastBackend", "AirPlayBackend", "RouterCore", "RouterStore", "SceneScript",
                "RouterAPI", "MPRISBridge",
            ], [.hummingbird, .nio, .logging, .yams]),
        // Logging, because -v and -vv are its flags; the contract and its Avahi side, because `simulate` announces the
        // receivers that it starts; CastBackend, because `router cast` speaks of what only Cast has; MPRISBridge, because
        // `watch --desktop` shows the desktop's other players, which are none of the engine's.
        "RouterCommands": ModuleRow(
            [
                "RouteModel", "RouterAPI", "SceneScript", "RouterDaemon", "SimulatedReceivers", "RouteBackend",
                "AvahiDiscovery", "CastBackend", "MPRISBridge",
            ],
            [.argumentParser, .logging]),
        "router": ModuleRow(["RouterCommands", "CPosix"]),
        // Stand-ins. The contract's ServicePublishing is how AvahiDiscovery is spoken to, hence the first two; protobuf,
        // because the codec that it shares with CastV2 hands out generated messages; CPosix, because a device stamps what
        // arrives before any program runs.
        "SimulatedReceivers": ModuleRow(
            [
                "RouteModel", "RouteBackend", "CastV2", "AirPlay", "HomeKitPairing", "AvahiDiscovery", "CAVCodec",
                "COpenSSL", "CSodium", "CPosix",
            ], [.nio, .nioSSL, .protobuf, .hummingbird, .subprocess, .logging]),
        "RouterTestKit": ModuleRow(["RouteModel", "RouteBackend"]),
        // In Samples: what a new backend begins with.
        "TemplateBackend": ModuleRow(["RouteModel", "RouteBackend"]),
        // In Tests, shared by test targets: peers and the lab.
        "PeerSupport": ModuleRow(["RouteModel", "RouteBackend", "RouterTestKit"], [.nio]),
    ]

    /// Everything that `module` may import, or nil when the table has no such row.
    static func allowed(in module: String) -> Set<String>? {
        rows[module].map { row in
            row.packages.reduce(into: row.modules.union(system).union([module])) { $0.formUnion($1.modules) }
        }
    }
}
