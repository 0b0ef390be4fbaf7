import Foundation
import MPRISBridge
import Media
import RouteBackend
import RouteModel
import RouterCore
import SceneScript

/// What the daemon runs beside the engine and HTTP. Adding one is adding it to `all`.
struct ServiceParts: Sendable {
    /// Nil: this daemon runs no scenes.
    var scenes: (any SceneControlling & SceneScheduling)?
    /// Each runs until it is cancelled.
    var jobs: [@Sendable () async -> Void] = []
    /// What each has to do before the sessions are left, in order.
    var endings: [@Sendable () async -> Void] = []

    typealias Make =
        @Sendable (_ router: any RouterControlling, _ tell: @escaping @Sendable (Notice) async -> Void) ->
        ServiceParts

    /// Those of a daemon. `tell` reaches every reader of events, and the log.
    static func all(_ setup: RouterSetup, _ composition: RouterComposition) -> Make {
        { router, tell in
            let schedules = setup.storePath.map { FileScheduleStore(besideStore: $0) }
            let host = SceneHost(router: router, schedules: schedules, tell: tell)
            let desktop = MPRISConfiguration(
                artFolder: setup.storePath.map {
                    URL(fileURLWithPath: $0).deletingLastPathComponent().appending(path: "art").path
                }, now: { composition.clock.now() },
                picture: { await composition.media.artwork($0.source, within: .display)?.bytes },
                notice: { setup.say($0) })
            return ServiceParts(
                scenes: host,
                jobs: [
                    { await host.run() }, { await MPRISBridge.run(router: router, configuration: desktop) },
                ], endings: [{ await host.shutdown() }, { await composition.engine.endAnnouncements() }])
        }
    }
}
