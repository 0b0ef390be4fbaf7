import RouteBackend
import RouteModel

/// Volume (`model.md` section 6): one master for all rooms, a trim for each, and limits that hold whoever asks.
extension PlaybackSession {
    // MARK: What is shown

    /// The master as a slider shows it; nil where no room has a volume that can be set.
    var masterVolume: VolumeState? {
        let able = members.filter { $0.takesPart && !$0.isOver && $0.volumeCanBeSet && $0.volume != nil }
        guard !able.isEmpty else { return nil }
        return VolumeState(
            level: VolumePosition(volumes.master), muted: able.allSatisfy { $0.volume?.muted ?? false })
    }

    /// Rooms that are no more part of what plays have no part in its volume.
    func forgetSilentRooms() {
        for index in volumes.trims.keys where !members[index].takesPart || members[index].isOver {
            volumes.remove(index)
        }
    }

    func limit(of index: Int) -> VolumePosition? { members[index].limit(atMinute: environment.localMinute()) }

    func limited(_ level: VolumePosition, _ index: Int) -> VolumePosition {
        limit(of: index).map { min($0, level) } ?? level
    }

    // MARK: Commands

    /// The rooms that play, or are talked over, and that this name means; nil means all.
    func rooms(_ room: String?) -> [Int] {
        let name = room?.lowercased()
        let group = name.flatMap { groups[$0] }
        return members.indices.filter { index in
            let member = members[index]
            guard member.alive || member.isLent else { return false }
            if let group { return group.contains(member.room.lowercased()) }
            return name == nil || member.room.lowercased() == name || member.name.lowercased() == name
                || member.route.rawValue == room
        }
    }

    /// What groups mean, as `@group:NAME`: commands of volume may name them.
    func know(_ groups: [RoomGroup]) {
        self.groups = Dictionary(
            groups.map { ($0.selector.lowercased(), Set($0.rooms.map { $0.lowercased() })) },
            uniquingKeysWith: { first, _ in first })
    }

    /// A group that all rooms are of is no part of them.
    func part(_ room: String?) -> String? {
        guard let room, groups[room.lowercased()] != nil, rooms(room) == rooms(nil) else { return room }
        return nil
    }

    func isGroup(_ room: String?) -> Bool { room.map { groups[$0.lowercased()] != nil } ?? false }

    /// How loud some rooms are together: as loud as the loudest.
    func loudness(of rooms: [Int]) -> Double? { rooms.compactMap { members[$0].volume?.level.value }.max() }

    /// How loud each of some rooms is to be for the loudest to be at `level`, and the others to it as they are now; where
    /// all are silent, as they were before that.
    func levels(_ level: VolumePosition, of rooms: [Int]) -> [Int: VolumePosition] {
        guard let loudest = loudness(of: rooms), loudest > 0 else {
            return Dictionary(
                rooms.map { ($0, VolumePosition(level.value * (silentShares[$0] ?? 1))) },
                uniquingKeysWith: { first, _ in first })
        }
        var result: [Int: VolumePosition] = [:]
        for index in rooms {
            let share = (members[index].volume?.level.value ?? loudest) / loudest
            if level.value == 0 { silentShares[index] = share }
            result[index] = VolumePosition(level.value * share)
        }
        return result
    }

    func setVolume(
        _ level: VolumePosition, room: String?, from origin: CommandOrigin
    ) async throws -> CommandOutcome {
        let wanted = rooms(room)
        guard !wanted.isEmpty else { return .deviceNotFound }
        endFades(of: room, wanted)
        let able = wanted.filter { members[$0].volumeCanBeSet }
        guard !able.isEmpty else { throw fixedVolume(members[wanted[0]]) }
        await tellFixed(wanted)
        let room = part(room)
        if room == nil { return try await setMaster(level, in: able, from: origin) }
        if let index = turned(able, by: origin) {
            let allowed = await stepped(level, above: members[index].volume?.level, from: origin, index)
            return try await setLinked(allowed, by: index)
        }
        let targets = isGroup(room) ? levels(level, of: able) : [:]
        for index in able {
            let wanted = targets[index] ?? level
            let allowed = await stepped(wanted, above: members[index].volume?.level, from: origin, index)
            volumes.set(allowed, of: index)
            await tellLimit(allowed, index)
            volumeTargets[index] = VolumeState(level: limited(allowed, index))
        }
        return try await writeVolumes()
    }

