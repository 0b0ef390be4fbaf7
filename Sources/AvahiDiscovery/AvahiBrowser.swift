import CAvahi
import Dispatch
import RouteBackend
import RouteModel

/// Browses by the Avahi daemon.
///
/// What it says of state, all with the source `mDNS`: `starting` at once, `scanning` when the daemon answers, `complete`
/// when the daemon holds that it has told all it knows for now and every service of that was resolved or found silent,
/// `unavailable` with message and hint while there is no daemon or no bus. It then goes on trying and starts with
/// `scanning` again.
///
/// Devices that were switched off without a goodbye: the daemon keeps the mere name of a service for 75 minutes, but host
/// and address for two (RFC 6762, 10). A resolver stays open for each service and asks again before these run out; when
/// nobody answers any more the service is removed, some 5 s after its host record has run out, so about 2 minutes after the
/// device went. There is no way through the daemon to make its cache forget sooner. A device that comes back announces
/// itself and is there again at once.
public final class AvahiBrowser: ServiceBrowsing {
    private let returnGrace: Duration
    private let activity = LatestValue(DiscoveryActivity.passive)

    /// - Parameter returnGrace: how long after a restart of the daemon services that were known before may take to be
    ///   seen again, before they are removed.
    public init(returnGrace: Duration = .seconds(8)) { self.returnGrace = returnGrace }

    /// Active: the daemon is made to ask the network anew every ten seconds, where by itself it asks ever more rarely.
    public func setActivity(_ activity: DiscoveryActivity) { self.activity.set(activity) }

    public func browse(_ types: [String]) -> AsyncStream<ServiceEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: ServiceEvent.self)
        let grace = UInt32(clamping: returnGrace.components.seconds * 1000)
        guard
            let session = BrowseSession(
                types: types, returnGraceMilliseconds: grace, activity: activity, continuation: continuation)
        else {
            continuation.yield(
                .state(DiscoveryState(source: "mDNS", status: .unavailable, message: "there is no memory left")))
            continuation.finish()
            return stream
        }
        continuation.onTermination = { _ in
            // Off the reader's thread: a daemon that hangs can hold a callback, and with it this, for seconds.
            DispatchQueue.global().async { session.stop() }
        }
        session.start()
        return stream
    }
}

/// The browsers and resolvers of one stream. Confined to the thread of its connection, see `AvahiConnection`.
final class BrowseSession: @unchecked Sendable {
    private let types: [String]
    private let returnGraceMilliseconds: UInt32
    private let activity: LatestValue<DiscoveryActivity>
    private let continuation: AsyncStream<ServiceEvent>.Continuation
    private var connection: AvahiConnection?

    private struct Home {
        var domain: String
        var host: String?
        var port: Int?
    }

    private static let lookMilliseconds: UInt32 = 10_000

    private var client: OpaquePointer?
    private var browsers: [String: OpaquePointer] = [:]
    private var table = ServiceTable()
    private var resolvers: [OpaquePointer: ServiceTable.Sighting] = [:]
    /// Where each was resolved to last, and the domain to ask in.
    private var homes: [ServiceTable.Sighting: Home] = [:]
    /// Types whose browser has not said yet that this is all for now.
    private var unfinishedTypes: Set<String> = []
    private var graceTimer: AvahiTimer?
    private var wasLost = false
    private var lastState: DiscoveryState?

    init?(
        types: [String], returnGraceMilliseconds: UInt32, activity: LatestValue<DiscoveryActivity>,
        continuation: AsyncStream<ServiceEvent>.Continuation
    ) {
        self.types = types
        self.returnGraceMilliseconds = returnGraceMilliseconds
        self.activity = activity
        self.continuation = continuation
        guard let connection = AvahiConnection(changed: { [unowned self] in note($0) }) else { return nil }
        self.connection = connection
    }

    func start() {
        say(.starting)
        lookAgainLater()
        connection?.start()
    }

    func stop() {
        connection?.stop()
        // Freed with the client.
        client = nil
        browsers = [:]
        resolvers = [:]
    }

    // MARK: On the connection's thread

    private func note(_ change: AvahiConnection.Change) {
        switch change {
        case .up(let client, _):
            guard self.client == nil else { return }
            self.client = client
            begin(client)
        case .down(let outage):
            if client != nil {
                table.daemonLost()
                wasLost = true
            }
            client = nil
            browsers = [:]
            resolvers = [:]
            homes = [:]
            unfinishedTypes = []
            connection?.cancel(graceTimer)
            graceTimer = nil
            say(.unavailable, message: outage.message, hint: outage.hint)
        }
    }

    private func begin(_ client: OpaquePointer) {
        say(.scanning)
        unfinishedTypes = Set(types)
        for type in unfinishedTypes where !startBrowser(of: type, client) {
            unfinishedTypes.remove(type)
            let outage = AvahiOutage(error: avahi_client_errno(client))
            say(.unavailable, message: "\(type): \(outage.message)", hint: outage.hint)
        }
        if wasLost {
            graceTimer = connection?.after(milliseconds: returnGraceMilliseconds) { [unowned self] _ in
                graceTimer = nil
                wasLost = false
                for event in table.dropUnconfirmed() { continuation.yield(event) }
            }
        }
    }

