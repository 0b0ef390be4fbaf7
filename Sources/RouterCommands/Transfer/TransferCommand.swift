import ArgumentParser
import Foundation
import RouteModel

struct TransferCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "transfer", abstract: "Have what plays go on in other rooms.",
        discussion: """
            The queue, its order and the position come along; no volume is changed, and what is paused stays paused. The \
            old rooms are let go only once the new ones play; where they do not, it goes on as it was. What the new rooms \
            cannot do is told.

              router transfer Kitchen                    from the only session that plays
              router transfer Kitchen Bath -r "Living Room"
              router transfer Bath --expand              there as well
              router transfer Bath --shrink              no longer there
              router transfer Den --copy               a second session, from the same place
              router transfer Den --preflight            only tell what would be lost
            """)
    static let discovers = true

    @Argument(
        help: "Rooms to go to, or selectors such as @group:upstairs.",
        completion: .custom { _, _, _ in await DynamicCompletion.rooms() })
    var to: [String]

    @Flag(name: .long, help: "Play there as well.")
    var expand = false

    @Flag(name: .long, help: "Play there no longer.")
    var shrink = false

    @Flag(name: .long, help: "Begin a second session there with a copy of the queue.")
    var copy = false

    @Flag(name: .long, help: "Tell what would be lost, and do nothing.")
    var preflight = false

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        try options.refuseNoWait("transfer returns once it plays there")
        if to.isEmpty { throw ValidationError("Say where to: router transfer Kitchen.") }
        if [expand, shrink, copy].count(where: { $0 }) > 1 {
            throw ValidationError("Give one of --expand, --shrink and --copy, or none to move.")
        }
    }

    var kind: TransferRequest.Kind { expand ? .expand : shrink ? .shrink : copy ? .copy : .move }

    func run(_ context: VerbContext) async throws -> Int32 {
        let finder = TargetFinder(context)
        let session = try await finder.session(target).session
        let rooms = try await finder.rooms(to)
        return try await TransferRun(context: context).run(
            TransferRequest(kind, session: session.id, rooms: rooms, preflight: preflight))
    }
}

/// Does a transfer and says how it went.
struct TransferRun {
    let context: VerbContext

    func run(_ request: TransferRequest) async throws -> Int32 {
        let router = context.router
        let context = context
        let result = try await PhaseReport(context: context).during {
            try await context.within("the transfer") { try await router.transfer(request) }
        }
        for loss in result.losses { context.report.say(Notice(.info, "in \(Phrase.list(result.to)): \(loss)")) }
        try context.show(result, Self.sentence(result, request))
        return result.session.members.contains { $0.error != nil } && !request.preflight ? ExitStatus.partial : 0
    }

    static func sentence(_ result: TransferResult, _ request: TransferRequest) -> String {
        let what = "“\(result.title)”"
        let place = "\(Phrase.list(result.to)) at \(ClockTime.format(result.position))"
        if request.preflight {
            return result.losses.isEmpty
                ? "\(what) can go on in \(place); nothing is lost" : "\(what) can go on in \(place)"
        }
        switch request.kind {
        case .move: return "\(what) goes on in \(place)"
        case .expand: return "\(what) plays in \(place)"
        case .shrink: return "\(what) plays on in \(place)"
        case .copy: return "\(what) plays in \(place) by itself"
        }
    }
}

extension TransferResult: ListDisplayable {
    static var header: [String] { ["FROM", "TO", "TITLE", "AT", "BY", "LOSSES", "SESSION"] }
    var row: [String] {
        [
            from.joined(separator: ", "), to.joined(separator: ", "), title, ClockTime.format(position),
            method.rawValue,
            losses.joined(separator: ", "), session.id.rawValue,
        ]
    }
    var quietValue: String { session.id.rawValue }
}
