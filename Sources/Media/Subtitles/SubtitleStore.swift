import Foundation
import Logging
import RouteBackend
import RouteModel

/// Makes WebVTT of subtitles when somebody asks for it, once for all who ask, and keeps what was asked for last.
actor SubtitleStore {
    /// Where a text comes from and how it is to be timed.
    struct Source: Sendable, Hashable {
        enum Origin: Sendable, Hashable {
            /// A subtitle file of its own, of this machine or of the web.
            case separate(MediaSource)
            /// A stream inside the media, by its number and ffmpeg's name of its codec.
            case stream(MediaSource, index: Int, codec: String)
        }

        var origin: Origin
        var request: SubtitleRequest
    }

    /// Conversions that are kept.
    private static let kept = 16
    /// Seconds that reading a stream out of a whole film may take: all of the file has to be read.
    private static let seconds = 300

    private let tool: MediaTool
    private let logger: Logger
    private var ready: [(source: Source, file: FileFacts?, bytes: [UInt8])] = []
    private var work: [Source: Task<[UInt8], any Error>] = [:]
    private var stopped = false

    init(tool: MediaTool, logger: Logger) {
        self.tool = tool
        self.logger = logger
    }

    /// As WebVTT. Throws `mediaNotFound`, `mediaForbidden`, `mediaUnsupported`, `itemFailed`, `timeout` or `cancelled`.
    func text(_ source: Source) async throws -> [UInt8] {
        let file = try Self.file(source)
        if let known = ready.first(where: { $0.source == source && $0.file == file }) { return known.bytes }
        if let running = work[source] { return try await running.value }
        guard !stopped else { throw RouterError(.cancelled, "the media library is stopped") }
        let (tool, logger) = (tool, logger)
        let task = Task { try await Self.make(source, tool: tool, logger: logger) }
        work[source] = task
        defer { work[source] = nil }
        let bytes = try await task.value
        ready.removeAll { $0.source == source }
        if ready.count >= Self.kept { ready.removeFirst() }
        ready.append((source, file, bytes))
        return bytes
    }

    /// Nobody wants these any more: what is being made of them is given up.
    func forget(_ sources: [Source]) {
        for source in sources { work[source]?.cancel() }
    }

    func stop() async {
        stopped = true
        let running = work.values
        for task in running { task.cancel() }
        for task in running { _ = try? await task.value }
        ready.removeAll()
    }

    /// How many are being made.
    var inProgress: Int { work.count }

    private static func file(_ source: Source) throws -> FileFacts? {
        switch source.origin {
        case .separate(.file(let path)), .stream(.file(let path), _, _): try FileFacts.check(path)
        case .separate, .stream: nil
        }
    }

    private static func make(_ source: Source, tool: MediaTool, logger: Logger) async throws -> [UInt8] {
        let label: String
        let bytes: [UInt8]
        switch source.origin {
        case .separate(let file):
            label = file.label
            bytes = try await read(file, tool)
        case .stream(let media, let index, let codec):
            label = media.label
            // Its own form keeps where a text stands, which ffmpeg's WebVTT loses.
            let form =
                codec == "ass" || codec == "ssa" ? ["-c:s", "copy", "-f", "ass"] : ["-c:s", "webvtt", "-f", "webvtt"]
            let arguments =
                ["-v", "level+error", "-nostdin"] + (try InputArguments.of(media)) + ["-map", "0:\(index)"] + form
                + ["pipe:1"]
            let result = try await tool.run(arguments, outputLimit: SubtitleLimits.bytes, seconds: seconds)
            guard result.succeeded, !result.output.isEmpty else {
                throw DecoderLog(result.diagnosis).refusal(of: media)
            }
            bytes = result.output
        }
        var request = source.request
        // ffmpeg writes UTF-8 whatever it read.
        if case .stream = source.origin { request.encoding = nil }
        let converted = try SubtitleText.convert(bytes, label: label, request: request)
        for notice in converted.notices { logger.notice("subtitles “\(label)”: \(notice.text)") }
        logger.debug("subtitles “\(label)”: \(converted.cues) texts, \(converted.encoding)")
        return converted.webVTT
    }

    /// The bytes of a subtitle file, of one that is too long a little more than are allowed.
    static func read(_ source: MediaSource, _ tool: MediaTool) async throws -> [UInt8] {
        switch source {
        case .file(let path):
            try FileFacts.check(path)
            guard let handle = FileHandle(forReadingAtPath: path) else { throw FileFacts.forbidden(path) }
            defer { try? handle.close() }
            return [UInt8]((try? handle.read(upToCount: SubtitleLimits.bytes + 1)) ?? Data())
        case .url, .live:
            let input = ["-v", "level+error", "-nostdin", "-f", "data"] + (try InputArguments.of(source))
            let result = try await tool.run(
                input + ["-map", "0", "-c", "copy", "-f", "data", "pipe:1"], outputLimit: SubtitleLimits.bytes,
                seconds: seconds)
            guard result.succeeded else { throw DecoderLog(result.diagnosis).refusal(of: source) }
            return result.output
        }
    }
}
