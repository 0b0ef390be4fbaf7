import RouteModel

/// Lets every client have so many requests in a second, and a heap of them after a pause (a token bucket each).
actor RateLimiter {
    private struct Bucket {
        var left: Double
        var at: Int64
    }

    /// Clients that are known at a time; the one that has been quiet for the longest is forgotten, and begins anew.
    private static let maximumClients = 4096

    private let limits: ServiceLimits
    private let now: @Sendable () -> Int64
    private var buckets: [String: Bucket] = [:]

    init(limits: ServiceLimits, now: @escaping @Sendable () -> Int64) {
        self.limits = limits
        self.now = now
    }

    /// Nil lets it in; else after how many seconds the next one may come.
    ///
    /// - Parameter refused: one that is answered with no more than why it is refused: these are counted by themselves.
    func take(_ client: ServiceClient, refused: Bool = false) -> Int? {
        let (key, rate, heap) =
            switch client {
            case .owner: ("", limits.ownRequestsPerSecond, limits.ownRequestsPerSecond)
            case .network(let address, _):
                (refused ? "refused " + address : address, limits.requestsPerSecond, limits.burst)
            }
        let instant = now()
        var bucket = buckets[key] ?? Bucket(left: heap, at: instant)
        bucket.left = min(heap, bucket.left + Double(instant - bucket.at) / 1e9 * rate)
        bucket.at = instant
        defer { keep(bucket, key) }
        guard bucket.left >= 1 else { return max(1, Int(((1 - bucket.left) / rate).rounded(.up))) }
        bucket.left -= 1
        return nil
    }

    private func keep(_ bucket: Bucket, _ key: String) {
        if buckets[key] == nil, buckets.count >= Self.maximumClients,
            let oldest = buckets.min(by: { $0.value.at < $1.value.at })?.key
        {
            buckets[oldest] = nil
        }
        buckets[key] = bucket
    }
}
