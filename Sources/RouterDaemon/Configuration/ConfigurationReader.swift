import Foundation
import RouteBackend
import RouteModel
import Yams

/// Reads the configuration from YAML's node tree with a strict eye: unknown keys are errors with a suggestion, only
/// `true` and `false` are booleans, and every error names its line and column.
struct ConfigurationReader {
    let path: String

    /// With as many as this, whatever an alias stands for is small still, however they stand for each other.
    static let maximumAliases = 16

    func read(_ text: String) throws -> RouterConfiguration {
        try refuseManyAliases(text)
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch let error as YamlError {
            throw invalid(error)
        }
        var result = RouterConfiguration()
        // An empty file, or one of comments only.
        guard let root, root.null == nil || root.mapping != nil else { return result }
        let fields = try mapping(
            root, "the configuration",
            ["version", "name", "default_room", "media", "cast", "daemon", "hint", "devices", "rooms", "sources"])
        guard let version = fields["version"] else {
            throw error(root, "the configuration has no version", hint: "Begin the file with “version: 1”")
        }
        guard version.scalar?.string == "1" else {
            throw error(version, "this router reads version 1 of the configuration only", hint: "Write “version: 1”")
        }
        if let name = fields["name"] { result.senderName = try string(name, "name") }
        if let room = fields["default_room"] { result.defaultRoom = try string(room, "default_room") }
        if let media = fields["media"] { try readMedia(media, into: &result) }
        if let cast = fields["cast"] { result.cast = try self.cast(cast) }
        if let daemon = fields["daemon"] { result.daemon = try self.daemon(daemon) }
        if let hint = fields["hint"] { result.firstRunHint = try self.hint(hint) }
        if let devices = fields["devices"] {
            result.devices = try sequence(devices, "devices").map { try device($0) }
        }
        if let rooms = fields["rooms"] {
            let nodes = try sequence(rooms, "rooms")
            result.rooms = try nodes.map { try room($0) }
            try refuseTwins(zip(result.rooms, nodes))
        }
        if let sources = fields["sources"] { result.sources = try self.sources(sources) }
        return result
    }

    /// Aliases that stand for lists of aliases grow beyond all bounds within few lines, and the composer looks at all
    /// that they stand for; so they are counted before. Text that only looks like an alias is counted too, but for plain
    /// comments.
    private func refuseManyAliases(_ text: String) throws {
        var aliases = 0
        for line in text.utf8.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") })
        where !Self.isPlainComment(line) {
            var before = UInt8(ascii: "\n")
            for byte in line {
                if byte == UInt8(ascii: "*"), " \t\n[]{},:?-!\"'".utf8.contains(before) { aliases += 1 }
                before = byte
            }
        }
        guard aliases <= Self.maximumAliases else {
            throw RouterError(
                .configuration, "\(path): more than \(Self.maximumAliases) aliases (*name)",
                hint: "Write the values out; a configuration needs few of them")
        }
    }

