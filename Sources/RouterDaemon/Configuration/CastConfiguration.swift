import CastBackend
import Foundation
import RouteModel
import SceneScript
import Yams

/// What the configuration file says of Cast devices.
public struct CastConfiguration: Sendable, Equatable {
    /// Files of certificates that devices must be signed under.
    public var roots: [String] = []
    /// A file with a list of revoked devices.
    public var crl: String?
    /// Files of certificates that such a list must be signed under; none: `roots`.
    public var crlRoots: [String] = []
    /// How devices are checked; nil: by the roots if there are any, else by pinning.
    public var identity: CastIdentityPolicy.Mode?

    public init() {}

    /// Reads the files. Throws `configuration` with what is wrong with one.
    public func policy(
        pins: any CastPinStoring, date: @escaping @Sendable () -> Date = { Date() }
    ) throws -> CastIdentityPolicy {
        let mode = identity ?? (roots.isEmpty ? .pin : .require)
        guard mode != .off else { return CastIdentityPolicy(mode: .off, pins: pins, date: date) }
        let rootCertificates = try roots.flatMap { try Self.certificates($0) }
        guard mode != .require || !rootCertificates.isEmpty else {
            throw RouterError(
                .configuration, "Cast devices must show a chain to a root, and there is no root",
                hint: "Name one with “cast: roots: [FILE]” or --root, or write “identity: pin”")
        }
        let listRoots = try crlRoots.flatMap { try Self.certificates($0) }
        guard crl == nil || !(rootCertificates + listRoots).isEmpty else {
            throw RouterError(
                .configuration, "a list of revoked Cast devices is of no use without a root that it is signed under",
                hint: "Name one with “cast: crl_roots: [FILE]” or “roots”")
        }
        return CastIdentityPolicy(
            mode: mode, roots: rootCertificates, revocationRoots: listRoots, revocationList: try crl.map(Self.contents),
            pins: pins, date: date)
    }

    private static func certificates(_ path: String) throws -> [[UInt8]] {
        try CastIdentityPolicy.certificates(try contents(path), path: path)
    }

    /// Certificates and lists are smaller than this.
    private static let maximumBytes = 1 << 20

    private static func contents(_ path: String) throws -> [UInt8] {
        do throws(RegularFile.Failure) {
            return Array(try RegularFile.read(path, limit: maximumBytes))
        } catch {
            throw switch error {
            case .missing, .unreadable:
                RouterError(
                    .configuration, "the file \(path) cannot be read", hint: "Check the path and its permissions")
            case .notAFile, .tooLarge:
                RouterError(
                    .configuration, "the file \(path) is larger than \(maximumBytes / 1024) KiB, or no file",
                    hint: "Check that it is the right one")
            }
        }
    }
}

extension ConfigurationReader {
    func cast(_ node: Node) throws -> CastConfiguration {
        var result = CastConfiguration()
        let fields = try mapping(node, "cast", ["roots", "crl", "crl_roots", "identity"])
        if let roots = fields["roots"] { result.roots = try sequence(roots, "roots").map { try file($0, "a root") } }
        if let roots = fields["crl_roots"] {
            result.crlRoots = try sequence(roots, "crl_roots").map { try file($0, "a root") }
        }
        if let crl = fields["crl"] { result.crl = try file(crl, "crl") }
        if let identity = fields["identity"] {
            let text = try string(identity, "identity")
            guard let mode = CastIdentityPolicy.Mode(rawValue: text) else {
                throw error(
                    identity, "“\(text)” is no way to check an identity", hint: "Write pin, require or off")
            }
            guard mode != .require || !result.roots.isEmpty else {
                throw error(identity, "identity: require needs roots", hint: "Add “roots: [FILE]”, or write pin")
            }
            result.identity = mode
        }
        if let crl = fields["crl"], result.roots.isEmpty, result.crlRoots.isEmpty {
            throw error(crl, "crl needs a root that the list is signed under", hint: "Add “crl_roots: [FILE]”")
        }
        return result
    }

    /// Text, or nothing at all for no hint.
    func hint(_ node: Node) throws -> String {
        guard let text = node.scalar?.string else {
            throw error(node, "hint must be text", hint: "Write it in quotes; “” says nothing")
        }
        return text
    }

    /// A path; a relative one is taken from the folder of the configuration file.
    private func file(_ node: Node, _ what: String) throws -> String {
        let text = try string(node, what)
        guard !text.hasPrefix("/") else { return text }
        return URL(fileURLWithPath: path).deletingLastPathComponent().appending(path: text).path
    }
}
