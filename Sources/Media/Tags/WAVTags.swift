import RouteModel

/// The chunks of a RIFF WAVE file: form, length, and the `INFO` list.
enum WAVTags {
    private static let maximumChunks = 64
    private static let maximumList = 64 << 10
    private static let names = [
        "INAM": "TITLE", "IART": "ARTIST", "IPRD": "ALBUM", "IGNR": "GENRE", "ICRD": "DATE", "ITRK": "TRACKNUMBER",
        "IPRT": "TRACKNUMBER",
    ]

    static func read(size: Int64, _ bytes: QuickFacts.Bytes) -> QuickFacts? {
        guard let head = bytes(0, 12), head.count == 12, head.starts(with: "RIFF".utf8),
            Array(head[8...]) == Array("WAVE".utf8)
        else { return nil }
        var at: Int64 = 12
        var fields = TagFields()
        var bytesPerSecond = 0
        var dataLength: Int64?
        for _ in 0..<maximumChunks {
            guard let head = bytes(at, 8), head.count == 8 else { break }
            let length = Int64(little(head[4..<8]))
            switch String(decoding: head[..<4], as: UTF8.self) {
            case "fmt ":
                // Plain samples only: what else may be inside, a probe tells.
                guard let form = bytes(at + 8, 16), form.count == 16, [1, 0xFFFE].contains(little(form[0..<2])) else {
                    return nil
                }
                bytesPerSecond = little(form[8..<12])
            case "data": dataLength = min(length, size - at - 8)
            case "LIST" where length <= maximumList:
                if let list = bytes(at + 8, Int(length)), list.starts(with: "INFO".utf8) {
                    information(list, into: &fields)
                }
            case "id3 ", "ID3 ": return nil
            default: break
            }
            at += 8 + length + length % 2
            if at >= size { break }
        }
        guard bytesPerSecond > 0, let dataLength, dataLength > 0 else { return nil }
        return QuickFacts(
            contentType: "audio/wav", fields: fields,
            duration: MediaTime(seconds: Double(dataLength) / Double(bytesPerSecond)), hasPicture: false)
    }

    private static func little(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }

    private static func information(_ list: [UInt8], into fields: inout TagFields) {
        var at = 4
        while at + 8 <= list.count {
            let length = little(list[at + 4..<at + 8])
            guard length <= list.count - at - 8 else { return }
            if let name = names[String(decoding: list[at..<at + 4], as: UTF8.self)] {
                fields.add(name, String(decoding: list[at + 8..<at + 8 + length].prefix { $0 != 0 }, as: UTF8.self))
            }
            at += 8 + length + length % 2
        }
    }
}
