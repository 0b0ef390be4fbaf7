import AirPlay
import RouteBackend
import RouteModel

/// How a session's audio goes, whatever the wire.
struct AirPlayStreamPlan: Sendable {
    var format: AudioPacketFormat
    /// Frames from sending to hearing, including what the device adds.
    var leadFrames: Int
    /// The same for the first frames of a run; the packets that follow come closer together until they are as early.
    var startFrames: Int
    /// What of titles, pictures and progress the device draws.
    var metadataKinds: Set<RAOPAdvertisement.MetadataKind>
    /// Whether it drops a session that is quiet for a few seconds.
    var feedback: Bool

    var leadNanoseconds: Int64 {
        MediaTime(frames: Int64(leadFrames), sampleRate: format.sampleRate).nanoseconds
    }

    var startNanoseconds: Int64 {
        MediaTime(frames: Int64(min(startFrames, leadFrames)), sampleRate: format.sampleRate).nanoseconds
    }

    /// What the engine is told of it.
    var requirements: PushRequirements {
        PushRequirements(
            format: format, leadNanoseconds: leadNanoseconds, startLeadNanoseconds: startNanoseconds)
    }
}

/// One unbroken run of packets: from a start to the next flush.
struct AirPlayRun: Sendable {
    var clock: RAOPStreamClock
    /// The frame that `clock.timestamp` is, of the format's rate.
    var firstFrame: Int64
    /// When it was started, in host nanoseconds.
    var began: Int64

    func timestamp(ofFrame frame: Int64) -> Int64 { clock.timestamp + frame - firstFrame }

    func frame(ofTimestamp timestamp: Int64) -> Int64 { timestamp - clock.timestamp + firstFrame }

    func instant(ofFrame frame: Int64) -> Int64 { clock.instant(of: timestamp(ofFrame: frame)) }
}
