import RouteModel
import Testing

@testable import RouterCore

@Suite("the volumes of rooms that play together")
struct GroupVolumeTests {
    private func group(_ levels: Double...) -> GroupVolume {
        var group = GroupVolume()
        for (room, level) in levels.enumerated() { group.set(VolumePosition(level), of: room) }
        return group
    }

    private func levels(_ group: GroupVolume) -> [Double] {
        group.trims.keys.sorted().map { ((group.level(of: $0)?.value ?? -1) * 1e6).rounded() / 1e6 }
    }

    /// What holds whatever was done: the loudest is at 1, and nothing is outside its range.
    private func isSound(_ group: GroupVolume) -> Bool {
        (0...1).contains(group.master) && group.trims.values.allSatisfy { (0...1).contains($0) }
            && (group.trims.isEmpty || abs((group.trims.values.max() ?? 0) - 1) < 1e-6)
    }

    @Test("each room that joins keeps its own level, and the master is the loudest's")
    func joining() {
        let group = group(0.3, 0.6, 0.2)
        #expect(levels(group) == [0.3, 0.6, 0.2])
        #expect(group.master == 0.6)
        #expect(group.trims == [0: 0.5, 1: 1, 2: 0.2 / 0.6])
    }

    @Test("a louder room raises the master, and nobody else's loudness changes")
    func louderJoins() {
        var group = group(0.4, 0.2)
        group.set(VolumePosition(0.8), of: 2)
        #expect(group.master == 0.8)
        #expect(levels(group) == [0.4, 0.2, 0.8])
    }

    @Test("the master moves no trim: all the way down and up is the way back, and so is 100 %")
    func masterIsReversible() {
        var group = group(0.3, 0.6)
        let trims = group.trims
        for level in [1.0, 0, 0.1, 0, 0.6] { group.setMaster(VolumePosition(level)) }
        #expect(group.trims == trims)
        #expect(levels(group) == [0.3, 0.6])
    }

    @Test("a limit holds down what is sent and nothing else")
    func limit() {
        var group = group(0.5, 0.5)
        group.setMaster(VolumePosition(0.9))
        #expect(group.level(of: 0, limit: VolumePosition(0.4))?.value == 0.4)
        #expect(group.level(of: 1)?.value == 0.9)
        group.setMaster(VolumePosition(0.3))
        #expect(group.level(of: 0, limit: VolumePosition(0.4))?.value == 0.3)
    }

    @Test(
        "a knob that is turned below the master changes that room alone; the loudest one turned down lowers the master")
    func turnedDown() {
        var group = group(0.8, 0.4)
        group.set(VolumePosition(0.2), of: 1)
        #expect(group.master == 0.8)
        #expect(levels(group) == [0.8, 0.2])
        group.set(VolumePosition(0.1), of: 0)
        #expect(abs(group.master - 0.2) < 1e-9)
        #expect(levels(group) == [0.1, 0.2])
        #expect(isSound(group))
    }

    @Test("with one room its level is the master, whoever sets it")
    func alone() {
        var group = group(0.3)
        group.set(VolumePosition(0.7), of: 0)
        #expect(group.master == 0.7)
        group.setMaster(VolumePosition(0))
        group.set(VolumePosition(0.2), of: 0)
        #expect(group.master == 0.2)
        #expect(group.trims == [0: 1])
    }

    @Test("while the master is at 0 trims are kept against the last that was not")
    func silence() {
        var group = group(0.6, 0.3)
        group.setMaster(VolumePosition(0))
        #expect(levels(group) == [0, 0])
        group.set(VolumePosition(0.3), of: 2)
        #expect(group.master == 0)
        group.setMaster(VolumePosition(0.6))
        #expect(levels(group) == [0.6, 0.3, 0.3])
    }

