import Testing

@testable import Media

@Suite("Byte ranges")
struct ByteRangesTests {
    @Test(
        "Each form of the header, on 1,000 bytes",
        arguments: [
            (nil, .whole),
            ("bytes=0-499", .some([0..<500])),
            ("bytes=500-999", .some([500..<1000])),
            ("bytes=500-", .some([500..<1000])),
            ("bytes=-500", .some([500..<1000])),
            ("bytes=-50", .some([950..<1000])),
            ("bytes=-5000", .some([0..<1000])),
            ("bytes=0-0", .some([0..<1])),
            ("bytes=999-", .some([999..<1000])),
            ("bytes=990-5000", .some([990..<1000])),
            ("bytes=0-99999999999999999999999", .some([0..<1000])),
            ("BYTES = 1-2", .some([1..<3])),
            ("bytes=1-2, 5-6 ,-1", .some([1..<3, 5..<7, 999..<1000])),
            ("bytes=5-6,1-2", .some([5..<7, 1..<3])),
            ("bytes=,1-2,", .some([1..<3])),
            ("bytes=1-2,2000-", .some([1..<3])),
            ("bytes=0-10,5-20", .some([0..<11, 5..<21])),
            ("bytes=1000-", .unsatisfiable),
            ("bytes=99999999999999999999999-", .unsatisfiable),
            ("bytes=-0", .unsatisfiable),
            ("bytes=0-,0-,0-", .unsatisfiable),
            (
                "bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16,18-18,20-20,22-22,24-24,26-26,28-28,30-30,32-32",
                .unsatisfiable
            ),
            ("bytes=5-1", .whole),
            ("bytes=a-b", .whole),
            ("bytes=--5", .whole),
            ("bytes=1-2-3", .whole),
            ("bytes=-", .whole),
            ("bytes=", .whole),
            ("bytes", .whole),
            ("items=0-5", .whole),
            ("bytes=+1-2", .whole),
            ("bytes=1-2;3-4", .whole),
            ("bytes=١-٢", .whole),
        ] as [(String?, ByteRanges)])
    func forms(header: String?, expected: ByteRanges) {
        #expect(ByteRanges.parse(header, length: 1000) == expected)
    }

    @Test("Nothing of an empty file can be asked for")
    func empty() {
        #expect(ByteRanges.parse("bytes=0-", length: 0) == .unsatisfiable)
        #expect(ByteRanges.parse("bytes=-1", length: 0) == .unsatisfiable)
        #expect(ByteRanges.parse(nil, length: 0) == .whole)
    }

    @Test("Dates go both ways")
    func dates() {
        #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
        #expect(HTTPDate.seconds("Sun, 99 Nov 1994 08:49:37 GMT") == nil)
        #expect(HTTPDate.seconds("yesterday") == nil)
        #expect(HTTPDate.text(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
    }

    @Test(
        "Addresses that are near each other",
        arguments: [
            ("192.168.1.20", "192.168.1.99", true), ("192.168.1.20", "192.168.2.20", false),
            ("192.168.1.20", "::ffff:192.168.1.21", true), ("fe80::1%eth0", "fe80::2", true),
            ("2001:db8:0:1::5", "2001:db8:0:1:ffff::9", true), ("2001:db8:0:1::5", "2001:db8:0:2::5", false),
            ("10.0.0.1", "::1", false),
        ])
    func near(left: String, right: String, expected: Bool) throws {
        let one = try #require(NetworkAddress(left))
        let two = try #require(NetworkAddress(right))
        #expect(one.isNear(two) == expected)
    }

    @Test(
        "Networks of any length",
        arguments: [
            ("10.1.2.3", "10.1.255.9", 16, true), ("10.1.2.3", "10.2.2.3", 16, false),
            ("10.1.2.3", "10.1.3.3", 23, true),
            ("10.1.2.3", "10.1.4.3", 23, false), ("10.1.2.3", "10.1.2.3", 32, true),
            ("10.1.2.3", "10.1.2.2", 32, false),
            ("10.1.2.3", "192.168.0.1", 0, true), ("fd00::1", "10.0.0.1", 0, false),
        ])
    func shares(left: String, right: String, prefix: Int, expected: Bool) throws {
        let one = try #require(NetworkAddress(left))
        let two = try #require(NetworkAddress(right))
        #expect(one.shares(prefix, with: two) == expected)
    }

    @Test("The way to a receiver names our own address", arguments: ["127.0.0.1", "::1"])
    func local(address: String) {
        #expect(NetworkAddress.local(towards: address) == address)
        #expect(NetworkAddress("not an address") == nil)
    }
}
