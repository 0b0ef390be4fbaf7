import Foundation
import RouteModel

/// Where a receiver is.
struct ReceiverAddress: Sendable {
    let text: String
    let address: NetworkAddress?

    /// - Parameter host: an address, or a name that is looked up.
    init(_ host: String) async throws {
        if let address = NetworkAddress(host) {
            text = host
            self.address = address
        } else if let found = await HostLookup.resolve(host) {
            text = found
            address = NetworkAddress(found)
        } else {
            throw RouterError(
                .routeUnreachable, "the receiver's name “\(host)” is not known", hint: "Give its address",
                scope: .route,
                retry: .later)
        }
    }

    /// A plain http URL in which a name that only this network knows is replaced by its address: Chromecasts ask a
    /// public name server. An address that is this machine's own becomes the one that the receiver can reach.
    func reachable(_ url: String) async -> String {
        guard var components = URLComponents(string: url), components.scheme?.lowercased() == "http",
            let host = components.host?.trimmingCharacters(in: ["[", "]"])
        else { return url }
        var target = host
        if NetworkAddress(host) == nil {
            guard !host.contains(".") || host.lowercased().hasSuffix(".local"),
                let found = await HostLookup.resolve(host)
            else { return url }
            target = found
        }
        if NetworkAddress(target)?.isLoopback == true, address?.isLoopback == false,
            let local = NetworkAddress.local(towards: text)
        {
            target = local
        }
        guard target != host else { return url }
        components.host = target.contains(":") ? "[\(target)]" : target
        return components.string ?? url
    }
}

extension ReceiverAddress {
    /// Whether the receiver cannot fetch this by itself: it is on this machine, or under a name that only this network
    /// knows.
    func isOutOfReach(_ url: String) -> Bool {
        guard let host = URLComponents(string: url)?.host?.trimmingCharacters(in: ["[", "]"]) else { return true }
        if let numeric = NetworkAddress(host) { return numeric.isLoopback && address?.isLoopback == false }
        return !host.contains(".") || host.lowercased().hasSuffix(".local")
    }
}
