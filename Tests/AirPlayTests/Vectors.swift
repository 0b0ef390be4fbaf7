import Foundation

/// `Protocols/airplay/vectors/vectors.json`, derived by the script beside it.
struct Vectors: Decodable {
    struct Digest: Decodable {
        var user, realm, password, nonce, method, uri, response: String
        var uppercase: Bool
    }

    struct AES: Decodable {
        struct Case: Decodable { var plain, cipher: String }
        var key, iv: String
        var cases: [Case]
    }

    struct Audio: Decodable {
        var key, header, plain, packet: String
        var number: UInt64
    }

    var digest: [Digest]
    var aes: AES
    var audio: [Audio]
    /// Binary property lists by name.
    var lists: [String: String]

    static func load() throws -> Vectors {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appendingPathComponent("Protocols/airplay/vectors/vectors.json")
        return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
    }
}

func bytes(hex: String) -> [UInt8] {
    let digits = Array(hex.filter { !$0.isWhitespace })
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(String(digits[$0...($0 + 1)]), radix: 16)! }
}
