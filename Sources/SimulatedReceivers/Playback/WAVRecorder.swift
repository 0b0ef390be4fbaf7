import Foundation

/// Writes 16-bit PCM to a WAV file that can be read at any moment: the header is brought up to date after every append,
/// so the recording of a process that was killed is whole up to its last append.
///
/// Not `Sendable`: it belongs to the one actor or thread that plays.
public final class WAVRecorder {
    /// RIFF sizes are 32 bits; what would go beyond is not recorded.
    public static let maximumDataBytes = Int(UInt32.max) - 36 - 1

    public let url: URL
    public let sampleRate: Int
    public let channels: Int
    /// Frames recorded so far; one frame is one sample of each channel.
    public private(set) var frames = 0

    private var descriptor: Int32
    private var dataBytes = 0

    /// Creates the file, or empties it, and writes the header of an empty recording.
    /// - Throws: `SimulatedReceiverError.cannotWrite` with the path and the system's reason.
    public init(url: URL, sampleRate: Int, channels: Int) throws {
        self.url = url
        self.sampleRate = sampleRate
        self.channels = channels
        descriptor = open(url.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SimulatedReceiverError.cannotWrite(url.path, errno) }
        writeHeader()
    }

    deinit { close() }

    /// Appends interleaved samples; a whole number of frames.
    public func append(_ samples: [Int16]) {
        guard descriptor >= 0, !samples.isEmpty else { return }
        let room = (Self.maximumDataBytes - dataBytes) / (2 * channels) * channels
        let count = min(samples.count, room)
        samples.prefix(count).withUnsafeBytes { write($0, at: 44 + dataBytes) }
        dataBytes += 2 * count
        frames += count / channels
        writeHeader()
    }

    /// Ends the recording. Appending afterwards does nothing.
    public func close() {
        guard descriptor >= 0 else { return }
        _ = Foundation.close(descriptor)
        descriptor = -1
    }

    private func writeHeader() {
        var header: [UInt8] = []
        func text(_ value: String) { header.append(contentsOf: value.utf8) }
        func number<N: FixedWidthInteger>(_ value: N) {
            withUnsafeBytes(of: value.littleEndian) { header.append(contentsOf: $0) }
        }
        text("RIFF")
        number(UInt32(36 + dataBytes))
        text("WAVEfmt ")
        number(UInt32(16))
        number(UInt16(1))
        number(UInt16(channels))
        number(UInt32(sampleRate))
        number(UInt32(sampleRate * channels * 2))
        number(UInt16(channels * 2))
        number(UInt16(16))
        text("data")
        number(UInt32(dataBytes))
        header.withUnsafeBytes { write($0, at: 0) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        var done = 0
        while done < bytes.count {
            let count = pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            done += count
        }
    }
}
