import AirPlay
import Pacing
import RouteBackend

/// Audio as datagrams, each sent when it is due: RAOP, and the realtime streams of AirPlay 2.
struct DatagramLane: AirPlayLane {
    /// Makes the packet that tells the receiver which frame is heard when.
    typealias SyncMaker =
        @Sendable (_ clock: RAOPStreamClock, _ now: Int64, _ first: Bool, _ audioLatency: Int) -> [UInt8]

    /// A first sync packet that is lost, or comes before the receiver has asked for our time, would cost the beginning,
    /// so it goes several times.
    private static let openingBeats: [Int64] = [0, 30, 60, 100, 150, 210, 280, 360, 450, 600, 800].map {
        $0 * 1_000_000
    }
    private static let beatPeriod: Int64 = 1_000_000_000

    /// Packets of silence before the first of a run, and of a run after a flush: shairport-sync 3.3.8 never plays the
    /// first nine it gets.
    private static let leadInPackets: Int64 = 16
    private static let leadInPacketsAfterFlush: Int64 = 40
    /// Nanoseconds that a run after a flush waits, where there is time: shairport-sync 3.3.8 answers FLUSH before its
    /// player has acted on it, and what comes between is thrown away with the rest.
    private static let flushSettling: Int64 = 30_000_000

    /// How many times faster than they are heard the packets go that should have gone before the run began: a
    /// receiver's socket and its network take that, and not all at once.
    private static let catchUpRate: Int64 = 4

    let ahead: Int64 = 1_000_000_000
    let refill: Int64 = 550_000_000

    private let datagrams: AirPlayDatagrams
    private let stream: PacedStream
    private var packetizer: any RTPPacketizing
    private let plan: AirPlayStreamPlan
    private let silence: [UInt8]
    private let sync: SyncMaker
    /// When the packets of the run begin to go, and with which timestamp.
    private var beginning: (instant: Int64, timestamp: Int64) = (.min, 0)
    private let closed: @Sendable () async -> Void

    /// - Parameters:
    ///   - stream: what `datagrams.start` gave.
    ///   - silence: the payload of a packet of nothing.
    ///   - closed: called once, when nothing is sent any more.
    init(
        datagrams: AirPlayDatagrams, stream: PacedStream, packetizer: any RTPPacketizing, plan: AirPlayStreamPlan,
        silence: [UInt8], closed: @escaping @Sendable () async -> Void = {}, sync: @escaping SyncMaker
    ) {
        self.datagrams = datagrams
        self.stream = stream
        self.packetizer = packetizer
        self.plan = plan
        self.silence = silence
        self.sync = sync
        self.closed = closed
    }

    var next: PacketPoint {
        let next = packetizer.next
        return PacketPoint(sequence: UInt32(next.sequence ?? 0), timestamp: next.timestamp ?? 0)
    }
    var nextTimestamp: Int64 { packetizer.nextTimestamp }
    var silentPayload: [UInt8]? { silence }
    var statistics: @Sendable () -> PacingStatistics { { [ring = datagrams.ring] in ring.statistics } }

    func leadIn(flushed: Bool) -> Int64 {
        (flushed ? Self.leadInPacketsAfterFlush : Self.leadInPackets) * Int64(plan.format.framesPerPacket)
    }

    mutating func begin(at timestamp: Int64) { packetizer.begin(at: timestamp) }

    mutating func start(_ run: AirPlayRun, leadIn: Range<Int64>, flushed: Bool, audioLatency: Int, now: Int64) {
        let (clock, sync) = (run.clock, sync)
        datagrams.ring.beat(BeatSchedule(start: now, opening: Self.openingBeats, period: Self.beatPeriod)) {
            beat, now in sync(clock, now, beat.opening, audioLatency)
        }
        let settling = flushed ? Self.flushSettling : 0
        let latest = clock.instant(of: leadIn.upperBound) - plan.startNanoseconds
        beginning = (max(now, min(now + settling, latest)), leadIn.lowerBound)
        for timestamp in stride(from: leadIn.lowerBound, to: leadIn.upperBound, by: plan.format.framesPerPacket)
        where run.clock.instant(of: timestamp) > now {
            let packet = packetizer.packet(silence, at: timestamp)
            _ = datagrams.ring.append(
                packet.bytes, sequence: packet.sequence, deadline: deadline(of: timestamp, run), now: now)
        }
    }

    mutating func append(_ packet: AudioPacket, _ run: AirPlayRun, now: Int64) -> Bool {
        let timestamp = run.timestamp(ofFrame: packet.frame)
        guard run.clock.instant(of: timestamp + Int64(packet.frameCount)) > now else {
            datagrams.ring.noteSkipped(1)
            return true
        }
        var next = packetizer
        let sealed = next.packet(packet.payload, at: timestamp)
        switch datagrams.ring.append(
            sealed.bytes, sequence: sealed.sequence, deadline: deadline(of: timestamp, run), now: now)
        {
        case .full: return false
        case .queued: break
        case .queuedSooner: datagrams.wake()
        }
        packetizer = next
        return true
    }

    func deadline(of timestamp: Int64, _ run: AirPlayRun) -> Int64 {
        let standing = run.clock.instant(of: timestamp) - plan.leadNanoseconds
        guard beginning.instant > .min else { return standing }
        // There was no time to be earlier; that is nobody's lateness.
        let since = max(0, run.clock.instant(of: timestamp) - run.clock.instant(of: beginning.timestamp))
        return max(standing, beginning.instant + since / Self.catchUpRate)
    }

    mutating func dropPending() { packetizer.rewind(datagrams.ring.dropPending()) }

    func wake() { datagrams.wake() }

    func close() async {
        await datagrams.close(stream)
        await closed()
    }
}
