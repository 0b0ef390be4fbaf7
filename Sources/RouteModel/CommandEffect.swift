/// What a command is to bring about, as a snapshot shows it.
public struct CommandEffect: Sendable {
    private let command: RemoteCommand
    private let before: SessionSnapshot

    public init(_ command: RemoteCommand, before: SessionSnapshot) {
        self.command = command
        self.before = before
    }

    public var isStop: Bool { command == .stop }

    /// Nil where no snapshot can show it.
    public func isSeen(in now: SessionSnapshot) -> Bool? {
        switch command {
        case .play: return now.media == .playing
        case .pause: return now.media == .paused
        case .toggle: return now.media != before.media && (now.media == .playing || now.media == .paused)
        case .stop: return !now.isActive
        case .next, .previous: return now.queue.current != before.queue.current || now.anchor != before.anchor
        case .jump(let item): return now.queue.current == item
        case .seek(let time): return isNear(time, now)
        case .seekBy: return now.anchor != before.anchor
        case .setVolume(let level, let room): return volumes(room, now).map { $0.allSatisfy { near($0.level, level) } }
        case .mute(let muted, let room): return volumes(room, now).map { $0.allSatisfy { $0.muted == muted } }
        case .stepVolume(_, let room): return volumes(room, now) != volumes(room, before)
        case .shuffle(let on): return (now.queue.original != nil) == on
        case .toggleShuffle: return (now.queue.original == nil) != (before.queue.original == nil)
        case .repeatMode(let mode): return now.queue.repeatMode == mode
        case .trim(let trim, let room):
            return now.members.first { $0.isIn(room) }?.trim.map { abs($0 - trim) < 0.01 }
        case .linkVolumes(let on): return (now.volumesLinked ?? false) == on
        case .setStreamVolume, .rate, .selectTracks, .skipAd, .fade: return nil
        }
    }

    private func isNear(_ time: MediaTime, _ now: SessionSnapshot) -> Bool {
        guard let position = now.position else { return false }
        // It may have played on since.
        return abs(position.seconds - time.seconds) < 3
    }

    private func near(_ left: VolumePosition, _ right: VolumePosition) -> Bool { abs(left.value - right.value) < 0.02 }

    /// Of the room, or of the session as a whole; nil where none is known.
    private func volumes(_ room: String?, _ snapshot: SessionSnapshot) -> [VolumeState]? {
        guard let room else { return snapshot.shownVolume.map { [$0] } }
        let volumes = snapshot.members.filter { $0.isIn(room) }.compactMap(\.volume)
        return volumes.isEmpty ? nil : volumes
    }
}

extension SessionSnapshot {
    /// Whether there is something to pause, to skip or to turn down.
    public var isActive: Bool {
        switch connection {
        case .ended, .failed, .ending: false
        case .connecting: media != .stopped
        case .idle, .connected, .suspended: media != .none && media != .stopped
        }
    }

    /// What a slider for all rooms shows: the master, or the only room's own.
    public var shownVolume: VolumeState? {
        if let volume { return volume }
        let volumes = members.filter { $0.error == nil }.compactMap(\.volume)
        guard let loudest = volumes.max(by: { $0.level < $1.level }) else { return nil }
        return VolumeState(level: loudest.level, muted: volumes.allSatisfy(\.muted))
    }
}

extension SessionMember {
    /// Whether a room's name means it: its own, or that of the room that it is one of several devices of.
    public func isIn(_ room: String) -> Bool {
        name.lowercased() == room.lowercased() || roomName.lowercased() == room.lowercased()
    }
}
