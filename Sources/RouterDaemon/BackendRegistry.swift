import AirPlayBackend
import CastBackend
import Logging
import Pacing
import RouteBackend
import RouteModel

/// What a backend is made with.
struct BackendContext: Sendable {
    var clock: any HostClock
    /// The process's one sending thread.
    var pacer: Pacer
    var logger: Logger
    /// Where the buttons of AirPlay devices are heard.
    var remotes: AirPlayRemoteControl
    /// How Cast devices are checked.
    var castIdentity: CastIdentityPolicy
    /// Chooses among an item's pictures.
    var images: any ImageChoosing
}

/// The backends of this product. Adding one is adding a row.
enum BackendRegistry {
    struct Row: Sendable {
        var family: RouteFamily
        var make: @Sendable (BackendContext) -> any RouteProvider
    }

    static let rows: [Row] = [
        Row(family: .airplay) {
            AirPlayProvider(clock: $0.clock, pacer: $0.pacer, remotes: $0.remotes, logger: $0.logger)
        },
        Row(family: .cast) {
            CastProvider(
                clock: $0.clock, logger: $0.logger, identity: $0.castIdentity, pacer: $0.pacer, images: $0.images)
        },
    ]
}
