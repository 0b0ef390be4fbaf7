import RouteModel

/// FLAC's metadata blocks (RFC 9639, section 8).
enum FLACTags {
    private static let maximumBlocks = 128
    private static let maximumComment = 1 << 20

    static func read(size: Int64, _ bytes: QuickFacts.Bytes) -> QuickFacts? {
        guard bytes(0, 4) == Array("fLaC".utf8) else { return nil }
        var at: Int64 = 4
        var fields = TagFields()
        var duration: MediaTime?
        var hasPicture = false
        var hasStreamInformation = false
        for _ in 0..<maximumBlocks {
            guard let head = bytes(at, 4), head.count == 4 else { return nil }
            let length = Int(head[1]) << 16 | Int(head[2]) << 8 | Int(head[3])
            guard at + 4 + Int64(length) <= size else { return nil }
            switch head[0] & 0x7F {
            case 0:
                guard length == 34, let block = bytes(at + 4, 34), block.count == 34 else { return nil }
                let rate = Int(block[10]) << 12 | Int(block[11]) << 4 | Int(block[12]) >> 4
                let samples = Int64(block[13] & 0x0F) << 32 | block[14..<18].reduce(0) { $0 << 8 | Int64($1) }
                guard rate > 0 else { return nil }
                hasStreamInformation = true
                if samples > 0 { duration = MediaTime(seconds: Double(samples) / Double(rate)) }
            case 4:
                guard length <= maximumComment, let block = bytes(at + 4, length), block.count == length else {
                    return nil
                }
                comments(block, into: &fields)
            case 6: hasPicture = true
            case 127: return nil
            default: break
            }
            at += 4 + Int64(length)
            if head[0] & 0x80 != 0 {
                guard hasStreamInformation else { return nil }
                return QuickFacts(
                    contentType: "audio/flac", fields: fields, duration: duration, hasPicture: hasPicture)
            }
        }
        return nil
    }

    /// A list of `NAME=value`, each behind its length, little-endian. What is cut off is left out.
    static func comments(_ block: [UInt8], into fields: inout TagFields) {
        func length(_ at: Int) -> Int? {
            guard at + 4 <= block.count else { return nil }
            return block[at..<at + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        guard let vendor = length(0), let count = length(4 + vendor) else { return }
        var at = 8 + vendor
        for _ in 0..<min(count, 1000) {
            guard let size = length(at), at + 4 + size <= block.count else { return }
            let entry = block[at + 4..<at + 4 + size]
            if let equals = entry.firstIndex(of: UInt8(ascii: "=")) {
                fields.add(
                    String(decoding: entry[..<equals], as: UTF8.self),
                    String(decoding: entry[(equals + 1)...], as: UTF8.self))
            }
            at += 4 + size
        }
    }
}
