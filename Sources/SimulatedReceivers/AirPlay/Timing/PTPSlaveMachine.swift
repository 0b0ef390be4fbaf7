import AirPlay

/// Follows a master's clock, as receivers do. Pure: datagrams and instants of the host's clock in, datagrams out.
struct PTPSlaveMachine: Sendable {
    /// What it wants sent, to all masters or to one.
    struct Outgoing: Sendable, Hashable {
        var address: String
        var message: PTPMessage
    }

    /// Syncs kept: at eight a second those of the last four seconds, before clocks drift apart too far.
    private static let kept = 32
    /// Syncs from which on the clock counts as settled: half a second's.
    static let settling = 4
    /// Syncs without a Follow_Up, and Follow_Ups without a Sync, that are remembered.
    private static let pendingLimit = 8
    /// Announces from which on a clock counts as a master (IEEE 1588, 9.3.2.5).
    private static let qualifying = 2

    private struct Sample: Sendable {
        var sent: UInt64
        var arrival: Int64
    }

    let configuration: PTPSlaveConfiguration
    /// Who may be master: addresses that SETPEERS named.
    private(set) var addresses: [String] = []
    /// The clock that SETUP named; nil: whichever announces itself.
    private(set) var wanted: UInt64?
    private(set) var record = PTPSlaveRecord()

    private var announced: [UInt64: Int] = [:]
    private var master: PTPPortIdentity?
    private var pending: [UInt16: (arrival: Int64, correction: Int64)] = [:]
    /// Follow_Ups that came before their Sync: the two have ports of their own, and may overtake each other.
    private var early: [UInt16: (time: PTPTimestamp, correction: Int64)] = [:]
    private var samples: [Sample] = []
    private var delays: [Int64] = []
    private var question: (sequence: UInt16, sent: Int64)?
    private var sequence: UInt16 = 0
    private var updatedAt: Int64 = 0

    init(_ configuration: PTPSlaveConfiguration) { self.configuration = configuration }

    /// Who the master is to be.
    ///
    /// - Returns: what wakes it, where that is its manner.
    mutating func follow(clockID: UInt64?, addresses: [String]) -> [Outgoing] {
        if clockID != wanted || Set(addresses) != Set(self.addresses) { forget() }
        wanted = clockID
        self.addresses = addresses
        guard configuration.wakesMaster, configuration.manner != .deaf else { return [] }
        return addresses.flatMap { address in
            // Better than any sender's 128, then worse: it hears that it is master, and at once that it is not.
            [UInt8(127), 129].map { Outgoing(address: address, message: announcement(priority: $0)) }
        }
    }

    private mutating func forget() {
        announced = [:]
        master = nil
        pending = [:]
        early = [:]
        samples = []
        delays = []
        question = nil
    }

    /// A datagram came in.
    ///
    /// - Parameters:
    ///   - source: the sender's address, without port or scope.
    ///   - arrival: host monotonic nanoseconds.
    mutating func received(_ bytes: [UInt8], from source: String, at arrival: Int64) {
        guard configuration.manner != .deaf else { return }
        guard let message = try? PTPMessage(decoding: bytes) else {
            record.malformed += 1
            return
        }
        let sender = message.header.source
        if let wanted, sender.clockID != wanted {
            record.strangers += 1
            return
        }
        if wanted == nil, !addresses.contains(source) {
            record.strangers += 1
            return
        }
        switch message.content {
        case .announce(let announce):
            record.announces += 1
            record.lastAnnounce = announce
            // One more clock than named could otherwise fill the table.
            if announced.count > 16 { announced = [:] }
            announced[sender.clockID, default: 0] += 1
            if master == nil, announced[sender.clockID, default: 0] >= Self.qualifying { master = sender }
        case .sync(let origin):
            record.syncs += 1
            guard master == sender else { return }
            if message.header.flags.contains(.twoStep) {
                if let told = early.removeValue(forKey: message.header.sequence) {
                    return followed((arrival, message.header.correction), told.time, told.correction)
                }
                if pending.count >= Self.pendingLimit { pending = [:] }
                pending[message.header.sequence] = (arrival, message.header.correction)
            } else {
                take(origin, correction: message.header.correction, arrival: arrival)
            }
        case .followUp(let time):
            record.followUps += 1
            guard master == sender else { return }
            guard let sync = pending.removeValue(forKey: message.header.sequence) else {
                if early.count >= Self.pendingLimit { early = [:] }
                early[message.header.sequence] = (time, message.header.correction)
                return
            }
            followed(sync, time, message.header.correction)
        case .delayResponse(let received, let requester):
            record.delayResponses += 1
            guard requester == identity, let question, question.sequence == message.header.sequence,
                let time = received.nanosecondsSinceEpoch
            else { return }
            self.question = nil
            delays.append(Int64(bitPattern: time) &- question.sent)
            if delays.count > Self.kept { delays.removeFirst() }
        case .signaling: record.signalings += 1
        case .delayRequest, .peerDelayRequest, .peerDelayResponse, .peerDelayFollowUp: break
        }
    }