    func stepVolume(_ step: Double, room: String?, from origin: CommandOrigin) async throws -> CommandOutcome {
        let wanted = rooms(room)
        guard !wanted.isEmpty else { return .deviceNotFound }
        endFades(of: room, wanted)
        let able = wanted.filter { members[$0].volumeCanBeSet }
        guard let first = able.first else { throw fixedVolume(members[wanted[0]]) }
        let known = able.filter { members[$0].volume != nil }
        guard !known.isEmpty else { throw silentVolume(members[first]) }
        await tellFixed(wanted)
        let room = part(room)
        if room == nil {
            return try await setMaster(VolumePosition(volumes.master + step), in: known, from: origin)
        }
        if let index = turned(known, by: origin), let now = members[index].volume?.level {
            let allowed = await stepped(VolumePosition(now.value + step), above: now, from: origin, index)
            return try await setLinked(allowed, by: index)
        }
        let level = loudness(of: known).map { VolumePosition($0 + step) }
        let targets = isGroup(room) ? level.map { levels($0, of: known) } ?? [:] : [:]
        for index in known {
            let now = members[index].volume?.level ?? VolumePosition(0)
            let target = targets[index] ?? VolumePosition(now.value + step)
            let allowed = await stepped(target, above: now, from: origin, index)
            volumes.set(allowed, of: index)
            await tellLimit(allowed, index)
            volumeTargets[index] = VolumeState(level: limited(allowed, index))
        }
        return try await writeVolumes()
    }

    private func setMaster(
        _ wanted: VolumePosition, in able: [Int], from origin: CommandOrigin
    ) async throws -> CommandOutcome {
        let level = await stepped(wanted, above: VolumePosition(volumes.master), from: origin, nil)
        // A room that is late to come up is as loud as is wanted by then.
        if wantedVolume != nil { wantedVolume = level }
        if able.count == 1, volumes.trims.keys.allSatisfy({ $0 == able[0] }) {
            // Alone, a room's own level is the master: no higher than it may be.
            await tellLimit(level, able[0])
            volumes.setMaster(limited(level, able[0]))
            if volumes.trims.isEmpty { volumes.set(limited(level, able[0]), of: able[0]) }
        } else {
            volumes.setMaster(level)
            for index in able where volumes.trims[index] == nil { volumes.set(level, of: index) }
        }
        // Who muted one room of several meant that one.
        let allMuted = able.allSatisfy { members[$0].volume?.muted ?? false }
        for index in able {
            guard let target = volumes.level(of: index, limit: limit(of: index)) else { continue }
            volumeTargets[index] = VolumeState(
                level: target, muted: allMuted ? false : members[index].volume?.muted ?? false)
        }
        return try await writeVolumes()
    }

    func mute(_ muted: Bool, room: String?) async throws -> CommandOutcome {
        let wanted = rooms(room)
        guard !wanted.isEmpty else { return .deviceNotFound }
        let able = wanted.filter { members[$0].volumeCanBeSet }
        guard !able.isEmpty else { throw fixedVolume(members[wanted[0]]) }
        await tellFixed(wanted)
        endFades(of: room, wanted)
        for index in able {
            let level = limited(members[index].volume?.level ?? VolumePosition(1.0 / 3), index)
            volumeTargets[index] = VolumeState(level: level, muted: muted)
        }
        return try await writeVolumes(isSetting: false)
    }

    func setTrim(_ trim: Double, room: String) async throws -> CommandOutcome {
        let wanted = rooms(room).filter { volumes.trims[$0] != nil }
        guard !wanted.isEmpty else {
            guard let fixed = rooms(room).first else { return .deviceNotFound }
            throw members[fixed].volumeCanBeSet ? silentVolume(members[fixed]) : fixedVolume(members[fixed])
        }
        guard (0...1).contains(trim) else {
            throw RouterError(
                .unsupported, "a trim of \(trim) is out of range", hint: "Choose from 0 to 1", scope: .command)
        }
        guard volumes.trims.count > wanted.count else {
            throw RouterError(
                .unavailable, "\(members[wanted[0]].name) plays alone: there is nothing to trim it against",
                hint: "Set its volume", scope: .command)
        }
        endFades()
        for index in wanted { volumes.setTrim(trim, of: index) }
        for (index, volume) in members.enumerated() where volumes.trims[index] != nil {
            guard members[index].alive || members[index].isLent,
                let target = volumes.level(of: index, limit: limit(of: index)), let known = volume.volume,
                abs(known.level.value - target.value) > 1e-6
            else { continue }
            volumeTargets[index] = VolumeState(level: target, muted: known.muted)
        }
        return try await writeVolumes()
    }

    /// How loud these rooms are to be against each other at the start, by their names.
    func setStartTrims(_ trims: [String: Double]) {
        for index in members.indices { members[index].startTrim = trims[members[index].room] }
    }

    // MARK: Telling the devices

