import Foundation
import RouteBackend

/// What a player is told to open.
struct PlayerLoad: Sendable, Hashable {
    var url: String
    var contentType: String
    /// Seconds into the media.
    var start: Double
    /// Where it stops, in seconds into the media; nil is its own end.
    var end: Double?
    /// Seconds of silence to play in place of the media, of which nothing is fetched then.
    var silence: Double?
    /// Fetch it as a web page does, which needs Access-Control-Allow-Origin.
    var needsOrigin = false
}

/// What a player says of itself; `generation` is that of the load or seek it is about.
struct PlayerEvent: Sendable {
    enum Kind: Sendable, Hashable {
        case fetched(MediaFetch)
        /// The body is whole.
        case content(bytes: Int, sha256: String)
        /// The media is known. Duration in seconds; nil for a stream, which cannot be sought in. No picture: nil.
        case loaded(duration: Double?, picture: MediaProbe.Picture?)
        /// There is enough to play from.
        case buffered
        /// Nothing left to play before the end; so many frames were heard since `play`.
        case starved(heardFrames: Int)
        /// All of it was heard.
        case ended(heardFrames: Int)
        /// Cannot be played: a detailed error code (`Protocols/cast` section 7) and a reason in words.
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

    /// What is open, by generation: what is heard, what is preloaded, what waits while an ad plays.
    private var decks: [Int: Deck] = [:]
    /// The generation of the deck that is heard.
    private var current = 0
    private var ticker: Task<Void, Never>?
    private var isHeld = false
    /// How the stretch that was heard last ended, if the player itself ended it and the owner has not been told.
    private var ending: PlayerEvent?
    private var since: Int64?
    private var heardFrames = 0
    private var gain: Double = 1

    /// A body that is being fetched: into a file, or, when it has no known length, straight into the decoder.
    private struct Download {
        var file: URL
        var digest: MediaDigest
        var bytes = 0
        var handle: FileHandle?
        var endless: BoundedChunks<[UInt8]>?
        var decoding: Task<Void, Never>?
    }

    /// One piece of media that is open.
    private final class Deck {
        var generation: Int
        let load: PlayerLoad
        var job: Task<Void, Never>?
        var media: (location: String, probe: MediaProbe)?
        var temporaryFile: URL?
        var queue = PCMQueue()
        var room: AsyncStream<Void>.Continuation?
        var waitsForBuffer = true
        var loadedTold = false
        var decodeEnd: DecodeEnd?
        var download: Download?

        init(_ load: PlayerLoad, generation: Int) {
            self.load = load
            self.generation = generation
        }

        func restart(generation: Int) {
            self.generation = generation
            queue.clear()
            decodeEnd = nil
            loadedTold = true
            waitsForBuffer = true
        }
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

    /// Lets be heard what is due, and nothing more until `release`.
    ///
    /// The owner decides at an instant and says so a little later; on a busy machine a tick would come between the two and
    /// let pass what the owner has already said was not heard.
    ///
    /// - Returns: The instant up to which it was heard, and how the player ended the stretch, if it did: `events` says
    ///   so too, perhaps later.
    func hold() -> (instant: Int64, ending: PlayerEvent?) {
        let instant = clock.now()
        pump(until: instant)
        isHeld = true
        defer { ending = nil }
        return (instant, ending)
    }

    /// From here on ticks let pass what is due.
    func release() { isHeld = false }

    /// Opens media and decodes from its start position; says `loaded` and `buffered`, or `failed`. Everything else is let
    /// go, but for the deck of generation `kept`.
    func load(_ load: PlayerLoad, generation: Int, keeping kept: Int? = nil) async {
        ending = nil
        await drop { $0 != kept }
        current = generation
        open(load, generation: generation)
    }

    /// Opens media that is to be heard later, by `take`.
    func preload(_ load: PlayerLoad, generation: Int) { open(load, generation: generation) }

    /// Goes over to what was preloaded or kept, and lets everything else go.
    func take(_ generation: Int) async {
        current = generation
        await drop { $0 != generation }
    }

    /// Lets go of what was preloaded.
    func drop(_ generation: Int) async { await drop { $0 == generation } }

    /// Decodes the loaded file again from another position or at another rate; says `buffered`.
    func seek(to position: Double, rate: Double, end: Double?, generation: Int) async {
        since = nil
        guard let deck = decks.removeValue(forKey: current) else { return }
        await endJob(of: deck)
        guard let media = deck.media else { return await remove(deck) }
        deck.restart(generation: generation)
        decks[generation] = deck
        current = generation
        deck.job = Task {
            await self.decode(.location(media.location), media.probe, position...(end ?? .infinity), rate, generation)
        }
    }

