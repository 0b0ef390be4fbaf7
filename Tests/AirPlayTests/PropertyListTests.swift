import Testing

@testable import AirPlay

@Suite("Property lists")
struct PropertyListTests {
    /// The same as in `Protocols/airplay/vectors/derive.py`.
    static let known: [String: PropertyList] = [
        "types": .dictionary([
            "bool": .bool(true), "no": .bool(false), "real": .real(-14.5), "data": .data((0..<20).map { UInt8($0) }),
            // 2026-11-21, in seconds since 2001.
            "date": .date(816_912_000), "text": .string("café 🎵"),
            "array": .array([.integer(1), .string("x"), .array([])]), "nothing": .dictionary([:]),
        ]),
        "numbers": .array(
            [
                0, 255, 256, 65535, 65536, 4_294_967_295, 4_294_967_296, .max, -1, .min,
            ].map { .integer($0) }),
        "setup": .dictionary([
            "streams": .array([
                .dictionary([
                    "type": .integer(96), "ct": .integer(2), "audioFormat": .integer(262_144), "spf": .integer(352),
                    "shk": .data((0..<32).map { UInt8($0) }), "controlPort": .integer(6001), "isMedia": .bool(true),
                ])
            ])
        ]),
        "many": .array((0..<300).map { .string("item \($0)") }),
    ]

    @Test("As Python's plistlib writes them: read, and written alike byte by byte", arguments: known.keys.sorted())
    func vectors(name: String) throws {
        let written = bytes(hex: try #require(try Vectors.load().lists[name]))
        let list = try #require(Self.known[name])
        #expect(try PropertyList(parsing: written) == list)
        #expect(list.encoded() == written)
    }

    @Test(
        "Every byte less, and every byte changed: an error or a list, and no crash",
        arguments: ["types", "numbers", "setup"])
    func damaged(name: String) throws {
        let written = bytes(hex: try #require(try Vectors.load().lists[name]))
        for count in 0..<written.count {
            #expect(throws: PropertyListError.self) { try PropertyList(parsing: Array(written.prefix(count))) }
        }
        for index in written.indices {
            for value in [0, 0x0F, 0x7F, 0xD1, 0xFF] as [UInt8] {
                var changed = written
                changed[index] = value
                _ = try? PropertyList(parsing: changed)
            }
        }
    }

    /// A list of these objects, each as it is on the wire; references take one byte.
    static func assembled(_ objects: [[UInt8]], root: UInt8 = 0) -> [UInt8] {
        var result = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += [UInt8(result.count >> 8), UInt8(result.count & 0xFF)]
            result += object
        }
        let table = result.count
        result += offsets + [0, 0, 0, 0, 0, 0, 2, 1]
        result.appendBigEndian(UInt64(objects.count))
        result.appendBigEndian(UInt64(root))
        result.appendBigEndian(UInt64(table))
        return result
    }

    @Test(
        "Malformed lists, each with what is wrong",
        arguments: [
            ("refers-to-itself", assembled([[0xA1, 0]]), .tooDeep),
            ("refers-past-the-end", assembled([[0xA1, 9]]), .malformed),
            ("string-longer-than-the-list", assembled([[0x5F, 0x12, 0x7F, 0xFF, 0xFF, 0xFF]]), .malformed),
            ("length-past-64-bits", assembled([[0x4F, 0x14] + [UInt8](repeating: 0xFF, count: 16)]), .malformed),
            ("length-of-no-integer", assembled([[0x5F, 0x50]]), .malformed),
            ("array-of-2-to-the-31", assembled([[0xAF, 0x12, 0x7F, 0xFF, 0xFF, 0xFF]]), .malformed),
            ("key-of-no-string", assembled([[0xD1, 1, 1], [0x10, 7]]), .malformed),
            ("root-past-the-end", assembled([[0x09]], root: 1), .malformed),
            ("integer-of-128-bits", assembled([[0x14] + [UInt8](repeating: 1, count: 16)]), .integerOutOfRange),
            ("null", assembled([[0x00]]), .malformed),
            ("unknown-kind", assembled([[0x70]]), .malformed),
            ("nothing", [], .malformed),
            ("text", Array("volume: -3\r\n".utf8), .malformed),
            ("xml-of-no-list", Array("<html><body>404</body></html>".utf8), .malformed),
        ] as [(String, [UInt8], PropertyListError)])
    func malformed(name: String, list: [UInt8], error: PropertyListError) {
        #expect(throws: error) { try PropertyList(parsing: list) }
    }

    @Test("More than 4 MiB are not looked at")
    func tooLong() {
        let length = PropertyList.maximumLength + 1
        #expect(throws: PropertyListError.tooLong(length)) {
            try PropertyList(parsing: [UInt8](repeating: 0x20, count: length))
        }
    }

    @Test("A few bytes that unfold without end are refused: shared arrays, and shared data")
    func unfolding() {
        // Eight levels of fifteen references each.
        let levels = (1...8).map { [0xAF, 0x10, 15] + [UInt8](repeating: $0, count: 15) } + [[0x09]]
        #expect(throws: PropertyListError.tooManyValues) { try PropertyList(parsing: Self.assembled(levels)) }
        let data: [UInt8] = [0x4F, 0x11, 0x40, 0x00] + [UInt8](repeating: 1, count: 0x4000)
        let wide = [[0xAF, 0x11, 0x03, 0x00] + [UInt8](repeating: 1, count: 0x300), data]
        #expect(throws: PropertyListError.self) { try PropertyList(parsing: Self.assembled(wide)) }
    }

    @Test("XML, as older receivers write it; and nested deeper than the stack is")
    func xml() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict><key>duration</key><real>12.5</real><key>ready</key><true/>
            <key>ranges</key><array><dict/><dict/></array></dict></plist>
            """
        let list = try PropertyList(parsing: Array(text.utf8))
        #expect(list["duration"]?.real == 12.5)
        #expect(list["ready"]?.bool == true)
        #expect(list["ranges"]?.array == [.dictionary([:]), .dictionary([:])])
        let deep = "<plist>" + String(repeating: "<array>", count: 200_000)
        #expect(throws: PropertyListError.tooDeep) { try PropertyList(parsing: Array(deep.utf8)) }
    }

    @Test("Unsigned numbers of 64 bits keep their bits, whether as 8 or as 16 bytes")
    func unsigned() throws {
        let list = PropertyList.integer(Int64(bitPattern: 0xF000_0000_0000_0001))
        #expect(try PropertyList(parsing: list.encoded()) == list)
        let wide: [UInt8] = [0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0, 0, 0, 0, 0, 0, 1]
        #expect(try PropertyList(parsing: Self.assembled([wide])) == list)
    }

    @Test("Ports that come as signed numbers")
    func ports() {
        #expect(PropertyList.integer(-1).port == 65_535)
        #expect(PropertyList.integer(7000).port == 7000)
        #expect(PropertyList.integer(70_000).port == nil)
        #expect(PropertyList.integer(-40_000).port == nil)
    }
}
