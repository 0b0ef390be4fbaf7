import RouteBackend
import RouteModel

/// What lies between the decoder of a feed and its readers.
///
/// The decoder may run ahead of the furthest reader by a bound and waits then; with it, `ffmpeg` waits on its pipe.
/// Readers that fall so far behind that their frames are gone go on with the oldest.
actor FeedBuffer {
    static let sampleRate = 44_100

    private let window: SampleWindow
    private let ahead: Int64
    private var tracks: [AudioPacketFormat: PacketTrack] = [:]
    /// The frame after the last that any reader has asked for.
    private var furthest: Int64 = 0
    private var finished = false
    private var failure: RouterError?
    private var readers: [AsyncStream<Void>.Continuation] = []
    private var writer: AsyncStream<Void>.Continuation?
    private var firstReader: AsyncStream<Void>.Continuation?
    private var hasReader = false
    /// Set while live input comes in.
    private var pace: LivePace?
    /// Bytes of it that came.
    private var liveBytes = 0
    /// What is heard over it, from a frame on.
    private var overlay: (first: Int64, clip: Overlay)?

    init(aheadSeconds: Int, retainedSeconds: Int) {
        ahead = Int64(aheadSeconds * Self.sampleRate)
        // Half a second more than both, for what one read brings beyond the bound.
        window = SampleWindow(capacity: (aheadSeconds + retainedSeconds) * Self.sampleRate + Self.sampleRate / 2)
    }

    // MARK: The decoder's side

    /// Frames so far.
    var end: Int64 { window.end }

    /// Takes decoded bytes, in any cut.
    func append(_ bytes: [UInt8]) {
        let before = window.end
        bytes.withUnsafeBytes { window.append($0) }
        mix(from: before)
        wakeReaders()
    }

    /// Returns when there is room for more: half a second of live input, which is not to be heard late. Throws only
    /// `CancellationError`.
    func waitForRoom() async throws {
        while !hasRoom {
            let (signal, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            writer = continuation
            for await _ in signal { break }
            writer = nil
            try Task.checkCancellation()
        }
    }

    private var hasRoom: Bool {
        window.end - furthest < (pace == nil ? ahead : min(ahead, Int64(Self.sampleRate / 2)))
    }

    // MARK: Live input

    /// Returns when somebody wants to hear what comes: what is live is not gathered before.
    func waitForReader() async throws {
        guard !hasReader else { return }
        let (signal, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        firstReader = continuation
        for await _ in signal { break }
        try Task.checkCancellation()
    }

    func beginLive(_ pace: LivePace) {
        self.pace = pace
        liveBytes = 0
    }

    /// - Returns: how many bytes came.
    func endLive() -> Int {
        pace = nil
        return liveBytes
    }

    /// Takes what came in; of a capture that nobody reads, nothing.
    func append(live bytes: [UInt8], at now: Int64) {
        liveBytes += bytes.count
        if pace?.isCapture == true, !hasRoom { return }
        let waiting = !readers.isEmpty
        bytes.withUnsafeBytes { window.append($0) }
        switch pace?.arrived(upTo: window.end, at: now, waiting: waiting) ?? 0 {
        case 1: window.repeatNewest()
        case -1: window.dropNewest()
        default: break
        }
        wakeReaders()
    }

    /// Puts silence in the place of what did not come, for readers that wait for it.
    func keepUp(at now: Int64) {
        guard !readers.isEmpty, let count = pace?.silence(after: window.end, wanted: furthest, at: now), count > 0
        else { return }
        window.appendSilence(count)
        wakeReaders()
    }

    /// An item is over: the next one's first frame follows here.
    func endItem() -> Int64 {
        window.endItem()
        return window.end
    }

    /// Nothing more will come. With an error, readers that got nothing at all are told so.
    func finish(_ error: RouterError?) {
        if let overlay, overlay.first + overlay.clip.count > window.end {
            // The clip is heard to its end, as far as nothing is lost for it that nobody has read.
            let before = window.end
            let room = furthest + Int64(window.capacity) - before
            window.appendSilence(min(overlay.first + overlay.clip.count - before, max(0, room)))
            mix(from: before)
        }
        finished = true
        failure = error
        wakeReaders()
    }

    private func wakeReaders() {
        for reader in readers { reader.finish() }
        readers.removeAll(keepingCapacity: true)
    }

    // MARK: Something over it

    /// One at a time; and nothing over what is live, or over.
    var takesOverlay: Bool {
        let isFree = overlay.map { $0.first + $0.clip.count <= furthest } ?? true
        return isFree && pace == nil && !finished && hasReader
    }

    /// - Returns: the frames that the clip is in; nil where it cannot be done.
    func lay(_ clip: Overlay) -> Range<Int64>? {
        guard takesOverlay else { return nil }
        // Packets that are made already may have a little of what follows in them.
        let first = furthest + Int64(Self.sampleRate / 10)
        overlay = (first, clip)
        mix(from: first)
        return (first + clip.clip.lowerBound)..<(first + clip.clip.upperBound)
    }

    /// Puts it over the frames that are here from `frame` on.
    private func mix(from frame: Int64) {
        guard let (first, clip) = overlay else { return }
        let range = max(frame, first)..<max(frame, first, min(window.end, first + clip.count))
        window.change(range) { clip.over($0, at: $1 - first) }
        if window.end >= first + clip.count, furthest >= first + clip.count { overlay = nil }
    }

    // MARK: The readers' side

    /// The frames that can be had without waiting; none of a capture, which nobody wants to hear late.
    var retained: Range<Int64> { (pace?.isCapture == true ? window.end : window.start)..<window.end }

    /// Throws `unsupported` for what cannot be encoded.
    func prepare(_ format: AudioPacketFormat) throws {
        guard tracks[format] == nil else { return }
        guard PacketTrack.supports(format, feedRate: Self.sampleRate) else {
            throw RouterError(
                .unsupported,
                "audio can be sent as stereo of 44,100 or 48,000 Hz, by Apple Lossless, AAC or Opus, and the receiver "
                    + "asked for another form",
                scope: .item)
        }
        tracks[format] = try PacketTrack(format, feedRate: Self.sampleRate, windowFrames: window.capacity)
        hasReader = true
        firstReader?.finish()
        firstReader = nil
    }

    /// The number of the packet in whose time a frame of the feed is; the format must be prepared.
    func packet(_ format: AudioPacketFormat, at frame: Int64) -> Int64 { tracks[format]?.packet(at: frame) ?? 0 }

    /// Up to `limit` packets from number `index` on, at least one, waiting where need be; empty after the last.
    func packets(_ format: AudioPacketFormat, from index: Int64, limit: Int) async throws -> [AudioPacket] {
        guard let track = tracks[format] else { return [] }
        while true {
            let first = max(index, track.first(heldFrom: window.start))
            let last = min(track.count(upTo: window.end, finished: finished), first + Int64(limit))
            // The next one's frames are asked for too: packets of another rate need some beyond their own.
            advance(to: track.source(of: max(last, first)).lowerBound)
            if first < last {
                return try (first..<last).map { try track.packet($0, of: window) }
            }
            if finished {
                if window.end == 0, let failure { throw failure }
                return []
            }
            let (signal, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            readers.append(continuation)
            for await _ in signal { break }
            try Task.checkCancellation()
        }
    }

    private func advance(to frame: Int64) {
        guard frame > furthest else { return }
        furthest = frame
        if hasRoom {
            writer?.finish()
            writer = nil
        }
    }
}
