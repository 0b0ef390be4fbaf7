import CAVCodec
import Foundation
import RouteModel

/// Encodes stereo to AAC-LC, packet after packet, each one access unit without a header.
///
/// libavcodec's own encoder in process, as `ALACEncoder` and for the same reasons. Not to be used from two tasks at once.
final class AACEncoder: PacketEncoder {
    static let framesPerPacket = 1024
    static let sampleRates: Set<Int> = [44_100, 48_000]
    /// Bits per second.
    static let bitRates = 64_000...320_000
    static let defaultBitRate = 256_000

    /// The transform reaches one packet back, and the encoder looks one ahead before it decides on its windows.
    let delay = 2 * framesPerPacket
    /// The first gives nothing, the second is of the silence before, and the third is what the first that counts overlaps.
    let history = 3
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var packet: UnsafeMutablePointer<AVPacket>?

    /// - Parameters:
    ///   - sampleRate: one of `sampleRates`.
    ///   - bitRate: one of `bitRates`.
    init(sampleRate: Int, bitRate: Int) throws {
        try CodecLibrary.check()
        guard Self.sampleRates.contains(sampleRate), Self.bitRates.contains(bitRate),
            let codec = avcodec_find_encoder(AV_CODEC_ID_AAC), let context = avcodec_alloc_context3(codec)
        else { throw Self.failure("libavcodec has no AAC encoder") }
        self.context = context
        context.pointee.sample_rate = Int32(sampleRate)
        context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
        context.pointee.bit_rate = Int64(bitRate)
        context.pointee.thread_count = 1
        // Access units alone, with what a decoder has to know beside them.
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        av_channel_layout_default(&context.pointee.ch_layout, 2)
        guard avcodec_open2(context, codec, nil) >= 0, Int(context.pointee.frame_size) == Self.framesPerPacket,
            let frame = av_frame_alloc(), let packet = av_packet_alloc()
        else {
            close()
            throw Self.failure("libavcodec's AAC encoder does not open")
        }
        self.frame = frame
        self.packet = packet
        frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        frame.pointee.nb_samples = Int32(Self.framesPerPacket)
        frame.pointee.sample_rate = Int32(sampleRate)
        av_channel_layout_default(&frame.pointee.ch_layout, 2)
        guard av_frame_get_buffer(frame, 0) >= 0 else {
            close()
            throw Self.failure("out of memory")
        }
    }

    deinit { close() }

    private func close() {
        av_packet_free(&packet)
        av_frame_free(&frame)
        avcodec_free_context(&context)
    }

    func encode(
        _ fill: (_ left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>, _ stride: Int) -> Void
    ) throws -> [UInt8]? {
        guard let context, let frame, let packet, av_frame_make_writable(frame) >= 0,
            let left = frame.pointee.data.0, let right = frame.pointee.data.1
        else { throw Self.failure("the encoder is closed") }
        let count = Self.framesPerPacket
        left.withMemoryRebound(to: Float.self, capacity: count) { left in
            right.withMemoryRebound(to: Float.self, capacity: count) { right in fill(left, right, 1) }
        }
        guard avcodec_send_frame(context, frame) >= 0 else {
            throw Self.failure("the AAC encoder refused a packet")
        }
        switch avcodec_receive_packet(context, packet) {
        case 0: break
        case -EAGAIN: return nil
        default: throw Self.failure("the AAC encoder gave no packet")
        }
        defer { av_packet_unref(packet) }
        return Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }

    private static func failure(_ message: String) -> RouterError { RouterError(.internal, message, scope: .item) }
}

/// What is common to all use of libavcodec.
enum CodecLibrary {
    /// What is wrong is told by results; the library would print on standard error that a stream ended in the middle.
    private static let quiet: Void = av_log_set_level(AV_LOG_QUIET)

    /// Throws `dependencyMissing` where there is no library to encode with.
    static func check() throws {
        guard cavcodec_is_available() != 0 else { throw missing(version: Int(LIBAVCODEC_VERSION_MAJOR)) }
        _ = quiet
    }

    static func missing(version: Int) -> RouterError {
        RouterError(
            .dependencyMissing, "libavcodec.so.\(version), which encodes sound, cannot be loaded",
            hint: "Install Debian's package libavcodec\(version): sudo apt install libavcodec\(version)", scope: .route,
            retry: .afterUserAction)
    }
}
