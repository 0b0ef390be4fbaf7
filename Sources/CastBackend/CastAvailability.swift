import CastV2
import Logging
import RouteBackend
import RouteModel

/// Which receiver apps Cast devices can run (C1, C23): asked of the device, remembered for a while.
///
/// An answer counts for one device, as its record describes it, and one app. It is asked for again when it has become
/// old, and when the record says that the device is another (a new firmware or address, other capabilities).
public actor CastAvailability {
    public enum Answer: String, Codable, Sendable, Hashable {
        case available, unavailable
        /// The device did not answer, or could not be reached.
        case unknown
    }

    /// Asks a device for these apps; nil where it does not answer.
    public typealias Ask = @Sendable (Endpoint, [String]) async -> [String: Bool]?

    /// How long an answer counts, in nanoseconds: what a device can run changes with its firmware and its region.
    public static let lifetime: Int64 = 3_600_000_000_000
    /// How long a device that did not answer is left alone.
    public static let silence: Int64 = 60_000_000_000
    /// Devices that are asked at one time.
    static let maximumAtOnce = 8
    /// Answers that are kept; the oldest give way.
    static let maximumKept = 1_024

    private struct Key: Hashable {
        var device: String
        var app: String
    }

    private struct Kept {
        var answer: Answer
        var record: [String: String]
        var address: String
        var until: Int64
    }

    private let clock: any HostClock
    private let ask: Ask
    private var kept: [Key: Kept] = [:]

    public init(clock: any HostClock, ask: @escaping Ask) {
        self.clock = clock
        self.ask = ask
    }

    /// Asks real devices, each by a short connection that launches nothing.
    public init(clock: any HostClock = SystemHostClock(), logger: Logger = Logger(label: "CastAvailability")) {
        var timeouts = CastTimeouts()
        timeouts.connect = 3_000_000_000
        timeouts.reply = 3_000_000_000
        let limits = timeouts
        self.init(clock: clock) { endpoint, apps in
            guard
                let session = try? await CastSession.connect(
                    CastSession.Configuration(host: endpoint.host, port: endpoint.port, timeouts: limits),
                    clock: CastClock(clock), logger: logger)
            else { return nil }
            let result = await session.request(.receiver(.getAppAvailability(appIDs: apps))).result()
            await session.end(stopApp: false)
            guard case .completed(.appAvailability(let answers)) = result else { return nil }
            return answers
        }
    }

    /// Whether this is an app id, as far as one can tell.
    public static func isAppID(_ text: String) -> Bool { CastRecord.isAppID(text) }

    /// Whether a device can run an app.
    public func answer(_ app: String, on endpoint: Endpoint) async -> Answer {
        let app = app.uppercased()
        let key = Key(device: CastIdentityPolicy.name(of: endpoint), app: app)
        let record = Self.record(of: endpoint)
        if let known = kept[key], known.until > clock.now(), known.record == record, known.address == endpoint.address {
            return known.answer
        }
        let answers = await ask(endpoint, [app])
        let found = answers?.first { $0.key.uppercased() == app }?.value
        let answer: Answer = found.map { $0 ? .available : .unavailable } ?? .unknown
        if kept.count >= Self.maximumKept, let oldest = kept.min(by: { $0.value.until < $1.value.until })?.key {
            kept[oldest] = nil
        }
        kept[key] = Kept(
            answer: answer, record: record, address: endpoint.address,
            until: clock.now() + (answer == .unknown ? Self.silence : Self.lifetime))
        return answer
    }

    /// The same for many devices, by the ids of their endpoints.
    public func answers(_ app: String, on endpoints: [Endpoint]) async -> [EndpointID: Answer] {
        await withTaskGroup(of: (EndpointID, Answer).self) { group in
            var waiting = endpoints[...]
            var result: [EndpointID: Answer] = [:]
            func next() {
                guard let endpoint = waiting.popFirst() else { return }
                group.addTask { (endpoint.id, await self.answer(app, on: endpoint)) }
            }
            for _ in 0..<Self.maximumAtOnce { next() }
            for await (id, answer) in group {
                result[id] = answer
                next()
            }
            return result
        }
    }

    /// What of a record speaks of the device itself and not of what it plays.
    private static func record(of endpoint: Endpoint) -> [String: String] {
        endpoint.facts.filter { ["ca", "md", "ve", "fn"].contains($0.key) }
    }
}
