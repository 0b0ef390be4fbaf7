import Foundation
import RouteModel

/// What a command that is done must have brought about, where nobody else acted and the engine is asked right after it.
struct HouseEffect {
    private let line: HouseScript.Line
    private let after: SessionSnapshot?
    private let all: [SessionSnapshot]

    /// - Parameter after: all sessions.
    init(_ line: HouseScript.Line, _ after: [SessionSnapshot]) {
        self.line = line
        self.after = after.first { $0.id == line.session?.id }
        all = after
    }

    /// What cannot be seen of it, in words; nil where all is as it should be.
    var missing: String? {
        if case .play(let items, let rooms, _, let mode) = line.act { return play(items, rooms, mode) }
        guard let before = line.session else { return nil }
        guard let after, after.isGoingOn else {
            if case .command(.stop) = line.act { return nil }
            // Nothing follows the last item but itself, and that was taken out.
            if case .remove(let place) = line.act, before.queue.repeatMode == .one,
                before.queue.items.indices.last == place, before.queue.items[place].id == before.queue.current
            {
                return nil
            }
            // The last item may have come to its end.
            return before.queue.repeatMode == .off ? nil : "\(before.id) is over"
        }
        let (old, new) = (before.queue.items.map(\.id), after.queue.items.map(\.id))
        let rooms = Set(after.members.map(\.name))
        switch line.act {
        case .command(let command): return self.command(command, before, after)
        case .add(let items, let next):
            let added = new.filter { !old.contains($0) }
            guard added.count == items.count, new.filter(old.contains) == old else { return "the queue is \(new)" }
            let place = next ? (new.firstIndex { $0 == before.queue.current } ?? -1) + 1 : old.count
            return Array(new[place...].prefix(added.count)) == added ? nil : "\(added) are at another place in \(new)"
        case .move(let from, let before):
            var wanted = old
            wanted.remove(at: from)
            let place = before.map { old[$0] }.flatMap { wanted.firstIndex(of: $0) }
            // Before itself is where it is.
            wanted.insert(old[from], at: before == from ? from : place ?? wanted.count)
            return new == wanted ? nil : "the queue is \(new), and not \(wanted)"
        case .remove(let place): return new == old.filter { $0 != old[place] } ? nil : "the queue is \(new)"
        case .transfer(.move, let to): return rooms == Set(to) ? nil : "it plays in \(rooms)"
        case .transfer(.expand, let to): return rooms.isSuperset(of: to) ? nil : "it plays in \(rooms)"
        case .transfer(.shrink, let to): return rooms.isDisjoint(with: to) ? nil : "it plays in \(rooms)"
        case .interlude:
            let isBack =
                after.volume?.muted == before.volume?.muted
                && after.volume.map { abs($0.level.value - (before.volume?.level.value ?? -1)) < 0.006 }
                    ?? (before.volume == nil)
            return isBack ? nil : "the volume is \(Self.words(after)), and was \(Self.words(before))"
        case .announce: return new == old ? nil : "the queue is \(new)"
        case .play, .transfer, .open, .undo: return nil
        }
    }

    private func play(_ items: [Int], _ rooms: [String], _ mode: RepeatMode) -> String? {
        guard let session = all.first(where: { $0.isGoingOn && Set($0.members.map(\.name)) == Set(rooms) }) else {
            return "nothing plays in \(rooms)"
        }
        guard session.queue.items.count == items.count, session.queue.repeatMode == mode else {
            return "the queue is \(session.queue)"
        }
        return [.playing, .buffering].contains(session.media) ? nil : "it is \(session.media)"
    }

    private func command(
        _ command: RemoteCommand, _ before: SessionSnapshot, _ after: SessionSnapshot
    ) -> String? {
        switch command {
        // A device that is still filling its buffer says that it pauses once it has.
        case .pause: return [.paused, .buffering].contains(after.media) ? nil : "it is \(after.media)"
        case .play: return after.media == .paused ? "it is paused" : nil
        case .toggle where after.media == .buffering: return nil
        case .toggle: return (after.media == .paused) != (before.media == .paused) ? nil : "it is \(after.media)"
        case .stop: return "it goes on"
        case .shuffle(let on): return (after.queue.original != nil) == on ? nil : "it is not"
        case .repeatMode(let mode): return after.queue.repeatMode == mode ? nil : "it is \(after.queue.repeatMode)"
        case .jump(let item):
            return after.queue.current == item ? nil : "\(String(describing: after.queue.current)) plays"
        case .setVolume(let level, let room):
            // What a desktop's slider asks for may be a step too much at once.
            guard line.client != .desktop else { return nil }
            let shown = room.map { name in after.members.first { $0.name == name }?.volume } ?? after.volume
            return shown.map { abs($0.level.value - level.value) < 0.006 } ?? false
                ? nil : "the volume is \(Self.words(shown)), of \(Self.words(after))"
        case .mute(let muted, nil):
            return after.volume?.muted == muted ? nil : "the volume is \(String(describing: after.volume))"
        default: return nil
        }
    }

    private static func words(_ volume: VolumeState?) -> String {
        volume.map { "\($0.level.value)\($0.muted ? ", muted" : "")" } ?? "none"
    }

    private static func words(_ session: SessionSnapshot) -> String {
        let members = session.members.map { member in
            "\(member.name) \(member.connection) \(words(member.volume)) trim \(member.trim.map(String.init(describing:)) ?? "-")"
        }
        return "\(words(session.volume)): \(members.joined(separator: ", "))"
    }
}
