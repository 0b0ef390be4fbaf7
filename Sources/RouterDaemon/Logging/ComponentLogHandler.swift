import CDispatch
import Foundation
import Logging

/// One thing that was logged.
public struct LogEntry: Sendable {
    public var level: Logger.Level
    /// The module and the file that speak: `CastV2.CastSession`.
    public var component: String
    public var function: String
    /// The file's name and the line: `CastSession.swift:252`.
    public var location: String
    public var message: String
    public var metadata: Logger.Metadata

    /// In one line; what would break it or move a terminal's cursor is replaced.
    public var line: String {
        Self.clean("\(level.rawValue) \(component) \(function) \(location): \(message)\(values)")
    }

    /// What was said, and nothing of where; in one line too.
    public var text: String { Self.clean("\(message)\(values)") }

    private var values: String {
        metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    }

    private static func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}

/// Where log lines go. A user of the library gives a sink of its own.
public protocol LogSink: Sendable {
    /// Called from any thread, many at a time; must not wait.
    func write(_ entry: LogEntry)
}

/// A sink as a closure.
public struct LogClosure: LogSink {
    private let body: @Sendable (LogEntry) -> Void

    public init(_ body: @escaping @Sendable (LogEntry) -> Void) { self.body = body }

    public func write(_ entry: LogEntry) { body(entry) }
}

/// Lines into a file or on standard error, each by one `write`, so that those of two threads never mix.
public final class LogDescriptor: LogSink {
    private let descriptor: Int32
    private let closes: Bool

    private init(_ descriptor: Int32, closes: Bool) {
        self.descriptor = descriptor
        self.closes = closes
    }

    deinit { if closes { close(descriptor) } }

    public static var standardError: LogDescriptor { LogDescriptor(STDERR_FILENO, closes: false) }

    /// Adds to a file that only this user reads (0600); nil with `errno` when it cannot be opened.
    public static func file(_ path: String) -> LogDescriptor? {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        return descriptor < 0 ? nil : LogDescriptor(descriptor, closes: true)
    }

    public func write(_ entry: LogEntry) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var parts = tm()
        gmtime_r(&now.tv_sec, &parts)
        func padded(_ value: some BinaryInteger, _ width: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let day = "\(parts.tm_year + 1900)-\(padded(parts.tm_mon + 1, 2))-\(padded(parts.tm_mday, 2))"
        let clock = "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
        let line = Array("\(day)T\(clock).\(padded(now.tv_nsec / 1_000_000, 3))Z \(entry.line)\n".utf8)
        _ = line.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
    }
}

/// Lets through what a filter allows, and hands it to a sink.
public struct ComponentLogHandler: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var logLevel: Logger.Level
    private let filter: LogFilter
    private let sink: any LogSink

    public init(filter: LogFilter, sink: any LogSink) {
        self.filter = filter
        self.sink = sink
        logLevel = filter.lowest
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        let file = event.file.split(separator: "/").last ?? ""
        let component = "\(event.source).\(file.prefix { $0 != "." })"
        guard filter.allows(event.level, component: component) else { return }
        var metadata = metadata
        metadata.merge(event.metadata ?? [:]) { _, new in new }
        sink.write(
            LogEntry(
                level: event.level, component: component, function: event.function,
                location: "\(file):\(event.line)", message: event.message.description, metadata: metadata))
    }
}

extension Logger {
    /// A logger whose lines pass `filter` to `sink`, for `RouterSetup`.
    public static func router(filter: LogFilter, sink: any LogSink) -> Logger {
        Logger(label: "router") { _ in ComponentLogHandler(filter: filter, sink: sink) }
    }
}
