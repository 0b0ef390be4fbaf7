import CAvahi
import Foundation

/// One connection to the Avahi daemon, on a thread of its own, that comes back when the daemon does.
///
/// Everything in here, and everything that hangs on its client, is touched on that thread, or while the thread is held
/// by `withLock`, or before `start` and after `stop`: that confinement is what makes the class sendable. `stop` must not
/// be called on the thread itself; once it has returned nothing is called any more and all memory of the library is
/// freed.
final class AvahiConnection: @unchecked Sendable {
    enum Change {
        /// The daemon is there. `isNamed` is false while it still settles its own host name.
        case up(client: OpaquePointer, isNamed: Bool)
        /// Every object that was made with the client is gone.
        case down(AvahiOutage)
    }

    private let poll: OpaquePointer
    private let changed: (Change) -> Void
    private var client: OpaquePointer?
    private var timers: [ObjectIdentifier: AvahiTimer] = [:]
    private var isRunning = false

    /// Fails only for want of memory.
    init?(changed: @escaping (Change) -> Void) {
        guard let poll = avahi_threaded_poll_new() else { return nil }
        self.poll = poll
        self.changed = changed
    }

    deinit { avahi_threaded_poll_free(poll) }

    func start() {
        isRunning = true
        // By a timer, so that even the first connection, which may wait for the bus, is made on the thread.
        after(milliseconds: 0) { $0.connect() }
        avahi_threaded_poll_start(poll)
    }

    /// Ends the thread and frees the client with all that was made by it. Waits for a callback that runs.
    func stop() {
        guard isRunning else { return }
        isRunning = false
        avahi_threaded_poll_stop(poll)
        for timer in timers.values { timer.cancel() }
        timers = [:]
        freeClient()
    }

    /// Runs `body` while the thread stands still. Not for use on the thread itself.
    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
        avahi_threaded_poll_lock(poll)
        defer { avahi_threaded_poll_unlock(poll) }
        return try body()
    }

    /// Calls `body` on the thread later. Called on the thread, or under `withLock`, or before `start`.
    @discardableResult
    func after(milliseconds: UInt32, _ body: @escaping (AvahiConnection) -> Void) -> AvahiTimer? {
        guard let api = avahi_threaded_poll_get(poll) else { return nil }
        let timer = AvahiTimer(api: api)
        timers[ObjectIdentifier(timer)] = timer
        timer.start(milliseconds: milliseconds) { [unowned self, unowned timer] in
            timer.cancel()
            // Kept to the end of the call: it is the timer that calls.
            let keep = timers.removeValue(forKey: ObjectIdentifier(timer))
            body(self)
            withExtendedLifetime(keep) {}
        }
        return timer
    }

    func cancel(_ timer: AvahiTimer?) {
        guard let timer else { return }
        timer.cancel()
        timers[ObjectIdentifier(timer)] = nil
    }

    private func connect() {
        freeClient()
        var error: Int32 = 0
        let made = avahi_client_new(
            avahi_threaded_poll_get(poll), AVAHI_CLIENT_NO_FAIL,
            { client, state, context in
                guard let client, let context else { return }
                Unmanaged<AvahiConnection>.fromOpaque(context).takeUnretainedValue().note(state, of: client)
            }, Unmanaged.passUnretained(self).toOpaque(), &error)
        if made == nil {
            // Not even the bus answers. `note` may have been called with a client that is freed by now.
            client = nil
            changed(.down(AvahiOutage(connecting: error)))
            after(milliseconds: 1000) { $0.connect() }
        }
    }

    /// The first call comes from within `avahi_client_new`, before it has returned.
    private func note(_ state: AvahiClientState, of client: OpaquePointer) {
        self.client = client
        switch state {
        case AVAHI_CLIENT_S_REGISTERING, AVAHI_CLIENT_S_COLLISION: changed(.up(client: client, isNamed: false))
        case AVAHI_CLIENT_S_RUNNING: changed(.up(client: client, isNamed: true))
        case AVAHI_CLIENT_CONNECTING: changed(.down(AvahiOutage(error: Int32(AVAHI_ERR_NO_DAEMON))))
        default:
            changed(.down(AvahiOutage(error: avahi_client_errno(client))))
            // Not freed here, below its own callback. The new client then waits for the daemon to come back.
            after(milliseconds: 100) { $0.connect() }
        }
    }

    private func freeClient() {
        if let client { avahi_client_free(client) }
        client = nil
    }
}

/// A timer of the poll loop. Used on its thread only, as `AvahiConnection` says.
final class AvahiTimer {
    private let api: UnsafePointer<AvahiPoll>
    private var timeout: OpaquePointer?
    private var fire: () -> Void = {}

    init(api: UnsafePointer<AvahiPoll>) { self.api = api }

    func start(milliseconds: UInt32, _ fire: @escaping () -> Void) {
        self.fire = fire
        var due = timeval()
        avahi_elapse_time(&due, milliseconds, 0)
        timeout = api.pointee.timeout_new(
            api, &due,
            { _, context in
                guard let context else { return }
                Unmanaged<AvahiTimer>.fromOpaque(context).takeUnretainedValue().fire()
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func cancel() {
        guard let timeout else { return }
        api.pointee.timeout_free(timeout)
        self.timeout = nil
    }
}

/// Why there is no discovery, in words for people.
struct AvahiOutage: Sendable, Hashable {
    var message: String
    var hint: String

    /// Not even a client that waits for the daemon could be made. The library then says “no daemon” where the bus's socket
    /// is missing: for the daemon alone it would have waited.
    init(connecting error: Int32) {
        self.init(error: error)
        guard error == Int32(AVAHI_ERR_NO_DAEMON) || error == Int32(AVAHI_ERR_DBUS_ERROR) else { return }
        message = "the system message bus (D-Bus), by which Avahi is asked, does not answer"
        hint = "Start the services dbus and avahi-daemon, or name receivers by --device"
    }

    init(error: Int32) {
        switch error {
        case Int32(AVAHI_ERR_NO_DAEMON), Int32(AVAHI_ERR_DISCONNECTED):
            message = "the Avahi daemon, which finds receivers on the network, is not running"
            hint = "Start avahi-daemon (systemctl start avahi-daemon), or name receivers by --device"
        default:
            message = "the Avahi daemon, which finds receivers on the network, refused: \(avahiMessage(error))"
            hint = "Look at the log of avahi-daemon, or name receivers by --device"
        }
    }
}
