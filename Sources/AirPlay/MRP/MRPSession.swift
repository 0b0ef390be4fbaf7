/// Now-playing and control of an Apple TV class device, over a data stream of type 130 (`Protocols/mrp`).
///
/// It works while `run` runs; what is asked before it is ready, or after its end, throws `MRPSessionError`.
public actor MRPSession {
    /// What can be followed.
    public struct Status: Sendable, Hashable {
        public var isReady = false
        public var device = MRPDeviceInfo()
        public var playback = MRPPlayback()
    }

    /// Answers that are waited for at a time.
    static let maximumWaiting = 32

    private var machine: MRPClientStateMachine
    private let sleep: @Sendable (Duration) async throws -> Void
    private let outgoing = AsyncStream.makeStream(of: [UInt8].self)
    private let statusSink: AsyncStream<Status>.Continuation
    /// The newest state of the device; finishes with the session. One reader.
    public nonisolated let statuses: AsyncStream<Status>
    /// What somebody asks for at the device, in order; finishes with the session. One reader.
    public nonisolated let commands: AsyncStream<AirPlayRemoteCommand>
    private let commandSink: AsyncStream<AirPlayRemoteCommand>.Continuation
    private var presenter: MRPNowPlayingSender
    /// What plays here, where it was said before the stream was ready.
    private var presented: AirPlayNowPlaying?
    private var waiting: [String: CheckedContinuation<MRPProtocolMessage, any Error>] = [:]
    private var over = false

    /// - Parameters:
    ///   - device: who we are.
    ///   - sleep: of the caller's clock.
    public init(device: MRPDeviceInfo, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        machine = MRPClientStateMachine(
            device: device, firstSequence: UInt64.random(in: 0x1_0000_0000...0x1_FFFF_FFFF),
            prefix: DACPAddress.randomID())
        presenter = MRPNowPlayingSender(device: device)
        self.sleep = sleep
        (commands, commandSink) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(DACPSession.backlog))
        (statuses, statusSink) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Serves the stream until the device closes it, sends what is no frame, or the task is cancelled.
    public nonisolated func run(on connection: ByteConnection) async {
        try? await connection.run { inbound, outbound in
            try await withThrowingDiscardingTaskGroup { group in
                let outgoing = self.outgoing.stream
                group.addTask { for await bytes in outgoing { try await outbound.write(bytes) } }
                await self.begin()
                var held: [UInt8] = []
                for try await bytes in inbound {
                    held += bytes
                    var start = 0
                    while let (frame, used) = try MRPFrame.decode(held[start...]) {
                        start += used
                        await self.take(frame)
                    }
                    held.removeFirst(start)
                }
                group.cancelAll()
            }
        }
        await finish()
    }

    /// Asks the device to do something; returns when it says that it has.
    ///
    /// Throws `notReady`, `noSuchCommand`, `refused`, `timedOut` or `closed`.
    public func perform(
        _ command: AirPlayRemoteCommand, timeout: Duration = .seconds(5)
    ) async throws(MRPSessionError) {
        var message: MRPProtocolMessage
        switch command {
        case .setVolumePercent(let percent):
            message = MRPProtocolMessage(.setVolume)
            message.setVolume.volume = Float(min(100, max(0, percent)) / 100)
            if let device = machine.playback.outputDevice { message.setVolume.outputDeviceUid = device }
            return try tell(message)
        default:
            guard let body = MRPSendCommand(command) else { throw .noSuchCommand }
            message = MRPProtocolMessage(.sendCommand)
            message.sendCommand = body
        }
        let answer = try await ask(message, timeout: timeout)
        let result = answer.sendCommandResult
        guard result.sendError == 0, result.handlerReturnStatus == 0 else {
            throw .refused(sendError: Int(result.sendError), status: Int(result.handlerReturnStatus))
        }
    }

    /// Tells the device what plays here, now or as soon as the stream is ready.
    public func show(_ item: AirPlayNowPlaying) {
        presented = item
        guard machine.stage == .ready, !over else { return }
        for message in presenter.show(item) { outgoing.continuation.yield(machine.tell(message).encoded()) }
    }

    /// A sign of life, to be sent about every half minute. Throws `timedOut` where there is no answer.
    public func keepAlive(timeout: Duration = .seconds(5)) async throws(MRPSessionError) {
        _ = try await ask(MRPProtocolMessage(.generic), timeout: timeout)
    }

    /// Ends `run`.
    public func close() { finish() }

    // MARK: Inside

    private func tell(_ message: MRPProtocolMessage) throws(MRPSessionError) {
        try checkReady()
        outgoing.continuation.yield(machine.ask(message).frame.encoded())
    }

    private func ask(
        _ message: MRPProtocolMessage, timeout: Duration
    ) async throws(MRPSessionError) -> MRPProtocolMessage {
        try checkReady()
        guard waiting.count < Self.maximumWaiting else { throw .notReady }
        let (identifier, frame) = machine.ask(message)
        let sleep = sleep
        let outcome: Result<MRPProtocolMessage, any Error> = await withTaskGroup { group in
            // Cut short by an answer, or by the caller's end: then too it lets go whoever still waits.
            group.addTask {
                try? await sleep(timeout)
                await self.fail(identifier, .timedOut)
            }
            defer { group.cancelAll() }
            do {
                return .success(try await answer(to: identifier, sending: frame))
            } catch {
                return .failure(error)
            }
        }
        switch outcome {
        case .success(let message): return message
        case .failure(let error): throw error as? MRPSessionError ?? .closed
        }
    }

    private func answer(to identifier: String, sending frame: MRPFrame) async throws -> MRPProtocolMessage {
        try await withCheckedThrowingContinuation { continuation in
            waiting[identifier] = continuation
            outgoing.continuation.yield(frame.encoded())
        }
    }

    private func fail(_ identifier: String, _ error: MRPSessionError) {
        waiting.removeValue(forKey: identifier)?.resume(throwing: error)
    }

    private func checkReady() throws(MRPSessionError) {
        guard !over else { throw .closed }
        guard machine.stage == .ready else { throw .notReady }
    }

    private func begin() { execute(machine.begin()) }

    private func take(_ frame: MRPFrame) {
        // A frame whose messages cannot be read is passed over: the next may be good.
        execute((try? machine.receive(frame)) ?? [.send(MRPFrame(kind: .reply, sequence: frame.sequence))])
    }

    private func execute(_ actions: [MRPClientStateMachine.Action]) {
        var changed = false
        for action in actions {
            switch action {
            case .send(let frame): outgoing.continuation.yield(frame.encoded())
            case .ready:
                changed = true
                if let presented { show(presented) }
            case .changed: changed = true
            case .asked(let command): commandSink.yield(command)
            case .askedQueue(let identifier):
                if let answer = presenter.queue(answering: identifier) {
                    outgoing.continuation.yield(machine.tell(answer).encoded())
                }
            case .answered(let identifier, let message):
                waiting.removeValue(forKey: identifier)?.resume(returning: message)
            }
        }
        guard changed else { return }
        statusSink.yield(
            Status(isReady: machine.stage == .ready, device: machine.device, playback: machine.playback))
    }

    private func finish() {
        over = true
        outgoing.continuation.finish()
        statusSink.finish()
        commandSink.finish()
        let left = waiting.values
        waiting = [:]
        for continuation in left { continuation.resume(throwing: MRPSessionError.closed) }
    }
}

/// Why a device did not do what it was asked over MRP.
public enum MRPSessionError: Error, Sendable, Hashable {
    /// Its stream has not got that far.
    case notReady
    /// MRP has no command for it.
    case noSuchCommand
    /// The numbers that the device gave (`Protocols/mrp`, “Results”).
    case refused(sendError: Int, status: Int)
    case timedOut
    case closed
}
