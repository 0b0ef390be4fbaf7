/// What receivers asked of one token: of the media, and of the pictures and tracks that belong to it.
public struct FetchRecord: Sendable, Hashable {
    /// Distinct exchanges that are kept; of more, the first half and the newest half.
    public static let maximumExchanges = 32

    public var requests: Int
    public var bytes: Int64
    /// Address of the last that asked.
    public var lastAddress: String
    /// HTTP status of the last answer.
    public var lastStatus: Int
    /// In the order in which they were first made.
    public var exchanges: [FetchExchange]

    public init(
        requests: Int = 0, bytes: Int64 = 0, lastAddress: String = "", lastStatus: Int = 0,
        exchanges: [FetchExchange] = []
    ) {
        self.requests = requests
        self.bytes = bytes
        self.lastAddress = lastAddress
        self.lastStatus = lastStatus
        self.exchanges = exchanges
    }

    /// Takes up a request whose answer begins; its bytes follow by `sent`.
    public mutating func add(_ exchange: FetchExchange) {
        requests += 1
        lastAddress = exchange.key.address
        lastStatus = exchange.key.status
        if let known = exchanges.firstIndex(where: { $0.key == exchange.key }) {
            exchanges[known].count += 1
            exchanges[known].open += 1
            exchanges[known].lastNanoseconds = exchange.lastNanoseconds
        } else {
            if exchanges.count >= Self.maximumExchanges { exchanges.remove(at: Self.maximumExchanges / 2) }
            var first = exchange
            first.open = 1
            exchanges.append(first)
        }
    }

    public mutating func sent(_ key: FetchExchange.Key, bytes: Int64, nanoseconds: Int64) {
        self.bytes += bytes
        guard let index = exchanges.firstIndex(where: { $0.key == key }) else { return }
        exchanges[index].bytes += bytes
        exchanges[index].lastNanoseconds = nanoseconds
    }

    /// - Parameter whole: whether all that the head promised was sent.
    public mutating func finished(_ key: FetchExchange.Key, whole: Bool, nanoseconds: Int64) {
        guard let index = exchanges.firstIndex(where: { $0.key == key }) else { return }
        exchanges[index].open = max(0, exchanges[index].open - 1)
        if whole { exchanges[index].completed += 1 } else { exchanges[index].brokenOff += 1 }
        exchanges[index].lastNanoseconds = nanoseconds
    }
}

/// Requests that are alike, and what became of them.
public struct FetchExchange: Sendable, Hashable {
    /// What makes two requests alike.
    public struct Key: Sendable, Hashable {
        public enum Target: String, Sendable, Hashable { case media, picture, track }

        public var target: Target
        public var method: String
        /// The `Range` header as it came, at most 64 characters.
        public var range: String?
        public var address: String
        /// The `Host` header, at most 128 characters.
        public var host: String?
        /// The `User-Agent` header, at most 200 characters.
        public var userAgent: String?
        /// The `Origin` header, at most 128 characters: a page that needs CORS asked.
        public var origin: String?
        /// Whether our answer allowed that origin.
        public var allowedOrigin: Bool
        public var status: Int

        public init(
            target: Target = .media, method: String, range: String? = nil, address: String, host: String? = nil,
            userAgent: String? = nil, origin: String? = nil, allowedOrigin: Bool = true, status: Int
        ) {
            self.target = target
            self.method = method
            self.range = range.map { String($0.prefix(64)) }
            self.address = address
            self.host = host.map { String($0.prefix(128)) }
            self.userAgent = userAgent.map { String($0.prefix(200)) }
            self.origin = origin.map { String($0.prefix(128)) }
            self.allowedOrigin = allowedOrigin
            self.status = status
        }
    }

    public var key: Key
    public var count: Int
    /// Bytes of content that were sent.
    public var bytes: Int64
    /// How many are being answered.
    public var open: Int
    public var completed: Int
    /// How many ended before all was sent.
    public var brokenOff: Int
    /// Of the host's clock.
    public var firstNanoseconds: Int64
    public var lastNanoseconds: Int64

    public init(
        key: Key, count: Int = 1, bytes: Int64 = 0, open: Int = 0, completed: Int = 0, brokenOff: Int = 0,
        nanoseconds: Int64 = 0
    ) {
        self.key = key
        self.count = count
        self.bytes = bytes
        self.open = open
        self.completed = completed
        self.brokenOff = brokenOff
        firstNanoseconds = nanoseconds
        lastNanoseconds = nanoseconds
    }
}
