import CAVCodec

/// What libavcodec needs for one stream, and its clean-up. Belongs to the one actor that decodes.
final class AVDecoder {
    private(set) var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private var frame: UnsafeMutablePointer<AVFrame>?

    /// What libavcodec thinks of damaged frames is counted here, and not written to standard error.
    private static let quiet: Void = av_log_set_level(AV_LOG_QUIET)

    /// - Parameter cookie: what a file would say of the stream before its first packet.
    init?(
        _ codec: UnsafePointer<AVCodec>?, cookie: [UInt8] = [],
        prepare: (UnsafeMutablePointer<AVCodecContext>) -> Void
    ) {
        Self.quiet
        guard let codec, let context = avcodec_alloc_context3(codec) else { return nil }
        self.context = context
        packet = av_packet_alloc()
        frame = av_frame_alloc()
        context.pointee.thread_count = 1
        if !cookie.isEmpty {
            guard let extra = av_mallocz(cookie.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else { return nil }
            extra.copyMemory(from: cookie, byteCount: cookie.count)
            context.pointee.extradata = extra.assumingMemoryBound(to: UInt8.self)
            context.pointee.extradata_size = Int32(cookie.count)
        }
        prepare(context)
        guard packet != nil, frame != nil, avcodec_open2(context, codec, nil) == 0 else { return nil }
    }

    deinit {
        avcodec_free_context(&context)
        av_packet_free(&packet)
        av_frame_free(&frame)
    }

    /// Decodes one packet of the stream and reads every frame that comes of it. False when it is damaged.
    func decode(_ bytes: [UInt8], _ read: (AVFrame) -> Void) -> Bool {
        guard let packet, let frame, !bytes.isEmpty, av_new_packet(packet, Int32(bytes.count)) == 0 else {
            return false
        }
        packet.pointee.data.update(from: bytes, count: bytes.count)
        defer { av_packet_unref(packet) }
        guard avcodec_send_packet(context, packet) == 0 else { return false }
        while avcodec_receive_frame(context, frame) == 0 {
            read(frame.pointee)
            av_frame_unref(frame)
        }
        return true
    }

    /// Forgets the packets before: the next one begins anew.
    func reset() { avcodec_flush_buffers(context) }
}
