import RouteBackend
import RouteModel

/// Commands for what only some devices can: rate, tracks, ads, the stream's own volume.
extension PlaybackSession {
    /// With every room's connection lost there is nobody to ask.
    func reachable() throws {
        guard !members.contains(where: { $0.alive }), let lost = members.first(where: { $0.phase == .suspended })
        else { return }
        throw RouterError(
            .unavailable, "the connection to \(lost.name) is lost; it is being tried again",
            hint: "Wait a moment, or stop the session", scope: .command, retry: .later)
    }

    func setRate(_ wanted: Double) async throws -> CommandOutcome {
        guard PlaybackRate.range.contains(wanted) else { throw Self.badRate(wanted) }
        try reachable()
        guard alivePush.isEmpty else {
            await keepNormalSpeed()
            if wanted == 1 { return .succeeded }
            throw RouterError(
                .unsupported, "AirPlay speakers play at normal speed only", hint: "Play by Cast: --via cast",
                scope: .command)
        }
        let able = alivePull.filter { has(.rate, $0) }
        guard !able.isEmpty else { throw lacking(.rate, "change the speed") }
        let now = clock.now()
        let outcome = try await each(able) { try await $0.perform(.setRate(wanted)) }
        guard !ended else { return .superseded }
        if outcome.isError { return outcome }
        rate = wanted
        commandedAt = now
        if let current = anchor, current.rate != 0 {
            anchor?.time = current.position(at: now)
            anchor?.instant = now
            anchor?.rate = wanted
        }
        await publish()
        await remember()
        return outcome
    }

    static func badRate(_ rate: Double) -> RouterError {
        RouterError(
            .unsupported, "a speed of \(rate) is out of range", hint: "Choose from 0.5 to 2", scope: .command)
    }

    /// Rooms that cannot play at the speed that was asked for, at the start.
    func tellNormalSpeed() async {
        guard rate != 1 else { return }
        let unable = members.indices.filter { members[$0].alive && !has(.rate, $0) }
        for index in unable {
            await notice(
                .warning, "\(members[index].name) plays at normal speed: it cannot change it",
                hint: "Play it by Cast, where a receiver can", member: index)
        }
        if !members.indices.contains(where: { members[$0].alive && has(.rate, $0) }) { rate = 1 }
    }

    /// The timeline of rooms that are sent to has one speed, which devices that fetch keep to.
    func keepNormalSpeed() async {
        guard rate != 1, !alivePush.isEmpty, !alivePull.isEmpty else { return }
        rate = 1
        let now = clock.now()
        if let current = anchor, current.rate != 0 {
            anchor?.time = current.position(at: now)
            anchor?.instant = now
            anchor?.rate = 1
        }
        commandedAt = now
        await notice(
            .warning, "it plays at normal speed: AirPlay speakers cannot change it",
            hint: "Play it by Cast alone, where a receiver can")
        await eachTolerant(alivePull.filter { has(.rate, $0) && members[$0].phase == .playing }) { _, session in
            try await session.perform(.setRate(1))
        }
    }

    /// A device begins each item at its own speed: where that is not the session's, it is told.
    func keepRate(_ index: Int) {
        guard rate != 1, let session = members[index].session, has(.rate, index),
            let reported = members[index].latest.rate, reported != rate
        else { return }
        let wanted = rate
        jobs.add { [self] in
            _ = try? await move(index, session) { try await $0.perform(.setRate(wanted)) }
        }
    }

    func select(_ tracks: [Int]) async throws -> CommandOutcome {
        try reachable()
        let able = alivePull.filter { !(members[$0].latest.tracks ?? []).isEmpty }
        guard !able.isEmpty else { throw lacking(.tracks, "choose tracks of this item") }
        for index in able {
            let known = Set((members[index].latest.tracks ?? []).map(\.id))
            guard let unknown = tracks.first(where: { !known.contains($0) }) else { continue }
            throw RouterError(
                .unsupported, "the item has no track \(unknown)",
                hint: "Choose from \(known.sorted().map(String.init).joined(separator: ", "))", scope: .command)
        }
        return try await each(able) { try await $0.perform(.selectTracks(tracks)) }
    }

    func skipAd() async throws -> CommandOutcome {
        try reachable()
        let showing = alivePull.filter { members[$0].latest.adBreak != nil }
        guard !showing.isEmpty else { return .noActionableItem }
        let now = clock.now()
        for index in showing {
            guard let left = members[index].latest.adBreak?.skippableIn(at: now) else {
                throw RouterError(.unavailable, "this ad cannot be skipped", scope: .command)
            }
            guard left > .zero else { continue }
            throw RouterError(
                .unavailable, "this ad can be skipped in \(Int(left.seconds.rounded(.up))) s", scope: .command,
                retry: .later)
        }
        return try await each(showing) { try await $0.perform(.skipAd) }
    }

    func setStreamVolume(_ level: VolumePosition, room: String?) async throws -> CommandOutcome {
        try reachable()
        let wanted = rooms(room)
        guard !wanted.isEmpty else { return .deviceNotFound }
        return try await each(wanted) { session in
            try await session.setStreamVolume(VolumeState(level: level))
            return .succeeded
        }
    }

    /// Whether the picture of what plays is on a room's screen: see `SessionMember.showsPicture`.
    func showsPicture(_ index: Int) -> Bool? {
        let member = members[index]
        guard let current = queue.current, pictures[current] == true, member.phase == .playing, !member.isShared,
            let session = member.session
        else { return nil }
        guard member.pull != nil else { return false }
        guard member.loaded?.item == current, !member.itemEnded else { return nil }
        switch session.descriptor.capabilities[.video] {
        case .available: return true
        case .unsupported: return false
        case .unavailable, .unknown: return member.latest.video == nil ? nil : true
        }
    }

    /// The part of a live stream that every room can be sent to; nil where one has none.
    var liveRange: ClosedRange<MediaTime>? {
        guard alivePush.isEmpty, !alivePull.isEmpty else { return nil }
        let now = clock.now()
        let ranges = alivePull.compactMap { members[$0].latest.liveWindow?.range(at: now) }
        guard ranges.count == alivePull.count, let start = ranges.map(\.lowerBound).max(),
            let end = ranges.map(\.upperBound).min(), start <= end
        else { return nil }
        return start...end
    }

    func has(_ capability: RouteCapability, _ index: Int) -> Bool {
        members[index].session?.descriptor.capabilities.has(capability) ?? false
    }

    private func lacking(_ capability: RouteCapability, _ what: String) -> RouterError {
        let names = members.filter(\.alive).map(\.name).joined(separator: ", ")
        return RouterError(.unsupported, "\(names) cannot \(what)", scope: .command)
    }
}
