/// What goes wrong on purpose with Cast Streaming.
public struct CastStreamingFaults: Sendable, Hashable {
    /// Share of the sender's datagrams that are lost on their way in, 0 to 1; repeated ones too.
    public var lose: Double = 0
    /// Share that comes 20 ms later than it was sent, and so after its followers, 0 to 1.
    public var reorder: Double = 0
    /// Share that comes twice, 0 to 1.
    public var duplicate: Double = 0
    /// How much later than they were sent all come.
    public var delay: Duration = .zero
    /// Leaves an OFFER unanswered.
    public var neverAnswers = false
    /// Refuses every OFFER with this code.
    public var errorCode: Int?
    /// Refuses every OFFER but the first: a session goes on when the next one fails.
    public var refusesSecondOffer = false
    /// Sends no reports and no feedback.
    public var isSilent = false
    /// By how much later than they say reports go out while a stream is younger than `busyNanoseconds`, as those of a
    /// machine that is busy.
    public var busyAtFirst: Duration = .zero
    /// Answers with a port on which nothing listens.
    public var portIsClosed = false
    /// What chances are drawn from: the same seed, the same losses.
    public var seed: UInt64 = 1

    static let reorderNanoseconds: Int64 = 20_000_000
    static let busyNanoseconds: Int64 = 2_000_000_000

    var holdNanoseconds: Int64 {
        let hold = busyAtFirst.components
        return hold.seconds * 1_000_000_000 + hold.attoseconds / 1_000_000_000
    }

    public init() {}
}

/// The way from the sender to this receiver, as bad as the faults say. A pure value: datagrams in, what is delivered and
/// when out.
struct CastStreamingWay: Sendable {
    struct Delivery: Sendable {
        var due: Int64
        var datagram: CastStreamingDatagrams.Datagram
    }

    /// Waiting datagrams beyond this many are lost: a second of the fastest stream.
    static let limit = 4_096

    private let faults: CastStreamingFaults
    private var state: UInt64
    private var waiting: [Delivery] = []
    private(set) var lost = 0

    init(_ faults: CastStreamingFaults) {
        self.faults = faults
        state = faults.seed
    }

    /// A datagram is sent. Answers with how often it arrives at once.
    mutating func send(_ datagram: CastStreamingDatagrams.Datagram) -> Int {
        guard chance() >= faults.lose else {
            lost += 1
            return 0
        }
        let delay = faults.delay.components
        var wait = delay.seconds * 1_000_000_000 + delay.attoseconds / 1_000_000_000
        if faults.reorder > 0, chance() < faults.reorder { wait += CastStreamingFaults.reorderNanoseconds }
        let copies = faults.duplicate > 0 && chance() < faults.duplicate ? 2 : 1
        guard wait > 0 else { return copies }
        guard waiting.count + copies <= Self.limit else {
            lost += 1
            return 0
        }
        var late = datagram
        late.hostNanoseconds += wait
        for _ in 0..<copies { waiting.append(Delivery(due: late.hostNanoseconds, datagram: late)) }
        return 0
    }

    /// What arrives by now.
    mutating func arrivals(at now: Int64) -> [CastStreamingDatagrams.Datagram] {
        guard waiting.contains(where: { $0.due <= now }) else { return [] }
        let due = waiting.filter { $0.due <= now }.sorted { $0.due < $1.due }
        waiting.removeAll { $0.due <= now }
        return due.map(\.datagram)
    }

    /// 0 up to, not including, 1, the same for the same seed (SplitMix64).
    private mutating func chance() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((z ^ (z >> 31)) >> 11) / Double(1 << 53)
    }
}
