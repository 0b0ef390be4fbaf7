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

    public let ring: PacketRing
    /// Connected to where the packets go.
    let audio: DatagramSocket
    let beat: @Sendable ([UInt8]) -> Void
    let listeners: [Listener]
    let failed: @Sendable (Int32) -> Void

    /// - Parameters:
    ///   - audio: connected to where the packets go.
    ///   - beat: sends a packet of the ring's beat.
    ///   - failed: a send failed with this `errno` (the peer's port is closed, the network is unreachable). Called on
    ///     the sending thread, at most once a second.
    public init(
        ring: PacketRing, audio: DatagramSocket, beat: @escaping @Sendable ([UInt8]) -> Void, listeners: [Listener],
        failed: @escaping @Sendable (Int32) -> Void
    ) {
        self.ring = ring
        self.audio = audio
        self.beat = beat
        self.listeners = listeners
        self.failed = failed
    }
}
