import Foundation

/// A numeric IP address.
struct NetworkAddress: Sendable, Hashable {
    /// 4 or 16 bytes. An IPv4 address inside an IPv6 one is taken for what it is.
    let bytes: [UInt8]

    /// Nil for what is no numeric address. A scope (`%eth0`) is dropped.
    init?(_ text: String) {
        let bare = String(text.prefix { $0 != "%" })
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, bare, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, bare, &six) == 1 {
            let all = withUnsafeBytes(of: six) { Array($0) }
            let mapped = all.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
            bytes = mapped ? Array(all.suffix(4)) : all
        } else {
            return nil
        }
    }

    /// The same first `prefix` bits.
    func shares(_ prefix: Int, with other: NetworkAddress) -> Bool {
        guard bytes.count == other.bytes.count else { return false }
        let whole = prefix / 8
        guard bytes.prefix(whole) == other.bytes.prefix(whole) else { return false }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> (prefix % 8))
        return prefix % 8 == 0 || bytes[whole] & mask == other.bytes[whole] & mask
    }

    /// The same /24 or /64: devices, their groups and their second addresses are there.
    func isNear(_ other: NetworkAddress) -> Bool { shares(bytes.count == 4 ? 24 : 64, with: other) }

    var isLoopback: Bool { bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1] }

    /// An address of this machine and how many of its first bits are its network's.
    struct Own: Sendable, Hashable {
        var address: NetworkAddress
        var prefix: Int
    }

    /// The addresses of this machine.
    static func ofThisHost() -> Set<Own> {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var found: Set<Own> = []
        var next = list
        while let entry = next {
            if let address = entry.pointee.ifa_addr, let text = text(address), let parsed = NetworkAddress(text) {
                let raw: UnsafeMutablePointer<sockaddr>? = entry.pointee.ifa_netmask
                let mask = raw.flatMap { Self.text($0) }.flatMap { NetworkAddress($0) }
                let prefix = mask?.bytes.reduce(0) { $0 + $1.nonzeroBitCount } ?? 8 * parsed.bytes.count
                found.insert(Own(address: parsed, prefix: prefix))
            }
            next = entry.pointee.ifa_next
        }
        return found
    }

    /// The address of ours that a packet to `receiver` would come from: the one the receiver can reach. Nothing is
    /// sent to find out. Nil when there is no way there.
    static func local(towards receiver: String) -> String? {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        hints.ai_flags = AI_NUMERICHOST
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(receiver, "9", &hints, &list) == 0, let first = list else { return nil }
        defer { freeaddrinfo(list) }
        let descriptor = socket(first.pointee.ai_family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard connect(descriptor, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0 else { return nil }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(descriptor, address, &length) == 0 ? text(address) : nil
            }
        }
    }

    /// The first address of a host name, IPv4 before IPv6. Blocks: not to be called on a shared thread.
    static func resolve(_ host: String) -> String? {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return nil }
        defer { freeaddrinfo(list) }
        var found: [(family: Int32, text: String)] = []
        var next = list
        while let entry = next {
            if let address = entry.pointee.ai_addr, let text = text(address) {
                found.append((entry.pointee.ai_family, text))
            }
            next = entry.pointee.ai_next
        }
        return (found.first { $0.family == AF_INET } ?? found.first)?.text
    }

    /// In numbers, without a scope.
    private static func text(_ address: UnsafePointer<sockaddr>) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            var four = raw.loadUnaligned(as: sockaddr_in.self).sin_addr
            inet_ntop(AF_INET, &four, &buffer, socklen_t(buffer.count))
        case AF_INET6:
            var six = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            inet_ntop(AF_INET6, &six, &buffer, socklen_t(buffer.count))
        default:
            return nil
        }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
