import ArgumentParser
import RouteModel

/// A verb that is one command, and takes nothing but where.
protocol TransportVerb: RouterVerb {
    static var command: RemoteCommand { get }
    var target: TargetOptions { get }
    var terms: TermsOptions { get }
    /// What to say afterwards.
    func sentence(_ report: PerformedCommand) -> String
}

extension TransportVerb {
    static var discovers: Bool { false }

    func run(_ context: VerbContext) async throws -> Int32 {
        let targets = try await TargetFinder(context).sessions(target)
        return try await CommandPerformer(context: context, name: Self.configuration.commandName ?? "", terms: terms)
            .perform(on: targets, { _ in [Self.command] }, sentence: sentence)
    }
}

extension PerformedCommand {
    var place: String { Phrase.list(rooms) }
    /// The room, or the rooms, with the verb that fits.
    var placeIs: String { "\(place) \(rooms.count > 1 ? "are" : "is")" }
    var what: String { title.map { "“\($0)”" } ?? "what played" }
}

struct PauseCommand: TransportVerb {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause what plays.",
        discussion: """
            Without --room the only session that plays is meant, else the one in the default room. Rooms that play \
            together pause together, whichever of them is named.

              router pause
              router pause -r Kitchen
              router pause --on @active
            """)
    static let command = RemoteCommand.pause

    @OptionGroup var terms: TermsOptions
    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func sentence(_ report: PerformedCommand) -> String { "Paused \(report.what) in \(report.place)" }
}

struct ToggleCommand: TransportVerb {
    static let configuration = CommandConfiguration(
        commandName: "toggle", abstract: "Pause what plays, and play on what is paused.",
        discussion: """
              router toggle
              router toggle -r Kitchen
            """)
    static let command = RemoteCommand.toggle

    @OptionGroup var terms: TermsOptions
    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func sentence(_ report: PerformedCommand) -> String {
        report.state == .paused
            ? "Paused \(report.what) in \(report.place)" : "Playing \(report.what) in \(report.place)"
    }
}

struct StopCommand: TransportVerb {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop what plays, and end its session.",
        discussion: """
            The rooms are let go of. To have the same again later, pause it, or keep its queue first with “router queue \
            save NAME”. Of rooms that play together those that are named leave, and the others play on; for them there \
            is no --if-item and no --within.

              router stop
              router stop -r Kitchen
              router stop --on @all
            """)
    static let command = RemoteCommand.stop

    @OptionGroup var terms: TermsOptions
    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func run(_ context: VerbContext) async throws -> Int32 {
        let targets = try await TargetFinder(context).sessions(target)
        // Rooms leave without conditions: who sets one must not have it passed over.
        if terms.ifItem != nil || terms.within != nil, let part = targets.lazy.compactMap(\.part).first {
            throw UsageError(
                "--if-item and --within are for a session as a whole, and \(Phrase.list(part.others)) would play on",
                hint: "Leave them out, or name all rooms of the session")
        }
        return try await CommandPerformer(context: context, name: "stop", terms: terms, takesRoomsOut: true)
            .perform(on: targets, { _ in [Self.command] }, sentence: sentence)
    }

    func sentence(_ report: PerformedCommand) -> String {
        let others = report.playsOn.map { "; it plays on in \(Phrase.list($0))" } ?? ""
        return "Stopped \(report.what) in \(report.place)\(others)"
    }
}

struct NextCommand: TransportVerb {
    static let configuration = CommandConfiguration(
        commandName: "next", abstract: "Go on to the next item of the queue.",
        discussion: """
              router next
              router next -r Kitchen -o json
            """)
    static let command = RemoteCommand.next

    @OptionGroup var terms: TermsOptions
    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func sentence(_ report: PerformedCommand) -> String { "Now \(report.what) in \(report.place)" }
}

struct PreviousCommand: TransportVerb {
    static let configuration = CommandConfiguration(
        commandName: "prev", abstract: "Go back to the item that was heard before.",
        discussion: """
            Within the first three seconds of an item that is the one before; later it is the beginning of this one.

              router prev
              router prev -r Kitchen
            """, aliases: ["previous"])
    static let command = RemoteCommand.previous

    @OptionGroup var terms: TermsOptions
    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func sentence(_ report: PerformedCommand) -> String { "Now \(report.what) in \(report.place)" }
}
