import CPosix
import Foundation

/// The one sending thread of the process: real-time priority, absolute deadlines, asleep while nothing is due.
///
/// Commands reach the thread as small records in a pipe, which also wakes it: no lock, and no polling.
public final class Pacer: Sendable {
    private let commands: CommandPipe

    /// Starts the thread.
    ///
    /// - Parameter priorityRefused: called once, on the sending thread, if the system gives it no real-time priority;
    ///   sound is then as good as the machine is idle.
    public init(priorityRefused: @escaping @Sendable (_ code: Int32) -> Void = { _ in }) throws(DatagramSocketError) {
        let commands = try CommandPipe()
        self.commands = commands
        let thread = Thread {
            var loop = PacerLoop(commands: commands)
            loop.run(priorityRefused: priorityRefused)
        }
        thread.name = "pacer"
        thread.stackSize = 512 * 1024
        thread.start()
    }

    deinit { commands.send(.stop) }

    /// Begins serving a stream.
    public func add(_ stream: PacedStream) { commands.send(.add(stream)) }

    /// Ends serving a stream: when this returns nothing of it is used any more.
    public func remove(_ stream: PacedStream) async {
        stream.output?.ring.dropPending()
        await withCheckedContinuation { continuation in
            commands.send(.remove(stream, done: { continuation.resume() }))
        }
    }

    /// Makes the thread look now: for a packet that is due earlier than it would.
    public func wake() { commands.send(.wake) }
}

/// What the thread is told.
enum PacerCommand {
    case wake
    case add(PacedStream)
    case remove(PacedStream, done: () -> Void)
    case stop
}

/// A pipe that carries references. Writes of a pointer's size are atomic.
final class CommandPipe: Sendable {
    private final class Box {
        let command: PacerCommand
        init(_ command: PacerCommand) { self.command = command }
    }

    let readEnd: Int32
    private let writeEnd: Int32

    init() throws(DatagramSocketError) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw DatagramSocketError(code: errno, operation: "pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        while receive() != nil {}
        close(readEnd)
        close(writeEnd)
    }

    func send(_ command: PacerCommand) {
        var address = UInt(0)
        if case .wake = command {} else { address = UInt(bitPattern: Unmanaged.passRetained(Box(command)).toOpaque()) }
        while write(writeEnd, &address, MemoryLayout<UInt>.size) < 0, errno == EINTR {}
    }

    func receive() -> PacerCommand? {
        var address = UInt(0)
        guard read(readEnd, &address, MemoryLayout<UInt>.size) == MemoryLayout<UInt>.size else { return nil }
        guard let pointer = UnsafeRawPointer(bitPattern: address) else { return .wake }
        return Unmanaged<Box>.fromOpaque(pointer).takeRetainedValue().command
    }
}

/// What the thread does: it decides nothing that `PacketSchedule` and `BeatSchedule` could decide.
private struct PacerLoop {
    private static let priority: Int32 = 20
    private static let datagramLimit = 2048
    /// Datagrams taken from one socket before the deadlines are looked at again.
    private static let receiveLimit = 16

    let commands: CommandPipe
    private var streams: [PacedStream] = []
    private var failedAt: [ObjectIdentifier: Int64] = [:]
    private var descriptors: [pollfd] = []
    private var listeners: [PacedStream.Listener] = []

    init(commands: CommandPipe) { self.commands = commands }

    mutating func run(priorityRefused: (Int32) -> Void) {
        cposix_name_thread("pacer")
        cposix_use_fine_timers()
        let refusal = cposix_use_realtime_priority(Self.priority)
        if refusal != 0 { priorityRefused(refusal) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.datagramLimit, alignment: 16)
        defer { buffer.deallocate() }
        listStreams()
        while true {
            let next = serve()
            let ready = cposix_poll_until(&descriptors, UInt32(descriptors.count), next ?? -1)
            guard ready > 0 else { continue }
            for (listener, descriptor) in zip(listeners, descriptors.dropFirst()) where descriptor.revents != 0 {
                receive(listener, into: buffer)
            }
            if descriptors[0].revents != 0 {
                while let command = commands.receive() {
                    if case .stop = command { return }
                    obey(command)
                }
            }
        }
    }

    private mutating func serve() -> Int64? {
        var next: Int64?
        for stream in streams {
            guard let output = stream.output else { continue }
            let now = cposix_monotonic_nanoseconds()
            let served = output.ring.serve(at: now, beat: output.beat) { output.socket.send(burst: $0) }
            if let wake = served.next { next = min(next ?? .max, wake) }
            if served.error != 0, served.error != EAGAIN { report(served.error, of: stream, at: now) }
        }
        return next
    }

    private mutating func report(_ error: Int32, of stream: PacedStream, at now: Int64) {
        let id = ObjectIdentifier(stream)
        if let last = failedAt[id], now - last < 1_000_000_000 { return }
        failedAt[id] = now
        stream.output?.failed(error)
    }

    private func receive(_ listener: PacedStream.Listener, into buffer: UnsafeMutableRawBufferPointer) {
        for _ in 0..<Self.receiveLimit {
            guard let (count, source) = listener.socket.receive(into: buffer) else { return }
            let received = cposix_monotonic_nanoseconds()
            listener.handler(UnsafeRawBufferPointer(rebasing: buffer[..<count]), source, received)
        }
    }

    private mutating func obey(_ command: PacerCommand) {
        switch command {
        case .wake, .stop: break
        case .add(let stream):
            streams.append(stream)
            listStreams()
        case .remove(let stream, let done):
            streams.removeAll { $0 === stream }
            failedAt[ObjectIdentifier(stream)] = nil
            listStreams()
            done()
        }
    }

    private mutating func listStreams() {
        listeners = streams.flatMap(\.listeners)
        descriptors = ([commands.readEnd] + listeners.map(\.socket.descriptor)).map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
    }
}
