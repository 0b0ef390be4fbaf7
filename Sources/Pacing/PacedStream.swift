import Foundation

/// One receiver's share of the sending thread: a queue of packets with where they go, and sockets to answer on.
public final class PacedStream: Sendable {
    /// Called on the sending thread for each datagram that comes in: it must be quick, and must not wait.
    public typealias Handler =
        @Sendable (_ datagram: UnsafeRawBufferPointer, _ source: DatagramAddress, _ receivedAt: Int64) -> Void

    /// A socket that is listened on.
    public struct Listener: Sendable {
        public var socket: DatagramSocket
        public var handler: Handler

        public init(socket: DatagramSocket, handler: @escaping Handler) {
            self.socket = socket
            self.handler = handler
        }
    }

    /// What is sent.
    public struct Output: Sendable {
        public var ring: PacketRing
        /// Connected to where the ring's packets go.
        public var socket: DatagramSocket
        /// Sends a packet of the ring's beat.
        public var beat: @Sendable ([UInt8]) -> Void
        /// A send failed with this `errno` (the peer's port is closed, the network is unreachable). Called on the
        /// sending thread, at most once a second.
        public var failed: @Sendable (Int32) -> Void

        public init(
            ring: PacketRing, socket: DatagramSocket, beat: @escaping @Sendable ([UInt8]) -> Void,
            failed: @escaping @Sendable (Int32) -> Void
        ) {
            self.ring = ring
            self.socket = socket
            self.beat = beat
            self.failed = failed
        }
    }

    let output: Output?
    let listeners: [Listener]

    /// - Parameter output: nil for a stream that only answers.
    public init(output: Output?, listeners: [Listener]) {
        self.output = output
        self.listeners = listeners
    }
}
