import AirPlay
import RouteBackend
import RouteModel

/// What somebody pressed at a device.
struct DevicePress: Sendable {
    /// By which way it came.
    enum Way: Sendable, Hashable { case dacp, events, stream }

    /// Within this many nanoseconds the same by another way is the same press.
    static let doubling: Int64 = 500_000_000

    var command: AirPlayRemoteCommand
    var way: Way
    /// In host nanoseconds.
    var instant: Int64

    /// Whether this is `last` once more: a device may tell one press by each way that it has.
    func repeats(_ last: DevicePress?) -> Bool {
        guard let last, last.way != way, last.command == command else { return false }
        return instant - last.instant < Self.doubling
    }
}

/// What people do at the device, by DACP, by the event channel and by MRP.
extension AirPlayRouteSession {
    public nonisolated func deviceCommands() -> AsyncStream<RemoteCommand> { buttons.stream }

    /// A command of the device.
    func take(_ command: AirPlayRemoteCommand, by way: DevicePress.Way) async {
        let press = DevicePress(command: command, way: way, instant: hostClock.now())
        guard !press.repeats(lastPress) else { return }
        lastPress = press
        if command == .preventPlayback(true) {
            // Its room alone is concerned: where others play along, they go on.
            return await lose(
                RouterError(
                    .commandSuperseded, "\(descriptor.endpoint.name) is used for something else now",
                    hint: "Play again to take it back", scope: .route), taken: true)
        }
        guard let command = DeviceCommandMapping.command(command, volume: state.value.volume) else { return }
        buttons.continuation.yield(command)
    }

    /// A message of an event channel.
    func take(_ message: AirPlayEventMessage, by way: DevicePress.Way) async {
        if case .command(let command) = message { await take(command, by: way) }
        if let volume = message.volume { take(Self.volumeState(volume)) }
    }

    func hearRemote() async {
        guard let remote else { return }
        for await command in remote.commands { await take(command, by: .dacp) }
    }

    /// Serves the stream for remote control, where there is one, for as long as the device does.
    func serveMediaRemote() async {
        guard let mediaRemote else { return }
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await command in mediaRemote.session.commands { await self.take(command, by: .stream) }
            }
            group.addTask {
                for await status in mediaRemote.session.statuses { await self.take(status.playback) }
            }
            await mediaRemote.run { await self.take($0, by: .stream) }
        }
    }

    /// What the device says over the stream: of that only its volume is ours.
    private func take(_ playback: MRPPlayback) {
        guard let level = playback.volume, pendingVolume == nil else { return }
        let known = state.value.volume
        // A hundredth more or less is how it rounds what we set.
        guard known.map({ $0.muted ? level > 0 : abs($0.level.value - level) > 0.01 }) ?? true else { return }
        take(VolumeState(level: VolumePosition(level)))
    }

    /// Keeps remotes told of what they may ask.
    func tellRemote() async {
        guard let remote else { return }
        for await update in state.stream() {
            let playing: DACPStatus.Playing =
                switch update.media {
                case .playing, .buffering, .loading: .playing
                case .paused: .paused
                case .none, .stopped: .stopped
                }
            let level = update.volume.map { $0.muted ? 0 : $0.level.percent } ?? 0
            remote.report(DACPStatus(playing: playing, volumePercent: level, name: descriptor.endpoint.name))
        }
    }
}
