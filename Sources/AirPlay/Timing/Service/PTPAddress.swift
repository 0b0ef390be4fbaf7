import Foundation

/// A numeric IPv4 or IPv6 address with a port, as the kernel takes it.
struct PTPAddress: Sendable, Hashable, CustomStringConvertible {
    /// A `sockaddr_in` or `sockaddr_in6` without flow information, so that equal ones are the same.
    private let bytes: [UInt8]

    /// Nil where it is no numeric address, or an IPv6 scope that this host does not have.
    init?(host: String, port: UInt16 = 0) {
        // getaddrinfo knows scopes, but takes “1.2” for an IPv4 address.
        guard let address = host.contains(":") ? Self.v6(host) : Self.v4(host) else { return nil }
        self = address.with(port: port)
    }

    private static func v4(_ host: String) -> PTPAddress? {
        var address = sockaddr_in()
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return nil }
        address.sin_family = sa_family_t(AF_INET)
        return withUnsafeBytes(of: address) { PTPAddress(socketAddress: Array($0)) }
    }

    private static func v6(_ host: String) -> PTPAddress? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        hints.ai_family = AF_INET6
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &found) == 0, let found else { return nil }
        defer { freeaddrinfo(found) }
        guard let address = found.pointee.ai_addr else { return nil }
        return PTPAddress(
            socketAddress: Array(UnsafeRawBufferPointer(start: address, count: Int(found.pointee.ai_addrlen))))
    }

    /// From the bytes of a `sockaddr_in` or `sockaddr_in6`, longer storage included; nil for any other family.
    init?(socketAddress storage: [UInt8]) {
        guard storage.count >= 2 else { return nil }
        var bytes: [UInt8]
        switch storage.withUnsafeBytes({ Int32($0.loadUnaligned(as: sa_family_t.self)) }) {
        case AF_INET where storage.count >= MemoryLayout<sockaddr_in>.size:
            bytes = Array(storage.prefix(MemoryLayout<sockaddr_in>.size))
        case AF_INET6 where storage.count >= MemoryLayout<sockaddr_in6>.size:
            bytes = Array(storage.prefix(MemoryLayout<sockaddr_in6>.size))
            bytes.replaceSubrange(4..<8, with: [0, 0, 0, 0])
        default: return nil
        }
        self.bytes = bytes
    }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    var family: Int32 { bytes.withUnsafeBytes { Int32($0.loadUnaligned(as: sa_family_t.self)) } }

    func with(port: UInt16) -> PTPAddress {
        var bytes = bytes
        bytes[2] = UInt8(port >> 8)
        bytes[3] = UInt8(port & 0xFF)
        return PTPAddress(unchecked: bytes)
    }

    /// The same without a port: what a peer is known by.
    var host: PTPAddress { with(port: 0) }

    /// 127.0.0.0/8 or ::1.
    var isLoopback: Bool {
        family == AF_INET ? bytes[4] == 127 : bytes[8..<23].allSatisfy { $0 == 0 } && bytes[23] == 1
    }

    /// Of a single host: no group, no broadcast, not “any”.
    var isUnicast: Bool {
        guard family == AF_INET6 else { return bytes[4] != 0 && bytes[4] < 224 }
        return bytes[8] != 0xFF && bytes[8..<24].contains { $0 != 0 }
    }

    /// fe80::/10, which means nothing without a scope.
    var isLinkLocal: Bool { family == AF_INET6 && bytes[8] == 0xFE && bytes[9] & 0xC0 == 0x80 }
    var hasScope: Bool { family == AF_INET6 && bytes[24..<28].contains { $0 != 0 } }

    /// Numeric, with the scope where it has one.
    var description: String {
        var name = [CChar](repeating: 0, count: 128)
        let named = withSockaddr { getnameinfo($0, $1, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) }
        guard named == 0 else { return "?" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes { raw in
            // Array storage is aligned for any scalar, so for a sockaddr too.
            try body(raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
        }
    }
}
