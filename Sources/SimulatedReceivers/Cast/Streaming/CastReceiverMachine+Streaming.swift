import CastV2

/// Who sent an OFFER, and where its answer goes.
struct CastStreamingAsker: Sendable, Hashable {
    var connection: Int
    /// The sender's id.
    var sender: String
    /// The app's transport id.
    var transport: String
}

/// What the streaming side is to do.
enum CastStreamingCommand: Sendable, Hashable {
    /// Answer an OFFER, and receive what it offers.
    case offer(JSONValue, CastStreamingAsker, video: Bool)
    /// The app ended or its sender left.
    case stop(reason: String)
}

/// The apps for Cast Streaming (`Protocols/cast` section 12).
extension CastReceiverMachine {
    static let streamingApps: [String: (name: String, needsVideo: Bool)] = [
        "0F5096E8": ("Chrome Mirroring", true), "85CDB22F": ("Chrome Audio Mirroring", false),
    ]
    static let streamingNamespace = CastNamespace.webRTC
    static let remotingNamespace = CastNamespace.prefix + "remoting"
    static let streamingNamespaces = [streamingNamespace, remotingNamespace, CastNamespace.media]

    mutating func streamingRequest(_ json: JSONValue, _ message: CastMessage, _ connection: Int) {
        guard message.namespace == Self.streamingNamespace, let app else {
            return note("dropped", ["why": "no such namespace here", "namespace": .string(message.namespace)])
        }
        let asker = CastStreamingAsker(connection: connection, sender: message.sourceID, transport: app.transportID)
        let hasVideo = Self.streamingApps[app.id]?.needsVideo ?? false
        switch json["type"]?.string {
        case "OFFER":
            streamingSender = connection
            actions.append(.stream(.offer(json, asker, video: hasVideo)))
        case "GET_CAPABILITIES":
            let capabilities: JSONValue = [
                "type": "CAPABILITIES_RESPONSE", "seqNum": json["seqNum"] ?? 0, "result": "ok",
                "capabilities": [
                    "keySystems": [],
                    "mediaCaps": hasVideo ? ["audio", "opus", "video", "vp8", "h264"] : ["audio", "opus"],
                ],
            ]
            answer(capabilities, to: asker)
        // A device shows it on its screen; there is no answer.
        case "PRESENTATION": note("presentation", ["presentation": json])
        default: note("dropped", ["why": "unknown request", "namespace": .string(message.namespace)])
        }
    }

    /// Sends a message of the streaming app, if it still runs.
    mutating func answer(_ json: JSONValue, to asker: CastStreamingAsker) {
        guard app?.transportID == asker.transport else { return }
        send(json, Self.streamingNamespace, asker.transport, asker.sender, asker.connection)
    }

    mutating func streamingSenderLeft(_ connection: Int) {
        guard streamingSender == connection else { return }
        streamingSender = nil
        actions.append(.stream(.stop(reason: "the sender left")))
    }

    mutating func stopStreaming() {
        guard streamingSender != nil else { return }
        streamingSender = nil
        actions.append(.stream(.stop(reason: "the app ended")))
    }
}