    private mutating func followed(
        _ sync: (arrival: Int64, correction: Int64), _ time: PTPTimestamp, _ more: Int64
    ) {
        let (correction, overflow) = sync.correction.addingReportingOverflow(more)
        if !overflow { take(time, correction: correction, arrival: sync.arrival) }
    }

    private mutating func take(_ time: PTPTimestamp, correction: Int64, arrival: Int64) {
        guard let sent = time.nanosecondsSinceEpoch else { return }
        let corrected = Int64(bitPattern: sent) &+ (correction >> 16)
        samples.append(Sample(sent: UInt64(bitPattern: corrected), arrival: arrival))
        if samples.count > Self.kept { samples.removeFirst() }
        updatedAt = arrival
    }

    /// The question that is due, if it is its manner to ask. Its time of leaving is to be told by `asked`.
    mutating func ask() -> PTPMessage? {
        guard case .asking = configuration.manner, master != nil else { return nil }
        sequence &+= 1
        record.delayRequests += 1
        return PTPMessage(
            PTPHeader(source: identity, sequence: sequence, flags: [.unicast, .ptpTimescale], control: 1),
            .delayRequest(origin: .zero))
    }

    /// The last question left at this instant.
    mutating func asked(at instant: Int64) { question = (sequence, instant) }

    /// What is known of the master's clock; nil before anything is.
    var estimate: PTPClockEstimate? {
        // The least delayed Sync shows the master's clock furthest ahead of ours.
        guard let master, let ahead = samples.map({ Int64(bitPattern: $0.sent) &- $0.arrival }).max() else {
            return nil
        }
        // The least delayed question shows it least ahead; the truth is in the middle.
        let behind = delays.min()
        let offset = behind.map { ahead + ($0 - ahead) / 2 } ?? ahead
        return PTPClockEstimate(
            masterID: master.clockID, offset: offset, delay: behind.map { ($0 - ahead) / 2 }, samples: samples.count,
            updatedAt: updatedAt)
    }

    /// Whether the clock is good enough to play by.
    var isSettled: Bool { samples.count >= Self.settling }

    private var identity: PTPPortIdentity { PTPPortIdentity(clockID: configuration.clockID, port: 1) }

    private mutating func announcement(priority: UInt8) -> PTPMessage {
        sequence &+= 1
        return PTPMessage(
            PTPHeader(source: identity, sequence: sequence, flags: [.unicast, .ptpTimescale], logInterval: 0),
            .announce(
                PTPAnnounce(
                    grandmasterID: configuration.clockID,
                    quality: PTPClockQuality(
                        priority1: priority, clockClass: 248, accuracy: 0xFE, variance: 0xFFFF, priority2: priority))),
            tlvs: [.pathTrace([configuration.clockID])])
    }
}

/// What a slave has seen.
public struct PTPSlaveRecord: Sendable, Hashable {
    public var announces = 0
    public var syncs = 0
    public var followUps = 0
    public var signalings = 0
    public var delayRequests = 0
    public var delayResponses = 0
    public var malformed = 0
    /// Datagrams of others than the master that it was told of.
    public var strangers = 0
    public var lastAnnounce: PTPAnnounce?

    public init() {}
}
