import Foundation

/// Writes 16 or 24-bit PCM to a WAV file that can be read at any moment: the header is brought up to date after every append,
/// so the recording of a process that was killed is whole up to its last append.
///
/// Not `Sendable`: it belongs to the one actor or thread that plays.
public final class WAVRecorder {
    /// RIFF sizes are 32 bits; what would go beyond is not recorded.
    public static let maximumDataBytes = Int(UInt32.max) - 36 - 1

    public let url: URL
    public let sampleRate: Int
    public let channels: Int
    /// 16 or 24.
    public let bitDepth: Int
    /// Frames recorded so far; one frame is one sample of each channel.
    public private(set) var frames = 0

    private var descriptor: Int32
    private var dataBytes = 0

    /// Creates the file, or empties it, and writes the header of an empty recording.
    /// - Throws: `SimulatedReceiverError.cannotWrite` with the path and the system's reason.
    public init(url: URL, sampleRate: Int, channels: Int, bitDepth: Int = 16) throws {
        self.url = url
        self.sampleRate = sampleRate
        self.channels = channels
        self.bitDepth = bitDepth
        descriptor = open(url.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SimulatedReceiverError.cannotWrite(url.path, errno) }
        writeHeader()
    }

    deinit { close() }

    /// Appends interleaved samples to a recording of 16 bits; a whole number of frames.
    public func append(_ samples: [Int16]) {
        guard bitDepth == 16 else { return append(samples.map { Int32($0) << 8 }) }
        samples.withUnsafeBytes { append(bytes: $0) }
    }

    /// Appends interleaved samples of the recording's depth, which are as large as that depth allows.
    public func append(_ samples: [Int32]) {
        guard bitDepth == 24 else { return append(samples.map { Int16(truncatingIfNeeded: $0) }) }
        var bytes = [UInt8](repeating: 0, count: samples.count * 3)
        var place = 0
        for sample in samples {
            bytes[place] = UInt8(truncatingIfNeeded: sample)
            bytes[place + 1] = UInt8(truncatingIfNeeded: sample >> 8)
            bytes[place + 2] = UInt8(truncatingIfNeeded: sample >> 16)
            place += 3
        }
        bytes.withUnsafeBytes { append(bytes: $0) }
    }

    private func append(bytes: UnsafeRawBufferPointer) {
        guard descriptor >= 0, !bytes.isEmpty else { return }
        let frameBytes = bitDepth / 8 * channels
        let count = min(bytes.count, (Self.maximumDataBytes - dataBytes) / frameBytes * frameBytes)
        write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: 44 + dataBytes)
        dataBytes += count
        frames += count / frameBytes
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
        number(UInt32(sampleRate * channels * bitDepth / 8))
        number(UInt16(channels * bitDepth / 8))
        number(UInt16(bitDepth))
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
