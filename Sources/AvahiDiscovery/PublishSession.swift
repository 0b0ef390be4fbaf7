import CAvahi
import Foundation
import RouteBackend
import RouteModel

/// The announcements of one publisher. Confined to the thread of its connection, see `AvahiConnection`: the functions at
/// the top take its lock, the others are called with it held.
final class PublishSession: @unchecked Sendable {
    /// A service that somebody wants announced, whether it is right now or not.
    private final class Announcement {
        var service: PublishedService
        /// After a collision another one than asked for.
        var name: String
        var group: OpaquePointer?
        var waiter: CheckedContinuation<String, any Error>?
        var outcome: Result<String, any Error>?
        var deadline: AvahiTimer?
        unowned let session: PublishSession

        init(_ service: PublishedService, session: PublishSession) {
            self.service = service
            name = service.name
            self.session = session
        }
    }

    /// The host record of one address.
    private struct Host {
        var name: String
        var group: OpaquePointer
    }

    private static let establishMilliseconds: UInt32 = 15_000
    /// How often one announcement is renamed before it is given up.
    private static let renameLimit = 50

    private var connection: AvahiConnection?
    private var hasStarted = false
    private var client: OpaquePointer?
    private var announcements: [Int: Announcement] = [:]
    private var hosts: [String: Host] = [:]
    private var nextID = 0
    private var outage: AvahiOutage?

    init() { connection = AvahiConnection(changed: { [unowned self] in note($0) }) }

    // MARK: From outside

    func add(_ service: PublishedService) throws -> Int {
        try check(service)
        guard let connection else { throw RouterError(.internal, "there is no memory left for announcements") }
        return connection.withLock {
            let id = nextID
            nextID += 1
            let announcement = Announcement(service, session: self)
            announcements[id] = announcement
            announcement.deadline = connection.after(milliseconds: Self.establishMilliseconds) { [unowned self] _ in
                announcement.deadline = nil
                let error = RouterError(.timeout, "Avahi did not announce \(service.name) in time", retry: .later)
                settle(announcement, .failure(error))
            }
            if !hasStarted {
                hasStarted = true
                connection.start()
            } else if let client {
                register(announcement, client)
            } else if let outage {
                settle(announcement, .failure(error(for: outage)))
            }
            return id
        }
    }

    func wait(for id: Int, _ waiter: CheckedContinuation<String, any Error>) {
        connection?.withLock {
            guard let announcement = announcements[id] else {
                waiter.resume(throwing: RouterError(.cancelled, "the announcement was withdrawn"))
                return
            }
            announcement.waiter = waiter
            if let outcome = announcement.outcome { settle(announcement, outcome) }
        }
    }

    func fail(_ id: Int, _ error: RouterError) {
        connection?.withLock {
            if let announcement = announcements[id] { settle(announcement, .failure(error)) }
        }
    }

    func remove(_ id: Int) {
        connection?.withLock { drop(id) }
    }

    func update(_ id: Int, txt: [String: String]) throws {
        try connection?.withLock {
            guard let announcement = announcements[id] else { return }
            announcement.service.txt = txt
            guard let group = announcement.group, let client else {
                throw RouterError(.unavailable, "\(announcement.name) is not announced now", retry: .later)
            }
            let list = stringList(txt)
            let error = avahi_entry_group_update_service_txt_strlst(
                group, interface(of: announcement.service), Int32(AVAHI_PROTO_UNSPEC), AvahiPublishFlags(0),
                announcement.name, announcement.service.type, nil, list.head)
            _ = client
            if error != 0 { throw RouterError(.internal, "Avahi refused a TXT record: \(avahiMessage(error))") }
        }
    }

    func stop() {
        connection?.stop()
        // The thread has ended, and the library freed the groups with the client.
        client = nil
        hosts = [:]
        for announcement in announcements.values {
            announcement.group = nil
            announcement.deadline = nil
            announcement.waiter?.resume(throwing: RouterError(.cancelled, "announcing has ended"))
            announcement.waiter = nil
        }
        announcements = [:]
    }

    // MARK: With the lock held

    private func note(_ change: AvahiConnection.Change) {
        switch change {
        case .up(let client, let isNamed):
            outage = nil
            forgetGroups(free: true)
            // While the daemon still settles its own name nothing can be registered under it.
            self.client = isNamed ? client : nil
            guard isNamed else { return }
            for announcement in announcements.values {
                announcement.name = announcement.service.name
                register(announcement, client)
            }
        case .down(let outage):
            self.outage = outage
            client = nil
            forgetGroups(free: false)
            for announcement in announcements.values where announcement.outcome == nil {
                settle(announcement, .failure(error(for: outage)))
            }
        }
    }

    private func forgetGroups(free: Bool) {
        for announcement in announcements.values {
            if free, let group = announcement.group { avahi_entry_group_free(group) }
            announcement.group = nil
        }
        if free { for host in hosts.values { avahi_entry_group_free(host.group) } }
        hosts = [:]
    }

