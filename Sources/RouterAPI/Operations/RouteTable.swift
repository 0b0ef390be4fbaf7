import RouteModel

/// Every operation of the API. Adding one is adding a row, and a case to the server's switch.
public enum RouteTable {
    private static let v1 = APIVersion.prefix
    private static let settle = APIOperation.Parameter(
        "settle", .query, .boolean, "Waits until discovery has had a fair chance, about a second.")
    private static let session = APIOperation.Parameter(
        "session", .path, "A session's id, or “current” for the only one there is.")
    private static let prefer = APIOperation.Parameter(
        "Prefer", .header, .string(lengths: 0...256),
        "“respond-async” answers 202 at once, “wait=N” after N seconds at the latest (1 to 600); the work goes on.")
    private static let key = APIOperation.Parameter(
        "Idempotency-Key", .header, .string(lengths: 1...128),
        "A request that is sent again with the same key and body is answered as the first was, and done once.")
    private static let named = APIOperation.Parameter("name", .path, .string(lengths: 1...64), "Its name.")
    private static let many = JSONSchema.array(.string(lengths: 1...128), atMost: 32)

    public static let operations: [APIOperation] = about + rooms + sessions + queues + pairing + scenes

    public static func operation(_ id: OperationID) -> APIOperation? { byID[id] }

    private static let byID = Dictionary(uniqueKeysWithValues: operations.map { ($0.id, $0) })

    private static let about: [APIOperation] = [
        APIOperation(
            .getCapabilities, "GET", v1 + "/capabilities", "What this daemon can do.", gives: APICapabilities.self),
        APIOperation(.getStatus, "GET", v1 + "/status", "How this daemon is doing.", gives: DaemonStatus.self),
        APIOperation(
            .getDocument, "GET", v1 + "/openapi.json", "This document.", contentType: "application/vnd.oai.openapi+json"
        ),
        APIOperation(
            .getMetrics, "GET", "/metrics", "Figures for Prometheus.",
            contentType: "text/plain; version=0.0.4; charset=utf-8"),
        APIOperation(
            .getLogs, "GET", v1 + "/logs", "The last lines that were logged, oldest first.",
            [
                .init("component", .query, .string(lengths: 1...128), "A glob: CastV2*, *.RouterEngine."),
                .init("level", .query, .words(LogLine.levels), "The least severe to be given."),
                .init("limit", .query, .integer(1...1000), "At most so many lines; 200 if it is not given."),
            ], gives: [LogLine].self),
        APIOperation(
            .followEvents, "GET", v1 + "/events", "What happens, as server-sent events: first a snapshot.",
            [
                .init(
                    "topics", .query, .array(.words(EventTopic.allCases.map(\.rawValue)), atMost: 16),
                    "Only these, separated by commas."),
                .init("route", .query, many, "Only what is of these routes, by id; may be repeated."),
                .init(
                    "Last-Event-ID", .header, .string(lengths: 1...32),
                    "Goes on after this event, where it is still known."),
            ], contentType: "text/event-stream"),
        APIOperation(
            .getWork, "GET", v1 + "/work/{id}", "How a request that was answered 202 has gone on.",
            [.init("id", .path, "The id that the answer gave.")], gives: PendingWork.self),
    ]

    private static let rooms: [APIOperation] = [
        APIOperation(
            .listRoutes, "GET", v1 + "/routes", "The devices that are known, and how finding them is going.", [settle],
            gives: RouteList.self),
        APIOperation(
            .forgetDevice, "DELETE", v1 + "/routes/{device}",
            "Forgets all that is known of a device, and its pairing with it.",
            [.init("device", .path, "Its name, room or id.")], gives: UnpairReport.self),
        APIOperation(
            .setDiscovery, "PUT", v1 + "/discovery", "How eagerly to look for devices from now on.",
            takes: DiscoveryBody.self),
        APIOperation(.listRooms, "GET", v1 + "/rooms", "The rooms.", [settle], gives: [Room].self),
        APIOperation(
            .createRoom, "POST", v1 + "/rooms", "Makes a room.", [key], takes: RoomBody.self, gives: Room.self,
            status: 201),
        APIOperation(
            .replaceRoom, "PUT", v1 + "/rooms/{name}", "Puts a room in place of the stored one of this name.", [named],
            takes: RoomBody.self, gives: Room.self),
        APIOperation(.removeRoom, "DELETE", v1 + "/rooms/{name}", "Removes a stored room.", [named]),
        APIOperation(.listGroups, "GET", v1 + "/groups", "The groups of rooms.", gives: [RoomGroup].self),
        APIOperation(
            .saveGroup, "PUT", v1 + "/groups/{name}", "Makes a group, or takes the place of the one of this name.",
            [named], takes: GroupBody.self, gives: RoomGroup.self),
        APIOperation(.removeGroup, "DELETE", v1 + "/groups/{name}", "Removes a group.", [named]),
    ]

