import AirPlay
import Pacing
import RouteBackend

/// The way that audio goes to a receiver: datagrams against the clock, or a connection that is filled ahead of it.
protocol AirPlayLane: Sendable {
    /// The packet to come.
    var next: PacketPoint { get }
    /// Its timestamp, in 64 bits.
    var nextTimestamp: Int64 { get }
    /// Nanoseconds of packets that wait beyond those due, and how little may be left before more are taken.
    var ahead: Int64 { get }
    var refill: Int64 { get }
    /// What became of the packets so far. Good after the end too.
    var statistics: @Sendable () -> PacingStatistics { get }

    /// What has to run for as long as the session lives; returns early only where the lane is broken.
    var worker: (@Sendable () async -> Void)? { get }

    /// Frames of silence before the first of a run, and of a run after a flush.
    func leadIn(flushed: Bool) -> Int64

    /// A packet of nothing, where the end of a run is followed by such; nil where nothing is sent again anyhow.
    var silentPayload: [UInt8]? { get }

    /// The next packet is the first of a run that begins at `timestamp`.
    mutating func begin(at timestamp: Int64)

    /// Sends silence for `leadIn` timestamps, and from then on what the receiver needs to know of the time.
    ///
    /// - Parameter audioLatency: frames that the device adds by itself.
    mutating func start(_ run: AirPlayRun, leadIn: Range<Int64>, flushed: Bool, audioLatency: Int, now: Int64)

    /// Takes a packet. What should have been heard already is left out: silence, and then in step.
    ///
    /// - Returns: false where there is no room at present.
    mutating func append(_ packet: AudioPacket, _ run: AirPlayRun, now: Int64) -> Bool

    /// When the packet with this timestamp is due on the network.
    func deadline(of timestamp: Int64, _ run: AirPlayRun) -> Int64

    /// Forgets what waits: none of it is sent once this has returned.
    mutating func dropPending()

    /// Has what is due sent now.
    func wake()

    /// Stops sending; nothing is used any more when this returns.
    func close() async
}

extension AirPlayLane {
    var worker: (@Sendable () async -> Void)? { nil }
    var silentPayload: [UInt8]? { nil }
}

/// A packet of a stream, as requests name it.
struct PacketPoint: Sendable, Hashable {
    /// Of 16 bits for datagrams, 23 for what goes by a connection.
    var sequence: UInt32
    var timestamp: UInt32

    var info: RTPInfo { RTPInfo(sequence: UInt16(truncatingIfNeeded: sequence), timestamp: timestamp) }
}
