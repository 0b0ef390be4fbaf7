import Foundation

/// A list of revoked Cast devices: not an X.509 one, but a `CrlBundle` in protobuf (`Protocols/cast` section 8).
///
/// What it revokes is taken only after its signer's certificate was traced to a root, its signature checked and its time
/// looked at; nothing else makes a value of this type.
public struct CastRevocationList: Sendable, Hashable {
    /// Serial numbers that one issuer has revoked.
    public struct SerialRange: Sendable, Hashable {
        /// SHA-256 of the issuer's SubjectPublicKeyInfo.
        public var issuerKeyHash: [UInt8]
        public var serials: ClosedRange<UInt64>

        public init(issuerKeyHash: [UInt8], serials: ClosedRange<UInt64>) {
            self.issuerKeyHash = issuerKeyHash
            self.serials = serials
        }
    }

    public private(set) var notBefore: Date
    public private(set) var notAfter: Date
    /// SHA-256 of the SubjectPublicKeyInfo of keys that count no more.
    public private(set) var keyHashes: Set<[UInt8]>
    public private(set) var serialRanges: [SerialRange]

    /// A file of more bytes is not read.
    public static let maximumBytes = 1 << 20

    public enum Failure: Error, Sendable, Hashable {
        case tooLarge
        case unreadable
        /// No list of a version that is known here.
        case unknownVersion
        /// Signed by nobody whom the roots stand behind.
        case untrusted
        case wrongSignature
        /// Not valid now.
        case outOfDate
        /// A range that ends before it begins.
        case wrongRange
    }

    /// Reads and checks a bundle. The first list of a known version counts.
    public init(_ bytes: [UInt8], roots: [[UInt8]], now: Date) throws(Failure) {
        guard bytes.count <= Self.maximumBytes else { throw .tooLarge }
        for list in try ProtobufFields.read(bytes).messages(1) {
            let fields = try ProtobufFields.read(list)
            let body = fields.bytes(1)
            let content = try ProtobufFields.read(body)
            guard content.number(1) == 0 else { continue }
            let signer = fields.bytes(2)
            guard let handle = CertificateHandle(der: signer) else { throw .untrusted }
            let chain: [CastCertificate]
            do throws(CastIdentityFailure) {
                chain = try CertificatePath.build([handle], roots: roots, now: now)
            } catch {
                throw .untrusted
            }
            guard handle.verifies(fields.bytes(3), over: body, sha256: true, pss: false) else { throw .wrongSignature }
            notBefore = Self.date(content.number(2))
            notAfter = min(Self.date(content.number(3)), chain.first?.notAfter ?? .distantPast)
            guard notBefore <= now, now <= notAfter else { throw .outOfDate }
            keyHashes = Set(content.messages(4))
            serialRanges = []
            for range in content.messages(5) {
                let fields = try ProtobufFields.read(range)
                let (first, last) = (fields.number(2), fields.number(3))
                guard first <= last else { throw .wrongRange }
                serialRanges.append(SerialRange(issuerKeyHash: fields.bytes(1), serials: first...last))
            }
            return
        }
        throw .unknownVersion
    }

    /// The first certificate, from the root down, that the list revokes. `chain` has the device's first.
    public func revoked(in chain: [CastCertificate]) -> CastCertificate? {
        for (index, certificate) in chain.enumerated().reversed() {
            if keyHashes.contains(certificate.keyHash) { return certificate }
            guard index + 1 < chain.count, let serial = certificate.serial else { continue }
            let issuer = chain[index + 1].keyHash
            if serialRanges.contains(where: { $0.issuerKeyHash == issuer && $0.serials.contains(serial) }) {
                return certificate
            }
        }
        return nil
    }

    private static func date(_ seconds: UInt64) -> Date {
        Date(timeIntervalSince1970: TimeInterval(min(seconds, UInt64(Int64.max))))
    }
}

