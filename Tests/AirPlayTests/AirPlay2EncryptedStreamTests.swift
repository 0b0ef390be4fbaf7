import HomeKitPairing
import NIOCore
import NIOEmbedded
import Testing

@testable import AirPlay

@Suite("R6 Encrypted connections")
struct AirPlay2EncryptedStreamTests {
    static let keys = ChannelKeys.control([UInt8](repeating: 7, count: 32))

    @Test("Clear, then encrypted at the very byte: however the bytes are cut", arguments: [1, 2, 3, 17, 1000, 100_000])
    func switching(size: Int) throws {
        var sender = EncryptedByteStream(.accessory)
        let clear = sender.seal(Array("clear".utf8))
        try sender.encrypt(with: Self.keys)
        let long = (0..<3000).map { UInt8(truncatingIfNeeded: $0) }
        let wire = clear + sender.seal(long) + sender.seal([1, 2, 3])
        #expect(wire.count == 5 + 3000 + 3 * 18 + 3 + 18)

        var receiver = EncryptedByteStream(.controller)
        var read: [UInt8] = []
        for start in stride(from: 0, to: wire.count, by: size) {
            try receiver.receive(wire[start..<min(wire.count, start + size)])
            // A reader of messages stops behind the fifth byte, and says what follows.
            if !receiver.isEncrypted, receiver.readable.count >= 5 {
                #expect(Array(receiver.readable.prefix(5)) == Array("clear".utf8))
                receiver.consume(5)
                try receiver.encrypt(with: Self.keys)
            }
            if receiver.isEncrypted {
                read += receiver.readable
                receiver.consume(receiver.readable.count)
            }
        }
        #expect(read == long + [1, 2, 3])
    }

    @Test("Both directions have keys of their own; a controller does not open what a controller sealed")
    func directions() throws {
        var one = EncryptedByteStream(.controller, keys: Self.keys)
        var other = EncryptedByteStream(.accessory, keys: Self.keys)
        try other.receive(one.seal([5]))
        #expect(Array(other.readable) == [5])
        try one.receive(other.seal([6]))
        #expect(Array(one.readable) == [6])
        var third = EncryptedByteStream(.controller, keys: Self.keys)
        #expect(throws: FrameError.notAuthentic(frame: 0)) { try third.receive(one.seal([7])) }
    }

    @Test("Frames that are replayed, left out, tampered with or too long are refused")
    func broken() throws {
        var sender = EncryptedByteStream(.accessory, keys: Self.keys)
        let first = sender.seal([1])
        let second = sender.seal([2])
        func receiver() throws -> EncryptedByteStream {
            var receiver = EncryptedByteStream(.controller, keys: Self.keys)
            try receiver.receive(first)
            return receiver
        }
        var replayed = try receiver()
        #expect(throws: FrameError.notAuthentic(frame: 1)) { try replayed.receive(first) }
        var skipped = EncryptedByteStream(.controller, keys: Self.keys)
        #expect(throws: FrameError.notAuthentic(frame: 0)) { try skipped.receive(second) }
        var tampered = try receiver()
        var changed = second
        changed[2] ^= 1
        #expect(throws: FrameError.notAuthentic(frame: 1)) { try tampered.receive(changed) }
        var long = try receiver()
        #expect(throws: FrameError.tooLong(1025)) { try long.receive([0x01, 0x04]) }
        var clear = EncryptedByteStream(.controller)
        try clear.receive(Array("RTSP/1.0 200 OK\r\n\r\n".utf8))
        #expect(throws: FrameError.self) { try clear.encrypt(with: Self.keys) }
    }

    @Test("What is consumed is forgotten, also where a little is always left")
    func compaction() throws {
        var stream = EncryptedByteStream(.controller)
        for _ in 0..<50 {
            try stream.receive([UInt8](repeating: 1, count: 10_000))
            stream.consume(stream.readable.count - 1)
        }
        #expect(stream.readable.count == 1)
    }

    @Test("The handler: both ways through a pair of channels, and a broken frame is told once and closes")
    func handler() throws {
        let controller = EmbeddedChannel(handler: EncryptedChannelHandler(.controller, keys: Self.keys))
        let accessory = EmbeddedChannel(handler: EncryptedChannelHandler(.accessory, keys: Self.keys))
        try controller.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try accessory.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 2)).wait()
        try controller.writeOutbound(ByteBuffer(string: "hello"))
        let sealed = try #require(try controller.readOutbound(as: ByteBuffer.self))
        #expect(sealed.readableBytes == 5 + 18)
        // Cut in the middle.
        try accessory.writeInbound(sealed.getSlice(at: 0, length: 9)!)
        #expect(try accessory.readInbound(as: ByteBuffer.self) == nil)
        try accessory.writeInbound(sealed.getSlice(at: 9, length: 14)!)
        #expect(try accessory.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "hello"))
        #expect(throws: FrameError.notAuthentic(frame: 1)) { try accessory.writeInbound(sealed) }
        #expect(!accessory.isActive)
        _ = try? controller.finish()
    }
}