    /// Tells each room its target. Throws where none took it; the others are told of. `accepted` where none of those that
    /// took it says how loud it is.
    ///
    /// - Parameters:
    ///   - sparesClips: what is announced keeps its own volume, which only a person changes.
    ///   - isSetting: a person wants these levels, and not only something else of them.
    func writeVolumes(sparesClips: Bool = false, isSetting: Bool = true) async throws -> CommandOutcome {
        let targets = volumeTargets
        volumeTargets = [:]
        guard !targets.isEmpty else { return .succeeded }
        var failure: RouterError?
        var changed = 0
        var outcome = CommandOutcome.accepted
        await withTaskGroup(of: (Int, RouterError?).self) { group in
            for (index, target) in targets {
                if members[index].isLent {
                    announcement?.volumes[index] = target
                    if sparesClips, announcement?.ownVolume ?? false { continue }
                }
                group.addTask { (index, await self.write(target, to: index)) }
            }
            for await (index, error) in group {
                if let error {
                    failure = failure ?? error
                } else {
                    changed += 1
                    if isSetting, let target = targets[index] { await rememberLast(target.level, of: index) }
                    if members[index].session?.descriptor.volume.readback != VolumeDescriptor.Readback.none {
                        outcome = .succeeded
                    }
                }
            }
        }
        await publish()
        if let failure {
            guard changed > 0 else { throw failure }
            await notice(.warning, failure.message, hint: failure.hint)
        }
        return changed > 0 ? outcome : .succeeded
    }

    /// Nil where the device has taken it.
    func write(_ volume: VolumeState, to index: Int) async -> RouterError? {
        guard let session = members[index].session else {
            return RouterError(.routeLost, "\(members[index].name) is not connected", scope: .route, retry: .later)
        }
        let generation = members[index].generation
        members[index].volumeIsOld = false
        let told = members[index].deviceVolume(volume)
        members[index].echo.writes(told, after: members[index].volume.map(members[index].deviceVolume))
        var failure: RouterError?
        do {
            try await call(index, session) { try await $0.setVolume(told) }
        } catch {
            failure = RouterError(wrapping: error)
        }
        guard members[index].generation == generation else { return failure }
        members[index].echo.returned(at: clock.now())
        if failure == nil {
            members[index].volume = volume
            try? await environment.store.saveVolume(volume, of: members[index].route)
        }
        return failure
    }

    func fixedVolume(_ member: Member) -> RouterError {
        RouterError(
            .unsupported, "the volume of \(member.name) is fixed", hint: "Turn the knob on the device",
            scope: .command)
    }

    func silentVolume(_ member: Member) -> RouterError {
        RouterError(
            .unavailable, "\(member.name) does not say how loud it is, so it cannot be stepped",
            hint: "Set a level first, such as 30", scope: .command)
    }

    func tellFixed(_ wanted: [Int]) async {
        guard let fixed = wanted.first(where: { !members[$0].volumeCanBeSet }) else { return }
        let error = fixedVolume(members[fixed])
        await notice(.warning, error.message, hint: error.hint, member: fixed)
    }

    /// No more than a step louder, for who may know no better.
    private func stepped(
        _ wanted: VolumePosition, above now: VolumePosition?, from origin: CommandOrigin, _ index: Int?
    ) async -> VolumePosition {
        guard let most = CommandPolicy().longestStep(from: origin), let now, wanted.value > now.value + most + 1e-9
        else { return wanted }
        let allowed = VolumePosition(now.value + most)
        let name = index.map { members[$0].name } ?? "the volume"
        await notice(
            .info, "\(name): \(wanted.percent) % was asked for, and is \(allowed.percent) % for now",
            hint: "One command makes it a quarter louder at most", member: index)
        return allowed
    }

    private func tellLimit(_ wanted: VolumePosition, _ index: Int) async {
        guard let limit = limit(of: index), wanted.value > limit.value + 1e-9 else { return }
        await notice(.info, "\(members[index].name) is kept to its limit of \(limit.percent) %", member: index)
    }

    // MARK: What devices say

    /// The room's curve is another one from now on: its device is as loud as it was, and another position shows that.
    func bend(_ index: Int, by curve: VolumeCurve) {
        guard members[index].volumeCurve != curve else { return }
        let before = members[index]
        members[index].volumeCurve = curve
        func bent(_ volume: VolumeState?) -> VolumeState? {
            volume.map { members[index].shownVolume(before.deviceVolume($0)) }
        }
        // What an announcement is said with, and what it gives back, are as loud as they were, too.
        if let clip = announcement?.clipVolumes[index] { announcement?.clipVolumes[index] = bent(clip) }
        if let kept = announcement?.volumes[index] { announcement?.volumes[index] = bent(kept) }
        guard let shown = bent(before.volume) else { return }
        members[index].volume = shown
        if volumes.trims[index] != nil { volumes.set(shown.level, of: index) }
    }