    @Test("after a slide down to 0 a room that joins does not make the others faint")
    func joinsAfterSlide() {
        var group = group(0.6, 0.3)
        for level in [0.3, 0.1, 0.01, 0] { group.setMaster(VolumePosition(level)) }
        group.set(VolumePosition(0.5), of: 2)
        group.setMaster(VolumePosition(0.6))
        #expect(levels(group) == [0.6, 0.3, 0.6])
    }

    @Test("rooms that were all silent from the beginning: the first that is heard is the master")
    func silentBeginning() {
        var group = group(0, 0)
        #expect(group.master == 0)
        group.set(VolumePosition(0.5), of: 1)
        #expect(group.master == 0.5)
        #expect(levels(group) == [0, 0.5])
        var other = self.group(0, 0)
        other.setMaster(VolumePosition(0.4))
        #expect(levels(other) == [0.4, 0.4])
    }

    @Test("rooms turned to 0 one by one leave a master that can be turned up again")
    func allTurnedDown() {
        var group = group(0.6, 0.3)
        group.set(VolumePosition(0), of: 0)
        group.set(VolumePosition(0), of: 1)
        #expect(group.master == 0)
        group.setMaster(VolumePosition(0.5))
        #expect(levels(group) == [0.5, 0.5])
    }

    @Test("the loudest leaves: the others stay as loud, and the next is at the master")
    func loudestLeaves() {
        var group = group(0.8, 0.4, 0.2)
        group.remove(0)
        #expect(levels(group) == [0.4, 0.2])
        #expect(abs(group.master - 0.4) < 1e-9)
        group.remove(1)
        #expect(group.trims == [2: 1])
        group.remove(2)
        #expect(group == GroupVolume())
        group.setMaster(VolumePosition(0.5))
        #expect(group == GroupVolume())
    }

    @Test("a trim is against the loudest, and the loudest's own against the next; all trims of a group come out as set")
    func trims() {
        var group = group(0.5, 0.5, 0.5)
        group.setTrim(0.6, of: 1)
        #expect(levels(group) == [0.5, 0.3, 0.5])
        group.setTrim(0.5, of: 0)
        group.setTrim(0.5, of: 2)
        // Now room 1, at 0.6, is the loudest, and the master is its level.
        #expect(isSound(group))
        #expect(group.trims[1] == 1 || group.trims[2] == 1 || group.trims[0] == 1)
        var pair = self.group(0.5, 0.3)
        pair.setTrim(0.5, of: 0)
        pair.setTrim(1, of: 1)
        #expect(abs((pair.trims[0] ?? 0) - 0.5) < 1e-9)
        #expect(pair.trims[1] == 1)
        pair.setTrim(.nan, of: 0)
        #expect(pair.trims[0] == 0)
        var lone = self.group(0.5)
        lone.setTrim(0.1, of: 0)
        #expect(lone.trims == [0: 1])
    }

    @Test("whatever is done, the loudest trim is 1 and nobody else is made louder by one room's change")
    func anything() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<300 {
            var group = GroupVolume()
            for _ in 0..<40 {
                let room = Int.random(in: 0..<4, using: &generator)
                let choices: [Double] = [0, 0.01, 0.25, 0.5, 0.99, 1]
                let level = choices.randomElement(using: &generator) ?? 0
                let before = group
                switch Int.random(in: 0..<6, using: &generator) {
                case 0: group.setMaster(VolumePosition(level))
                case 1: group.remove(room)
                case 2: group.setTrim(level, of: room)
                default:
                    group.set(VolumePosition(level), of: room)
                    for (other, _) in before.trims where other != room {
                        let (was, now) = (before.level(of: other)?.value ?? 0, group.level(of: other)?.value ?? 0)
                        #expect(abs(was - now) < 1e-6, "\(before) → \(group)")
                    }
                }
                #expect(isSound(group), "\(before) → \(group)")
            }
        }
    }
}

/// SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("R5 the volumes of rooms that are linked")
struct LinkedGroupVolumeTests {
    @Test("a room that is turned has its level, and the others theirs against it, as far as the master goes")
    func follows() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var group = GroupVolume()
            for room in 0..<Int.random(in: 2...5, using: &random) {
                group.set(VolumePosition(.random(in: 0...1, using: &random)), of: room)
            }
            for _ in 0..<5 {
                let before = group
                let room = Int.random(in: 0..<group.trims.count, using: &random)
                let wanted = VolumePosition(Bool.random(using: &random) ? .random(in: 0...1, using: &random) : 0)
                group.follow(wanted, of: room, atMost: 0.25)
                let trim = before.trims[room] ?? 0
                #expect(abs((group.level(of: room)?.value ?? -1) - wanted.value) < 1e-6)
                #expect((0...1).contains(group.master) && group.trims.values.allSatisfy { (0...1).contains($0) })
                if trim > 0, wanted.value / trim <= min(1, before.master + 0.25) {
                    #expect(group.trims == before.trims && abs(group.master - wanted.value / trim) < 1e-6)
                }
                for (other, share) in before.trims where other != room {
                    let level = group.level(of: other)?.value ?? -1
                    #expect(level <= (before.master + 0.25) * share + 1e-6, "nobody's room is blown up")
                }
            }
        }
    }

    @Test("turned to nothing and up again, the others are as they were against it")
    func reversible() {
        var group = GroupVolume()
        group.set(VolumePosition(0.4), of: 0)
        group.set(VolumePosition(0.2), of: 1)
        group.follow(VolumePosition(0), of: 1, atMost: 0.25)
        #expect(group.master == 0 && group.silenced == 0.4 && group.level(of: 0)?.value == 0)
        group.follow(VolumePosition(0.1), of: 1, atMost: 0.25)
        #expect(group.master == 0.2 && group.level(of: 0)?.value == 0.2)
    }
}

@Suite("a device's word of its volume")
struct VolumeEchoTests {
    private func volume(_ level: Double, muted: Bool = false) -> VolumeState {
        VolumeState(level: VolumePosition(level), muted: muted)
    }

    @Test("what was set comes back, rounded to the device's step")
    func echo() {
        var echo = VolumeEcho()
        echo.writes(volume(0.42), after: volume(0.2))
        echo.returned(at: 10)
        #expect(echo.judge(volume(0.4), step: 0.05, at: 20) == .echo)
        #expect(echo.judge(volume(0.4), step: 0.05, at: 30) == .echo)
    }

    @Test("once it has come back, one step of the knob is a turn of the knob")
    func smallTurn() {
        var echo = VolumeEcho()
        echo.writes(volume(0.4), after: volume(0.2))
        echo.returned(at: 10)
        #expect(echo.judge(volume(0.4), step: 0.05, at: 20) == .echo)
        #expect(echo.judge(volume(0.45), step: 0.05, at: 30) == .foreign)
    }

    @Test("news of before the write is passed over for a moment, and then believed")
    func stale() {
        var echo = VolumeEcho()
        echo.writes(volume(0.8), after: volume(0.2))
        #expect(echo.judge(volume(0.5), step: 0.01, at: 5) == .wait(nil))
        echo.returned(at: 10)
        let end = 10 + VolumeEcho.graceNanoseconds
        #expect(echo.judge(volume(0.2), step: 0.01, at: 20) == .wait(end))
        #expect(echo.judge(volume(0.2), step: 0.01, at: end) == .foreign)
    }

    @Test("another value than before or now is somebody's hand, at once")
    func foreign() {
        var echo = VolumeEcho()
        #expect(echo.judge(volume(0.5), step: 0.01, at: 0) == .foreign)
        #expect(echo.judge(volume(0.5), step: 0.01, at: 1) == .echo)
        echo.writes(volume(0.8), after: volume(0.5))
        echo.returned(at: 10)
        #expect(echo.judge(volume(0.3), step: 0.01, at: 11) == .foreign)
        #expect(echo.judge(volume(0.3, muted: true), step: 0.01, at: 12) == .foreign)
    }

