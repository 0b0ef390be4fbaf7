import Foundation
import Glibc
import RouteModel

/// A device that announces itself in multicast DNS and never answers anything again, as one whose plug was pulled.
///
/// It speaks for itself on the wire (RFC 6762 and 1035), beside the lab's Avahi daemon and not through it.
struct VanishingDevice {
    var type = "_raop._tcp"
    var name = "AABBCCDDEEFF@Gone"
    var address = "10.77.0.9"
    var port: UInt16 = 5000
    var txt = ["et=0,1"]
    /// Seconds for which host and address are valid. Real devices say 120.
    var hostLife: UInt32

    /// Sends the announcement: one unasked answer with all records of the service.
    func announce() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { throw failure("socket") }
        defer { close(descriptor) }
        var on: Int32 = 1
        // The port is shared with the daemon, as RFC 6762, 15.1 asks for.
        for option in [SO_REUSEADDR, SO_REUSEPORT] {
            guard setsockopt(descriptor, SOL_SOCKET, option, &on, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
                throw failure("reuse")
            }
        }
        var life: UInt8 = 255
        setsockopt(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_TTL, &life, 1)
        var from = in_addr()
        inet_pton(AF_INET, address, &from)
        setsockopt(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_IF, &from, socklen_t(MemoryLayout<in_addr>.size))
        var own = socketAddress(from)
        guard withAddress(&own, { bind(descriptor, $0, $1) }) == 0 else { throw failure("bind") }
        var group = in_addr()
        inet_pton(AF_INET, "224.0.0.251", &group)
        var all = socketAddress(group)
        let packet = packet
        let sent = withAddress(&all) { sendto(descriptor, packet, packet.count, 0, $0, $1) }
        guard sent == packet.count else { throw failure("sendto") }
    }

    /// The message: four answers, no question.
    var packet: [UInt8] {
        let typeLabels = type.split(separator: ".").map(String.init) + ["local"]
        let service = [name] + typeLabels
        let host = ["gone", "local"]
        var numeric = in_addr()
        inet_pton(AF_INET, address, &numeric)
        let flush: UInt16 = 0x8001
        return big(0) + big(0x8400) + big(0) + big(4) + big(0) + big(0)
            + record(typeLabels, kind: 12, class: 1, life: 4500, domain(service))
            + record(service, kind: 33, class: flush, life: hostLife, big(0) + big(0) + big(port) + domain(host))
            + record(
                service, kind: 16, class: flush, life: 4500, txt.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) })
            + record(host, kind: 1, class: flush, life: hostLife, withUnsafeBytes(of: numeric) { Array($0) })
    }

    private func record(_ name: [String], kind: UInt16, class: UInt16, life: UInt32, _ data: [UInt8]) -> [UInt8] {
        domain(name) + big(kind) + big(`class`) + big(UInt16(life >> 16)) + big(UInt16(life & 0xFFFF))
            + big(UInt16(data.count)) + data
    }

    private func domain(_ labels: [String]) -> [UInt8] {
        labels.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }

    private func big(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }

    private func socketAddress(_ address: in_addr) -> sockaddr_in {
        sockaddr_in(
            sin_family: sa_family_t(AF_INET), sin_port: in_port_t(5353).bigEndian, sin_addr: address,
            sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
    }

    private func withAddress<Result>(
        _ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private func failure(_ step: String) -> RouterError {
        RouterError(.internal, "announcing: \(step): \(String(cString: strerror(errno)))")
    }
}
