import NIOCore
import RouteModel
import RouterAPI

/// Remembers what requests with an `Idempotency-Key` were answered, so that one that is sent again is done once.
actor IdempotencyKeys {
    enum Beginning {
        /// It is new: do it, and then say so.
        case new
        case answered(APIAnswer)
        /// The first is still under way.
        case underWay
        /// The key was used for another request.
        case another
    }

    private struct Entry {
        var request: Int
        var answer: APIAnswer?
        var at: Int64
    }

    static let maximumKeys = 1000
    /// Bytes of answers that are kept.
    static let maximumBytes = 16 << 20
    static let lifetime: Int64 = 24 * 3_600_000_000_000

    private let now: @Sendable () -> Int64
    private var entries: [String: Entry] = [:]
    /// Oldest first.
    private var order: [String] = []
    private var bytes = 0

    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    /// - Parameter request: what tells the request from another.
    func begin(_ key: String, request: Int) -> Beginning {
        forgetOld()
        if let entry = entries[key] {
            guard entry.request == request else { return .another }
            return entry.answer.map { .answered($0) } ?? .underWay
        }
        entries[key] = Entry(request: request, at: now())
        order.append(key)
        return .new
    }

    /// What went wrong on our side, and may go right the next time, is not kept.
    func end(_ key: String, _ answer: APIAnswer) {
        guard var entry = entries[key] else { return }
        guard answer.status < 500, answer.status != 429 else { return forget(key) }
        // It was done, and must not be done again, also where what it gave is too long to be kept.
        let kept = answer.body.readableBytes <= Self.maximumBytes / 4 ? answer : Self.done
        entry.answer = kept
        entries[key] = entry
        bytes += kept.body.readableBytes
        forgetOld()
    }

    private static var done: APIAnswer {
        APIAnswer(
            Problem(
                RouterError(
                    .keyReused,
                    "the request with this idempotency key was done, and its answer was too long to be kept",
                    hint: "Ask for the session or its queue to see what it did", scope: .command), status: 409))
    }

    /// It was not done.
    func forget(_ key: String) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        bytes -= entry.answer?.body.readableBytes ?? 0
        order.removeAll { $0 == key }
    }

    private func forgetOld() {
        let instant = now()
        for key in order {
            guard let entry = entries[key],
                instant - entry.at > Self.lifetime || order.count > Self.maximumKeys || bytes > Self.maximumBytes
            else { return }
            // What is under way ends by itself, and would be done twice if it were forgotten now.
            if entry.answer != nil { forget(key) }
        }
    }
}