    /// A line that cannot be anything else: without quotes it ends no text that was begun on a line before, and without
    /// the bytes of other line breaks it ends where it seems to.
    private static func isPlainComment(_ line: Substring.UTF8View) -> Bool {
        guard line.first(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) == UInt8(ascii: "#") else {
            return false
        }
        return !line.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "'") || $0 == 0xC2 || $0 == 0xE2 }
    }

    // MARK: Parts

    private func readMedia(_ node: Node, into result: inout RouterConfiguration) throws {
        let fields = try mapping(node, "media", ["port", "ffmpeg", "ffprobe"])
        if let port = fields["port"] { result.mediaPort = try integer(port, "port", in: 0...65535) }
        if let ffmpeg = fields["ffmpeg"] { result.ffmpeg = try string(ffmpeg, "ffmpeg") }
        if let ffprobe = fields["ffprobe"] { result.ffprobe = try string(ffprobe, "ffprobe") }
    }

    private func device(_ node: Node) throws -> RouterConfiguration.Device {
        if node.scalar != nil { return RouterConfiguration.Device(uri: try uri(node)) }
        let fields = try mapping(node, "a device", ["uri", "password"])
        guard let uri = fields["uri"] else {
            throw error(node, "a device needs a uri", hint: "Add one such as “uri: raop://192.168.1.20”")
        }
        let password = try fields["password"].map { Secret(try string($0, "password")) }
        return RouterConfiguration.Device(uri: try self.uri(uri), password: password)
    }

    private func uri(_ node: Node) throws -> String {
        try written(node, "uri") { text in
            _ = try DeviceURI(text)
            return text
        }
    }

    private func room(_ node: Node) throws -> Room {
        let keys = [
            "name", "devices", "aliases", "prefer", "via", "volume_limit", "quiet_hours", "start_volume",
            "volume_curve",
            "offset",
        ]
        let fields = try mapping(node, "a room", keys)
        guard let nameNode = fields["name"] else { throw error(node, "a room needs a name", hint: "Add “name: …”") }
        let name = try string(nameNode, "name")
        guard let devices = fields["devices"] else {
            throw error(node, "the room \(name) has no devices", hint: "Add “devices: [NAME]” with names or URIs")
        }
        var room = Room(name: name, configured: true)
        room.devices = try sequence(devices, "devices").map { try string($0, "a device") }
        if let aliases = fields["aliases"] {
            room.aliases = try sequence(aliases, "aliases").map { try string($0, "an alias") }
        }
        if let via = fields["via"], fields["prefer"] != nil {
            throw error(via, "via says the same as prefer", hint: "Keep one of them")
        }
        if let prefer = fields["prefer"] ?? fields["via"] {
            let text = try string(prefer, fields["via"] == nil ? "prefer" : "via")
            guard let via = ViaPreference(rawValue: text) else {
                throw error(prefer, "“\(text)” is no protocol", hint: "Write airplay, cast, cast-streaming or auto")
            }
            room.via = via
        }
        if let limit = fields["volume_limit"] {
            room.volumeLimit = VolumePosition(percent: Double(try integer(limit, "volume_limit", in: 0...100)))
        }
        room.quietHours = try fields["quiet_hours"].map { try written($0, "quiet_hours", QuietHours.init) }
        room.volumeCurve = try fields["volume_curve"].map { try written($0, "volume_curve", VolumeCurve.init) }
        room.startVolume = try fields["start_volume"].map { try written($0, "start_volume", StartVolume.init) }
        if let offset = fields["offset"] { room.offsetMilliseconds = try milliseconds(offset) }
        return room
    }

    private func refuseTwins(_ rooms: some Sequence<(Room, Node)>) throws {
        var seen: Set<String> = []
        for (room, node) in rooms {
            for name in [room.name] + room.aliases where !seen.insert(name.lowercased()).inserted {
                throw error(
                    node, "two rooms are called “\(name)”", hint: "Give each room a name and aliases of its own")
            }
        }
    }

    // MARK: Values

    func mapping(_ node: Node, _ what: String, _ keys: [String]) throws -> [String: Node] {
        guard let mapping = node.mapping else {
            throw error(node, "\(what) must be a list of “key: value” lines", hint: "Indent its keys below it")
        }
        var fields: [String: Node] = [:]
        for (key, value) in mapping {
            let name = key.scalar?.string ?? ""
            guard keys.contains(name) else {
                throw error(
                    key, "\(what) has no key “\(name)”",
                    hint: NearNames.of(name, among: keys).first.map { "Did you mean “\($0)”?" }
                        ?? "Known keys are \(keys.joined(separator: ", "))")
            }
            fields[name] = value
        }
        return fields
    }

    func sequence(_ node: Node, _ what: String) throws -> [Node] {
        guard let sequence = node.sequence else {
            throw error(node, "\(what) must be a list", hint: "Begin each entry with “- ”")
        }
        return Array(sequence)
    }

    func string(_ node: Node, _ what: String) throws -> String {
        guard let text = node.scalar?.string, !text.isEmpty else {
            throw error(node, "\(what) must be text", hint: "Write it in quotes if it holds “:” or “#”")
        }
        return text
    }

    /// What has a form of its own, as people write it. A number is text like any other: YAML has ideas of those.
    private func written<Value>(_ node: Node, _ what: String, _ read: (String) throws -> Value) throws -> Value {
        let text = try string(node, what)
        do {
            return try read(text)
        } catch let wrong as RouterError {
            throw error(node, wrong.message, hint: wrong.hint ?? "")
        }
    }

    private func integer(_ node: Node, _ what: String, in range: ClosedRange<Int>) throws -> Int {
        guard let text = node.scalar?.string, let value = Int(text), range.contains(value) else {
            throw error(
                node, "\(what) must be a whole number from \(range.lowerBound) to \(range.upperBound)",
                hint: "Write it without a unit")
        }
        return value
    }

    private func milliseconds(_ node: Node) throws -> Int {
        let text = node.scalar?.string ?? ""
        guard text.hasSuffix("ms"), let value = Int(text.dropLast(2).trimmingCharacters(in: .whitespaces)),
            (-5000...5000).contains(value)
        else {
            throw error(node, "offset must be from -5000ms to 5000ms", hint: "Write it with its unit, such as 20ms")
        }
        return value
    }

    // MARK: Errors

    func error(_ node: Node?, _ message: String, hint: String) -> RouterError {
        let place = node?.mark.map { "\(path):\($0.line):\($0.column)" } ?? path
        return RouterError(.configuration, "\(place): \(message)", hint: hint)
    }

    private func invalid(_ error: YamlError) -> RouterError {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            RouterError(
                .configuration, "\(path):\(mark.line):\(mark.column): not valid YAML (\(problem))",
                hint: "Check the indentation (spaces, no tabs) and the quotes near there")
        case .duplicatedKeysInMapping(let duplicates, let context):
            RouterError(
                .configuration,
                "\(path):\(context.mark.line):\(context.mark.column): the key “\(duplicates.first.map { "\($0)" } ?? "")” stands twice",
                hint: "Keep one of them")
        default:
            RouterError(.configuration, "\(path): not valid YAML", hint: "Check the file with a YAML linter")
        }
    }
}
