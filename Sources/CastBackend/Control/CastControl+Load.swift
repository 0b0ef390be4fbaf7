import CastV2
import RouteBackend
import RouteModel

// Loading, and carrying what plays to another device (C6, C7, C8).

extension CastControl {
    /// Loads one thing, in the app that `appID` names, else in the one that the device's address names, else in the
    /// Default Media Receiver; the app is joined where it runs, else launched in place of what does. Returns when it
    /// plays, or is ready where `autoplay` is false.
    ///
    /// `rate` is 0.5 to 2.
    public func load(_ item: CastLoadItem, autoplay: Bool = true, rate: Double? = nil, appID: String? = nil)
        async throws
    {
        try await load(.load(try item.load(autoplay: autoplay, rate: rate)), appID: appID)
    }

    /// What is loaded when a load begins, and what the answer says that it became.
    private struct Started: Sendable {
        var before: Int?
        var mediaSessionID: Int?

        /// True when it plays or is ready; throws what went wrong.
        func check(_ state: CastSessionState, _ errors: CastErrors) throws -> Bool {
            if case .closed(let reason) = state.connection { throw errors.lost(reason) }
            if case .gone(let other) = state.app {
                throw errors.superseded(by: other.map { $0.displayName ?? $0.appID })
            }
            let id = mediaSessionID ?? state.media.currentID.flatMap { $0 == before ? nil : $0 }
            guard let status = id.flatMap({ state.media[$0] }) else {
                if let failure = state.mediaFailure { throw errors.media(failure) }
                return false
            }
            switch (status.playerState, status.idleReason) {
            case (.playing, _), (.paused, _), (.idle, .finished): return true
            case (.idle, .error): throw errors.media(state.mediaFailure ?? CastMediaFailure())
            case (.idle, .interrupted), (.idle, .cancelled):
                throw RouterError(
                    .commandSuperseded, "another sender's command took the place of this load",
                    hint: "Load again to take the device back", scope: .item)
            case (.idle, nil), (.buffering, _), (.loading, _):
                if let failure = state.mediaFailure { throw errors.media(failure) }
                return false
            }
        }
    }

    func load(_ request: CastMediaRequest, appID: String?) async throws {
        let app = appID ?? endpoint.facts["app"] ?? CastApplication.defaultMediaReceiverID
        do {
            _ = try await session.launchOrJoin(appID: app)
        } catch {
            throw errors.opening(error)
        }
        var started = Started(before: await session.current.media.currentID)
        if case .mediaStatus(let updates) = try await ask(request, doing: "loading") {
            let named = updates.compactMap { $0.loading?.mediaSessionID ?? $0.mediaSessionID }
            started.mediaSessionID = named.filter { $0 != started.before }.max() ?? named.max()
        }
        try await untilStarted(started)
    }

    private func untilStarted(_ started: Started) async throws {
        let (states, clock, errors, session) = (await session.states(), clock, errors, session)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await state in states where try started.check(state, errors) { return }
                // The last state of a connection may pass by while it ends.
                guard try started.check(await session.current, errors) else { throw CancellationError() }
            }
            group.addTask {
                try await clock.sleep(nanoseconds: Self.startLimit)
                throw RouterError(
                    .timeout, "\(errors.name) took the media and did not begin to play",
                    hint: "Check that the device can fetch it: it may not reach this address", scope: .item,
                    retry: .later)
            }
            defer { group.cancelAll() }
            do {
                try await group.next()
            } catch is CancellationError {
                throw RouterError(.cancelled, "loading on \(errors.name) was given up", scope: .command)
            }
        }
    }

    // MARK: Transfer

    /// Carries what plays here over to another device: by the app's own means where it has them, else by loading it
    /// there at its position. It ends here only once it plays there, and goes on here where it does not.
    public func transfer(to target: CastControl) async throws -> CastTransferReport {
        let status = try await loaded()
        guard let app = await session.current.runningApp else { throw errors.superseded(by: nil) }
        let report = CastMediaReport(status, queue: await session.current.media.queue, now: clock.now())
        var result = CastTransferReport(
            from: endpoint.name, to: target.endpoint.name, method: "session", title: report.title,
            position: report.position, items: 1)
        if status.supportedMediaCommands?.contains(.streamTransfer) ?? false,
            let stored = try await stored(status.mediaSessionID)
        {
            try await target.load(.resumeSession(stored), appID: app.appID)
            result.items = max(1, report.queue?.count ?? 1)
        } else {
            result.method = "load"
            (result.position, result.items) = try await hand(status, app.appID, to: target)
        }
        try await endHere()
        return result
    }

    /// Nil where the app says that it can, and does not.
    private func stored(_ id: Int) async throws -> CastStoredSession? {
        switch await session.media(.storeSession(mediaSessionID: id)).result() {
        case .completed(.storedSession(let stored)): return stored.isEmpty ? nil : stored
        case .completed, .failed(.invalidRequest), .failed(.timedOut): return nil
        case let result:
            _ = try reply(result, doing: "storing the session")
            return nil
        }
    }

    /// Loads what plays here on `target`, and gives the position and how many items it took over.
    private func hand(
        _ status: CastMediaStatus, _ appID: String, to target: CastControl
    ) async throws -> (position: Double, items: Int) {
        guard let media = status.media, !media.contentID.isEmpty else {
            throw RouterError(
                .unsupported, "the app on \(errors.name) does not tell what it plays", hint: "Start it there anew",
                scope: .command)
        }
        let plays = status.playerState != .paused
        let held = plays && status.canPause
        if held { try await ask(.pause(mediaSessionID: status.mediaSessionID), doing: "pausing") }
        let now = await session.current.media[status.mediaSessionID] ?? status
        let position = now.isLive ? 0 : now.position(at: clock.now())
        do {
            let items = await session.current.media.queue.exists ? try await wholeQueue() : []
            let mirror = await session.current.media.queue
            if items.count > 1, items.allSatisfy({ $0.media != nil }), let index = mirror.currentIndex {
                var queue = items
                queue[index].autoplay = plays
                queue[index].activeTrackIDs = now.activeTrackIDs.isEmpty ? nil : now.activeTrackIDs
                let load = CastQueueLoad(
                    items: queue, startIndex: index, currentTime: now.isLive ? nil : position,
                    repeatMode: mirror.repeatMode)
                try await target.load(.queueLoad(load), appID: appID)
                if now.playbackRate != 1 { try await target.setRate(now.playbackRate) }
                return (position, items.count)
            }
            var load = CastLoad(media: media, autoplay: plays, currentTime: now.isLive ? nil : position)
            load.activeTrackIDs = now.activeTrackIDs.isEmpty ? nil : now.activeTrackIDs
            load.playbackRate = now.playbackRate == 1 ? nil : now.playbackRate
            load.customData = now.customData
            try await target.load(.load(load), appID: appID)
            return (position, 1)
        } catch {
            if held { _ = try? await ask(.play(mediaSessionID: status.mediaSessionID), doing: "going on") }
            throw error
        }
    }

    /// The media ends here. That it has ended by itself, as where the app moved it, is as good.
    private func endHere() async throws {
        guard let status = await session.current.media.current, !status.hasEnded else { return }
        switch await session.media(.stop(mediaSessionID: status.mediaSessionID)).result() {
        case .completed, .replaced, .failed(.invalidRequest), .failed(.invalidPlayerState), .failed(.appClosed): return
        case let result: _ = try reply(result, doing: "stopping")
        }
    }
}
