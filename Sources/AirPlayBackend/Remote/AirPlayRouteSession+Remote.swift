import AirPlay
import RouteBackend
import RouteModel

/// What people do at the device, by DACP and by the event channel.
extension AirPlayRouteSession {
    public nonisolated func deviceCommands() -> AsyncStream<RemoteCommand> { buttons.stream }

    /// A command of the device, whichever way it came.
    func take(_ command: AirPlayRemoteCommand) async {
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

    /// A message of the event channel.
    func take(_ message: AirPlayEventMessage) async {
        if case .command(let command) = message { await take(command) }
        if let volume = message.volume { take(Self.volumeState(volume)) }
    }

    func hearRemote() async {
        guard let remote else { return }
        for await command in remote.commands { await take(command) }
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
