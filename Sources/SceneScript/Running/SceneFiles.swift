import Foundation
import RouteModel

/// The files that a scene speaks of: other scenes, and media. The daemon may allow some folders only.
public struct SceneFiles: Sendable {
    /// The text of another scene, by absolute path. Throws `RouterError`.
    public var read: @Sendable (_ path: String) throws -> String
    /// Whether there is a file or folder, by absolute path.
    public var exists: @Sendable (_ path: String) -> Bool

    public init(
        read: @escaping @Sendable (_ path: String) throws -> String,
        exists: @escaping @Sendable (_ path: String) -> Bool
    ) {
        self.read = read
        self.exists = exists
    }

    /// Those of this machine, as this process may read them.
    public static let local = SceneFiles(
        read: { try readText($0) }, exists: { FileManager.default.fileExists(atPath: $0) })

    /// A scene's text: at most `SceneLimits.bytes` of UTF-8. Throws `mediaNotFound` or `sceneInvalid`.
    public static func readText(_ path: String) throws -> String {
        let data: Data
        do throws(RegularFile.Failure) {
            data = try RegularFile.read(path, limit: SceneLimits.bytes)
        } catch {
            switch error {
            case .missing: throw RouterError(.mediaNotFound, "there is no file \(path)", hint: "Check the path")
            case .tooLarge:
                throw RouterError(
                    .sceneInvalid, "the file \(path) has more than \(SceneLimits.bytes / 1024) KiB",
                    hint: "Put parts of it into scenes of their own")
            case .notAFile:
                throw RouterError(
                    .sceneInvalid, "\(path) is no file, but a folder, a pipe or a device",
                    hint: "Write the scene into a file, and name that")
            case .unreadable(let why):
                throw RouterError(
                    .sceneInvalid, "the file \(path) cannot be read: \(why)", hint: "Check its permissions")
            }
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw RouterError(.sceneInvalid, "the file \(path) is no UTF-8 text", hint: "Save it as UTF-8")
        }
        return text
    }

    /// A path as an absolute one.
    static func absolute(_ path: String, in folder: String) -> String {
        if path.hasPrefix("/") { return path }
        if path.hasPrefix("~/") { return NSHomeDirectory() + path.dropFirst() }
        return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
    }

    /// A URL is fetched from elsewhere; anything else is a file.
    static func isURL(_ text: String) -> Bool { text.prefixMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:\/\//) != nil }
}
