import NIOCore
import NIOPosix

/// The connection that a buffered stream goes by.
///
/// It sends as fast as the receiver takes, so that whoever writes is as far ahead as the receiver's buffer is long.
public struct BufferedAudioWriter: Sendable {
    private let channel: any Channel

    /// Connects to the data port of the receiver that `connection` leads to.
    ///
    /// Throws `unreachable` or `connectTimedOut`, and `closed` at once when the task is cancelled.
    public static func connect(
        beside connection: RTSPConnection, port: Int, timeout: Duration = .seconds(5)
    ) async throws(RAOPError) -> BufferedAudioWriter {
        guard (1...65_535).contains(port) else { throw .unreachable(reason: "the port \(port) is none") }
        return try await TCPConnector.connect(
            to: .address(connection.address(ofPort: port)), timeout: timeout
        ) { _ in
        } wrap: {
            BufferedAudioWriter(channel: $0)
        }
    }

    /// Returns when the system has taken the packets; throws `closed`. Not to be called while another call waits.
    ///
    /// Cancelling the task closes the connection: a packet may have gone by half.
    public func write(_ packets: [[UInt8]]) async throws(RAOPError) {
        var buffer = channel.allocator.buffer(capacity: packets.reduce(0) { $0 + $1.count })
        for packet in packets { buffer.writeBytes(packet) }
        do {
            try await withTaskCancellationHandler {
                try await channel.writeAndFlush(buffer)
            } onCancel: {
                channel.close(promise: nil)
            }
        } catch {
            throw .closed
        }
    }

    /// Returns when the connection is gone, whoever closed it.
    public func waitUntilClosed() async { try? await channel.closeFuture.get() }

    public func close() async {
        channel.close(promise: nil)
        await waitUntilClosed()
    }
}
