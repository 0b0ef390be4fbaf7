import CastV2
import Foundation

/// The receiver namespace (`Protocols/cast` section 7): status, apps and device volume.
extension CastReceiverMachine {
    /// The idle screen is listed by devices too, but is not launched by senders.
    private func launchable(_ id: String?) -> SimulatedCastApp? {
        configuration.apps.first { app in
            guard app.id == id else { return false }
            return configuration.capabilities & 1 != 0 || !(Self.streamingApps[app.id]?.needsVideo ?? false)
        }
    }

    mutating func receiverRequest(_ json: JSONValue, _ asker: CastAsker, _ now: Int64) {
        switch json["type"]?.string {
        case "GET_STATUS": replyStatus(asker)
        case "LAUNCH": launch(json, asker, now)
        case "STOP":
            let session = json["sessionId"]?.string
            guard session == nil || session == app?.sessionID else { return refuse(asker, "INVALID_SESSION_ID") }
            guard let running = app, !running.isIdleScreen else { return replyStatus(asker) }
            note("appStopped", ["app": .string(running.id), "sender": .string(asker.sender)])
            stopApp(at: now)
            if configuration.stopStyle == .reply { replyStatus(asker) }
            broadcastStatus()
        case "SET_VOLUME":
            let volume = json["volume"]
            guard volume?["level"]?.double != nil || volume?["muted"]?.bool != nil else {
                return refuse(asker, "INVALID_PARAMS")
            }
            guard configuration.volumeControl != .fixed || volume?["level"] == nil else {
                return refuse(asker, "INVALID_COMMAND")
            }
            setVolume(level: volume?["level"]?.double, muted: volume?["muted"]?.bool)
            replyStatus(asker)
            broadcastStatus()
        case "GET_APP_AVAILABILITY":
            guard let ids = json["appId"]?.array?.compactMap(\.string) else { return refuse(asker, "INVALID_PARAMS") }
            let availability = ids.map { id in
                (id, JSONValue.string(launchable(id) == nil ? "APP_UNAVAILABLE" : "APP_AVAILABLE"))
            }
            let answer: JSONValue = [
                "requestId": .integer(asker.requestID), "responseType": "GET_APP_AVAILABILITY",
                "availability": .object(Dictionary(availability) { first, _ in first }),
            ]
            reply(answer, CastNamespace.receiver, asker)
        default: refuse(asker, "INVALID_COMMAND")
        }
    }

    /// Changes the device's volume, whoever wants it.
    mutating func setVolume(level: Double?, muted: Bool?) {
        if let level { scaleMembers(to: min(1, max(0, level))) }
        if let muted { muteMembers(muted) }
        if let level { self.level = min(1, max(0, level)) }
        if let muted { self.muted = muted }
        note("volume", ["level": .number(self.level), "muted": .bool(self.muted)])
        let gain = self.muted ? 0 : self.level
        changeMedia { $0.setDeviceGain(gain) }
    }

    /// Somebody turns the device's own volume.
    mutating func volumeTurned(to level: Double) {
        setVolume(level: level, muted: nil)
        broadcastStatus()
    }

    var volume: JSONValue {
        [
            "controlType": .string(configuration.volumeControl.rawValue), "level": .number(level),
            "muted": .bool(muted), "stepInterval": .number(configuration.volumeStep),
        ]
    }

    private mutating func launch(_ json: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let id = json["appId"]?.string ?? ""
        guard !id.isEmpty else { return launchError("BAD_PARAMETER", asker) }
        note("launch", ["app": .string(id), "sender": .string(asker.sender)])
        if let reason = configuration.faults.launchError, configuration.faults.launchErrorApp ?? id == id {
            return launchError(reason, asker)
        }
        guard let wanted = launchable(id) else { return launchError("NOT_FOUND", asker) }
        // What runs already is joined, whatever the user thinks.
        if configuration.launchStyle == .userAuthorization, app?.id != id {
            if let waiting = waitingLaunch { launchError("CANCELLED", waiting.asker) }
            waitingLaunch = (asker, wanted)
            return launchStatus("USER_PENDING_AUTHORIZATION", asker)
        }
        run(wanted, asker, now)
    }

    /// Somebody at the device decides about the launch that waits.
    mutating func decideLaunch(allowed: Bool, at now: Int64) {
        guard let (asker, wanted) = waitingLaunch else { return }
        waitingLaunch = nil
        guard allowed else {
            launchStatus("USER_NOT_ALLOWED", asker)
            return launchError("CANCELLED", asker)
        }
        run(wanted, asker, now)
    }

    private mutating func launchStatus(_ status: String, _ asker: CastAsker) {
        note("launchStatus", ["status": .string(status)])
        let progress: JSONValue = [
            "type": "LAUNCH_STATUS", "launchRequestId": .integer(asker.requestID), "status": .string(status),
        ]
        reply(progress, CastNamespace.receiver, asker)
    }

