import CastV2

/// The receiving side of one Cast stream (`Protocols/cast` section 12): puts frames together from packets, hands them
/// out in order, and says what the sender is to be told. Packets and times in, frames and feedback out.
///
/// A frame is waited for until a later one that needs none before it is due; then it is given up.
struct CastStreamMachine: Sendable {
    enum Insertion: Sendable, Hashable {
        case stored
        /// It made its frame whole.
        case completed
        /// Known already, or of a frame that is past.
        case superfluous
        case refused(Refusal)
    }

    enum Refusal: Error, Sendable, Hashable {
        /// Another payload type than that of the OFFER.
        case payloadType
        /// Further ahead than a sender may be.
        case farAhead
        /// The frame has more packets than `maximumPackets`.
        case manyPackets
        /// Contradicts an earlier packet of its frame.
        case contradiction
        /// More waits than `maximumBytes`.
        case full
    }

    /// A frame that is whole, in order; its payload still encrypted.
    struct Frame: Sendable, Hashable {
        var id: Int
        var isKey: Bool
        /// Without wrapping.
        var timestamp: Int64
        /// Milliseconds from capture to playing, of this frame.
        var delay: Int
        /// How many frames right before it were given up.
        var skipped: Int
        var payload: [UInt8]
    }

    private struct Assembly {
        var isIndependent: Bool
        var isKey: Bool
        var timestamp: Int64
        var packets: [[UInt8]?]
        var missing: Int
        var bytes = 0
        /// When the first of it came.
        var since: Int64
    }

    /// A frame of more is refused: 4 MB at 1,472 bytes each.
    static let maximumPackets = 3_000
    /// What all frames that are not whole or not due may hold.
    static let maximumBytes = 16 << 20
    static let reportInterval: Int64 = 500_000_000
    /// While packets are missing.
    static let lossInterval: Int64 = 30_000_000
    /// Packets overtake each other: what is missing for less is not asked for.
    static let patience: Int64 = 10_000_000
    /// Without packets for this long, the sender is gone.
    static let silenceLimit: Int64 = 15_000_000_000

    let senderSSRC: UInt32
    let receiverSSRC: UInt32
    let payloadType: UInt8
    private(set) var clock: CastSenderClock
    /// The last frame that was handed out or given up; what came of the stream so far is whole up to here.
    private(set) var checkpoint = -1
    private(set) var lastHeard: Int64
    private(set) var statistics = CastReceptionStatistics()
    private var latest = -1
    private var latestTimestamp: Int64 = 0
    private var frames: [Int: Assembly] = [:]
    private var heldBytes = 0
    private var delay: Int
    /// Playout delays by the frame from which they hold.
    private var delays: [(from: Int, milliseconds: Int)] = []
    private var lastFeedback: Int64?
    private var announcedCheckpoint = -1
    private var feedbackCount: UInt8 = 0
    private var lastReport: (middle: UInt32, arrival: Int64)?
    private var lastKeyRequest: Int64?

    init(stream: CastOfferedStream, receiverSSRC: UInt32, at now: Int64) {
        senderSSRC = stream.ssrc
        self.receiverSSRC = receiverSSRC
        payloadType = stream.payloadType
        clock = CastSenderClock(clockRate: stream.clockRate)
        delay = stream.targetDelay
        lastHeard = now
    }

    /// Milliseconds from capture to playing, as it is now.
    var currentDelay: Int { delay }
    /// Frames that are not handed out yet.
    var waiting: Int { frames.count }

    // MARK: In

    mutating func receive(_ packet: CastRTPPacket, at now: Int64) -> Insertion {
        let outcome = insert(packet, at: now)
        switch outcome {
        case .stored, .completed: statistics.packets += 1
        case .superfluous: statistics.superfluousPackets += 1
        case .refused: statistics.refusedPackets += 1
        }
        return outcome
    }

    private mutating func insert(_ packet: CastRTPPacket, at now: Int64) -> Insertion {
        guard packet.payloadType == payloadType else { return .refused(.payloadType) }
        guard Int(packet.lastPacketID) < Self.maximumPackets else { return .refused(.manyPackets) }
        lastHeard = now
        statistics.heard(packet, at: now, clockRate: clock.clockRate)
        let id = CastFrameID.expand(packet.frameID, near: latest)
        guard id > checkpoint else { return .superfluous }
        guard id <= checkpoint + CastFrameID.maximumUnacknowledged else { return .refused(.farAhead) }
        let timestamp = expand(packet.timestamp)
        let isIndependent =
            packet.referencedFrameID.map { packet.keyFrame || $0 == packet.frameID } ?? packet.keyFrame
        var frame =
            frames[id]
            ?? Assembly(
                isIndependent: isIndependent, isKey: packet.keyFrame, timestamp: timestamp,
                packets: Array(repeating: nil, count: Int(packet.lastPacketID) + 1),
                missing: Int(packet.lastPacketID) + 1, since: now)
        guard frame.packets.count == Int(packet.lastPacketID) + 1, frame.timestamp == timestamp,
            frame.isKey == packet.keyFrame
        else { return .refused(.contradiction) }
        let place = Int(packet.packetID)
        guard frame.packets[place] == nil else { return .superfluous }
        // A slot costs memory too, before anything is in it.
        let cost = packet.payload.count + (frames[id] == nil ? frame.packets.count * 16 : 0)
        guard heldBytes + cost <= Self.maximumBytes else { return .refused(.full) }
        frame.packets[place] = packet.payload
        frame.missing -= 1
        frame.bytes += cost
        heldBytes += cost
        frames[id] = frame
        if let milliseconds = packet.playoutDelay, CastStreamingOffer.delays.contains(Int(milliseconds)),
            delays.last?.from ?? -1 < id
        {
            delays.append((id, Int(milliseconds)))
        }
        if id > latest {
            latest = id
            latestTimestamp = timestamp
        }
        return frame.missing == 0 ? .completed : .stored
    }

