import AirPlay
import Pacing
import RouteBackend
import Synchronization

/// Audio over a connection, some seconds ahead of its time: the buffered streams of AirPlay 2.
struct BufferedLane: AirPlayLane {
    /// Packets that wait for the connection at most: some six seconds of them. What the device has itself is not counted.
    private static let limit = 256

    /// Beside the two seconds of every push session: as much as a feed keeps for readers that are not as far.
    let ahead: Int64 = 2_500_000_000
    let refill: Int64 = 1_500_000_000

    private let queue: BufferedQueue
    private let plan: AirPlayStreamPlan
    private var packetizer: BufferedAudioPacketizer
    private(set) var nextTimestamp: Int64
    private let closed: @Sendable () async -> Void

    /// - Parameter closed: called once, when nothing is sent any more.
    init(
        writer: BufferedAudioWriter, packetizer: BufferedAudioPacketizer, firstTimestamp: UInt32,
        plan: AirPlayStreamPlan, closed: @escaping @Sendable () async -> Void
    ) {
        queue = BufferedQueue(writer: writer)
        self.packetizer = packetizer
        self.plan = plan
        nextTimestamp = Int64(firstTimestamp)
        self.closed = closed
    }

    var next: PacketPoint {
        PacketPoint(sequence: packetizer.nextSequence, timestamp: UInt32(truncatingIfNeeded: nextTimestamp))
    }

    var statistics: @Sendable () -> PacingStatistics {
        { [queue] in
            var statistics = PacingStatistics()
            (statistics.sent, statistics.skipped) = queue.counts
            return statistics
        }
    }

    var worker: (@Sendable () async -> Void)? { { [queue] in await queue.run() } }

    func leadIn(flushed: Bool) -> Int64 { 0 }

    mutating func begin(at timestamp: Int64) { nextTimestamp = max(nextTimestamp, timestamp) }

    mutating func start(_ run: AirPlayRun, leadIn: Range<Int64>, flushed: Bool, audioLatency: Int, now: Int64) {}

    mutating func append(_ packet: AudioPacket, _ run: AirPlayRun, now: Int64) -> Bool {
        let timestamp = run.timestamp(ofFrame: packet.frame)
        let end = timestamp + Int64(packet.frameCount)
        guard run.clock.instant(of: end) > now else {
            queue.noteSkipped()
            return true
        }
        guard queue.waiting < Self.limit else { return false }
        queue.add(packetizer.packet(packet.payload, timestamp: UInt32(truncatingIfNeeded: timestamp)))
        nextTimestamp = max(nextTimestamp, end)
        return true
    }

    func deadline(of timestamp: Int64, _ run: AirPlayRun) -> Int64 {
        run.clock.instant(of: timestamp) - plan.leadNanoseconds
    }

    mutating func dropPending() { queue.drop() }

    func wake() {}

    func close() async {
        await queue.close()
        await closed()
    }
}

/// Packets between the session, which does not wait, and the connection, which does.
private final class BufferedQueue: Sendable {
    private struct Entry: Sendable {
        var packet: [UInt8]
        /// Tells packets of a run that was flushed meanwhile.
        var epoch: Int
    }

    private let writer: BufferedAudioWriter
    private let entries: AsyncStream<Entry>
    private let sink: AsyncStream<Entry>.Continuation
    private let epoch = Atomic<Int>(0)
    private let pending = Atomic<Int>(0)
    private let sent = Atomic<Int>(0)
    private let skipped = Atomic<Int>(0)

    init(writer: BufferedAudioWriter) {
        self.writer = writer
        // Bounded by whoever adds: it looks at `waiting`.
        (entries, sink) = AsyncStream.makeStream()
    }

    var waiting: Int { pending.load(ordering: .relaxed) }
    var counts: (sent: Int, skipped: Int) { (sent.load(ordering: .relaxed), skipped.load(ordering: .relaxed)) }

    func add(_ packet: [UInt8]) {
        pending.wrappingAdd(1, ordering: .relaxed)
        sink.yield(Entry(packet: packet, epoch: epoch.load(ordering: .relaxed)))
    }

    func noteSkipped() { skipped.wrappingAdd(1, ordering: .relaxed) }

    /// What has not gone by now does not go.
    func drop() { epoch.wrappingAdd(1, ordering: .relaxed) }

    /// Writes until the connection is gone or the task is cancelled.
    func run() async {
        for await entry in entries {
            pending.wrappingSubtract(1, ordering: .relaxed)
            guard entry.epoch == epoch.load(ordering: .relaxed) else { continue }
            do { try await writer.write([entry.packet]) } catch { return }
            sent.wrappingAdd(1, ordering: .relaxed)
        }
    }

    func close() async {
        sink.finish()
        await writer.close()
    }
}
