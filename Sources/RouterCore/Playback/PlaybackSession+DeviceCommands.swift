import RouteBackend
import RouteModel

/// What people do at the devices: it is done to the session, so that a button on a speaker means what the same button
/// means anywhere else.
extension PlaybackSession {
    /// Does what comes from a room's device for as long as that session is the room's.
    func obey(_ index: Int, _ session: any RouteSession, generation: Int) async {
        for await command in session.deviceCommands() {
            guard members[index].generation == generation, !ended, !ending else { return }
            hears(command, from: index)
        }
    }

    /// Takes what somebody wants at a device.
    func hears(_ command: RemoteCommand, from index: Int) {
        guard members[index].alive || members[index].isLent,
            members[index].deviceCommands.add(command, at: clock.now()),
            !members[index].obeying
        else { return }
        members[index].obeying = true
        jobs.add { [self] in await workOff(index) }
    }

    private func workOff(_ index: Int) async {
        defer { members[index].obeying = false }
        while !ended, !members[index].deviceCommands.waiting.isEmpty {
            if members[index].deviceCommands.settles {
                let clock = clock
                guard (try? await clock.sleep(nanoseconds: DeviceCommandQueue.settlingNanoseconds)) != nil else {
                    return
                }
            }
            guard let command = members[index].deviceCommands.take() else { return }
            let outcome: CommandOutcome
            do {
                outcome = try await perform(command, by: members[index].route)
            } catch {
                outcome = .failed(RouterError(wrapping: error))
            }
            await environment.commanded(
                CommandReport(
                    id: .random(), session: id, command: command, origin: .device(members[index].route),
                    outcome: outcome))
            if case .failed(let error) = outcome {
                await notice(.warning, "\(members[index].name): \(error.message)", hint: error.hint, member: index)
            }
        }
    }

    /// Does what a device asks, as far as devices may.
    func perform(
        _ command: RemoteCommand, by route: RouteID, order: CommandOrder = CommandOrder()
    ) async throws -> CommandOutcome {
        guard let index = members.firstIndex(where: { $0.route == route && $0.takesPart }) else {
            return .deviceNotFound
        }
        let policy = CommandPolicy()
        let origin = CommandOrigin.device(route)
        var order = order
        order.origin = origin
        switch policy.ruling(on: command, from: origin, called: members[index].name) {
        case .denied: return .denied
        case .allowed:
            if isEcho(command, of: index) { return .succeeded }
            return try await perform(policy.confined(shown(command, index), to: route), order)
        case .instead(let other, let message, let hint):
            let outcome = try await perform(policy.confined(other, to: route), order)
            await notice(.info, message, hint: hint, member: index)
            return outcome
        }
    }

    /// A level that the device asks for, as its room's slider shows it.
    private func shown(_ command: RemoteCommand, _ index: Int) -> RemoteCommand {
        guard case .setVolume(let level, let room) = command else { return command }
        return .setVolume(members[index].shownVolume(VolumeState(level: level)).level, room: room)
    }

    /// Whether a device only says back what it was told: half of its step is nobody's turn of a knob.
    private func isEcho(_ command: RemoteCommand, of index: Int) -> Bool {
        // While something is announced there it may be that of the clip, too.
        [members[index].volume, announcement?.clipVolumes[index]].compactMap(\.self).contains { volume in
            isEcho(command, of: members[index].deviceVolume(volume), index)
        }
    }

    private func isEcho(_ command: RemoteCommand, of volume: VolumeState, _ index: Int) -> Bool {
        switch command {
        case .setVolume(let level, _):
            let step = members[index].session?.descriptor.volume.step ?? 0.01
            return !volume.muted && abs(level.value - volume.level.value) < step / 2
        case .mute(let muted, _): return volume.muted == muted
        default: return false
        }
    }
}
