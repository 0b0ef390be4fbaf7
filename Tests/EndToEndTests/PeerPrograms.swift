import Foundation
import Subprocess

/// Programs of other projects that tests play from and to. Found through `ROUTER_PEERS`, a Python environment
/// (default `.build/peers`), and through `PATH`.
enum PeerPrograms {
    static let folder = URL(
        fileURLWithPath: ProcessInfo.processInfo.environment["ROUTER_PEERS"] ?? ".build/peers", isDirectory: true)

    /// The path of a program in the Python environment or in `PATH`; nil, with the reason printed, if it is not there.
    static func find(_ name: String, for purpose: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let places = [folder.appending(path: "bin").path] + path.split(separator: ":").map(String.init)
        let found = places.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        if found == nil {
            let note = "skipped: \(purpose): \(name) is neither in \(folder.path)/bin (ROUTER_PEERS) nor in PATH\n"
            FileHandle.standardError.write(Data(note.utf8))
        }
        return found
    }

    /// The Python of the environment, if it has this module.
    static func python(with module: String, for purpose: String) async -> String? {
        guard let python = find("python3", for: purpose) else { return nil }
        let check = try? await run(
            .path(.init(python)), arguments: ["-c", "import \(module)"], output: .discarded, error: .discarded)
        if check?.terminationStatus.isSuccess == true { return python }
        FileHandle.standardError.write(Data("skipped: \(purpose): \(python) has no module \(module)\n".utf8))
        return nil
    }

    /// A file of `Tests/EndToEndTests/peers`.
    static func script(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "peers/\(name)").path
    }
}
