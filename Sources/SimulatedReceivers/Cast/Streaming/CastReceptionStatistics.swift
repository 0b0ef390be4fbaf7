import CastV2

/// Counts of one stream, and what a reception report says of them (RFC 3550, section 6.4).
struct CastReceptionStatistics: Sendable, Hashable {
    /// Packets that were of use.
    var packets = 0
    var superfluousPackets = 0
    var refusedPackets = 0
    /// Frames that were handed out, and those given up.
    var frames = 0
    var skippedFrames = 0
    var senderReports = 0
    /// Loss fields that were sent.
    var losses = 0
    /// Key frames that were asked for.
    var keyRequests = 0

    private var firstSequence: Int64?
    private var highestSequence: Int64 = 0
    private var received: Int64 = 0
    private var expectedBefore: Int64 = 0
    private var receivedBefore: Int64 = 0
    private var lastTransit: Int64?
    private var jitter: Int64 = 0

    mutating func heard(_ packet: CastRTPPacket, at now: Int64, clockRate: Int64) {
        received += 1
        let sequence: Int64
        if firstSequence == nil {
            // High enough for packets that come before the first to stay positive.
            sequence = Int64(packet.sequence) + 65_536
            firstSequence = sequence
            highestSequence = sequence
        } else {
            sequence =
                highestSequence + Int64(Int16(truncatingIfNeeded: Int64(packet.sequence) - highestSequence))
            highestSequence = max(highestSequence, sequence)
        }
        let (seconds, rest) = now.quotientAndRemainder(dividingBy: 1_000_000_000)
        let arrival = seconds &* clockRate &+ rest * clockRate / 1_000_000_000
        let transit = Int64(UInt32(truncatingIfNeeded: arrival) &- packet.timestamp)
        if let lastTransit {
            let difference = abs(Int64(Int32(truncatingIfNeeded: transit - lastTransit)))
            jitter += (difference - jitter) / 16
        }
        lastTransit = transit
    }

    /// - Parameter report: the last sender report, by its middle bits, and when it came.
    mutating func block(_ ssrc: UInt32, _ report: (middle: UInt32, arrival: Int64)?, at now: Int64)
        -> CastReceptionBlock
    {
        let expected = firstSequence.map { highestSequence - $0 + 1 } ?? 0
        let expectedNow = expected - expectedBefore
        let lostNow = max(0, expectedNow - (received - receivedBefore))
        expectedBefore = expected
        receivedBefore = received
        var block = CastReceptionBlock(senderSSRC: ssrc)
        block.fractionLost = expectedNow > 0 ? UInt8(clamping: lostNow * 256 / expectedNow) : 0
        block.cumulativeLost = UInt32(clamping: min(0x7F_FFFF, max(0, expected - received)))
        block.highestSequence = UInt32(truncatingIfNeeded: highestSequence - 65_536)
        block.jitter = UInt32(clamping: jitter)
        if let report {
            block.lastReport = report.middle
            block.delay = UInt32(clamping: (now - report.arrival) / 1_000 * 65_536 / 1_000_000)
        }
        return block
    }
}
