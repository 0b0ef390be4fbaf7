// swift-tools-version: 6.1
// What can only be measured from inside a process. A package of its own, so that nothing of it is in the product.
import PackageDescription

let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "router", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .executableTarget(
            name: "CastBenchmarks",
            dependencies: [
                .product(name: "CastV2", package: "router"),
                .product(name: "RouteBackend", package: "router"),
                .product(name: "SimulatedReceivers", package: "router"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ]),
        .executableTarget(
            name: "QueueBenchmarks",
            dependencies: [
                .product(name: "RouteModel", package: "router"),
                .product(name: "RouteBackend", package: "router"),
                .product(name: "RouterCore", package: "router"),
                .product(name: "RouterStore", package: "router"),
                .product(name: "RouterTestKit", package: "router"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ]),
        .executableTarget(
            name: "AirPlayBenchmarks",
            dependencies: [
                .product(name: "AirPlay", package: "router"),
                .product(name: "HomeKitPairing", package: "router"),
                .product(name: "SimulatedReceivers", package: "router"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ]),
        .executableTarget(
            name: "DaemonBenchmarks",
            dependencies: [
                .product(name: "RouteModel", package: "router"),
                .product(name: "RouteBackend", package: "router"),
                .product(name: "RouterCore", package: "router"),
                .product(name: "RouterDaemon", package: "router"),
                .product(name: "RouterAPI", package: "router"),
                .product(name: "RouterTestKit", package: "router"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ]),
    ]
)
