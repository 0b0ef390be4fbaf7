import RouteModel

/// Merges endpoints into routes: one route for each device, whatever it speaks.
///
/// Endpoints belong together when they share a strong key, when they are the same service at the same address, or when
/// host *and* name are the same; never by name alone (`model.md` section 1).
struct RouteRegistry: Sendable {
    private struct Known: Sendable {
        var endpoint: Endpoint
        /// Other ways to play on it, which come and go with it.
        var companions: [Endpoint] = []
        /// When it was last seen to go, in host nanoseconds; nil while it is there.
        var staleSince: Int64?

        var endpoints: [Endpoint] { [endpoint] + companions }
    }

    private var known: [EndpointID: Known] = [:]
    private var ids: [StrongKey: RouteID] = [:]
    /// For endpoints that have no key that would stay with them.
    private var idsByEndpoint: [EndpointID: RouteID] = [:]
    private(set) var routes: [Route] = []
    /// The devices of routes that have more than one: a stereo pair's.
    private var partsByRoute: [RouteID: [Route]] = [:]

    /// How long a route that went is still shown, greyed.
    static let staleGraceNanoseconds: Int64 = 60_000_000_000

    /// Adds or changes an endpoint.
    mutating func update(_ endpoint: Endpoint, companions: [Endpoint] = []) {
        known[endpoint.id] = Known(endpoint: endpoint, companions: companions)
        rebuild()
    }

    /// An endpoint is not announced any more. It stays, stale, for the grace period.
    mutating func markStale(_ id: EndpointID, now: Int64) {
        guard known[id]?.endpoint.origin == .discovered else { return }
        known[id]?.staleSince = now
        rebuild()
    }

    /// Drops what has been stale for longer than the grace period.
    mutating func expire(now: Int64) {
        let before = known.count
        known = known.filter { _, known in
            known.staleSince.map { now - $0 < Self.staleGraceNanoseconds } ?? true
        }
        if known.count != before { rebuild() }
    }

    /// Drops what has gone of a route, without its grace period.
    mutating func drop(_ id: RouteID) {
        let endpoints = Set(routes.first { $0.id == id }?.endpoints.map(\.id) ?? [])
        known = known.filter { !endpoints.contains($0.key) || $0.value.staleSince == nil }
        rebuild()
    }

    /// Makes the keys aliases of a route that was stored earlier.
    mutating func adopt(_ id: RouteID, keys: [StrongKey]) {
        for key in keys { ids[key] = id }
        rebuild()
    }

    /// The newest endpoint of the same device and protocol: after a move (a group whose leader changed, a new address)
    /// the one to connect to in place of `endpoint`. Nil where the device is not known any more. A companion moves with
    /// the endpoint that it belongs to.
    ///
    /// One that was seen on the network lately goes before one that has gone; a person's own words come first.
    func current(_ endpoint: Endpoint) -> Endpoint? {
        let offers = known.values.flatMap { entry in
            entry.endpoints.map { (endpoint: $0, staleSince: entry.staleSince) }
        }
        if endpoint.origin == .stated, let stated = offers.first(where: { $0.endpoint.id == endpoint.id }) {
            return stated.endpoint
        }
        let keys = Set(endpoint.strongKeys.filter { $0.kind != .statedURI })
        let candidates = offers.filter { offer in
            offer.endpoint.protocol == endpoint.protocol
                && (offer.endpoint.id == endpoint.id || !keys.isDisjoint(with: offer.endpoint.strongKeys))
        }
        return candidates.min { left, right in
            (left.staleSince == nil ? 0 : 1, left.endpoint.origin == .discovered ? 0 : 1, left.endpoint.id)
                < (right.staleSince == nil ? 0 : 1, right.endpoint.origin == .discovered ? 0 : 1, right.endpoint.id)
        }?.endpoint
    }

    func knows(_ key: StrongKey) -> Bool { ids[key] != nil }

    /// The strong keys of a route's endpoints.
    func keys(of route: RouteID) -> [StrongKey] {
        guard let route = routes.first(where: { $0.id == route }) else { return [] }
        return Array(Set(route.endpoints.flatMap(\.strongKeys)))
    }

    /// The devices that a route stands for, each as a route with its own endpoints only: all of them are to play. One, but
    /// for devices that are one for people.
    func parts(of route: RouteID) -> [Route] {
        partsByRoute[route] ?? routes.filter { $0.id == route }
    }

    /// Whether all is known of a route that its devices say there is: each one's services, and the others of a pair.
    func isWhole(_ id: RouteID) -> Bool {
        let parts = parts(of: id)
        let areWhole = parts.allSatisfy { part in
            part.endpoints.allSatisfy { endpoint in
                guard let expected = endpoint.expects else { return true }
                return part.endpoints.contains { $0.protocol == expected }
            }
        }
        return areWhole && (parts.count > 1 || !parts.contains { $0.endpoints.contains { $0.groupID != nil } })
    }