    /// From this instant on what is buffered is heard.
    func play(since instant: Int64) {
        since = instant
        ending = nil
        heardFrames = 0
        ticker?.cancel()
        ticker = Task {
            while !Task.isCancelled {
                if !isHeld { pump(until: clock.now()) }
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

    /// Lets go of all media.
    func stop() async { await drop { _ in true } }

    private func open(_ load: PlayerLoad, generation: Int) {
        let deck = Deck(load, generation: generation)
        decks[generation] = deck
        deck.job = Task { await self.perform(load, generation: generation) }
    }

    private func drop(_ isUnwanted: (Int) -> Bool) async {
        for generation in decks.keys.filter(isUnwanted) {
            if generation == current { since = nil }
            guard let deck = decks.removeValue(forKey: generation) else { continue }
            await remove(deck)
        }
    }

    private func remove(_ deck: Deck) async {
        await endJob(of: deck)
        if let file = deck.temporaryFile { try? FileManager.default.removeItem(at: file) }
    }

    private func endJob(of deck: Deck) async {
        deck.job?.cancel()
        deck.room?.finish()
        await deck.job?.value
        deck.job = nil
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
        guard let since, let deck = decks[current] else { return }
        let frames = Int(Double(max(0, now - since)) * Double(AudioDecoder.sampleRate) / 1e9)
        let due = max(0, frames - heardFrames)
        let samples = deck.queue.take(due)
        hear(samples)
        if deck.queue.frames < Self.maximumFrames { deck.room?.yield() }
        guard samples.count / AudioDecoder.channels < due else { return }
        let kind: PlayerEvent.Kind =
            switch deck.decodeEnd {
            case .whole: .ended(heardFrames: heardFrames)
            case .failed(let code, let reason): .failed(code: code, reason: reason)
            case nil: .starved(heardFrames: heardFrames)
            }
        if deck.decodeEnd == nil { deck.waitsForBuffer = true }
        ending = PlayerEvent(generation: current, kind: kind)
        say(kind, current)
        self.since = nil
        ticker?.cancel()
        tellIfBuffered(deck)
    }

    private func hear(_ samples: [Int16]) {
        guard !samples.isEmpty else { return }
        let frames = samples.count / AudioDecoder.channels
        heardFrames += frames
        recordedFrames += frames
        recorder?.append(gain == 1 ? samples : samples.map { Int16((Double($0) * gain).rounded()) })
    }

    private func accept(_ samples: [Int16], generation: Int, room: AsyncStream<Void>) async throws {
        guard let deck = decks[generation] else { throw CancellationError() }
        deck.queue.append(samples)
        if !deck.loadedTold {
            deck.loadedTold = true
            say(.loaded(duration: nil, picture: nil), generation)
        }
        tellIfBuffered(deck)
        while let frames = decks[generation]?.queue.frames, frames >= Self.maximumFrames {
            var turn = room.makeAsyncIterator()
            guard await turn.next() != nil else { throw CancellationError() }
        }
    }

    private func tellIfBuffered(_ deck: Deck) {
        guard deck.waitsForBuffer, deck.loadedTold else { return }
        if case .failed(let code, let reason)? = deck.decodeEnd, deck.queue.frames == 0 {
            deck.waitsForBuffer = false
            say(.failed(code: code, reason: reason), deck.generation)
        } else if deck.queue.frames >= Self.startFrames || deck.decodeEnd != nil {
            deck.waitsForBuffer = false
            say(.buffered, deck.generation)
        }
    }

    private func say(_ kind: PlayerEvent.Kind, _ generation: Int) {
        eventWriter.yield(PlayerEvent(generation: generation, kind: kind))
    }

    // MARK: Loading

    private func perform(_ load: PlayerLoad, generation: Int) async {
        do {
            if bufferingNanoseconds > 0 { try await clock.sleep(nanoseconds: bufferingNanoseconds) }
            if let silence = load.silence {
                return try await open("", MediaProbe(duration: silence, hasAudio: false), load, generation)
            }
            guard let url = URL(string: load.url) else { throw MediaFetchError.unusableURL(load.url) }
            if Self.isAdaptive(load.contentType) {
                try await openAdaptive(url, load, generation)
            } else {
                try await openPlain(url, load, generation)
            }
        } catch is CancellationError {
            return
        } catch {
            fail(with: error, generation)
        }
    }

    private func fail(with error: any Error, _ generation: Int) {
        guard let deck = decks[generation] else { return }
        let (code, reason) = Self.explain(error)
        deck.decodeEnd = .failed(code: code, reason: reason)
        guard deck.loadedTold else { return say(.failed(code: code, reason: reason), generation) }
        tellIfBuffered(deck)
    }

    /// The receiver's own code for a failure (`Protocols/cast` section 7, detailedErrorCode).
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
            case .head(let head): try head.checkOrigin(Self.webOrigin)
            case .exchange(let fetch): await self.say(.fetched(fetch), generation)
            case .bytes: break
            }
        }
        let probe = try await decoder.probe(url.absoluteString)
        try await open(url.absoluteString, probe, load, generation)
    }

