import RouteBackend
import RouteModel

/// The contract of backends (`RouteProvider.swift`), as cases that any backend passes with a simulated device of its own.
///
/// ```swift
/// @Test(arguments: BackendConformance.cases)
/// func conforms(_ name: String) async throws {
///     try await BackendConformance(harness).run(name)
/// }
/// ```
/// Each case wants a device that is idle, and leaves it so. Cases throw `ConformanceFailure`.
public struct BackendConformance: Sendable {
    let harness: any BackendHarness

    public init(_ harness: any BackendHarness) { self.harness = harness }

    private static let table: [(name: String, body: @Sendable (BackendConformance) async throws -> Void)] = [
        ("connecting makes no sound and touches no volume", { try await $0.silentOpening() }),
        ("a load plays, and to its end", { try await $0.playsToTheEnd() }),
        ("a load without autoplay is held until play", { try await $0.heldLoad() }),
        ("pause stops the sound and going on brings it back", { try await $0.pauseAndGoOn() }),
        ("another place in the item is gone to", { try await $0.seeking() }),
        ("the next item follows, by the device's queue or the feed's", { try await $0.goesOn() }),
        ("another load takes the place of the first", { try await $0.replacing() }),
        ("a volume that is set is the device's and is read back", { try await $0.volume() }),
        ("what people do at the device is told", { try await $0.deviceSide() }),
        ("what is no sound is refused, and the session is good after", { try await $0.refusal() }),
        ("a device that is gone is told once and for all", { try await $0.lost() }),
        ("the end leaves nothing running, and may come twice", { try await $0.ending() }),
        ("the end does not wait for a load under way, nor the load for ever", { try await $0.endDuringLoad() }),
        ("a load that is given up leaves a session that plays", { try await $0.cancelledLoad() }),
        ("a command that it has not is refused or said to be unsupported", { try await $0.unsupported() }),
    ]

    /// The names of all cases.
    public static let cases = table.map(\.name)

    /// Runs one case.
    public func run(_ name: String) async throws {
        guard let entry = Self.table.first(where: { $0.name == name }) else {
            throw ConformanceFailure("there is no case “\(name)”")
        }
        do {
            try await entry.body(self)
        } catch let failure as ConformanceFailure {
            throw failure
        } catch {
            throw ConformanceFailure("\(error)")
        }
    }

    // MARK: Cases

    private func silentOpening() async throws {
        let before = try await harness.device()
        try await withSession { session in
            let first = try await current(session)
            try check(first.media != .playing && first.media != .loading, "it plays at once: \(first.media)")
            try check(first.connection != .failed && first.connection != .ended, "it is \(first.connection) at once")
            try await harness.clock.sleep(nanoseconds: 300_000_000)
            let now = try await harness.device()
            try check(!now.isPlaying, "the device plays")
            try check(now.volume == before.volume, "the volume went from \(show(before.volume)) to \(show(now.volume))")
        }
    }

    private func playsToTheEnd() async throws {
        try await withSession { session in
            try await load(session, seconds: 1.5)
            try await until("the device plays") { try await harness.device().isPlaying }
            let end = try await update(session, "the end of the item", within: 12) { $0.media == .stopped }
            try check(end.stopReason == .finished, "it ended as \(show(end.stopReason)), \(show(end.error))")
            try await until("the device is silent") { try await !harness.device().isPlaying }
        }
    }

    private func heldLoad() async throws {
        try await withSession { session in
            let loaded = try await load(session, seconds: 20, autoplay: false)
            try await harness.clock.sleep(nanoseconds: 500_000_000)
            let held = try await current(session).media
            try check(held == .paused, "it is not held: \(held)")
            try await goOn(session, loaded)
            try await update(session, "playing after play") { $0.media == .playing }
            try await until("the device plays") { try await harness.device().isPlaying }
        }
    }

    private func pauseAndGoOn() async throws {
        try await withSession { session in
            let loaded = try await load(session, seconds: 20)
            try await until("the device plays") { try await harness.device().isPlaying }
            let paused = try await session.perform(.pause)
            try check(!paused.isError, "pause was \(paused)")
            try await update(session, "paused") { $0.media == .paused }
            try await until("the device is silent") { try await !harness.device().isPlaying }
            try await goOn(session, loaded)
            try await update(session, "playing again") { $0.media == .playing }
            try await until("the device plays again") { try await harness.device().isPlaying }
        }
    }

