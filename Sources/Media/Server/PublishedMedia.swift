import RouteBackend
import RouteModel

/// What is served under one token, and to whom.
struct PublishedMedia: Sendable {
    enum Content: Sendable {
        case file(path: String, contentType: String)
        /// The picture of an item, read when somebody asks for it.
        case artwork(MediaSource)
    }

    var content: Content
    /// Addresses of the receivers it was published for.
    var receivers: Set<NetworkAddress>
}

/// What the server knows: tokens, and what was asked of them.
actor PublishedRegistry {
    private var entries: [String: PublishedMedia] = [:]
    private var records: [String: FetchRecord] = [:]
    /// Addresses of this machine, asked for again when a stranger comes.
    private var own: Set<NetworkAddress.Own> = []

    /// Under which a token's picture is kept, beside its media.
    static func artworkKey(_ token: String) -> String { "art/" + token }

    enum Answer: Sendable {
        case found(PublishedMedia.Content)
        case unknown
        case forbidden
    }

    /// Serves `content` under `token`; a second receiver of the same token is added to the first.
    func publish(_ content: PublishedMedia.Content, token: String, to receiver: NetworkAddress?) {
        var receivers = entries[token]?.receivers ?? []
        if let receiver { receivers.insert(receiver) }
        entries[token] = PublishedMedia(content: content, receivers: receivers)
    }

    func withdraw(_ token: String) {
        entries[token] = nil
        records[token] = nil
    }

    /// Counts a request. What is unknown and what is withdrawn are the same to who asks.
    func answer(_ token: String, to address: String) -> Answer {
        guard let entry = entries[token] else { return .unknown }
        note(token, address, status: nil)
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

    private func note(_ token: String, _ address: String, status: Int?) {
        var record = records[token] ?? FetchRecord(requests: 0, bytes: 0, lastAddress: address, lastStatus: 0)
        record.requests += 1
        record.lastAddress = address
        records[token] = record
    }

    func answered(_ token: String, status: Int) { records[token]?.lastStatus = status }
    func sent(_ token: String, bytes: Int64) { records[token]?.bytes += bytes }
    func record(_ token: String) -> FetchRecord? { records[token] }
}
