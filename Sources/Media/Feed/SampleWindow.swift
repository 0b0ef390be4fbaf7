/// The newest frames of a feed: 32-bit stereo in a ring, addressed by their number in the feed.
///
/// A class round raw memory, so that 64 KiB at a time is one copy and no array is checked sample by sample. It is
/// owned by one actor and never leaves it.
final class SampleWindow {
    /// Left and right of one frame, little-endian as ffmpeg gives them (and as this machine has them).
    typealias Frame = SIMD2<Int32>

    let capacity: Int
    private let frames: UnsafeMutablePointer<Frame>
    /// The frame after the newest.
    private(set) var end: Int64 = 0
    /// Bytes of a frame that came in two parts.
    private var carry: (bytes: UInt64, count: Int) = (0, 0)

    init(capacity: Int) {
        self.capacity = capacity
        frames = .allocate(capacity: capacity)
        frames.initialize(repeating: .zero, count: capacity)
    }

    deinit { frames.deallocate() }

    /// The oldest frame that is still here.
    var start: Int64 { max(0, end - Int64(capacity)) }

    /// Takes bytes, of which a last frame may be cut.
    func append(_ bytes: UnsafeRawBufferPointer) {
        var bytes = bytes[...]
        while carry.count > 0, let byte = bytes.popFirst() {
            carry.bytes |= UInt64(byte) << UInt64(8 * carry.count)
            carry.count += 1
            if carry.count == MemoryLayout<Frame>.size {
                append(
                    Frame(
                        Int32(truncatingIfNeeded: carry.bytes), Int32(truncatingIfNeeded: carry.bytes >> 32)))
                carry = (0, 0)
            }
        }
        let whole = bytes.count / MemoryLayout<Frame>.size
        copy(UnsafeRawBufferPointer(rebasing: bytes.prefix(whole * MemoryLayout<Frame>.size)))
        for byte in bytes.dropFirst(whole * MemoryLayout<Frame>.size) {
            carry.bytes |= UInt64(byte) << UInt64(8 * carry.count)
            carry.count += 1
        }
    }

    private func append(_ frame: Frame) {
        frames[Int(end % Int64(capacity))] = frame
        end += 1
    }

    /// Adds frames of silence.
    func appendSilence(_ count: Int64) {
        if count >= Int64(capacity) {
            frames.update(repeating: .zero, count: capacity)
            end += count
        } else {
            for _ in 0..<max(0, count) { append(.zero) }
        }
    }

    /// The newest frame once more.
    func repeatNewest() { append(end > 0 ? frames[Int((end - 1) % Int64(capacity))] : .zero) }

    /// Takes the newest frame back.
    func dropNewest() { end = max(0, end - 1) }

    /// Forgets a frame that stayed cut: an item ended in its middle.
    func endItem() { carry = (0, 0) }

    private func copy(_ bytes: UnsafeRawBufferPointer) {
        var left = bytes
        while left.count > 0, let source = left.baseAddress {
            let at = Int(end % Int64(capacity))
            let count = min(left.count / MemoryLayout<Frame>.size, capacity - at)
            let size = count * MemoryLayout<Frame>.size
            UnsafeMutableRawPointer(frames + at).copyMemory(from: source, byteCount: size)
            end += Int64(count)
            left = UnsafeRawBufferPointer(rebasing: left.dropFirst(size))
        }
    }

    /// Changes the frames of a range that are here.
    func change(_ range: Range<Int64>, _ change: (_ frame: Frame, _ number: Int64) -> Frame) {
        for number in range.clamped(to: start..<end) {
            let place = Int(number % Int64(capacity))
            frames[place] = change(frames[place], number)
        }
    }

    /// Gives `count` frames from `frame` on in one or two runs; silence after the newest. `frame` must not be older
    /// than `start`.
    func withFrames(
        from frame: Int64, count: Int, _ body: (_ run: UnsafeBufferPointer<Frame>, _ offset: Int) -> Void
    ) {
        precondition(frame >= start)
        let have = Int(max(0, min(Int64(count), end - frame)))
        var done = 0
        while done < have {
            let at = Int((frame + Int64(done)) % Int64(capacity))
            let run = min(have - done, capacity - at)
            body(UnsafeBufferPointer(start: frames + at, count: run), done)
            done += run
        }
        if done < count {
            withUnsafeTemporaryAllocation(of: Frame.self, capacity: count - done) { silence in
                silence.initialize(repeating: .zero)
                body(UnsafeBufferPointer(silence), done)
            }
        }
    }
}