    mutating func receive(_ report: CastSenderReport, at now: Int64) {
        lastHeard = now
        statistics.senderReports += 1
        let timestamp = expand(report.timestamp)
        if latest < 0 { latestTimestamp = timestamp }
        lastReport = (report.time.middle, now)
        clock.report(time: report.time.nanoseconds, timestamp: timestamp, arrival: now)
    }

    private func expand(_ timestamp: UInt32) -> Int64 {
        guard latest >= 0 || clock.isKnown else { return Int64(timestamp) }
        return latestTimestamp + Int64(Int32(truncatingIfNeeded: Int64(timestamp) - latestTimestamp))
    }

    // MARK: Out

    /// The next frame, or nil while it must be waited for. Nothing is handed out before the sender has said what time
    /// it is.
    mutating func nextFrame(at now: Int64) -> Frame? {
        guard clock.isKnown else { return nil }
        if frames[checkpoint + 1]?.missing == 0 { return take(checkpoint + 1, skipped: 0) }
        let due = frames.keys.sorted().first { id in
            guard let frame = frames[id], frame.missing == 0, frame.isIndependent else { return false }
            return isDue(id, frame, at: now)
        }
        guard let due else { return nil }
        return take(due, skipped: due - checkpoint - 1)
    }

    private func isDue(_ id: Int, _ frame: Assembly, at now: Int64) -> Bool {
        let milliseconds = delays.last { $0.from <= id }?.milliseconds ?? delay
        guard let captured = clock.captured(frame.timestamp) else { return false }
        return captured + Int64(milliseconds) * 1_000_000 <= now
    }

    private mutating func take(_ id: Int, skipped: Int) -> Frame? {
        guard let frame = frames[id] else { return nil }
        for past in frames.keys where past <= id {
            heldBytes -= frames.removeValue(forKey: past)?.bytes ?? 0
        }
        while let change = delays.first, change.from <= id {
            delay = change.milliseconds
            delays.removeFirst()
        }
        checkpoint = id
        statistics.frames += 1
        statistics.skippedFrames += skipped
        var payload: [UInt8] = []
        for packet in frame.packets { payload += packet ?? [] }
        return Frame(
            id: id, isKey: frame.isKey, timestamp: frame.timestamp, delay: delay, skipped: skipped, payload: payload)
    }

    /// Whether a frame that needs another waits beyond its time: only a key frame helps.
    private func needsKeyFrame(at now: Int64) -> Bool {
        guard frames[checkpoint + 1]?.missing != 0 else { return false }
        return frames.contains { id, frame in frame.missing == 0 && isDue(id, frame, at: now) }
    }

    /// What the sender is to be told now; nil while there is nothing new and no report is due.
    mutating func feedback(at now: Int64) -> [CastRTCP]? {
        guard latest >= 0 || statistics.senderReports > 0 else { return nil }
        let since = lastFeedback.map { now - $0 } ?? .max
        let losses = since >= Self.lossInterval ? losses(at: now) : []
        guard checkpoint != announcedCheckpoint || !losses.isEmpty || since >= Self.reportInterval else { return nil }
        lastFeedback = now
        announcedCheckpoint = checkpoint
        statistics.losses += losses.count
        feedbackCount &+= 1
        let whole = frames.keys.filter { frames[$0]?.missing == 0 }
        var packets: [CastRTCP] = [
            .receiverReport(ssrc: receiverSSRC, statistics.block(senderSSRC, lastReport, at: now)),
            .referenceTime(ssrc: receiverSSRC, CastNTPTime(nanoseconds: now)),
        ]
        if needsKeyFrame(at: now), lastKeyRequest.map({ now - $0 >= Self.reportInterval }) ?? true {
            lastKeyRequest = now
            statistics.keyRequests += 1
            packets.append(.pictureLoss(receiverSSRC: receiverSSRC, senderSSRC: senderSSRC))
        }
        packets.append(
            .feedback(
                CastFeedback(
                    receiverSSRC: receiverSSRC, senderSSRC: senderSSRC, checkpoint: CastFrameID.wire(checkpoint),
                    playoutDelay: UInt16(clamping: delay), losses: losses,
                    acknowledgements: CastFeedback.Acknowledgements(
                        count: feedbackCount, frames: whole, after: checkpoint))))
        return packets
    }

    /// What is missing of the frames that have begun, or were overtaken. The end of the latest frame may be on its way
    /// yet: the sender sends it again by itself if nothing is said of it.
    private func losses(at now: Int64) -> [CastFeedback.Loss] {
        guard latest > checkpoint else { return [] }
        var losses: [CastFeedback.Loss] = []
        for id in (checkpoint + 1)...latest where losses.count < CastFeedback.maximumLosses {
            let wire = CastFrameID.wire(id)
            guard let frame = frames[id] else {
                let overtaken = frames.contains { $0 > id && now - $1.since >= Self.patience }
                if overtaken { losses.append(CastFeedback.Loss(frameID: wire, packetID: CastFeedback.Loss.wholeFrame)) }
                continue
            }
            guard frame.missing > 0, now - frame.since >= Self.patience else { continue }
            let end =
                id == latest
                ? frame.packets.lastIndex { $0 != nil } ?? 0 : frame.packets.count
            let missing = (0..<end).filter { frame.packets[$0] == nil }.map { UInt16($0) }
            losses += CastFeedback.Loss.fields(frameID: wire, packets: missing)
        }
        return Array(losses.prefix(CastFeedback.maximumLosses))
    }
}
