import Foundation
import RouteModel
import RouterDaemon

/// What `config get` and `config set` know of: single values, by their place in the file.
enum ConfigurationSetting: String, CaseIterable, Sendable {
    case name
    case defaultRoom = "default_room"
    case hint
    case mediaPort = "media.port"
    case ffmpeg = "media.ffmpeg"
    case ffprobe = "media.ffprobe"

    /// Throws `UsageError` with what is near.
    static func named(_ text: String) throws -> ConfigurationSetting {
        if let setting = ConfigurationSetting(rawValue: text) { return setting }
        let names = allCases.map(\.rawValue)
        let near = NearNames.of(text, among: names).first
        throw UsageError(
            "there is no setting “\(text)”",
            hint: near.map { "Did you mean “\($0)”?" }
                ?? "There are \(names.joined(separator: ", ")); rooms and devices are named in the file itself")
    }

    /// The keys that lead to it.
    var keys: [String] { rawValue.split(separator: ".").map(String.init) }

    /// Whether a daemon takes it up only when it starts.
    var isReadAtStart: Bool { self != .defaultRoom }

    func value(_ configuration: RouterConfiguration) -> OutputValue {
        switch self {
        case .name: .text(configuration.senderName)
        case .defaultRoom: configuration.defaultRoom.map { .text($0) } ?? .null
        case .hint: configuration.firstRunHint.map { .text($0) } ?? .null
        case .mediaPort: .integer(Int64(configuration.mediaPort))
        case .ffmpeg: .text(configuration.ffmpeg)
        case .ffprobe: .text(configuration.ffprobe)
        }
    }

    /// As it is written in the file.
    func written(_ value: String) -> String {
        // A number is checked by the reader of the file, which says what is wrong with it.
        self == .mediaPort ? value : YAMLText.text(value)
    }
}

/// The configuration file, changed line by line so that everything else in it stays as the person wrote it.
struct ConfigurationFile {
    let path: String

    /// Throws `configuration` where the file would not be a valid one afterwards, and then it is as it was.
    func set(_ setting: ConfigurationSetting, to value: String) throws {
        let before: String
        if FileManager.default.fileExists(atPath: path) {
            // Also looks whether it is a configuration at all.
            _ = try RouterConfiguration.load(path: path, mustExist: true)
            before = try String(contentsOfFile: path, encoding: .utf8)
        } else {
            before = "version: 1\n"
        }
        let after = Self.changed(before, setting.keys, value.isEmpty ? nil : setting.written(value))
        try write(after)
    }

    /// The text with a value set, or taken out. A key that is not there is added at the end of its section.
    static func changed(_ text: String, _ keys: [String], _ value: String?) -> String {
        var lines = text.components(separatedBy: "\n")
        while lines.last == "" { lines.removeLast() }
        var range = 0..<lines.count
        var indent = 0
        for (depth, key) in keys.enumerated() {
            let isLast = depth == keys.count - 1
            guard let found = range.first(where: { Self.key(lines[$0]) == key && Self.indent(lines[$0]) == indent })
            else {
                guard let value else { return text }
                let missing = keys[depth...].enumerated().map { offset, name in
                    let pad = String(repeating: " ", count: indent + offset * 2)
                    return pad + name + ":" + (offset == keys.count - 1 - depth ? " " + value : "")
                }
                lines.insert(contentsOf: missing, at: range.upperBound)
                break
            }
            if isLast {
                if let value {
                    lines[found] =
                        String(repeating: " ", count: indent) + "\(key): \(value)" + Self.comment(lines[found])
                } else {
                    // With what belongs to it: the further lines of a text.
                    var end = found + 1
                    while end < range.upperBound, Self.indent(lines[end]) > indent { end += 1 }
                    lines.removeSubrange(found..<end)
                    // A section without settings is none.
                    let rest = range.lowerBound..<(range.upperBound - (end - found))
                    if depth > 0, !lines[rest].contains(where: { Self.key($0) != nil }) {
                        lines.remove(at: range.lowerBound - 1)
                    }
                }
                break
            }
            var end = found + 1
            while end < range.upperBound, Self.isInside(lines[end], deeperThan: indent) { end += 1 }
            // Blank lines and comments at its end belong to what follows.
            while end > found + 1, Self.key(lines[end - 1]) == nil { end -= 1 }
            range = (found + 1)..<end
            indent = range.lazy.filter { Self.key(lines[$0]) != nil }.map { Self.indent(lines[$0]) }.first ?? indent + 2
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func indent(_ line: String) -> Int { line.prefix { $0 == " " }.count }

    private static func isInside(_ line: String, deeperThan indent: Int) -> Bool {
        key(line) == nil && !line.trimmingCharacters(in: .whitespaces).hasPrefix("-") || self.indent(line) > indent
    }

    /// The key that a line begins with; nil for a comment, a blank line or anything else.
    private static func key(_ line: String) -> String? {
        let bare = line.trimmingCharacters(in: .whitespaces)
        guard !bare.hasPrefix("#"), !bare.hasPrefix("-"), let colon = bare.firstIndex(of: ":") else { return nil }
        return bare[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "\"' "))
    }

    /// What stands behind a value, with the space before it.
    private static func comment(_ line: String) -> String {
        guard let mark = line.range(of: " #") else { return "" }
        // A mark inside quotes is text.
        let before = line[..<mark.lowerBound]
        guard before.count(where: { $0 == "\"" }) % 2 == 0, before.count(where: { $0 == "'" }) % 2 == 0 else {
            return ""
        }
        return String(line[mark.lowerBound...])
    }

    /// Where a symbolic link leads, which stays one: people keep such files elsewhere. Throws `configuration` for links
    /// that lead around.
    private func target() throws -> String {
        var target = path
        // As many as the kernel follows (path_resolution(7)).
        for _ in 0..<40 {
            guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: target) else { return target }
            target =
                link.hasPrefix("/")
                ? link : ((target as NSString).deletingLastPathComponent as NSString).appendingPathComponent(link)
        }
        throw RouterError(
            .configuration, "the configuration file \(path) is a link that leads to itself",
            hint: "Remove the link, or have it lead to a file")
    }

    private func write(_ text: String) throws {
        let path = try target()
        let folder = (path as NSString).deletingLastPathComponent
        let trial = "\(path).\(getpid()).new"
        defer { unlink(trial) }
        do {
            if !folder.isEmpty, !FileManager.default.fileExists(atPath: folder) {
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            }
            // It may hold passwords; one that is there keeps its permissions.
            let mode = (try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]) ?? 0o600
            guard
                FileManager.default.createFile(
                    atPath: trial, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
            else { throw CocoaError(.fileWriteUnknown) }
        } catch {
            throw RouterError(
                .configuration, "the configuration file \(path) cannot be written",
                hint: "Check the permissions of its folder", causes: [error.localizedDescription])
        }
        do {
            _ = try RouterConfiguration.load(path: trial, mustExist: true)
        } catch var error as RouterError {
            error.message = error.message.replacing(trial, with: path)
            throw error
        }
        guard rename(trial, path) == 0 else {
            throw RouterError(
                .configuration,
                "the configuration file \(path) cannot be replaced (\(String(cString: strerror(errno))))",
                hint: "Check the permissions of its folder")
        }
    }
}
