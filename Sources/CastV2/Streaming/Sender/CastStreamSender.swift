/// The sender's side of one stream of Cast Streaming: frames on the way, repair, and what the receiver's reports tell
/// (`Protocols/cast` section 12).
///
/// Methods are events, return values are what to do about them; there is no I/O and no clock in here. `now` is in
/// nanoseconds of any monotonic clock. After each event the caller asks `nextDeadline` and calls `timePassed` then.
public struct CastStreamSender: Sendable {
    public struct Configuration: Sendable {
        public var senderSSRC: UInt32
        public var receiverSSRC: UInt32
        public var payloadType: UInt8
        /// Nil: not encrypted.
        public var cipher: CastFrameCipher?
        /// Timestamps per second.
        public var timeBase: Int
        public var firstSequence: UInt16
        /// Bytes of the longest datagram.
        public var maximumBytes = CastRTPPacket.ethernetBytes
        /// Nanoseconds without any report after which the receiver is gone.
        public var silenceLimit: Int64 = 15_000_000_000
        /// Nanoseconds of sending nothing after which the last packet goes again, while the receiver has not
        /// acknowledged it: of a frame that was lost whole, with none after it, it knows nothing.
        public var kickstartAfter: Int64 = 100_000_000
        /// A packet that is asked for again within this many nanoseconds, or within a round trip, is still on its way.
        public var resendAfter: Int64 = 10_000_000

        public init(
            senderSSRC: UInt32, receiverSSRC: UInt32, payloadType: UInt8, cipher: CastFrameCipher?, timeBase: Int,
            firstSequence: UInt16
        ) {
            self.senderSSRC = senderSSRC
            self.receiverSSRC = receiverSSRC
            self.payloadType = payloadType
            self.cipher = cipher
            self.timeBase = timeBase
            self.firstSequence = firstSequence
        }
    }

    /// A packet to be sent at its time.
    public struct Datagram: Sendable, Hashable {
        public var sequence: UInt16
        public var bytes: [UInt8]
    }

    /// How taking a frame went.
    public enum Taken: Sendable, Hashable {
        case queued([Datagram])
        /// Too many frames are on the way: try again when the receiver has acknowledged some.
        case full
        /// Longer than can be numbered, or it could not be encrypted. It is left out.
        case refused
    }

    public enum Action: Sendable, Hashable {
        /// A packet that was sent before, to be sent now.
        case send([UInt8])
        /// The receiver has said nothing for too long. Told once; nothing follows.
        case lost
    }

    private struct Frame: Sendable {
        var datagrams: [[UInt8]]
        /// When each was last sent, or is to be.
        var sentAt: [Int64]
        var acknowledged = false
    }

    public let configuration: Configuration
    public private(set) var statistics = CastStreamStatistics()
    /// The last frame up to which the receiver has everything; -1 before the first.
    public private(set) var checkpoint = -1
    private var packetizer: CastFramePacketizer
    /// From `checkpoint` + 1 on.
    private var frames: [Frame] = []
    private var trips = CastRoundTrips()
    private var lastHeard: Int64
    private var lastKickstart: Int64
    private var over = false

    public init(_ configuration: Configuration, now: Int64) {
        self.configuration = configuration
        packetizer = CastFramePacketizer(
            payloadType: configuration.payloadType, ssrc: configuration.senderSSRC,
            firstSequence: configuration.firstSequence, maximumBytes: configuration.maximumBytes)
        lastHeard = now
        lastKickstart = now
    }

    /// Frames taken that the receiver has not acknowledged.
    public var inFlight: Int { frames.count { !$0.acknowledged } }

    /// The number that the next frame gets.
    public var nextFrame: Int { checkpoint + 1 + frames.count }

    /// Nanoseconds of the way to the receiver; nil before it has been measured well enough.
    public var networkDelay: Int64? { trips.oneWay }

    // MARK: Events

    /// Takes the next frame.
    ///
    /// - Parameters:
    ///   - timestamp: later than that of the frame before.
    ///   - sendAt: when its packets are to be sent.
    public mutating func take(_ payload: [UInt8], timestamp: Int64, sendAt: Int64) -> Taken {
        guard !over, frames.count < CastFrameID.maximumUnacknowledged else { return .full }
        let id = nextFrame
        guard let secret = configuration.cipher.map({ $0.crypt(payload, frame: id) }) ?? payload else {
            return .refused
        }
        let first = packetizer.nextSequence
        let frame = CastStreamFrame(id: id, timestamp: UInt32(truncatingIfNeeded: timestamp), payload: secret)
        guard let datagrams = packetizer.packets(frame) else { return .refused }
        frames.append(Frame(datagrams: datagrams, sentAt: datagrams.map { _ in sendAt }))
        statistics.frames += 1
        return .queued(
            datagrams.enumerated().map {
                Datagram(sequence: first &+ UInt16(truncatingIfNeeded: $0.offset), bytes: $0.element)
            })
    }

    /// The last `count` packets were never sent, and will not be: their frames' numbers are used again. What is left of
    /// a frame that had begun must go now.
    public mutating func withdraw(_ count: Int, now: Int64) -> [Action] {
        var left = count
        while let last = frames.last, left >= last.datagrams.count, left > 0 {
            left -= last.datagrams.count
            frames.removeLast()
            statistics.frames -= 1
            packetizer.rewind(last.datagrams.count)
        }
        guard left > 0, let last = frames.indices.last else { return [] }
        return frames[last].datagrams.indices.suffix(left).map { send(packet: $0, of: last, now: now) }
    }

