import Foundation
import RouteBackend
import RouteModel

/// Keeps what is known of the session and shows it: a player view on a terminal, plain lines elsewhere.
struct PlayFollower {
    let console: Console
    let options: GlobalOptions
    let terminal: Terminal?
    private(set) var session: SessionID?
    private var snapshot: SessionSnapshot?
    private var announced: ItemID?
    /// How long tags of what plays have been waited for.
    private var ticksUnannounced = 0
    private var phase = "Getting ready…"
    /// What was told of each room's silence: once for each reason.
    private var doubted: [RouteID: Set<String>] = [:]
    private var questions: [(question: PasswordPrompt.Question, line: PasswordLine)] = []
    /// The width of each line on the screen: a terminal that became narrower has broken it into several rows.
    private var drawn: [Int] = []

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

    /// A session that failed is tried once more: what was known of it is no more.
    mutating func startOver() {
        session = nil
        snapshot = nil
        announced = nil
    }

    mutating func take(_ event: RouterEvent) {
        if options.output == .ndjson, let line = try? Renderer.jsonLine(event) { console.out(line) }
        switch event.body {
        case .snapshot, .routes, .command, .rooms, .scene, .pairing: break
        case .session(let snapshot):
            self.snapshot = snapshot
            announce()
            doubt(snapshot)
            draw()
        case .notice(let notice): say(notice)
        case .phase(let phase):
            self.phase = phase
            if terminal != nil {
                draw()
            } else if !options.noProgress, options.speaks {
                console.err(Console.clean(phase))
            }
        }
    }

    private mutating func say(_ notice: Notice) {
        clear()
        options.report.say(notice)
        draw()
    }

    /// A room that is sent sound and shows that it is not heard.
    private mutating func doubt(_ snapshot: SessionSnapshot) {
        for member in snapshot.members {
            guard let proof = member.proof, proof.certainty == .doubtful,
                doubted[member.route, default: []].insert(proof.reason).inserted
            else { continue }
            say(Notice(.warning, proof.reason, hint: proof.hint, route: member.route))
        }
    }

    /// A moment has passed.
    mutating func tick() {
        if snapshot?.media == .playing { ticksUnannounced += 1 }
        announce()
        draw()
    }

    /// On a non-terminal: one line for each item, when it begins. Sound may begin before the tags are read: they are
    /// waited for, but not for long.
    private mutating func announce() {
        guard terminal == nil, options.speaks, let snapshot, snapshot.media == .playing,
            let item = snapshot.currentItem, announced != item.id,
            item.metadata != MediaMetadata() || ticksUnannounced > Self.patience
        else { return }
        announced = item.id
        ticksUnannounced = 0
        let rooms = snapshot.members.filter { $0.error == nil }.map { member in
            "\(member.name) (\(member.protocol?.displayName ?? "connecting"))"
        }
        console.out("Playing \(PlayerView.describe(item)) in \(Console.clean(rooms.joined(separator: ", ")))")
    }

    private static let patience = 4

    // MARK: Questions

    mutating func take(_ question: PasswordPrompt.Question) {
        questions.append((question, PasswordLine()))
        draw()
    }

    /// True while a person is asked something: keys are letters of the answer then.
    var isAsking: Bool { !questions.isEmpty }

    mutating func type(_ bytes: [UInt8]) {
        guard !questions.isEmpty else { return }
        if case .done(let answer) = questions[0].line.take(bytes) {
            questions.removeFirst().question.answer(answer.map { Secret($0) })
        }
        draw()
    }

    /// Nobody is there to answer any more.
    mutating func dropQuestions() {
        for entry in questions { entry.question.answer(nil) }
        questions = []
    }

    private var question: String? {
        questions.first.map { entry in
            "Password of \(entry.question.device): \(String(repeating: "•", count: entry.line.count))"
        }
    }

    // MARK: The screen

    mutating func draw() {
        guard let terminal else { return }
        let size = console.size
        let view = PlayerView(columns: size.columns, rows: size.rows, styled: console.styled)
        let before = rowsDrawn(columns: size.columns)
        let lines = view.lines(snapshot, phase: phase, question: question, now: Self.monotonic())
        terminal.draw(lines, over: before, console: console)
        drawn = lines.map { TerminalText.width(Self.withoutStyle($0)) }
    }

    /// Takes the player off the screen, so that lines can be printed.
    mutating func clear() {
        guard let terminal, !drawn.isEmpty else { return }
        terminal.draw([], over: rowsDrawn(columns: console.size.columns), console: console)
        drawn = []
    }

    /// What is on the screen stays there, and the next picture is drawn below it.
    mutating func forgetPicture() { drawn = [] }

    private func rowsDrawn(columns: Int) -> Int {
        drawn.reduce(0) { $0 + max(1, ($1 + columns - 1) / columns) }
    }

    /// Our own styles only: what came from outside holds no escapes.
    private static func withoutStyle(_ line: String) -> String {
        line.replacing(/\u{1b}\[[0-9]*m/, with: "")
    }

    /// What a key asks for, as things are now.
    func command(_ key: PlayerKey) -> RemoteCommand? {
        switch key {
        case .mute: .mute(!muted, room: nil)
        case .faster: .rate(min(PlaybackRate.range.upperBound, rate + 0.25))
        case .slower: .rate(max(PlaybackRate.range.lowerBound, rate - 0.25))
        case .nextText: .selectTracks(tracksAfterNow)
        default: key.command
        }
    }

    private var rate: Double { snapshot?.members.compactMap(\.rate).first ?? 1 }

    /// The text track after the one that is shown, and after the last one none; what is heard stays.
    private var tracksAfterNow: [Int] {
        guard let member = snapshot?.members.first(where: { !($0.tracks ?? []).isEmpty }) else { return [] }
        let texts = (member.tracks ?? []).filter { $0.kind == .text }.map(\.id)
        let active = member.activeTracks ?? []
        let others = active.filter { !texts.contains($0) }
        let shown = texts.firstIndex { active.contains($0) }
        let next = shown.map { $0 + 1 } ?? 0
        return others + (next < texts.count ? [texts[next]] : [])
    }

    /// Whether every room that can say so is muted.
    var muted: Bool {
        let volumes = snapshot?.members.compactMap(\.volume) ?? []
        return !volumes.isEmpty && volumes.allSatisfy(\.muted)
    }

    /// The router's clock, where it runs in this process.
    static func monotonic() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
