import NIOCore
import NIOPosix
import RouteBackend
import RouterTestKit
import Synchronization
import Testing

@testable import SimulatedReceivers

@Suite("Listening sockets of simulated receivers", .timeLimit(.minutes(2)))
struct ClientListenerTests {
    typealias Listener = ClientListener<ByteBuffer, ByteBuffer>

    /// Reads until its client hangs up, and counts.
    private static func serve(_ client: Listener.Client, _ served: borrowing Atomic<Int>) async {
        served.add(1, ordering: .relaxed)
        try? await client.executeThenClose { inbound, _ in for try await _ in inbound {} }
    }

    /// A connection from outside; its channel is closed as the other end hangs up.
    private static func connect(to port: Int) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get()
    }

    /// NIO stops the process where a client is dropped that nobody has served: this is what the test would die of.
    @Test("whoever comes in the moment of the end is served or hung up on, and the process lives")
    func endOfService() async throws {
        for round in 0..<40 {
            let listener = try await Listener.bind(host: "127.0.0.1", port: 0)
            let count = Counter()
            let serving = Task { await listener.run { client, _ in await Self.serve(client, count.served) } }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        if number == round % 16 { serving.cancel() }
                        // Refused once it listens no more.
                        guard let channel = try? await Self.connect(to: listener.port) else { return }
                        // The kernel may forget who is accepted as its socket closes, and says so only to who sends.
                        let isHungUpOn = await eventually {
                            channel.writeAndFlush(ByteBuffer(string: "?"), promise: nil)
                            return !channel.isActive
                        }
                        #expect(isHungUpOn)
                    }
                }
            }
            await serving.value
        }
    }

    @Test("one that is closed takes nobody more, and goes on with whom it has")
    func closed() async throws {
        let listener = try await Listener.bind(host: "127.0.0.1", port: 0)
        let count = Counter()
        let serving = Task { await listener.run { client, _ in await Self.serve(client, count.served) } }
        let first = try await Self.connect(to: listener.port)
        #expect(await eventually { count.served.load(ordering: .relaxed) == 1 })
        await listener.close()
        // Refused, or by now somebody else's place.
        try? await Self.connect(to: listener.port).close()
        #expect(first.isActive)
        try await first.close()
        await serving.value
        #expect(count.served.load(ordering: .relaxed) == 1)
    }

    @Test("clients are numbered, and wait for each other where only one is served at a time")
    func oneAtATime() async throws {
        let listener = try await Listener.bind(host: "127.0.0.1", port: 0)
        let numbers = LatestValue<[Int]>([])
        let serving = Task {
            await listener.run(oneAtATime: true) { client, number in
                numbers.update { $0.append(number) }
                try? await client.executeThenClose { inbound, _ in for try await _ in inbound {} }
            }
        }
        let first = try await Self.connect(to: listener.port)
        #expect(await eventually { numbers.value == [0] })
        let second = try await Self.connect(to: listener.port)
        await othersHaveRun()
        #expect(numbers.value == [0])
        try await first.close()
        #expect(await eventually { numbers.value == [0, 1] })
        serving.cancel()
        await serving.value
        try await second.closeFuture.get()
    }

    @Test("a place that is taken is told as one that cannot be listened on")
    func taken() async throws {
        let listener = try await Listener.bind(host: "127.0.0.1", port: 0)
        let serving = Task { await listener.run { client, _ in try? await client.executeThenClose { _, _ in } } }
        let error = await #expect(throws: SimulatedReceiverError.self) {
            _ = try await Listener.bind(host: "127.0.0.1", port: listener.port)
        }
        guard case .cannotListen("127.0.0.1", listener.port, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        serving.cancel()
        await serving.value
    }
}

private final class Counter: Sendable {
    let served = Atomic(0)
}
