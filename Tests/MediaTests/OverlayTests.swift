import RouteBackend
import Testing

@testable import Media

@Suite("R4 something said over a feed")
struct OverlayTests {
    private static let ramp = Int(Overlay.rampFrames)
    private static let level: Int32 = 1 << 28

    /// Seconds of a constant level, as the decoder gives them.
    private func bytes(_ seconds: Double) -> [UInt8] {
        let frame = withUnsafeBytes(of: Self.level.littleEndian) { [UInt8]($0) }
        return Array(repeatElement(frame + frame, count: Int(seconds * 44_100)).joined())
    }

    private func samples(_ buffer: FeedBuffer, from packet: Int64, count: Int) async throws -> [Int32] {
        let format = AudioPacketFormat(codec: .l16)
        var result: [Int32] = []
        var index = packet
        while result.count < count {
            let packets = try await buffer.packets(format, from: index, limit: 32)
            guard let last = packets.last else { break }
            for packet in packets { result += Overlay.frames(ofPCM: packet.payload).map(\.x) }
            index = last.frame / 352 + 1
        }
        return result
    }

    @Test("what plays is less loud under it, by a ramp, and as before after it; what was read already stays")
    func levels() async throws {
        let buffer = FeedBuffer(aheadSeconds: 60, retainedSeconds: 10)
        await buffer.append(bytes(1))
        try await buffer.prepare(AudioPacketFormat(codec: .l16))
        #expect(await buffer.takesOverlay)
        let before = try await samples(buffer, from: 0, count: 352 * 10)
        #expect(before.allSatisfy { $0 == Self.level })
        let clip = Overlay(Array(repeating: SampleWindow.Frame(1 << 26, 1 << 26), count: 44_100), share: 0.25)
        let frames = try #require(await buffer.lay(clip))
        #expect(frames.count == 44_100)
        // One at a time.
        #expect(await !buffer.takesOverlay)
        #expect(await buffer.lay(clip) == nil)
        // The rest comes after it was laid.
        await buffer.append(bytes(2))
        await buffer.finish(nil)
        let all = try await samples(buffer, from: 0, count: 3 * 44_100)
        let (first, last) = (Int(frames.lowerBound), Int(frames.upperBound))
        #expect(all[..<(first - Self.ramp)].allSatisfy { $0 == Self.level })
        let down = all[(first - Self.ramp)..<first]
        #expect(zip(down, down.dropFirst()).allSatisfy { $0 >= $1 } && (down.last ?? 0) < Self.level / 3)
        let under = Self.level / 4 + 1 << 26
        #expect(all[first..<last].allSatisfy { abs($0 - under) < 1 << 17 })
        #expect(all[(last + Self.ramp)..<(3 * 44_100)].allSatisfy { $0 == Self.level })
    }

    @Test("a clip that is longer than what is left is heard to its end, and nothing is laid over what is over")
    func end() async throws {
        let buffer = FeedBuffer(aheadSeconds: 60, retainedSeconds: 10)
        await buffer.append(bytes(1))
        #expect(await !buffer.takesOverlay)
        try await buffer.prepare(AudioPacketFormat(codec: .l16))
        let clip = Overlay(Array(repeating: SampleWindow.Frame(1 << 26, 1 << 26), count: 88_200), share: 0)
        let frames = try #require(await buffer.lay(clip))
        await buffer.finish(nil)
        let all = try await samples(buffer, from: 0, count: 4 * 44_100)
        #expect(all.count >= Int(frames.upperBound))
        #expect(all[Int(frames.lowerBound)..<Int(frames.upperBound)].allSatisfy { $0 == 1 << 26 })
        #expect(await buffer.lay(clip) == nil)
    }

    @Test("what is too loud together is as loud as can be, and a share out of range is none")
    func clamped() {
        let loud = SampleWindow.Frame(.max, .min)
        let clip = Overlay([loud], share: 7)
        #expect(clip.over(loud, at: Overlay.rampFrames) == loud)
        let none = Overlay([.zero], share: -1)
        #expect(none.over(loud, at: Overlay.rampFrames) == .zero)
        #expect(Overlay.frames(ofPCM: [0x12, 0x34, 0xFF, 0xFE, 0]) == [SampleWindow.Frame(0x1234_0000, -0x0002_0000)])
    }
}
