/// The volumes of a group's members as one master and one trim for each, so that a group turned down to nothing comes
/// back as it was (C17; `Protocols/cast`, “Groups”). Pure; levels, master and trims are 0 to 1.
///
/// A member is as loud as `master × trim`, and the loudest has a trim of 1. Moving the master rewrites no trim. What
/// somebody does at one device rewrites that device's trim only, and raises the master where it exceeds it. Devices
/// by themselves scale the members and lose what stood at 0.
public struct CastGroupVolumes: Sendable, Hashable {
    /// A level to set at one member.
    public struct Change: Sendable, Hashable {
        public var deviceID: String
        public var level: Double

        public init(deviceID: String, level: Double) {
            self.deviceID = deviceID
            self.level = level
        }
    }

    private struct Member: Sendable, Hashable {
        /// What it would have without its limit, as long as the master is not 0.
        var wanted: Double
        var trim: Double
        var limit = 1.0
        /// What it reported last.
        var reported: Double
        /// What was set and has not been reported yet.
        var expected: Expectation?
        var silenced: Silence?
    }

    private struct Expectation: Sendable, Hashable {
        var level: Double
        /// Nanoseconds until which older news may come.
        var until: Int64
    }

    /// When a member fell silent by somebody else's doing, and how loud it was before.
    private struct Silence: Sendable, Hashable {
        var at: Int64
        var level: Double
    }

    /// Devices round what they are given to steps of their own: nearer than this is the same.
    public static let tolerance = 0.03
    /// Nanoseconds after a change in which older levels may still be reported, and in which the members of a group
    /// that somebody else turns down all fall silent.
    public static let settleTime: Int64 = 2_000_000_000

    public private(set) var master: Double
    /// What the trims relate to while the master is 0.
    private var base: Double
    private var members: [String: Member]

    /// - Parameters:
    ///   - levels: of each member, by device id.
    ///   - trims: as they were known before, for members that are all silent now.
    public init(levels: [String: Double] = [:], trims: [String: Double] = [:]) {
        let loudest = levels.values.map(Self.clamp).max() ?? 0
        master = loudest
        base = loudest > 0 ? loudest : 1
        members = [:]
        for (id, level) in levels {
            let level = Self.clamp(level)
            let trim = loudest > 0 ? level / loudest : Self.clamp(trims[id] ?? 1)
            members[id] = Member(wanted: loudest > 0 ? level : trim, trim: trim, reported: level)
        }
    }

    public var deviceIDs: Set<String> { Set(members.keys) }

    /// By device id.
    public var trims: [String: Double] { members.mapValues(\.trim) }

    /// How loud each member is meant to be, by device id.
    public var levels: [String: Double] { members.mapValues(level) }

    /// The loudest that a member may be set to; it is not turned down by this alone.
    public mutating func setLimit(_ limit: Double, of deviceID: String) {
        members[deviceID]?.limit = Self.clamp(limit)
    }

    /// Moves the master.
    ///
    /// - Returns: what to set, in the order of the ids; nothing for members that have their level already.
    public mutating func setMaster(_ level: Double, now: Int64) -> [Change] {
        master = Self.clamp(level)
        if master > 0 {
            base = master
            for (id, member) in members { members[id]?.wanted = master * member.trim }
        }
        return members.keys.sorted().compactMap { id in
            guard let member = members[id] else { return nil }
            let wanted = self.level(member)
            members[id]?.silenced = nil
            guard wanted != member.expected?.level ?? member.reported else { return nil }
            members[id]?.expected = Expectation(level: wanted, until: now + Self.settleTime)
            return Change(deviceID: id, level: wanted)
        }
    }

    /// Sets one member, on a person's behalf.
    ///
    /// - Returns: what to set; nothing where the member is not known or has that level.
    public mutating func setMember(_ deviceID: String, to level: Double, now: Int64) -> [Change] {
        guard let member = members[deviceID] else { return [] }
        let level = min(Self.clamp(level), member.limit)
        adopt(deviceID, level)
        guard level != member.expected?.level ?? member.reported else { return [] }
        members[deviceID]?.expected = Expectation(level: level, until: now + Self.settleTime)
        return [Change(deviceID: deviceID, level: level)]
    }

    /// Takes in what a device reports: the echo of what was set here changes nothing, what somebody else did is adopted.
    ///
    /// - Returns: whether it was somebody else's doing. A device that is not known joins with the level that it has.
    @discardableResult
    public mutating func observed(_ deviceID: String, level: Double, now: Int64) -> Bool {
        let level = Self.clamp(level)
        if members.isEmpty {
            self = CastGroupVolumes(levels: [deviceID: level])
            return true
        }
        guard let member = members[deviceID] else {
            members[deviceID] = Member(wanted: level, trim: 1, reported: level)
            adopt(deviceID, level)
            return true
        }
        if let expected = member.expected {
            let isEcho = abs(expected.level - level) <= Self.tolerance
            // Older than what was set last: on its way already when it was set.
            if !isEcho, now < expected.until { return false }
            members[deviceID]?.expected = nil
            if isEcho {
                members[deviceID]?.reported = level
                return false
            }
        }
        members[deviceID]?.reported = level
        if level == 0, member.reported > 0 { members[deviceID]?.silenced = Silence(at: now, level: member.wanted) }
        if level > 0 { members[deviceID]?.silenced = nil }
        guard abs(self.level(member) - level) > Self.tolerance || (level == 0) != (self.level(member) == 0) else {
            return false
        }
        adopt(deviceID, level)
        restoreIfAllFellSilent(now: now)
        return true
    }

    /// A member has left; the others stay as loud as they are.
    public mutating func remove(_ deviceID: String) {
        guard members.removeValue(forKey: deviceID) != nil, master > 0 else { return }
        rebase()
    }

    private func level(_ member: Member) -> Double { Self.clamp(min(master * member.trim, member.limit)) }

    private mutating func adopt(_ deviceID: String, _ level: Double) {
        if master > 0 {
            members[deviceID]?.wanted = level
            rebase()
        } else if level > 0 {
            // All are silent by the master: the others must find their way back to where they stood beside this one.
            members[deviceID]?.wanted = level
            for (id, member) in members where id != deviceID { members[id]?.wanted = base * member.trim }
            let loudest = members.values.map(\.wanted).max() ?? 0
            guard loudest > 0 else { return }
            base = loudest
            for (id, member) in members { members[id]?.trim = member.wanted / loudest }
        }
    }

    /// Master and trims out of how loud the members are: nobody's loudness changes.
    private mutating func rebase() {
        let loudest = members.values.map(\.wanted).max() ?? 0
        guard loudest > 0 else {
            master = 0
            return
        }
        master = loudest
        base = loudest
        for (id, member) in members { members[id]?.trim = member.wanted / loudest }
    }

    /// Somebody else turned the whole group down to nothing, which devices report member by member: the trims are those
    /// from before the first of them fell silent.
    private mutating func restoreIfAllFellSilent(now: Int64) {
        guard !members.isEmpty, members.values.allSatisfy({ $0.reported == 0 }) else { return }
        master = 0
        let before = members.mapValues { member in
            member.silenced.flatMap { now - $0.at <= Self.settleTime ? $0.level : nil } ?? 0
        }
        guard let loudest = before.values.max(), loudest > 0 else { return }
        base = loudest
        for (id, level) in before { members[id]?.trim = level / loudest }
    }

    private static func clamp(_ level: Double) -> Double { level.isNaN ? 0 : min(1, max(0, level)) }
}
