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

/// Apple Lossless of 16 or 24 bits, set up from the numbers of an `fmtp` line.
final class AppleLosslessDecoder {
    private let decoder: AVDecoder
    /// Bits of the 32 of a decoded sample that are below the lowest one of the format.
    private let spareBits: Int32

    /// Nil where libavcodec cannot decode it.
    init?(_ format: RAOPSessionDescription.ALACFormat) {
        let made = AVDecoder(avcodec_find_decoder(AV_CODEC_ID_ALAC), cookie: Self.cookie(format)) { context in
            av_channel_layout_default(&context.pointee.ch_layout, Int32(format.channels))
            context.pointee.sample_rate = Int32(format.sampleRate)
        }
        guard let made, let found = made.context?.pointee.sample_fmt,
            found == (format.bitDepth == 16 ? AV_SAMPLE_FMT_S16P : AV_SAMPLE_FMT_S32P)
        else { return nil }
        decoder = made
        spareBits = Int32(32 - format.bitDepth)
    }

    /// Of 16 bits. Nil when the packet is damaged.
    func decode(_ bytes: [UInt8]) -> [Int16]? { decode(bytes, Int16.self) { $0 } }

    /// Of any depth, as large as that allows. Nil when the packet is damaged.
    func decodeWide(_ bytes: [UInt8]) -> [Int32]? {
        guard spareBits < 16 else { return decode(bytes, Int16.self) { Int32($0) } }
        return decode(bytes, Int32.self) { $0 >> self.spareBits }
    }

    private func decode<Raw, Sample: FixedWidthInteger>(
        _ bytes: [UInt8], _ type: Raw.Type, _ convert: (Raw) -> Sample
    ) -> [Sample]? {
        var samples: [Sample] = []
        var isReadable = true
        let isWhole = decoder.decode(bytes) { frame in
            let count = Int(frame.nb_samples)
            guard count > 0, frame.ch_layout.nb_channels == 2, let left = frame.data.0, let right = frame.data.1 else {
                return isReadable = false
            }
            let first = UnsafeRawPointer(left).assumingMemoryBound(to: type)
            let second = UnsafeRawPointer(right).assumingMemoryBound(to: type)
            samples.reserveCapacity(count * 2)
            for index in 0..<count {
                samples.append(convert(first[index]))
                samples.append(convert(second[index]))
            }
        }
        return isWhole && isReadable && !samples.isEmpty ? samples : nil
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
