/// The master of all its peers' clocks: what it sends when, and what it answers. Pure: instants of the host's monotonic
/// clock and datagrams in, datagrams out (`Protocols/airplay/README.md`, “PTP”).
///
/// It stays master whatever others announce. All peers hear it by unicast, each with sequence numbers of its own.
struct PTPGrandmaster: Sendable {
    /// What it wants sent.
    struct Outgoing: Sendable, Hashable {
        var peer: PTPAddress
        var message: PTPMessage
        /// What its time of leaving must be told by; nil where nobody wants to know.
        var departure: Departure?
    }

    /// A message that tells when another left.
    enum Departure: Sendable, Hashable {
        case followUp(sequence: UInt16, logInterval: Int8)
        case peerDelayFollowUp(sequence: UInt16, requester: PTPPortIdentity)
    }

    /// Log2 of seconds between messages, for those who ask for nothing else.
    static let announceInterval: Int8 = 0
    static let syncInterval: Int8 = -3
    static let signalingInterval: Int8 = 0
    /// What may be asked for instead.
    static let intervals: ClosedRange<Int8> = -4...4
    /// Longest time that is granted, in seconds.
    static let longestGrant: UInt32 = 3600
    /// Announces that go with the first Syncs: two of them make a master, and a receiver need not wait a second for it.
    static let openingAnnounces = 3
    /// Syncs that a new peer gets closer together, and nanoseconds between them: it plays by our clock the sooner.
    static let openingSyncs = 8
    static let openingSyncSpacing: Int64 = 40_000_000
    /// Messages of one peer that are looked at each second; the most in use is 16 questions.
    static let messagesPerSecond = 64

    let identity: PTPPortIdentity
    let timebase: PTPTimebase
    private var peers: [PTPAddress: PTPPeer] = [:]
    private(set) var statistics = PTPStatistics()

    /// - Parameter port: iOS's, where there is no reason for another.
    init(clockID: UInt64, port: UInt16 = 0x8005, timebase: PTPTimebase) {
        identity = PTPPortIdentity(clockID: clockID, port: port)
        self.timebase = timebase
    }

    // MARK: Peers

    /// Begins with a peer: its first Announce and Sync are due at once.
    mutating func add(_ peer: PTPAddress, localAddress: String, at now: Int64) {
        guard peers[peer] == nil else { return }
        peers[peer] = PTPPeer(
            announce: PTPMessageStream(standard: Self.announceInterval, due: now),
            sync: PTPMessageStream(standard: Self.syncInterval, due: now),
            signaling: PTPMessageStream(standard: Self.signalingInterval, due: now), opening: Self.openingAnnounces,
            openingSyncs: Self.openingSyncs, windowStart: now, status: PTPPeerStatus(localAddress: localAddress))
    }

    /// The peer follows us from now on: what went before it did is sent again.
    mutating func greet(_ peer: PTPAddress, at now: Int64) { peers[peer]?.greet(at: now) }

    mutating func remove(_ peer: PTPAddress) { peers[peer] = nil }

    func status(of peer: PTPAddress) -> PTPPeerStatus? { peers[peer]?.status }

    /// The peer is served from another address of this host now.
    mutating func moved(_ peer: PTPAddress, localAddress: String) { peers[peer]?.status.localAddress = localAddress }

    // MARK: Sending

    /// When the next message is due; nil without peers.
    var deadline: Int64? { peers.values.map { min($0.announce.due, $0.sync.due, $0.signaling.due) }.min() }

    /// What is due, in the order in which it must go.
    mutating func due(at now: Int64) -> [Outgoing] {
        var outgoing: [Outgoing] = []
        for address in Array(peers.keys) {
            guard var peer = peers[address] else { continue }
            peer.open(at: now)
            if let sequence = peer.announce.take(at: now) {
                outgoing.append(announce(sequence, to: address, logInterval: peer.announce.logInterval))
                peer.status.announcesSent += 1
            }
            if let sequence = peer.signaling.take(at: now) {
                outgoing.append(signaling(sequence, to: address))
            }
            if let sequence = peer.sync.take(at: now) {
                outgoing.append(sync(sequence, to: address, logInterval: peer.sync.logInterval))
                peer.spaceOpeningSync(after: now)
                peer.status.syncsSent += 1
            }
            peers[address] = peer
        }
        return outgoing
    }

    /// What follows once a message has left.
    ///
    /// - Parameter instant: when it left.
    func left(_ departure: Departure, to peer: PTPAddress, at instant: Int64) -> Outgoing {
        let time = PTPTimestamp(nanosecondsSinceEpoch: timebase.time(atHost: instant))
        switch departure {
        case .followUp(let sequence, let logInterval):
            return Outgoing(
                peer: peer,
                message: PTPMessage(
                    header(sequence, [.unicast, .ptpTimescale], logInterval), .followUp(preciseOrigin: time),
                    tlvs: [
                        .followUpInformation(PTPFollowUpInformation()),
                        .appleClock(PTPPortIdentity(clockID: identity.clockID, port: 0)),
                    ]))
        case .peerDelayFollowUp(let sequence, let requester):
            return Outgoing(
                peer: peer,
                message: PTPMessage(
                    header(sequence, [.unicast, .ptpTimescale], 127),
                    .peerDelayFollowUp(sent: time, requester: requester)))
        }
    }

