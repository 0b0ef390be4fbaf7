import HomeKitPairing

/// How the receiver's own requests are faring: it is to have a connection for them, and drops the session without.
public enum AirPlay2EventChannelState: Sendable, Hashable {
    /// The receiver named no port for it.
    case none
    case connecting
    case open
    /// It could not be opened, in as many attempts as there are; with the system's reason.
    case unreachable(reason: String)
    /// It was open; the receiver closed it, or sent what can't be read.
    case closed
}

/// What a receiver asks on the event channel, and what it is answered. Pure: no I/O.
struct AirPlay2EventMachine {
    private let decoder = RTSPMessageDecoder(
        // Artwork doesn't come this way.
        limits: RTSPMessageDecoder.Limits(bodyBytes: 1 << 20))
    private var buffer: [UInt8] = []

    /// Takes bytes; gives the answers to send and the commands among the requests, in order.
    mutating func receive(
        _ bytes: [UInt8]
    ) throws(RTSPDecodingError) -> (answers: [UInt8], commands: [AirPlay2Command]) {
        buffer += bytes
        var answers: [UInt8] = []
        var commands: [AirPlay2Command] = []
        var start = 0
        while let (message, used) = try decoder.decode(buffer[start...]) {
            start += used
            guard case .request(let request) = message else { continue }
            // One that can't be read is answered all the same: the receiver cannot help it, and would hang up.
            if request.method == "POST", request.uri.hasSuffix("/command"),
                let command = try? AirPlay2Command(body: request.body)
            {
                commands.append(command)
            }
            var answer = RTSPResponse(version: request.version)
            if let number = request.headers["CSeq"] { answer.headers["CSeq"] = number }
            answers += answer.encoded()
        }
        buffer.removeFirst(start)
        return (answers, commands)
    }
}

/// Opens the event channel and serves it until the receiver closes it or the task is cancelled.
struct AirPlay2EventChannel: Sendable {
    /// airplay2-receiver opens its port only after the answer that names it.
    static let attempts = 5
    static let pause = Duration.seconds(1)

    let connection: RTSPConnection
    let port: Int
    let keys: ChannelKeys?
    let sleep: @Sendable (Duration) async throws -> Void

    func run(
        commands: AsyncStream<AirPlay2Command>.Continuation,
        report: @Sendable (AirPlay2EventChannelState) async -> Void
    ) async {
        var reason = ""
        for attempt in 1...Self.attempts {
            do {
                let events = try await ByteConnection.connect(beside: connection, port: port, keys: keys)
                await report(.open)
                try? await serve(events, commands)
                await report(.closed)
                return
            } catch .unreachable(let why) {
                reason = why
            } catch .connectTimedOut {
                reason = "nobody answers at the port"
            } catch {
                return
            }
            guard attempt < Self.attempts else { break }
            do { try await sleep(Self.pause) } catch { return }
        }
        await report(.unreachable(reason: reason))
    }

    private func serve(_ events: ByteConnection, _ commands: AsyncStream<AirPlay2Command>.Continuation) async throws {
        try await events.run { inbound, outbound in
            var machine = AirPlay2EventMachine()
            for try await bytes in inbound {
                let (answers, received) = try machine.receive(bytes)
                for command in received { commands.yield(command) }
                if !answers.isEmpty { try await outbound.write(answers) }
            }
        }
    }
}
