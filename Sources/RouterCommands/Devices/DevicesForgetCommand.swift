import ArgumentParser
import RouteModel

struct DevicesForgetCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Forget all that is known of a device: its pairing, volume, key and faults.",
        discussion: """
            For one that was sold, put back to its factory settings, or replaced by another under its name. One that is \
            still on is found again, as a new one. One that the configuration file names stays named there.

              router devices forget "Old Speaker"
              router devices forget "Old Speaker" --yes
            """)
    static let remembers = true

    @Argument(
        help: "The device: a name, an id or the beginning of one.",
        completion: .custom { _, _, _ in await DynamicCompletion.devices() })
    var name: String

    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        try await context.confirmed("What is known of \(name) will be forgotten, its pairing too")
        let notice = try await context.router.forgetDevice(name)
        try context.show(Change(.forgotten, .device, name), "\(name) is forgotten")
        if let notice { context.report.say(notice) }
        return 0
    }
}
