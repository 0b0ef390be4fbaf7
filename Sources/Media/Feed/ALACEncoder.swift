import CAVCodec
import RouteModel

/// Encodes 16-bit stereo to Apple Lossless packets, each decodable by itself.
///
/// libavcodec in process, because the `ffmpeg` program cuts ALAC only at 4,096 frames (`Protocols/airplay`: receivers
/// of RAOP take 352). Only samples that we made ourselves come here; hostile files stay in the subprocess.
///
/// Not to be used from two tasks at once.
final class ALACEncoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private let framesPerPacket: Int

    /// - Parameter framesPerPacket: 1 to 4,096.
    init(sampleRate: Int, framesPerPacket: Int) throws {
        self.framesPerPacket = framesPerPacket
        guard (1...4096).contains(framesPerPacket), let codec = avcodec_find_encoder(AV_CODEC_ID_ALAC),
            let context = avcodec_alloc_context3(codec)
        else { throw Self.failure("libavcodec has no ALAC encoder") }
        self.context = context
        context.pointee.sample_rate = Int32(sampleRate)
        context.pointee.sample_fmt = AV_SAMPLE_FMT_S16P
        av_channel_layout_default(&context.pointee.ch_layout, 2)
        context.pointee.thread_count = 1
        guard avcodec_open2(context, codec, nil) >= 0 else {
            close()
            throw Self.failure("libavcodec's ALAC encoder does not open")
        }
        guard let frame = av_frame_alloc(), let packet = av_packet_alloc() else {
            close()
            throw Self.failure("out of memory")
        }
        self.frame = frame
        self.packet = packet
        frame.pointee.format = AV_SAMPLE_FMT_S16P.rawValue
        frame.pointee.nb_samples = Int32(framesPerPacket)
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

    /// One packet of `framesPerPacket` frames. A frame is left and right, each signed 16-bit in the host's order.
    ///
    /// `pull` copies the frames into the two planes it is given.
    func encode(
        _ pull: (_ left: UnsafeMutablePointer<Int16>, _ right: UnsafeMutablePointer<Int16>) -> Void
    ) throws -> [UInt8] {
        guard let context, let frame, let packet, av_frame_make_writable(frame) >= 0 else {
            throw Self.failure("the encoder is closed")
        }
        // The planes are the first two of `data`, which Swift sees as a tuple.
        guard let left = frame.pointee.data.0, let right = frame.pointee.data.1 else {
            throw Self.failure("the frame has no planes")
        }
        left.withMemoryRebound(to: Int16.self, capacity: framesPerPacket) { left in
            right.withMemoryRebound(to: Int16.self, capacity: framesPerPacket) { right in pull(left, right) }
        }
        guard avcodec_send_frame(context, frame) >= 0, avcodec_receive_packet(context, packet) >= 0 else {
            throw Self.failure("the ALAC encoder refused a packet")
        }
        defer { av_packet_unref(packet) }
        return Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }

    private static func failure(_ message: String) -> RouterError { RouterError(.internal, message, scope: .item) }
}