    private func seeking() async throws {
        try await withSession { session in
            let loaded = try await load(session, seconds: 20)
            try await until("the device plays") { try await harness.device().isPlaying }
            let place = MediaTime(seconds: 18)
            switch session.descriptor.delivery {
            case .pull:
                let outcome = try await session.perform(.seek(to: place, resume: true))
                try check(!outcome.isError, "the seek was \(outcome)")
                let update = try await update(session, "a position after the seek") {
                    ($0.position?.time ?? .zero) >= place
                }
                try check((update.position?.time.seconds ?? 0) < 20, "the position is \(show(update.position))")
            case .push:
                // One that is sent packets is given another feed.
                try await load(session, loaded.source, seconds: 20, start: place)
            }
            let end = try await update(session, "the end, two seconds later", within: 12) { $0.media == .stopped }
            try check(end.stopReason == .finished, "it ended as \(show(end.stopReason)), \(show(end.error))")
        }
    }

    private func goesOn() async throws {
        try await withSession { session in
            let second = try await harness.tune(seconds: 2)
            switch session.descriptor.delivery {
            case .push:
                try await load(session, seconds: 2, then: [second])
                try await until("the device plays") { try await harness.device().isPlaying }
                // Four seconds of sound are not over after three.
                try await harness.clock.sleep(nanoseconds: 2_500_000_000)
                try check(try await harness.device().isPlaying, "the device is silent after the first item")
                let end = try await update(session, "the end of both", within: 14) { $0.media == .stopped }
                try check(end.stopReason == .finished, "it ended as \(show(end.stopReason))")
            case .pull(let requirements):
                let loaded = try await load(session, seconds: 2)
                let next = try await published(second, seconds: 2, for: requirements)
                guard session.descriptor.capabilities.has(.queueOnDevice) else {
                    try await update(session, "the end of the first", within: 10) { $0.media == .stopped }
                    try await session.load(.pull(next), timeline: nil, autoplay: true)
                    try await update(session, "the second") { $0.loaded == next.token && $0.media == .playing }
                    return
                }
                try await session.setUpcoming([next])
                try await update(session, "the second, by itself", within: 14) {
                    $0.loaded == next.token && $0.media == .playing
                }
                try check(loaded.token != next.token, "both have one token")
            }
        }
    }

    private func replacing() async throws {
        try await withSession { session in
            let first = try await load(session, seconds: 20)
            try await until("the device plays") { try await harness.device().isPlaying }
            let second = try await load(session, seconds: 1)
            let end = try await update(session, "the end of the second", within: 12) { $0.media == .stopped }
            try check(end.stopReason == .finished, "it ended as \(show(end.stopReason))")
            if case .pull = session.descriptor.delivery {
                try check(end.loaded == second.token && end.loaded != first.token, "it has the token of the first")
            }
        }
    }

    private func volume() async throws {
        try await withSession { session in
            let handling = session.descriptor.volume.handling
            guard handling == .adjustable else { return }
            try await load(session, seconds: 20)
            try await until("the device plays") { try await harness.device().isPlaying }
            let step = max(session.descriptor.volume.step, 0.01)
            for level in [0.4, 0.7] {
                try await session.setVolume(VolumeState(level: VolumePosition(level)))
                try await until("the device is at \(level)") {
                    abs((try await harness.device().volume ?? 0) - level) <= step
                }
                try await update(session, "the volume at \(level)", within: 8) {
                    abs(($0.volume?.level.value ?? 0) - level) <= step
                }
            }
        }
    }

    private func deviceSide() async throws {
        try await withSession { session in
            try await load(session, seconds: 30)
            try await until("the device plays") { try await harness.device().isPlaying }
            let pressed = LatestValue<[RemoteCommand]>([])
            try await withThrowingTaskGroup(of: Bool.self) { group in
                // One reader for as long as the session lives; where there are no buttons it ends at once.
                group.addTask {
                    for await command in session.deviceCommands() { pressed.update { $0.append(command) } }
                    return false
                }
                group.addTask {
                    try await self.useDevice(session, pressed)
                    return true
                }
                while let isDone = try await group.next(), !isDone {}
                group.cancelAll()
            }
        }
    }

