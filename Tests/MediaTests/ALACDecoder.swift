import CAVCodec

/// Decodes ALAC packets of 352 frames with libavcodec and a cookie written by hand, as a receiver does.
final class ALACDecoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var packet: UnsafeMutablePointer<AVPacket>?

    init?(bitDepth: UInt8 = 16, sampleRate: UInt32 = 44_100) {
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_ALAC), let context = avcodec_alloc_context3(codec) else {
            return nil
        }
        self.context = context
        frame = av_frame_alloc()
        packet = av_packet_alloc()
        // fmtp 352 0 16 40 10 14 2 255 0 0 44100, in the shape of the `alac` atom.
        var cookie: [UInt8] = [0, 0, 0, 36] + Array("alac".utf8) + [0, 0, 0, 0]
        cookie += [0, 0, 0x01, 0x60, 0, bitDepth, 40, 10, 14, 2, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0]
        cookie += (0..<4).reversed().map { UInt8(truncatingIfNeeded: sampleRate >> (8 * $0)) }
        let memory = av_mallocz(cookie.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))!
        memory.copyMemory(from: cookie, byteCount: cookie.count)
        context.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        context.pointee.extradata_size = Int32(cookie.count)
        context.pointee.sample_rate = Int32(sampleRate)
        av_channel_layout_default(&context.pointee.ch_layout, 2)
        guard avcodec_open2(context, codec, nil) >= 0 else { return nil }
    }

    deinit {
        av_packet_free(&packet)
        av_frame_free(&frame)
        avcodec_free_context(&context)
    }

    /// Interleaved samples in the upper bits of 32, or nil for what is no packet.
    func samples(_ payload: [UInt8]) -> [Int32]? {
        guard let frame = decodedFrame(payload) else { return nil }
        let count = Int(frame.pointee.nb_samples)
        guard let left = frame.pointee.data.0, let right = frame.pointee.data.1 else { return nil }
        let deep = frame.pointee.format == AV_SAMPLE_FMT_S32P.rawValue
        return (0..<count).flatMap { index in
            [left, right].map { plane in
                let raw = UnsafeRawPointer(plane)
                return deep
                    ? raw.load(fromByteOffset: 4 * index, as: Int32.self)
                    : Int32(raw.load(fromByteOffset: 2 * index, as: Int16.self)) << 16
            }
        }
    }

    private func decodedFrame(_ payload: [UInt8]) -> UnsafeMutablePointer<AVFrame>? {
        guard av_new_packet(packet, Int32(payload.count)) >= 0 else { return nil }
        defer { av_packet_unref(packet) }
        packet!.pointee.data.update(from: payload, count: payload.count)
        guard avcodec_send_packet(context, packet) >= 0, avcodec_receive_frame(context, frame) >= 0 else { return nil }
        return frame
    }

    /// Little-endian 16-bit stereo, or nil for what is no packet.
    func decode(_ payload: [UInt8]) -> [UInt8]? {
        samples(payload)?.flatMap { [UInt8(truncatingIfNeeded: $0 >> 16), UInt8(truncatingIfNeeded: $0 >> 24)] }
    }
}
