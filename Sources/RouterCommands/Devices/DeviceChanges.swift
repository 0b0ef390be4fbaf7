import RouteModel

/// What `router devices --watch` prints: the whole list first, then each change.
struct DeviceChanges {
    /// One line of `-o ndjson`.
    struct Line: Encodable, Equatable {
        enum Event: String, Encodable { case snapshot, found, changed, gone }

        var sequence: Int
        var event: Event
        /// Of a snapshot.
        var routes: [Route]?
        /// Of a change.
        var route: Route?
    }

    private var sequence = 0
    private var known: [RouteID: Route]?

    /// What is new in a list. Nothing where nothing is.
    mutating func lines(for routes: [Route]) -> [Line] {
        let now = Dictionary(routes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        defer { known = now }
        guard let known else { return [next(.snapshot, routes: routes)] }
        var result: [Line] = []
        for route in routes where known[route.id] != route {
            result.append(next(known[route.id] == nil ? .found : .changed, route: route))
        }
        for route in known.values.sorted(by: { $0.name < $1.name }) where now[route.id] == nil {
            result.append(next(.gone, route: route))
        }
        return result
    }

    private mutating func next(_ event: Line.Event, routes: [Route]? = nil, route: Route? = nil) -> Line {
        sequence += 1
        return Line(sequence: sequence, event: event, routes: routes, route: route)
    }
}
