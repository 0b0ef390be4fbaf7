/// Turns payloads into RTP packets: sequence numbers without gaps, timestamps that never go back, and the marker on the
/// first after a start. No I/O.
public struct RAOPPacketizer: Sendable {
    /// One packet, ready to be sent and to be sent again.
    public struct Packet: Sendable, Hashable {
        public var sequence: UInt16
        public var bytes: [UInt8]
    }

    public let ssrc: UInt32
    public private(set) var nextSequence: UInt16
    /// The timestamp after the last packet's last frame. In 64 bits, so that it doesn't wrap; the wire has the low 32.
    public private(set) var nextTimestamp: Int64
    private let cipher: RAOPAudioCipher?
    private let framesPerPacket: Int
    private var marker = true

    public init(
        ssrc: UInt32, firstSequence: UInt16, firstTimestamp: UInt32, framesPerPacket: Int = 352,
        cipher: RAOPAudioCipher? = nil
    ) {
        self.ssrc = ssrc
        nextSequence = firstSequence
        nextTimestamp = Int64(firstTimestamp)
        self.framesPerPacket = framesPerPacket
        self.cipher = cipher
    }

    /// The next packet is the first of a new run that begins at `timestamp`, or later if packets went beyond it.
    ///
    /// - Returns: where it begins.
    public mutating func begin(at timestamp: Int64) -> Int64 {
        marker = true
        nextTimestamp = max(nextTimestamp, timestamp)
        return nextTimestamp
    }

    public mutating func packet(_ payload: [UInt8], at timestamp: Int64) -> Packet {
        let header = RTPAudioHeader(
            marker: marker, sequence: nextSequence, timestamp: UInt32(truncatingIfNeeded: timestamp), ssrc: ssrc)
        let packet = Packet(sequence: nextSequence, bytes: header.encoded() + (cipher?.encrypt(payload) ?? payload))
        marker = false
        nextSequence &+= 1
        nextTimestamp = max(nextTimestamp, timestamp + Int64(framesPerPacket))
        return packet
    }

    /// The last `count` packets were never sent: their numbers are used again.
    public mutating func rewind(_ count: Int) {
        nextSequence &-= UInt16(truncatingIfNeeded: count)
        nextTimestamp -= Int64(count * framesPerPacket)
    }

    /// What FLUSH and RECORD say of the packet to come.
    public var next: RTPInfo {
        RTPInfo(sequence: nextSequence, timestamp: UInt32(truncatingIfNeeded: nextTimestamp))
    }
}

/// Which RTP timestamp is heard at which instant of the host's clock, for one run of packets.
public struct RAOPStreamClock: Sendable, Hashable {
    /// Host nanoseconds at which `timestamp` is heard.
    public var instant: Int64
    public var timestamp: Int64
    public var sampleRate: Int

    public init(instant: Int64, timestamp: Int64, sampleRate: Int = 44_100) {
        self.instant = instant
        self.timestamp = timestamp
        self.sampleRate = sampleRate
    }

    /// The timestamp heard at an instant, rounded down.
    public func timestamp(at instant: Int64) -> Int64 {
        let elapsed = instant - self.instant
        let rate = Int64(sampleRate)
        // Whole seconds apart, so that days do not overflow.
        let seconds = elapsed / 1_000_000_000
        let rest = (elapsed % 1_000_000_000) * rate
        let frames = rest >= 0 ? rest / 1_000_000_000 : -((-rest + 999_999_999) / 1_000_000_000)
        return timestamp + seconds * rate + frames
    }

    public func instant(of timestamp: Int64) -> Int64 {
        let frames = timestamp - self.timestamp
        let rate = Int64(sampleRate)
        return instant + frames / rate * 1_000_000_000 + (frames % rate) * 1_000_000_000 / rate
    }

    /// The sync packet for `now`.
    ///
    /// - Parameters:
    ///   - lead: frames between sending and hearing, all in all.
    ///   - audioLatency: what of it the device adds by itself, as it said at RECORD.
    public func sync(at now: Int64, first: Bool, lead: Int, audioLatency: Int) -> RAOPSyncPacket {
        let heard = timestamp(at: now)
        return RAOPSyncPacket(
            first: first, playing: UInt32(truncatingIfNeeded: heard + Int64(audioLatency)),
            // The instant of that very frame, not of now: else the clock would jitter by a part of a frame.
            time: NTPTime(nanoseconds: instant(of: heard)), next: UInt32(truncatingIfNeeded: heard + Int64(lead)))
    }
}
