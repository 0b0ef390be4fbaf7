import CPosix
import Foundation
import Synchronization

/// What the clock's thread serves.
protocol PTPThreadClient: Actor {
    /// Which descriptors to listen on.
    var descriptors: [Int32] { get }
    /// When to be called though nothing has come in; nil: never.
    var deadline: Int64? { get }
    /// Something has come in, or the deadline has passed. Must not wait.
    func turn(ready: [Int32])
}

/// A thread with real-time priority that listens on sockets, keeps deadlines and runs the jobs of one actor: so that time
/// stamps are taken where the datagrams are, and nothing is shared.
///
/// Jobs reach it as references in a pipe, which also wakes it: no lock, and no polling.
final class PTPThread: SerialExecutor {
    private enum Command {
        case job(UnownedJob)
        case serve(any PTPThreadClient)
        case end
    }

    private final class Box {
        let command: Command
        init(_ command: Command) { self.command = command }
    }

    /// A pipe's two ends, closed when neither the executor nor its thread needs them.
    private final class Channel: Sendable {
        let readEnd: Int32
        let writeEnd: Int32

        init() throws(PTPSocketError) {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw PTPSocketError(operation: "pipe", code: errno) }
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

        func send(_ command: Command) {
            // Writes of a pointer's size are atomic.
            var address = UInt(bitPattern: Unmanaged.passRetained(Box(command)).toOpaque())
            while write(writeEnd, &address, MemoryLayout<UInt>.size) < 0, errno == EINTR {}
        }

        func receive() -> Command? {
            var address = UInt(0)
            guard read(readEnd, &address, MemoryLayout<UInt>.size) == MemoryLayout<UInt>.size,
                let pointer = UnsafeRawPointer(bitPattern: address)
            else { return nil }
            return Unmanaged<Box>.fromOpaque(pointer).takeRetainedValue().command
        }
    }

    /// As the sending thread of audio has.
    private static let priority: Int32 = 20

    private let channel: Channel
    /// `pthread_self()` of the thread.
    private let thread: Identity

    private final class Identity: Sendable {
        let value = Atomic<UInt>(0)
    }

    init() throws(PTPSocketError) {
        let channel = try Channel()
        let identity = Identity()
        self.channel = channel
        thread = identity
        let thread = Thread { [weak self] in
            identity.value.store(UInt(pthread_self()), ordering: .releasing)
            Self.run(channel, executor: { self })
        }
        thread.name = "ptp clock"
        thread.stackSize = 512 * 1024
        thread.start()
    }

    deinit { channel.send(.end) }

    func enqueue(_ job: consuming ExecutorJob) { channel.send(.job(UnownedJob(job))) }

    func checkIsolated() {
        precondition(UInt(pthread_self()) == thread.value.load(ordering: .acquiring), "not on the clock's thread")
    }

    /// From now on serves this client, for as long as there is one.
    func serve(_ client: some PTPThreadClient) { channel.send(.serve(client)) }

    private static func run(_ channel: Channel, executor: () -> PTPThread?) {
        cposix_name_thread("ptp clock")
        cposix_use_fine_timers()
        // A refusal is heard of from the sending thread, which asks for the same.
        _ = cposix_use_realtime_priority(priority)
        weak var client: (any PTPThreadClient)?
        while true {
            let (sockets, deadline) = client.map { plan(of: $0) } ?? ([], nil)
            var descriptors = ([channel.readEnd] + sockets).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            _ = cposix_poll_until(&descriptors, UInt32(descriptors.count), deadline ?? -1)
            let ready = descriptors.dropFirst().filter { $0.revents != 0 }.map(\.fd)
            if let client { turn(client, ready: ready) }
            while let command = channel.receive() {
                switch command {
                case .job(let job):
                    // Held while the job runs, which may let go of the last that holds it.
                    let executor = executor()
                    if let executor { job.runSynchronously(on: executor.asUnownedSerialExecutor()) }
                    withExtendedLifetime(executor) {}
                case .serve(let next): client = next
                case .end: return
                }
            }
        }
    }

    private static func plan(of client: some PTPThreadClient) -> (descriptors: [Int32], deadline: Int64?) {
        client.assumeIsolated { ($0.descriptors, $0.deadline) }
    }

    private static func turn(_ client: some PTPThreadClient, ready: [Int32]) {
        client.assumeIsolated { $0.turn(ready: ready) }
    }
}
