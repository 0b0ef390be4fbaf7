import ArgumentParser
import CastBackend
import RouteModel

struct CastVolumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "volume",
        abstract: "Set a device's volume, 0 to 100, or mute it.",
        discussion: """
              router cast volume Kitchen 40
              router cast volume Kitchen mute
              router cast volume "Ground floor" 25 --member Kitchen
            """)

    @OptionGroup var target: CastTarget

    @Argument(help: ArgumentHelp("0 to 100, mute or unmute.", valueName: "level"))
    var level: String

    @Option(name: .long, help: ArgumentHelp("One member of a group.", valueName: "name"))
    var member: String?

    @OptionGroup var options: GlobalOptions

    func validate() throws { _ = try setting() }

    enum Setting: Equatable {
        /// 0 to 1.
        case level(Double)
        case muted(Bool)
    }

    func setting() throws -> Setting {
        switch level {
        case "mute": return .muted(true)
        case "unmute": return .muted(false)
        default:
            guard let number = Double(level), (0...100).contains(number) else {
                throw ValidationError("“\(level)” is no volume. Write 0 to 100, mute or unmute.")
            }
            return .level(number / 100)
        }
    }

    func run() async throws {
        let setting = try setting()
        try await target.act(options) { control in
            let name = member ?? control.endpoint.name
            switch setting {
            case .level(let level):
                if let member {
                    try await control.setMember(member, level: level)
                } else {
                    try await control.setVolume(level)
                }
                return "\(name) is at \(CastStatusLines.percent(level)) %"
            case .muted(let muted):
                if let member {
                    try await control.setMember(member, muted: muted)
                } else {
                    try await control.setMuted(muted)
                }
                return "\(name) is \(muted ? "muted" : "not muted")"
            }
        }
    }
}
