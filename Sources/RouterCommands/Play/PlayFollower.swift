import Foundation
import RouteModel

/// Keeps what is known of the session and shows it: a player view on a terminal, plain lines elsewhere.
struct PlayFollower {
    let console: Console
    let options: GlobalOptions
    let terminal: Terminal?
    private(set) var session: SessionID?
    private var snapshot: SessionSnapshot?
    private var announced: ItemID?
    private var phase = ""
    private let view = PlayerView()
    private var drawn = 0

    init(console: Console, options: GlobalOptions, terminal: Terminal?) {
        self.console = console
        self.options = options
        self.terminal = terminal
    }

    /// The last snapshot, once the session is over.
    var over: SessionSnapshot? {
        guard let snapshot, session != nil, snapshot.connection == .ended || snapshot.connection == .failed else {
            return nil
        }
        return snapshot
    }

    mutating func started(_ snapshot: SessionSnapshot) {
        session = snapshot.id
        // Events may have brought newer news already.
        if (self.snapshot?.now ?? 0) < snapshot.now { self.snapshot = snapshot }
        announce()
        draw()
    }

    mutating func take(_ event: RouterEvent) {
        if options.output == .ndjson, let line = try? Renderer.jsonLine(event) { console.out(line) }
        switch event.body {
        case .snapshot, .routes: break
        case .session(let snapshot):
            self.snapshot = snapshot
            announce()
            draw()
        case .notice(let notice):
            clear()
            options.report.say(notice)
            draw()
        case .phase(let phase):
            self.phase = phase
            if terminal != nil {
                draw()
            } else if !options.noProgress, options.output == .table || options.output == .plain {
                console.err(Console.clean(phase))
            }
        }
    }

    /// On a non-terminal: one line for each item, when it begins.
    private mutating func announce() {
        guard terminal == nil, options.output == .table || options.output == .plain, let snapshot,
            snapshot.media == .playing, let item = snapshot.currentItem, announced != item.id
        else { return }
        announced = item.id
        let rooms = snapshot.members.filter { $0.error == nil }.map { member in
            "\(member.name) (\(member.protocol?.displayName ?? "connecting"))"
        }
        console.out(Console.clean("Playing \(PlayerView.describe(item)) in \(rooms.joined(separator: ", "))"))
    }

    mutating func draw() {
        guard let terminal else { return }
        let lines = view.lines(snapshot, phase: phase, console: console, now: Self.monotonic())
        terminal.draw(lines, over: drawn, console: console)
        drawn = lines.count
    }

    /// Takes the player off the screen, so that lines can be printed.
    mutating func clear() {
        guard let terminal, drawn > 0 else { return }
        terminal.draw([], over: drawn, console: console)
        drawn = 0
    }

    /// Whether every room that can say so is muted.
    var muted: Bool { snapshot?.members.compactMap(\.volume).allSatisfy(\.muted) ?? false }

    private static func monotonic() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
