// Launching, joining and leaving apps (C3 to C5; `Protocols/cast` section 6).

extension CastSession {
    /// Joins the app if it runs, else launches it; then opens the connection to it and asks what it plays, without
    /// waiting for an answer.
    ///
    /// - Parameter consent: told when a person must allow the launch at the device.
    /// - Throws: `CastRequestFailure`, `CancellationError`.
    public func launchOrJoin(
        appID: String, consent: @escaping @Sendable () -> Void = {}
    ) async throws -> CastAppSession {
        try await launchOrJoin(CastLaunch(appID: appID), consent: consent)
    }

    /// As `launchOrJoin(appID:)`, with all that a launch can say. What a launch is handed does not reach an app that
    /// runs already.
    public func launchOrJoin(
        _ launch: CastLaunch, consent: @escaping @Sendable () -> Void = {}
    ) async throws -> CastAppSession {
        if let app = state.runningApp, app.appID.lowercased() == launch.appID.lowercased() { return app }
        _ = try await Self.value(of: receiverStatus())
        if let running = state.receiver?.application(appID: launch.appID), !running.transportID.isEmpty {
            return try await attach(running, origin: .joined)
        }
        return try await self.launch(launch, consent: consent)
    }

    /// Launches the app, in place of whatever runs, also of the same app. A launch that fails in passing is tried once
    /// more.
    ///
    /// - Throws: `CastRequestFailure`, whose `launchProblem` has the words; `CancellationError`.
    public func launch(
        _ launch: CastLaunch, consent: @escaping @Sendable () -> Void = {}
    ) async throws -> CastAppSession {
        var retried = false
        while true {
            switch await submit(.receiver(.launch(launch)), consent: consent).result() {
            case .completed(.receiverStatus(let status)):
                guard let running = status.application(appID: launch.appID) else {
                    throw CastRequestFailure.launchFailed(reason: nil)
                }
                return try await attach(running, origin: .launched)
            case .failed(let failure) where !retried && failure.launchProblem?.isPassing == true: retried = true
            case let result:
                _ = try Self.value(of: result)
                throw CastRequestFailure.launchFailed(reason: nil)
            }
        }
    }

    /// Joins exactly this session of this app, if it still runs; launches nothing and displaces nobody.
    ///
    /// - Throws: `CastRequestFailure` where the device does not tell what runs, `CancellationError`.
    public func join(sessionID: String, appID: String) async throws -> CastJoinResult {
        if let app = state.runningApp, app.sessionID == sessionID { return .joined(app) }
        return try await join { $0.sessionID == sessionID && $0.appID.lowercased() == appID.lowercased() }
    }

    /// Joins whatever app people see, as one more sender.
    ///
    /// - Parameter namespace: only an app that lists it; for others the answer is `other`.
    /// - Throws: as `join(sessionID:appID:)`.
    public func joinRunning(speaking namespace: String? = nil) async throws -> CastJoinResult {
        try await join { app in !app.isIdleScreen && namespace.map { app.namespaces.contains($0) } ?? true }
    }

    private func join(where fits: (CastApplication) -> Bool) async throws -> CastJoinResult {
        _ = try await Self.value(of: receiverStatus())
        if let starting = state.receiver?.applications.first(where: fits), starting.transportID.isEmpty {
            // It is only just starting: the status that has its address is on its way, or comes when asked for.
            _ = try await Self.value(of: request(.receiver(.getStatus)).result())
        }
        if let app = state.receiver?.applications.first(where: { fits($0) && !$0.transportID.isEmpty }) {
            if let joined = state.runningApp, joined.sessionID == app.sessionID { return .joined(joined) }
            return .joined(try await attach(app, origin: .joined))
        }
        return state.receiver?.activeApplication.map(CastJoinResult.other) ?? .gone
    }

    /// Opens the connection to a running app. What this session had to do with another app is over.
    private func attach(_ running: CastApplication, origin: CastAppSession.Origin) async throws -> CastAppSession {
        let wait = CastAppQuirks.of(appID: running.appID).waitBeforeConnect
        if wait > 0 {
            try await clock.sleepUntil(clock.now() + wait)
            // It may have gone meanwhile; before the first status there is nothing that could tell.
            if let receiver = state.receiver, receiver.application(sessionID: running.sessionID) == nil {
                throw CastRequestFailure.appClosed
            }
        }
        if case .closed(let error) = state.connection { throw CastRequestFailure.connectionLost(error) }
        let app = CastAppSession(
            appID: running.appID, displayName: running.displayName, sessionID: running.sessionID,
            transportID: running.transportID, origin: origin)
        var actions: [CastChannelStateMachine.Action] = []
        if let before = state.runningApp, before.transportID != app.transportID {
            actions += machine.disconnect(from: before.transportID, now: clock.now())
        }
        state.app = .running(app)
        state.media = CastMediaTracker()
        state.mediaFailure = nil
        state.appGoodbye = nil
        state.stoppedByUs = false
        reconnectedApp = false
        actions += machine.connect(to: app.transportID, now: clock.now())
        followChannels()
        publish()
        await apply(actions)
        // A running app may play already; a fresh one has nothing to tell.
        if origin == .joined, running.mayPlay {
            _ = await request(.media(.getStatus, transport: app.transportID, session: app.sessionID))
        }
        return app
    }

    /// Leaves the app as it is: it goes on without us.
    public func leave() async {
        guard let app = state.runningApp else { return }
        state.app = .none
        state.media = CastMediaTracker()
        followChannels()
        publish()
        await apply(machine.disconnect(from: app.transportID, now: clock.now()))
    }

    /// Stops the app. Completed, too, where none is running.
    public func stopApp() async -> CastRequestResult {
        guard let app = state.runningApp else {
            return .completed(.receiverStatus(state.receiver ?? CastReceiverStatus()))
        }
        state.stoppedByUs = true
        let result = await request(.receiver(.stop(sessionID: app.sessionID))).result()
        if case .completed = result { return result }
        state.stoppedByUs = false
        return result
    }

    /// Which of these apps the device can run. Apps that it says nothing of are missing; nil where it never answers, as
    /// some devices do.
    public func availability(of appIDs: [String]) async -> [String: Bool]? {
        guard
            case .completed(.appAvailability(let answers)) = await request(
                .receiver(.getAppAvailability(appIDs: appIDs))
            ).result()
        else { return nil }
        return answers
    }

    /// What a new status means for the app that this session talks to.
    func followApp(_ status: CastReceiverStatus) -> [CastChannelStateMachine.Action] {
        defer { followChannels() }
        guard let app = state.runningApp else { return [] }
        guard status.application(sessionID: app.sessionID) != nil else {
            state.app = .gone(by: status.activeApplication)
            return machine.appVanished(app.transportID)
        }
        // Closed by an app that still runs: one more try to talk to it.
        let actions = machine.connect(to: app.transportID, now: clock.now())
        guard !actions.isEmpty else { return [] }
        if reconnectedApp {
            state.app = .gone(by: nil)
            return []
        }
        reconnectedApp = true
        return actions + ask(.media(.getStatus, transport: app.transportID, session: app.sessionID))
    }
}

extension CastApplication {
    /// Whether it may have something to say of media: it lists the namespace, or lists none at all.
    var mayPlay: Bool { namespaces.isEmpty || namespaces.contains(CastNamespace.media) }
}