    /// The page that plays, as its requests say.
    static let webOrigin = "https://www.gstatic.com"

    /// A body of known length is fetched into a file first; another one is decoded as it comes.
    private func openPlain(_ url: URL, _ load: PlayerLoad, _ generation: Int) async throws {
        guard let deck = decks[generation] else { throw CancellationError() }
        let file = FileManager.default.temporaryDirectory.appending(path: "router-media-\(UUID().uuidString)")
        deck.download = Download(file: file, digest: MediaDigest())
        defer { deck.download = nil }
        do {
            try await MediaFetcher(origin: load.needsOrigin ? Self.webOrigin : nil).fetch(url) {
                try await self.receive($0, load, generation: generation)
            }
            deck.download?.endless?.finish()
        } catch {
            deck.download?.endless?.finish(throwing: error)
            deck.download?.decoding?.cancel()
            await deck.download?.decoding?.value
            throw error
        }
        guard let done = deck.download else { return }
        say(.content(bytes: done.bytes, sha256: done.digest.finish()), generation)
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

    private func receive(_ part: MediaFetcher.Part, _ load: PlayerLoad, generation: Int) async throws {
        guard let deck = decks[generation] else { throw CancellationError() }
        switch part {
        case .head(let head):
            if load.needsOrigin { try head.checkOrigin(Self.webOrigin) }
            if head.length == nil {
                let chunks = BoundedChunks<[UInt8]>(limit: 64)
                deck.download?.endless = chunks
                deck.download?.decoding = Task {
                    let probe = MediaProbe(duration: nil, hasAudio: true)
                    await self.decode(.stream(chunks), probe, 0...(.infinity), 1, generation)
                }
                return
            }
            guard let file = deck.download?.file else { return }
            deck.temporaryFile = file
            guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
                throw SimulatedReceiverError.cannotWrite(file.path, errno)
            }
            deck.download?.handle = try FileHandle(forWritingTo: file)
        case .bytes(let chunk):
            deck.download?.bytes += chunk.count
            deck.download?.digest.append(chunk)
            if let endless = deck.download?.endless {
                try await endless.write(chunk)
            } else {
                try deck.download?.handle?.write(contentsOf: chunk)
            }
        case .exchange(let fetch): say(.fetched(fetch), generation)
        }
    }

    private func open(_ location: String, _ probe: MediaProbe, _ load: PlayerLoad, _ generation: Int) async throws {
        try Task.checkCancellation()
        guard let deck = decks[generation] else { throw CancellationError() }
        deck.media = (location, probe)
        deck.loadedTold = true
        say(.loaded(duration: probe.duration, picture: probe.picture), generation)
        await decode(.location(location), probe, load.start...max(load.start, load.end ?? .infinity), 1, generation)
    }

    private func decode(
        _ source: AudioDecoder.Source, _ probe: MediaProbe, _ stretch: ClosedRange<Double>, _ rate: Double,
        _ generation: Int
    ) async {
        let (turns, room) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        decks[generation]?.room = room
        do {
            if probe.hasAudio {
                try await decoder.decode(source, stretch, rate: rate) { samples in
                    try await self.accept(samples, generation: generation, room: turns)
                }
            } else {
                // A silent film is as long as its picture.
                let seconds = min(1e6, max(0, min(stretch.upperBound, probe.duration ?? 0) - stretch.lowerBound))
                var frames = Int((seconds / rate * Double(AudioDecoder.sampleRate)).rounded())
                while frames > 0 {
                    let part = min(frames, AudioDecoder.sampleRate)
                    frames -= part
                    let silence = [Int16](repeating: 0, count: part * AudioDecoder.channels)
                    try await accept(silence, generation: generation, room: turns)
                }
            }
            guard let deck = decks[generation] else { return }
            guard deck.loadedTold else { throw AudioDecoderError.notMedia }
            deck.decodeEnd = .whole
            tellIfBuffered(deck)
        } catch is CancellationError {
            return
        } catch {
            fail(with: decks[generation]?.loadedTold ?? true ? error : AudioDecoderError.notMedia, generation)
        }
    }
}
