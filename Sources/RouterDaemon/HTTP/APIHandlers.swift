import Foundation
import HTTPTypes
import RouteBackend
import RouteModel
import RouterAPI
import Synchronization

/// What each operation does, on a router.
struct APIHandlers: Sendable {
    let router: any RouterControlling
    let scenes: (any SceneControlling & SceneScheduling)?
    let hub: EventHub
    let desk: WorkDesk
    let meter: ServiceMeter
    let logs: LogRing
    let paths: PathRules
    /// Seconds since 1970.
    let started: Double
    let places: [RouterPlace]

    /// All but the stream of events. Throws `RouterError` and `Problem`.
    func perform(_ call: APICall) async throws -> APIAnswer {
        guard let reach = paths.reach(of: call.client) else { return try await answer(call) }
        let isRefused = Atomic(false)
        do {
            return try await MediaReach.$allows.withValue({ path in
                let isAllowed = reach(path)
                if !isAllowed { isRefused.store(true, ordering: .relaxed) }
                return isAllowed
            }) { try await answer(call) }
        } catch var error as RouterError where error.code == .mediaForbidden && isRefused.load(ordering: .relaxed) {
            // Our own rules said so, and no server of the media.
            error.code = .forbidden
            throw error
        }
    }

    private func answer(_ call: APICall) async throws -> APIAnswer {
        switch call.operation.id {
        case .getCapabilities: return try .json(APICapabilities(scenes: scenes != nil))
        case .getStatus: return try .json(await status())
        case .getDocument: return .text(try OpenAPIDocument.json(), call.operation.contentType)
        case .getMetrics: return .text(await metrics(), call.operation.contentType)
        case .getLogs:
            return try .json(
                logs.last(call.number("limit") ?? 200, glob: call.value("component"), level: call.value("level")))
        case .getWork:
            guard let report = try await desk.report(call.values[0]) else {
                throw nothing("no work has the id \(call.values[0])")
            }
            return report
        case .followEvents: throw nothing("events are a stream")
        case .listRoutes: return try .json(try await router.routes(settle: call.flag("settle")))
        case .setDiscovery:
            await router.discover(try call.body(DiscoveryBody.self).activity)
            return .empty
        case .listRooms: return try .json(try await router.rooms(settle: call.flag("settle")))
        case .createRoom:
            return try .json(
                try await router.saveRoom(try call.body(RoomBody.self).room, replacing: nil), status: 201)
        case .replaceRoom:
            return try .json(
                try await router.saveRoom(try call.body(RoomBody.self).room, replacing: call.values[0]))
        case .removeRoom:
            try await router.removeRoom(call.values[0])
            return .empty
        case .forgetDevice:
            return try .json(UnpairReport(notice: try await router.forgetDevice(call.values[0])))
        case .listGroups: return try .json(try await router.groups())
        case .saveGroup:
            let body = try call.body(GroupBody.self)
            let group = RoomGroup(name: call.values[0], rooms: body.rooms, trims: body.trims ?? [:])
            return try .json(try await router.saveGroup(group))
        case .removeGroup:
            try await router.removeGroup(call.values[0])
            return .empty
        case .explainPlay: return try .json(try await router.explain(try playRequest(call)))
        case .play: return try .json(try await router.play(try playRequest(call)), status: 201)
        case .listSessions, .getSession, .endSession, .joinRooms, .leaveRooms, .performCommand, .transfer, .announce,
            .listRejoinable, .rejoin:
            return try await performOnSession(call)
        case .getQueue, .editQueue, .getQueueChanges, .listSavedQueues, .saveQueue, .removeSavedQueue, .listHistory:
            return try await performOnQueue(call)
        case .startPairing, .finishPairing, .cancelPairing, .listPairings, .unpair:
            return try await performPairing(call)
        case .startScene, .listSceneRuns, .getSceneRun, .cancelScene, .listSchedules, .saveSchedule, .removeSchedule:
            return try await performOnScenes(call)
        }
    }

    func nothing(_ message: String) -> RouterError {
        RouterError(.requestNotFound, message, scope: .command, retry: .afterUserAction)
    }

