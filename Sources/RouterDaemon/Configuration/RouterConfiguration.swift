import Foundation
import Media
import RouteBackend
import RouteModel
import SceneScript

/// What the configuration file says. The file belongs to the person: it is read, never written, by this.
public struct RouterConfiguration: Sendable, Equatable {
    /// How this sender calls itself towards devices.
    public var senderName = "router"
    /// The fixed port that receivers fetch media from.
    public var mediaPort = 7766
    public var ffmpeg = "ffmpeg"
    public var ffprobe = "ffprobe"
    public var devices: [Device] = []
    public var cast = CastConfiguration()
    public var daemon = DaemonConfiguration()
    /// What is said when the first device is found, once; empty says nothing, nil what the router says by itself.
    public var firstRunHint: String?
    public var rooms: [Room] = []
    /// What is said of places that media comes from.
    public var sources: [SourceRule] = []
    /// Where commands play that name no room.
    public var defaultRoom: String?
    /// What the person should know of the file itself.
    public var notices: [Notice] = []

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
        let data: Data
        do throws(RegularFile.Failure) {
            data = try RegularFile.read(path, limit: maximumBytes)
        } catch {
            if error == .missing, !mustExist { return RouterConfiguration() }
            throw Self.error(error, path)
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw RouterError(
                .configuration, "the configuration file \(path) is not UTF-8 text", hint: "Save it as UTF-8")
        }
        var configuration = try ConfigurationReader(path: path).read(text)
        let secret =
            configuration.devices.contains { $0.password != nil }
            ? "password" : configuration.daemon.token != nil ? "token" : nil
        if let secret, isOpenToOthers(path) {
            configuration.notices.append(
                Notice(
                    .warning,
                    "the configuration file \(path) holds a \(secret), and others of this machine can read it",
                    hint: "Run: chmod 600 \(path)"))
        }
        return configuration
    }

    private static func error(_ failure: RegularFile.Failure, _ path: String) -> RouterError {
        switch failure {
        case .missing:
            RouterError(
                .configuration, "there is no configuration file \(path)", hint: "Check the path given with --config")
        case .notAFile:
            RouterError(
                .configuration, "the configuration file \(path) is no file, but a folder, a named pipe or a device",
                hint: "Check that it is the right path")
        case .tooLarge:
            RouterError(
                .configuration, "the configuration file \(path) is larger than \(maximumBytes / 1024) KiB",
                hint: "Check that it is the right file")
        case .unreadable(let cause):
            RouterError(
                .configuration, "the configuration file \(path) cannot be read",
                hint: "Check its permissions; it should be yours, with mode 0600 where it holds passwords",
                causes: [cause])
        }
    }

    private static func isOpenToOthers(_ path: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        // 0o077: the bits of the group and of everybody else.
        return ((attributes?[.posixPermissions] as? Int) ?? 0) & 0o077 != 0
    }

    static let maximumBytes = 1 << 18
}
