import RouteBackend
import RouteModel
import Subprocess

/// The feed that its owner holds. When nobody holds it any more (nor a reader of it), decoding ends.
///
/// The closures of `FeedEvents` are held for as long as decoding goes on: they must not hold the feed.
final class DecodedFeed: AudioFeed {
    private let buffer: FeedBuffer
    private let decoding: Task<Void, Never>

    init(buffer: FeedBuffer, decoding: Task<Void, Never>) {
        self.buffer = buffer
        self.decoding = decoding
    }

    deinit { decoding.cancel() }

    var sampleRate: Int { FeedBuffer.sampleRate }

    func packets(_ format: AudioPacketFormat, from frame: Int64) async throws -> any AudioPacketCursor {
        try await buffer.prepare(format)
        let first = await buffer.packet(format, at: max(0, frame))
        return PacketCursor(feed: self, buffer: buffer, format: format, first: first)
    }

    func retained() async -> Range<Int64> { await buffer.retained }

    func overlay(_ clip: any AudioFeed, lowering share: Double) async throws -> Range<Int64>? {
        guard clip.sampleRate == sampleRate, await buffer.takesOverlay else { return nil }
        let cursor = try await clip.packets(AudioPacketFormat(codec: .l16), from: 0)
        var samples: [SampleWindow.Frame] = []
        while let packet = try await cursor.next() {
            guard samples.count <= Overlay.maximumFrames else { return nil }
            samples += Overlay.frames(ofPCM: packet.payload)
        }
        guard !samples.isEmpty else { return nil }
        return await buffer.lay(Overlay(samples, share: share))
    }
}

/// One reader: asks the buffer for a handful of packets at a time and gives them out one by one.
actor PacketCursor: AudioPacketCursor {
    /// A quarter of a second at 352 frames: one hop for this many packets.
    private static let batch = 32

    /// Held so that decoding goes on while anybody reads.
    private let feed: DecodedFeed
    private let buffer: FeedBuffer
    private let format: AudioPacketFormat
    private var index: Int64
    private var ready: [AudioPacket] = []
    private var taken = 0

    init(feed: DecodedFeed, buffer: FeedBuffer, format: AudioPacketFormat, first: Int64) {
        self.feed = feed
        self.buffer = buffer
        self.format = format
        index = first
    }

    func next() async throws -> AudioPacket? {
        if taken == ready.count {
            ready = try await buffer.packets(format, from: index, limit: Self.batch)
            taken = 0
            guard let last = ready.last else { return nil }
            index = last.frame / Int64(format.framesPerPacket) + 1
        }
        defer { taken += 1 }
        return ready[taken]
    }
}

/// Runs one `ffmpeg` after the other into a buffer, item by item, without a gap.
struct FeedDecoder: Sendable {
    /// Items in a row that give nothing, before the feed ends: a queue that repeats must not spin.
    static let maximumFailures = 100
    /// Of an item that is begun at its end, so much is played.
    static let shortestSeconds = 0.05

    let tool: MediaTool
    /// What captures a sink.
    let capture: MediaTool
    let buffer: FeedBuffer
    let events: FeedEvents

    /// Goes through the queue until it ends or the task is cancelled.
    func run(_ first: FeedItem) async {
        var item = first
        var failures = 0
        var failure: RouterError?
        while !Task.isCancelled {
            let start = await buffer.end
            let error: RouterError?
            do {
                error = try await decode(item)
            } catch let broken as RouterError {
                error = broken
            } catch {
                break
            }
            let end = await buffer.endItem()
            if end == start {
                failures += 1
                failure = failure ?? error
            } else {
                failures = 0
            }
            await events.ended(item.item, end, error)
            guard failures < Self.maximumFailures, let next = await events.next(item.item) else { break }
            item = next
        }
        await buffer.finish(failure ?? RouterError(.cancelled, "the feed was given up", scope: .item))
    }

    /// One item, from its start to its end. Gives what was wrong with it, if anything; throws when it cannot be begun.
    private func decode(_ item: FeedItem) async throws -> RouterError? {
        if case .live(let input) = item.source { return try await listen(to: input, item) }
        let configuration = try tool.configuration(try Self.arguments(item))
        let first = await buffer.end
        let log: DecoderLog
        let succeeded: Bool
        do {
            let result = try await Subprocess.run(configuration, input: .none, output: .sequence, error: .sequence) {
                execution in
                let errors = execution.standardError
                async let diagnosis = ToolDiagnosis.read(errors)
                var began = false
                for try await chunk in execution.standardOutput {
                    let bytes = chunk.withUnsafeBytes { [UInt8]($0) }
                    await buffer.append(bytes)
                    // After the samples, so that the first packet waits for nobody, and before there is room for more.
                    if !began {
                        began = true
                        await events.started(item.item, first, item.start)
                    }
                    try await buffer.waitForRoom()
                }
                return try await diagnosis
            }
            log = DecoderLog(result.closureResult.text)
            succeeded = result.terminationStatus.isSuccess
        } catch let error as SubprocessError {
            throw MediaTool.failure(error)
        }
        try Task.checkCancellation()
        let frames = await buffer.end - first
        if frames > 0 {
            return log.damage(
                of: item.source, decoded: Double(frames) / Double(FeedBuffer.sampleRate), start: item.start.seconds,
                end: item.end?.seconds, succeeded: succeeded)
        }
        if log.errors.isEmpty, item.start > .zero {
            return RouterError(
                .itemFailed, "“\(item.source.label)” ends before \(DecoderLog.clock(item.start.seconds))",
                hint: "Begin earlier", scope: .item)
        }
        return log.refusal(of: item.source)
    }

    private static func arguments(_ item: FeedItem) throws -> [String] {
        // Threads of the decoder cost start-up time, and one is far faster than real time.
        var arguments = ["-v", "level+info", "-hide_banner", "-nostats", "-nostdin", "-threads", "1"]
        if item.start > .zero {
            // Before -i: seeks in the file, then decodes to the exact place.
            arguments += ["-ss", String(item.start.seconds)]
        }
        if let end = item.end {
            // Also before -i: the input's samples are cut there, exactly.
            arguments += ["-t", String(max(Self.shortestSeconds, (end - item.start).seconds))]
        }
        arguments += try InputArguments.of(item.source)
        return arguments + ["-map", "0:a:0", "-f", "s32le", "-ar", "44100", "-ac", "2", "pipe:1"]
    }
}