    /// A datagram from the receiver.
    public mutating func received(_ datagram: [UInt8], now: Int64) -> [Action] {
        guard !over, CastRTCP.matches(datagram) else { return [] }
        let packets: [CastRTCP]
        do {
            packets = try CastRTCP.decode(datagram)
        } catch {
            statistics.malformed += 1
            return []
        }
        statistics.reports += 1
        var actions: [Action] = []
        for packet in packets {
            switch packet {
            case .receiverReport(configuration.receiverSSRC, let block?): take(block, now: now)
            case .referenceTime(configuration.receiverSSRC, let time):
                statistics.clockOffset = time.nanoseconds - (now - (trips.shortest ?? 0) / 2)
            case .feedback(let feedback): actions += take(feedback, now: now)
            default: continue
            }
            lastHeard = now
        }
        return actions
    }

    public mutating func timePassed(now: Int64) -> [Action] {
        guard !over else { return [] }
        if lastHeard + configuration.silenceLimit <= now {
            over = true
            frames = []
            return [.lost]
        }
        guard let deadline = kickstartDeadline, deadline <= now, let newest = newestSent(now: now) else { return [] }
        lastKickstart = now
        statistics.kickstarts += 1
        return [send(packet: frames[newest].datagrams.count - 1, of: newest, now: now)]
    }

    /// When `timePassed` must be called next; nil when the stream is over.
    public var nextDeadline: Int64? {
        guard !over else { return nil }
        return min(lastHeard + configuration.silenceLimit, kickstartDeadline ?? .max)
    }

    /// Stops; nothing is sent any more.
    public mutating func end() {
        over = true
        frames = []
    }

    // MARK: Reports

    private mutating func take(_ block: CastReceptionBlock, now: Int64) {
        guard block.senderSSRC == configuration.senderSSRC else { return }
        statistics.fractionLost = Double(block.fractionLost) / 256
        statistics.cumulativeLost = Int(block.cumulativeLost)
        statistics.jitter = Int64(block.jitter) * 1_000_000_000 / Int64(configuration.timeBase)
        guard block.lastReport != 0 else { return }
        let units = CastNTPTime(nanoseconds: now).middle &- block.lastReport &- block.delay
        let trip = Int64(units) * 1_000_000_000 / 65_536
        // Longer than anybody would wait, or negative: a report of another stream, or of nonsense.
        guard trip < configuration.silenceLimit else { return }
        statistics.roundTrip = trip
        trips.add(trip, of: block.lastReport)
    }

    private mutating func take(_ feedback: CastFeedback, now: Int64) -> [Action] {
        guard feedback.senderSSRC == configuration.senderSSRC,
            feedback.receiverSSRC == configuration.receiverSSRC
        else { return [] }
        let reached = CastFrameID.expand(feedback.checkpoint, atMost: nextFrame - 1)
        // Reports may overtake each other.
        guard reached >= checkpoint else { return [] }
        statistics.playoutDelay = Int64(feedback.playoutDelay) * 1_000_000
        let done = reached - checkpoint
        statistics.acknowledged += frames.prefix(done).count { !$0.acknowledged }
        frames.removeFirst(done)
        checkpoint = reached
        for id in feedback.acknowledgements?.frames(after: reached) ?? [] {
            let index = id - reached - 1
            guard frames.indices.contains(index), !frames[index].acknowledged else { continue }
            frames[index].acknowledged = true
            statistics.acknowledged += 1
        }
        return feedback.losses.flatMap { repair($0, now: now) }
    }

    private mutating func repair(_ loss: CastFeedback.Loss, now: Int64) -> [Action] {
        let index = CastFrameID.expand(loss.frameID, after: checkpoint) - checkpoint - 1
        guard frames.indices.contains(index) else {
            statistics.missed += 1
            return []
        }
        let patience = max(configuration.resendAfter, trips.shortest ?? 0)
        var actions: [Action] = []
        for packet in loss.packets?.map(Int.init) ?? Array(frames[index].datagrams.indices) {
            // Acknowledged means that it has come since; what is still to be sent, or only just was, is not lost.
            guard !frames[index].acknowledged, frames[index].sentAt.indices.contains(packet),
                frames[index].sentAt[packet] + patience <= now
            else { continue }
            statistics.resent += 1
            actions.append(send(packet: packet, of: index, now: now))
        }
        return actions
    }

    private mutating func send(packet: Int, of index: Int, now: Int64) -> Action {
        frames[index].sentAt[packet] = now
        return .send(frames[index].datagrams[packet])
    }

    // MARK: Kickstart

    private func newestSent(now: Int64) -> Int? {
        frames.lastIndex { ($0.sentAt.last ?? .max) <= now }
    }

    /// Nothing is needed while frames follow each other: of the newest, those after it tell.
    private var kickstartDeadline: Int64? {
        guard let newest = frames.last, !newest.acknowledged, let sent = newest.sentAt.max() else { return nil }
        return max(sent, lastKickstart) + configuration.kickstartAfter
    }
}
