import CAVCodec

/// Decodes ALAC packets of 352 frames with libavcodec and a cookie written by hand, as a receiver does.
final class ALACDecoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var packet: UnsafeMutablePointer<AVPacket>?

    init?() {
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_ALAC), let context = avcodec_alloc_context3(codec) else {
            return nil
        }
        self.context = context
        frame = av_frame_alloc()
        packet = av_packet_alloc()
        // fmtp 352 0 16 40 10 14 2 255 0 0 44100, in the shape of the `alac` atom.
        var cookie: [UInt8] = [0, 0, 0, 36] + Array("alac".utf8) + [0, 0, 0, 0]
        cookie += [0, 0, 0x01, 0x60, 0, 16, 40, 10, 14, 2, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xAC, 0x44]
        let memory = av_mallocz(cookie.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))!
        memory.copyMemory(from: cookie, byteCount: cookie.count)
        context.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        context.pointee.extradata_size = Int32(cookie.count)
        context.pointee.sample_rate = 44_100
        av_channel_layout_default(&context.pointee.ch_layout, 2)
        guard avcodec_open2(context, codec, nil) >= 0 else { return nil }
    }

    deinit {
        av_packet_free(&packet)
        av_frame_free(&frame)
        avcodec_free_context(&context)
    }

    /// Little-endian 16-bit stereo, or nil for what is no packet.
    func decode(_ payload: [UInt8]) -> [UInt8]? {
        guard av_new_packet(packet, Int32(payload.count)) >= 0 else { return nil }
        defer { av_packet_unref(packet) }
        packet!.pointee.data.update(from: payload, count: payload.count)
        guard avcodec_send_packet(context, packet) >= 0, avcodec_receive_frame(context, frame) >= 0 else { return nil }
        let count = Int(frame!.pointee.nb_samples)
        var bytes: [UInt8] = []
        for index in 0..<count {
            for plane in [frame!.pointee.data.0!, frame!.pointee.data.1!] {
                bytes.append(plane[2 * index])
                bytes.append(plane[2 * index + 1])
            }
        }
        return bytes
    }
}
