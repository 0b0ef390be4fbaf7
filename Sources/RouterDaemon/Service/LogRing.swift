import Foundation
import Logging
import RouteBackend
import RouterAPI

/// The last lines that were logged, for who asks for them.
final class LogRing: LogSink {
    private struct Lines {
        var kept: [LogLine] = []
        /// Where the next one goes once the ring is full.
        var next = 0
    }

    private static let capacity = 2000
    /// Of one line.
    private static let maximumText = 4096

    private let lines = LatestValue(Lines())

    func write(_ entry: LogEntry) {
        var text = entry.text
        if text.utf8.count > Self.maximumText { text = String(text.prefix(Self.maximumText)) }
        let line = LogLine(
            time: Date().timeIntervalSince1970, level: entry.level.rawValue, component: entry.component, text: text)
        lines.update { lines in
            if lines.kept.count < Self.capacity {
                lines.kept.append(line)
            } else {
                lines.kept[lines.next] = line
                lines.next = (lines.next + 1) % Self.capacity
            }
        }
    }

    /// The last of those that fit, oldest first.
    ///
    /// - Parameters:
    ///   - glob: of the component, or its module alone.
    ///   - level: the least severe.
    func last(_ limit: Int, glob: String?, level: String?) -> [LogLine] {
        let lines = lines.value
        let ordered = lines.kept[lines.next...] + lines.kept[..<lines.next]
        let least = level.flatMap { LogLine.levels.firstIndex(of: $0) } ?? 0
        return ordered.filter { line in
            (LogLine.levels.firstIndex(of: line.level) ?? 0) >= least
                && (glob.map { glob in
                    LogFilter.matches(glob, line.component)
                        || LogFilter.matches(glob, String(line.component.prefix { $0 != "." }))
                } ?? true)
        }.suffix(limit)
    }

    /// A logger that writes where the given one does, and here too: from `info` on, or whatever else the given one takes.
    func teed(_ logger: Logger) -> Logger {
        var teed = logger
        teed.handler = TeeLogHandler(
            first: logger.handler,
            second: ComponentLogHandler(
                filter: LogFilter([], otherwise: min(.info, logger.handler.logLevel)), sink: self))
        return teed
    }
}

/// Writes to two handlers, each at its own level.
private struct TeeLogHandler: LogHandler {
    var first: any LogHandler
    var second: ComponentLogHandler

    var metadata: Logger.Metadata {
        get { first.metadata }
        set {
            first.metadata = newValue
            second.metadata = newValue
        }
    }

    var logLevel: Logger.Level {
        get { min(first.logLevel, second.logLevel) }
        set { first.logLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { first[metadataKey: key] }
        set {
            first[metadataKey: key] = newValue
            second[metadataKey: key] = newValue
        }
    }

    func log(event: LogEvent) {
        if event.level >= first.logLevel { first.log(event: event) }
        if event.level >= second.logLevel { second.log(event: event) }
    }
}
