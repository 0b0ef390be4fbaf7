import COpenSSL
import HomeKitPairing

/// The receiver's side of SRP-6a (`Protocols/pairing/README.md`, “SRP”): what it offers, and what comes of the sender's
/// key. Written apart from the sender's side, on libcrypto's numbers.
struct SRPServer: Sendable {
    /// The group and the hash.
    enum Group: Sendable {
        /// RFC 5054's 3072-bit group with SHA-512.
        case homeKit
        /// RFC 5054's 2048-bit group with SHA-1, and a session key of two digests.
        case legacy

        fileprivate var prime: Number {
            switch self {
            // The same number that RFC 3526 has.
            case .homeKit: Number(taking: BN_get_rfc3526_prime_3072(nil))
            case .legacy: Number(Self.legacyPrime)
            }
        }
        fileprivate var generator: UInt8 { self == .homeKit ? 5 : 2 }
        /// Bytes of the prime.
        var length: Int { self == .homeKit ? 384 : 256 }
        /// Bytes of a digest, and so of a proof.
        var digestLength: Int { self == .homeKit ? 64 : 20 }

        fileprivate func digest(_ parts: [UInt8]...) -> [UInt8] {
            let bytes = parts.flatMap { $0 }
            return self == .homeKit ? PairingCrypto.sha512(bytes) : PairingCrypto.sha1(bytes)
        }

        fileprivate func padded(_ bytes: [UInt8]) -> [UInt8] {
            [UInt8](repeating: 0, count: length - bytes.count) + bytes
        }

        private static let legacyPrime: [UInt8] = {
            let digits = """
                AC6BDB41324A9A9BF166DE5E1389582FAF72B6651987EE07FC3192943DB56050A37329CBB4A099ED8193E0757767A13D
                D52312AB4B03310DCD7F48A9DA04FD50E8083969EDB767B0CF6095179A163AB3661A05FBD5FAAAE82918A9962F0B93B8
                55F97993EC975EEAA80D740ADBF4FF747359D041D5C33EA71D281E446B14773BCA97B43A23FB801676BD207A436C6481
                F1D2B9078717461A5B9D32E688F87748544523B524B0D57D5EA77A2775D2ECFA032CFBDBF52FB3786160279004E57AE6
                AF874E7303CE53299CCC041C7BC308D82A5698F3A8D0C38271AE35F8E9DBFBB694B5C803D89F7AE435DE236D525F5475
                9B65E372FCD68EF20FA7111F9E4AFF73
                """
            return digits.split(separator: "\n").flatMap { line in
                stride(from: 0, to: line.utf8.count, by: 2).compactMap { offset in
                    let start = line.index(line.startIndex, offsetBy: offset)
                    return UInt8(line[start..<line.index(start, offsetBy: 2)], radix: 16)
                }
            }
        }()
    }

    /// What both sides have once the sender's key came.
    struct Session: Sendable {
        /// 64 bytes, 40 of the older pairing. Secret.
        var key: [UInt8]
        /// What the sender has to prove that it has the same.
        var clientProof: [UInt8]
        /// And what the receiver proves it with.
        var serverProof: [UInt8]
    }

    let group: Group
    let salt: [UInt8]
    /// As an integer without leading zeros, so that one in 256 is shorter.
    let publicKey: [UInt8]
    private let user: String
    private let verifier: [UInt8]
    private let exponent: [UInt8]

    /// - Parameters:
    ///   - salt: 16 bytes.
    ///   - exponent: 32 random bytes.
    init(_ group: Group, user: String, password: String, salt: [UInt8], exponent: [UInt8]) {
        let prime = group.prime
        let generator = Number([group.generator])
        let x = group.digest(salt, group.digest(Array("\(user):\(password)".utf8)))
        let verifier = generator.power(Number(x), modulo: prime)
        let k = Number(group.digest(prime.bytes, group.padded([group.generator])))
        self.group = group
        self.salt = salt
        self.user = user
        self.verifier = verifier.bytes
        self.exponent = exponent
        publicKey =
            k.times(verifier, modulo: prime)
            .plus(generator.power(Number(exponent), modulo: prime), modulo: prime).bytes
    }

    /// - Parameter clientKey: A, big-endian, with or without leading zeros.
    /// - Returns: nil where the key is none: empty, longer than the prime, or zero in the group.
    func session(with clientKey: [UInt8]) -> Session? {
        guard !clientKey.isEmpty, clientKey.count <= group.length else { return nil }
        let prime = group.prime
        let client = Number(clientKey)
        guard !client.isZero(modulo: prime) else { return nil }
        let clientBytes = client.bytes
        let u = Number(group.digest(group.padded(clientBytes), group.padded(publicKey)))
        let shared = client.times(Number(verifier).power(u, modulo: prime), modulo: prime)
            .power(Number(exponent), modulo: prime).bytes
        let key =
            switch group {
            case .homeKit: group.digest(shared)
            case .legacy: group.digest(shared, [0, 0, 0, 0]) + group.digest(shared, [0, 0, 0, 1])
            }
        let mask = zip(group.digest(prime.bytes), group.digest([group.generator])).map { $0 ^ $1 }
        let clientProof = group.digest(mask, group.digest(Array(user.utf8)), salt, clientBytes, publicKey, key)
        return Session(
            key: key, clientProof: clientProof, serverProof: group.digest(clientBytes, clientProof, key))
    }
}

/// A non-negative number of libcrypto. It lives within one computation.
private final class Number {
    private let value: OpaquePointer

    init(taking value: OpaquePointer?) {
        guard let value else { fatalError("no memory for a number") }
        self.value = value
    }

    /// Of big-endian bytes.
    convenience init(_ bytes: [UInt8]) { self.init(taking: BN_bin2bn(bytes, Int32(bytes.count), nil)) }

    private convenience init() { self.init(taking: BN_new()) }

    deinit { BN_clear_free(value) }

    /// Big-endian, without leading zeros.
    var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(value) + 7) / 8)
        BN_bn2bin(value, &bytes)
        return bytes
    }

    func isZero(modulo modulus: Number) -> Bool {
        let rest = Number()
        Self.within { BN_div(nil, rest.value, value, modulus.value, $0) }
        return BN_is_zero(rest.value) == 1
    }

    func power(_ exponent: Number, modulo modulus: Number) -> Number {
        let result = Number()
        Self.within { BN_mod_exp(result.value, value, exponent.value, modulus.value, $0) }
        return result
    }

    func times(_ other: Number, modulo modulus: Number) -> Number {
        let result = Number()
        Self.within { BN_mod_mul(result.value, value, other.value, modulus.value, $0) }
        return result
    }

    func plus(_ other: Number, modulo modulus: Number) -> Number {
        let result = Number()
        Self.within { BN_mod_add(result.value, value, other.value, modulus.value, $0) }
        return result
    }

    /// None of these fails but for want of memory: the moduli are odd and above zero.
    private static func within(_ compute: (OpaquePointer?) -> Int32) {
        let context = BN_CTX_new()
        defer { BN_CTX_free(context) }
        guard compute(context) == 1 else { fatalError("no memory for a number") }
    }
}
