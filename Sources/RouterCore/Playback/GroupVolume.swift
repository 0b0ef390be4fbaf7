import RouteModel

/// The volumes of rooms that play together (`model.md` section 6): a master, and how loud each room is against it. Pure.
///
/// Levels and trims are 0 to 1, and the loudest trim is kept at 1. Rooms are known by their places in the session. A
/// room's limit is no part of this: it only holds down what is sent, so that nothing is lost where a limit ends.
struct GroupVolume: Sendable, Equatable {
    /// What the slider of the group shows.
    private(set) var master = 0.0
    private(set) var trims: [Int: Double] = [:]
    /// While the master was turned to 0: the last one that was not, which the trims are against.
    private(set) var silenced: Double?

    init() {}

    /// As it was written by another process; what is out of range there is passed over.
    init(master: Double, trims: [Int: Double], silenced: Double?) {
        let range = 0.0...1.0
        guard range.contains(master), !trims.isEmpty, trims.values.allSatisfy(range.contains) else { return }
        self.master = master
        self.trims = trims
        if master == 0, let silenced, range.contains(silenced), silenced > 0 { self.silenced = silenced }
        normalise()
    }

    /// What a room is to be set to; nil for one that is none of the group.
    func level(of room: Int, limit: VolumePosition? = nil) -> VolumePosition? {
        guard let trim = trims[room] else { return nil }
        let level = VolumePosition(master * trim)
        return limit.map { min($0, level) } ?? level
    }

    /// Moves the slider of the group; no trim changes by that, so that all the way down and up is the way back.
    mutating func setMaster(_ wanted: VolumePosition) {
        let level = wanted.value
        guard !trims.isEmpty else { return }
        if level > 0 {
            silenced = nil
        } else if master > 0 {
            silenced = master
        }
        master = level
    }

    /// A room has come to be this loud: it joins, was turned on its device, or was set alone. Nobody else's loudness
    /// changes: where it is above the master, the master rises to it, and the trims of the others shrink.
    mutating func set(_ wanted: VolumePosition, of room: Int) {
        let level = wanted.value
        let others = trims.filter { $0.key != room }
        guard !others.isEmpty else {
            // The only room's level is the master.
            self = GroupVolume()
            trims[room] = 1
            master = level
            return
        }
        if master == 0, let silenced {
            // It is not heard against the others now, and their trims are not to be lost for it.
            trims[room] = min(1, level / silenced)
        } else if master == 0 {
            // None was ever heard: this is the first.
            guard level > 0 else {
                trims[room] = 1
                return
            }
            trims = others.mapValues { _ in 0 }
            trims[room] = 1
            master = level
            return
        } else {
            trims[room] = level / master
        }
        normalise()
    }

    /// A room has come to be this loud, and takes the others along: the master moves, and no trim does. Where the master
    /// can rise no further, or not by so much at once, what is left is the room's own, as in `set`.
    ///
    /// - Parameter step: the most that the master rises by.
    mutating func follow(_ wanted: VolumePosition, of room: Int, atMost step: Double) {
        guard let trim = trims[room], trim > 0 else { return set(wanted, of: room) }
        setMaster(VolumePosition(min(wanted.value / trim, master + max(0, step))))
        if abs(master * trim - wanted.value) > 1e-9 { set(wanted, of: room) }
    }

    /// How loud a room is to be against the loudest. The loudest of all is trimmed against the next.
    mutating func setTrim(_ trim: Double, of room: Int) {
        guard trims[room] != nil, let next = trims.filter({ $0.key != room }).values.max(), next > 0 else { return }
        let wanted = trim.isNaN ? 0 : min(1, max(0, trim))
        if next == 1 {
            trims[room] = wanted
        } else if wanted < 1 {
            trims[room] = wanted * next
        }
        normalise()
    }

    mutating func remove(_ room: Int) {
        guard trims.removeValue(forKey: room) != nil else { return }
        if trims.isEmpty { self = GroupVolume() } else { normalise() }
    }

    /// Brings the loudest trim to 1, with every product as it was.
    private mutating func normalise() {
        let loudest = trims.values.max() ?? 0
        guard loudest > 0 else {
            // Each was turned down by itself: none is against another any more.
            trims = trims.mapValues { _ in 1 }
            master = 0
            silenced = nil
            return
        }
        // The last bits of a division are nobody's change.
        guard abs(loudest - 1) > 1e-9 else {
            trims = trims.mapValues { min(1, $0) }
            return
        }
        trims = trims.mapValues { min(1, $0 / loudest) }
        master = min(1, master * loudest)
        silenced = silenced.map { min(1, $0 * loudest) }
    }
}

/// Tells what a device says back of a volume that it was told from what somebody did there (`model.md` section 6).
struct VolumeEcho: Sendable, Equatable {
    enum Judgement: Sendable, Equatable {
        /// Nothing new.
        case echo
        /// It may be from before the last write: to be judged again at this instant, in host nanoseconds; nil: when the
        /// write has returned.
        case wait(Int64?)
        case foreign
    }

    /// How long after a write has returned news of before it may still come.
    static let graceNanoseconds: Int64 = 500_000_000
    /// How long after a write has returned the device's first word is about that write, whatever it says.
    static let answerNanoseconds: Int64 = 2_000_000_000

    private var expected: VolumeState?
    private var confirmed = true
    /// What it was before writes of late, oldest first.
    private var earlier: [VolumeState] = []
    private var underWay = 0
    private var graceEnd = Int64.min
    private var answerEnd = Int64.min
    /// What was last judged foreign may be no more than what the device made of the last write.
    private(set) var mayBeAnswer = false
    private var heard: VolumeState?

    mutating func writes(_ volume: VolumeState, after known: VolumeState?) {
        underWay += 1
        if let known { earlier.append(known) }
        if let heard { earlier.append(heard) }
        if earlier.count > 8 { earlier.removeFirst(earlier.count - 8) }
        expected = volume
        confirmed = false
    }

    mutating func returned(at now: Int64) {
        underWay = max(0, underWay - 1)
        graceEnd = now + Self.graceNanoseconds
        answerEnd = now + Self.answerNanoseconds
    }

    /// - Parameter step: the smallest change that the device makes.
    mutating func judge(_ volume: VolumeState, step: Double, at now: Int64) -> Judgement {
        if let expected, !confirmed, Self.matches(volume, expected, within: step) {
            confirmed = true
            heard = volume
            return .echo
        }
        if volume == heard, confirmed { return .echo }
        if underWay > 0 { return .wait(nil) }
        if !confirmed, now < graceEnd, earlier.contains(where: { Self.matches(volume, $0, within: step) }) {
            return .wait(graceEnd)
        }
        mayBeAnswer = !confirmed && now < answerEnd
        heard = volume
        expected = volume
        confirmed = true
        earlier = []
        return .foreign
    }

    /// By how much a readback was rounded is the device's own affair.
    private static func matches(_ one: VolumeState, _ other: VolumeState, within step: Double) -> Bool {
        one.muted == other.muted && abs(one.level.value - other.level.value) <= step + 1e-9
    }
}
