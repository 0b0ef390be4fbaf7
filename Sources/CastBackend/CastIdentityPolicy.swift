import CastV2
import Foundation
import RouteModel

/// Keeps the key that each Cast device showed first. The store implements it; what it throws is a `RouterError`.
public protocol CastPinStoring: Sendable {
    /// The fingerprint of the key that this device is known by.
    func pin(of device: String) async throws -> String?
    /// Knows the device by this key from now on.
    func savePin(_ fingerprint: String, of device: String) async throws
}

/// How sure one wants to be that a Cast device is the one that it says it is (`Protocols/cast` section 8).
public struct CastIdentityPolicy: Sendable {
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// The key that a device shows first is kept, and another one is refused until a person accepts it. A device
        /// that shows none is let in, unless it has shown one before.
        case pin
        /// Every device must show a chain to one of the roots.
        case require
        /// Nobody is asked.
        case off
    }

    public var mode: Mode
    /// DER.
    public var roots: [[UInt8]]
    /// Roots of lists of revoked devices, DER; empty: `roots`.
    public var revocationRoots: [[UInt8]]
    /// A `CrlBundle`; nil where none was given by hand.
    public var revocationList: [UInt8]?
    public var pins: any CastPinStoring
    /// The time of day, by which certificates are judged.
    public var date: @Sendable () -> Date

    public init(
        mode: Mode = .pin, roots: [[UInt8]] = [], revocationRoots: [[UInt8]] = [], revocationList: [UInt8]? = nil,
        pins: any CastPinStoring, date: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.mode = mode
        self.roots = roots
        self.revocationRoots = revocationRoots
        self.revocationList = revocationList
        self.pins = pins
        self.date = date
    }

    /// What a device is known by: its own id, else the URI that a person gave.
    static func name(of endpoint: Endpoint) -> String {
        (endpoint.strongKeys.first { $0.kind == .castID } ?? endpoint.strongKeys.first)?.description
            ?? endpoint.id.rawValue
    }

    /// The certificates of a file, PEM or DER. Throws `configuration`.
    public static func certificates(_ bytes: [UInt8], path: String) throws -> [[UInt8]] {
        do {
            return try CastTrustRoots.read(bytes)
        } catch {
            let (problem, hint) =
                switch error {
                case .tooLarge: ("is too large for certificates", "Check that it is the right file")
                case .tooMany:
                    (
                        "holds more than \(CastTrustRoots.maximumCertificates) certificates",
                        "Leave those that Cast devices are not signed under out"
                    )
                case .noCertificate: ("holds no certificate", "Give a file in PEM or DER")
                case .unreadable(let number):
                    ("has a certificate that cannot be read, number \(number)", "Take it out, or export it again")
                }
            throw RouterError(.configuration, "\(path) \(problem)", hint: hint)
        }
    }

    /// Throws `configuration` where the list given by hand is of no use.
    func verifier() throws -> CastIdentityVerifier {
        var verifier = CastIdentityVerifier(
            roots: mode == .pin ? [] : roots, revocationRoots: revocationRoots.isEmpty ? roots : revocationRoots)
        guard let revocationList else { return verifier }
        do throws(CastRevocationList.Failure) {
            verifier.revocations = try CastRevocationList(
                revocationList, roots: verifier.revocationRoots, now: date())
        } catch {
            let problem =
                switch error {
                case .tooLarge: "is too large"
                case .unreadable: "cannot be read as a CrlBundle"
                case .unknownVersion: "holds no list of a version known here"
                case .untrusted: "is signed by nobody whom the given roots stand behind"
                case .wrongSignature: "has a signature that does not hold"
                case .outOfDate: "is not valid at this time"
                case .wrongRange: "has a range of serial numbers that ends before it begins"
                }
            throw RouterError(
                .configuration, "the list of revoked Cast devices \(problem)",
                hint: "Get a current one, or leave it out (cast: crl, or --crl)")
        }
        return verifier
    }
}
