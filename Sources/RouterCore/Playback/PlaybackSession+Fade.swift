import RouteBackend
import RouteModel

/// Volumes that change evenly over a time.
extension PlaybackSession {
    /// One room's way from one level to another.
    private struct Fade: Sendable {
        var number: Int
        var route: RouteID
        var from: Double
        var to: Double
        var begun: Int64
        var nanoseconds: Int64

        /// No finer than devices can, and no oftener than they like: a hundredth of the slider, a fifth of a second.
        var steps: Int64 {
            max(1, min(Int64((abs(to - from) * 100).rounded(.up)), nanoseconds / 200_000_000))
        }

        func level(_ step: Int64) -> VolumePosition {
            VolumePosition(step >= steps ? to : from + (to - from) * Double(step) / Double(steps))
        }

        func instant(_ step: Int64) -> Int64 { begun + Int64(Double(nanoseconds) * Double(step) / Double(steps)) }

        /// Whether a level that a device reports can be one that it was told before this step: reports come late.
        func hasPassed(_ level: VolumePosition, before step: Int64) -> Bool {
            let last = step > 1 ? self.level(step - 1).value : from
            return level.value >= min(from, last) - Self.rounding && level.value <= max(from, last) + Self.rounding
        }

        private static let rounding = 0.02
    }

    private static let longestFadeSeconds = 3600.0

    func endFade() { fadeNumber += 1 }

    /// Begins it; each step is a command of its own, so that others come in between.
    func fade(to level: VolumePosition, over time: MediaTime, room: String?) async throws -> CommandOutcome {
        guard (0...Self.longestFadeSeconds).contains(time.seconds) else {
            throw RouterError(
                .unsupported, "a fade of \(Int(time.seconds.rounded())) s is out of range",
                hint: "Choose from 0 s to 1 h", scope: .command)
        }
        let wanted = rooms(room)
        guard let first = wanted.first else { return .deviceNotFound }
        let able = wanted.filter { members[$0].session?.descriptor.volume.handling == .adjustable }
        guard let firstAble = able.first else { throw fixedVolume(members[first]) }
        guard able.contains(where: { members[$0].volume != nil }) else { throw silentVolume(members[firstAble]) }
        endFade()
        let number = fadeNumber
        for index in wanted {
            guard able.contains(index), let volume = members[index].volume else {
                let refusal = able.contains(index) ? silentVolume(members[index]) : fixedVolume(members[index])
                await notice(.warning, refusal.message, hint: refusal.hint, member: index)
                continue
            }
            let fade = Fade(
                number: number, route: members[index].route, from: volume.level.value,
                to: members[index].limited(level).value, begun: clock.now(), nanoseconds: time.nanoseconds)
            guard fade.from != fade.to else { continue }
            jobs.add { [self] in await perform(fade) }
        }
        return .accepted
    }

    private func perform(_ fade: Fade) async {
        for step in 1...fade.steps {
            guard (try? await clock.sleep(until: fade.instant(step))) != nil else { return }
            // The clock may have gone on by more than a step.
            if step < fade.steps, fade.instant(step + 1) <= clock.now() { continue }
            guard await serially({ await take(step, of: fade) }) else { return }
        }
    }

    /// False where it is over: by another volume of anybody's, here or at the device, or because the room is gone.
    private func take(_ step: Int64, of fade: Fade) async -> Bool {
        guard !ended, !ending, fadeNumber == fade.number,
            let index = members.firstIndex(where: { $0.route == fade.route && $0.alive }),
            let session = members[index].session, let now = members[index].volume,
            fade.hasPassed(now.level, before: step)
        else { return false }
        let volume = VolumeState(level: fade.level(step), muted: now.muted)
        do {
            try await call(index, session) { try await $0.setVolume(volume) }
        } catch {
            guard !ended else { return false }
            let error = RouterError(wrapping: error)
            await notice(
                .warning, "\(members[index].name): the fade ended early (\(error.message))", hint: error.hint,
                member: index)
            return false
        }
        members[index].volume = volume
        if step == fade.steps { try? await environment.store.saveVolume(volume, of: fade.route) }
        await publish()
        return fadeNumber == fade.number
    }
}
