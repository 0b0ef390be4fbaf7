import COpenSSL

/// A number of libcrypto's, not negative, wiped when it goes.
struct BigNumber: ~Copyable {
    private let number: OpaquePointer

    private init() {
        guard let number = BN_new() else { fatalError("libcrypto has no memory for a number") }
        self.number = number
    }

    /// - Parameter bytes: big-endian, of any length.
    init(_ bytes: [UInt8]) {
        self.init()
        precondition(BN_bin2bn(bytes, Int32(bytes.count), number) != nil)
        // Exponents are secrets: multiply as for the longest, whatever the bits say.
        BN_set_flags(number, BN_FLG_CONSTTIME)
    }

    deinit { BN_clear_free(number) }

    var isZero: Bool { BN_is_zero(number) == 1 }

    /// Big-endian, without leading zeros.
    var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
        BN_bn2bin(number, &bytes)
        return bytes
    }

    func isLess(than other: borrowing BigNumber) -> Bool { BN_ucmp(number, other.number) < 0 }

    func adding(_ other: borrowing BigNumber) -> BigNumber {
        let result = BigNumber()
        precondition(BN_add(result.number, number, other.number) == 1)
        BN_set_flags(result.number, BN_FLG_CONSTTIME)
        return result
    }

    func multiplied(by other: borrowing BigNumber) -> BigNumber {
        Self.calculate { BN_mul($0, number, other.number, $1) }
    }

    func subtracting(_ other: borrowing BigNumber, modulo: borrowing BigNumber) -> BigNumber {
        Self.calculate { BN_mod_sub($0, number, other.number, modulo.number, $1) }
    }

    func multiplied(by other: borrowing BigNumber, modulo: borrowing BigNumber) -> BigNumber {
        Self.calculate { BN_mod_mul($0, number, other.number, modulo.number, $1) }
    }

    /// - Parameter modulo: odd.
    func raised(to exponent: borrowing BigNumber, modulo: borrowing BigNumber) -> BigNumber {
        Self.calculate { BN_mod_exp($0, number, exponent.number, modulo.number, $1) }
    }

    /// None of these fails on numbers like ours, but for want of memory.
    private static func calculate(_ work: (_ result: OpaquePointer, _ context: OpaquePointer) -> Int32) -> BigNumber {
        guard let context = BN_CTX_secure_new() else { fatalError("libcrypto has no memory for a calculation") }
        defer { BN_CTX_free(context) }
        let result = BigNumber()
        precondition(work(result.number, context) == 1)
        return result
    }
}