    private func playRequest(_ call: APICall) throws -> PlayRequest {
        var request = try call.body(PlayBody.self).request
        guard !request.what.isEmpty || request.savedQueue != nil else {
            throw APICall.invalid("there is nothing to play: give “what” or “savedQueue”")
        }
        request.what = try paths.allowed(request.what, workingDirectory: request.workingDirectory, for: call.client)
        request.subtitles = try paths.allowed(request.subtitles, for: call.client)
        return request
    }

    // MARK: Sessions

    private func performOnSession(_ call: APICall) async throws -> APIAnswer {
        switch call.operation.id {
        case .listSessions: return try .json(await router.sessions())
        case .getSession: return try .json(try await session(call.session))
        case .endSession:
            let id = try await session(call.session, orRejoinable: true)
            try await router.end(
                session: id, reason: call.value("reason").flatMap(EndReason.init(rawValue:)) ?? .stop)
            return .empty
        case .joinRooms:
            return try .json(
                try await router.join(session: call.session, rooms: try call.body(RoomsBody.self).rooms))
        case .leaveRooms:
            return try .json(try await router.leave(session: call.session, rooms: call.list("room")))
        case .performCommand:
            let body = try call.body(CommandBody.self)
            return try .json(
                try await router.perform(
                    body.command, session: call.session, origin: (body.origin ?? .api).origin, terms: body.terms))
        case .transfer:
            return try .json(
                try await router.transfer(try call.body(TransferBody.self).request(session: call.session)))
        case .announce:
            var request = try call.body(AnnounceBody.self).request
            let what = try paths.allowed(
                [request.what], workingDirectory: request.workingDirectory, for: call.client)
            request.what = what[0]
            return try .json(try await router.announce(request))
        case .listRejoinable: return try .json(try await router.sessionsToRejoin())
        default: return try .json(try await router.rejoin(SessionID(rawValue: call.values[0])))
        }
    }

    /// Throws `routeNotFound`, and `routeAmbiguous` where none is named and there are several.
    private func session(_ id: SessionID?) async throws -> SessionSnapshot {
        let all = await router.sessions()
        if let id {
            guard let session = all.first(where: { $0.id == id }) else {
                throw RouterError.noSession(id)
            }
            return session
        }
        let running = all.filter { $0.connection != .ended && $0.connection != .failed }
        guard let only = running.first else {
            throw RouterError(
                .routeNotFound, "nothing is playing", hint: "Start something with “router play”", scope: .session)
        }
        guard running.count == 1 else {
            throw RouterError(
                .routeAmbiguous, "\(running.count) sessions are playing, and none was named", scope: .session,
                candidates: running.map(\.id.rawValue))
        }
        return only
    }

    /// What is ended may be known to the store only.
    private func session(_ id: SessionID?, orRejoinable: Bool) async throws -> SessionID {
        if let id { return id }
        return try await session(nil).id
    }

    // MARK: Queues

    private func performOnQueue(_ call: APICall) async throws -> APIAnswer {
        switch call.operation.id {
        case .getQueue: return try tagged(try await session(call.session).queue)
        case .editQueue:
            let body = try call.body(EditBody.self)
            let folder = body.workingDirectory ?? "/"
            let edit = try body.edit.naming { try paths.allowed($0, workingDirectory: folder, for: call.client) }
            return try tagged(
                try await router.edit(
                    edit, session: call.session, ifVersion: try call.version(), workingDirectory: folder))
        case .getQueueChanges:
            return try .json(
                try await router.queueChanges(session: call.session, since: call.number("since") ?? 0))
        case .listSavedQueues: return try .json(try await router.savedQueues())
        case .saveQueue:
            let body = try call.body(SaveQueueBody.self)
            return try .json(try await router.saveQueue(session: body.session, as: call.values[0]))
        case .removeSavedQueue:
            try await router.removeSavedQueue(call.values[0])
            return .empty
        default: return try .json(try await router.history(limit: call.number("limit") ?? 100))
        }
    }

    private func tagged(_ queue: QueueSnapshot) throws -> APIAnswer {
        var answer = try APIAnswer.json(queue)
        answer.fields[.eTag] = "\"\(queue.version)\""
        return answer
    }

