import RouteBackend
import RouteModel

/// One of the things that are served under a token.
struct PublishedPart: Sendable, Hashable {
    /// The secret of the URL.
    var token: String
    var target: FetchExchange.Key.Target
    /// Tells pictures and tracks of one token apart.
    var number = 0
}

/// What is served as one part, and to whom.
struct PublishedMedia: Sendable {
    enum Content: Sendable {
        case file(path: String, contentType: String)
        /// The picture of an item, read when somebody asks for it; `side` bounds its width and height in pixels.
        case artwork(MediaSource, side: Int?)
        /// A picture of the web that the receiver cannot fetch by itself.
        case image(url: String)
        /// WebVTT, made when somebody asks for it.
        case text(SubtitleStore.Source)
    }

    var content: Content
    /// Addresses of the receivers it was published for.
    var receivers: Set<NetworkAddress>
}

/// What the server knows: tokens, and what was asked of them.
actor PublishedRegistry {
    private var entries: [PublishedPart: PublishedMedia] = [:]
    private var parts: [String: Set<PublishedPart>] = [:]
    private var records: [String: FetchRecord] = [:]
    /// Addresses of this machine, asked for again when a stranger comes.
    private var own: Set<NetworkAddress.Own> = []

    enum Answer: Sendable {
        case found(PublishedMedia.Content)
        case unknown
        case forbidden
    }

    /// Serves `content` as `part`; a second receiver of the same part is added to the first.
    func publish(_ content: PublishedMedia.Content, as part: PublishedPart, to receiver: NetworkAddress?) {
        var receivers = entries[part]?.receivers ?? []
        if let receiver { receivers.insert(receiver) }
        entries[part] = PublishedMedia(content: content, receivers: receivers)
        parts[part.token, default: []].insert(part)
    }

    /// - Returns: the texts that were served under the token.
    func withdraw(_ token: String) -> [SubtitleStore.Source] {
        records[token] = nil
        return (parts.removeValue(forKey: token) ?? []).compactMap { part in
            if case .text(let source) = entries.removeValue(forKey: part)?.content { return source }
            return nil
        }
    }

    /// What is unknown and what is withdrawn are the same to who asks.
    func answer(_ part: PublishedPart, to address: String) -> Answer {
        guard let entry = entries[part] else { return .unknown }
        guard let remote = NetworkAddress(address) else { return .forbidden }
        if allows(remote, entry.receivers) { return .found(entry.content) }
        own = NetworkAddress.ofThisHost()
        return allows(remote, entry.receivers) ? .found(entry.content) : .forbidden
    }

    /// This machine itself, the receivers, and whoever is in a network with one of them: group leaders move, and one
    /// device has several addresses.
    private func allows(_ remote: NetworkAddress, _ receivers: Set<NetworkAddress>) -> Bool {
        if remote.isLoopback || own.contains(where: { $0.address == remote }) { return true }
        return receivers.contains { receiver in
            if receiver == remote || receiver.isNear(remote) { return true }
            return own.contains {
                $0.address.shares($0.prefix, with: receiver) && $0.address.shares($0.prefix, with: remote)
            }
        }
    }

    // MARK: What was asked

    /// A head is about to be sent.
    func began(_ exchange: ServedExchange, nanoseconds: Int64) {
        guard parts[exchange.token] != nil else { return }
        records[exchange.token, default: FetchRecord()].add(
            FetchExchange(key: exchange.key, nanoseconds: nanoseconds))
    }

    func sent(_ exchange: ServedExchange, bytes: Int64, nanoseconds: Int64) {
        records[exchange.token]?.sent(exchange.key, bytes: bytes, nanoseconds: nanoseconds)
    }

    /// - Parameter whole: whether all was sent that the head promised.
    func finished(_ exchange: ServedExchange, whole: Bool, nanoseconds: Int64) {
        records[exchange.token]?.finished(exchange.key, whole: whole, nanoseconds: nanoseconds)
    }

    func record(_ token: String) -> FetchRecord? { records[token] }
}

/// An answer that is being sent.
struct ServedExchange: Sendable {
    var token: String
    var key: FetchExchange.Key
}
