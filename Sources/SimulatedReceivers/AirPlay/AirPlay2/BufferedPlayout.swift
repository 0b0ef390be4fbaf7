/// What a receiver of AirPlay 2's buffered stream holds between the network and its loudspeaker: packets in the order of
/// their connection, often minutes of them, and the one instant that says when they are heard. A pure value: packets and
/// times in, samples out.
///
/// Nothing comes out before there is an anchor. A frame is heard at its own time or never; what was not there when its time came, and came
/// later, is silence of the same length. Through a pause what waits is kept; a flush drops it.
struct BufferedPlayout: Sendable {
    struct Packet: Sendable, Hashable {
        /// Of 23 bits.
        var sequence: UInt32
        var ssrc: UInt32
        /// Still under its codec, so that minutes of it fit.
        var payload: [UInt8]
    }

    /// A range of packets that are to be dropped, those that wait and those still to come.
    private struct Flush {
        /// Nil drops everything before `until`.
        var from: UInt32?
        /// The first that is kept.
        var until: UInt32
    }

    private struct Waiting {
        var packet: Packet
        var start: Int64
        /// Once its time has come.
        var samples: [Int32]?
    }

    private struct Anchor {
        var frame: Int64
        /// Nanoseconds of the sender's clock.
        var senderTime: Int64
        /// When it came in, of our clock.
        var arrival: Int64
    }

    /// Sequence numbers come round after this many.
    static let sequences: UInt32 = 1 << 23
    /// As of `FramePlayout`.
    static let catchUpFrames: Int64 = 1764

    let sampleRate: Int64

    private var anchor: Anchor?
    private var waiting: [Waiting] = []
    /// Those at the front of `waiting` that are done with.
    private var done = 0
    private var flushes: [Flush] = []
    private var lastFrame: Int64 = 0
    /// The next frame to come out; nil until the first one after a flush.
    private var cursor: Int64?
    /// How far the loudspeaker has come; nil while it stands.
    private var playhead: Int64?
    private var nextMark: Int64?
    private(set) var framesOut: Int
    /// Bytes of payload that wait.
    private(set) var heldBytes = 0
    /// Dropped for what they hold: damaged, or of a codec that is not known.
    private(set) var undecodable = 0
    /// Frames whose time had passed when the anchor came.
    private(set) var skippedFrames = 0

    /// - Parameter framesOut: frames of the recording that other streams have filled already.
    init(sampleRate: Int, framesOut: Int = 0) {
        self.sampleRate = Int64(sampleRate)
        self.framesOut = framesOut
    }

    var isPlaying: Bool { anchor != nil }
    var queued: Int { waiting.count - done }

    /// False where a flush has dropped it before it came.
    @discardableResult
    mutating func insert(_ packet: Packet, rtpTime: UInt32) -> Bool {
        let start = extend(rtp: rtpTime)
        lastFrame = start
        // The first one from beyond a flush ends it: what comes after may count round and meet its range again.
        guard !flushes.contains(where: { Self.drops($0, packet.sequence) }) else { return false }
        flushes.removeAll { Self.distance(packet.sequence, $0.until) >= 0 }
        waiting.append(Waiting(packet: packet, start: start))
        heldBytes += packet.payload.count
        return true
    }

    /// `rtpTime` is heard at `senderTime`, and everything after it in its turn.
    mutating func play(from rtpTime: UInt32, at senderTime: Int64, arrival: Int64) {
        let frame = extend(rtp: rtpTime)
        if waiting.count == done { lastFrame = frame }
        if playhead == nil {
            // It stood: a later frame leaves out what lies between; an earlier one was heard already.
            cursor = max(cursor ?? frame, frame)
            nextMark = nil
        }
        anchor = Anchor(frame: frame, senderTime: senderTime, arrival: arrival)
    }

    /// Stands still, and keeps what waits.
    mutating func pause() {
        anchor = nil
        playhead = nil
    }

