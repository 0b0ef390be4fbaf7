import CastV2
import Logging
import RouteBackend
import RouteModel

/// Whether a device plays something of ours that another sender has brought there (C6).
extension CastProvider {
    public func find(
        _ items: Set<MediaToken>, on endpoint: Endpoint, within limit: Int64, options: OpenOptions
    ) async -> String? {
        guard endpoint.protocol == .cast, !items.isEmpty else { return nil }
        return await withTaskGroup(of: String?.self) { group in
            group.addTask { await look(for: items, on: endpoint, options: options) }
            group.addTask {
                try? await clock.sleep(nanoseconds: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private func look(for items: Set<MediaToken>, on endpoint: Endpoint, options: OpenOptions) async -> String? {
        guard
            let session = try? await CastSession.connect(
                CastSession.Configuration(
                    host: endpoint.host, port: endpoint.port, userAgent: options.senderName, timeouts: timeouts),
                clock: CastClock(clock), logger: logger)
        else { return nil }
        let found = await Self.look(for: items, in: session)
        await session.end(stopApp: false)
        return found
    }

    private static func look(for items: Set<MediaToken>, in session: CastSession) async -> String? {
        guard case .joined(let app)? = try? await session.joinRunning(speaking: CastNamespace.media) else { return nil }
        _ = await session.media(.getStatus).result()
        let media = await session.current.media
        guard let status = media.current, !status.hasEnded else { return nil }
        let item = status.currentItemID.flatMap { media.queue.items[$0] }
        guard let token = (item?.media ?? status.media).flatMap({ CastTokens().token(of: $0) }), items.contains(token)
        else { return nil }
        return CastRejoinToken(appID: app.appID, sessionID: app.sessionID).text
    }
}