    private mutating func run(_ wanted: SimulatedCastApp, _ asker: CastAsker, _ now: Int64) {
        isStandBy = false
        // A launch of what runs already joins it.
        if app?.id != wanted.id {
            if app != nil { stopApp(at: now, startingIdleApp: false) }
            let own = wanted.plays ? [CastNamespace.media] : []
            start(
                id: wanted.id, name: wanted.name, namespaces: own + wanted.namespaces, plays: wanted.plays,
                echoes: wanted.role == .echo)
        }
        if configuration.launchStyle != .classic {
            broadcastStatus()
            launchStatus("USER_ALLOWED", asker)
            replyStatus(asker)
        } else {
            replyStatus(asker)
            broadcastStatus()
        }
        pushPlaybackSession()
        if configuration.faults.closesAfterLaunch {
            stopApp(at: now)
            broadcastStatus()
        }
    }

    private mutating func start(id: String, name: String, namespaces: [String], plays: Bool, echoes: Bool = false) {
        let number = nextLaunch()
        app = App(
            id: id, displayName: name, sessionID: UUID().uuidString.lowercased(),
            // Not the session id: senders that mix the two up are found out.
            transportID: "web-\(number)", namespaces: namespaces, isIdleScreen: id == Self.backdrop,
            echoes: echoes, media: plays ? CastMediaMachine(configuration, deviceGain: muted ? 0 : level) : nil,
            statusText: id == Self.backdrop ? "" : name)
        changeMedia { _ in }
    }

    mutating func startIdleApp() {
        app = nil
        if configuration.idleApp == .backdrop {
            start(id: Self.backdrop, name: "Backdrop", namespaces: [], plays: false)
        }
    }

    /// Ends the app: its senders hear CLOSE from its transport id.
    mutating func stopApp(at now: Int64, startingIdleApp: Bool = true) {
        guard let old = app else { return }
        stopStreaming()
        changeMedia { media in
            if media.isActive { media.end(reason: "CANCELLED", at: now, answering: nil) }
        }
        for (id, connection) in connections.sorted(by: { $0.key < $1.key }) {
            let ours = connection.links.keys.filter { $0.destination == old.transportID }
            for link in ours.sorted(by: { $0.sender < $1.sender }) { close(link, .closedBySelf, id) }
        }
        app = nil
        if startingIdleApp { startIdleApp() }
    }

    /// Another sender starts an app that we know nothing of.
    mutating func anotherAppTakesOver(name: String, at now: Int64) {
        note("takenOver", ["by": .string(name)])
        stopApp(at: now, startingIdleApp: false)
        start(id: "233637DE", name: name, namespaces: ["urn:x-cast:com.google.youtube.mdx"], plays: false)
        broadcastStatus()
    }

    private mutating func launchError(_ reason: String, _ asker: CastAsker) {
        note("launchRefused", ["reason": .string(reason)])
        var error: [String: JSONValue] = [
            "type": "LAUNCH_ERROR", "requestId": .integer(asker.requestID), "reason": .string(reason),
        ]
        error["extendedError"] = configuration.faults.launchErrorDetail.map { .string($0) }
        reply(.object(error), CastNamespace.receiver, asker)
    }

    private mutating func refuse(_ asker: CastAsker, _ reason: String) {
        note("refused", ["reason": .string(reason)])
        let error: JSONValue = [
            "type": "INVALID_REQUEST", "requestId": .integer(asker.requestID), "reason": .string(reason),
        ]
        reply(error, CastNamespace.receiver, asker)
    }

    // MARK: Status

    private mutating func replyStatus(_ asker: CastAsker) {
        reply(status(requestID: asker.requestID), CastNamespace.receiver, asker)
    }

    mutating func broadcastStatus() {
        broadcast(status(requestID: 0), CastNamespace.receiver, from: CastAddress.platformReceiver)
    }

    func status(requestID: Int) -> JSONValue {
        var status: [String: JSONValue] = ["userEq": [:], "volume": volume]
        if configuration.capabilities & 1 != 0 {
            status["isActiveInput"] = .bool(!isStandBy)
            status["isStandBy"] = .bool(isStandBy)
        }
        if let app {
            let connected = connections.values.contains {
                $0.links.contains { $0.key.destination == app.transportID && $0.value.kind != .invisible }
            }
            status["applications"] = [
                [
                    "appId": .string(app.id), "appType": "WEB", "displayName": .string(app.displayName), "iconUrl": "",
                    "isIdleScreen": .bool(app.isIdleScreen), "launchedFromCloud": false,
                    "namespaces": .array(app.namespaces.map { ["name": .string($0)] }),
                    "senderConnected": .bool(connected), "sessionId": .string(app.sessionID),
                    "statusText": .string(app.statusText), "transportId": .string(app.transportID),
                    "universalAppId": .string(app.id),
                ]
            ]
        }
        return ["type": "RECEIVER_STATUS", "requestId": .integer(requestID), "status": .object(status)]
    }
}
