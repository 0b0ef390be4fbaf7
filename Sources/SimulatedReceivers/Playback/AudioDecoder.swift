import Foundation
import Subprocess

/// What a media file is.
struct MediaProbe: Sendable, Hashable {
    /// Seconds; nil for an endless stream.
    var duration: Double?
    var hasAudio: Bool
    /// Nil without one.
    var picture: Picture?

    struct Picture: Sendable, Hashable {
        var width: Int
        var height: Int
        /// As `videoInfo` names it: sdr or hdr.
        var range = "sdr"
    }
}

/// Why media cannot be played.
enum AudioDecoderError: Error, Sendable, Hashable {
    /// Neither sound nor picture is in it.
    case notMedia
    /// ffmpeg gave up in the middle.
    case damaged
    /// ffmpeg or ffprobe is not installed.
    case noDecoder(String)
}

/// Decodes to 16-bit 44.1 kHz stereo by ffmpeg, as a subprocess: what is fetched from a sender is not trusted.
struct AudioDecoder: Sendable {
    static let sampleRate = 44_100
    static let channels = 2

    enum Source: Sendable {
        /// A file that is whole, or the URL of an adaptive stream.
        case location(String)
        /// Bytes as they come.
        case stream(BoundedChunks<[UInt8]>)
    }

    private struct ProbeAnswer: Decodable {
        struct Stream: Decodable {
            var codec_type: String?
            var width: Int?
            var height: Int?
            var color_transfer: String?
        }
        struct Format: Decodable { var duration: String? }
        var streams: [Stream]?
        var format: Format?
    }

    /// Reads what is in a file. Throws `AudioDecoderError.notMedia` or `noDecoder`.
    func probe(_ location: String) async throws -> MediaProbe {
        let result: ExecutionResult<Void, StringOutput<UTF8>, DiscardedOutput>
        do {
            result = try await run(
                .name("ffprobe"),
                arguments: ["-v", "error", "-print_format", "json", "-show_format", "-show_streams", location],
                output: .string(limit: 1 << 20))
        } catch let error as SubprocessError where error.code == .executableNotFound {
            throw AudioDecoderError.noDecoder("ffprobe")
        }
        guard let answer = try? JSONDecoder().decode(ProbeAnswer.self, from: Data(result.standardOutput.utf8))
        else { throw AudioDecoderError.notMedia }
        let streams = answer.streams ?? []
        var probe = MediaProbe(
            duration: answer.format?.duration.flatMap(Double.init),
            hasAudio: streams.contains { $0.codec_type == "audio" })
        if let video = streams.first(where: { $0.codec_type == "video" }) {
            let wide = ["smpte2084", "arib-std-b67"].contains(video.color_transfer)
            probe.picture = MediaProbe.Picture(
                width: video.width ?? 0, height: video.height ?? 0, range: wide ? "hdr" : "sdr")
        }
        guard probe.hasAudio || probe.picture != nil else { throw AudioDecoderError.notMedia }
        return probe
    }

    /// Decodes a stretch of it, in seconds, at `rate` times the normal speed with unchanged pitch, and hands the samples
    /// over in order. `emit` is waited for, so a full buffer holds ffmpeg back.
    ///
    /// Throws `AudioDecoderError`, `CancellationError`, or what `emit` throws.
    func decode(
        _ source: Source, _ stretch: ClosedRange<Double> = 0...(.infinity), rate: Double = 1,
        emit: @escaping @Sendable ([Int16]) async throws -> Void
    ) async throws {
        // Writing to an ffmpeg that has ended must be an error, not the end of this process.
        Self.ignoreBrokenPipes
        var arguments = ["-v", "error", "-nostdin"]
        if case .location = source {
            let start = stretch.lowerBound
            if start > 0 { arguments += ["-ss", String(format: "%.6f", start)] }
            if stretch.upperBound.isFinite {
                arguments += ["-t", String(format: "%.6f", stretch.upperBound - start)]
            }
        }
        switch source {
        case .location(let location): arguments += ["-i", location]
        case .stream: arguments += ["-i", "pipe:0"]
        }
        arguments += ["-map", "0:a:0"]
        if rate != 1 { arguments += ["-af", "atempo=\(rate)"] }
        arguments += ["-f", "s16le", "-ar", String(Self.sampleRate), "-ac", String(Self.channels), "pipe:1"]

        let status: TerminationStatus
        do {
            switch source {
            case .location:
                status = try await run(
                    .name("ffmpeg"), arguments: Arguments(arguments), input: .none, output: .sequence,
                    error: .discarded
                ) { execution in
                    try await Self.read(execution.standardOutput, emit: emit)
                }.terminationStatus
            case .stream(let chunks):
                status = try await run(
                    .name("ffmpeg"), arguments: Arguments(arguments), input: .inputWriter, output: .sequence,
                    error: .discarded
                ) { execution in
                    let writer = execution.standardInputWriter
                    let output = execution.standardOutput
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await Self.feed(chunks, to: writer) }
                        try await Self.read(output, emit: emit)
                        group.cancelAll()
                    }
                }.terminationStatus
            }
        } catch let error as SubprocessError where error.code == .executableNotFound {
            throw AudioDecoderError.noDecoder("ffmpeg")
        }
        try Task.checkCancellation()
        guard status.isSuccess else { throw AudioDecoderError.damaged }
    }

    private static let ignoreBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    private static func feed(_ chunks: BoundedChunks<[UInt8]>, to writer: StandardInputWriter) async throws {
        defer { chunks.abandon() }
        do {
            while let chunk = try await chunks.next() { _ = try await writer.write(chunk) }
        } catch is SubprocessError {
            // ffmpeg has ended: what it says by its status counts, not that it reads no more.
        }
        try await writer.finish()
    }

    private static func read(
        _ output: SubprocessOutputSequence, emit: ([Int16]) async throws -> Void
    ) async throws {
        let frameBytes = 2 * channels
        var rest: [UInt8] = []
        for try await buffer in output {
            buffer.withUnsafeBytes { rest.append(contentsOf: $0) }
            let whole = rest.count / frameBytes * frameBytes
            guard whole > 0 else { continue }
            let samples = [Int16](unsafeUninitializedCapacity: whole / 2) { target, count in
                for index in 0..<whole / 2 {
                    target[index] = Int16(bitPattern: UInt16(rest[2 * index]) | UInt16(rest[2 * index + 1]) << 8)
                }
                count = whole / 2
            }
            rest.removeFirst(whole)
            try await emit(samples)
        }
    }
}
