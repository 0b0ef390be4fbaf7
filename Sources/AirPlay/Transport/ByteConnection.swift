import HomeKitPairing
import NIOCore
import NIOPosix

/// A TCP connection that is read and written as it comes: the event channel and data streams.
public struct ByteConnection: Sendable {
    private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Connects to another port of the receiver that `connection` leads to.
    ///
    /// Throws `unreachable` or `connectTimedOut`, and `closed` at once when the task is cancelled.
    ///
    /// - Parameter keys: encrypt it from the first byte on; nil: it stays clear.
    public static func connect(
        beside connection: RTSPConnection, port: Int, keys: ChannelKeys?, timeout: Duration = .seconds(2)
    ) async throws(RAOPError) -> ByteConnection {
        guard (1...65_535).contains(port) else { throw .unreachable(reason: "the port \(port) is none") }
        return try await TCPConnector.connect(
            to: .address(connection.address(ofPort: port)), timeout: timeout
        ) { channel in
            if let keys {
                try channel.pipeline.syncOperations.addHandler(EncryptedChannelHandler(.controller, keys: keys))
            }
        } wrap: { channel in
            ByteConnection(channel: try NIOAsyncChannel(wrappingChannelSynchronously: channel))
        }
    }

    /// Runs `body` with both directions and closes when it returns. What comes is read no faster than `body` takes it.
    ///
    /// Throws what `body` throws; reading throws `FrameError` where a frame is broken.
    public func run<Result: Sendable>(
        _ body: (_ inbound: Inbound, _ outbound: Outbound) async throws -> Result
    ) async throws -> Result {
        try await channel.executeThenClose { inbound, outbound in
            try await body(Inbound(stream: inbound), Outbound(writer: outbound))
        }
    }

    /// Closes without waiting, from anywhere.
    public func abort() { channel.channel.close(promise: nil) }

    /// Bytes in the order of their arrival. To be read once.
    public struct Inbound: AsyncSequence {
        fileprivate let stream: NIOAsyncChannelInboundStream<ByteBuffer>

        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator

            public mutating func next() async throws -> [UInt8]? {
                try await iterator.next().map { Array($0.readableBytesView) }
            }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iterator: stream.makeAsyncIterator()) }
    }

    /// Waits while the receiver takes nothing.
    public struct Outbound: Sendable {
        fileprivate let writer: NIOAsyncChannelOutboundWriter<ByteBuffer>

        public func write(_ bytes: [UInt8]) async throws { try await writer.write(ByteBuffer(bytes: bytes)) }
    }
}
