import Testing

@testable import HomeKitPairing

@Suite("R6 frames of the encrypted channel")
struct FrameCipherTests {
    @Test("keys and frames are those of the vectors, of all three channels")
    func vectors() throws {
        let channels = try Vectors.load().channels
        let keys: [(Vectors.Channel, ChannelKeys)] = [
            (channels.control, .control(bytes(channels.control.secret))),
            (channels.events, .events(bytes(channels.events.secret))),
            (
                channels.dataStream,
                .dataStream(bytes(channels.dataStream.secret), seed: 12_345_678_901_234_567_890)
            ),
        ]
        for (vector, keys) in keys {
            #expect(keys.controllerWrites == bytes(vector.controllerWrites))
            #expect(keys.accessoryWrites == bytes(vector.accessoryWrites))
            var sealer = FrameSealer(key: keys.controllerWrites)
            #expect(sealer.seal(bytes(vector.plain)) == bytes(vector.frames))
        }
    }

    /// Feeds bytes in pieces, as a connection does.
    private func open(_ frames: [UInt8], pieces: Int, key: [UInt8]) throws -> [UInt8] {
        var opener = FrameOpener(key: key)
        var waiting: [UInt8] = []
        var result: [UInt8] = []
        for start in stride(from: 0, to: frames.count, by: pieces) {
            waiting += frames[start..<min(frames.count, start + pieces)]
            while let (plaintext, used) = try opener.open(waiting) {
                result += plaintext
                waiting.removeFirst(used)
            }
        }
        #expect(waiting.isEmpty)
        return result
    }

    @Test("byte by byte, in lumps and at once the same comes out", arguments: [1, 2, 17, 1_041, 1_042, 1_043, 9_999])
    func pieces(_ pieces: Int) throws {
        let vector = try Vectors.load().channels.control
        #expect(
            try open(bytes(vector.frames), pieces: pieces, key: bytes(vector.controllerWrites)) == bytes(vector.plain))
    }

    @Test("nothing makes no frame; 1,024 bytes make one, 1,025 two")
    func lengths() throws {
        let key = [UInt8](repeating: 3, count: 32)
        for (count, length) in [(0, 0), (1, 19), (1_024, 1_042), (1_025, 1_061), (3_000, 3_054)] {
            var sealer = FrameSealer(key: key)
            let plain = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let frames = sealer.seal(plain)
            #expect(frames.count == length)
            #expect(try open(frames, pieces: 64, key: key) == plain)
        }
    }

    @Test("an empty frame opens to nothing and counts")
    func emptyFrame() throws {
        let key = [UInt8](repeating: 3, count: 32)
        var opener = FrameOpener(key: key)
        let empty =
            [0, 0] + PairingCrypto.seal([], key: key, nonce: [0, 0, 0, 0, 0, 0, 0, 0], authenticating: [0, 0])
        #expect(try opener.open(empty)?.plaintext == [])
        #expect(throws: FrameError.notAuthentic(frame: 1)) { try opener.open(empty) }
    }

    @Test("a replayed frame, one left out, two swapped: refused by their number")
    func order() throws {
        let key = [UInt8](repeating: 3, count: 32)
        var sealer = FrameSealer(key: key)
        let first = sealer.seal([1])
        let second = sealer.seal([2])
        let third = sealer.seal([3])
        var replayed = FrameOpener(key: key)
        #expect(try replayed.open(first)?.plaintext == [1])
        #expect(throws: FrameError.notAuthentic(frame: 1)) { try replayed.open(first) }
        var skipped = FrameOpener(key: key)
        #expect(try skipped.open(first)?.plaintext == [1])
        #expect(throws: FrameError.notAuthentic(frame: 1)) { try skipped.open(third) }
        var swapped = FrameOpener(key: key)
        #expect(throws: FrameError.notAuthentic(frame: 0)) { try swapped.open(second) }
    }

    @Test("a frame too long is refused by its header alone", arguments: [1_025, 32_768, 65_535])
    func tooLong(_ length: Int) throws {
        var opener = FrameOpener(key: [UInt8](repeating: 3, count: 32))
        #expect(throws: FrameError.tooLong(length)) {
            try opener.open([UInt8(length & 0xFF), UInt8(length >> 8)])
        }
    }

    @Test("any bit changed in length, ciphertext or tag is seen")
    func tampered() throws {
        let key = [UInt8](repeating: 3, count: 32)
        var sealer = FrameSealer(key: key)
        let frame = sealer.seal([1, 2, 3, 4])
        for bit in 0..<(frame.count * 8) {
            var changed = frame
            changed[bit / 8] ^= 1 << (bit % 8)
            var opener = FrameOpener(key: key)
            do {
                // A greater length waits for more; that much is no plaintext.
                #expect(try opener.open(changed) == nil)
            } catch FrameError.notAuthentic, FrameError.tooLong {
                continue
            }
        }
    }

    @Test("the other direction's key opens nothing")
    func directions() throws {
        let keys = ChannelKeys.control([UInt8](repeating: 9, count: 32))
        var sealer = FrameSealer(key: keys.controllerWrites)
        var opener = FrameOpener(key: keys.accessoryWrites)
        let frame = sealer.seal([1])
        #expect(throws: FrameError.notAuthentic(frame: 0)) { try opener.open(frame) }
        #expect("\(keys)" == "ChannelKeys(••••)")
    }
}