/// What a list says, to be signed: the side of the one who issues it.
public struct CastRevocationContent: Sendable, Hashable {
    public var version: UInt64
    /// Seconds since 1970.
    public var notBefore: UInt64
    public var notAfter: UInt64
    public var keyHashes: [[UInt8]]
    public var serialRanges: [CastRevocationList.SerialRange]

    public init(
        version: UInt64 = 0, notBefore: UInt64, notAfter: UInt64, keyHashes: [[UInt8]] = [],
        serialRanges: [CastRevocationList.SerialRange] = []
    ) {
        self.version = version
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.keyHashes = keyHashes
        self.serialRanges = serialRanges
    }

    /// The bytes that are signed (RSASSA-PKCS1-v1_5 with SHA-256).
    public var bytes: [UInt8] {
        ProtobufFields.field(1, version) + ProtobufFields.field(2, notBefore) + ProtobufFields.field(3, notAfter)
            + keyHashes.flatMap { ProtobufFields.field(4, $0) }
            + serialRanges.flatMap { range in
                ProtobufFields.field(
                    5,
                    ProtobufFields.field(1, range.issuerKeyHash) + ProtobufFields.field(2, range.serials.lowerBound)
                        + ProtobufFields.field(3, range.serials.upperBound))
            }
    }

    /// A bundle of this list alone. `signer` is a certificate in DER.
    public func bundle(signer: [UInt8], signature: [UInt8]) -> [UInt8] {
        ProtobufFields.field(
            1,
            ProtobufFields.field(1, bytes) + ProtobufFields.field(2, signer) + ProtobufFields.field(3, signature))
    }
}

/// The fields of one protobuf message, by number: enough for messages of numbers and bytes.
struct ProtobufFields {
    private var numbers: [UInt64: UInt64] = [:]
    private var chunks: [UInt64: [[UInt8]]] = [:]

    static func read(_ bytes: [UInt8]) throws(CastRevocationList.Failure) -> ProtobufFields {
        var result = ProtobufFields()
        var rest = bytes[...]
        while !rest.isEmpty {
            let tag = try varint(&rest)
            guard tag >> 3 != 0 else { throw .unreadable }
            switch tag & 7 {
            case 0: result.numbers[tag >> 3] = try varint(&rest)
            case 1: try skip(8, &rest)
            case 2:
                let length = try varint(&rest)
                guard length <= UInt64(rest.count) else { throw .unreadable }
                result.chunks[tag >> 3, default: []].append(Array(rest.prefix(Int(length))))
                rest = rest.dropFirst(Int(length))
            case 5: try skip(4, &rest)
            default: throw .unreadable
            }
        }
        return result
    }

    func number(_ field: UInt64) -> UInt64 { numbers[field] ?? 0 }
    func bytes(_ field: UInt64) -> [UInt8] { chunks[field]?.last ?? [] }
    func messages(_ field: UInt64) -> [[UInt8]] { chunks[field] ?? [] }

    static func field(_ number: UInt64, _ value: UInt64) -> [UInt8] { encoded(number << 3) + encoded(value) }

    static func field(_ number: UInt64, _ value: [UInt8]) -> [UInt8] {
        encoded(number << 3 | 2) + encoded(UInt64(value.count)) + value
    }

    private static func encoded(_ value: UInt64) -> [UInt8] {
        var value = value
        var bytes: [UInt8] = []
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        return bytes + [UInt8(value)]
    }

    private static func skip(_ count: Int, _ rest: inout ArraySlice<UInt8>) throws(CastRevocationList.Failure) {
        guard rest.count >= count else { throw .unreadable }
        rest = rest.dropFirst(count)
    }

    private static func varint(_ rest: inout ArraySlice<UInt8>) throws(CastRevocationList.Failure) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 7) {
            guard let byte = rest.popFirst() else { throw .unreadable }
            // The tenth byte has room for one bit.
            guard shift < 63 || byte <= 1 else { throw .unreadable }
            value |= UInt64(byte & 0x7f) << UInt64(shift)
            if byte < 0x80 { return value }
        }
        throw .unreadable
    }
}
