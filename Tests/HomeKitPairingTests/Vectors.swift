import Foundation
import Testing

@testable import HomeKitPairing

/// `Protocols/pairing/vectors/vectors.json`, derived by the script beside it.
struct Vectors: Decodable {
    struct SRP: Decodable, CustomTestStringConvertible, Sendable {
        var name, group, user, password, salt, a, b, A, B, S, K, M1, M2: String
        var testDescription: String { "\(group), \(name)" }
    }

    struct Setup: Decodable {
        var controller, controllerSeed, accessory, accessoryKey, pin, a, secret, m1, m2, m3, m4, m5, m6: String
    }

    struct Transient: Decodable { var a, secret, m1, m2, m3, m4: String }

    struct Verify: Decodable {
        var controller, controllerSeed, accessory, accessoryKey, exchangeSecret, secret, m1, m2, m3, m4: String
    }

    struct Channel: Decodable { var secret, controllerWrites, accessoryWrites, plain, frames: String }

    struct Channels: Decodable { var control, events, dataStream: Channel }

    struct LegacySetup: Decodable {
        struct Sealed: Decodable { var epk, authTag: String }
        var user, pin, controllerSeed, accessoryKey, a, salt, B, A, M1, M2: String
        var controllerKey, accessoryKeySealed: Sealed
        var lastByteOfVector: Int
    }

    struct LegacyVerify: Decodable {
        var controllerSeed, accessoryKey, exchangeSecret, secret, request1, answer1, request2: String
    }

    var srp: [SRP]
    var setup: Setup
    var transient: Transient
    var verify: Verify
    var channels: Channels
    var legacySetup, legacySetupWrapping: LegacySetup
    var legacyVerify: LegacyVerify

    /// Read once; every test says by its first use if they are not there.
    static let all: Vectors? = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Protocols/pairing/vectors/vectors.json")
        guard let data = try? Data(contentsOf: file) else { return nil }
        return try? JSONDecoder().decode(Vectors.self, from: data)
    }()

    static func load() throws -> Vectors { try #require(all, "Protocols/pairing/vectors/vectors.json is unreadable") }
}

func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func octets(_ hex: String) -> PairingAnswer { PairingAnswer(body: .octets(bytes(hex))) }

func answer(_ items: TLV8.Item...) -> PairingAnswer { PairingAnswer(body: .octets(TLV8(items).encoded())) }

extension PairingAnswer {
    /// The same message with one item changed; taken away by nil.
    func changing(_ tag: TLV8.Tag, _ change: ([UInt8]) -> [UInt8]?) throws -> PairingAnswer {
        guard case .octets(let bytes) = body else { return self }
        var message = try TLV8(parsing: bytes)
        message.items = message.items.compactMap { item in
            guard item.tag == tag else { return item }
            return change(item.value).map { TLV8.Item(tag, $0) }
        }
        return PairingAnswer(status: status, body: .octets(message.encoded()))
    }
}

func flipped(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes[bytes.count / 2] ^= 1
    return bytes
}
