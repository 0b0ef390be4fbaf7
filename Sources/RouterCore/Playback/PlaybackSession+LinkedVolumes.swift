import RouteBackend
import RouteModel

/// Linked volumes (`model.md` section 6): who turns one device turns all rooms, as far as their trims say.
extension PlaybackSession {
    func linkVolumes(_ on: Bool) async -> CommandOutcome {
        volumesLinked = on
        await publish()
        return .succeeded
    }

    /// Whether a turn of this room's knob is one of the master. Not where the room is kept to its limit: it does not obey
    /// the master then, and the others are not to fall to where it is. Nor while something is announced there.
    func isLinked(_ index: Int) -> Bool {
        guard volumesLinked, volumes.trims.count > 1, !members[index].isLent,
            let wanted = volumes.level(of: index)
        else { return false }
        return wanted.value <= limited(wanted, index).value + 1e-9
    }

    /// The one room whose device asks for a volume, where that is the master's.
    func turned(_ rooms: [Int], by origin: CommandOrigin) -> Int? {
        switch origin {
        case .device, .otherSender: rooms.count == 1 && isLinked(rooms[0]) ? rooms[0] : nil
        case .cli, .api, .web, .mpris, .scene, .system: nil
        }
    }

    /// A device asks for this level: it and the others are told where they are by that.
    func setLinked(_ level: VolumePosition, by index: Int) async throws -> CommandOutcome {
        volumes.follow(limited(level, index), of: index, atMost: CommandPolicy.longestStep)
        takeLinkedTargets()
        // Turned up there, it is to be heard.
        let level = volumes.level(of: index, limit: limit(of: index)) ?? level
        volumeTargets[index] = VolumeState(level: level)
        return try await writeVolumes(sparesClips: true)
    }

    /// A device was turned to this level: the others are told soon, once for however many turns come meanwhile.
    func moveLinked(by index: Int, to level: VolumePosition) {
        endFades()
        volumes.follow(limited(level, index), of: index, atMost: CommandPolicy.longestStep)
        guard !movesLinked else { return }
        movesLinked = true
        jobs.add { [self] in await writeLinked() }
    }

    private func writeLinked() async {
        await serially {
            movesLinked = false
            guard !ended, !ending, volumesLinked else { return }
            takeLinkedTargets()
            do {
                _ = try await writeVolumes(sparesClips: true)
            } catch {
                let error = RouterError(wrapping: error)
                await notice(.warning, error.message, hint: error.hint)
            }
        }
    }

    /// Rooms that are not where master and trim have them. One that is louder than its limit is left to who keeps that.
    private func takeLinkedTargets() {
        for index in volumes.trims.keys
        where members[index].volumeCanBeSet && (members[index].alive || members[index].isLent) {
            guard let known = members[index].volume, let target = volumes.level(of: index, limit: limit(of: index)),
                abs(limited(known.level, index).value - target.value) > 1e-6
            else { continue }
            volumeTargets[index] = VolumeState(level: target, muted: known.muted)
        }
    }
}
