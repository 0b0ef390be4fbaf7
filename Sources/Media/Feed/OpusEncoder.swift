import CAVCodec
import RouteModel

/// Encodes stereo at 48,000 Hz to Opus, packet after packet: each needs the ones before it to sound right, so that a
/// packet out of turn is preceded by one that nobody gets.
///
/// libavcodec in process with libopus, as `ALACEncoder` and for the same reasons. Not to be used from two tasks at
/// once.
final class OpusEncoder: PacketEncoder {
    static let sampleRate = 48_000
    /// Frames of 2.5 to 60 ms, as Opus has them.
    static let packetSizes: Set<Int> = [120, 240, 480, 960, 1920, 2880]
    /// Bits per second.
    static let bitRates = 6_000...510_000
    static let defaultBitRate = 192_000

    let framesPerPacket: Int
    /// Frames by which the decoded sound is later than what was encoded.
    let delay: Int
    let history = 1
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var packet: UnsafeMutablePointer<AVPacket>?

    /// - Parameter framesPerPacket: one of `packetSizes`.
    init(framesPerPacket: Int, bitRate: Int) throws {
        try CodecLibrary.check()
        self.framesPerPacket = framesPerPacket
        guard Self.packetSizes.contains(framesPerPacket), Self.bitRates.contains(bitRate),
            let codec = avcodec_find_encoder_by_name("libopus"), let context = avcodec_alloc_context3(codec)
        else { throw Self.failure("libavcodec has no Opus encoder (libopus)") }
        self.context = context
        context.pointee.sample_rate = Int32(Self.sampleRate)
        context.pointee.sample_fmt = AV_SAMPLE_FMT_FLT
        context.pointee.bit_rate = Int64(bitRate)
        av_channel_layout_default(&context.pointee.ch_layout, 2)
        var options: OpaquePointer?
        av_dict_set(&options, "frame_duration", String(Double(framesPerPacket) * 1000 / Double(Self.sampleRate)), 0)
        let opened = avcodec_open2(context, codec, &options)
        av_dict_free(&options)
        delay = Int(context.pointee.initial_padding)
        guard opened >= 0, let frame = av_frame_alloc(), let packet = av_packet_alloc() else {
            close()
            throw Self.failure("libavcodec's Opus encoder does not open")
        }
        self.frame = frame
        self.packet = packet
        frame.pointee.format = AV_SAMPLE_FMT_FLT.rawValue
        frame.pointee.nb_samples = Int32(framesPerPacket)
        frame.pointee.sample_rate = Int32(Self.sampleRate)
        av_channel_layout_default(&frame.pointee.ch_layout, 2)
        guard av_frame_get_buffer(frame, 0) >= 0 else {
            close()
            throw Self.failure("out of memory")
        }
    }

    deinit { close() }

    private func close() {
        // Closed with something left in it, the encoder complains on standard error.
        if let context, let packet, avcodec_send_frame(context, nil) >= 0 {
            while avcodec_receive_packet(context, packet) >= 0 { av_packet_unref(packet) }
        }
        av_packet_free(&packet)
        av_frame_free(&frame)
        avcodec_free_context(&context)
    }

    func encode(
        _ fill: (_ left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>, _ stride: Int) -> Void
    ) throws -> [UInt8]? {
        guard let context, let frame, let packet, av_frame_make_writable(frame) >= 0,
            let plane = frame.pointee.data.0
        else { throw Self.failure("the encoder is closed") }
        plane.withMemoryRebound(to: Float.self, capacity: framesPerPacket * 2) { fill($0, $0 + 1, 2) }
        guard avcodec_send_frame(context, frame) >= 0, avcodec_receive_packet(context, packet) >= 0 else {
            throw Self.failure("the Opus encoder refused a packet")
        }
        defer { av_packet_unref(packet) }
        return Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }

    private static func failure(_ message: String) -> RouterError { RouterError(.internal, message, scope: .item) }
}
