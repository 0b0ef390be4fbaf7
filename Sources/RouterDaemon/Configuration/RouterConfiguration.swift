import Foundation
import RouteBackend
import RouteModel

/// What the configuration file says. The file belongs to the person: it is read, never written, by this.
public struct RouterConfiguration: Sendable, Equatable {
    /// How this sender calls itself towards devices.
    public var senderName = "router"
    /// The fixed port that receivers fetch media from.
    public var mediaPort = 7766
    public var ffmpeg = "ffmpeg"
    public var ffprobe = "ffprobe"
    public var devices: [Device] = []
    public var rooms: [Room] = []

    public init() {}

    /// A device named without discovery, or a password for one.
    public struct Device: Sendable, Equatable {
        public var uri: String
        public var password: Secret?

        public init(uri: String, password: Secret? = nil) {
            self.uri = uri
            self.password = password
        }
    }

    /// `$XDG_CONFIG_HOME/router/config.yaml`, or under `~/.config`.
    public static func defaultPath(environment: [String: String]) -> String {
        let base =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? (environment["HOME"] ?? "/root") + "/.config"
        return base + "/router/config.yaml"
    }

    /// Reads the file. One that is not there is an empty configuration, unless the person named it.
    ///
    /// Throws `configuration` with file, line and column.
    public static func load(path: String, mustExist: Bool) throws -> RouterConfiguration {
        guard FileManager.default.fileExists(atPath: path) else {
            guard mustExist else { return RouterConfiguration() }
            throw RouterError(
                .configuration, "there is no configuration file \(path)", hint: "Check the path given with --config")
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw RouterError(
                .configuration, "the configuration file \(path) cannot be read",
                hint: "Check its permissions; it should be yours, with mode 0600 where it holds passwords")
        }
        guard data.count <= maximumBytes else {
            throw RouterError(
                .configuration, "the configuration file \(path) is larger than \(maximumBytes / 1024) KiB",
                hint: "Check that it is the right file")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw RouterError(
                .configuration, "the configuration file \(path) is not UTF-8 text", hint: "Save it as UTF-8")
        }
        return try ConfigurationReader(path: path).read(text)
    }

    static let maximumBytes = 1 << 20
}
