import RouteBackend
import RouteModel
import Synchronization

/// Discovery without a network: a test says what appears and goes.
public final class InMemoryDiscovery: ServiceBrowsing {
    private struct State {
        var records: [ServiceRecord.Key: ServiceRecord] = [:]
        var discovery = DiscoveryState(source: "memory", status: .complete)
        var activity = DiscoveryActivity.passive
        var readers: [(types: [String], continuation: AsyncStream<ServiceEvent>.Continuation)] = []
    }

    private let state = Mutex(State())

    public init() {}

    public func browse(_ types: [String]) -> AsyncStream<ServiceEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: ServiceEvent.self)
        state.withLock { state in
            state.readers.append((types, continuation))
            for record in state.records.values where types.contains(record.key.type) {
                continuation.yield(.resolved(record))
            }
            continuation.yield(.state(state.discovery))
        }
        return stream
    }

    public func setActivity(_ activity: DiscoveryActivity) { state.withLock { $0.activity = activity } }

    /// How eagerly it was told to look.
    public var activity: DiscoveryActivity { state.withLock { $0.activity } }

    public func appear(_ record: ServiceRecord) {
        state.withLock { state in
            state.records[record.key] = record
            for reader in state.readers where reader.types.contains(record.key.type) {
                reader.continuation.yield(.resolved(record))
            }
        }
    }

    public func vanish(_ key: ServiceRecord.Key) {
        state.withLock { state in
            state.records[key] = nil
            for reader in state.readers where reader.types.contains(key.type) {
                reader.continuation.yield(.removed(key))
            }
        }
    }

    public func say(_ discovery: DiscoveryState) {
        state.withLock { state in
            state.discovery = discovery
            for reader in state.readers { reader.continuation.yield(.state(discovery)) }
        }
    }
}
