import Foundation
import RouteModel

/// The player on a terminal: title, progress bar, rooms, keys. Pure: a snapshot in, lines out, each narrower than the
/// terminal and together lower.
struct PlayerView {
    var columns: Int
    var rows: Int
    var styled: (String, Console.Style) -> String

    init(columns: Int, rows: Int, styled: @escaping (String, Console.Style) -> String = { text, _ in text }) {
        // The last column stays free: some terminals wrap a line that fills it.
        self.columns = max(8, columns - 1)
        self.rows = max(2, rows - 1)
        self.styled = styled
    }

    /// A title and who it is by, for a line of text.
    static func describe(_ item: QueueItem) -> String {
        let title = "“\(item.title)”"
        return Console.clean(item.metadata.artist.map { "\(title) by \($0)" } ?? title)
    }

    /// - Parameter question: what the person is asked just now, in place of the keys.
    /// - Parameter now: the router's monotonic clock, in nanoseconds.
    func lines(_ snapshot: SessionSnapshot?, phase: String, question: String? = nil, now: Int64) -> [String] {
        guard let snapshot, let item = snapshot.currentItem else {
            return [question.map { line($0) } ?? styled(line(phase), .dim)]
        }
        var top = [title(item, of: snapshot)]
        let details = [item.metadata.artist, item.metadata.album].compactMap { $0 }.joined(separator: " – ")
        if !details.isEmpty { top.append(line("  " + details)) }
        top.append(bar(snapshot, item: item, now: now))
        var members = snapshot.members.map { room($0, now: now) }
        let place = max(1, rows - top.count - 1)
        if members.count > place {
            members = members.prefix(place - 1) + [styled(line("  and \(members.count - place + 1) more rooms"), .dim)]
        }
        let bottom = question.map { line($0) } ?? styled(keys, .dim)
        // On a terminal of few rows the foot goes first, then the rooms.
        let all = top + members + [bottom]
        return all.count <= rows ? all : Array(all.prefix(rows))
    }

    private func line(_ text: String) -> String { TerminalText.cut(Console.clean(text), to: columns) }

    private func title(_ item: QueueItem, of snapshot: SessionSnapshot) -> String {
        let number = (snapshot.queue.items.firstIndex { $0.id == item.id } ?? 0) + 1
        let place = "  \(number)/\(snapshot.queue.items.count)"
        let glyph =
            switch snapshot.media {
            case .playing: "▶ "
            case .paused: "‖ "
            case .loading, .buffering: "… "
            case .none, .stopped: "■ "
            }
        let left = columns - TerminalText.width(glyph) - TerminalText.width(place)
        guard left >= 8 else { return line(glyph + item.title) }
        let name = TerminalText.cut(Console.clean(item.title), to: left)
        return glyph + styled(name, .bold) + styled(place, .dim)
    }

    private func bar(_ snapshot: SessionSnapshot, item: QueueItem, now: Int64) -> String {
        // While the next item is loaded the anchor is the last one's still.
        let anchor = snapshot.anchor.flatMap { $0.item == item.id ? $0 : nil }
        let elapsed = anchor?.position(at: now) ?? item.start
        let left = ClockTime.format(elapsed)
        guard let duration = anchor?.duration ?? item.metadata.duration, duration > .zero else {
            return line("  \(left)  \(anchor == nil ? "loading" : "live")")
        }
        let right = ClockTime.format(duration)
        let room = columns - left.count - right.count - 4
        guard room >= 4 else { return line("  \(left)/\(right)") }
        let filled = min(room, max(0, Int(Double(room) * elapsed.seconds / duration.seconds)))
        return
            "  \(left) \(String(repeating: "━", count: filled))\(String(repeating: "─", count: room - filled)) \(right)"
    }

    private func room(_ member: SessionMember, now: Int64) -> String {
        let how = member.protocol?.displayName ?? "not connected"
        let head = "  \(Console.clean(member.name)) · \(how) · "
        var state: String
        if let error = member.error {
            state = error.message
        } else if member.volumeHandling == .fixed {
            state = "volume fixed"
        } else if let volume = member.volume {
            state = volume.muted ? "muted" : "volume \(volume.level.percent)"
        } else {
            state = member.connection.rawValue
        }
        if member.connection == .suspended { state = "connection lost, trying again" }
        for extra in extras(member, now: now) { state += " · " + extra }
        // Cut before colours are put in: they take no room, and must not be cut apart.
        let left = columns - TerminalText.width(head)
        guard left >= 4 else { return line(head + state) }
        let shown = TerminalText.cut(Console.clean(state), to: left)
        return head + (member.error == nil ? shown : styled(shown, .red))
    }

    /// What only some rooms have: speed, an ad, a text track, who else is there.
    private func extras(_ member: SessionMember, now: Int64) -> [String] {
        guard member.error == nil else { return [] }
        var extras: [String] = []
        if let rate = member.rate, rate != 1 { extras.append("\(rate)×") }
        if let ad = member.adBreak {
            let skip = ad.skippableIn(at: now).map {
                $0 > .zero ? ", a skips in \(Int($0.seconds.rounded(.up))) s" : ", a skips"
            }
            extras.append("ad" + (ad.clipTitle.map { " “\($0)”" } ?? "") + (skip ?? ""))
        }
        let shown = (member.tracks ?? []).first { $0.kind == .text && (member.activeTracks ?? []).contains($0.id) }
        if let shown { extras.append("subtitles \(shown.name ?? shown.language ?? String(shown.id))") }
        if let video = member.video {
            extras.append("\(video.width)×\(video.height)\(video.dynamicRange.map { " \($0.rawValue)" } ?? "")")
        }
        if let other = member.foreign { extras.append("also “\(other)”") }
        if member.proof?.certainty == .doubtful { extras.append("perhaps not heard") }
        return extras
    }

    private var keys: String {
        let versions = [
            "  space pause  n/p next/previous  ←/→ seek  ↑/↓ volume  m mute  q stop",
            "  space pause  n/p skip  ←→ seek  ↑↓ volume  q stop", "  space n p ←→ ↑↓ m q",
        ]
        return versions.first { TerminalText.width($0) <= columns } ?? line(versions[2])
    }
}
