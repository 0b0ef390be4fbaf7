import Foundation
import Synchronization

/// What a bus thread serves.
protocol BusThreadClient: Actor {
    /// What to wake up for.
    var interests: BusInterests { get }
    /// Something has come in, or the deadline has passed. Must not wait.
    func turn()
}

/// What a thread waits for.
struct BusInterests: Sendable {
    struct Descriptor: Sendable {
        var number: Int32
        /// Of `poll`.
        var events: Int16
    }

    var descriptors: [Descriptor] = []
    /// Microseconds of the monotonic clock; nil: never.
    var deadline: UInt64?

    mutating func wake(by instant: UInt64) { deadline = min(deadline ?? .max, instant) }
}

/// A thread that listens on bus connections, keeps deadlines and runs the jobs of one actor: sd-bus wants each of its
/// connections on one thread, and nothing is shared this way.
///
/// Jobs reach it as references in a pipe, which also wakes it: no lock, and no polling.
final class BusThread: SerialExecutor {
    private enum Command {
        case job(UnownedJob)
        case serve(any BusThreadClient)
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

        init() throws(BusFailure) {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw BusFailure(code: -errno, doing: "open a pipe") }
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

    private final class Identity: Sendable {
        let value = Atomic<UInt>(0)
    }

    private let channel: Channel
    /// `pthread_self()` of the thread.
    private let thread: Identity

    /// Throws where the process has no descriptor left.
    init(named name: String) throws(BusFailure) {
        let channel = try Channel()
        let identity = Identity()
        self.channel = channel
        thread = identity
        let thread = Thread { [weak self] in
            identity.value.store(UInt(pthread_self()), ordering: .releasing)
            Self.run(channel, executor: { self })
        }
        thread.name = name
        thread.stackSize = 512 * 1024
        thread.start()
    }

    deinit { channel.send(.end) }

    func enqueue(_ job: consuming ExecutorJob) { channel.send(.job(UnownedJob(job))) }

    func checkIsolated() {
        precondition(UInt(pthread_self()) == thread.value.load(ordering: .acquiring), "not on the bus's thread")
    }

    /// From now on serves this client, for as long as there is one.
    func serve(_ client: some BusThreadClient) { channel.send(.serve(client)) }

    /// Microseconds of the clock that deadlines are of.
    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }

    private static func run(_ channel: Channel, executor: () -> BusThread?) {
        weak var client: (any BusThreadClient)?
        while true {
            let interests = client.map { wishes(of: $0) } ?? BusInterests()
            var descriptors =
                [pollfd(fd: channel.readEnd, events: Int16(POLLIN), revents: 0)]
                + interests.descriptors.map { pollfd(fd: $0.number, events: $0.events, revents: 0) }
            _ = poll(&descriptors, nfds_t(descriptors.count), milliseconds(until: interests.deadline))
            if let client { turn(client) }
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

    /// Rounded up, so that nothing is early and then waits again.
    private static func milliseconds(until deadline: UInt64?) -> Int32 {
        guard let deadline else { return -1 }
        let now = now()
        guard deadline > now else { return 0 }
        return Int32(min(UInt64(Int32.max), (deadline - now + 999) / 1000))
    }

    private static func wishes(of client: some BusThreadClient) -> BusInterests {
        client.assumeIsolated { $0.interests }
    }

    private static func turn(_ client: some BusThreadClient) { client.assumeIsolated { $0.turn() } }
}
