import Testing

@testable import HomeKitPairing

@Suite("R6 TLV8")
struct TLV8Tests {
    @Test("values of 0, 1, 255, 256 and 600 bytes come back", arguments: [0, 1, 255, 256, 510, 600])
    func roundTrip(length: Int) throws {
        let value = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let message = TLV8([.init(.state, [1]), .init(.publicKey, value), .init(.proof, [9])])
        let read = try TLV8(parsing: message.encoded())
        #expect(read == message)
        #expect(read.byte(.state) == 1)
    }

    @Test("two items of one type apart stay two; a full one is gone on with by its like only")
    func fragments() throws {
        let full = [UInt8](repeating: 5, count: 255)
        let read = try TLV8(parsing: [3, 255] + full + [3, 1, 6, 255, 0, 3, 1, 7])
        #expect(read.items == [.init(.publicKey, full + [6]), .init(.separator, []), .init(.publicKey, [7])])
    }

    @Test("what ends in the middle of an item is refused, at every byte")
    func truncated() throws {
        let bytes = TLV8([.init(.state, [1]), .init(.salt, [1, 2, 3])]).encoded()
        for count in 1..<bytes.count where count != 3 {
            #expect(throws: TLV8Error.self) { try TLV8(parsing: bytes.prefix(count)) }
        }
        #expect(throws: TLV8Error.tooLong(70_000)) { try TLV8(parsing: [UInt8](repeating: 0, count: 70_000)) }
    }
}
