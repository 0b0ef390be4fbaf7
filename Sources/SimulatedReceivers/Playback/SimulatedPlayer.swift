import Foundation
import RouteBackend

/// What a player is told to open.
struct PlayerLoad: Sendable, Hashable {
    var url: String
    var contentType: String
    /// Seconds into the media.
    var start: Double
}

/// What a player says of itself; `generation` is that of the load or seek it is about.
struct PlayerEvent: Sendable {
    enum Kind: Sendable, Hashable {
        case fetched(MediaFetch)
        /// The body is whole.
        case content(bytes: Int, sha256: String)
        /// The media is known. Duration in seconds; nil for a stream, which cannot be sought in.
        case loaded(duration: Double?, hasAudio: Bool)
        /// There is enough to play from.
        case buffered
        /// Nothing left to play before the end; so many frames were heard since `play`.
        case starved(heardFrames: Int)
        /// All of it was heard.
        case ended(heardFrames: Int)
        /// Cannot be played: a detailed error code (`Protocols/cast` section 10) and a reason in words.
        case failed(code: Int, reason: String)
    }

    var generation: Int
    var kind: Kind
}

/// Really plays: fetches, decodes, lets the samples pass at the pace of the clock and records what was heard.
///
/// Commands come from one task, one after the other. Where playback stands is the owner's to know: it says at which
/// instant sound begins and ends, and the player lets exactly the samples between the two be heard.
actor SimulatedPlayer {
    /// Enough to begin with, and the most that is decoded ahead; in frames.
    static let startFrames = AudioDecoder.sampleRate / 2
    static let maximumFrames = AudioDecoder.sampleRate * 4
    /// How often samples are taken from the queue.
    static let tickNanoseconds: Int64 = 20_000_000

    nonisolated let events: AsyncStream<PlayerEvent>
    private let eventWriter: AsyncStream<PlayerEvent>.Continuation
    private let clock: any HostClock
    private let bufferingNanoseconds: Int64
    private let decoder = AudioDecoder()
    private let recorder: WAVRecorder?

    private var generation = 0
    private var job: Task<Void, Never>?
    private var ticker: Task<Void, Never>?
    private var media: (location: String, probe: MediaProbe)?
    private var temporaryFile: URL?
    private var queue = PCMQueue()
    private var room: AsyncStream<Void>.Continuation?
    private var waitsForBuffer = false
    private var loadedTold = false
    private var decodeEnd: DecodeEnd?
    private var since: Int64?
    private var heardFrames = 0
    private var gain: Double = 1

    private var download: Download?

    /// A body that is being fetched: into a file, or, when it has no known length, straight into the decoder.
    private struct Download {
        var file: URL
        var digest: MediaDigest
        var bytes = 0
        var handle: FileHandle?
        var endless: BoundedChunks<[UInt8]>?
        var decoding: Task<Void, Never>?
    }

    private enum DecodeEnd { case whole, failed(code: Int, reason: String) }

    /// - Parameter recording: where to write what is heard; nil writes nothing.
    init(clock: any HostClock, recording: URL?, bufferingNanoseconds: Int64) throws {
        (events, eventWriter) = AsyncStream.makeStream(of: PlayerEvent.self)
        self.clock = clock
        self.bufferingNanoseconds = bufferingNanoseconds
        recorder = try recording.map {
            try WAVRecorder(url: $0, sampleRate: AudioDecoder.sampleRate, channels: AudioDecoder.channels)
        }
    }

    /// Frames in the recording, or that would be in one.
    private(set) var recordedFrames = 0

    // MARK: Commands

    /// Opens media and decodes from its start position; says `loaded` and `buffered`, or `failed`.
    func load(_ load: PlayerLoad, generation: Int) async {
        await stop()
        begin(generation)
        job = Task { await self.perform(load, generation: generation) }
    }

    /// Decodes the loaded file again from another position or at another rate; says `buffered`.
    func seek(to position: Double, rate: Double, generation: Int) async {
        await endJob()
        guard let media else { return }
        begin(generation)
        loadedTold = true
        job = Task { await self.decode(.location(media.location), media.probe, position, rate, generation) }
    }

    /// From this instant on what is buffered is heard.
    func play(since instant: Int64) {
        since = instant
        heardFrames = 0
        ticker?.cancel()
        ticker = Task {
            while !Task.isCancelled {
                pump(until: clock.now())
                guard (try? await clock.sleep(nanoseconds: Self.tickNanoseconds)) != nil else { return }
            }
        }
    }

    /// At this instant it falls silent.
    func halt(at instant: Int64) {
        pump(until: instant)
        since = nil
        ticker?.cancel()
    }

    /// 0 is silence, 1 leaves the samples as they are.
    func setGain(_ gain: Double) { self.gain = gain }

    /// Lets go of the media.
    func stop() async {
        since = nil
        await endJob()
        media = nil
        if let temporaryFile { try? FileManager.default.removeItem(at: temporaryFile) }
        temporaryFile = nil
    }

    /// Ends everything, the recording too.
    func shutDown() async {
        await stop()
        ticker?.cancel()
        await ticker?.value
        ticker = nil
        recorder?.close()
        eventWriter.finish()
    }

    // MARK: Sound

    private func pump(until now: Int64) {
        guard let since else { return }
        let frames = Int(Double(max(0, now - since)) * Double(AudioDecoder.sampleRate) / 1e9)
        let due = max(0, frames - heardFrames)
        let samples = queue.take(due)
        hear(samples)
        if queue.frames < Self.maximumFrames { room?.yield() }
        guard samples.count / AudioDecoder.channels < due else { return }
        switch decodeEnd {
        case .whole: say(.ended(heardFrames: heardFrames))
        case .failed(let code, let reason): say(.failed(code: code, reason: reason))
        case nil:
            say(.starved(heardFrames: heardFrames))
            waitsForBuffer = true
        }
        self.since = nil
        ticker?.cancel()
        tellIfBuffered()
    }

    private func hear(_ samples: [Int16]) {
        guard !samples.isEmpty else { return }
        let frames = samples.count / AudioDecoder.channels
        heardFrames += frames
        recordedFrames += frames
        recorder?.append(gain == 1 ? samples : samples.map { Int16((Double($0) * gain).rounded()) })
    }

    private func accept(_ samples: [Int16], generation: Int, room: AsyncStream<Void>) async throws {
        guard generation == self.generation else { throw CancellationError() }
        queue.append(samples)
        if !loadedTold {
            loadedTold = true
            say(.loaded(duration: nil, hasAudio: true))
        }
        tellIfBuffered()
        while queue.frames >= Self.maximumFrames {
            var turn = room.makeAsyncIterator()
            guard await turn.next() != nil else { throw CancellationError() }
        }
    }

    private func tellIfBuffered() {
        guard waitsForBuffer, loadedTold else { return }
        if case .failed(let code, let reason)? = decodeEnd, queue.frames == 0 {
            waitsForBuffer = false
            say(.failed(code: code, reason: reason))
        } else if queue.frames >= Self.startFrames || decodeEnd != nil {
            waitsForBuffer = false
            say(.buffered)
        }
    }

    private func say(_ kind: PlayerEvent.Kind) {
        eventWriter.yield(PlayerEvent(generation: generation, kind: kind))
    }

    // MARK: Loading

    private func begin(_ generation: Int) {
        self.generation = generation
        since = nil
        queue.clear()
        decodeEnd = nil
        loadedTold = false
        waitsForBuffer = true
    }

    private func endJob() async {
        job?.cancel()
        room?.finish()
        await job?.value
        job = nil
        queue.clear()
    }

    private func perform(_ load: PlayerLoad, generation: Int) async {
        do {
            if bufferingNanoseconds > 0 { try await clock.sleep(nanoseconds: bufferingNanoseconds) }
            guard let url = URL(string: load.url) else { throw MediaFetchError.unusableURL(load.url) }
            if Self.isAdaptive(load.contentType) {
                try await openAdaptive(url, load, generation)
            } else {
                try await openPlain(url, load, generation)
            }
        } catch is CancellationError {
            return
        } catch {
            fail(with: error)
        }
    }

    private func fail(with error: any Error) {
        let (code, reason) = Self.explain(error)
        decodeEnd = .failed(code: code, reason: reason)
        guard loadedTold else { return say(.failed(code: code, reason: reason)) }
        tellIfBuffered()
    }

    /// The receiver's own code for a failure (`Protocols/cast` section 10, detailedErrorCode).
    private static func explain(_ error: any Error) -> (code: Int, reason: String) {
        switch error {
        case MediaFetchError.originRefused: (300, MediaFetchError.originRefused.description)
        case let error as MediaFetchError: (103, error.description)
        case AudioDecoderError.notMedia: (104, "neither sound nor picture is in it")
        case AudioDecoderError.damaged: (102, "it cannot be decoded")
        case AudioDecoderError.noDecoder(let program): (100, "\(program) is not installed")
        default: (100, "\(error)")
        }
    }

    private static func isAdaptive(_ contentType: String) -> Bool {
        let type = contentType.lowercased()
        return type.contains("mpegurl") || type.contains("dash+xml")
    }

    /// The manifest is fetched as a web page fetches it, which needs CORS; the segments are ffmpeg's business.
    private func openAdaptive(_ url: URL, _ load: PlayerLoad, _ generation: Int) async throws {
        try await MediaFetcher(origin: Self.webOrigin).fetch(url) { part in
            switch part {
            case .head(let head):
                guard head.allowedOrigin == "*" || head.allowedOrigin == Self.webOrigin else {
                    throw MediaFetchError.originRefused
                }
            case .exchange(let fetch): await self.say(.fetched(fetch))
            case .bytes: break
            }
        }
        let probe = try await decoder.probe(url.absoluteString)
        try await open(url.absoluteString, probe, load, generation)
    }

    private static let webOrigin = "https://www.gstatic.com"

    /// A body of known length is fetched into a file first; another one is decoded as it comes.
    private func openPlain(_ url: URL, _ load: PlayerLoad, _ generation: Int) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "router-media-\(UUID().uuidString)")
        download = Download(file: file, digest: MediaDigest())
        defer { download = nil }
        do {
            try await MediaFetcher().fetch(url) { try await self.receive($0, generation: generation) }
            download?.endless?.finish()
        } catch {
            download?.endless?.finish(throwing: error)
            download?.decoding?.cancel()
            await download?.decoding?.value
            throw error
        }
        guard let done = download else { return }
        say(.content(bytes: done.bytes, sha256: done.digest.finish()))
        if let decoding = done.decoding {
            await withTaskCancellationHandler {
                await decoding.value
            } onCancel: {
                decoding.cancel()
            }
            return
        }
        try done.handle?.close()
        let probe = try await decoder.probe(file.path)
        try await open(file.path, probe, load, generation)
    }

    private func receive(_ part: MediaFetcher.Part, generation: Int) async throws {
        switch part {
        case .head(let head) where head.length == nil:
            let chunks = BoundedChunks<[UInt8]>(limit: 64)
            download?.endless = chunks
            download?.decoding = Task {
                let probe = MediaProbe(duration: nil, hasAudio: true, hasVideo: false)
                await self.decode(.stream(chunks), probe, 0, 1, generation)
            }
        case .head:
            guard let file = download?.file else { return }
            temporaryFile = file
            guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
                throw SimulatedReceiverError.cannotWrite(file.path, errno)
            }
            download?.handle = try FileHandle(forWritingTo: file)
        case .bytes(let chunk):
            download?.bytes += chunk.count
            download?.digest.append(chunk)
            if let endless = download?.endless {
                try await endless.write(chunk)
            } else {
                try download?.handle?.write(contentsOf: chunk)
            }
        case .exchange(let fetch): say(.fetched(fetch))
        }
    }

    private func open(_ location: String, _ probe: MediaProbe, _ load: PlayerLoad, _ generation: Int) async throws {
        try Task.checkCancellation()
        media = (location, probe)
        loadedTold = true
        say(.loaded(duration: probe.duration, hasAudio: probe.hasAudio))
        await decode(.location(location), probe, load.start, 1, generation)
    }

    private func decode(
        _ source: AudioDecoder.Source, _ probe: MediaProbe, _ start: Double, _ rate: Double, _ generation: Int
    ) async {
        let (turns, room) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.room = room
        do {
            if probe.hasAudio {
                try await decoder.decode(source, from: start, rate: rate) { samples in
                    try await self.accept(samples, generation: generation, room: turns)
                }
            } else {
                // A silent film is as long as its picture.
                var frames = Int(max(0, (probe.duration ?? 0) - start) / rate * Double(AudioDecoder.sampleRate))
                while frames > 0 {
                    let part = min(frames, AudioDecoder.sampleRate)
                    frames -= part
                    let silence = [Int16](repeating: 0, count: part * AudioDecoder.channels)
                    try await accept(silence, generation: generation, room: turns)
                }
            }
            guard loadedTold else { throw AudioDecoderError.notMedia }
            decodeEnd = .whole
            tellIfBuffered()
        } catch is CancellationError {
            return
        } catch {
            fail(with: loadedTold ? error : AudioDecoderError.notMedia)
        }
    }
}
