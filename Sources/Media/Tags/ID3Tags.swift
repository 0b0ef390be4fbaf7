import Foundation
import RouteModel

/// ID3 version 2.3 and 2.4 in front of MPEG audio, and the length from the first frame's `Xing` or `Info` header.
enum ID3Tags {
    private static let maximumFrames = 512
    private static let maximumText = 64 << 10
    private static let names = [
        "TIT2": "TITLE", "TIT3": "SUBTITLE", "TPE1": "ARTIST", "TPE2": "ALBUMARTIST", "TALB": "ALBUM",
        "TCOM": "COMPOSER", "TLAN": "LANGUAGE", "TRCK": "TRACKNUMBER", "TPOS": "DISCNUMBER", "TDRC": "DATE",
        "TYER": "YEAR",
    ]

    static func read(size: Int64, _ bytes: QuickFacts.Bytes) -> QuickFacts? {
        guard let head = bytes(0, 10), head.count == 10, head.starts(with: "ID3".utf8), [3, 4].contains(head[3]),
            // Unsynchronised or with an extended header: rare, and a probe's work.
            head[5] & 0xC0 == 0, let length = synchsafe(head[6..<10])
        else { return nil }
        let end = 10 + Int64(length)
        guard end < size else { return nil }
        var fields = TagFields()
        var hasPicture = false
        var at: Int64 = 10
        for _ in 0..<maximumFrames where at + 10 < end {
            guard let frame = bytes(at, 10), frame.count == 10, frame[0] != 0 else { break }
            let plain = frame[4..<8].reduce(0) { $0 << 8 | Int($1) }
            guard let size = head[3] == 4 ? synchsafe(frame[4..<8]) : plain, at + 10 + Int64(size) <= end else {
                return nil
            }
            let name = String(decoding: frame[..<4], as: UTF8.self)
            // Compressed, encrypted or unsynchronised.
            let isPlain = frame[9] & (head[3] == 4 ? 0x0F : 0xC0) == 0
            if name == "APIC" { hasPicture = true }
            if let field = names[name], isPlain, size > 1, size <= maximumText, let content = bytes(at + 10, size) {
                fields.add(field, values(content)[0])
            } else if name == "TXXX", isPlain, size > 1, size <= maximumText, let content = bytes(at + 10, size) {
                // A field that the writer names itself.
                let values = values(content)
                if values.count > 1, values[0].uppercased() == "ITUNESADVISORY" { fields.add(values[0], values[1]) }
            }
            at += 10 + Int64(size)
        }
        guard let first = bytes(end, 200), first.count == 200, let frame = MPEGFrame(first) else { return nil }
        return QuickFacts(
            contentType: "audio/mpeg", fields: fields, duration: frame.duration, hasPicture: hasPicture)
    }

    /// Seven bits to a byte; nil where an eighth is set.
    private static func synchsafe(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        return bytes.reduce(0) { $0 << 7 | Int($1) }
    }

    /// The values, at least one, in the encoding that the first byte names.
    private static func values(_ content: [UInt8]) -> [String] {
        let body = Array(content.dropFirst())
        var text: String
        switch content[0] {
        case 1, 2:
            let isBig = content[0] == 2 || body.starts(with: [0xFE, 0xFF])
            var units: [UInt16] = []
            for index in stride(from: 0, to: max(0, body.count - 1), by: 2) {
                let high = UInt16(body[isBig ? index : index + 1])
                units.append(high << 8 | UInt16(body[isBig ? index + 1 : index]))
            }
            text = String(decoding: units, as: UTF16.self)
        case 3: text = String(decoding: body, as: UTF8.self)
        default: text = String(String.UnicodeScalarView(body.map { UnicodeScalar($0) }))
        }
        return text.unicodeScalars.split(separator: "\0", maxSplits: 2, omittingEmptySubsequences: false).map { value in
            // Each may have a mark of its byte order.
            String(String.UnicodeScalarView(value.first == "\u{FEFF}" ? value.dropFirst() : value))
        }
    }
}

/// The header of a frame of MPEG audio layer III, with the count of frames that encoders leave in the first.
struct MPEGFrame: Sendable, Equatable {
    var duration: MediaTime?

    /// Nil for what is no such frame.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0, bytes[1] & 0x06 == 0x02 else { return nil }
        let version = bytes[1] >> 3 & 3
        let rateIndex = Int(bytes[2] >> 2 & 3)
        guard version != 1, rateIndex < 3, bytes[2] >> 4 != 15 else { return nil }
        let rate = [44_100, 48_000, 32_000][rateIndex] / (version == 3 ? 1 : version == 2 ? 2 : 4)
        let isMono = bytes[3] >> 6 == 3
        // Behind the side information, whose length depends on both.
        let at = 4 + (version == 3 ? (isMono ? 17 : 32) : (isMono ? 9 : 17))
        guard bytes.count >= at + 12 else { return }
        let name = Array(bytes[at..<at + 4])
        guard name == Array("Xing".utf8) || name == Array("Info".utf8), bytes[at + 7] & 1 == 1 else { return }
        let frames = bytes[at + 8..<at + 12].reduce(0) { $0 << 8 | Int64($1) }
        let samples = frames * (version == 3 ? 1152 : 576)
        if frames > 0 { duration = MediaTime(seconds: Double(samples) / Double(rate)) }
    }
}
