import CPosix
import Foundation

/// A system call that failed.
public struct DatagramSocketError: Error, Sendable, Hashable, CustomStringConvertible {
    /// `errno`.
    public var code: Int32
    public var operation: String

    public var description: String { "\(operation): \(String(cString: strerror(code)))" }
}

/// A UDP socket of this host, non-blocking; closed when the last reference goes.
public final class DatagramSocket: Sendable {
    let descriptor: Int32
    /// The port it is bound to.
    public let port: Int

    /// Bound to a free port of any address of this host, of the family of `peer`.
    public init(towards peer: DatagramAddress) throws(DatagramSocketError) {
        let descriptor = socket(peer.family, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { throw DatagramSocketError(code: errno, operation: "socket") }
        // A deinit does not run where an init throws.
        func failure(_ operation: String) -> DatagramSocketError {
            let error = DatagramSocketError(code: errno, operation: operation)
            close(descriptor)
            return error
        }
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
            throw failure("fcntl")
        }
        let bound = peer.unspecified.withSockaddr { bind(descriptor, $0, $1) }
        guard bound == 0 else { throw failure("bind") }
        var storage = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_in6>.size)
        var length = socklen_t(storage.count)
        let named = storage.withUnsafeMutableBytes { raw in
            getsockname(descriptor, raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard named == 0, let address = DatagramAddress(socketAddress: storage) else { throw failure("getsockname") }
        self.descriptor = descriptor
        port = address.port
    }

    deinit { close(descriptor) }

    /// From now on sends to `peer` only, receives from it only, and hears of it when its port is closed.
    public func connect(to peer: DatagramAddress) throws(DatagramSocketError) {
        let result = peer.withSockaddr { Foundation.connect(descriptor, $0, $1) }
        guard result == 0 else { throw DatagramSocketError(code: errno, operation: "connect") }
    }

    /// Sends one datagram; what the network does not take is lost, as datagrams are.
    ///
    /// - Parameter address: where to; nil on a connected socket.
    /// - Returns: 0, or `errno`.
    @discardableResult
    public func send(_ bytes: UnsafeRawBufferPointer, to address: DatagramAddress? = nil) -> Int32 {
        let sent =
            if let address {
                address.withSockaddr { sendto(descriptor, bytes.baseAddress, bytes.count, 0, $0, $1) }
            } else {
                Foundation.send(descriptor, bytes.baseAddress, bytes.count, 0)
            }
        return sent < 0 ? errno : 0
    }

    @discardableResult
    public func send(_ bytes: [UInt8], to address: DatagramAddress? = nil) -> Int32 {
        bytes.withUnsafeBytes { send($0, to: address) }
    }

    /// Sends a burst on a connected socket by as few system calls as can be.
    ///
    /// - Returns: how many were taken, and 0 or the `errno` that kept the next from going.
    func send(burst datagrams: UnsafeBufferPointer<cposix_datagram>) -> (sent: Int, error: Int32) {
        var sent = 0
        while sent < datagrams.count {
            let taken = cposix_send_datagrams(
                descriptor, datagrams.baseAddress! + sent, UInt32(datagrams.count - sent), nil, 0)
            guard taken > 0 else { return (sent, taken < 0 ? errno : EAGAIN) }
            sent += Int(taken)
        }
        return (sent, 0)
    }

    /// Takes one datagram; nil when there is none.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, source: DatagramAddress)? {
        var storage = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let count = withUnsafeMutableBytes(of: &storage) { raw in
            recvfrom(
                descriptor, buffer.baseAddress, buffer.count, 0,
                raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard count >= 0 else { return nil }
        let bytes = withUnsafeBytes(of: storage) { Array($0) }
        guard let source = DatagramAddress(socketAddress: bytes) else { return nil }
        return (count, source)
    }
}
