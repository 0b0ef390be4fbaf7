/// Which SRP-6a it is: the numbers that both sides share, the hash, and how the key comes from the secret
/// (`Protocols/pairing/README.md`, “SRP”).
enum SRPGroup: Sendable, Hashable {
    /// RFC 5054, 3072 bits, SHA-512.
    case homeKit
    /// RFC 5054, 2048 bits, SHA-1, and a key twice as long as the hash.
    case legacy

    var prime: [UInt8] {
        switch self {
        case .homeKit: Self.prime3072
        case .legacy: Self.prime2048
        }
    }

    var generator: [UInt8] {
        switch self {
        case .homeKit: [5]
        case .legacy: [2]
        }
    }

    /// Bytes of a proof.
    var hashLength: Int {
        switch self {
        case .homeKit: 64
        case .legacy: 20
        }
    }

    func hash(_ parts: [UInt8]...) -> [UInt8] {
        let bytes = parts.flatMap { $0 }
        return switch self {
        case .homeKit: PairingCrypto.sha512(bytes)
        case .legacy: PairingCrypto.sha1(bytes)
        }
    }

    /// The key of a session: 64 bytes, or 40.
    ///
    /// - Parameter secret: without leading zeros.
    func key(_ secret: [UInt8]) -> [UInt8] {
        switch self {
        case .homeKit: hash(secret)
        case .legacy: hash(secret, [0, 0, 0, 0]) + hash(secret, [0, 0, 0, 1])
        }
    }

    /// Filled up with zeros in front to the length of the prime.
    func padded(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](repeating: 0, count: max(0, prime.count - bytes.count)) + bytes
    }

    private static let prime3072 = bytes(
        """
        FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B
        302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE6
        49286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F83655D23DCA3AD961C62F356208552BB9ED529077096966D
        670C354E4ABC9804F1746C08CA18217C32905E462E36CE3BE39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF695581718
        3995497CEA956AE515D2261898FA051015728E5A8AAAC42DAD33170D04507A33A85521ABDF1CBA64ECFB850458DBEF0A8AEA71575D060C7D
        B3970F85A6E1E4C7ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06D98A0864D87602733EC86A64521F2B18177B200C
        BBE117577A615D6C770988C0BAD946E208E24FA074E5AB3143DB5BFCE0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF
        """)

    private static let prime2048 = bytes(
        """
        AC6BDB41324A9A9BF166DE5E1389582FAF72B6651987EE07FC3192943DB56050A37329CBB4A099ED8193E0757767A13DD52312AB4B03310D
        CD7F48A9DA04FD50E8083969EDB767B0CF6095179A163AB3661A05FBD5FAAAE82918A9962F0B93B855F97993EC975EEAA80D740ADBF4FF74
        7359D041D5C33EA71D281E446B14773BCA97B43A23FB801676BD207A436C6481F1D2B9078717461A5B9D32E688F87748544523B524B0D57D
        5EA77A2775D2ECFA032CFBDBF52FB3786160279004E57AE6AF874E7303CE53299CCC041C7BC308D82A5698F3A8D0C38271AE35F8E9DBFBB6
        94B5C803D89F7AE435DE236D525F54759B65E372FCD68EF20FA7111F9E4AFF73
        """)

    private static func bytes(_ digits: String) -> [UInt8] {
        let values = digits.compactMap(\.hexDigitValue)
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}
