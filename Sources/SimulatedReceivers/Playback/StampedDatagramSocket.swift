import CPosix
import Dispatch
import Foundation
import NIOCore
import RouteBackend
import Synchronization

/// A UDP socket that knows from the kernel when a datagram arrived, as a device does from its hardware or driver: a host
/// that stands still for a moment makes no arrival late.
///
/// Open until `close`, or until the last reference goes.
final class StampedDatagramSocket: Sendable {
    struct Datagram: Sendable {
        var bytes: [UInt8]
        var sender: SocketAddress
        /// When the kernel got it: nanoseconds of CLOCK_MONOTONIC.
        var arrival: Int64

        /// When it arrived, by the clock of who asks: by any other than the system's it is when it is read.
        func arrival(by clock: any HostClock) -> Int64 { clock is SystemHostClock ? arrival : clock.now() }
    }

    /// A reader under a flood looks up this often, so that it can be closed.
    private static let datagramsPerTurn = 256

    /// What it is bound to.
    let localAddress: SocketAddress
    private let descriptor: SharedDescriptor
    /// Dispatch itself guards its sources; only its protocols do not say so.
    private nonisolated(unsafe) let source: any DispatchSourceRead

    var port: Int { localAddress.port ?? 0 }

    /// Takes a port of `host` and listens.
    ///
    /// - Parameters:
    ///   - host: numeric, with a scope where it needs one, or a name of this host.
    ///   - port: 0 for any that is free.
    ///   - capacity: bytes of a datagram; what is longer is cut off there.
    ///   - receiveBuffer: bytes that the kernel is to hold until they are read; nil for the system's own measure.
    ///   - received: called for one datagram after the other, on a queue of the socket's own.
    /// - Throws: `SimulatedReceiverError.cannotListen`.
    init(
        host: String, port: UInt16, capacity: Int, receiveBuffer: Int32? = nil,
        received: @escaping @Sendable (Datagram) -> Void
    ) throws(SimulatedReceiverError) {
        let (number, localAddress) = try Self.open(host, port, receiveBuffer)
        self.localAddress = localAddress
        let descriptor = SharedDescriptor(number)
        self.descriptor = descriptor
        let queue = DispatchQueue(label: "stamped datagrams")
        source = DispatchSource.makeReadSource(fileDescriptor: number, queue: queue)
        source.setEventHandler { Self.drain(number, capacity, received) }
        source.setCancelHandler { descriptor.retire() }
        source.activate()
    }

    deinit { source.cancel() }

    /// Sends at once or not at all: datagrams may get lost anyway. Does nothing once closed.
    func send(_ bytes: [UInt8], to address: SocketAddress) {
        descriptor.use { number in
            address.withSockAddr { _ = sendto(number, bytes, bytes.count, 0, $0, socklen_t($1)) }
        }
    }

    /// Returns when the port is free again, however often it is called; nothing is received after.
    func close() async {
        source.cancel()
        await descriptor.closed()
    }

    private static func open(
        _ host: String, _ port: UInt16, _ receiveBuffer: Int32?
    ) throws(SimulatedReceiverError) -> (Int32, SocketAddress) {
        func failure(_ reason: String) -> SimulatedReceiverError {
            .cannotListen(host: host, port: Int(port), reason: reason)
        }
        let address: SocketAddress
        do { address = try SocketAddress.makeAddressResolvingHost(host, port: Int(port)) } catch {
            throw failure("\(error)")
        }
        let type = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let number = socket(Int32(address.protocol.rawValue), Int32(type), 0)
        guard number >= 0 else { throw failure("socket: \(String(cString: strerror(errno)))") }
        func systemFailure(_ operation: String) -> SimulatedReceiverError {
            let reason = String(cString: strerror(errno))
            Glibc.close(number)
            return failure("\(operation): \(reason)")
        }
        if var receiveBuffer {
            let size = socklen_t(MemoryLayout<Int32>.size)
            guard setsockopt(number, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, size) == 0 else {
                throw systemFailure("SO_RCVBUF")
            }
        }
        guard cposix_stamp_arrivals(number) == 0 else { throw systemFailure("SO_TIMESTAMPING") }
        guard address.withSockAddr({ bind(number, $0, socklen_t($1)) }) == 0 else { throw systemFailure("bind") }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let named = withUnsafeMutableBytes(of: &storage) {
            getsockname(number, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard named == 0, let bound = Self.address(storage) else { throw systemFailure("getsockname") }
        return (number, bound)
    }

    /// Takes what has come.
    private static func drain(_ number: Int32, _ capacity: Int, _ received: (Datagram) -> Void) {
        withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { buffer in
            for _ in 0..<datagramsPerTurn {
                var source = sockaddr_storage()
                var arrival: Int64 = 0
                let count = cposix_receive_stamped(number, buffer.baseAddress, capacity, &source, &arrival)
                // Anything but an empty socket is over with having been told, and the next datagram may be there.
                guard count >= 0 else {
                    if errno == EAGAIN { return }
                    continue
                }
                guard let sender = address(source) else { continue }
                received(Datagram(bytes: Array(buffer.prefix(count)), sender: sender, arrival: arrival))
            }
        }
    }

    private static func address(_ storage: sockaddr_storage) -> SocketAddress? {
        withUnsafeBytes(of: storage) { raw in
            switch Int32(storage.ss_family) {
            case AF_INET: SocketAddress(raw.loadUnaligned(as: sockaddr_in.self))
            case AF_INET6: SocketAddress(raw.loadUnaligned(as: sockaddr_in6.self))
            default: nil
            }
        }
    }
}

/// A descriptor and those who use it: its reader, and whoever sends. The last to go closes it, so that its number is never
/// another file's to any of them.
private final class SharedDescriptor: Sendable {
    private static let isRetired = 1
    private static let user = 2

    private let number: Int32
    /// The users, the reader among them, and whether there are to be no more.
    private let state = Atomic<Int>(user)
    private let closing = DispatchGroup()

    init(_ number: Int32) {
        self.number = number
        closing.enter()
    }

    /// Does nothing once retired.
    func use(_ body: (Int32) -> Void) {
        var seen = state.load(ordering: .relaxed)
        while true {
            guard seen & Self.isRetired == 0 else { return }
            let (exchanged, original) = state.weakCompareExchange(
                expected: seen, desired: seen + Self.user, ordering: .acquiring)
            if exchanged { break }
            seen = original
        }
        body(number)
        leave()
    }

    /// The reader goes, and nobody comes any more. To be called once.
    func retire() {
        state.bitwiseOr(Self.isRetired, ordering: .relaxed)
        leave()
    }

    func closed() async {
        await withCheckedContinuation { continuation in
            closing.notify(queue: .global()) { continuation.resume() }
        }
    }

    private func leave() {
        let left = state.subtract(Self.user, ordering: .acquiringAndReleasing).newValue
        guard left == Self.isRetired else { return }
        close(number)
        closing.leave()
    }
}
