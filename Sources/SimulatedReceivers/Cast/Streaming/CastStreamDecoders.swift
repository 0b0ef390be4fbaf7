import CAVCodec

/// Opus at 48 kHz to interleaved 16-bit stereo.
final class CastOpusDecoder {
    private let decoder: AVDecoder

    /// Nil when libavcodec has no Opus decoder.
    init?(channels: Int) {
        let codec = avcodec_find_decoder_by_name("libopus") ?? avcodec_find_decoder(AV_CODEC_ID_OPUS)
        let made = AVDecoder(codec) { context in
            context.pointee.sample_rate = 48_000
            av_channel_layout_default(&context.pointee.ch_layout, Int32(channels))
        }
        guard let made else { return nil }
        decoder = made
    }

    /// Nil when the payload is damaged.
    func decode(_ payload: [UInt8]) -> [Int16]? {
        var samples: [Int16] = []
        var isReadable = true
        let isWhole = decoder.decode(payload) { frame in
            guard let part = Self.samples(frame) else { return isReadable = false }
            samples += part
        }
        return isWhole && isReadable && !samples.isEmpty ? samples : nil
    }

    private static func samples(_ frame: AVFrame) -> [Int16]? {
        let count = Int(frame.nb_samples)
        let channels = Int(frame.ch_layout.nb_channels)
        guard count > 0, (1...2).contains(channels), let first = frame.data.0 else { return nil }
        let second = channels == 2 ? frame.data.1 : frame.data.0
        var samples = [Int16](repeating: 0, count: count * 2)
        func planes<Sample>(_ type: Sample.Type, isPlanar: Bool, _ convert: (Sample) -> Int16) -> Bool {
            let left = UnsafeRawPointer(first).assumingMemoryBound(to: type)
            guard isPlanar else {
                for index in 0..<count {
                    samples[2 * index] = convert(left[index * channels])
                    samples[2 * index + 1] = convert(left[index * channels + channels - 1])
                }
                return true
            }
            guard let right = second.map({ UnsafeRawPointer($0).assumingMemoryBound(to: type) }) else { return false }
            for index in 0..<count {
                samples[2 * index] = convert(left[index])
                samples[2 * index + 1] = convert(right[index])
            }
            return true
        }
        func whole(_ value: Float) -> Int16 {
            value.isFinite ? Int16(max(-32_768, min(32_767, (value * 32_768).rounded()))) : 0
        }
        let isDone =
            switch AVSampleFormat(frame.format) {
            case AV_SAMPLE_FMT_S16: planes(Int16.self, isPlanar: false) { $0 }
            case AV_SAMPLE_FMT_S16P: planes(Int16.self, isPlanar: true) { $0 }
            case AV_SAMPLE_FMT_FLT: planes(Float.self, isPlanar: false, whole)
            case AV_SAMPLE_FMT_FLTP: planes(Float.self, isPlanar: true, whole)
            default: false
            }
        return isDone ? samples : nil
    }
}

/// What is kept of a decoded picture: its size, and a small view of it.
struct CastPicture: Sendable, Hashable {
    struct Colour: Sendable, Hashable {
        var red: Int
        var green: Int
        var blue: Int
    }

    /// Of the picture as it was sent.
    var width: Int
    var height: Int
    /// Of the view, as the others.
    var mean: Colour
    /// In the middle, where nothing of a frame around the picture is.
    var middle: Colour
    var viewWidth: Int
    var viewHeight: Int
    /// Three bytes for each pixel, row by row.
    var pixels: [UInt8]

    /// The view as a portable pixmap.
    var ppm: [UInt8] { Array("P6\n\(viewWidth) \(viewHeight)\n255\n".utf8) + pixels }
}

/// VP8 or H.264 to pictures.
final class CastVideoDecoder {
    /// What a picture may have, so that a sender cannot make us allocate without limit: 4K.
    static let maximumPixels: Int64 = 4_096 * 2_304
    static let maximumViewWidth = 120

