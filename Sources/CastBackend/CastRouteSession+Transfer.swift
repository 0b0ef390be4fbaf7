import CastV2
import RouteBackend
import RouteModel

/// Stream transfer by the app's own means (C6; `Protocols/cast`, stored sessions): what one device stores, another
/// resumes, with the app's queue and whatever else the app knows of it.
extension CastRouteSession {
    func storeState() async throws -> TransferState? {
        guard let id = loaded?.mediaSessionID, let status = state.media[id], !status.hasEnded,
            status.supportedMediaCommands?.contains(.streamTransfer) ?? false, let app = state.runningApp
        else { return nil }
        switch await session.media(.storeSession(mediaSessionID: id)).result() {
        case .completed(.storedSession(let stored)):
            return CastTransferState(appID: app.appID, stored: stored)?.state
        case .cancelled: throw cancelled()
        case .failed(.connectionLost(let error)): throw ending ? cancelled() : errors.lost(error)
        // It says that it can, and does not.
        default: return nil
        }
    }

    func resume(_ state: TransferState, media: PullMedia) async throws {
        defer { callReturned() }
        let appID = descriptor.endpoint.facts["app"] ?? CastApplication.defaultMediaReceiverID
        guard let stored = CastTransferState(state), stored.appID.lowercased() == appID.lowercased() else {
            throw RouterError(
                .unsupported, "what was stored is not for the app that \(errors.name) plays with",
                hint: "Load it there", scope: .command)
        }
        try await load(media, by: .resumeSession(stored.stored))
    }
}

/// What an app stored, with the app that can read it: one JSON object. Pure.
struct CastTransferState: Sendable, Hashable {
    var appID: String
    var stored: CastStoredSession

    /// Nil where there is nothing to resume.
    init?(appID: String, stored: CastStoredSession) {
        guard !appID.isEmpty, !stored.isEmpty else { return nil }
        self.appID = appID
        self.stored = stored
    }

    /// Nil for what this backend did not make.
    init?(_ state: TransferState) {
        guard state.family == .cast, let json = CastJSON(text: String(decoding: state.bytes, as: UTF8.self)),
            let appID = json["app"].string
        else { return nil }
        self.init(appID: appID, stored: CastStoredSession(json: json["session"]))
    }

    /// Nil where it is larger than a message may be.
    var state: TransferState? {
        let json = CastJSON.object(["app": .string(appID), "session": stored.json])
        return TransferState(family: .cast, bytes: Array(json.text.utf8))
    }
}
