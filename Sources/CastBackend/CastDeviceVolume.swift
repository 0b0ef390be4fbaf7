import CastV2
import RouteBackend
import RouteModel

/// The volume of the device itself (C17), which URLs and streams are heard at alike.
extension CastSession {
    /// Sets what is not so already, one property for each message: that is what devices take best.
    ///
    /// Throws `CastRequestFailure`, and `CancellationError` where the session ended meanwhile.
    func setDeviceVolume(_ volume: VolumeState) async throws {
        let known = current.receiver?.volume
        if known?.muted != volume.muted { try await set(.setMuted(volume.muted)) }
        if known?.level != volume.level.value { try await set(.setVolume(level: volume.level.value)) }
    }

    private func set(_ request: CastReceiverRequest) async throws {
        switch await self.request(.receiver(request)).result() {
        case .completed, .replaced: return
        case .cancelled: throw CancellationError()
        case .failed(let failure): throw failure
        }
    }
}

extension CastErrors {
    var fixedVolume: RouterError {
        RouterError(
            .unsupported, "the volume of \(name) is fixed", hint: "Use the device's own control", scope: .command)
    }

    /// Of `setDeviceVolume`.
    func settingVolume(_ error: any Error) -> RouterError {
        if let failure = error as? CastRequestFailure { return request(failure, doing: "setting the volume") }
        return RouterError(.cancelled, "setting the volume of \(name) was cancelled", scope: .command)
    }
}
