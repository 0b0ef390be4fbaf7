/// Packets of nothing, which need no encoder (`Protocols/airplay/README.md`, “Audio”).
public enum RAOPSilence {
    /// Of 16 bits for PCM, of the format's own depth for Apple Lossless.
    public static func payload(_ codec: RAOPSessionDescription.Codec, frames: Int) -> [UInt8] {
        switch codec {
        case .l16(_, let channels): return [UInt8](repeating: 0, count: frames * channels * 2)
        case .appleLossless(let format):
            // An element of two channels (001, then 4 bits of instance and 12 unused), with the frame's length left out,
            // nothing shifted, marked as uncompressed; the samples; and the end tag 111.
            let header: UInt32 = 0b001_0000_00000000_0000_0_00_1
            let (headerBits, endBits) = (23, 3)
            let sampleBits = frames * format.channels * format.bitDepth
            var bytes = [UInt8](repeating: 0, count: (headerBits + sampleBits + endBits + 7) / 8)
            for bit in 0..<headerBits where header >> UInt32(headerBits - 1 - bit) & 1 == 1 {
                bytes[bit / 8] |= 0x80 >> UInt8(bit % 8)
            }
            for bit in (headerBits + sampleBits)..<(headerBits + sampleBits + endBits) {
                bytes[bit / 8] |= 0x80 >> UInt8(bit % 8)
            }
            return bytes
        }
    }
}