    private func register(_ announcement: Announcement, _ client: OpaquePointer) {
        let group =
            announcement.group
            ?? avahi_entry_group_new(
                client,
                { group, state, context in
                    guard let context, let group else { return }
                    let announcement = Unmanaged<Announcement>.fromOpaque(context).takeUnretainedValue()
                    announcement.session.note(state, of: group, announcement)
                }, Unmanaged.passUnretained(announcement).toOpaque())
        guard let group else { return refuse(announcement, avahi_client_errno(client)) }
        announcement.group = group
        let service = announcement.service
        var hostName: String?
        if let address = service.address {
            switch host(for: address, client) {
            case .success(let name): hostName = name
            case .failure(let error): return settle(announcement, .failure(error))
            }
        }
        let list = stringList(service.txt)
        for _ in 0..<Self.renameLimit {
            let error = avahi_entry_group_add_service_strlst(
                group, interface(of: service), Int32(AVAHI_PROTO_UNSPEC), AvahiPublishFlags(0), announcement.name,
                service.type, nil, hostName, UInt16(service.port), list.head)
            if error == 0 {
                let error = avahi_entry_group_commit(group)
                if error != 0 { refuse(announcement, error) }
                return
            }
            // Taken by another service of this same machine: told at once and not by the group's state.
            guard error == Int32(AVAHI_ERR_COLLISION) else { return refuse(announcement, error) }
            rename(announcement)
        }
        refuse(announcement, Int32(AVAHI_ERR_COLLISION))
    }

    private func note(_ state: AvahiEntryGroupState, of group: OpaquePointer, _ announcement: Announcement) {
        switch state {
        case AVAHI_ENTRY_GROUP_ESTABLISHED: settle(announcement, .success(announcement.name))
        case AVAHI_ENTRY_GROUP_COLLISION:
            guard let client else { return }
            rename(announcement)
            avahi_entry_group_reset(group)
            register(announcement, client)
        case AVAHI_ENTRY_GROUP_FAILURE:
            refuse(announcement, avahi_client_errno(avahi_entry_group_get_client(group)))
        default: break
        }
    }

    private func rename(_ announcement: Announcement) {
        guard let other = avahi_alternative_service_name(announcement.name) else { return }
        announcement.name = String(cString: other)
        avahi_free(other)
    }

    /// The name of the host record of an address, which is made if it isn't there yet.
    private func host(for address: String, _ client: OpaquePointer) -> Result<String, RouterError> {
        if let host = hosts[address] { return .success(host.name) }
        var parsed = AvahiAddress()
        guard avahi_address_parse(address, Int32(AVAHI_PROTO_UNSPEC), &parsed) != nil else {
            return .failure(RouterError(.configuration, "“\(address)” is not an address"))
        }
        guard let machine = avahi_client_get_host_name(client), let domain = avahi_client_get_domain_name(client),
            let group = avahi_entry_group_new(client, { _, _, _ in }, nil)
        else { return .failure(refusal(avahi_client_errno(client))) }
        let digits = address.map { $0.isLetter || $0.isNumber ? $0 : "-" }
        // Unique as the machine's name is, which Avahi sees to.
        let name = "\(String(cString: machine))-\(String(digits)).\(String(cString: domain))"
        var error = avahi_entry_group_add_address(
            group, interface(of: address), Int32(AVAHI_PROTO_UNSPEC), AVAHI_PUBLISH_NO_REVERSE, name, &parsed)
        if error == 0 { error = avahi_entry_group_commit(group) }
        guard error == 0 else {
            avahi_entry_group_free(group)
            return .failure(refusal(error))
        }
        hosts[address] = Host(name: name, group: group)
        return .success(name)
    }

    private func drop(_ id: Int) {
        guard let announcement = announcements.removeValue(forKey: id) else { return }
        connection?.cancel(announcement.deadline)
        if let group = announcement.group { avahi_entry_group_free(group) }
        announcement.group = nil
        if let address = announcement.service.address, let host = hosts[address],
            !announcements.values.contains(where: { $0.service.address == address })
        {
            avahi_entry_group_free(host.group)
            hosts[address] = nil
        }
        announcement.waiter?.resume(throwing: RouterError(.cancelled, "the announcement was withdrawn"))
        announcement.waiter = nil
    }

    /// Tells the one who waits. What failed is forgotten with that, what succeeded is kept up from then on.
    private func settle(_ announcement: Announcement, _ outcome: Result<String, any Error>) {
        if announcement.outcome == nil { announcement.outcome = outcome }
        connection?.cancel(announcement.deadline)
        announcement.deadline = nil
        guard let waiter = announcement.waiter, let outcome = announcement.outcome else { return }
        announcement.waiter = nil
        waiter.resume(with: outcome)
        if case .failure = outcome, let id = announcements.first(where: { $0.value === announcement })?.key { drop(id) }
    }

    private func refuse(_ announcement: Announcement, _ error: Int32) {
        settle(announcement, .failure(refusal(error)))
    }

    private func refusal(_ error: Int32) -> RouterError {
        RouterError(.configuration, "Avahi does not announce this: \(avahiMessage(error))")
    }

    private func error(for outage: AvahiOutage) -> RouterError {
        RouterError(.dependencyMissing, outage.message, hint: outage.hint, retry: .afterUserAction)
    }

    private func check(_ service: PublishedService) throws {
        guard (1...63).contains(service.name.utf8.count) else {
            throw RouterError(.configuration, "“\(service.name)” can't be announced: a name has 1 to 63 bytes")
        }
        guard (1...65535).contains(service.port) else {
            throw RouterError(.configuration, "port \(service.port) can't be announced")
        }
    }

    private func interface(of service: PublishedService) -> Int32 {
        service.address.map { interface(of: $0) } ?? Int32(AVAHI_IF_UNSPEC)
    }

    private func interface(of address: String) -> Int32 {
        switch AddressKind(address) {
        case .ipv4Loopback, .ipv6Loopback: Int32(if_nametoindex("lo"))
        default: Int32(AVAHI_IF_UNSPEC)
        }
    }
}