    private let decoder: AVDecoder

    /// Nil when libavcodec has no such decoder.
    init?(codec: String) {
        let id: AVCodecID
        switch codec {
        case "vp8": id = AV_CODEC_ID_VP8
        case "h264": id = AV_CODEC_ID_H264
        default: return nil
        }
        let made = AVDecoder(avcodec_find_decoder(id)) { context in
            context.pointee.max_pixels = Self.maximumPixels
            // Without B frames nothing needs to be held back.
            context.pointee.flags |= Int32(AV_CODEC_FLAG_LOW_DELAY)
        }
        guard let made else { return nil }
        decoder = made
    }

    /// The last picture that comes of a frame; nil when it is damaged, or shows nothing.
    func decode(_ payload: [UInt8]) -> CastPicture? {
        var picture: CastPicture?
        guard decoder.decode(payload, { picture = Self.picture($0) ?? picture }) else { return nil }
        return picture
    }

    /// Every so many pixels only, at most `viewWidth` in a row: whole pictures would keep a debug build busy.
    ///
    /// From YUV with half the colour resolution, in the limited range of television (ITU-R BT.601).
    private static func picture(_ frame: AVFrame) -> CastPicture? {
        let (width, height) = (Int(frame.width), Int(frame.height))
        guard width > 0, height > 0,
            frame.format == AV_PIX_FMT_YUV420P.rawValue || frame.format == AV_PIX_FMT_YUVJ420P.rawValue,
            let y = frame.data.0, let u = frame.data.1, let v = frame.data.2
        else { return nil }
        let isFull = frame.format == AV_PIX_FMT_YUVJ420P.rawValue
        let (lineY, lineU, lineV) = (Int(frame.linesize.0), Int(frame.linesize.1), Int(frame.linesize.2))
        // In 1/65,536.
        let (scale, black) = isFull ? (65_536, 0) : (76_309, 16)
        let (redRed, greenBlue, greenRed, blueBlue) =
            isFull ? (91_881, 22_554, 46_802, 116_130) : (104_597, 25_675, 53_279, 132_201)
        let step = max(
            1, (width + maximumViewWidth - 1) / maximumViewWidth, (height + maximumViewWidth - 1) / maximumViewWidth)
        let rows = Array(stride(from: step / 2, to: height, by: step))
        let columns = Array(stride(from: step / 2, to: width, by: step))
        guard !rows.isEmpty, !columns.isEmpty else { return nil }
        var pixels: [UInt8] = []
        pixels.reserveCapacity(rows.count * columns.count * 3)
        var sum = CastPicture.Colour(red: 0, green: 0, blue: 0)
        var middle = sum
        for row in rows {
            for column in columns {
                let luma = (Int(y[row * lineY + column]) - black) * scale
                let blue = Int(u[row / 2 * lineU + column / 2]) - 128
                let red = Int(v[row / 2 * lineV + column / 2]) - 128
                let colour = CastPicture.Colour(
                    red: clamped(luma + redRed * red), green: clamped(luma - greenBlue * blue - greenRed * red),
                    blue: clamped(luma + blueBlue * blue))
                pixels += [UInt8(colour.red), UInt8(colour.green), UInt8(colour.blue)]
                sum.red += colour.red
                sum.green += colour.green
                sum.blue += colour.blue
                if row == rows[rows.count / 2], column == columns[columns.count / 2] { middle = colour }
            }
        }
        let count = rows.count * columns.count
        return CastPicture(
            width: width, height: height,
            mean: CastPicture.Colour(red: sum.red / count, green: sum.green / count, blue: sum.blue / count),
            middle: middle, viewWidth: columns.count, viewHeight: rows.count, pixels: pixels)
    }

    private static func clamped(_ value: Int) -> Int { min(255, max(0, (value + 32_768) >> 16)) }
}
