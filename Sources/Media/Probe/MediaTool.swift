import Foundation
import RouteBackend
import RouteModel
import Subprocess

/// What a run of a program gave.
struct ToolOutput: Sendable {
    var succeeded: Bool
    var output: [UInt8]
    /// The first and last of what it said on standard error.
    var diagnosis: String
}

/// `ffmpeg` or `ffprobe`, run in a process of its own so that a hostile file meets nothing of ours.
///
/// A run is over when the function returns: cancelled or out of time, the process is killed first.
struct MediaTool: Sendable {
    /// A path, or a name for `PATH`.
    let program: String
    let clock: any HostClock
    /// Debian's package that has it.
    var package = "ffmpeg"
    /// Variables that it is given beside those that all are.
    var variables: [String] = []

    /// The program's path, or nil when it is not installed.
    func path() -> String? {
        if program.contains("/") { return access(program, X_OK) == 0 ? program : nil }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(
            separator: ":")
        return folders.lazy.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// What to run, or the error that it is missing.
    func configuration(_ arguments: [String]) throws -> Configuration {
        guard let path = path() else {
            let name = program.split(separator: "/").last.map(String.init) ?? program
            throw RouterError(
                .dependencyMissing, "\(name) is not installed",
                hint: "Install Debian's package \(package): sudo apt install \(package)", scope: .item,
                retry: .afterUserAction)
        }
        let cut = path.lastIndex(of: "/")!
        let own = variables.compactMap { name -> (Environment.Key, String?)? in
            guard let key = Environment.Key(rawValue: name), let value = ProcessInfo.processInfo.environment[name]
            else { return nil }
            return (key, value)
        }
        // By name and a `PATH` of one folder: the tools start no other program.
        return Configuration(
            executable: .name(String(path[path.index(after: cut)...])), arguments: Arguments(arguments),
            environment: Self.environment.updating(
                Dictionary(uniqueKeysWithValues: own + [("PATH", String(path[..<cut]))])))
    }

    /// Only what the tools need: the rest may hold secrets.
    private static let environment: Environment = {
        let wanted = ["HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "http_proxy", "https_proxy", "no_proxy"]
        var values: [Environment.Key: String] = [:]
        for (name, value) in ProcessInfo.processInfo.environment where wanted.contains(name) {
            if let key = Environment.Key(rawValue: name) { values[key] = value }
        }
        return .custom(values)
    }()

    /// Runs to the end and collects what comes out.
    ///
    /// Throws `dependencyMissing`, `timeout`, or `itemFailed` when more than `outputLimit` bytes come.
    func run(_ arguments: [String], outputLimit: Int, seconds: Int) async throws -> ToolOutput {
        let configuration = try configuration(arguments)
        let clock = clock
        return try await withThrowingTaskGroup(of: ToolOutput.self) { group in
            group.addTask { try await Self.collect(configuration, outputLimit: outputLimit) }
            group.addTask {
                try await clock.sleep(nanoseconds: Int64(seconds) * 1_000_000_000)
                throw RouterError(
                    .timeout, "reading the media took longer than \(seconds) seconds", scope: .item, retry: .later)
            }
            defer { group.cancelAll() }
            return try await group.next()!
        }
    }

    private static func collect(_ configuration: Configuration, outputLimit: Int) async throws -> ToolOutput {
        do {
            let result = try await Subprocess.run(configuration, input: .none, output: .sequence, error: .sequence) {
                execution in
                let errors = execution.standardError
                async let diagnosis = ToolDiagnosis.read(errors)
                var output: [UInt8] = []
                for try await buffer in execution.standardOutput {
                    guard output.count + buffer.count <= outputLimit else {
                        throw RouterError(.itemFailed, "the media says more of itself than can be right", scope: .item)
                    }
                    buffer.withUnsafeBytes { output.append(contentsOf: $0) }
                }
                return try await (output, diagnosis)
            }
            let (output, diagnosis) = result.closureResult
            return ToolOutput(succeeded: result.terminationStatus.isSuccess, output: output, diagnosis: diagnosis.text)
        } catch let error as SubprocessError {
            throw failure(error)
        }
    }

    static func failure(_ error: SubprocessError) -> any Error {
        if Task.isCancelled { return CancellationError() }
        return RouterError(
            .itemFailed, "ffmpeg could not be run", scope: .item, retry: .later, causes: [error.description])
    }
}

/// What a tool said on standard error: bounded, the beginning and the end kept.
struct ToolDiagnosis: Sendable {
    private static let limit = 32 << 10
    private var head: [UInt8] = []
    private var tail: [UInt8] = []

    static func read(_ source: SubprocessOutputSequence) async throws -> ToolDiagnosis {
        var diagnosis = ToolDiagnosis()
        for try await buffer in source { buffer.withUnsafeBytes { diagnosis.take($0) } }
        return diagnosis
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        let room = Self.limit - head.count
        head.append(contentsOf: bytes.prefix(room))
        tail.append(contentsOf: bytes.dropFirst(room))
        if tail.count > 2 * Self.limit { tail.removeFirst(tail.count - Self.limit) }
    }

    var text: String { String(decoding: head + tail, as: UTF8.self) }
}
