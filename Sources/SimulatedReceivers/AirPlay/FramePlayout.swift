/// What a receiver of RAOP or of AirPlay 2's realtime stream holds between the network and its loudspeaker: orders packets, finds what is missing, and says
/// which frames are heard up to an instant. A pure value: packets and times in, samples and questions out.
///
/// A frame is heard at its own time or never. The frames of a stream come out without a break from the first one on; what
/// did not arrive in time is silence of the same length. Between a flush and the next packet nothing comes out. Samples
/// are interleaved stereo: 16-bit in RAOP, up to 24-bit in AirPlay 2.
struct FramePlayout<Sample: FixedWidthInteger & SignedInteger & Sendable>: Sendable {
    typealias Rendering = FrameRendering<Sample>
    typealias Mark = FrameMark

    enum Insertion: Equatable {
        case queued
        /// Asked for again, and here.
        case recovered
        /// Its time had passed.
        case late
        /// Known already, or from before the last flush.
        case superfluous
    }

    /// A range of packets to ask for again.
    struct Gap: Equatable {
        var first: UInt16
        var count: UInt16
    }

    private struct Packet {
        var sequence: Int64
        var start: Int64
        var samples: [Sample]
        var end: Int64 { start + Int64(samples.count / 2) }
    }

    private struct Missing {
        var asked = 0
        var lastAsked: Int64 = .min / 2
    }

    private struct Anchor {
        var frame: Int64
        /// Nanoseconds of the sender's clock.
        var senderTime: Int64
        /// When it came in, of our clock.
        var arrival: Int64
    }

    /// More packets than this missing at once are not a loss but another stream.
    static var gapLimit: Int64 { 1024 }
    /// A jump of RTP time by more frames than this is another stream.
    static var jumpLimit: Int64 { 30 * 44_100 }
    /// After a pause of this program's own, the loudspeaker catches up by this much each time and not at once, so that
    /// what waits in the sockets is still in time.
    static var catchUpFrames: Int64 { 1764 }
    static var askAgainAfter: Int64 { 100_000_000 }
    static var askLimit: Int { 20 }
    /// More than a minute: of a sender that says no time to hear them at, the oldest go.
    static var packetLimit: Int { 8192 }

    let sampleRate: Int64
    /// Added to the sync packets' own latency.
    let latencyFrames: Int64

    private var anchor: Anchor?
    private var packets: [Packet] = []
    private var missing: [Int64: Missing] = [:]
    private var lastFrame: Int64 = 0
    private var highestSequence: Int64?
    private var ignoredBelow: Int64 = .min
    /// The next frame to come out; nil until the first packet after a start or flush.
    private var cursor: Int64?
    /// How far the loudspeaker has come, whether or not there was anything to play.
    private var playhead: Int64?
    /// The end of the last packet that was ever sent, also of one that came too late.
    private var knownEnd: Int64 = .min
    private var nextMark: Int64 = .min
    private(set) var framesOut = 0
    private(set) var lostPackets = 0

    /// - Parameter framesOut: frames of the recording that other streams have filled already.
    init(latencyFrames: Int, sampleRate: Int = 44_100, framesOut: Int = 0) {
        self.latencyFrames = Int64(latencyFrames)
        self.sampleRate = Int64(sampleRate)
        self.framesOut = framesOut
    }

    /// Packets that wait.
    var queued: Int { packets.count }

    /// The sequence number with which the stream goes on, as RECORD or FLUSH says: so a lost first packet is missed too.
    mutating func expect(sequence: UInt16?) {
        guard let sequence else { return }
        let extended = extend(sequence)
        highestSequence = extended - 1
        ignoredBelow = extended
    }

    /// Drops what waits, and with it the sender's last sync: what comes next is heard by the next one.
    mutating func flush(before sequence: UInt16?) {
        anchor = nil
        packets = []
        missing = [:]
        cursor = nil
        playhead = nil
        knownEnd = .min
        nextMark = .min
        if sequence == nil { ignoredBelow = (highestSequence ?? .min / 2) + 1 }
        expect(sequence: sequence)
    }