    private mutating func rebuild() {
        var clusters: [[Known]] = []
        for entry in known.values.sorted(by: { $0.endpoint.id < $1.endpoint.id }) {
            var merged = [entry]
            clusters.removeAll { cluster in
                guard cluster.contains(where: { Self.belongTogether($0.endpoint, entry.endpoint) }) else {
                    return false
                }
                merged += cluster
                return true
            }
            clusters.append(merged)
        }
        var routes: [Route] = []
        var used: Set<RouteID> = []
        partsByRoute = [:]
        for devices in Self.united(clusters) {
            let cluster = devices.flatMap { $0 }
            let keys = cluster.flatMap(\.endpoint.strongKeys)
            let known = keys.compactMap { ids[$0] } + cluster.compactMap { idsByEndpoint[$0.endpoint.id] }
            // Devices that were taken for one and have parted cannot both keep the id.
            let id = known.filter { !used.contains($0) }.min() ?? .random()
            used.insert(id)
            for key in keys { ids[key] = id }
            for entry in cluster { idsByEndpoint[entry.endpoint.id] = id }
            var route = Self.route(id: id, cluster: cluster)
            if let name = Self.groupName(cluster) { route.name = name }
            if devices.count > 1 {
                partsByRoute[id] = devices.map { Self.route(id: id, cluster: $0) }
                    .sorted { ($0.name, $0.endpoints[0].id) < ($1.name, $1.endpoints[0].id) }
            }
            routes.append(route)
        }
        self.routes = routes.sorted { left, right in
            (left.name.lowercased(), left.id) < (right.name.lowercased(), right.id)
        }
    }

    /// Devices that are one for people, each list of them together.
    private static func united(_ clusters: [[Known]]) -> [[[Known]]] {
        var result: [[[Known]]] = []
        var places: [String: Int] = [:]
        for cluster in clusters {
            guard let group = cluster.lazy.compactMap(\.endpoint.groupID).first else {
                result.append([cluster])
                continue
            }
            if let place = places[group] {
                result[place].append(cluster)
            } else {
                places[group] = result.count
                result.append([cluster])
            }
        }
        return result
    }

    private static func groupName(_ cluster: [Known]) -> String? {
        cluster.filter { $0.endpoint.groupID != nil }.lazy.compactMap(\.endpoint.groupName).first
    }

    private static func belongTogether(_ left: Endpoint, _ right: Endpoint) -> Bool {
        if !Set(left.strongKeys).isDisjoint(with: right.strongKeys) { return true }
        guard left.host.lowercased() == right.host.lowercased() else { return false }
        // A Cast group sits on its leader's address and is a device of its own.
        guard left.kind == right.kind else { return false }
        if left.protocol == right.protocol {
            if left.port == right.port { return true }
            // Whoever names two ports of one host means two receivers, also where neither has a name.
            if left.origin == .stated, right.origin == .stated { return false }
        }
        return left.name.lowercased() == right.name.lowercased()
    }

    private static func route(id: RouteID, cluster: [Known]) -> Route {
        // The same service, discovered and stated by a person: the discovered record knows more, the person decides.
        let endpoints = cluster.flatMap(\.endpoints).sorted { left, right in
            (rank(left.protocol), left.id) < (rank(right.protocol), right.id)
        }
        let named = endpoints.first { $0.origin == .stated && $0.facts["name"] != nil } ?? endpoints[0]
        let present = cluster.contains { $0.staleSince == nil }
        var capabilities = RouteCapabilities()
        for endpoint in endpoints {
            for (capability, state) in endpoint.capabilities.states {
                switch (capabilities[capability], state) {
                case (.available, _): break
                case (_, .available): capabilities[capability] = .available
                case (.unsupported, _): capabilities[capability] = state
                default: break
                }
            }
            capabilities.sync = max(capabilities.sync, endpoint.capabilities.sync)
        }
        return Route(
            id: id, name: named.name, model: endpoints.lazy.compactMap(\.model).first,
            kind: endpoints.first { $0.groupID != nil }?.kind ?? endpoints[0].kind,
            deviceType: endpoints.lazy.map(\.deviceType).first { $0 != .unknown } ?? .unknown,
            endpoints: endpoints, presence: present ? .present : .stale,
            access: endpoints.contains { $0.access == .open } ? .open : endpoints[0].access,
            busyWith: endpoints.lazy.compactMap(\.busyWith).first, capabilities: capabilities)
    }

    private static func rank(_ protocol: RouteProtocol) -> Int {
        switch `protocol` {
        case .airplay2: 0
        case .raop: 1
        case .cast: 2
        case .castStreaming: 3
        case .airplayVideo: 4
        case .mpris: 5
        }
    }
}
