import RouteBackend

extension ImageFacts {
    /// By what stands in the file, not by what somebody calls it; nil for other kinds, and where the size is missing.
    init?(_ bytes: [UInt8]) {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            guard let size = Self.jpegSize(bytes) else { return nil }
            self.init(.jpeg, size)
        } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            guard bytes.count >= 24, Array(bytes[12..<16]) == Array("IHDR".utf8) else { return nil }
            self.init(.png, (Self.big(bytes, 16, 4), Self.big(bytes, 20, 4)))
        } else if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) {
            guard bytes.count >= 10 else { return nil }
            self.init(.gif, (Self.little(bytes, 6, 2), Self.little(bytes, 8, 2)))
        } else if bytes.starts(with: "RIFF".utf8), bytes.count >= 30, Array(bytes[8..<12]) == Array("WEBP".utf8) {
            guard let size = Self.webPSize(bytes) else { return nil }
            self.init(.webp, size)
        } else {
            return nil
        }
    }

    private init?(_ kind: Kind, _ size: (width: Int, height: Int)) {
        guard (1...65_535).contains(size.width), (1...65_535).contains(size.height) else { return nil }
        self.init(kind: kind, width: size.width, height: size.height)
    }

    private static func big(_ bytes: [UInt8], _ at: Int, _ count: Int) -> Int {
        bytes[at..<at + count].reduce(0) { $0 << 8 | Int($1) }
    }

    private static func little(_ bytes: [UInt8], _ at: Int, _ count: Int) -> Int {
        bytes[at..<at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Of the frame header (ITU-T T.81, B.2.2), behind segments of any number.
    private static func jpegSize(_ bytes: [UInt8]) -> (Int, Int)? {
        var at = 2
        while at + 9 <= bytes.count {
            guard bytes[at] == 0xFF else { return nil }
            let marker = bytes[at + 1]
            // Fill bytes, and markers that stand alone.
            if marker == 0xFF {
                at += 1
                continue
            }
            if marker == 0x01 || (0xD0...0xD7).contains(marker) {
                at += 2
                continue
            }
            let length = big(bytes, at + 2, 2)
            guard length >= 2 else { return nil }
            if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                return (big(bytes, at + 7, 2), big(bytes, at + 5, 2))
            }
            at += 2 + length
        }
        return nil
    }

    /// Lossy, lossless or extended (RFC 9649, section 2).
    private static func webPSize(_ bytes: [UInt8]) -> (Int, Int)? {
        switch String(decoding: bytes[12..<16], as: UTF8.self) {
        case "VP8 ": return (little(bytes, 26, 2) & 0x3FFF, little(bytes, 28, 2) & 0x3FFF)
        case "VP8L":
            guard bytes[20] == 0x2F else { return nil }
            let bits = little(bytes, 21, 4)
            return ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case "VP8X": return (little(bytes, 24, 3) + 1, little(bytes, 27, 3) + 1)
        default: return nil
        }
    }
}