    @Test("the first other value after a write may be what the device made of it; a later one is a hand's")
    func answer() {
        var echo = VolumeEcho()
        echo.writes(volume(0.42), after: volume(0.2))
        echo.returned(at: 10)
        #expect(echo.judge(volume(0.5), step: 0.01, at: 20) == .foreign && echo.mayBeAnswer)
        #expect(echo.judge(volume(0.6), step: 0.01, at: 30) == .foreign && !echo.mayBeAnswer)
        echo.writes(volume(0.42), after: volume(0.6))
        echo.returned(at: 40)
        let late = 40 + VolumeEcho.answerNanoseconds
        #expect(echo.judge(volume(0.5), step: 0.01, at: late) == .foreign && !echo.mayBeAnswer)
    }

    @Test("of two writes only the last one's word counts")
    func twoWrites() {
        var echo = VolumeEcho()
        echo.writes(volume(0.3), after: volume(0.2))
        echo.writes(volume(0.6), after: volume(0.3))
        echo.returned(at: 10)
        echo.returned(at: 11)
        #expect(echo.judge(volume(0.3), step: 0.01, at: 12) == .wait(11 + VolumeEcho.graceNanoseconds))
        #expect(echo.judge(volume(0.6), step: 0.01, at: 13) == .echo)
    }
}

@Suite("commands in a short row")
struct CommandCoalescerTests {
    private let window = CommandCoalescer.windowNanoseconds

    @Test("the first goes at once, the last of the rest when the time is over, and none between")
    func row() {
        var coalescer = CommandCoalescer()
        let commands = (1...4).map { RemoteCommand.setVolume(VolumePosition(Double($0) / 10), room: nil) }
        let tickets = commands.enumerated().map {
            coalescer.enter($1, .volume(room: nil), at: Int64($0))
        }
        #expect(tickets.map(\.until) == [nil, window, window, window])
        #expect(coalescer.leave(tickets[1], at: window) == nil)
        #expect(coalescer.leave(tickets[2], at: window) == nil)
        #expect(coalescer.leave(tickets[3], at: window) == commands[3])
        #expect(coalescer.isOvertaken(tickets[0]))
        #expect(!coalescer.isOvertaken(tickets[3]))
    }

