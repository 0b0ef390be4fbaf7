// The exceptions, each with its reason. To add one: a line with the file (or a folder, ending in "/") and why.

enum Allowances {
    struct Tasks {
        var path: String
        var count: Int
        var why: String
    }

    /// Unstructured tasks (`Task { … }`, `Task.detached`): the count of each file, exactly, so that none creeps in.
    static let tasks: [Tasks] = []

    /// Files and folders that may hold a lock.
    static let locks: [(path: String, why: String)] = [
        ("Sources/RouteBackend/LatestValue.swift", "written from callbacks and event loops that cannot wait"),
        ("Sources/Pacing/PacketRing.swift", "the real-time thread and the encoder share it"),
        ("Sources/RouterTestKit/", "manual clocks and scripted fakes are called from synchronous code"),
    ]

    /// Files that may be longer than the limit.
    static let long: [(path: String, why: String)] = [
        (".pb.swift", "written by protoc")
    ]

    /// Modules that may write to standard output.
    static let printing: Set<String> = ["RouterCommands", "router"]
}
