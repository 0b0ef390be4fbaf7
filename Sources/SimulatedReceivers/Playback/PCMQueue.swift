/// Decoded 44.1 kHz stereo that waits to be heard.
struct PCMQueue {
    private var chunks: [[Int16]] = []
    private var first = 0
    private var taken = 0

    /// Frames that wait.
    private(set) var frames = 0

    mutating func append(_ samples: [Int16]) {
        guard !samples.isEmpty else { return }
        chunks.append(samples)
        frames += samples.count / AudioDecoder.channels
    }

    /// The oldest frames, as many as there are of `count`.
    mutating func take(_ count: Int) -> [Int16] {
        var wanted = min(count, frames) * AudioDecoder.channels
        frames -= wanted / AudioDecoder.channels
        var samples: [Int16] = []
        samples.reserveCapacity(wanted)
        while wanted > 0 {
            let part = chunks[first][taken...].prefix(wanted)
            samples.append(contentsOf: part)
            wanted -= part.count
            taken += part.count
            if taken == chunks[first].count {
                first += 1
                taken = 0
            }
        }
        if first > 64 || first == chunks.count {
            chunks.removeFirst(first)
            first = 0
        }
        return samples
    }

    mutating func clear() { self = PCMQueue() }
}
