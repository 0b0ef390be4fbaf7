import CAVCodec
import RouteModel

/// Encodes stereo to Apple Lossless packets, each decodable by itself.
///
/// libavcodec in process, because the `ffmpeg` program cuts ALAC only at 4,096 frames (`Protocols/airplay`: receivers
/// of RAOP take 352). Only samples that we made ourselves come here; hostile files stay in the subprocess.
///
/// Not to be used from two tasks at once.
final class ALACEncoder {
    static let bitDepths: Set<Int> = [16, 24]

    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private let framesPerPacket: Int
    private let bitDepth: Int

    /// - Parameters:
    ///   - framesPerPacket: 1 to 4,096.
    ///   - bitDepth: one of `bitDepths`.
    init(sampleRate: Int, framesPerPacket: Int, bitDepth: Int) throws {
        try CodecLibrary.check()
        self.framesPerPacket = framesPerPacket
        self.bitDepth = bitDepth
        guard (1...4096).contains(framesPerPacket), Self.bitDepths.contains(bitDepth),
            let codec = avcodec_find_encoder(AV_CODEC_ID_ALAC), let context = avcodec_alloc_context3(codec)
        else { throw Self.failure("libavcodec has no ALAC encoder") }
        self.context = context
        let format = bitDepth == 16 ? AV_SAMPLE_FMT_S16P : AV_SAMPLE_FMT_S32P
        context.pointee.sample_rate = Int32(sampleRate)
        context.pointee.sample_fmt = format
        context.pointee.bits_per_raw_sample = Int32(bitDepth)
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
        frame.pointee.format = format.rawValue
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

    /// One packet of `framesPerPacket` frames; `fill` writes each channel's samples, 32-bit in the host's order, of which
    /// the packet has the upper 16 or 24 bits, rounded.
    func encode(_ fill: (_ left: UnsafeMutablePointer<Int32>, _ right: UnsafeMutablePointer<Int32>) -> Void) throws
        -> [UInt8]
    {
        guard let context, let frame, let packet, av_frame_make_writable(frame) >= 0 else {
            throw Self.failure("the encoder is closed")
        }
        // The planes are the first two of `data`, which Swift sees as a tuple.
        guard let left = frame.pointee.data.0, let right = frame.pointee.data.1 else {
            throw Self.failure("the frame has no planes")
        }
        let count = framesPerPacket
        if bitDepth == 16 {
            withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count) { both in
                guard let base = both.baseAddress else { return }
                fill(base, base + count)
                for (plane, samples) in [(left, base), (right, base + count)] {
                    plane.withMemoryRebound(to: Int16.self, capacity: count) { plane in
                        for index in 0..<count { plane[index] = PCM.int16(samples[index]) }
                    }
                }
            }
        } else {
            left.withMemoryRebound(to: Int32.self, capacity: count) { left in
                right.withMemoryRebound(to: Int32.self, capacity: count) { right in
                    fill(left, right)
                    for plane in [left, right] {
                        for index in 0..<count { plane[index] = PCM.int24(plane[index]) }
                    }
                }
            }
        }
        guard avcodec_send_frame(context, frame) >= 0, avcodec_receive_packet(context, packet) >= 0 else {
            throw Self.failure("the ALAC encoder refused a packet")
        }
        defer { av_packet_unref(packet) }
        return Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }

    private static func failure(_ message: String) -> RouterError { RouterError(.internal, message, scope: .item) }
}

/// Samples of a feed, 32-bit, in fewer bits: rounded, and a sample that had no more bits is unchanged. Dither is left to
/// whoever made the sound: what is 16-bit already must stay as it is.
enum PCM {
    static func int16(_ sample: Int32) -> Int16 {
        Int16(truncatingIfNeeded: (min(sample, 0x7FFF_7FFF) &+ 0x8000) >> 16)
    }

    /// In the upper 24 bits.
    static func int24(_ sample: Int32) -> Int32 { (min(sample, 0x7FFF_FF7F) &+ 0x80) & ~0xFF }

    /// -1 to 1.
    static func float(_ sample: Int32) -> Float { Float(sample) * 0x1p-31 }

    static func int32(_ sample: Float) -> Int32 {
        guard sample < 1 else { return .max }
        return Int32(max(-1, sample) * 0x1p31)
    }
}
