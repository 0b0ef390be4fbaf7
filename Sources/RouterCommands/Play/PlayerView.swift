import Foundation
import RouteModel

/// The player on a terminal: title, progress bar, rooms, keys. Pure: a snapshot in, lines out.
struct PlayerView {
    static func describe(_ item: QueueItem) -> String {
        let title = "“\(item.title)”"
        return item.metadata.artist.map { "\(title) by \($0)" } ?? title
    }

    func lines(_ snapshot: SessionSnapshot?, phase: String, console: Console, now: Int64) -> [String] {
        guard let snapshot, let item = snapshot.currentItem else {
            return [console.styled(Self.cut(phase, to: console.width), .dim)]
        }
        let width = max(20, console.width - 1)
        let number = (snapshot.queue.items.firstIndex { $0.id == item.id } ?? 0) + 1
        let details = [item.metadata.artist, item.metadata.album].compactMap { $0 }.joined(separator: " – ")
        let position = "\(number)/\(snapshot.queue.items.count)"
        var lines = [
            "\(glyph(snapshot.media)) \(console.styled(Self.cut(Console.clean(item.title), to: width - 12), .bold))  \(console.styled(position, .dim))"
        ]
        if !details.isEmpty { lines.append("  " + Self.cut(Console.clean(details), to: width - 2)) }
        lines.append(bar(snapshot, item: item, width: width, now: now))
        for member in snapshot.members { lines.append(room(member, console: console, width: width)) }
        lines.append(console.styled("  space pause  n/p next/previous  ←/→ seek  ↑/↓ volume  m mute  q stop", .dim))
        return lines
    }

    private func glyph(_ state: MediaState) -> String {
        switch state {
        case .playing: "▶"
        case .paused: "‖"
        case .loading, .buffering: "…"
        case .none, .stopped: "■"
        }
    }

    private func bar(_ snapshot: SessionSnapshot, item: QueueItem, width: Int, now: Int64) -> String {
        let elapsed = snapshot.anchor?.position(at: now) ?? .zero
        guard let duration = snapshot.anchor?.duration ?? item.metadata.duration, duration > .zero else {
            return "  \(ClockTime.format(elapsed))  live"
        }
        let times = (ClockTime.format(elapsed), ClockTime.format(duration))
        let room = max(4, width - times.0.count - times.1.count - 6)
        let filled = min(room, Int(Double(room) * elapsed.seconds / duration.seconds))
        let line = String(repeating: "━", count: filled) + String(repeating: "─", count: room - filled)
        return "  \(times.0) \(line) \(times.1)"
    }

    private func room(_ member: SessionMember, console: Console, width: Int) -> String {
        let how = member.protocol?.displayName ?? "connecting"
        let state: String
        if let error = member.error {
            state = console.styled(error.message, .red)
        } else if member.volumeHandling == .fixed {
            state = "volume fixed"
        } else if let volume = member.volume {
            state = volume.muted ? "muted" : "volume \(volume.level.percent)"
        } else {
            state = member.connection.rawValue
        }
        return Self.cut("  \(Console.clean(member.name)) · \(how) · \(Console.clean(state))", to: width)
    }

    static func cut(_ text: String, to width: Int) -> String {
        text.count <= width ? text : String(text.prefix(max(1, width - 1))) + "…"
    }
}
