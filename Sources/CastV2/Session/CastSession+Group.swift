// Groups and their members' volumes (C17; `Protocols/cast`, “Groups”).

extension CastSession {
    /// Asks a group for its members, and keeps them up to date from then on in `CastSessionState.group`.
    ///
    /// Devices that are no group answer with themselves, or not at all.
    public func followGroup() async -> CastRequestResult { await request(.multizone(.getStatus)).result() }

    /// The groups that this device belongs to. Throws `CastRequestFailure`, `CancellationError`.
    public func castingGroups() async throws -> [CastCastingGroup] {
        let reply = try Self.value(of: await request(.multizone(.getCastingGroups)).result())
        guard case .multizone(.castingGroups(let groups)) = reply else { return [] }
        return groups
    }

    /// Sets the group's volume, 0 to 1, member by member, so that their proportions outlive 0. Where no members are
    /// known it is the device's own volume.
    ///
    /// - Returns: the first result that is no success, or else the last.
    public func setGroupVolume(_ level: Double) async -> CastRequestResult {
        guard !state.groupVolumes.deviceIDs.isEmpty else {
            return await request(.receiver(.setVolume(level: level))).result()
        }
        return await carryOut(state.groupVolumes.setMaster(level, now: clock.now()))
    }

    /// Sets one member's volume, 0 to 1. A member that is not known is an `invalidRequest`.
    public func setMemberVolume(_ deviceID: String, to level: Double) async -> CastRequestResult {
        guard let member = state.group?[deviceID] else { return .failed(.invalidRequest(reason: "NO_SUCH_MEMBER")) }
        return await carryOut(state.groupVolumes.setMember(member.deviceID, to: level, now: clock.now()))
    }

    /// Silences one member, or lets it be heard again. A member that is not known is an `invalidRequest`.
    public func setMemberMuted(_ deviceID: String, _ muted: Bool) async -> CastRequestResult {
        guard let member = state.group?[deviceID] else { return .failed(.invalidRequest(reason: "NO_SUCH_MEMBER")) }
        return await request(.multizone(.setMuted(deviceID: member.deviceID, muted))).result()
    }

    /// What the trims were in an earlier session, for a group that is all silent now. Only before `followGroup`.
    public func rememberTrims(_ trims: [String: Double]) { rememberedTrims = trims }

    private func carryOut(_ changes: [CastGroupVolumes.Change]) async -> CastRequestResult {
        publish()
        // All go out before any is waited for.
        var handles: [CastRequestHandle] = []
        for change in changes {
            handles.append(
                await request(.multizone(.setVolume(deviceID: change.deviceID, level: change.level))))
        }
        var last = CastRequestResult.completed(.multizone(.status(state.group ?? CastMultizoneStatus())))
        var failure: CastRequestResult?
        for handle in handles {
            last = await handle.result()
            if failure == nil, case .completed = last { continue }
            failure = failure ?? last
        }
        return failure ?? last
    }

    func follow(_ news: CastMultizoneNews) {
        if case .castingGroups = news { return }
        var group = state.group ?? CastMultizoneStatus()
        let first = state.group == nil
        group.apply(news)
        state.group = group
        let levels = group.members.compactMap { member in member.volume?.level.map { (member.deviceID, $0) } }
        if first {
            state.groupVolumes = CastGroupVolumes(
                levels: Dictionary(levels) { one, _ in one }, trims: rememberedTrims)
            return
        }
        let now = clock.now()
        for id in state.groupVolumes.deviceIDs where group[id] == nil { state.groupVolumes.remove(id) }
        // Only what was said anew: an old level is no news of anybody's doing.
        switch news {
        case .status: for (id, level) in levels { state.groupVolumes.observed(id, level: level, now: now) }
        case .memberAdded(let member), .memberUpdated(let member):
            guard let level = member.volume?.level, let known = group[member.deviceID] else { return }
            state.groupVolumes.observed(known.deviceID, level: level, now: now)
        case .memberRemoved, .playbackSession, .castingGroups: break
        }
    }
}