    /// Drops packets. Without `from` all up to `until`, and it stands still until the next anchor.
    mutating func flush(from: UInt32?, until: UInt32) {
        let flush = Flush(from: from, until: until)
        if from == nil {
            pause()
            cursor = nil
        }
        waiting.removeFirst(done)
        done = 0
        waiting.removeAll { Self.drops(flush, $0.packet.sequence) }
        heldBytes = waiting.reduce(0) { $0 + $1.packet.payload.count }
        flushes.append(flush)
        if flushes.count > 16 { flushes.removeFirst() }
    }

    /// What is heard up to `now`.
    /// - Parameters:
    ///   - offset: the sender's clock minus ours, in nanoseconds.
    ///   - decode: called for each packet once, in order, when its time has come. Nil drops the packet.
    mutating func render(
        at now: Int64, offset: Int64, decode: (Packet) -> [Int32]?
    ) -> FrameRendering<Int32> {
        var rendering = FrameRendering<Int32>()
        guard let anchor, var cursor else { return rendering }
        func frame(heardAt host: Int64) -> Int64 {
            anchor.frame + FrameMark.frames(in: host + offset - anchor.senderTime, at: sampleRate)
        }
        let start = playhead ?? frame(heardAt: anchor.arrival)
        let target = min(frame(heardAt: now), start + Self.catchUpFrames)
        guard target > start else { return rendering }
        if playhead == nil, start > cursor {
            // The anchor lay in the past when it came.
            skippedFrames += Int(start - cursor)
            cursor = start
        }
        playhead = target
        while cursor < target, let next = front(decode) {
            if next.end <= cursor {
                drop()
                continue
            }
            let silent = min(max(next.start, start), target, next.end) - cursor
            if silent > 0 {
                // Not there, or not there in time.
                mark(cursor, anchor, offset, &rendering)
                rendering.samples.append(contentsOf: repeatElement(0, count: Int(silent) * 2))
                rendering.lostFrames += Int(silent)
                framesOut += Int(silent)
                cursor += silent
                continue
            }
            let end = min(next.end, target)
            while cursor < end {
                mark(cursor, anchor, offset, &rendering)
                let until = min(end, nextMark ?? end)
                let (first, last) = (Int(cursor - next.start) * 2, Int(until - next.start) * 2)
                rendering.samples.append(contentsOf: next.samples[first..<last])
                framesOut += Int(until - cursor)
                cursor = until
            }
            if next.end <= cursor { drop() }
        }
        self.cursor = cursor
        return rendering
    }

    /// The packet whose turn it is, decoded.
    private mutating func front(_ decode: (Packet) -> [Int32]?) -> (start: Int64, end: Int64, samples: [Int32])? {
        while done < waiting.count {
            let samples = waiting[done].samples ?? decode(waiting[done].packet)
            guard let samples, !samples.isEmpty else {
                undecodable += 1
                drop()
                continue
            }
            waiting[done].samples = samples
            return (waiting[done].start, waiting[done].start + Int64(samples.count / 2), samples)
        }
        return nil
    }

    private mutating func drop() {
        heldBytes -= waiting[done].packet.payload.count
        waiting[done].samples = nil
        waiting[done].packet.payload = []
        done += 1
        guard done > 256 || done == waiting.count else { return }
        waiting.removeFirst(done)
        done = 0
    }

    private mutating func mark(
        _ cursor: Int64, _ anchor: Anchor, _ offset: Int64, _ rendering: inout FrameRendering<Int32>
    ) {
        guard cursor >= nextMark ?? .min else { return }
        let heard = anchor.senderTime - offset + (cursor - anchor.frame) * 1_000_000_000 / sampleRate
        rendering.marks.append(
            FrameMark(frame: framesOut, rtpTime: UInt32(truncatingIfNeeded: cursor), hostNanoseconds: heard))
        nextMark = cursor + sampleRate
    }

    private static func drops(_ flush: Flush, _ sequence: UInt32) -> Bool {
        distance(sequence, flush.until) < 0 && flush.from.map { distance(sequence, $0) >= 0 } ?? true
    }

    /// How far `left` is after `right`, the short way round.
    private static func distance(_ left: UInt32, _ right: UInt32) -> Int32 {
        Int32(bitPattern: (left &- right) << 9) >> 9
    }

    private func extend(rtp: UInt32) -> Int64 {
        lastFrame + Int64(Int32(truncatingIfNeeded: Int64(rtp) - lastFrame))
    }
}
