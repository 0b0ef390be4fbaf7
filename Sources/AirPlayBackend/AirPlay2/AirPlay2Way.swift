import RouteModel

/// One way to bring an AirPlay 2 session about, of those that receivers differ in.
struct AirPlay2Way: Sendable, Hashable, CustomStringConvertible {
    enum Clock: String, Sendable, Hashable { case ptp, ntp }
    enum Stream: String, Sendable, Hashable { case realtime, buffered }
    /// Whether RECORD comes before the stream's SETUP: some are silent without, others refuse it.
    enum Record: String, Sendable, Hashable { case before, after }
    /// How pairing requests are written.
    enum Spelling: String, Sendable, Hashable { case rtsp, http }
    enum Family: String, Sendable, Hashable { case ipv4, ipv6, name }

    var clock = Clock.ptp
    var stream = Stream.realtime
    var record = Record.before
    var spelling = Spelling.rtsp
    /// Of the address; nil: whatever the endpoint's own is.
    var family: Family?

    init(
        clock: Clock = .ptp, stream: Stream = .realtime, record: Record = .before, spelling: Spelling = .rtsp,
        family: Family? = nil
    ) {
        self.clock = clock
        self.stream = stream
        self.record = record
        self.spelling = spelling
        self.family = family
    }

    /// As it is remembered: “ptp realtime before rtsp ipv4”.
    var description: String {
        [clock.rawValue, stream.rawValue, record.rawValue, spelling.rawValue, family?.rawValue ?? "any"]
            .joined(separator: " ")
    }

    /// Reads `description`; nil for what another version wrote.
    init?(remembered text: String) {
        let words = text.split(separator: " ").map(String.init)
        guard words.count == 5, let clock = Clock(rawValue: words[0]), let stream = Stream(rawValue: words[1]),
            let record = Record(rawValue: words[2]), let spelling = Spelling(rawValue: words[3])
        else { return nil }
        let family = Family(rawValue: words[4])
        guard family != nil || words[4] == "any" else { return nil }
        self.init(clock: clock, stream: stream, record: record, spelling: spelling, family: family)
    }
}

/// The ways that are tried before sound, one after another: each failure changes what it speaks against. Pure.
struct AirPlay2FallBack: Sendable {
    /// What an attempt foundered on.
    enum Failure: Sendable, Hashable {
        /// No connection came about.
        case unreachable
        /// Pairing requests were not understood.
        case spelling
        /// The session's SETUP was refused, or not answered, or our own clock could not be had.
        case clock
        case record
        case stream
    }

    /// Attempts in all, however the receiver behaves.
    static let maximumAttempts = 8

    struct Step: Sendable, Hashable {
        var way: AirPlay2Way
        /// What is told: why it is tried this way.
        var words: String
    }

    /// The fact by which a way that worked is remembered.
    static let fact = "airplay2.way"

    /// The present attempt.
    private(set) var way: AirPlay2Way
    private var tried: Set<AirPlay2Way>
    private let clocks: [AirPlay2Way.Clock]
    private let streams: [AirPlay2Way.Stream]
    private let families: [AirPlay2Way.Family]

    /// - Parameters:
    ///   - facts: of the receiver.
    ///   - wishes: what a person laid down in a URI: `clock`, `stream` and `record`; tried alone.
    ///   - families: of the addresses there are, best first.
    ///   - remembered: the way that worked last time.
    init(facts: AirPlay2Facts, wishes: [String: String], families: [AirPlay2Way.Family], remembered: String?) {
        var clocks: [AirPlay2Way.Clock] = facts.takesPTP ? [.ptp, .ntp] : [.ntp]
        if let wish = wishes["clock"].flatMap(AirPlay2Way.Clock.init) { clocks = [wish] }
        var streams: [AirPlay2Way.Stream] = facts.takesBuffered ? [.realtime, .buffered] : [.realtime]
        if let wish = wishes["stream"].flatMap(AirPlay2Way.Stream.init) { streams = [wish] }
        // What is kept ahead of its time is anchored on the PTP clock.
        if streams == [.buffered] { clocks = [.ptp] }
        self.clocks = clocks
        self.streams = streams
        self.families = families
        way = AirPlay2Way(clock: clocks[0], stream: streams[0], family: families.first)
        if let wish = wishes["record"].flatMap(AirPlay2Way.Record.init) { way.record = wish }
        if let last = remembered.flatMap(AirPlay2Way.init(remembered:)), clocks.contains(last.clock),
            streams.contains(last.stream)
        {
            let family = way.family
            way = last
            if !families.contains(where: { $0 == last.family }) { way.family = family }
        }
        tried = [way]
    }

    /// What to try after this failure; nil where nothing is left that it does not speak against.
    mutating func next(after failure: Failure) -> Step? {
        guard tried.count < Self.maximumAttempts else { return nil }
        for step in candidates(after: failure) where !tried.contains(step.way) {
            way = step.way
            tried.insert(step.way)
            return step
        }
        return nil
    }

    private func candidates(after failure: Failure) -> [Step] {
        var steps: [Step] = []
        func add(_ words: String, _ change: (inout AirPlay2Way) -> Void) {
            var other = way
            change(&other)
            steps.append(Step(way: other, words: words))
        }
        switch failure {
        case .unreachable:
            for family in families where family != way.family {
                add("it does not answer at that address; trying \(family.displayName)") { $0.family = family }
            }
        case .spelling:
            let other = way.spelling == .rtsp ? AirPlay2Way.Spelling.http : .rtsp
            add("it does not understand our way of pairing; trying the other spelling") { $0.spelling = other }
        case .record:
            let other = way.record == .before ? AirPlay2Way.Record.after : .before
            add("it wants its stream in another order; trying that") { $0.record = other }
        case .clock:
            for clock in clocks where clock != way.clock {
                add("it does not take our clock by \(way.clock.displayName); trying \(clock.displayName)") {
                    $0.clock = clock
                    if clock == .ntp { $0.stream = .realtime }
                }
            }
        case .stream:
            let order = way.record == .before ? AirPlay2Way.Record.after : .before
            add("it refused the stream; trying another order") { $0.record = order }
            for stream in streams where stream != way.stream && way.clock == .ptp {
                add("it refused the stream; trying the other kind") { $0.stream = stream }
            }
            for clock in clocks where clock != way.clock {
                add("it refused the stream; trying \(clock.displayName)") {
                    $0.clock = clock
                    if clock == .ntp { $0.stream = .realtime }
                }
            }
        }
        return steps
    }
}

extension AirPlay2Way.Clock {
    var displayName: String { self == .ptp ? "PTP" : "NTP" }
}

extension AirPlay2Way.Family {
    /// Of an address, numeric or a name.
    init(host: String) {
        self = host.contains(":") ? .ipv6 : host.allSatisfy { $0.isNumber || $0 == "." } ? .ipv4 : .name
    }

    var displayName: String {
        switch self {
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        case .name: "its name"
        }
    }
}
