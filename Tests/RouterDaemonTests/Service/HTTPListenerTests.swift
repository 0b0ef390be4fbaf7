import Logging
import NIOCore
import NIOPosix
import RouterAPI
import RouterTestKit
import Testing

@testable import RouterDaemon

@Suite("The daemon's listening sockets", .timeLimit(.minutes(2)))
struct HTTPListenerTests {
    /// NIO stops the process where a connection is dropped that nobody has served: this is what the test would die of.
    @Test("whoever connects in the moment of the end is hung up on, and the daemon ends as it should")
    func endOfService() async throws {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        for round in 0..<40 {
            let socket = try ServiceSocket.tcp(host: "127.0.0.1", port: 0)
            guard case .http(_, let port) = socket.place else {
                Issue.record("\(socket.place)")
                return
            }
            #expect(port > 0)
            let listener = try await HTTPListener.start(
                socket, on: loops, connections: OpenConnections(limit: 100, ofOne: 100), limits: ServiceLimits(),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ) { _, _, _ in }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        if number == round % 16 { return await listener.stop() }
                        // Refused once it listens no more.
                        let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                            .connect(host: "127.0.0.1", port: port).get()
                        guard let channel else { return }
                        // The kernel may forget who is accepted as its socket closes, and says so only to who sends.
                        let isHungUpOn = await eventually {
                            channel.writeAndFlush(ByteBuffer(string: "?"), promise: nil)
                            return !channel.isActive
                        }
                        #expect(isHungUpOn)
                    }
                }
            }
        }
        try await loops.shutdownGracefully()
    }
}
