import ArgumentParser
import CastBackend
import RouteModel

struct CastStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "What a Cast device is, what runs on it and what plays.",
        discussion: """
            Joins what runs as one more sender, and launches nothing.

              router cast status Kitchen
              router cast status cast://192.168.1.21 -o json
              router cast status Kitchen --follow -o ndjson
            """)

    @OptionGroup var target: CastTarget
    @OptionGroup var options: GlobalOptions

    @Flag(name: .long, help: "Print it again at every change, until the connection ends.")
    var follow = false

    func run() async throws {
        try await reporting(options) {
            try await target.control(options) { control in
                if follow {
                    for await report in try await control.reports() { try print(report) }
                } else {
                    try print(try await control.report())
                }
            }
            return 0
        }
    }

    private func print(_ report: CastDeviceReport) throws {
        let console = options.console
        switch options.output {
        case .json, .ndjson, .yaml: console.out(try Renderer.document(report, options.output))
        case .table, .plain:
            if options.quiet {
                console.out(report.media?.state ?? "idle")
                return
            }
            for (index, line) in CastStatusLines.lines(report).enumerated() {
                console.out(index == 0 ? console.styled(Console.clean(line), .bold) : Console.clean(line))
            }
        }
    }
}

/// A device's report in words.
enum CastStatusLines {
    static func lines(_ report: CastDeviceReport) -> [String] {
        var lines = ["\(report.name) at \(report.address)"]
        if let volume = report.volume { lines.append("  volume: \(words(volume))") }
        for member in report.members ?? [] {
            let level = member.volume.map { ", \(words($0))" } ?? ""
            lines.append("  member: \(member.name ?? member.id)\(level)\(member.plays ? ", plays" : "")")
        }
        if report.isStandBy == true { lines.append("  the device is on stand-by") }
        guard let app = report.app else { return lines + ["  nothing runs"] }
        lines.append("  app: \(app.name ?? app.id) (\(app.id))")
        guard let media = report.media else { return lines + ["  nothing is loaded"] }
        return lines + self.media(media).map { "  " + $0 }
    }

    static func media(_ media: CastMediaReport) -> [String] {
        let by = media.text("artist") ?? media.text("subtitle")
        let reason = media.idleReason.map { " (\($0))" } ?? ""
        var lines = ["\(media.state)\(reason): \(media.title)\(by.map { ", \($0)" } ?? "")"]
        lines.append(place(media) + (media.rate == 1 ? "" : ", at \(number(media.rate)) times the speed"))
        if let video = media.video {
            lines.append("video: \(video.width) × \(video.height)\(video.hdr.map { ", \($0.uppercased())" } ?? "")")
        }
        if let ad = media.ad { lines.append(self.ad(ad)) }
        for track in media.tracks { lines.append(self.track(track)) }
        if let queue = media.queue, queue.count > 1 {
            lines.append("queue: item \((queue.index ?? 0) + 1) of \(queue.count)\(rules(queue))")
            for item in queue.items { lines.append("  " + self.item(item)) }
        }
        return lines
    }

    private static func place(_ media: CastMediaReport) -> String {
        let position = time(media.position)
        guard let live = media.live else {
            return media.duration.map { "\(position) of \(time($0))" }
                ?? (media.stream == "live" ? "live: it plays or stops" : position)
        }
        let behind = live.behind < 2 ? "live" : "\(time(live.behind)) behind live"
        return "\(behind), can go to \(time(live.start)) to \(time(live.end))"
    }

    static func ad(_ ad: CastMediaReport.Ad) -> String {
        var words = "ad: \(ad.title ?? ad.clipID ?? "a clip")"
        if let clip = ad.clip, let clips = ad.clips, clips > 1 { words += ", \(clip) of \(clips)" }
        if let left = ad.breakRemaining { words += ", \(time(left)) left" }
        switch ad.skippableIn {
        case nil: words += ", cannot be skipped"
        case 0?: words += ", can be skipped now: router cast skip-ad"
        case let wait?: words += ", can be skipped in \(number(min(wait.rounded(.up), 86_400))) s"
        }
        return words
    }

    static func track(_ track: CastMediaReport.Track) -> String {
        let about = [track.language, track.name, track.subtype].compactMap { $0 }.joined(separator: ", ")
        return "\(track.kind) track \(track.id)\(about.isEmpty ? "" : ": \(about)")\(track.active ? " (on)" : "")"
    }

    static func item(_ item: CastMediaReport.Item) -> String {
        "\(item.mark == "current" ? "▶" : " ") \(item.itemID)  \(item.name)"
    }

    private static func rules(_ queue: CastMediaReport.Queue) -> String {
        let mode = queue.repeatMode.flatMap { $0 == "off" ? nil : ", repeat \($0)" } ?? ""
        return mode + (queue.shuffle == true ? ", shuffled" : "")
    }

    private static func words(_ volume: CastDeviceReport.Volume) -> String {
        var words = volume.level.map { "\(percent($0)) %" } ?? "not known"
        if volume.muted == true { words += ", muted" }
        if let kind = volume.kind { words += ", \(kind)" }
        if let step = volume.step { words += ", steps of \(number((step * 1000).rounded() / 10)) %" }
        return words
    }

    static func percent(_ level: Double) -> Int { Int((min(1, max(0, level)) * 100).rounded()) }
    static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e9 ? String(Int(value)) : String((value * 100).rounded() / 100)
    }
    private static func time(_ seconds: Double) -> String { ClockTime.format(MediaTime(seconds: seconds)) }
}
