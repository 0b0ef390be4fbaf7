import CSystemd
import Foundation

/// What a call was answered with.
typealias BusAnswer = Result<[BusValue], BusFailure>

/// A signal that was listened for.
struct BusSignal: Sendable, Hashable {
    /// The unique name of whoever sent it.
    var sender: String
    var values: [BusValue]
}

/// One connection to a message bus, without a wait anywhere: calls are answered by closures.
///
/// Belongs to the thread whose actor holds it. It may be let go of on any thread, once nobody uses it.
final class BusConnection {
    /// What sd-bus hands back with each message.
    private final class Receiver {
        unowned let connection: BusConnection
        let number: Int
        /// True: taken; false: sd-bus may find another answer.
        let body: (BusMessage) -> Bool
        /// Heard once, as an answer is.
        let isOnce: Bool

        init(_ connection: BusConnection, _ number: Int, isOnce: Bool, _ body: @escaping (BusMessage) -> Bool) {
            self.connection = connection
            self.number = number
            self.isOnce = isOnce
            self.body = body
        }
    }

    /// Messages taken in before others have their turn.
    private static let messagesPerTurn = 64
    private static let busName = "org.freedesktop.DBus"

    private let bus: OpaquePointer
    private var receivers: [Int: Receiver] = [:]
    private var nextReceiver = 0

    /// - Parameter address: in D-Bus's form; nil: the session bus that the environment names.
    init(address: String?) throws(BusFailure) {
        var bus: OpaquePointer?
        var code: Int32
        if let address {
            code = sd_bus_new(&bus)
            if code >= 0 { code = sd_bus_set_address(bus, address) }
            if code >= 0 { code = sd_bus_set_bus_client(bus, 1) }
            if code >= 0 { code = sd_bus_start(bus) }
        } else {
            code = sd_bus_open_user(&bus)
        }
        guard code >= 0, let bus else {
            sd_bus_unref(bus)
            throw BusFailure(code: code < 0 ? code : -ENOMEM, doing: "reach the session bus")
        }
        self.bus = bus
        _ = sd_bus_set_exit_on_disconnect(bus, 0)
    }

    deinit { sd_bus_close_unref(bus) }

    // MARK: The thread's turn

    var interests: BusInterests {
        var interests = BusInterests()
        let events = sd_bus_get_events(bus)
        let descriptor = sd_bus_get_fd(bus)
        var deadline = UInt64.max
        guard events >= 0, descriptor >= 0, sd_bus_get_timeout(bus, &deadline) >= 0 else {
            // It is closing: the next turn hears of it.
            interests.deadline = 0
            return interests
        }
        interests.descriptors = [.init(number: descriptor, events: Int16(truncatingIfNeeded: events))]
        if deadline != .max { interests.deadline = deadline }
        return interests
    }

    /// Takes in and sends out what it can. Throws once the connection is gone.
    func process() throws(BusFailure) {
        for _ in 0..<Self.messagesPerTurn {
            let code = sd_bus_process(bus, nil)
            guard code >= 0 else { throw BusFailure(code: code, doing: "use the session bus") }
            if code == 0 { return }
        }
    }

    // MARK: Both directions

    /// Every call to this path.
    func serve(_ path: String, _ body: @escaping (BusMessage) -> Bool) throws(BusFailure) {
        let context = receiver(isOnce: false, body)
        try check(sd_bus_add_object(bus, nil, path, Self.received, context), "serve \(path)")
    }

    /// Signals by a match rule of D-Bus; those that cannot be read are passed over.
    func match(_ rule: String, _ body: @escaping (BusSignal) -> Void) throws(BusFailure) {
        let context = receiver(isOnce: false) { message in
            if let sender = message.sender, let values = try? message.values() {
                body(BusSignal(sender: sender, values: values))
            }
            return true
        }
        try check(sd_bus_add_match_async(bus, nil, rule, Self.received, nil, context), "listen on the session bus")
    }

    /// Asks for a name on the bus; nil once it is ours.
    func request(name: String, _ done: @escaping (BusFailure?) -> Void) throws(BusFailure) {
        let context = receiver(isOnce: true) { message in
            done(Self.refusal(of: message, name))
            return true
        }
        try check(sd_bus_request_name_async(bus, nil, name, 0, Self.received, context), "have the name \(name)")
    }

    private static func refusal(of message: BusMessage, _ name: String) -> BusFailure? {
        if let failure = message.failure { return failure }
        // 1: it is ours; 4: it was ours (D-Bus specification, RequestName).
        guard case .uint32(let answer)? = (try? message.values())?.first, answer == 1 || answer == 4 else {
            return BusFailure(BusFailure.Name.failed, "another program has the name \(name)")
        }
        return nil
    }

    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
        _ done: @escaping (BusAnswer) -> Void
    ) throws(BusFailure) {
        let message = try BusMessage.call(bus, destination, path, interface, member)
        try message.append(arguments)
        let context = receiver(isOnce: true) { answer in
            if let failure = answer.failure {
                done(.failure(failure))
                return true
            }
            do throws(BusFailure) { done(.success(try answer.values())) } catch { done(.failure(error)) }
            return true
        }
        // 0: as long as the bus's own limit for answers, 25 seconds.
        try check(sd_bus_call_async(bus, nil, message.raw, Self.received, context, 0), "call \(member)")
    }

    /// Asks the bus itself.
    func ask(
        _ member: String, _ arguments: [BusValue] = [], _ done: @escaping (BusAnswer) -> Void
    ) throws(BusFailure) {
        try call(Self.busName, "/org/freedesktop/DBus", Self.busName, member, arguments, done)
    }

    func emit(
        _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]
    ) throws(BusFailure) {
        let message = try BusMessage.signal(bus, path, interface, member)
        try message.append(arguments)
        try message.send()
    }

    // MARK: Callbacks

    private func receiver(isOnce: Bool, _ body: @escaping (BusMessage) -> Bool) -> UnsafeMutableRawPointer {
        let receiver = Receiver(self, nextReceiver, isOnce: isOnce, body)
        receivers[nextReceiver] = receiver
        nextReceiver += 1
        return Unmanaged.passUnretained(receiver).toOpaque()
    }

    private static let received: sd_bus_message_handler_t = { raw, context, _ in
        guard let raw, let context else { return 0 }
        let receiver = Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue()
        if receiver.isOnce { receiver.connection.receivers[receiver.number] = nil }
        return receiver.body(BusMessage(raw)) ? 1 : 0
    }

    private func check(_ code: Int32, _ what: String) throws(BusFailure) {
        guard code >= 0 else { throw BusFailure(code: code, doing: what) }
    }
}