    // MARK: Pairing

    private func performPairing(_ call: APICall) async throws -> APIAnswer {
        switch call.operation.id {
        case .startPairing:
            return try .json(try await router.startPairing(try call.body(PairBody.self).device), status: 201)
        case .finishPairing:
            return try .json(
                try await router.finishPairing(call.values[0], code: try call.body(CodeBody.self).code))
        case .cancelPairing:
            try await router.cancelPairing(call.values[0])
            return .empty
        case .listPairings: return try .json(try await router.pairings())
        default: return try .json(UnpairReport(notice: try await router.unpair(call.values[0])))
        }
    }

    // MARK: Scenes

    private func performOnScenes(_ call: APICall) async throws -> APIAnswer {
        guard let scenes else {
            throw RouterError(
                .unsupported, "this daemon runs no scenes", hint: "Run it with “router scene run”", scope: .command)
        }
        switch call.operation.id {
        case .startScene:
            let request = try call.body(SceneBody.self).request
            try requireTrust(call, request)
            return try .json(try await scenes.startScene(request), status: 201)
        case .listSceneRuns: return try .json(try await scenes.sceneRuns())
        case .getSceneRun: return try .json(try await scenes.sceneRun(call.values[0]))
        case .cancelScene:
            try requireTrust(call)
            try await scenes.cancelScene(call.values[0])
            return .empty
        case .listSchedules:
            // Their texts name files.
            try requireTrust(call)
            return try .json(try await scenes.schedules())
        case .saveSchedule:
            let schedule = try call.body(ScheduleBody.self).schedule(id: call.values[0])
            try requireTrust(call, schedule.scene)
            try await scenes.saveSchedule(schedule)
            return .empty
        default:
            try requireTrust(call)
            try await scenes.removeSchedule(call.values[0])
            return .empty
        }
    }

    private func requireTrust(_ call: APICall, _ scene: SceneRequest) throws {
        guard scene.text.utf8.count <= SceneBody.maximumText else {
            throw RouterError(
                .requestTooLarge, "the scene has more than \(SceneBody.maximumText / 1024) KiB",
                hint: "Split it with run_scene", scope: .command)
        }
        try requireTrust(call)
    }

    /// A scene may name any file, and other scenes.
    private func requireTrust(_ call: APICall) throws {
        guard call.client.isTrusted else {
            throw RouterError(
                .forbidden, "scenes may name any file, and are run for who shows the daemon's token only",
                hint: "Ask by its socket, or give it a token", scope: .command, retry: .afterUserAction)
        }
    }

    // MARK: About the daemon

    /// What is known by now: a daemon that has just come up answers before it has read the queues of the one before.
    private func status() async -> DaemonStatus {
        let state = await hub.state
        return DaemonStatus(
            pid: Int(getpid()), started: started, uptime: max(0, Date().timeIntervalSince1970 - started),
            routes: state.routes.routes.count,
            sessions: state.sessions.count { $0.connection != .ended && $0.connection != .failed },
            eventReaders: await hub.readerCount, sequence: await hub.lastSequence, places: places.map(\.description))
    }

    private func metrics() async -> String {
        let state = await hub.state
        return await meter.text(
            sessions: await router.sessions(), routes: state.routes.routes, readers: await hub.readerCount,
            sequence: await hub.lastSequence, pending: await desk.underWay, started: started)
    }
}

extension QueueEdit {
    /// With other names of what comes in.
    fileprivate func naming(_ change: ([String]) throws -> [String]) rethrows -> QueueEdit {
        switch self {
        case .playNext(let what, let settings): .playNext(try change(what), settings: settings)
        case .append(let what, let settings): .append(try change(what), settings: settings)
        case .insert(let what, let before, let settings):
            .insert(try change(what), before: before, settings: settings)
        case .replaceUpcoming(let what, let settings): .replaceUpcoming(try change(what), settings: settings)
        case .move, .remove, .clearUpcoming, .clear, .undo, .failurePolicy, .settings, .describe: self
        }
    }
}
