import CastV2
import Foundation

/// `Protocols/cast/vectors/streaming/vectors.json`, derived by the script beside it.
struct StreamingVectors: Decodable {
    struct AES: Decodable {
        struct Case: Decodable {
            var frame: Int
            var plain, cipher: String
        }
        var key, mask: String
        var cases: [Case]
    }

    var aes: AES
    var rtp, badRTP, rtcp, otherRTCP, badRTCP: [String: String]
    var unknownExtension: String

    static let all: StreamingVectors = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Protocols/cast/vectors/streaming/vectors.json")
        do {
            return try JSONDecoder().decode(StreamingVectors.self, from: Data(contentsOf: file))
        } catch {
            fatalError("\(file.path()): \(error)")
        }
    }()

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
        }
    }
}