    @Test("steps are added up, also to a place that waits, and to none that has gone")
    func steps() {
        var coalescer = CommandCoalescer()
        let step = RemoteCommand.stepVolume(0.05, room: "Den")
        let kind = CommandCoalescer.Kind.volume(room: "den")
        #expect(CommandCoalescer.Kind(step) == kind)
        #expect(coalescer.enter(step, kind, at: 0).until == nil)
        let second = coalescer.enter(step, kind, at: 1)
        let third = coalescer.enter(step, kind, at: 2)
        #expect(coalescer.leave(second, at: window) == nil)
        #expect(coalescer.leave(third, at: window) == .stepVolume(0.1, room: "Den"))
        #expect(!coalescer.isOvertaken(second))
        #expect(
            CommandCoalescer.merged(.seek(to: MediaTime(seconds: 4)), .seekBy(MediaTime(seconds: -10)))
                == .seek(to: .zero))
        #expect(
            CommandCoalescer.merged(.setVolume(VolumePosition(0.9), room: nil), .stepVolume(0.3, room: nil))
                == .setVolume(VolumePosition(1), room: nil))
    }

    @Test("what comes when the time is just over takes along what still waits")
    func takesAlong() {
        var coalescer = CommandCoalescer()
        let step = RemoteCommand.seekBy(MediaTime(seconds: 10))
        _ = coalescer.enter(step, .seek, at: 0)
        let waits = coalescer.enter(step, .seek, at: 1)
        let late = coalescer.enter(step, .seek, at: window)
        #expect(late.until == nil)
        #expect(late.command == .seekBy(MediaTime(seconds: 20)))
        #expect(coalescer.leave(waits, at: window) == nil)
    }

    @Test(
        "C17 what is louder by a desktop's word stays a desktop's, whoever steps after it; what a person sets is theirs"
    )
    func origins() {
        let kind = CommandCoalescer.Kind.volume(room: nil)
        let full = RemoteCommand.setVolume(VolumePosition(1), room: nil)
        func step(_ step: Double) -> RemoteCommand { .stepVolume(step, room: nil) }
        let rows: [(RemoteCommand, CommandOrigin, RemoteCommand, CommandOrigin, CommandOrigin)] = [
            (full, .mpris, step(-0.05), .cli, .mpris), (step(0.5), .mpris, step(0.1), .cli, .mpris),
            (step(-0.5), .mpris, step(0.1), .cli, .cli), (full, .cli, step(-0.05), .mpris, .mpris),
            (full, .mpris, full, .web, .web), (full, .web, step(0.05), .mpris, .mpris),
        ]
        for (first, one, second, other, expected) in rows {
            var coalescer = CommandCoalescer()
            _ = coalescer.enter(step(0), kind, at: 0)
            #expect(coalescer.enter(first, kind, from: one, at: 1).origin == one)
            #expect(coalescer.enter(second, kind, from: other, at: 2).origin == expected, "\(first) \(second)")
            // Also where the second need not wait any more.
            coalescer = CommandCoalescer()
            _ = coalescer.enter(step(0), kind, at: 0)
            _ = coalescer.enter(first, kind, from: one, at: 1)
            #expect(coalescer.enter(second, kind, from: other, at: window).origin == expected)
        }
    }

    @Test("rooms are apart, and volumes and seeks; names without end are not kept")
    func apart() {
        var coalescer = CommandCoalescer()
        #expect(coalescer.enter(.stepVolume(0.1, room: "A"), .volume(room: "a"), at: 0).until == nil)
        #expect(coalescer.enter(.stepVolume(0.1, room: "B"), .volume(room: "b"), at: 0).until == nil)
        #expect(coalescer.enter(.seek(to: .zero), .seek, at: 0).until == nil)
        #expect(CommandCoalescer.Kind(.next) == nil)
        for number in 0..<10_000 {
            _ = coalescer.enter(
                .stepVolume(0.1, room: "\(number)"), .volume(room: "\(number)"), at: Int64(number) * window)
        }
        #expect(coalescer.kindsKept <= 66)
    }
}

@Suite("who may do what")
struct CommandPolicyTests {
    @Test("people and programs may do anything; a desktop too, a quarter louder at a time")
    func people() {
        let policy = CommandPolicy()
        let device = CommandOrigin.device(RouteID(rawValue: "rt-1"))
        for origin in [CommandOrigin.cli, .api, .web, .mpris, .scene, .system] {
            for command in [
                RemoteCommand.stop, .jump(ItemID(rawValue: "x")), .fade(to: VolumePosition(0), over: .zero, room: nil),
            ] {
                #expect(policy.ruling(on: command, from: origin, called: "x") == .allowed)
            }
        }
        #expect(policy.longestStep(from: .mpris) == 0.25)
        #expect(policy.longestStep(from: device) == 0.25)
        #expect(policy.longestStep(from: .cli) == nil)
        #expect(policy.ruling(on: .trim(1, room: "x"), from: device, called: "x") == .denied)
        #expect(policy.ruling(on: .linkVolumes(true), from: device, called: "x") == .denied)
        #expect(policy.ruling(on: .next, from: .otherSender, called: "x") == .allowed)
        guard case .instead(.pause, _, _) = policy.ruling(on: .stop, from: .otherSender, called: "x") else {
            Issue.record("a stop of another sender is not a pause")
            return
        }
    }
}