    /// A message's time of leaving is too uncertain to be told.
    mutating func withheld(for peer: PTPAddress) { peers[peer]?.status.syncsWithheld += 1 }

    /// Whether the last message for a peer went; `error` is `errno`.
    mutating func sent(to peer: PTPAddress, error: Int32?) {
        peers[peer]?.status.sendError = error
        if error == nil { statistics.sent += 1 }
    }

    /// The peer's host says that nothing listens there.
    mutating func refused(by peer: PTPAddress, at now: Int64) { peers[peer]?.status.refusedAt = now }

    // MARK: Receiving

    /// A datagram came in.
    ///
    /// - Parameters:
    ///   - source: its host, without the port.
    ///   - arrival: when it came.
    /// - Returns: the answers.
    mutating func received(_ bytes: [UInt8], from source: PTPAddress, at arrival: Int64) -> [Outgoing] {
        guard var peer = peers[source] else {
            statistics.strangers += 1
            statistics.lastStranger = source.description
            return []
        }
        defer { peers[source] = peer }
        guard peer.admits(at: arrival) else {
            peer.status.excess += 1
            return []
        }
        let message: PTPMessage
        do { message = try PTPMessage(decoding: bytes) } catch {
            peer.status.malformed += 1
            return []
        }
        // Ourselves, by way of a host that sends back what it gets.
        guard message.header.source.clockID != identity.clockID, message.header.domain == 0 else { return [] }
        peer.status.lastHeardAt = arrival
        let time = PTPTimestamp(nanosecondsSinceEpoch: timebase.time(atHost: arrival))
        let asker = message.header.source
        let sequence = message.header.sequence
        switch message.content {
        case .delayRequest:
            peer.status.delayRequests += 1
            peer.status.asked(at: arrival)
            var header = header(sequence, [.unicast, .ptpTimescale, .twoStep], Self.syncInterval)
            header.correction = message.header.correction
            return [
                Outgoing(peer: source, message: PTPMessage(header, .delayResponse(received: time, requester: asker)))
            ]
        case .peerDelayRequest:
            peer.status.delayRequests += 1
            peer.status.asked(at: arrival)
            var header = header(sequence, [.unicast, .ptpTimescale, .twoStep], 127)
            header.correction = message.header.correction
            return [
                Outgoing(
                    peer: source, message: PTPMessage(header, .peerDelayResponse(received: time, requester: asker)),
                    departure: .peerDelayFollowUp(sequence: sequence, requester: asker))
            ]
        case .signaling(let target):
            guard [identity.clockID, .max, 0].contains(target.clockID) else { return [] }
            peer.status.signalings += 1
            peer.status.asked(at: arrival)
            let answers = message.tlvs.compactMap { peer.answer($0, at: arrival) }
            guard !answers.isEmpty else { return [] }
            return [
                Outgoing(
                    peer: source,
                    message: PTPMessage(
                        header(peer.signaling.takeSequence(), [.unicast, .ptpTimescale], -128, control: 5),
                        .signaling(target: asker), tlvs: answers))
            ]
        case .announce(let announce):
            peer.status.announces += 1
            peer.status.lastAnnounce = announce
            return []
        case .sync, .followUp, .delayResponse, .peerDelayResponse, .peerDelayFollowUp:
            return []
        }
    }

    // MARK: Messages

    private func announce(_ sequence: UInt16, to peer: PTPAddress, logInterval: Int8) -> Outgoing {
        Outgoing(
            peer: peer,
            message: PTPMessage(
                header(sequence, [.unicast, .ptpTimescale], logInterval),
                .announce(PTPAnnounce(grandmasterID: identity.clockID, quality: .airPlaySender)),
                tlvs: [.pathTrace([identity.clockID])]))
    }

    private func signaling(_ sequence: UInt16, to peer: PTPAddress) -> Outgoing {
        Outgoing(
            peer: peer,
            message: PTPMessage(
                header(sequence, [.unicast, .ptpTimescale], -128, control: 5),
                .signaling(target: PTPPortIdentity(clockID: 0, port: 0)), tlvs: PTPTLV.appleSender))
    }

    private func sync(_ sequence: UInt16, to peer: PTPAddress, logInterval: Int8) -> Outgoing {
        Outgoing(
            peer: peer,
            message: PTPMessage(
                header(sequence, [.unicast, .ptpTimescale, .twoStep], logInterval), .sync(origin: .zero)),
            departure: .followUp(sequence: sequence, logInterval: logInterval))
    }

    private func header(
        _ sequence: UInt16, _ flags: PTPHeader.Flags, _ logInterval: Int8, control: UInt8 = 0
    ) -> PTPHeader {
        PTPHeader(source: identity, sequence: sequence, flags: flags, logInterval: logInterval, control: control)
    }
}