    /// A sync packet: `playing` is heard at `senderTime`, beside what we add.
    mutating func sync(playing: UInt32, senderTime: Int64, addsLatency: Bool, arrival: Int64) {
        let frame = extend(rtp: playing)
        let new = Anchor(
            frame: frame - (addsLatency ? latencyFrames : 0), senderTime: senderTime, arrival: arrival)
        if packets.isEmpty {
            lastFrame = frame
            // Nothing is being heard, so the stream may as well have been set back.
            playhead = nil
        }
        anchor = new
    }

    mutating func insert(sequence: UInt16, rtpTime: UInt32, samples: [Sample]) -> Insertion {
        var extended = extend(sequence)
        let start = extend(rtp: rtpTime)
        if let highest = highestSequence, extended - highest > Self.gapLimit || highest - extended > Self.gapLimit {
            restart(from: start)
            extended = extend(sequence)
        } else if let cursor, abs(start - cursor) > Self.jumpLimit {
            restart(from: start)
            extended = extend(sequence)
        }
        guard extended >= ignoredBelow else { return .superfluous }
        let wasMissing = missing.removeValue(forKey: extended)
        if let highest = highestSequence {
            if extended <= highest, wasMissing == nil { return .superfluous }
            if extended > highest + 1 {
                for lost in (highest + 1)..<extended { missing[lost] = Missing() }
            }
        }
        highestSequence = max(highestSequence ?? extended, extended)
        lastFrame = start
        let packet = Packet(sequence: extended, start: start, samples: samples)
        if let playhead, packet.end <= playhead {
            if cursor != nil { knownEnd = max(knownEnd, packet.end) }
            lostPackets += 1
            return .late
        }
        // Nearly always the last one.
        let index = packets.lastIndex { $0.start <= start }.map { $0 + 1 } ?? 0
        packets.insert(packet, at: index)
        if packets.count > Self.packetLimit {
            packets.removeFirst()
            lostPackets += 1
        }
        knownEnd = max(knownEnd, packet.end)
        if cursor == nil {
            // Packets before the first that came have its length.
            let before = Int64(missing.keys.filter { $0 < extended }.count)
            cursor = start - before * Int64(samples.count / 2)
        }
        if let wasMissing, wasMissing.asked > 0 { return .recovered }
        return .queued
    }

    /// What is heard up to `now`.
    /// - Parameter offset: the sender's clock minus ours, in nanoseconds.
    mutating func render(at now: Int64, offset: Int64) -> Rendering {
        var rendering = Rendering()
        guard let anchor else { return rendering }
        func frame(heardAt host: Int64) -> Int64 {
            anchor.frame + FrameMark.frames(in: host + offset - anchor.senderTime, at: sampleRate)
        }
        // The loudspeaker runs from the sync on, and not from when this program had the time to look.
        let start = playhead ?? frame(heardAt: anchor.arrival)
        if playhead == nil, let cursor, start > cursor { skip(to: start) }
        let target = min(frame(heardAt: now), start + Self.catchUpFrames)
        guard target > start else { return rendering }
        playhead = target
        guard var cursor else { return rendering }
        let limit = min(target, knownEnd)
        if nextMark == .min, cursor < limit { nextMark = cursor }
        while cursor < limit {
            if nextMark <= cursor {
                let heard = anchor.senderTime - offset + (cursor - anchor.frame) * 1_000_000_000 / sampleRate
                rendering.marks.append(
                    Mark(frame: framesOut, rtpTime: UInt32(truncatingIfNeeded: cursor), hostNanoseconds: heard))
                nextMark = cursor + sampleRate
            }
            guard let packet = packets.first else {
                silence(Int(limit - cursor), &rendering)
                cursor = limit
                break
            }
            if packet.end <= cursor {
                packets.removeFirst()
                continue
            }
            if packet.start > cursor {
                let frames = min(packet.start, limit) - cursor
                silence(Int(frames), &rendering)
                cursor += frames
                continue
            }
            giveUp(before: packet.sequence)
            let frames = Int(min(packet.end, limit) - cursor)
            let skip = Int(cursor - packet.start) * 2
            rendering.samples.append(contentsOf: packet.samples[skip..<(skip + frames * 2)])
            framesOut += frames
            cursor += Int64(frames)
            if packet.end <= cursor { packets.removeFirst() }
        }
        self.cursor = cursor
        return rendering
    }

