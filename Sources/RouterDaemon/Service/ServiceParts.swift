import RouteModel

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

    /// Those of a daemon. `tell` reaches every reader of events.
    static func all(_ setup: RouterSetup, _ options: ServiceOptions) -> Make {
        { _, _ in ServiceParts() }
    }
}
