import ArgumentParser
import Foundation
import RouteModel
import RouterDaemon

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show and set what the configuration file says.",
        discussion: """
            The file is yours: only “config set” writes to it, one line at a time, and leaves the rest and its comments as \
            they are. Rooms and devices are named in an editor.

              router config get
              router config get media.port
              router config set default_room Kitchen
              router config path
            """,
        subcommands: [ConfigGetCommand.self, ConfigSetCommand.self, ConfigPathCommand.self],
        defaultSubcommand: ConfigGetCommand.self)
}

struct ConfigGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Show the settings, or one of them.",
        discussion: """
              router config get
              router config get name
            """)

    @Argument(
        help: "A setting; nothing shows them all.", completion: .list(ConfigurationSetting.allCases.map(\.rawValue)))
    var key: String?

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            let path = ConfigurationPlace.path(options)
            let configuration = try RouterConfiguration.load(path: path, mustExist: options.config != nil)
            let wanted = try key.map { [try ConfigurationSetting.named($0)] } ?? ConfigurationSetting.allCases
            let rows = wanted.map { ConfigurationRow(key: $0.rawValue, value: $0.value(configuration)) }
            // One setting is asked for to be used: its value and nothing else.
            if key != nil, options.output == .table, options.format == nil, options.fields == nil, !options.quiet {
                options.console.out(Console.clean(rows[0].value.line))
            } else {
                try options.renderer.render(rows, on: options.console)
            }
            return 0
        }
    }
}

struct ConfigSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Set one setting in the file; an empty value takes it out.",
        discussion: """
              router config set default_room Kitchen
              router config set media.port 7800
              router config set default_room ""
            """)

    @Argument(help: "The setting.", completion: .list(ConfigurationSetting.allCases.map(\.rawValue)))
    var key: String

    @Argument(help: "Its value.")
    var value: String

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            let setting = try ConfigurationSetting.named(key)
            let path = ConfigurationPlace.path(options)
            try ConfigurationFile(path: path).set(setting, to: CommandWords.typed(value))
            let now = try RouterConfiguration.load(path: path, mustExist: true)
            try options.show(
                ConfigurationRow(key: setting.rawValue, value: setting.value(now)),
                "\(path): \(setting.rawValue) is \(value.isEmpty ? "taken out" : "set")", on: options.console)
            if options.speaks {
                if case .daemon = RouterConnection.side(options), setting.isReadAtStart {
                    options.console.err(
                        "  hint: A daemon reads it when it starts: router daemon stop, router daemon run")
                }
            }
            return 0
        }
    }
}

struct ConfigPathCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "path", abstract: "Show where the configuration file is, or would be.",
        discussion: """
              $EDITOR "$(router config path)"
              router config path
            """)

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await reporting(options) {
            let path = ConfigurationPlace.path(options)
            if !FileManager.default.fileExists(atPath: path), options.speaks {
                options.console.err("There is no such file yet; “router config set” makes it.")
            }
            try options.renderer.render(one: ConfigurationPath(path: path), on: options.console) { _ in [path] }
            return 0
        }
    }
}

enum ConfigurationPlace {
    static func path(_ options: GlobalOptions) -> String {
        options.config ?? RouterConfiguration.defaultPath(environment: ProcessInfo.processInfo.environment)
    }
}

/// Where the file is: `{"path": "/home/…"}`.
struct ConfigurationPath: ListDisplayable {
    var path: String

    static var header: [String] { ["PATH"] }
    var row: [String] { [path] }
    var quietValue: String { path }
}

struct ConfigurationRow: ListDisplayable {
    var key: String
    var value: OutputValue

    static var header: [String] { ["SETTING", "VALUE"] }
    var row: [String] { [key, value.line] }
    var quietValue: String { value.line }
}
