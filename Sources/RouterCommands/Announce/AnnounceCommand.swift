import ArgumentParser
import Foundation
import RouteModel

struct AnnounceCommand: RouterVerb {
    static let configuration = CommandConfiguration(
        commandName: "announce", abstract: "Say something into rooms, over what plays there.",
        discussion: """
            What plays is interrupted and then restored exactly; where nothing played, nothing is started. Without --room \
            it is said in the default room, or in the only one.

            It takes sound only: have text made into a file by a program for that, such as espeak-ng.

              router announce doorbell.wav --on @all
              router announce https://example.org/gong.mp3 -r Kitchen --volume 40
              router announce notice.wav --on @group:upstairs --priority low
              espeak-ng -w tea.wav "Tea is ready" && router announce tea.wav --on @all
            """)

    @Argument(help: "A file or a URL.", completion: .file())
    var what: String

    @Option(name: .long, parsing: .unconditional, help: "How loud, 0 to 100. Without it the volume stays as it is.")
    var volume: Int?

    @Option(name: .long, help: "high interrupts what plays; low lowers it or waits for its end.")
    var priority: AnnounceRequest.Priority = .high

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("It is over after this long, 1s to 10m, and everything is restored.", valueName: "time"))
    var deadline: Delay = Delay(seconds: 60)

    @OptionGroup var target: TargetOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
        if let volume, !(0...100).contains(volume) {
            throw ValidationError("The volume is a number from 0 to 100, not \(volume).")
        }
        try options.refuseNoWait("announce returns once all is as before, and says so")
        guard (1...600).contains(deadline.seconds) else { throw ValidationError("The deadline is from 1s to 10m.") }
    }

    func run(_ context: VerbContext) async throws -> Int32 {
        let request = AnnounceRequest(
            what: what, rooms: try await TargetFinder(context).rooms(target),
            volume: volume.map { VolumePosition(percent: Double($0)) }, priority: priority,
            deadline: deadline.mediaTime, workingDirectory: FileManager.default.currentDirectoryPath)
        let router = context.router
        let report = try await PhaseReport(context: context).during {
            try await context.within("the announcement") { try await router.announce(request) }
        }
        try show(report, context)
        let failed = report.rooms.filter { !$0.said || $0.restored == .failed }
        guard let first = failed.first else { return 0 }
        return failed.count < report.rooms.count ? ExitStatus.partial : (first.error?.code.exitStatus ?? 1)
    }

    private func show(_ report: AnnounceReport, _ context: VerbContext) throws {
        let rows = report.rooms.map { AnnouncedRoom(title: report.title, report: $0) }
        let isDocument = options.output == .json || options.output == .yaml
        if isDocument, options.fields == nil, options.format == nil, !options.quiet {
            context.console.out(try Renderer.document(report, options.output))
        } else if context.options.output == .table, options.fields == nil, options.format == nil, !options.quiet {
            for row in rows { context.say(row.sentence) }
        } else {
            try context.renderer.render(rows, on: context.console)
        }
        for room in report.rooms { if let error = room.error { context.report.say(error) } }
    }
}

extension AnnounceRequest.Priority: ExpressibleByArgument {}

/// What became of an announcement in one room.
struct AnnouncedRoom: ListDisplayable {
    var title: String
    var report: AnnounceReport.RoomReport

    static var header: [String] { ["ROOM", "SAID", "RESTORED"] }
    var row: [String] { [report.room, report.said ? "yes" : "no", report.restored.rawValue] }
    var quietValue: String { report.room }
    static var optionalNames: Set<String> { ["error"] }

    func encode(to encoder: any Encoder) throws { try report.encode(to: encoder) }

    var sentence: String {
        guard report.said else { return "\(report.room): not said" }
        let after =
            switch report.restored {
            case .resumed: "what played plays on"
            case .paused: "what was paused still is"
            case .nothing: "nothing played there"
            case .overruled: "somebody gave another command meanwhile"
            case .foreign: "what another sender played cannot be brought back"
            case .failed: "what played could not be brought back"
            }
        return "\(report.room): said “\(title)”; \(after)"
    }
}
