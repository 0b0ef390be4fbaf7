// swift-tools-version: 6.1
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Package products, under the short names that the target rows below use.
let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioTestUtils: Target.Dependency = .product(name: "NIOTestUtils", package: "swift-nio")
let protobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")

func module(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

let package = Package(
    name: "router",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "router", targets: ["router"]),
        .library(name: "RouteModel", targets: ["RouteModel"]),
        .library(name: "RouteBackend", targets: ["RouteBackend"]),
        .library(name: "RouterCore", targets: ["RouterCore"]),
        .library(name: "RouterStore", targets: ["RouterStore"]),
        .library(name: "RouterDaemon", targets: ["RouterDaemon"]),
        .library(name: "RouterAPI", targets: ["RouterAPI"]),
        .library(name: "SceneScript", targets: ["SceneScript"]),
        .library(name: "CastV2", targets: ["CastV2"]),
        .library(name: "AirPlay", targets: ["AirPlay"]),
        .library(name: "HomeKitPairing", targets: ["HomeKitPairing"]),
        .library(name: "SimulatedReceivers", targets: ["SimulatedReceivers"]),
        .library(name: "RouterTestKit", targets: ["RouterTestKit"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        // C libraries
        // No pkgConfig: its -D_REENTRANT is a flag that SwiftPM warns of, and the headers need nothing else.
        .systemLibrary(name: "CAvahi", providers: [.apt(["libavahi-client-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CPlist", pkgConfig: "libplist-2.0", providers: [.apt(["libplist-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CAVCodec"),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .target(name: "CPosix"),

        // Values and contract
        module("RouteModel", []),
        module("RouteBackend", ["RouteModel"]),

        // Wire
        module("CastV2", ["COpenSSL", nio, nioPosix, nioSSL, protobuf, logging]),
        module("HomeKitPairing", ["COpenSSL", "CSodium"]),
        module(
            "AirPlay",
            ["HomeKitPairing", "CPlist", "COpenSSL", "CSodium", "CPosix", nio, nioPosix, protobuf, logging]),
        module("Pacing", ["CPosix"]),
        module(
            "Media",
            [
                "RouteModel", "RouteBackend", "CAVCodec", "COpenSSL", nio, nioPosix, nioHTTP, nioSSL, hummingbird,
                subprocess, logging,
            ]),

        // Adapters
        module("AvahiDiscovery", ["RouteModel", "RouteBackend", "CAvahi"]),
        module("CastBackend", ["RouteModel", "RouteBackend", "Pacing", "CastV2", logging]),
        module("AirPlayBackend", ["RouteModel", "RouteBackend", "Pacing", "AirPlay", "HomeKitPairing", logging]),

        // Engine
        module("RouterCore", ["RouteBackend", "RouteModel"]),
        module("RouterStore", ["RouteModel", "CSodium", grdb]),

        // Surface
        module("SceneScript", ["RouteModel", yams]),
        module("RouterAPI", ["RouteModel", nio, nioPosix, nioHTTP]),
        module("MPRISBridge", ["RouteModel", "CSystemd"]),
        module(
            "RouterDaemon",
            [
                "RouteModel", "RouteBackend", "RouterCore", "RouterStore", "Media", "Pacing", "AvahiDiscovery",
                "CastBackend", "AirPlayBackend", "SceneScript", "RouterAPI", "MPRISBridge", hummingbird, nio, nioPosix,
                nioHTTP, yams, logging,
            ]),
        module(
            "RouterCommands",
            [
                "RouteModel", "RouteBackend", "AvahiDiscovery", "CastBackend", "RouterDaemon", "RouterAPI",
                "SceneScript", "MPRISBridge", "SimulatedReceivers", argumentParser, logging,
            ]),
        .executableTarget(name: "router", dependencies: ["RouterCommands", "CPosix"], swiftSettings: strict),

        // Stand-ins
        module(
            "SimulatedReceivers",
            [
                "CastV2", "AirPlay", "HomeKitPairing", "AvahiDiscovery", "RouteBackend", "CAVCodec", "COpenSSL",
                "CSodium", "CPosix", nio,
                nioPosix, nioHTTP, nioSSL, protobuf, subprocess, logging,
            ]),
        module("RouterTestKit", ["RouteModel", "RouteBackend"]),
        .target(
            name: "TemplateBackend", dependencies: ["RouteModel", "RouteBackend"], path: "Samples/TemplateBackend",
            exclude: ["README.md"], swiftSettings: strict),

        // Tests
        .target(
            name: "PeerSupport", dependencies: ["RouterTestKit"], path: "Tests/PeerSupport", swiftSettings: strict),
        tests("ArchitectureTests", []),
        tests("RouteModelTests", ["RouteModel"]),
        tests("RouteBackendTests", ["RouteBackend", "RouteModel", "RouterTestKit"]),
        tests("CastV2Tests", ["CastV2", "COpenSSL", "RouterTestKit", nio, nioPosix, nioSSL, logging]),
        tests(
            "CastBackendTests",
            [
                "PeerSupport", "CastBackend", "CastV2", "Media", "Pacing", "RouteBackend", "RouteModel",
                "RouterTestKit", "SimulatedReceivers", logging,
            ]),
        tests(
            "HomeKitPairingTests", ["HomeKitPairing", "AirPlay", "COpenSSL", "RouterTestKit", "PeerSupport"],
            exclude: ["peers"]),
        tests(
            "AirPlayTests",
            [
                "AirPlay", "HomeKitPairing", "Pacing", "PeerSupport", "RouterTestKit", "COpenSSL", nio, nioEmbedded,
                nioTestUtils, nioPosix, protobuf,
            ]),
        tests("PacingTests", ["Pacing", "CPosix"]),
        tests(
            "AirPlayBackendTests",
            [
                "AirPlayBackend", "AirPlay", "HomeKitPairing", "Pacing", "PeerSupport", "RouteBackend", "RouteModel",
                "RouterTestKit",
                "SimulatedReceivers",
            ]),
        tests(
            "MediaTests",
            [
                "Media", "RouteBackend", "RouteModel", "RouterTestKit", "CAVCodec", logging, nio, nioPosix, nioHTTP,
                nioSSL,
            ]),
        tests(
            "AvahiDiscoveryTests",
            ["AvahiDiscovery", "RouteBackend", "RouteModel", "RouterTestKit", "CastBackend", "AirPlayBackend"]),
        tests("RouterCoreTests", ["RouterCore", "RouteBackend", "RouteModel", "RouterTestKit"]),
        tests("SceneScriptTests", ["SceneScript", "RouteModel", "RouterTestKit"], exclude: ["Broken"]),
        tests("RouterAPITests", ["RouterAPI", "RouteModel", "RouterTestKit", nio, nioPosix, nioHTTP]),
        tests(
            "MPRISBridgeTests",
            ["MPRISBridge", "PeerSupport", "RouteBackend", "RouteModel", "RouterCore", "RouterTestKit", "CSystemd"]),
        tests("RouterStoreTests", ["RouterStore", "RouteModel", grdb]),
        tests(
            "ConformanceTests",
            [
                "TemplateBackend", "CastBackend", "AirPlayBackend", "AirPlay", "Media", "Pacing", "RouterCore",
                "RouterStore", "RouteBackend", "RouteModel", "RouterTestKit", "SimulatedReceivers", logging,
            ]),
        tests(
            "RouterDaemonTests",
            [
                "RouterDaemon", "RouterAPI", "RouterCore", "RouterStore", "SceneScript", "CastBackend", "RouteBackend",
                "RouteModel", "Media", "RouterTestKit", "SimulatedReceivers", "PeerSupport", logging, nio, nioPosix,
                nioHTTP,
            ]),
        tests(
            "RouterCommandsTests",
            [
                "RouterCommands", "RouterDaemon", "RouterAPI", "CastBackend", "SimulatedReceivers", "RouteBackend",
                "RouteModel", "RouterTestKit", argumentParser,
            ]),
        tests(
            "SimulatedReceiversTests",
            [
                "SimulatedReceivers", "CastV2", "AirPlay", "HomeKitPairing", "RouteBackend", "RouterTestKit",
                "PeerSupport", "COpenSSL", nio, nioPosix, nioHTTP, nioSSL, protobuf,
            ],
            exclude: ["peers"]),
        tests(
            "EndToEndTests",
            [
                "RouteModel", "RouteBackend", "RouterCore", "AirPlayBackend", "CastBackend", "Media", "Pacing",
                "RouterAPI", "RouterCommands", "RouterDaemon", "RouterTestKit", "SceneScript", "SimulatedReceivers",
                "PeerSupport", "AirPlay", "router", nio, nioPosix, nioHTTP, subprocess, logging,
            ],
            exclude: ["peers"]),
    ]
)