    private func useDevice(_ session: any RouteSession, _ pressed: LatestValue<[RemoteCommand]>) async throws {
        if try await harness.turnKnob(to: VolumePosition(0.2)) {
            try await until("the knob is told") {
                let volume = try await current(session).volume?.level.value
                return abs((volume ?? 1) - 0.2) < 0.05
                    || pressed.value.contains {
                        if case .setVolume(let level, _) = $0 { abs(level.value - 0.2) < 0.05 } else { false }
                    }
            }
        }
        if try await harness.pressPause() {
            try await until("the pause button is told") {
                try await current(session).media == .paused
                    || !pressed.value.filter { $0 == .pause || $0 == .toggle }.isEmpty
            }
        }
    }

    private func refusal() async throws {
        try await withSession { session in
            let source = try await harness.noise()
            do {
                try await load(session, source, seconds: 1)
                let end = try await update(session, "that it does not play", within: 12) { $0.media == .stopped }
                try check(end.stopReason == .error, "no sound ended as \(show(end.stopReason))")
            } catch let error as RouterError {
                try check(error.code != .internal && !error.message.isEmpty, "it is refused as \(error)")
            }
            try await load(session, seconds: 20)
            try await until("the device plays after that") { try await harness.device().isPlaying }
        }
    }

    private func lost() async throws {
        let session = try await open()
        do {
            try await load(session, seconds: 30)
            try await until("the device plays") { try await harness.device().isPlaying }
            try await harness.loseConnection()
            let seen = LatestValue<RouteSessionUpdate?>(nil)
            try await within(30, "that the connection is lost") {
                for await update in session.updates() { seen.set(update) }
            }
            let last = seen.value
            try check(last?.connection == .failed, "it is \(show(last?.connection))")
            try check(last?.error?.code == .routeLost, "the error is \(show(last?.error?.code))")
            do {
                _ = try await session.perform(.pause)
                throw ConformanceFailure("a device that is gone took a command")
            } catch is RouterError {}
        } catch {
            await session.end(.lost)
            throw error
        }
        await session.end(.lost)
    }

    private func ending() async throws {
        let before = try await harness.device().connections
        let session = try await open()
        try await load(session, seconds: 30)
        try await until("the device plays") { try await harness.device().isPlaying }
        let updates = session.updates()
        await session.end(.stop)
        try await within(5, "the end of its updates") { for await _ in updates {} }
        try await until("the device is silent") { try await !harness.device().isPlaying }
        try await until("the device is let go of") { try await harness.device().connections == before }
        await session.end(.stop)
        do {
            try await load(session, seconds: 2)
            throw ConformanceFailure("a session that has ended took a load")
        } catch is RouterError {}
    }

    private func endDuringLoad() async throws {
        let session = try await open()
        let source = try await harness.tune(seconds: 20)
        let outcome = await withTaskGroup(of: RouterError?.self) { group in
            group.addTask {
                do {
                    try await load(session, source, seconds: 20)
                    return nil
                } catch {
                    return RouterError(wrapping: error)
                }
            }
            await Task.yield()
            await session.end(.stop)
            return await group.next() ?? nil
        }
        if let outcome {
            try check(
                [.cancelled, .routeLost].contains(outcome.code), "the load threw \(outcome.code.rawValue): \(outcome)")
        }
        try await until("the device is silent") { try await !harness.device().isPlaying }
    }

    private func cancelledLoad() async throws {
        try await withSession { session in
            let source = try await harness.tune(seconds: 20)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await load(session, source, seconds: 20) }
                await Task.yield()
                group.cancelAll()
            }
            let now = try await current(session)
            try check(now.connection != .failed && now.connection != .ended, "the session is \(now.connection)")
            try await load(session, seconds: 20)
            try await until("the device plays after that") { try await harness.device().isPlaying }
        }
    }

    private func unsupported() async throws {
        try await withSession { session in
            try await load(session, seconds: 20)
            let lacking: [(RouteCapability, RouteCommand)] = [
                (.rate, .setRate(1.5)), (.tracks, .selectTracks([1])), (.adSkip, .skipAd),
            ]
            for (capability, command) in lacking where !session.descriptor.capabilities.has(capability) {
                do {
                    let outcome = try await session.perform(command)
                    try check(outcome == .unsupported, "\(capability.rawValue), which it has not, was \(outcome)")
                } catch let error as RouterError {
                    try check(error.code == .unsupported, "\(capability.rawValue) threw \(error.code.rawValue)")
                }
            }
            try await until("the device plays on") { try await harness.device().isPlaying }
        }
    }
}