    private static let sessions: [APIOperation] = [
        APIOperation(
            .explainPlay, "POST", v1 + "/explanations", "What would be chosen for this, without playing.",
            takes: PlayBody.self, gives: [RouteChoice].self),
        APIOperation(
            .play, "POST", v1 + "/sessions", "Plays; answers once every room plays, or has failed and says so.",
            [prefer, key], takes: PlayBody.self, gives: SessionSnapshot.self, status: 201),
        APIOperation(
            .listSessions, "GET", v1 + "/sessions", "What plays, and the last few that have ended.",
            gives: [SessionSnapshot].self),
        APIOperation(
            .getSession, "GET", v1 + "/sessions/{session}", "One session.", [session], gives: SessionSnapshot.self),
        APIOperation(
            .endSession, "DELETE", v1 + "/sessions/{session}", "Ends a session, or forgets one that could be rejoined.",
            [
                session,
                .init(
                    "reason", .query, .words([EndReason.stop.rawValue, EndReason.leave.rawValue]),
                    "“leave” leaves what plays on the devices alone; “stop” if it is not given."),
            ]),
        APIOperation(
            .joinRooms, "POST", v1 + "/sessions/{session}/members", "Adds rooms to what plays, on its beat.",
            [session, prefer, key], takes: RoomsBody.self, gives: SessionSnapshot.self),
        APIOperation(
            .leaveRooms, "DELETE", v1 + "/sessions/{session}/members", "Takes rooms out; the others play on.",
            [session, .init("room", .query, many, required: true, "By their names there; may be repeated.")],
            gives: SessionSnapshot.self),
        APIOperation(
            .performCommand, "POST", v1 + "/sessions/{session}/commands", "Applies a command.", [session, prefer, key],
            takes: CommandBody.self, gives: CommandResult.self),
        APIOperation(
            .transfer, "POST", v1 + "/sessions/{session}/transfers",
            "Moves, expands, shrinks or copies what plays, or tells what would be lost.", [session, prefer, key],
            takes: TransferBody.self, gives: TransferResult.self),
        APIOperation(
            .announce, "POST", v1 + "/announcements",
            "Says something over what plays, and restores that; answers when all is as before.", [prefer, key],
            takes: AnnounceBody.self, gives: AnnounceReport.self),
        APIOperation(
            .listRejoinable, "GET", v1 + "/rejoinable", "Sessions of daemons that are no more, which may still play.",
            gives: [RejoinableSession].self),
        APIOperation(
            .rejoin, "POST", v1 + "/rejoinable/{session}", "Takes such a session up again.",
            [.init("session", .path, "Its id."), prefer, key], gives: SessionSnapshot.self),
    ]

    private static let queues: [APIOperation] = [
        APIOperation(
            .getQueue, "GET", v1 + "/sessions/{session}/queue", "The queue; its version is the entity tag.", [session],
            gives: QueueSnapshot.self),
        APIOperation(
            .editQueue, "POST", v1 + "/sessions/{session}/queue/edits", "Changes the queue and gives it.",
            [
                session,
                .init(
                    "If-Match", .header, .string(lengths: 1...64),
                    "The entity tag or version of the queue that the change is meant for; 412 where it has moved on."),
                prefer, key,
            ], takes: EditBody.self, gives: QueueSnapshot.self),
        APIOperation(
            .getQueueChanges, "GET", v1 + "/sessions/{session}/queue/changes",
            "How the queue came from a version to what it is.",
            [session, .init("since", .query, .integer(0...Int(Int32.max)), required: true, "The version.")],
            gives: QueueChanges.self),
        APIOperation(
            .listSavedQueues, "GET", v1 + "/queues", "Queues kept under a name.", gives: [SavedQueue].self),
        APIOperation(
            .saveQueue, "PUT", v1 + "/queues/{name}", "Keeps the queue of a session under this name.", [named],
            takes: SaveQueueBody.self, gives: SavedQueue.self),
        APIOperation(.removeSavedQueue, "DELETE", v1 + "/queues/{name}", "Forgets such a queue.", [named]),
        APIOperation(
            .listHistory, "GET", v1 + "/history", "What was played, the latest first.",
            [.init("limit", .query, .integer(1...1000), "At most so many; 100 if it is not given.")],
            gives: [PlayRecord].self),
    ]

