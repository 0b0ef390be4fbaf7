import Foundation

/// The built `router`, run as a person would run it, with a home of its own.
public final class RouterProcess: @unchecked Sendable {
    /// How it ended and what it printed.
    public struct Outcome: Sendable {
        public var status: Int32
        public var output: String
        public var errors: String
    }

    /// `ROUTER_BINARY`, or the product that was built beside the tests.
    public static let path: String = {
        if let given = ProcessInfo.processInfo.environment["ROUTER_BINARY"] { return given }
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("router").path
    }()

    private let process = Process()
    private let folder: URL
    private let ended = AsyncStream.makeStream(of: Void.self)

    /// Starts it.
    ///
    /// - Parameters:
    ///   - configuration: the text of its configuration file.
    ///   - input: what is piped into it.
    public init(
        _ arguments: [String], environment: [String: String] = [:], configuration: String? = nil,
        workingDirectory: URL? = nil, input: String? = nil
    ) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("router-home-\(UUID().uuidString)")
        let config = folder.appendingPathComponent("config/router", isDirectory: true)
        try FileManager.default.createDirectory(at: config, withIntermediateDirectories: true)
        if let configuration {
            try Data(configuration.utf8).write(to: config.appendingPathComponent("config.yaml"))
        }
        for name in ["out", "err"] {
            _ = FileManager.default.createFile(atPath: folder.appendingPathComponent(name).path, contents: nil)
        }
        var variables = ProcessInfo.processInfo.environment
        variables["XDG_CONFIG_HOME"] = folder.appendingPathComponent("config").path
        variables["XDG_STATE_HOME"] = folder.appendingPathComponent("state").path
        // No daemon but its own answers it.
        variables["XDG_RUNTIME_DIR"] = folder.appendingPathComponent("run").path
        variables["XDG_CACHE_HOME"] = folder.appendingPathComponent("cache").path
        variables["ROUTER_PASSWORD"] = nil
        variables["ROUTER_ROOM"] = nil
        variables.merge(environment) { _, new in new }
        process.executableURL = URL(fileURLWithPath: Self.path)
        process.arguments = arguments
        process.environment = variables
        process.currentDirectoryURL = workingDirectory
        let pipe = input == nil ? nil : Pipe()
        process.standardInput = pipe ?? FileHandle.nullDevice
        let files = try ["out", "err"].map { try FileHandle(forWritingTo: folder.appendingPathComponent($0)) }
        // Foundation keeps what has run, and with thousands of open files it crashes as it starts the next.
        defer { for file in files { try? file.close() } }
        process.standardOutput = files[0]
        process.standardError = files[1]
        let continuation = ended.continuation
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
        if let pipe, let input {
            try? pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try? pipe.fileHandleForWriting.close()
        }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    public var isRunning: Bool { process.isRunning }
    public var processIdentifier: Int32 { process.processIdentifier }
    public var output: String { text("out") }
    public var errors: String { text("err") }

    private func text(_ name: String) -> String {
        (try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)) ?? ""
    }

    public func interrupt() { kill(process.processIdentifier, SIGINT) }

    /// Waits for its end; after `limit` it is killed, and the status is that of the kill.
    public func outcome(within limit: Duration = .seconds(90)) async -> Outcome {
        let number = process.processIdentifier
        let watchdog = DispatchWorkItem { kill(number, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + Double(limit.components.seconds), execute: watchdog)
        for await _ in ended.stream {}
        watchdog.cancel()
        return Outcome(status: process.terminationStatus, output: output, errors: errors)
    }

    /// Runs it to its end.
    public static func run(
        _ arguments: [String], environment: [String: String] = [:], configuration: String? = nil,
        workingDirectory: URL? = nil, input: String? = nil, within limit: Duration = .seconds(90)
    ) async throws -> Outcome {
        try await RouterProcess(
            arguments, environment: environment, configuration: configuration, workingDirectory: workingDirectory,
            input: input
        ).outcome(within: limit)
    }
}
