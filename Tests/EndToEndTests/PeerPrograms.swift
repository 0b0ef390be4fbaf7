import Foundation
import Subprocess
import Testing

/// Programs of other projects that tests play from and to. Found through `ROUTER_PEERS`, a Python environment
/// (default `.build/peers`), and through `PATH`.
enum PeerPrograms {
    static let folder = URL(
        fileURLWithPath: ProcessInfo.processInfo.environment["ROUTER_PEERS"] ?? ".build/peers", isDirectory: true)

    /// The path of a program in the Python environment or in `PATH`. The test is skipped, with the reason, if it is not
    /// there.
    static func find(_ name: String, for purpose: String) throws -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let places = [folder.appending(path: "bin").path] + path.split(separator: ":").map(String.init)
        let found = places.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        if let found { return found }
        try Test.cancel("\(purpose): \(name) is neither in \(folder.path)/bin (ROUTER_PEERS) nor in PATH")
    }

    /// The Python of the environment. The test is skipped, with the reason, if it lacks this module.
    static func python(with module: String, for purpose: String) async throws -> String {
        let python = try find("python3", for: purpose)
        if (try? await run(python, ["-c", "import \(module)"]))?.succeeded == true { return python }
        try Test.cancel("\(purpose): \(python) has no module \(module)")
    }

    /// A file of `Tests/EndToEndTests/peers`.
    static func script(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "peers/\(name)").path
    }

    struct Outcome: Sendable {
        var succeeded: Bool
        var output: String
        var errors: String
    }

    /// Runs a program of a known path to its end; when the task is cancelled it is killed.
    static func run(_ path: String, _ arguments: [String]) async throws -> Outcome {
        // By env: a path as such needs a type of a package that this one does not depend on.
        let result = try await Subprocess.run(
            .name("env"), arguments: Arguments([path] + arguments), output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20))
        return Outcome(
            succeeded: result.terminationStatus.isSuccess, output: result.standardOutput, errors: result.standardError)
    }
}
