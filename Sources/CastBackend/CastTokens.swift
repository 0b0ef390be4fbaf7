import CastV2
import RouteBackend
import RouteModel

/// Which of our items a device's item is: told by the mark that it was handed over with, or by its URL. Pure.
struct CastTokens: Sendable, Hashable {
    /// In the `customData` of an item's media, which devices give back.
    static let mark = "routerToken"
    /// URLs that are remembered, the newest.
    private static let limit = 64

    private var known: [(url: String, token: MediaToken)] = []

    mutating func add(_ media: PullMedia) {
        known.removeAll { $0.token == media.token }
        known.append((media.url, media.token))
        if known.count > Self.limit { known.removeFirst() }
    }

    /// Whether this session has handed it over.
    func knows(_ token: MediaToken) -> Bool { known.contains { $0.token == token } }

    /// Nil for what is not ours.
    func token(of media: CastMediaInformation) -> MediaToken? {
        if let mark = media.customData?[Self.mark].string, !mark.isEmpty { return MediaToken(rawValue: mark) }
        return known.last { $0.url == media.contentID || $0.url == media.contentURL }?.token
    }

    /// Of an item in the device's queue; what another sender put there has one of its own, that stays the same.
    func token(of item: CastQueueItem, in app: CastAppSession?) -> MediaToken? {
        guard let id = item.itemID, let media = item.media else { return nil }
        return token(of: media) ?? MediaToken(rawValue: "\(app?.sessionID ?? "")#\(id)")
    }

    static func == (left: CastTokens, right: CastTokens) -> Bool {
        left.known.map(\.token) == right.known.map(\.token) && left.known.map(\.url) == right.known.map(\.url)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(known.map(\.token)) }
}

extension CastSessionState {
    /// The queue in order from the current item on, with the token of each; nil while not all of it is known.
    func upcoming(_ tokens: CastTokens) -> [(id: Int, item: CastQueueItem, token: MediaToken)]? {
        let queue = media.queue
        guard let order = queue.itemIDs, !queue.isStale, !queue.isPartial, let current = queue.currentItemID,
            let place = order.firstIndex(of: current)
        else { return nil }
        var result: [(Int, CastQueueItem, MediaToken)] = []
        for id in order[place...].prefix(CastTokens.windowLimit) {
            guard let item = queue.items[id], let token = tokens.token(of: item, in: runningApp) else { return nil }
            result.append((id, item, token))
        }
        return result
    }
}

extension CastTokens {
    /// Items of a device's queue that are looked at, from the current one on.
    static let windowLimit = 50
}
