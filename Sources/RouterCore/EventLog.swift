import RouteModel

/// Numbers events and hands them to every reader. Part of an actor's state, not to be shared.
struct EventLog {
    private var sequence = 0
    private var readers: [Int: AsyncStream<RouterEvent>.Continuation] = [:]
    private var nextReader = 0

    /// How many events a slow reader may lag behind before it loses the oldest.
    static let lagLimit = 1000

    mutating func append(_ body: RouterEvent.Body) {
        sequence += 1
        let event = RouterEvent(sequence: sequence, body: body)
        for (id, reader) in readers {
            if case .terminated = reader.yield(event) { readers[id] = nil }
        }
    }

    /// A stream that begins with `snapshot`, under the number of the last event.
    mutating func reader(beginningWith snapshot: RouterEvent.Body) -> AsyncStream<RouterEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RouterEvent.self, bufferingPolicy: .bufferingNewest(Self.lagLimit))
        continuation.yield(RouterEvent(sequence: sequence, body: snapshot))
        nextReader += 1
        readers[nextReader] = continuation
        return stream
    }

    mutating func finish() {
        for reader in readers.values { reader.finish() }
        readers = [:]
    }
}
