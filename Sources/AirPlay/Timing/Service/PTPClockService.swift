import CPosix
import Foundation

/// The clock of this process that AirPlay 2 receivers follow: a PTP grandmaster on ports 319 and 320, by unicast to its
/// peers (`Protocols/airplay/README.md`, “PTP”). One for the process, since the ports can be had only once.
///
/// Its time is the host's monotonic clock and something fixed, so it never steps. It binds to single addresses of this
/// host, as its peers need them, and shares them with nobody; a peer on this very host is spoken to from `ownHostAddress`, so
/// that receivers on other addresses of it can have the ports there.
///
/// Datagrams from any other address than its peers' are counted and not answered.
public actor PTPClockService: PTPThreadClient {
    /// Peers served at once.
    public static let maximumPeers = 128
    /// Where peers on this very host hear from, by IPv4.
    public static let ownHostAddress = "127.3.19.20"

    /// What AirPlay's SETUP and `networkTimeTimelineID` name.
    public nonisolated let clockID: UInt64
    public nonisolated let timebase: PTPTimebase
    public nonisolated let ports: PTPPorts

    /// An address of this host with its two sockets.
    private struct Lane {
        var address: PTPAddress
        var event: PTPSocket
        var general: PTPSocket
    }

    private struct Peer {
        var lane: PTPAddress
        /// How often it was added.
        var users: Int
        /// When its way was last looked for.
        var routedAt: Int64
    }

    /// Datagrams taken from one socket before the deadlines are looked at again.
    private static let receiveLimit = 32
    /// A Sync of which it is not known to within this, in nanoseconds, when it left, is not told of: it would do harm.
    private static let uncertaintyLimit: Int64 = 200_000
    private static let reroutingPeriod: Int64 = 1_000_000_000

    private let thread: PTPThread
    private var machine: PTPGrandmaster
    private var lanes: [PTPAddress: Lane] = [:]
    private var peers: [PTPAddress: Peer] = [:]
    private var isRunning = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Starts the thread, but opens no port yet. Throws `system`.
    ///
    /// - Parameter clockID: distinct in the network; random where there is no reason for another.
    public init(clockID: UInt64 = .random(in: 1..<(.max)), ports: PTPPorts = .standard) throws(PTPError) {
        do { thread = try PTPThread() } catch { throw .system(operation: error.operation, code: error.code) }
        self.clockID = clockID
        self.ports = ports
        timebase = PTPTimebase(
            host: cposix_monotonic_nanoseconds(), secondsSince1970: Date().timeIntervalSince1970)
        machine = PTPGrandmaster(clockID: clockID, timebase: timebase)
    }

    // MARK: Life

    /// Opens the ports. Throws `notPermitted`, `portsInUse` or `system`. Does nothing while it runs.
    public func start() throws(PTPError) {
        guard !isRunning else { return }
        guard let own = PTPAddress(host: Self.ownHostAddress) else { return }
        try open(own)
        isRunning = true
        thread.serve(self)
    }

    /// Forgets all peers and closes the ports. Can be started again, with the same time.
    public func stop() {
        for peer in peers.keys { machine.remove(peer) }
        peers = [:]
        lanes = [:]
        isRunning = false
    }

    // MARK: Peers

    /// Tells this address the time from now on: at once an Announce and a Sync, then one each second and eight of the other.
    /// An address may be added several times, and must then be removed as often.
    ///
    /// Throws `notRunning`, `unusableAddress`, `unreachable`, `tooManyPeers`, `portsInUse` or `system`.
    ///
    /// - Parameter address: numeric, IPv4 or IPv6; an IPv6 address of a link with its interface (`fe80::1%eth0`).
    /// - Returns: the address of this host that the peer hears from, to be named in SETUP and SETPEERS.
    @discardableResult
    public func add(peer address: String) throws(PTPError) -> String {
        guard isRunning else { throw .notRunning }
        let peer = try Self.parse(address)
        if let known = peers[peer] {
            peers[peer]?.users += 1
            return known.lane.description
        }
        guard peers.count < Self.maximumPeers else { throw .tooManyPeers(limit: Self.maximumPeers) }
        let lane = try route(towards: peer)
        let now = cposix_monotonic_nanoseconds()
        peers[peer] = Peer(lane: lane, users: 1, routedAt: now)
        machine.add(peer, localAddress: lane.description, at: now)
        return lane.description
    }

    /// Begins anew with a peer, as `add` does: a receiver hears nothing of us before SETUP and SETPEERS have told it whom
    /// to follow.
    /// Does nothing for an address that is no peer.
    public func greet(peer address: String) {
        guard let peer = try? Self.parse(address), peers[peer] != nil else { return }
        machine.greet(peer, at: cposix_monotonic_nanoseconds())
    }

    /// Takes back one `add`; does nothing for an address that is no peer.
    public func remove(peer address: String) {
        guard let peer = try? Self.parse(address), let known = peers[peer] else { return }
        guard known.users <= 1 else {
            peers[peer]?.users -= 1
            return
        }
        peers[peer] = nil
        machine.remove(peer)
        closeUnused()
    }

    /// What is known of a peer; nil for an address that is none.
    public func status(of address: String) -> PTPPeerStatus? {
        (try? Self.parse(address)).flatMap { machine.status(of: $0) }
    }

    public var statistics: PTPStatistics { machine.statistics }

    /// Nanoseconds that this clock shows at an instant of the host's monotonic clock.
    public nonisolated func time(atHost host: Int64) -> UInt64 { timebase.time(atHost: host) }

    // MARK: Addresses of this host

    private static func parse(_ address: String) throws(PTPError) -> PTPAddress {
        guard let peer = PTPAddress(host: address), peer.isUnicast, !peer.isLinkLocal || peer.hasScope else {
            throw .unusableAddress(address)
        }
        return peer
    }

    /// The lane that leads to a peer, opened if it isn't.
    private func route(towards peer: PTPAddress) throws(PTPError) -> PTPAddress {
        var source: PTPAddress
        do { source = try PTPSocket.source(towards: peer) } catch {
            throw .unreachable(peer.description, reason: String(cString: strerror(error.code)))
        }
        // Whoever is on this host, under whatever address of it, may have the ports of that address.
        if peer.family == AF_INET, source == peer || peer.isLoopback, let own = PTPAddress(host: Self.ownHostAddress) {
            source = own
        }
        if lanes[source] == nil { try open(source) }
        return source
    }

    private func open(_ address: PTPAddress) throws(PTPError) {
        do {
            let event = try PTPSocket(bound: address.with(port: ports.event), stampsDepartures: true)
            let general = try PTPSocket(bound: address.with(port: ports.general), stampsDepartures: false)
            lanes[address] = Lane(address: address, event: event, general: general)
        } catch {
            switch error.code {
            case EACCES, EPERM: throw .notPermitted(ports)
            case EADDRINUSE: throw .portsInUse(ports, address: address.description)
            default: throw .system(operation: error.operation, code: error.code)
            }
        }
    }

    private func closeUnused() {
        let used = Set(peers.values.map(\.lane))
        for address in lanes.keys where !used.contains(address) && address.description != Self.ownHostAddress {
            lanes[address] = nil
        }
    }

    /// The way to a peer may have changed: this host has another address now, say.
    private func reroute(_ peer: PTPAddress, at now: Int64) {
        guard let known = peers[peer], now - known.routedAt >= Self.reroutingPeriod else { return }
        peers[peer]?.routedAt = now
        guard let lane = try? route(towards: peer), lane != known.lane else { return }
        peers[peer]?.lane = lane
        machine.moved(peer, localAddress: lane.description)
        closeUnused()
    }

    // MARK: The thread's turn

    var descriptors: [Int32] { lanes.values.flatMap { [$0.event.descriptor, $0.general.descriptor] } }
    var deadline: Int64? { machine.deadline }

    func turn(ready: [Int32]) {
        for lane in lanes.values {
            for socket in [lane.event, lane.general] where ready.contains(socket.descriptor) {
                receive(on: socket)
            }
        }
        for outgoing in machine.due(at: cposix_monotonic_nanoseconds()) { send(outgoing) }
    }

    private func receive(on socket: PTPSocket) {
        for _ in 0..<Self.receiveLimit {
            guard let datagram = socket.receive() else { break }
            let answers = machine.received(datagram.bytes, from: datagram.source.host, at: datagram.arrival)
            for answer in answers { send(answer) }
        }
        // Unread, it would wake the thread again and again.
        socket.takeNews { refused($0, $1) }
    }

    private func send(_ outgoing: PTPGrandmaster.Outgoing) {
        guard let peer = peers[outgoing.peer], let lane = lanes[peer.lane] else { return }
        let isEvent = outgoing.message.content.kind.isEvent
        let socket = isEvent ? lane.event : lane.general
        let address = outgoing.peer.with(port: isEvent ? ports.event : ports.general)
        let departure = socket.send(outgoing.message.encoded(), to: address) { refused($0, $1) }
        machine.sent(to: outgoing.peer, error: departure.error == 0 ? nil : departure.error)
        guard let left = departure.instant else {
            if departure.error != EAGAIN { reroute(outgoing.peer, at: cposix_monotonic_nanoseconds()) }
            return
        }
        guard let follower = outgoing.departure else { return }
        guard departure.uncertainty <= Self.uncertaintyLimit else {
            machine.withheld(for: outgoing.peer)
            return
        }
        send(machine.left(follower, to: outgoing.peer, at: left))
    }

    private func refused(_ host: PTPAddress, _ error: Int32) {
        guard error == ECONNREFUSED else { return }
        machine.refused(by: host, at: cposix_monotonic_nanoseconds())
    }
}