    private static let pairing: [APIOperation] = [
        APIOperation(
            .startPairing, "POST", v1 + "/pairings", "Begins a pairing, which waits for its code for some minutes.",
            [key], takes: PairBody.self, gives: PairingProgress.self, status: 201),
        APIOperation(
            .finishPairing, "POST", v1 + "/pairings/{id}/code", "Goes on with the code that the device shows.",
            [.init("id", .path, "The pairing's id."), key], takes: CodeBody.self, gives: PairingProgress.self),
        APIOperation(
            .cancelPairing, "DELETE", v1 + "/pairings/{id}", "Ends a pairing that waits.",
            [.init("id", .path, "The pairing's id.")]),
        APIOperation(
            .listPairings, "GET", v1 + "/paired-devices", "Devices that know us.", gives: [PairingRecord].self),
        APIOperation(
            .unpair, "DELETE", v1 + "/paired-devices/{device}", "Tells a device to forget us, and forgets it.",
            [.init("device", .path, "Its name, room or id.")], gives: UnpairReport.self),
    ]

    private static let scenes: [APIOperation] = [
        APIOperation(
            .startScene, "POST", v1 + "/scene-runs", "Checks a scene and begins to run it.", [key],
            takes: SceneBody.self, gives: SceneRun.self, status: 201, bodyLimit: SceneBody.maximumBody),
        APIOperation(
            .listSceneRuns, "GET", v1 + "/scene-runs", "The runs under way and the last that ended.",
            gives: [SceneRun].self),
        APIOperation(
            .getSceneRun, "GET", v1 + "/scene-runs/{id}", "One run.", [.init("id", .path, "The run's id.")],
            gives: SceneRun.self),
        APIOperation(
            .cancelScene, "DELETE", v1 + "/scene-runs/{id}", "Ends a run; what it has under “finally” is done.",
            [.init("id", .path, "The run's id.")]),
        APIOperation(
            .listSchedules, "GET", v1 + "/schedules", "When scenes are run without a person.",
            gives: [SceneSchedule].self),
        APIOperation(
            .saveSchedule, "PUT", v1 + "/schedules/{name}", "Makes a schedule, or takes the place of another.",
            [named], takes: ScheduleBody.self, bodyLimit: SceneBody.maximumBody),
        APIOperation(.removeSchedule, "DELETE", v1 + "/schedules/{name}", "Removes a schedule.", [named]),
    ]
}

extension RouteTable {
    /// What a request line means.
    public enum Match: Sendable {
        /// The operation, and the values of its path in order.
        case operation(APIOperation, [String])
        /// Something else can be asked at this path.
        case otherMethods([String])
        case nothing
    }

    /// - Parameter path: without its query, still percent-encoded.
    public static func match(method: String, path: String) -> Match {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        var others: [String] = []
        for (operation, pattern) in patterns where pattern.count == parts.count {
            guard let values = values(parts, pattern) else { continue }
            if operation.method == method || (method == "HEAD" && operation.method == "GET") {
                return .operation(operation, values)
            }
            others.append(operation.method)
        }
        return others.isEmpty ? .nothing : .otherMethods(others)
    }

    private static let patterns = operations.map {
        ($0, $0.path.split(separator: "/", omittingEmptySubsequences: false))
    }

    private static func values(_ parts: [Substring], _ pattern: [Substring]) -> [String]? {
        var values: [String] = []
        for (part, wanted) in zip(parts, pattern) {
            if wanted.hasPrefix("{") {
                guard let value = RequestText.decoded(part), !value.isEmpty else { return nil }
                values.append(value)
            } else if part != wanted {
                return nil
            }
        }
        return values
    }
}
