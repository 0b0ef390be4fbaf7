import CAVCodec

/// Decodes Opus packets with libopus, as a receiver does that is handed them one by one.
final class OpusDecoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var packet: UnsafeMutablePointer<AVPacket>?

    init?() {
        guard let codec = avcodec_find_decoder_by_name("libopus"), let context = avcodec_alloc_context3(codec) else {
            return nil
        }
        self.context = context
        frame = av_frame_alloc()
        packet = av_packet_alloc()
        context.pointee.sample_rate = 48_000
        context.pointee.request_sample_fmt = AV_SAMPLE_FMT_FLT
        av_channel_layout_default(&context.pointee.ch_layout, 2)
        guard avcodec_open2(context, codec, nil) >= 0 else { return nil }
    }

    deinit {
        av_packet_free(&packet)
        av_frame_free(&frame)
        avcodec_free_context(&context)
    }

    /// Left and right in turn, -1 to 1; nil for what is no packet.
    func decode(_ payload: [UInt8]) -> [Float]? {
        guard av_new_packet(packet, Int32(payload.count)) >= 0 else { return nil }
        defer { av_packet_unref(packet) }
        packet!.pointee.data.update(from: payload, count: payload.count)
        guard avcodec_send_packet(context, packet) >= 0, avcodec_receive_frame(context, frame) >= 0,
            frame!.pointee.format == AV_SAMPLE_FMT_FLT.rawValue
        else { return nil }
        let count = Int(frame!.pointee.nb_samples) * 2
        return frame!.pointee.data.0!.withMemoryRebound(to: Float.self, capacity: count) {
            Array(UnsafeBufferPointer(start: $0, count: count))
        }
    }
}