    /// A new browser asks the network at once; of what is known already its word changes nothing.
    private func lookAgainLater() {
        connection?.after(milliseconds: Self.lookMilliseconds) { [unowned self] _ in
            lookAgainLater()
            guard activity.value == .active, let client, lastState?.status == .complete else { return }
            for (type, browser) in browsers {
                browsers[type] = nil
                avahi_service_browser_free(browser)
                _ = startBrowser(of: type, client)
            }
        }
    }

    private func startBrowser(of type: String, _ client: OpaquePointer) -> Bool {
        let browser = avahi_service_browser_new(
            client, Int32(AVAHI_IF_UNSPEC), Int32(AVAHI_PROTO_UNSPEC), type, nil, AvahiLookupFlags(0),
            { _, interface, version, event, name, type, domain, _, context in
                guard let context else { return }
                let session = Unmanaged<BrowseSession>.fromOpaque(context).takeUnretainedValue()
                switch event {
                case AVAHI_BROWSER_NEW, AVAHI_BROWSER_REMOVE:
                    guard let name, let type, let domain else { return }
                    let sighting = ServiceTable.Sighting(
                        key: ServiceRecord.Key(type: String(cString: type), name: String(cString: name)),
                        interface: interface, version: version == Int32(AVAHI_PROTO_INET6) ? .v6 : .v4)
                    if event == AVAHI_BROWSER_NEW {
                        session.appeared(sighting, domain: String(cString: domain))
                    } else {
                        session.vanished(sighting)
                    }
                case AVAHI_BROWSER_ALL_FOR_NOW, AVAHI_BROWSER_FAILURE:
                    // A browser fails with its daemon only, and that the client says by itself.
                    if let type { session.finished(type: String(cString: type)) }
                default: break
                }
            }, Unmanaged.passUnretained(self).toOpaque())
        browsers[type] = browser
        return browser != nil
    }

    private func appeared(_ sighting: ServiceTable.Sighting, domain: String) {
        guard let client, !resolvers.values.contains(sighting) else { return }
        table.appeared(sighting)
        homes[sighting] = Home(domain: domain)
        // Addresses of the version by which the service was seen: by the other one there is a sighting of its own.
        let version = sighting.version == .v4 ? Int32(AVAHI_PROTO_INET) : Int32(AVAHI_PROTO_INET6)
        let resolver = avahi_service_resolver_new(
            client, sighting.interface, version, sighting.key.name, sighting.key.type, domain, version,
            AvahiLookupFlags(0),
            { resolver, interface, _, event, _, _, _, host, address, port, txt, _, context in
                guard let context, let resolver else { return }
                let session = Unmanaged<BrowseSession>.fromOpaque(context).takeUnretainedValue()
                guard event == AVAHI_RESOLVER_FOUND, let host, let address else {
                    session.answered(resolver, with: nil)
                    return
                }
                let link = interfaceName(interface)
                session.answered(
                    resolver,
                    with: ServiceTable.Resolution(
                        hostName: String(cString: host), address: numericAddress(address, interfaceName: link),
                        port: Int(port), txt: textRecord(txt), interfaceName: link))
            }, Unmanaged.passUnretained(self).toOpaque())
        if let resolver {
            resolvers[resolver] = sighting
        } else {
            // The daemon allows a client so many objects and no more.
            tell(table.fellSilent(sighting))
            retryLater(sighting, domain: domain)
        }
    }

    private func retryLater(_ sighting: ServiceTable.Sighting, domain: String) {
        connection?.after(milliseconds: 10_000) { [unowned self] _ in
            if table.contains(sighting) { appeared(sighting, domain: domain) }
        }
    }

    private func answered(_ resolver: OpaquePointer, with resolution: ServiceTable.Resolution?) {
        guard let sighting = resolvers[resolver] else { return }
        if let resolution, let home = homes[sighting] {
            // A resolver tells of another host and port with the address of the old one, and leaves it at that: a group
            // whose leader changed would be looked for at the old leader. A fresh one asks for the new host's address.
            guard home.host == nil || (home.host, home.port) == (resolution.hostName, resolution.port) else {
                resolvers[resolver] = nil
                avahi_service_resolver_free(resolver)
                return appeared(sighting, domain: home.domain)
            }
            homes[sighting]?.host = resolution.hostName
            homes[sighting]?.port = resolution.port
        }
        tell(resolution.map { table.resolved(sighting, as: $0) } ?? table.fellSilent(sighting))
        sayIfComplete()
    }

    private func vanished(_ sighting: ServiceTable.Sighting) {
        for (resolver, its) in resolvers where its == sighting {
            resolvers[resolver] = nil
            avahi_service_resolver_free(resolver)
        }
        homes[sighting] = nil
        tell(table.vanished(sighting))
        sayIfComplete()
    }

    private func finished(type: String) {
        unfinishedTypes.remove(type)
        sayIfComplete()
    }

    private func sayIfComplete() {
        if unfinishedTypes.isEmpty, table.isSettled, client != nil, lastState?.status == .scanning { say(.complete) }
    }

    private func tell(_ event: ServiceEvent?) {
        if let event { continuation.yield(event) }
    }

    private func say(_ status: DiscoveryState.Status, message: String? = nil, hint: String? = nil) {
        let state = DiscoveryState(source: "mDNS", status: status, message: message, hint: hint)
        guard state != lastState else { return }
        lastState = state
        continuation.yield(.state(state))
    }
}
