import RouteBackend
import Testing

@testable import AvahiDiscovery

@Suite("Sightings become records")
struct ServiceTableTests {
    let key = ServiceRecord.Key(type: "_raop._tcp", name: "0011AABBCCDD@Kitchen")

    func sighting(_ interface: Int32, _ version: ServiceTable.IPVersion = .v4) -> ServiceTable.Sighting {
        ServiceTable.Sighting(key: key, interface: interface, version: version)
    }

    func resolution(_ address: String, txt: [String: String] = ["et": "0,1"], link: String = "eth0")
        -> ServiceTable.Resolution
    {
        ServiceTable.Resolution(
            hostName: "kitchen.local", address: address, port: 5000, txt: txt, interfaceName: link)
    }

    @Test("C1 One service on two interfaces and by IPv4 and IPv6 is one record with the best address first")
    func merged() {
        var table = ServiceTable()
        let linkLocal = sighting(2, .v6)
        let wired = sighting(2)
        let wireless = sighting(3)
        let global = sighting(3, .v6)
        for one in [linkLocal, wired, wireless, global] { table.appeared(one) }
        #expect(!table.isSettled)
        var last: ServiceEvent?
        last = table.resolved(linkLocal, as: resolution("fe80::1%eth0"))
        last = table.resolved(global, as: resolution("2001:db8::1", link: "wlan0"))
        last = table.resolved(wireless, as: resolution("192.168.1.9", link: "wlan0"))
        last = table.resolved(wired, as: resolution("192.168.1.8"))
        #expect(table.isSettled)
        let record = ServiceRecord(
            key: key, hostName: "kitchen.local",
            addresses: ["192.168.1.8", "192.168.1.9", "2001:db8::1", "fe80::1%eth0"], port: 5000, txt: ["et": "0,1"],
            interface: "eth0")
        #expect(last == .resolved(record))
        // The same again is no news.
        #expect(table.resolved(wired, as: resolution("192.168.1.8")) == nil)
    }

    @Test("C1 A record stays until its last sighting goes, and its addresses shrink with them")
    func shrinking() {
        var table = ServiceTable()
        table.appeared(sighting(2))
        table.appeared(sighting(3))
        _ = table.resolved(sighting(2), as: resolution("192.168.1.8"))
        _ = table.resolved(sighting(3), as: resolution("10.0.0.8", link: "wlan0"))
        guard case .resolved(let record) = table.vanished(sighting(2)) else {
            Issue.record("the record should have changed")
            return
        }
        #expect(record.addresses == ["10.0.0.8"])
        #expect(table.vanished(sighting(3)) == .removed(key))
        #expect(table.vanished(sighting(3)) == nil)
    }

    @Test("A7 A sighting that falls silent takes the record away, and brings it back when it answers again")
    func silence() {
        var table = ServiceTable()
        table.appeared(sighting(2))
        _ = table.resolved(sighting(2), as: resolution("192.168.1.8"))
        #expect(table.fellSilent(sighting(2)) == .removed(key))
        #expect(table.isSettled)
        #expect(table.fellSilent(sighting(2)) == nil)
        guard case .resolved = table.resolved(sighting(2), as: resolution("192.168.1.8")) else {
            Issue.record("the record should be back")
            return
        }
    }

    @Test("C1 What never answered was never told, so it isn't removed either")
    func neverAnswered() {
        var table = ServiceTable()
        table.appeared(sighting(2))
        #expect(table.fellSilent(sighting(2)) == nil)
        #expect(table.vanished(sighting(2)) == nil)
        #expect(table.resolved(sighting(2), as: resolution("192.168.1.8")) == nil, "a late answer")
    }

    @Test("C1 After a restart of the daemon what returns is silent, what doesn't is removed")
    func restart() {
        var table = ServiceTable()
        let other = ServiceTable.Sighting(
            key: ServiceRecord.Key(type: "_googlecast._tcp", name: "tv"), interface: 2, version: .v4)
        table.appeared(sighting(2))
        table.appeared(other)
        _ = table.resolved(sighting(2), as: resolution("192.168.1.8"))
        _ = table.resolved(other, as: resolution("192.168.1.7"))
        table.daemonLost()
        table.appeared(sighting(2))
        #expect(table.resolved(sighting(2), as: resolution("192.168.1.8")) == nil)
        #expect(table.dropUnconfirmed() == [.removed(other.key)])
        #expect(table.dropUnconfirmed() == [])
    }

    @Test("TXT keys are lower case, the first of two counts, and bytes that aren't UTF-8 are replaced")
    func text() {
        let entries = [
            Array("FN=Küche".utf8), Array("fn=second".utf8), Array("flag".utf8), Array("e=".utf8),
            Array("=nokey".utf8), [UInt8(ascii: "b"), UInt8(ascii: "="), 0xFF], Array("k=a=b".utf8), [],
        ]
        #expect(
            textRecord(entries: entries) == ["fn": "Küche", "flag": "", "e": "", "b": "\u{FFFD}", "k": "a=b"])
    }

    @Test(
        "Addresses are ranked by kind",
        arguments: [
            ("192.168.1.2", AddressKind.ipv4), ("127.0.0.5", .ipv4Loopback), ("169.254.3.4", .ipv4LinkLocal),
            ("fd00::1", .ipv6), ("2001:db8::1", .ipv6), ("FE80::1%eth0", .ipv6LinkLocal), ("febf::1", .ipv6LinkLocal),
            ("fec0::1", .ipv6), ("::1", .ipv6Loopback),
        ])
    func kinds(address: String, kind: AddressKind) { #expect(AddressKind(address) == kind) }
}
