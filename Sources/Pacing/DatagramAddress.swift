import Foundation

/// An IPv4 or IPv6 address with a port, as the kernel takes it (an IPv6 scope included).
public struct DatagramAddress: Sendable, Hashable {
    /// A `sockaddr_in` or `sockaddr_in6`.
    let bytes: [UInt8]

    /// From the bytes of a `sockaddr_in` or `sockaddr_in6`; nil for any other family.
    public init?(socketAddress bytes: [UInt8]) {
        guard bytes.count >= 2 else { return nil }
        let family = bytes.withUnsafeBytes { Int32($0.loadUnaligned(as: sa_family_t.self)) }
        switch family {
        case AF_INET where bytes.count >= MemoryLayout<sockaddr_in>.size:
            self.bytes = Array(bytes.prefix(MemoryLayout<sockaddr_in>.size))
        case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
            self.bytes = Array(bytes.prefix(MemoryLayout<sockaddr_in6>.size))
        default: return nil
        }
    }

    /// From a numeric IPv4 or IPv6 address; nil where it is neither.
    public init?(host: String, port: Int) {
        var v4 = sockaddr_in()
        var v6 = sockaddr_in6()
        if inet_pton(AF_INET, host, &v4.sin_addr) == 1 {
            v4.sin_family = sa_family_t(AF_INET)
            self.init(socketAddress: withUnsafeBytes(of: v4) { Array($0) })
        } else if inet_pton(AF_INET6, host, &v6.sin6_addr) == 1 {
            v6.sin6_family = sa_family_t(AF_INET6)
            self.init(socketAddress: withUnsafeBytes(of: v6) { Array($0) })
        } else {
            return nil
        }
        self = with(port: port)
    }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    var family: Int32 { bytes.withUnsafeBytes { Int32($0.loadUnaligned(as: sa_family_t.self)) } }

    public var port: Int { Int(bytes[2]) << 8 | Int(bytes[3]) }

    public func with(port: Int) -> DatagramAddress {
        var bytes = bytes
        bytes[2] = UInt8(port >> 8 & 0xFF)
        bytes[3] = UInt8(port & 0xFF)
        return DatagramAddress(unchecked: bytes)
    }

    /// Whether both are the same host, whatever the ports.
    public func sameHost(as other: DatagramAddress) -> Bool {
        guard family == other.family else { return false }
        let host = family == AF_INET ? 4..<8 : 8..<24
        return bytes[host] == other.bytes[host]
    }

    /// Any address of this host, of the same family.
    var unspecified: DatagramAddress {
        var bytes = [UInt8](repeating: 0, count: bytes.count)
        bytes.replaceSubrange(0..<2, with: self.bytes[0..<2])
        return DatagramAddress(unchecked: bytes)
    }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes { raw in
            // Array storage is aligned for any scalar, so for a sockaddr too.
            try body(raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
        }
    }
}