    /// A device says how loud it is: back what it was told, or that somebody turned it there.
    ///
    /// - Parameter reading: in the device's own levels.
    func heardVolume(_ reading: VolumeState, of index: Int) async {
        let step = members[index].session?.descriptor.volume.step ?? 0.01
        switch members[index].echo.judge(reading, step: step, at: clock.now()) {
        case .echo: return
        // The write that is under way, or the end of its grace, looks again.
        case .wait(nil): return lookAgain(index, at: clock.now() + VolumeEcho.graceNanoseconds)
        case .wait(let instant?): return lookAgain(index, at: instant)
        case .foreign: break
        }
        guard !isOfClip(reading, step: step, in: index) else { return }
        let volume = members[index].shownVolume(reading)
        let before = members[index].volume
        // While it was away the others may have been turned up or down without it.
        let left = members[index].volumeIsOld ? volumes.level(of: index, limit: limit(of: index)) : nil
        let wasAway = members[index].volumeIsOld
        members[index].volumeIsOld = false
        let isApart = left.map { abs($0.value - volume.level.value) > step + 1e-9 } ?? false
        guard before != volume || volumes.trims[index] == nil || isApart else { return }
        members[index].volume = volume
        if members[index].isLent { announcement?.volumes[index] = volume }
        if before?.level != volume.level || volumes.trims[index] == nil || isApart {
            if started, before != nil, before != volume { endFades(in: [index]) }
            let isTurn = started && before != nil && !wasAway && !members[index].echo.mayBeAnswer
            if isTurn, isLinked(index) {
                moveLinked(by: index, to: volume.level)
            } else {
                volumes.set(volume.level, of: index)
            }
        }
        guard started else { return }
        try? await environment.store.saveVolume(volume, of: members[index].route)
        if let before, before.level != volume.level, !wasAway {
            await rememberLast(limited(volume.level, index), of: index)
        }
        await keepLimit(index)
    }

    private func lookAgain(_ index: Int, at instant: Int64) {
        let generation = members[index].generation
        let clock = clock
        jobs.add { [self] in
            guard (try? await clock.sleep(until: instant)) != nil else { return }
            await heardLater(index, generation: generation)
        }
    }

    private func heardLater(_ index: Int, generation: Int) async {
        guard !ended, members[index].generation == generation,
            members[index].alive || members[index].isLent, let reading = members[index].latest.volume,
            members[index].shownVolume(reading) != members[index].volume
        else { return }
        await heardVolume(reading, of: index)
        await publish()
    }

    /// Turns a room down that is louder than it may be.
    private func keepLimit(_ index: Int) async {
        guard members[index].alive, members[index].volumeCanBeSet, let known = members[index].volume, !known.muted,
            let limit = limit(of: index), known.level.value > limit.value + 1e-9
        else { return }
        let now = clock.now()
        let before = members[index].turnedDownAt.filter { now - $0 < Self.limitMemoryNanoseconds }
        // A device that does not obey is not fought with.
        guard before.count < Self.mostTurnsDown else { return }
        if let last = before.last, now - last < Self.limitPauseNanoseconds {
            return keepLimitLater(index, at: last + Self.limitPauseNanoseconds)
        }
        members[index].turnedDownAt = before + [now]
        await notice(
            .info, "\(members[index].name) was turned down to its limit of \(limit.percent) %", member: index)
        if let error = await write(VolumeState(level: limit, muted: known.muted), to: index) {
            await notice(
                .warning, "\(members[index].name): the volume could not be set (\(error.message))", member: index)
        }
    }

    private static let limitPauseNanoseconds: Int64 = 2_000_000_000
    /// So often within so long.
    private static let mostTurnsDown = 5
    private static let limitMemoryNanoseconds: Int64 = 60_000_000_000

    private func keepLimitLater(_ index: Int, at instant: Int64) {
        guard !members[index].isToBeTurnedDown else { return }
        members[index].isToBeTurnedDown = true
        let generation = members[index].generation
        let clock = clock
        jobs.add { [self] in
            guard (try? await clock.sleep(until: instant)) != nil else { return }
            await keepLimit(index, generation: generation)
        }
    }

    private func keepLimit(_ index: Int, generation: Int) async {
        members[index].isToBeTurnedDown = false
        guard !ended, !ending, members[index].generation == generation else { return }
        await keepLimit(index)
        await publish()
    }

    /// Keeps rooms to their quiet hours as these begin.
    func watchQuietHours() {
        guard !watchesQuietHours, members.contains(where: { $0.quietHours != nil }) else { return }
        watchesQuietHours = true
        let clock = clock
        jobs.add { [self] in
            while (try? await clock.sleep(nanoseconds: Self.quietPeriodNanoseconds)) != nil { await keepLimits() }
        }
    }

    private static let quietPeriodNanoseconds: Int64 = 20_000_000_000

    func keepLimits() async {
        guard !ended, !ending, started else { return }
        var changed = false
        for index in members.indices {
            let before = members[index].volume
            await keepLimit(index)
            if members[index].volume != before { changed = true }
        }
        if changed { await publish() }
    }
}