    /// What is missing and should be asked for now.
    mutating func gapsToAskFor(at now: Int64) -> [Gap] {
        var gaps: [Gap] = []
        var last: Int64?
        for sequence in missing.keys.sorted() {
            guard let state = missing[sequence], state.asked < Self.askLimit,
                now - state.lastAsked >= Self.askAgainAfter
            else { continue }
            missing[sequence] = Missing(asked: state.asked + 1, lastAsked: now)
            if let last, sequence == last + 1, let gap = gaps.last {
                gaps[gaps.count - 1].count = gap.count + 1
            } else {
                gaps.append(Gap(first: UInt16(truncatingIfNeeded: sequence), count: 1))
            }
            last = sequence
        }
        return gaps
    }

    private mutating func skip(to frame: Int64) {
        lostPackets += packets.count { $0.end <= frame }
        packets.removeAll { $0.end <= frame }
        cursor = max(frame, packets.first?.start ?? frame)
    }

    private mutating func silence(_ frames: Int, _ rendering: inout Rendering) {
        rendering.samples.append(contentsOf: repeatElement(0, count: frames * 2))
        rendering.lostFrames += frames
        framesOut += frames
    }

    /// Packets before one that is being heard come too late from now on.
    private mutating func giveUp(before sequence: Int64) {
        guard missing.keys.contains(where: { $0 < sequence }) else { return }
        for lost in missing.keys where lost < sequence {
            missing[lost] = nil
            lostPackets += 1
        }
    }

    /// Another stream begins without having been announced by a flush.
    private mutating func restart(from start: Int64) {
        // Its sync may have come before its first packet.
        let sync = anchor.flatMap { abs($0.frame - start) > Self.jumpLimit ? nil : $0 }
        flush(before: nil)
        highestSequence = nil
        ignoredBelow = .min
        anchor = sync
    }

    /// Sequence numbers come round every 65,536 packets; the nearest to the highest seen is meant.
    private func extend(_ sequence: UInt16) -> Int64 {
        guard let highest = highestSequence else { return Int64(sequence) + 65_536 }
        return highest + Int64(Int16(truncatingIfNeeded: Int64(sequence) - highest))
    }

    private func extend(rtp: UInt32) -> Int64 {
        lastFrame + Int64(Int32(truncatingIfNeeded: Int64(rtp) - lastFrame))
    }
}

/// The playout of RAOP, whose sound is always 16-bit 44.1 kHz.
typealias RAOPPlayout = FramePlayout<Int16>

/// What a loudspeaker brought to hearing since the last time.
struct FrameRendering<Sample: FixedWidthInteger & SignedInteger & Sendable>: Sendable, Equatable {
    var samples: [Sample] = []
    /// Frames of silence in it that should have been sound.
    var lostFrames = 0
    /// Where the recording is in the sender's time and in the host's; about one each second.
    var marks: [FrameMark] = []
}

/// A frame of the recording, its RTP time, and when it was heard.
struct FrameMark: Sendable, Equatable {
    /// Frames that came out before this one, since the receiver was made.
    var frame: Int
    var rtpTime: UInt32
    /// Nanoseconds of the host's clock at which it is heard.
    var hostNanoseconds: Int64

    /// Frames in so many nanoseconds, rounded down. More than a day and a half, which is a sender's nonsense, counts as that.
    static func frames(in nanoseconds: Int64, at sampleRate: Int64) -> Int64 {
        let limit: Int64 = 150_000_000_000_000
        let product = max(-limit, min(limit, nanoseconds)) * sampleRate
        let (quotient, remainder) = product.quotientAndRemainder(dividingBy: 1_000_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
