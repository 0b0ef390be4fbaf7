import RouteModel

/// Watches the players of other programs.
public enum ForeignPlayers {
    /// All players as they are now, at first and after each change; a reader that is slow sees the latest. Goes on
    /// until nobody reads it any more, also while there is no bus.
    ///
    /// - Parameters:
    ///   - address: the bus, as D-Bus writes addresses; nil: the session bus that the environment names.
    ///   - now: the clock of positions, in nanoseconds.
    public static func watch(
        address: String? = nil, now: @escaping @Sendable () -> Int64
    ) -> AsyncStream<ForeignPlayerList> {
        let (lists, continuation) = AsyncStream.makeStream(
            of: ForeignPlayerList.self, bufferingPolicy: .bufferingNewest(1))
        do throws(BusFailure) {
            let thread = try BusThread(named: "mpris players")
            let watcher = ForeignPlayerWatcher(thread, address: address, now: now, lists: continuation)
            thread.serve(watcher)
            // Held until nobody reads: with it the thread ends.
            continuation.onTermination = { _ in withExtendedLifetime(watcher) {} }
        } catch {
            continuation.yield(ForeignPlayerList(outage: ForeignPlayerWatcher.outage(error)))
            continuation.finish()
        }
        return lists
    }
}

/// One connection that listens to all players.
actor ForeignPlayerWatcher: BusThreadClient {
    /// Players at once.
    static let maximumPlayers = 64
    /// Microseconds between attempts to reach the bus.
    private static let firstDelay: UInt64 = 250_000
    private static let longestDelay: UInt64 = 30_000_000

    private struct Entry {
        /// The unique name of its connection: signals come from that.
        var owner: String
        var player: ForeignPlayer
        /// It has told of itself at least once.
        var isKnown = false
        /// It is being asked; once more afterwards, where it has said something meanwhile.
        var isAsked = false
        var asksAgain = false
    }

    private let thread: BusThread
    private let address: String?
    private let now: @Sendable () -> Int64
    private let lists: AsyncStream<ForeignPlayerList>.Continuation
    private var connection: BusConnection?
    private var retryAt: UInt64? = 0
    private var delay = firstDelay
    private var entries: [String: Entry] = [:]
    private var outage: Notice?
    private var told: ForeignPlayerList?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(
        _ thread: BusThread, address: String?, now: @escaping @Sendable () -> Int64,
        lists: AsyncStream<ForeignPlayerList>.Continuation
    ) {
        self.thread = thread
        self.address = address
        self.now = now
        self.lists = lists
    }

    static func outage(_ failure: BusFailure) -> Notice {
        Notice(
            .info, "other players of the desktop cannot be seen: \(failure.message)",
            hint: "Run this in a login session, or set DBUS_SESSION_BUS_ADDRESS")
    }

    // MARK: The thread's turn

    var interests: BusInterests {
        var interests = connection?.interests ?? BusInterests()
        if let retryAt { interests.wake(by: retryAt) }
        return interests
    }

    func turn() {
        do throws(BusFailure) {
            if let connection {
                try connection.process()
            } else if let retryAt, retryAt <= BusThread.now() {
                try connect()
            }
        } catch {
            connection = nil
            entries = [:]
            outage = Self.outage(error)
            retryAt = BusThread.now() + delay
            delay = min(2 * delay, Self.longestDelay)
            tell()
        }
    }

    private func connect() throws(BusFailure) {
        retryAt = nil
        let connection = try BusConnection(address: address)
        self.connection = connection
        let bus = "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus'"
        try connection.match(
            "\(bus),interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0namespace='\(MPRISName.root)'",
            hearing { $0.ownerChanged($1) })
        let player = "type='signal',path='\(MPRISName.path)'"
        try connection.match(
            "\(player),interface='\(MPRISName.properties)',member='PropertiesChanged',arg0='\(MPRISName.player)'",
            hearing { $0.propertiesChanged($1) })
        try connection.match(
            "\(player),interface='\(MPRISName.player)',member='Seeked'", hearing { $0.seeked($1) })
        try connection.ask("ListNames", [], hearing { $0.listed($1) })
    }

    /// A callback of the connection as a turn of ours: it calls on our thread.
    private func hearing<Value: Sendable>(
        _ body: @escaping @Sendable (isolated ForeignPlayerWatcher, Value) -> Void
    ) -> (Value) -> Void {
        { [weak self] value in self?.assumeIsolated { body($0, value) } }
    }

    private func listed(_ answer: BusAnswer) {
        guard let names = (try? answer.get())?.first?.texts else { return }
        delay = Self.firstDelay
        outage = nil
        for name in names.sorted() where Self.isWatched(name) { findOwner(of: name) }
        tell()
    }

    // MARK: Who is there

    /// Not ours, nor the one that stands for whichever was used last.
    private static func isWatched(_ name: String) -> Bool {
        name.hasPrefix(MPRISName.playerPrefix) && !name.hasPrefix(MPRISName.ownPrefix)
            && name != MPRISName.playerPrefix + "playerctld"
    }

    private func findOwner(of name: String) {
        try? connection?.ask(
            "GetNameOwner", [.string(name)],
            hearing { watcher, answer in
                // It may have gone meanwhile.
                if let owner = (try? answer.get())?.first?.text { watcher.appeared(name, owner) }
            })
    }

    private func ownerChanged(_ signal: BusSignal) {
        guard signal.values.count == 3, let name = signal.values[0].text, let owner = signal.values[2].text,
            Self.isWatched(name)
        else { return }
        if entries.removeValue(forKey: name)?.isKnown == true { tell() }
        if !owner.isEmpty { appeared(name, owner) }
    }

    private func appeared(_ name: String, _ owner: String) {
        // Some programs have two names for one player.
        guard entries[name] == nil, entries.count < Self.maximumPlayers,
            !entries.values.contains(where: { $0.owner == owner })
        else { return }
        let id = String(name.dropFirst(MPRISName.playerPrefix.count))
        entries[name] = Entry(owner: owner, player: ForeignPlayer(id: id, identity: id))
        getAll(name, MPRISName.root, hearing { $0.named(name, $1) })
        ask(name)
    }

    // MARK: What they say

    private func getAll(_ name: String, _ interface: String, _ done: @escaping (BusAnswer) -> Void) {
        try? connection?.call(
            name, MPRISName.path, MPRISName.properties, "GetAll", [.string(interface)], done)
    }

    private func named(_ name: String, _ answer: BusAnswer) {
        guard let identity = (try? answer.get())?.first?.fields["Identity"]?.text, !identity.isEmpty else { return }
        entries[name]?.player.identity = String(identity.prefix(200))
        tell()
    }

    private func ask(_ name: String) {
        guard let entry = entries[name] else { return }
        guard !entry.isAsked else {
            entries[name]?.asksAgain = true
            return
        }
        entries[name]?.isAsked = true
        getAll(name, MPRISName.player, hearing { $0.answered(name, entry.owner, $1) })
    }

    private func answered(_ name: String, _ owner: String, _ answer: BusAnswer) {
        guard entries[name]?.owner == owner else { return }
        let asksAgain = entries[name]?.asksAgain == true
        entries[name]?.isAsked = false
        entries[name]?.asksAgain = false
        // One that does not answer is not shown before it does.
        if let fields = (try? answer.get())?.first?.fields {
            entries[name]?.isKnown = true
            entries[name]?.player.take(fields, at: now())
        }
        tell()
        if asksAgain { ask(name) }
    }

    private func propertiesChanged(_ signal: BusSignal) {
        guard let name = name(of: signal), signal.values.count == 3 else { return }
        entries[name]?.player.take(signal.values[1].fields, at: now())
        tell()
        // The position is never told by this, nor what is only called out of date.
        ask(name)
    }

    private func seeked(_ signal: BusSignal) {
        guard let name = name(of: signal), case .int64(let position)? = signal.values.first else { return }
        entries[name]?.player.seeked(to: position, at: now())
        tell()
    }

    private func name(of signal: BusSignal) -> String? { entries.first { $0.value.owner == signal.sender }?.key }

    private func tell() {
        let players = entries.values.filter(\.isKnown).map(\.player).sorted { $0.id < $1.id }
        let list = ForeignPlayerList(players: players, outage: outage)
        guard list != told else { return }
        told = list
        lists.yield(list)
    }
}
