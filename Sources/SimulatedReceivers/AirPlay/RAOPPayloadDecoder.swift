import AirPlay
import CAVCodec
import COpenSSL

/// Turns the payload of one audio packet into interleaved 16-bit stereo: decrypts, then decodes.
///
/// Packets of both codecs stand for themselves, so that a lost one harms no other. Belongs to the one actor that plays.
final class RAOPPayloadDecoder {
    enum Failure: Error, Hashable {
        /// Not 16-bit 44.1 kHz stereo, or the decoder is missing.
        case unsupportedFormat
        /// The stream's key was not wrapped for this receiver.
        case foreignKey
    }

    static let sampleRate = 44_100
    static let channels = 2

    private enum Codec { case pcm, appleLossless(AppleLosslessDecoder) }

    private let codec: Codec
    private let cipher: StreamCipher?

    init(_ description: RAOPSessionDescription, key: RAOPServerKey?) throws(Failure) {
        switch description.codec {
        case .l16(let sampleRate, let channels):
            guard sampleRate == Self.sampleRate, channels == Self.channels else { throw .unsupportedFormat }
            codec = .pcm
        case .appleLossless(let format):
            guard format.sampleRate == Self.sampleRate, format.channels == Self.channels, format.bitDepth == 16,
                let decoder = AppleLosslessDecoder(format)
            else { throw .unsupportedFormat }
            codec = .appleLossless(decoder)
        }
        if let encryption = description.encryption {
            guard let streamKey = key?.unwrap(encryption.encryptedKey), streamKey.count == 16 else {
                throw .foreignKey
            }
            cipher = StreamCipher(key: streamKey, initialVector: encryption.initialVector)
        } else {
            cipher = nil
        }
    }

    /// Nil when the payload is damaged.
    func decode(_ payload: [UInt8]) -> [Int16]? {
        let plain = cipher?.decrypt(payload) ?? payload
        switch codec {
        case .pcm:
            guard plain.count.isMultiple(of: 4), !plain.isEmpty else { return nil }
            return stride(from: 0, to: plain.count, by: 2).map {
                Int16(bitPattern: UInt16(plain[$0]) << 8 | UInt16(plain[$0 + 1]))
            }
        case .appleLossless(let decoder): return decoder.decode(plain)
        }
    }
}

/// AES-128-CBC as RAOP uses it: each packet begins with the same vector, and what is left of a block stays clear.
private struct StreamCipher {
    var key: [UInt8]
    var initialVector: [UInt8]

    func decrypt(_ payload: [UInt8]) -> [UInt8]? {
        let whole = payload.count / 16 * 16
        guard whole > 0 else { return payload }
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        var plain = payload
        var count: Int32 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_128_cbc(), nil, key, initialVector) == 1,
            EVP_CIPHER_CTX_set_padding(context, 0) == 1,
            EVP_DecryptUpdate(context, &plain, &count, payload, Int32(whole)) == 1, count == whole
        else { return nil }
        return plain
    }
}

/// libavcodec's decoder, set up from the numbers of an `fmtp` line.
private final class AppleLosslessDecoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private var frame: UnsafeMutablePointer<AVFrame>?

    init?(_ format: RAOPSessionDescription.ALACFormat) {
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_ALAC), let context = avcodec_alloc_context3(codec) else {
            return nil
        }
        self.context = context
        packet = av_packet_alloc()
        frame = av_frame_alloc()
        let cookie = Self.cookie(format)
        guard let extra = av_mallocz(cookie.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else { return nil }
        extra.copyMemory(from: cookie, byteCount: cookie.count)
        context.pointee.extradata = extra.assumingMemoryBound(to: UInt8.self)
        context.pointee.extradata_size = Int32(cookie.count)
        av_channel_layout_default(&context.pointee.ch_layout, Int32(format.channels))
        context.pointee.sample_rate = Int32(format.sampleRate)
        guard packet != nil, frame != nil, avcodec_open2(context, codec, nil) == 0,
            context.pointee.sample_fmt == AV_SAMPLE_FMT_S16P
        else { return nil }
    }

    deinit {
        avcodec_free_context(&context)
        av_packet_free(&packet)
        av_frame_free(&frame)
    }

    func decode(_ bytes: [UInt8]) -> [Int16]? {
        guard let packet, let frame, !bytes.isEmpty, av_new_packet(packet, Int32(bytes.count)) == 0 else { return nil }
        packet.pointee.data.update(from: bytes, count: bytes.count)
        defer { av_packet_unref(packet) }
        guard avcodec_send_packet(context, packet) == 0, avcodec_receive_frame(context, frame) == 0 else {
            return nil
        }
        defer { av_frame_unref(frame) }
        let count = Int(frame.pointee.nb_samples)
        guard count > 0, let left = frame.pointee.data.0, let right = frame.pointee.data.1 else { return nil }
        return left.withMemoryRebound(to: Int16.self, capacity: count) { left in
            right.withMemoryRebound(to: Int16.self, capacity: count) { right in
                var samples = [Int16](repeating: 0, count: count * 2)
                for index in 0..<count {
                    samples[2 * index] = left[index]
                    samples[2 * index + 1] = right[index]
                }
                return samples
            }
        }
    }

    /// The decoder's configuration as a file would hold it: a box of 36 bytes.
    private static func cookie(_ format: RAOPSessionDescription.ALACFormat) -> [UInt8] {
        func big(_ number: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
        }
        return big(36, 4) + Array("alac".utf8) + big(0, 4) + big(format.framesPerPacket, 4)
            + big(format.compatibleVersion, 1) + big(format.bitDepth, 1) + big(format.riceHistoryMultiplier, 1)
            + big(format.riceInitialHistory, 1) + big(format.riceParameterLimit, 1) + big(format.channels, 1)
            + big(format.maximumRun, 2) + big(format.maximumFrameBytes, 4) + big(format.averageBitRate, 4)
            + big(format.sampleRate, 4)
    }
}
