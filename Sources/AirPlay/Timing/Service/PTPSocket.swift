import CPosix
import Foundation

/// One UDP socket of the clock, with the kernel's time stamps; closed when the last reference goes.
final class PTPSocket: Sendable {
    struct Datagram {
        var bytes: [UInt8]
        var source: PTPAddress
        /// Host monotonic nanoseconds.
        var arrival: Int64
    }

    /// When a datagram went.
    struct Departure {
        /// Host monotonic nanoseconds; nil where it did not go.
        var instant: Int64?
        /// How far that may be wrong, in nanoseconds; 0 where the kernel has stamped it.
        var uncertainty: Int64 = 0
        /// `errno`, where it did not go.
        var error: Int32 = 0
    }

    let descriptor: Int32
    private let stampsDepartures: Bool

    /// Bound to this address alone: no other program can have the port there, nor this one if another has it.
    ///
    /// - Parameter stampsDepartures: whether the kernel tells when datagrams leave.
    init(bound address: PTPAddress, stampsDepartures: Bool) throws(PTPSocketError) {
        let descriptor = socket(address.family, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { throw PTPSocketError(operation: "socket", code: errno) }
        // A deinit does not run where an init throws.
        func failure(_ operation: String) -> PTPSocketError {
            let error = PTPSocketError(operation: operation, code: errno)
            close(descriptor)
            return error
        }
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
            throw failure("fcntl")
        }
        guard address.withSockaddr({ bind(descriptor, $0, $1) }) == 0 else { throw failure("bind") }
        guard cposix_use_timestamps(descriptor, address.family, stampsDepartures ? 1 : 0) == 0 else {
            throw failure("SO_TIMESTAMPING")
        }
        self.stampsDepartures = stampsDepartures
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// The address of this host from which datagrams go to `peer`.
    static func source(towards peer: PTPAddress) throws(PTPSocketError) -> PTPAddress {
        let descriptor = socket(peer.family, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { throw PTPSocketError(operation: "socket", code: errno) }
        defer { close(descriptor) }
        // No datagram goes for this: it only looks for the way.
        let connected = peer.with(port: 9).withSockaddr { connect(descriptor, $0, $1) }
        guard connected == 0 else { throw PTPSocketError(operation: "connect", code: errno) }
        var storage = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_in6>.size)
        var length = socklen_t(storage.count)
        let named = storage.withUnsafeMutableBytes { raw in
            getsockname(descriptor, raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard named == 0, let address = PTPAddress(socketAddress: storage) else {
            throw PTPSocketError(operation: "getsockname", code: errno)
        }
        return address.host
    }

    /// Sends at once. What has become of earlier datagrams goes to `refused`, with the host and the `errno`.
    func send(_ bytes: [UInt8], to address: PTPAddress, refused: (PTPAddress, Int32) -> Void) -> Departure {
        var departure = attempt(bytes, address)
        if departure.error != 0, departure.error != EAGAIN {
            // The error may be news of an earlier datagram: it is so no more once that has been taken.
            takeNews(refused: refused)
            departure = attempt(bytes, address)
        }
        guard stampsDepartures, let left = departure.instant else { return departure }
        // A stamp from before is an earlier datagram's.
        let earliest = left - departure.uncertainty - Self.clockError
        var stamp: Int64?
        takeNews(departed: { if $0 >= earliest { stamp = $0 } }, refused: refused)
        return stamp.map { Departure(instant: $0) } ?? departure
    }

    /// Takes one datagram; nil when there is none.
    func receive() -> Datagram? {
        // An error instead of a datagram is news of an earlier one: behind it there may be a datagram.
        for _ in 0..<Self.errorLimit {
            var source = sockaddr_storage()
            var arrival: Int64 = 0
            var error: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.capacity) { buffer, filled in
                let count = cposix_receive_stamped(descriptor, buffer.baseAddress, Self.capacity, &source, &arrival)
                if count < 0 { error = errno }
                filled = min(Self.capacity, max(0, count))
            }
            if error == EAGAIN { return nil }
            guard error == 0 else { continue }
            guard let address = Self.address(source) else { return nil }
            return Datagram(bytes: bytes, source: address, arrival: arrival)
        }
        return nil
    }

    func takeNews(departed: (Int64) -> Void = { _ in }, refused: (PTPAddress, Int32) -> Void) {
        var news = cposix_socket_news()
        for _ in 0..<Self.newsLimit where cposix_take_news(descriptor, &news) == 1 {
            if news.departure != 0 { departed(news.departure) }
            if news.error != 0, let address = Self.address(news.destination) { refused(address.host, news.error) }
        }
    }

    /// What reading two clocks one after the other may cost.
    private static let clockError: Int64 = 1000
    /// One byte more than a message has, so that a longer one is seen to be.
    private static let capacity = PTPMessage.maximumByteCount + 1
    private static let errorLimit = 8
    private static let newsLimit = 64

    private func attempt(_ bytes: [UInt8], _ address: PTPAddress) -> Departure {
        let before = cposix_monotonic_nanoseconds()
        let sent = address.withSockaddr { sendto(descriptor, bytes, bytes.count, 0, $0, $1) }
        guard sent >= 0 else { return Departure(error: errno) }
        let half = (cposix_monotonic_nanoseconds() - before) / 2
        return Departure(instant: before + half, uncertainty: half)
    }

    private static func address(_ storage: sockaddr_storage) -> PTPAddress? {
        withUnsafeBytes(of: storage) { PTPAddress(socketAddress: Array($0)) }
    }
}

/// A system call that failed.
struct PTPSocketError: Error {
    var operation: String
    var code: Int32
}
