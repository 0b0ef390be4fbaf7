import Foundation

/// Another program, run to its end.
public enum Command {
    public struct Failed: Error, CustomStringConvertible {
        public var message: String
        public var description: String { message }

        public init(message: String) { self.message = message }
    }

    public struct Outcome: Sendable {
        public var status: Int32
        public var output: String
        public var errors: String
    }

    /// Whether a program is in PATH.
    public static func exists(_ name: String) -> Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return (path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"])
            .contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    /// Runs a program found in PATH.
    public static func run(_ name: String, _ arguments: [String]) async throws -> Outcome {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("command-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["out", "err"].map { folder.appendingPathComponent($0) }
        for file in files { _ = FileManager.default.createFile(atPath: file.path, contents: nil) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.standardInput = FileHandle.nullDevice
        let handles = try files.map { try FileHandle(forWritingTo: $0) }
        // Foundation keeps what has run, and with thousands of open files it crashes as it starts the next.
        defer { for handle in handles { try? handle.close() } }
        process.standardOutput = handles[0]
        process.standardError = handles[1]
        try await process.runToEnd()
        let texts = files.map { (try? String(contentsOf: $0, encoding: .utf8)) ?? "" }
        return Outcome(status: process.terminationStatus, output: texts[0], errors: texts[1])
    }
}
