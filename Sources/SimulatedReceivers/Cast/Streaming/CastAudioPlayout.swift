/// What a streaming receiver holds between its decoder and its loudspeaker. A pure value: decoded frames in their order
/// and times in, what is heard up to an instant out.
///
/// A sample is heard at its capture time plus the playout delay, or never. From the first one on the sound has no break:
/// what did not come in time is silence of the same length.
struct CastAudioPlayout: Sendable {
    /// What was heard since the last time.
    struct Rendering: Sendable, Hashable {
        /// Interleaved stereo.
        var samples: [Int16] = []
        /// Samples of each channel that are silence in it and should have been sound.
        var lostFrames = 0
        var marks: [Mark] = []
    }

    /// Lays the recording on the timeline; about one each second.
    struct Mark: Sendable, Hashable {
        /// Place in the recording.
        var frame: Int
        /// Of the stream, without wrapping.
        var timestamp: Int64
        /// Host nanoseconds at which it is heard.
        var hostNanoseconds: Int64
    }

    private struct Chunk: Sendable {
        var start: Int64
        var samples: [Int16]
        var delay: Int
        var isAfterLoss: Bool
        var end: Int64 { start + Int64(samples.count / 2) }
    }

    static let sampleRate: Int64 = 48_000
    /// More than this without sound is another piece of sound, and not silence.
    static let gapLimit: Int64 = 10 * sampleRate
    /// What is decoded and not due may be this much: twice the longest delay that may be asked for.
    static let maximumFrames = 10 * sampleRate
    /// After a pause of this program's own, the loudspeaker catches up by this much each time and not at once, so that
    /// what waits in the socket is still in time.
    static let catchUpFrames: Int64 = 1_920

    private var chunks: [Chunk] = []
    private var heldFrames: Int64 = 0
    /// The next sample to come out.
    private var cursor: Int64?
    /// How far the loudspeaker has come, whether or not there was anything to play.
    private var playhead: Int64?
    private var delay: Int?
    private var nextMark: Int64 = .min
    private(set) var framesOut: Int

    /// - Parameter framesOut: what the recording holds already.
    init(framesOut: Int = 0) { self.framesOut = framesOut }

    /// Samples of each channel that wait.
    var waiting: Int { Int(heldFrames) }

    /// The next decoded frame. False when it cannot be taken: too much waits, or it goes back in time.
    /// - Parameters:
    ///   - delay: milliseconds from capture to playing.
    ///   - isAfterLoss: whether frames right before it were given up.
    mutating func insert(start: Int64, samples: [Int16], delay: Int, isAfterLoss: Bool) -> Bool {
        let chunk = Chunk(start: start, samples: samples, delay: delay, isAfterLoss: isAfterLoss)
        guard heldFrames + Int64(samples.count / 2) <= Self.maximumFrames, start >= chunks.last?.end ?? cursor ?? start
        else { return false }
        chunks.append(chunk)
        heldFrames += Int64(samples.count / 2)
        if self.delay == nil { self.delay = delay }
        return true
    }

    /// What is heard up to `now`.
    mutating func render(at now: Int64, _ clock: CastSenderClock) -> Rendering {
        var rendering = Rendering()
        while let chunk = chunks.first {
            if chunk.delay != delay, cursor.map({ $0 >= chunk.start }) ?? true {
                adopt(chunk.delay, &rendering)
            }
            guard let delay, let due = clock.timestamp(at: now - Int64(delay) * 1_000_000) else { return rendering }
            let start = playhead ?? max(chunk.start, due - Self.catchUpFrames)
            let target = min(due, start + Self.catchUpFrames)
            guard target > start || playhead == nil else { return rendering }
            // A change of the delay takes effect between two frames, so they are gone through one by one.
            let limit = min(target, chunks.dropFirst().first { $0.delay != delay }?.start ?? .max)
            playhead = limit
            play(from: start, to: limit, clock, &rendering)
            if limit == target { return rendering }
        }
        // Nothing waits; the loudspeaker runs on.
        if let delay, let playhead, let due = clock.timestamp(at: now - Int64(delay) * 1_000_000) {
            self.playhead = max(playhead, min(due, playhead + Self.catchUpFrames))
        }
        return rendering
    }

    /// The delay grew: silence for as long. It shrank: as much sound is passed over.
    private mutating func adopt(_ new: Int, _ rendering: inout Rendering) {
        let change = Int64(new - (delay ?? new)) * Self.sampleRate / 1_000
        delay = new
        guard let playhead, var cursor else { return }
        self.playhead = playhead - change
        if change > 0 {
            silence(change, &rendering)
        } else {
            cursor -= change
            self.cursor = cursor
        }
        nextMark = .min
    }

    private mutating func play(from start: Int64, to limit: Int64, _ clock: CastSenderClock, _ rendering: inout Rendering) {
        while let chunk = chunks.first {
            var cursor = cursor ?? max(chunk.start, start)
            defer { self.cursor = cursor }
            if chunk.end <= cursor {
                drop()
                continue
            }
            if cursor < chunk.start {
                let gap = min(chunk.start, limit) - cursor
                guard gap > 0 else { return }
                if chunk.start - cursor > Self.gapLimit {
                    cursor = chunk.start
                    nextMark = .min
                    continue
                }
                silence(gap, &rendering)
                if chunk.isAfterLoss { rendering.lostFrames += Int(gap) }
                cursor += gap
                continue
            }
            if cursor < start {
                // It came after its time.
                let late = min(start, chunk.end) - cursor
                silence(late, &rendering)
                rendering.lostFrames += Int(late)
                cursor += late
                continue
            }
            let count = min(chunk.end, limit) - cursor
            guard count > 0 else { return }
            if cursor >= nextMark, let captured = clock.captured(cursor) {
                let heard = captured + Int64(delay ?? 0) * 1_000_000
                rendering.marks.append(Mark(frame: framesOut, timestamp: cursor, hostNanoseconds: heard))
                nextMark = cursor + Self.sampleRate
            }
            let first = Int(cursor - chunk.start) * 2
            rendering.samples += chunk.samples[first..<(first + Int(count) * 2)]
            framesOut += Int(count)
            cursor += count
        }
    }

    private mutating func drop() { heldFrames -= Int64(chunks.removeFirst().samples.count / 2) }

    private mutating func silence(_ frames: Int64, _ rendering: inout Rendering) {
        rendering.samples += repeatElement(0, count: Int(frames) * 2)
        framesOut += Int(frames)
    }
}
