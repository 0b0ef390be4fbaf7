import Foundation
import RouteBackend
import RouteModel

/// What a source is, found by `ffprobe`.
struct MediaProbe: Sendable {
    /// `MediaFacts` and what only this module needs of a probe.
    struct Finding: Sendable {
        var metadata: MediaMetadata
        var duration: MediaTime?
        var contentType: String
        var hasAudio: Bool
        var hasVideo: Bool
        var live: Bool
        /// The stream that holds the picture.
        var pictureStream: Int?
        var tracks: [SourceStream]
    }

    /// Bytes of ffprobe's report at most: tags with whole books in them exist.
    private static let maximumReport = 4 << 20

    let tool: MediaTool
    let seconds: Int

    /// Throws `mediaNotFound`, `mediaForbidden`, `mediaUnsupported`, `dependencyMissing`, `itemFailed` or `timeout`.
    func probe(_ source: MediaSource) async throws -> Finding {
        let input = try InputArguments.of(source)
        let result = try await tool.run(
            ["-v", "level+error", "-print_format", "json", "-show_format", "-show_streams"] + input,
            outputLimit: Self.maximumReport, seconds: seconds)
        let report = try? JSONDecoder().decode(ProbeReport.self, from: Data(result.output))
        guard result.succeeded, let report, let format = report.format, let container = format.format_name,
            // A score below 25 is a guess by the name alone; `tty` takes any text for a film.
            (format.probe_score ?? 100) >= 25, container != "tty", report.hasAudio || report.hasVideo
        else {
            throw DecoderLog(result.diagnosis).refusal(of: source)
        }
        let isURL: Bool
        if case .url = source { isURL = true } else { isURL = false }
        let picture = container.hasSuffix("_pipe") || container == "image2"
        let live = isURL && report.duration == nil && !picture
        return Finding(
            metadata: report.metadata(live: live), duration: live ? nil : report.duration,
            contentType: ContentType.of(
                container: container, extension: source.fileExtension, hasVideo: report.hasVideo),
            hasAudio: report.hasAudio, hasVideo: report.hasVideo, live: live, pictureStream: report.pictureStream,
            tracks: report.tracks)
    }
}

extension MediaSource {
    /// Of the file's name or the address's path, without the dot; empty if there is none.
    var fileExtension: String {
        let name =
            switch self {
            case .file(let path): path.split(separator: "/").last.map(String.init) ?? ""
            case .url(let text):
                text.split(whereSeparator: { $0 == "?" || $0 == "#" }).first?.split(separator: "/").dropFirst(2).last
                    .map(String.init) ?? ""
            case .live: ""
            }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
        return String(name[name.index(after: dot)...])
    }
}
