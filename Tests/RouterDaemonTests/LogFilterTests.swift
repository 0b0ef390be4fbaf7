import Foundation
import Logging
import RouteModel
import Synchronization
import Testing

@testable import RouterDaemon

@Suite("Log filter")
struct LogFilterTests {
    @Test("C22 quiet by default: errors and worse of all components")
    func quiet() {
        let filter = LogFilter()
        #expect(filter.allows(.error, component: "CastV2.CastSession"))
        #expect(filter.allows(.critical, component: "Media.MediaServer"))
        #expect(!filter.allows(.warning, component: "CastV2.CastSession"))
        #expect(filter.lowest == .error)
    }

    @Test("C22 the first rule that fits a component or its module counts")
    func rules() throws {
        let filter = try LogFilter("CastV2=trace,Cast*=debug,Media.Subtitle*=info,*=error")
        #expect(filter.level(of: "CastV2.CastSession") == .trace)
        #expect(filter.level(of: "CastBackend.CastRouteSession") == .debug)
        #expect(filter.level(of: "Media.SubtitleStore") == .info)
        #expect(filter.level(of: "Media.MediaServer") == .error)
        #expect(filter.lowest == .trace)
        #expect(try LogFilter("debug").level(of: "AirPlay.RTSPConnection") == .debug)
        #expect(try LogFilter("Media=off", otherwise: .info).level(of: "Media.MediaServer") == nil)
        #expect(try LogFilter("Media=off", otherwise: .info).level(of: "Pacing.Pacer") == .info)
        #expect(try LogFilter("cast??=warn").level(of: "CastV2.CastSession") == .warning)
    }

    @Test(
        "Globs",
        arguments: [
            ("*", "", true), ("*", "a", true), ("Cast*", "cast", true), ("*Session", "CastV2.CastSession", true),
            ("C*S*n", "CastV2.CastSession", true), ("?ast", "Cast", true), ("?ast", "ast", false), ("", "a", false),
            ("Cast", "CastV2", false), ("*a*a*a*a*a*a*b", String(repeating: "a", count: 2000), false),
        ])
    func globs(_ glob: String, _ text: String, _ fits: Bool) { #expect(LogFilter.matches(glob, text) == fits) }

    @Test(
        "A filter that cannot be read says why",
        arguments: [
            ("Cast=loud", "no level"), ("Cast=debugg", "Did you mean “debug”"), ("=debug", "no component"),
            ("a=b=c", "no rule"), ("Cast=", "no level"), ("", "no level"), ("a=debug,,b=info", "no level"),
            (Array(repeating: "a=info", count: 65).joined(separator: ","), "more than 64"),
            (String(repeating: "x", count: 129) + "=info", "no component"),
        ])
    func malformed(_ text: String, _ words: String) {
        let error = #expect(throws: RouterError.self) { try LogFilter(text) }
        #expect(error?.code == .configuration)
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test("C22 each line has level, component, function and location, and goes to the caller's sink")
    func lines() throws {
        let entries = EntryList()
        let logger = Logger.router(
            filter: try LogFilter("RouterDaemonTests.Log*=debug"), sink: LogClosure { entry in entries.add(entry) })
        logger.debug("a\nb\u{1B}[2J", metadata: ["key": "value"])
        logger.trace("not this")
        logger.critical("this too", source: "Media")
        let entry = try #require(entries.all.first)
        #expect(entries.all.map(\.level) == [.debug, .critical])
        #expect(entry.level == .debug)
        #expect(entry.component == "RouterDaemonTests.LogFilterTests")
        #expect(entry.function == "lines()")
        #expect(entry.location.hasPrefix("LogFilterTests.swift:"))
        #expect(
            entry.line
                == "debug RouterDaemonTests.LogFilterTests lines() \(entry.location): a b [2J key=value")
    }

    @Test("C22 a log file is the user's own, and grows by whole lines")
    func file() throws {
        let path = NSTemporaryDirectory() + "log-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        for text in ["one", "two"] {
            let sink = try #require(LogDescriptor.file(path))
            Logger.router(filter: LogFilter(otherwise: .info), sink: sink).info("\(text)")
        }
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasSuffix(": one") == true && lines.last?.hasSuffix(": two") == true)
        #expect(lines.first?.contains("Z info RouterDaemonTests.LogFilterTests file() ") == true)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(LogDescriptor.file("/nonexistent/folder/log") == nil)
    }
}

private final class EntryList: Sendable {
    private let entries = Mutex<[LogEntry]>([])
    var all: [LogEntry] { entries.withLock { $0 } }
    func add(_ entry: LogEntry) { entries.withLock { $0.append(entry) } }
}
