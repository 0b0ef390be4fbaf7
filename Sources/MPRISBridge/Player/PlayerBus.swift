import RouteModel

/// A call that is to be carried out: `take` gives what it asks for, and `answer` is due afterwards.
struct PlayerRequest: Sendable, Hashable {
    /// Nil: the session's player is gone, and no more will come.
    var number: Int?
    var session: SessionID
}

/// The players of all sessions, on a thread of their own.
///
/// Reads are answered from the last state shown; what changes something is handed out by `requests`.
actor PlayerBus: BusThreadClient {
    /// Players at once; a house has fewer sessions.
    static let maximumPlayers = 32
    /// Pictures remembered.
    private static let maximumArts = 32
    /// Microseconds that a session's last calls may take.
    private static let leavingTime: UInt64 = 5_000_000

    /// What is to be carried out, in the order that it came.
    nonisolated let requests: AsyncStream<PlayerRequest>

    private let thread: BusThread
    private let configuration: MPRISConfiguration
    private let handingOut: AsyncStream<PlayerRequest>.Continuation
    private var ports: [SessionID: PlayerPort] = [:]
    private var nextRequest = 0
    private var arts: [(item: ItemID, address: String)] = []
    /// Failures to come on to the bus are told once, until it has worked again.
    private var toldOutage = false
    private var toldLimit = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Throws where the process has no descriptor left.
    init(_ configuration: MPRISConfiguration) throws(BusFailure) {
        thread = try BusThread(named: "mpris")
        self.configuration = configuration
        // Bounded by what waits in each player.
        (requests, handingOut) = AsyncStream.makeStream(of: PlayerRequest.self)
    }

    func start() { thread.serve(self) }

    /// Takes all players off the bus.
    func stop() {
        ports = [:]
        handingOut.finish()
    }

    // MARK: What is shown

    /// These sessions, and no others.
    func show(_ states: [PlayerState]) {
        let now = configuration.now()
        var gone = Set(ports.keys)
        for var state in states {
            gone.remove(state.session)
            state.art = arts.first { $0.item == state.item?.id }?.address
            if let port = ports[state.session] {
                port.leavesBy = nil
                port.change(to: state, at: now)
            } else if ports.count < Self.maximumPlayers {
                let port = PlayerPort(state)
                ports[state.session] = port
                connect(port)
            } else if !toldLimit {
                toldLimit = true
                configuration.notice(
                    Notice(
                        .warning, "the desktop sees the first \(Self.maximumPlayers) sessions, and no more",
                        hint: "End a session, or control the others by the router's own commands"))
            }
        }
        for session in gone {
            guard let port = ports[session], port.leavesBy == nil else { continue }
            if port.waiting.isEmpty {
                remove(session)
            } else {
                // Whoever stopped it is still to hear that it did.
                port.leavesBy = BusThread.now() + Self.leavingTime
            }
        }
    }

    private func remove(_ session: SessionID) {
        ports[session] = nil
        handingOut.yield(PlayerRequest(session: session))
    }

    /// Whether a player shows this item now.
    func shows(_ item: ItemID) -> Bool { ports.values.contains { $0.state.item?.id == item } }

    /// The addresses of the pictures that players show now.
    var shownArts: Set<String> { Set(arts.filter { shows($0.item) }.map(\.address)) }

    /// From now on an item's picture is at this address.
    func show(art address: String, of item: ItemID) {
        arts.removeAll { $0.item == item }
        arts.append((item, address))
        // What is on show stays, however long.
        if arts.count > Self.maximumArts, let place = arts.firstIndex(where: { !shows($0.item) }) {
            arts.remove(at: place)
        }
        let now = configuration.now()
        for port in ports.values where port.state.item?.id == item {
            var state = port.state
            state.art = address
            port.change(to: state, at: now)
        }
    }

    // MARK: Coming on to the bus, and off it

    private func connect(_ port: PlayerPort) {
        let session = port.state.session
        do throws(BusFailure) {
            // The connection calls on our thread.
            try port.connect(configuration.address) { [weak self] message in
                self?.assumeIsolated { $0.receive(message, session) } ?? false
            } named: { [weak self] failure in
                self?.assumeIsolated { $0.named(session, failure) }
            }
        } catch {
            lost(port, error)
        }
    }

    /// Called by the connection itself, which must therefore not be let go of here.
    private func named(_ session: SessionID, _ failure: BusFailure?) {
        guard let port = ports[session] else { return }
        if let failure {
            tell(failure)
        } else {
            toldOutage = false
            port.appear()
        }
    }

    private func lost(_ port: PlayerPort, _ failure: BusFailure) {
        tell(failure)
        port.disappear(tryAgainAfter: BusThread.now())
    }

    private func tell(_ failure: BusFailure) {
        guard !toldOutage else { return }
        toldOutage = true
        configuration.notice(
            Notice(
                .info, "the desktop's media keys and players cannot reach the router: \(failure.message)",
                hint: "Run it in a login session, or set DBUS_SESSION_BUS_ADDRESS; all else works without"))
    }

    // MARK: The thread's turn

    var interests: BusInterests {
        var interests = BusInterests()
        for port in ports.values {
            if let wanted = port.connection?.interests {
                interests.descriptors += wanted.descriptors
                if let deadline = wanted.deadline { interests.wake(by: deadline) }
            }
            if let retry = port.retryAt { interests.wake(by: retry) }
            if let end = port.leavesBy { interests.wake(by: end) }
        }
        return interests
    }

    func turn() {
        let now = BusThread.now()
        for (session, port) in ports {
            if let end = port.leavesBy, end <= now || port.waiting.isEmpty {
                remove(session)
                continue
            }
            if let connection = port.connection {
                do throws(BusFailure) { try connection.process() } catch { lost(port, error) }
            } else if let retry = port.retryAt, retry <= now {
                connect(port)
            }
        }
    }

    // MARK: Calls

    private func receive(_ message: BusMessage, _ session: SessionID) -> Bool {
        guard message.isCall, let port = ports[session] else { return false }
        let call: PlayerCall
        do throws(BusFailure) {
            call = PlayerCall(
                interface: message.interface, member: message.member, signature: message.signature,
                arguments: try message.values(), state: port.state, now: configuration.now())
        } catch {
            call = .refuse(error)
        }
        switch call {
        case .answer(let values): answer(message, values)
        case .refuse(let failure): refuse(message, failure)
        case .act(let action): enqueue(action, message, port)
        }
        return true
    }

    private func enqueue(_ action: PlayerAction, _ message: BusMessage, _ port: PlayerPort) {
        if port.leavesBy != nil { return refuse(message, Self.over) }
        // Of a slider that is dragged only the last place counts.
        if case .volume = action,
            let (number, old) = port.waiting.first(where: { !$0.value.taken && $0.value.action.isVolume })
        {
            answer(old.message, [])
            port.waiting[number] = .init(message: message, action: action)
            return
        }
        guard port.waiting.count < PlayerPort.maximumWaiting else {
            return refuse(
                message,
                BusFailure(BusFailure.Name.limits, "\(PlayerPort.maximumWaiting) commands of this player wait already"))
        }
        let number = nextRequest
        nextRequest += 1
        port.waiting[number] = .init(message: message, action: action)
        handingOut.yield(PlayerRequest(number: number, session: port.state.session))
    }

    /// What a request asks for, with what the player shows now; nil where nobody waits for it any more.
    func take(_ request: PlayerRequest) -> (action: PlayerAction, state: PlayerState)? {
        guard let number = request.number, let port = ports[request.session], let waiting = port.waiting[number]
        else { return nil }
        port.waiting[number]?.taken = true
        return (waiting.action, port.state)
    }

    /// Tells the caller that it is done, or why not.
    func answer(_ request: PlayerRequest, _ failure: BusFailure?) {
        guard let number = request.number, let port = ports[request.session],
            let waiting = port.waiting.removeValue(forKey: number)
        else { return }
        if let failure { refuse(waiting.message, failure) } else { answer(waiting.message, []) }
        if port.leavesBy != nil, port.waiting.isEmpty { remove(request.session) }
    }

    private func answer(_ message: BusMessage, _ values: [BusValue]) {
        guard message.wantsAnswer else { return }
        do throws(BusFailure) {
            let reply = try message.reply()
            try reply.append(values)
            try reply.send()
        } catch {
            refuse(message, error)
        }
    }

    private func refuse(_ message: BusMessage, _ failure: BusFailure) {
        guard message.wantsAnswer else { return }
        // Who cannot even be told is gone.
        try? message.reply(failure).send()
    }

    private static let over = BusFailure(BusFailure.Name.failed, "the session is over")
}

extension PlayerAction {
    var isVolume: Bool { if case .volume = self { true } else { false } }
}
