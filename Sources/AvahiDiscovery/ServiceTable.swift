import RouteBackend

/// What the daemon said so far, and what of it was told on: a pure value, sightings in, events out.
///
/// One service is seen once for each interface and each of IPv4 and IPv6 on it; outside, these sightings are one record
/// with several addresses.
struct ServiceTable {
    enum IPVersion: Hashable, Sendable { case v4, v6 }

    /// One sighting of a service.
    struct Sighting: Hashable, Sendable {
        var key: ServiceRecord.Key
        /// The kernel's interface index.
        var interface: Int32
        var version: IPVersion
    }

    /// What a resolver answered for one sighting.
    struct Resolution: Hashable, Sendable {
        var hostName: String
        /// Numeric, link-local IPv6 with its scope.
        var address: String
        var port: Int
        var txt: [String: String]
        var interfaceName: String?
    }

    private enum Progress { case asked, answered(Resolution), silent }

    private var sightings: [ServiceRecord.Key: [Sighting: Progress]] = [:]
    private var told: [ServiceRecord.Key: ServiceRecord] = [:]
    /// Told before the daemon went away, and not seen again yet.
    private var unconfirmed: Set<ServiceRecord.Key> = []

    init() {}

    /// Whether every sighting was answered or found silent.
    var isSettled: Bool {
        sightings.values.allSatisfy { byInstance in
            byInstance.values.allSatisfy { if case .asked = $0 { false } else { true } }
        }
    }

    func contains(_ sighting: Sighting) -> Bool { sightings[sighting.key]?[sighting] != nil }

    /// A sighting is new. Nothing is told of it before a resolver has answered.
    mutating func appeared(_ sighting: Sighting) {
        sightings[sighting.key, default: [:]][sighting] = .asked
    }

    mutating func resolved(_ sighting: Sighting, as resolution: Resolution) -> ServiceEvent? {
        // A late answer of a resolver whose sighting has gone.
        guard sightings[sighting.key]?[sighting] != nil else { return nil }
        sightings[sighting.key]?[sighting] = .answered(resolution)
        return review(sighting.key)
    }

    /// Nobody answers for a sighting any more, although it is still listed.
    mutating func fellSilent(_ sighting: Sighting) -> ServiceEvent? {
        guard sightings[sighting.key]?[sighting] != nil else { return nil }
        sightings[sighting.key]?[sighting] = .silent
        return review(sighting.key)
    }

    mutating func vanished(_ sighting: Sighting) -> ServiceEvent? {
        sightings[sighting.key]?[sighting] = nil
        if sightings[sighting.key]?.isEmpty == true { sightings[sighting.key] = nil }
        return review(sighting.key)
    }

    /// The daemon is gone and with it all it knew. What was told stays, for now.
    mutating func daemonLost() {
        sightings = [:]
        unconfirmed = Set(told.keys)
    }

    /// Gives up on what was told before the daemon went and has not come back with it.
    mutating func dropUnconfirmed() -> [ServiceEvent] {
        let dropped = unconfirmed.sorted { ($0.type, $0.name) < ($1.type, $1.name) }
        unconfirmed = []
        for key in dropped { told[key] = nil }
        return dropped.map { .removed($0) }
    }

    private mutating func review(_ key: ServiceRecord.Key) -> ServiceEvent? {
        guard let record = record(of: key) else {
            // While a sighting has not been answered yet the service may be there still.
            if sightings[key]?.values.contains(where: { if case .asked = $0 { true } else { false } }) == true {
                return nil
            }
            guard told.removeValue(forKey: key) != nil else { return nil }
            unconfirmed.remove(key)
            return .removed(key)
        }
        unconfirmed.remove(key)
        guard told[key] != record else { return nil }
        told[key] = record
        return .resolved(record)
    }

    private func record(of key: ServiceRecord.Key) -> ServiceRecord? {
        let answers = (sightings[key] ?? [:]).compactMap { sighting, progress -> (Sighting, Resolution)? in
            if case .answered(let resolution) = progress { (sighting, resolution) } else { nil }
        }
        .sorted { rank($0) < rank($1) }
        guard let best = answers.first?.1 else { return nil }
        var addresses: [String] = []
        for (_, resolution) in answers where !addresses.contains(resolution.address) {
            addresses.append(resolution.address)
        }
        return ServiceRecord(
            key: key, hostName: best.hostName, addresses: addresses, port: best.port, txt: best.txt,
            interface: best.interfaceName)
    }

    /// Best first, and always in the same order.
    private func rank(_ answer: (Sighting, Resolution)) -> (Int, Int32, String) {
        (AddressKind(answer.1.address).rawValue, answer.0.interface, answer.1.address)
    }
}

/// Kinds of numeric address, the one to try first with the lowest value.
///
/// IPv4 comes first because receivers are reached by it most surely. A loopback address is good for a service of this
/// machine alone, and then its other addresses are just as good.
enum AddressKind: Int {
    case ipv4, ipv4Loopback, ipv4LinkLocal, ipv6, ipv6LinkLocal, ipv6Loopback

    init(_ address: String) {
        let address = address.lowercased()
        guard address.contains(":") else {
            self = address.hasPrefix("127.") ? .ipv4Loopback : address.hasPrefix("169.254.") ? .ipv4LinkLocal : .ipv4
            return
        }
        // fe80::/10 is fe80 to febf.
        let isLinkLocal = ["fe8", "fe9", "fea", "feb"].contains { address.hasPrefix($0) }
        self = address == "::1" ? .ipv6Loopback : isLinkLocal ? .ipv6LinkLocal : .ipv6
    }
}
