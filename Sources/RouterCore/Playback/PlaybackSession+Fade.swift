import RouteBackend
import RouteModel

/// Volumes that change evenly over a time.
extension PlaybackSession {
    func endFades() { fades = [:] }

    /// Somebody says how loud these rooms are to be; the others fade on.
    func endFades(in rooms: [Int]) {
        for number in fades.keys { fades[number]?.formUnion(rooms) }
    }

    /// As a command of volume does that names a room, or none.
    func endFades(of room: String?, _ rooms: [Int]) {
        if part(room) == nil { endFades() } else { endFades(in: rooms) }
    }

    func fade(to level: VolumePosition, over time: MediaTime, room: String?) async throws -> CommandOutcome {
        guard time >= .zero, time <= Self.longestFade else {
            throw RouterError(
                .unsupported, "a fade of \(Int(time.seconds.rounded())) s is out of range",
                hint: "Choose from 0 s to 1 h", scope: .command)
        }
        let wanted = rooms(room)
        guard !wanted.isEmpty else { return .deviceNotFound }
        let able = wanted.filter { members[$0].volumeCanBeSet }
        guard let first = able.first else { throw fixedVolume(members[wanted[0]]) }
        let room = part(room)
        let begin: VolumePosition? =
            room == nil ? VolumePosition(volumes.master) : loudness(of: able).map { VolumePosition($0) }
        guard let begin, able.contains(where: { members[$0].volume != nil }) else {
            throw silentVolume(members[first])
        }
        guard time > .zero, begin != level else { return try await setVolume(level, room: room, from: .system) }
        await tellFixed(wanted)
        for index in able where members[index].volume == nil {
            let refusal = silentVolume(members[index])
            await notice(.warning, refusal.message, hint: refusal.hint, member: index)
        }
        endFades(of: room, able)
        fadeNumber += 1
        fades[fadeNumber] = []
        var ways: [Int: Fade.Way] = [:]
        let ends = isGroup(room) ? levels(level, of: able) : [:]
        for index in able {
            guard let now = members[index].volume?.level else { continue }
            let end = room == nil ? VolumePosition(level.value * (volumes.trims[index] ?? 1)) : ends[index] ?? level
            ways[index] = Fade.Way(from: now, to: end)
        }
        let fade = Fade(
            number: fadeNumber, way: Fade.Way(from: begin, to: level), ways: ways, begun: clock.now(), time: time,
            room: room)
        jobs.add { [self] in await performFade(fade) }
        return .accepted
    }

    private static let longestFade = MediaTime(seconds: 3600)

    private struct Fade: Sendable {
        struct Way: Sendable {
            var from: VolumePosition
            var to: VolumePosition

            /// - Parameter share: how much of it is done, 0 to 1.
            func level(_ share: Double) -> VolumePosition {
                share >= 1 ? to : VolumePosition(from.value + (to.value - from.value) * share)
            }
        }

        var number: Int
        /// Of the master, or of the room that was named.
        var way: Way
        /// Of each room, should one of them go its own way.
        var ways: [Int: Way]
        var begun: Int64
        var time: MediaTime
        var room: String?

        /// No finer than devices can, and no oftener than they like.
        var steps: Int64 {
            let fine = Int64((abs(way.to.value - way.from.value) * 100).rounded(.up))
            return max(1, min(fine, time.nanoseconds / 200_000_000))
        }

        func share(_ step: Int64) -> Double { Double(step) / Double(steps) }

        func instant(_ step: Int64) -> Int64 {
            begun + Int64(Double(time.nanoseconds) * Double(step) / Double(steps))
        }
    }

    private func performFade(_ fade: Fade) async {
        defer { fades[fade.number] = nil }
        for step in 1...fade.steps {
            guard (try? await clock.sleep(until: fade.instant(step))) != nil else { return }
            // The clock may have gone on by more than a step.
            if step < fade.steps, fade.instant(step + 1) <= clock.now() { continue }
            let goesOn = await serially { await self.take(step, of: fade) }
            guard goesOn else { return }
        }
    }

    /// False once somebody has set the volume of all its rooms.
    private func take(_ step: Int64, of fade: Fade) async -> Bool {
        guard !ended, !ending, let outside = fades[fade.number] else { return false }
        let able = rooms(fade.room).filter { members[$0].volumeCanBeSet && !outside.contains($0) }
        guard !able.isEmpty else { return false }
        let share = fade.share(step)
        if fade.room == nil, outside.isEmpty {
            volumes.setMaster(fade.way.level(share))
            for index in able {
                guard let target = volumes.level(of: index, limit: limit(of: index)) else { continue }
                volumeTargets[index] = VolumeState(level: target, muted: members[index].volume?.muted ?? false)
            }
        } else {
            // Each by itself: a master would move the room that was turned, too.
            for index in able {
                guard let level = fade.ways[index]?.level(share) else { continue }
                volumes.set(level, of: index)
                volumeTargets[index] = VolumeState(
                    level: limited(level, index), muted: members[index].volume?.muted ?? false)
            }
        }
        do {
            // What fades out ends in silence, and nobody wants to begin with that.
            let isEnd = step == fade.steps && fade.way.to.value > 0
            _ = try await writeVolumes(sparesClips: true, isSetting: isEnd)
        } catch {
            let error = RouterError(wrapping: error)
            await notice(.warning, "the fade ended early: \(error.message)", hint: error.hint)
            return false
        }
        return fades[fade.number] != nil
    }
}
