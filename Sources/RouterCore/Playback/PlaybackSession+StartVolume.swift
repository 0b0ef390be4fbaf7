import RouteBackend
import RouteModel

/// How loud rooms are as they come to play: begun, joined, come back, taken up after a restart (`model.md` section 6).
extension PlaybackSession {
    // MARK: After a restart

    /// The master and the trims as they were written. What a device tells that is otherwise was turned
    /// there meanwhile.
    func takeVolumes(_ record: SessionRecord) async {
        volumesLinked = record.volumesLinked ?? false
        let written = Dictionary(record.members.map { ($0.route, $0) }, uniquingKeysWith: { first, _ in first })
        var trims: [Int: Double] = [:]
        for index in members.indices {
            guard let member = written[members[index].route], let volume = member.volume, let trim = member.trim else {
                continue
            }
            members[index].volume = volume
            trims[index] = trim
        }
        guard let master = record.master else { return }
        volumes = GroupVolume(master: master, trims: trims, silenced: record.silencedMaster)
        // The record is written now and then, and each volume as it is set.
        for index in trims.keys.sorted() {
            guard let last = try? await environment.store.volume(of: members[index].route),
                last != members[index].volume
            else { continue }
            members[index].volume = last
            let known = volumes.level(of: index, limit: limit(of: index))
            if known.map({ abs($0.value - last.level.value) > 1e-6 }) ?? true { volumes.set(last.level, of: index) }
        }
    }

    /// A device that does not say how loud it is is as loud as it was last told to be.
    func recallVolumes() async {
        for index in members.indices where members[index].alive && members[index].volumeCanBeSet {
            guard volumes.trims[index] == nil, members[index].latest.volume == nil else { continue }
            var known = members[index].volume
            if known == nil { known = try? await environment.store.volume(of: members[index].route) }
            guard let known else { continue }
            members[index].volume = known
            volumes.set(known.level, of: index)
        }
        watchQuietHours()
    }

    // MARK: At the start

    /// As `settleAtStart`, while the others are made to begin.
    func settleSoon(_ index: Int) {
        guard members[index].isSettled == false else { return }
        let (done, continuation) = AsyncStream.makeStream(of: Void.self)
        let isTaken = jobs.add { [self] in
            await settleAtStart(index)
            continuation.finish()
        }
        if isTaken { settlings.append(done) }
    }

    /// Returns when the rooms that play are as loud as they are to begin.
    func settled() async {
        while let next = settlings.popLast() { for await _ in next {} }
    }

    /// As `settleVolume`, for a room that comes in with the start of the session, and once.
    func settleAtStart(_ index: Int) async {
        guard members[index].isSettled == false else { return }
        members[index].isSettled = true
        await settleVolume(index)
    }

    /// As loud as the room is to begin, where anybody said; else no volume is touched where the device reports one. Where
    /// it reports none, sends what the room was last set to, or a third, since nobody could know what it is.
    ///
    /// - Parameters:
    ///   - asked: whether the volume that was asked for at the start is this room's too.
    ///   - isBack: it was lost, and its device may have forgotten what it was told: as loud as it was, and as silent.
    ///   - before: how loud it was then; nil where that is what is known of it now.
    func settleVolume(_ index: Int, asked: Bool = true, isBack: Bool = false, before: VolumeState? = nil) async {
        guard let session = members[index].session, members[index].volumeCanBeSet else { return }
        var target: VolumeState?
        let wanted = asked ? wantedVolume : nil
        let start = isBack ? .preserve : members[index].startVolume
        // Its news may not have been taken up yet, and who steps it at once is to find it.
        let isSilent = session.descriptor.volume.readback == .none
        var reading = isSilent ? nil : members[index].latest.volume
        if reading == nil { reading = await current(of: session)?.volume }
        let reported = reading.map(members[index].shownVolume)
        if let wanted {
            let level = VolumePosition(wanted.value * (members[index].startTrim ?? 1))
            volumes.set(level, of: index)
            target = VolumeState(level: limited(level, index))
            await rememberLast(limited(level, index), of: index)
        } else if let level = await startLevel(start, of: index) {
            volumes.set(level, of: index)
            // Who gave a level wants to hear it.
            let muted = if case .set = start { false } else { reported?.muted ?? false }
            target = VolumeState(level: limited(level, index), muted: muted)
        } else if reported == nil {
            let remembered = await rememberedVolume(of: index, isBack: isBack)
            var level = limited(remembered?.level ?? VolumePosition(1.0 / 3), index)
            if isBack, let now = volumes.level(of: index) { level = min(level, now) }
            if case .cap(let most) = start { level = min(level, most) }
            target = VolumeState(level: level, muted: isBack && remembered?.muted ?? false)
            volumes.set(level, of: index)
        }
        if isBack, target == nil, let known = before ?? members[index].volume, let reported {
            // Who turned it up meanwhile does so again; who is blasted by a device that has forgotten has no time to.
            // Where all were turned down meanwhile, it is too.
            let level = min(known.level, volumes.level(of: index) ?? known.level)
            let isLouder = reported.level.value > level.value + session.descriptor.volume.step + 1e-9
            if isLouder || (known.muted && !reported.muted) {
                volumes.set(level, of: index)
                target = VolumeState(level: limited(level, index), muted: known.muted)
            }
        }
        if let reading, target == nil, members[index].volume == nil || members[index].volumeIsOld {
            await heardVolume(reading, of: index)
        }
        if target == nil, let known = members[index].volume ?? reported {
            if case .cap(let most) = start, known.level > most {
                volumes.set(most, of: index)
                target = VolumeState(level: limited(most, index), muted: known.muted)
            } else if limited(known.level, index) < known.level {
                target = VolumeState(level: limited(known.level, index), muted: known.muted)
            }
        }
        watchQuietHours()
        guard let target else { return }
        if let error = await write(target, to: index) {
            await notice(
                .warning, "\(members[index].name): the volume could not be set (\(error.message))", member: index)
        }
    }

    /// The level that a room begins at whatever its device is at; nil where it is left to that.
    private func startLevel(_ start: StartVolume, of index: Int) async -> VolumePosition? {
        switch start {
        case .preserve, .cap: nil
        case .set(let level): level
        case .last: (try? await environment.store.lastLevel(of: members[index].route)) ?? nil
        }
    }

    /// As loud as it was before it was lost; at a new start, as it was last set, and no more as a fade left it.
    private func rememberedVolume(of index: Int, isBack: Bool) async -> VolumeState? {
        if isBack, let known = members[index].volume { return known }
        let route = members[index].route
        if !isBack, let level = try? await environment.store.lastLevel(of: route) { return VolumeState(level: level) }
        return (try? await environment.store.volume(of: route)) ?? nil
    }

    /// A person has set the room to this, by us or on the device.
    func rememberLast(_ level: VolumePosition, of index: Int) async {
        try? await environment.store.saveLastLevel(level, of: members[index].route)
    }
}
