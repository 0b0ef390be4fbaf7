import AirPlay
import NIOCore
import RouteBackend

/// A simulated receiver's clock: it follows the PTP master that it is told of, on real sockets.
///
/// Written apart from the grandmaster: both share the messages' codec and nothing else.
public actor PTPSlave {
    public nonisolated let configuration: PTPSlaveConfiguration
    private let clock: any HostClock
    private var machine: PTPSlaveMachine
    private var event: StampedDatagramSocket?
    private var general: StampedDatagramSocket?
    private var packets: AsyncStream<PTPSlavePacket>.Continuation?
    private var readers: [Task<Void, Never>] = []

    public init(_ configuration: PTPSlaveConfiguration, clock: any HostClock = SystemHostClock()) {
        self.configuration = configuration
        self.clock = clock
        machine = PTPSlaveMachine(configuration)
    }

    /// Takes its ports. Throws `SimulatedReceiverError.cannotListen`.
    public func start() async throws {
        guard event == nil else { return }
        let (packets, continuation) = AsyncStream.makeStream(
            of: PTPSlavePacket.self, bufferingPolicy: .bufferingNewest(256))
        let event = try bind(configuration.ports.event, continuation)
        do { general = try bind(configuration.ports.general, continuation) } catch {
            await event.close()
            throw error
        }
        self.event = event
        self.packets = continuation
        readers = [Task { await read(packets) }]
        if case .asking(let timesPerSecond) = configuration.manner, timesPerSecond > 0 {
            readers.append(Task { await ask(each: 1_000_000_000 / Int64(timesPerSecond)) })
        }
    }

    /// Who the master is to be: the clock that SETUP names and the addresses of SETPEERS. Takes back whom it followed before.
    ///
    /// - Parameters:
    ///   - clockID: nil where SETUP named none: whoever announces itself from these addresses.
    ///   - addresses: numeric, without scope.
    public func follow(clockID: UInt64?, addresses: [String]) {
        for outgoing in machine.follow(clockID: clockID, addresses: addresses) {
            send(outgoing.message, to: outgoing.address)
        }
    }

    /// What is known of the master's clock; nil before a Sync of it was understood.
    public var estimate: PTPClockEstimate? { machine.estimate }
    /// Whether the clock is good enough to play by.
    public var isSettled: Bool { machine.isSettled }
    public var record: PTPSlaveRecord { machine.record }

    /// Nanoseconds that the master's clock shows at an instant of the host's; nil before anything is known.
    public func masterTime(atHost host: Int64) -> UInt64? { machine.estimate?.masterTime(atHost: host) }

    /// Gives the ports back.
    public func stop() async {
        for socket in [event, general] { await socket?.close() }
        event = nil
        general = nil
        packets?.finish()
        packets = nil
        for reader in readers {
            reader.cancel()
            await reader.value
        }
        readers = []
    }

    private func bind(
        _ port: UInt16, _ packets: AsyncStream<PTPSlavePacket>.Continuation
    ) throws -> StampedDatagramSocket {
        let clock = clock
        return try StampedDatagramSocket(host: configuration.host, port: port, capacity: 2048) { datagram in
            let source = datagram.sender.ipAddress?.split(separator: "%").first.map(String.init) ?? ""
            packets.yield(
                PTPSlavePacket(bytes: datagram.bytes, source: source, arrival: datagram.arrival(by: clock)))
        }
    }

    private func read(_ packets: AsyncStream<PTPSlavePacket>) async {
        for await packet in packets { machine.received(packet.bytes, from: packet.source, at: packet.arrival) }
    }

    private func ask(each period: Int64) async {
        while (try? await clock.sleep(nanoseconds: period)) != nil {
            guard let question = machine.ask() else { continue }
            machine.asked(at: clock.now())
            for address in machine.addresses { send(question, to: address) }
        }
    }

    private func send(_ message: PTPMessage, to address: String) {
        let socket = message.content.kind.isEvent ? event : general
        let port = message.content.kind.isEvent ? configuration.ports.event : configuration.ports.general
        guard let socket, let remote = try? SocketAddress(ipAddress: address, port: Int(port)) else { return }
        socket.send(message.encoded(), to: remote)
    }
}

struct PTPSlavePacket: Sendable {
    var bytes: [UInt8]
    /// Without port or scope.
    var source: String
    /// Host monotonic nanoseconds.
    var arrival: Int64
}
