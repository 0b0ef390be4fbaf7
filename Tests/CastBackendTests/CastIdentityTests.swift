import CastBackend
import CastV2
import Foundation
import Logging
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

/// Device authentication on the wire, against every way in which the simulated device fails it.
@Suite(.timeLimit(.minutes(3))) struct CastIdentityTests {
    typealias Mode = SimulatedCastConfiguration.AuthenticationMode

    actor Pins: CastPinStoring {
        var kept: [String: String] = [:]
        func pin(of device: String) -> String? { kept[device] }
        func savePin(_ fingerprint: String, of device: String) { kept[device] = fingerprint }
    }

    /// What `learn` was told.
    actor Facts {
        var all: [String: String] = [:]
        func learn(_ fact: String, _ value: String) { all[fact] = value }
    }

    private static let id = "00112233445566778899aabbccddeeff"

    private func withDevice(
        _ mode: Mode, _ body: (SimulatedCastReceiver, Endpoint) async throws -> Void
    ) async throws {
        var configuration = SimulatedCastConfiguration(name: "Kitchen", port: 0, httpPort: nil)
        configuration.authentication = mode
        let device = try SimulatedCastReceiver(configuration)
        let port = try await device.start().port
        let uri = try DeviceURI("cast://127.0.0.1:\(port)?name=Kitchen&id=\(Self.id)")
        do {
            try await body(device, try CastProvider().endpoint(from: uri))
        } catch {
            await device.stop()
            throw error
        }
        await device.stop()
    }

    private func provider(
        _ mode: CastIdentityPolicy.Mode, pins: Pins = Pins(), root: String? = nil, list: [UInt8]? = nil
    ) throws -> CastProvider {
        var timeouts = CastTimeouts()
        timeouts.authentication = 1_500_000_000
        return CastProvider(
            timeouts: timeouts,
            identity: CastIdentityPolicy(
                mode: mode,
                roots: try root.map { try CastIdentityPolicy.certificates(Array($0.utf8), path: "root") } ?? [],
                revocationList: list, pins: pins))
    }

    /// By what name each mode fails under its root; nil: it holds.
    private static let failures: [(Mode, String?)] = [
        (.valid, nil), (.intermediate, nil), (.audioOnly, nil), (.sha1, nil), (.pss, nil), (.twice, nil),
        (.newKey, nil), (.badRevocationList, nil), (.wrongNonce, "wrongNonce"), (.wrongCertificate, "wrongSignature"),
        (.badSignature, "wrongSignature"), (.expired, "certificateExpired"),
        (.longLivedTLS, "tlsCertificateValidTooLong"), (.expiredTLS, "tlsCertificateExpired"),
        (.futureTLS, "tlsCertificateNotYetValid"), (.error, "refused"), (.untrusted, "untrusted"),
        (.selfSigned, "selfSigned"), (.notForSigning, "notForSigning"), (.missingIntermediate, "untrusted"),
        (.expiredIntermediate, "certificateExpired"), (.notAnAuthority, "notAnAuthority"),
        (.chainTooLong, "chainTooLong"), (.shortKey, "keyTooShort"), (.ellipticKey, "notRSA"), (.revoked, "revoked"),
        (.revokedSerial, "revoked"), (.garbage, "unreadable"), (.empty, "noResponse"), (.text, "notBinary"),
        (.manyCertificates, "tooManyCertificates"),
    ]

    @Test("C21 every mode of the device ends in its own failure, or holds", arguments: failures)
    func everyMode(mode: Mode, failure: String?) async throws {
        try await withDevice(mode) { device, endpoint in
            let provider = try provider(.require, root: device.rootCertificatePEM)
            let finding = try await provider.identify(endpoint)
            #expect(finding.failure == failure)
            #expect(finding.verdict == (failure == nil ? .verified : .refused))
            #expect(finding.error?.code == (failure == nil ? nil : .authFailed))
            #expect(finding.policy == (mode == .audioOnly ? "audioOnly" : finding.policy == nil ? nil : "full"))
            guard failure == nil else { return }
            #expect(finding.chain.count == (mode == .intermediate ? 3 : 2))
            #expect(finding.digest == (mode == .sha1 ? "SHA-1" : "SHA-256"))
            #expect(finding.signature == (mode == .pss ? "RSASSA-PSS" : "RSASSA-PKCS1-v1_5"))
            #expect(finding.revocation == (mode == .badRevocationList ? "unverified" : "unknown"))
        }
    }

    @Test("C21 all modes are in the table, but the silent one, which has tests of its own") func complete() {
        #expect(Set(Self.failures.map(\.0)).union([.silent]) == Set(Mode.allCases))
    }

    @Test("C21 a device that a root does not stand behind is refused, and what was launched there is stopped")
    func refused() async throws {
        try await withDevice(.untrusted) { device, endpoint in
            let provider = try provider(.require, root: device.rootCertificatePEM)
            let error = await #expect(throws: RouterError.self) {
                _ = try await provider.open(endpoint, options: OpenOptions())
            }
            #expect(error?.code == .authFailed)
            #expect(error?.code.exitStatus == 4)
            #expect(error?.message.contains("no trusted root") == true)
            #expect(await eventually { await device.record().words.contains("disconnected") })
            #expect(await device.record().loads.isEmpty)
            let words = await device.record().words
            #expect(words.filter { $0 == "launch" }.count == 1)
            #expect(words.filter { $0 == "appStopped" }.count == 1)
        }
    }

    @Test("C21 the first key is kept, and another one refused until it is accepted") func pinning() async throws {
        let pins = Pins()
        let provider = try provider(.pin, pins: pins)
        var first: String?
        try await withDevice(.valid) { device, endpoint in
            await (try provider.open(endpoint, options: OpenOptions())).end(.stop)
            first = await pins.kept["castID:\(Self.id)"]
            #expect(first != nil)
            // The challenge comes before anything else.
            #expect(await device.record().words.first { ["challenged", "launch"].contains($0) } == "challenged")
            await (try provider.open(endpoint, options: OpenOptions())).end(.stop)
            #expect(try await provider.identify(endpoint).verdict == .pinned)
        }
        try await withDevice(.newKey) { device, endpoint in
            let error = await #expect(throws: RouterError.self) {
                _ = try await provider.open(endpoint, options: OpenOptions())
            }
            #expect(error?.code == .authFailed)
            #expect(error?.message.contains("another key than before") == true)
            #expect(error?.hint?.contains("--accept") == true)
            #expect(await pins.kept["castID:\(Self.id)"] == first)
            let finding = try await provider.identify(endpoint)
            #expect(finding.verdict == .changed)
            #expect(finding.pinned == first)
            #expect(try await provider.identify(endpoint, accept: true).verdict == .accepted)
            #expect(await pins.kept["castID:\(Self.id)"] == finding.fingerprint)
            await (try provider.open(endpoint, options: OpenOptions())).end(.stop)
        }
    }

    @Test("C21 what the verbs of router cast say goes to no device that shows another key") func control() async throws
    {
        let pins = Pins()
        let policy = CastIdentityPolicy(mode: .pin, pins: pins)
        try await withDevice(.valid) { _, endpoint in
            try await CastControl.with(endpoint, identity: policy) { _ = try await $0.report() }
            #expect(await pins.kept.count == 1)
        }
        try await withDevice(.newKey) { device, endpoint in
            let error = await #expect(throws: RouterError.self) {
                try await CastControl.with(endpoint, identity: policy) { try await $0.setVolume(0.5) }
            }
            #expect(error?.code == .authFailed)
            #expect(await device.record().events("volume").isEmpty)
        }
    }

    @Test("C5 a session that is only to be ended launches nothing where it has gone") func onlyToEnd() async throws {
        try await withDevice(.valid) { device, endpoint in
            let token = "CC1AD845/gone"
            let ended = try await CastProvider().open(endpoint, options: OpenOptions(rejoin: token, launches: false))
            await ended.end(.stop)
            #expect(await device.record().events("launch").isEmpty)
            let again = try await CastProvider().open(endpoint, options: OpenOptions(rejoin: token))
            await again.end(.stop)
            #expect(await device.record().events("launch").count == 1)
        }
    }

    @Test(
        "C21 a key that does not hold is not accepted either",
        arguments: [Mode.badSignature, .wrongNonce, .longLivedTLS])
    func notAccepted(mode: Mode) async throws {
        let pins = Pins()
        try await withDevice(mode) { _, endpoint in
            let provider = try provider(.pin, pins: pins)
            #expect(try await provider.identify(endpoint, accept: true).verdict == .refused)
            #expect(await pins.kept.isEmpty)
            await #expect(throws: RouterError.self) { _ = try await provider.open(endpoint, options: OpenOptions()) }
        }
    }

    @Test(
        "C21 a silent device is let in, not waited for again, and refused once it has shown a key",
        arguments: [Mode.silent, .error])
    func silent(mode: Mode) async throws {
        let pins = Pins()
        let provider = try provider(.pin, pins: pins)
        try await withDevice(mode) { device, endpoint in
            let facts = Facts()
            let options = OpenOptions(learn: { await facts.learn($0, $1) })
            await (try provider.open(endpoint, options: options)).end(.stop)
            #expect(await facts.all == (mode == .silent ? ["deviceAuthentication": "silent"] : [:]))
            await (try provider.open(endpoint, options: OpenOptions(learnt: await facts.all))).end(.stop)
            await pins.savePin("ab", of: "castID:\(Self.id)")
            let error = await #expect(throws: RouterError.self) {
                _ = try await provider.open(endpoint, options: OpenOptions(learnt: await facts.all))
            }
            #expect(error?.code == .authFailed)
            let strict = try self.provider(.require, root: device.rootCertificatePEM)
            await #expect(throws: RouterError.self) { _ = try await strict.open(endpoint, options: OpenOptions()) }
        }
    }

    @Test("C21 nobody is asked where the identity is off") func off() async throws {
        try await withDevice(.garbage) { device, endpoint in
            await (try provider(.off).open(endpoint, options: OpenOptions())).end(.stop)
            #expect(await !device.record().words.contains("challenged"))
            await #expect(throws: RouterError.self) { _ = try await provider(.off).identify(endpoint) }
        }
    }

    @Test("C21 a list given by hand counts, and one that is of no use is a fault of the configuration")
    func revocationList() async throws {
        try await withDevice(.valid) { device, endpoint in
            let authority = try CastTestAuthority.ofProcess()
            let root = device.rootCertificatePEM
            func finding(_ list: [UInt8]) async throws -> CastIdentityFinding {
                try await provider(.require, root: root, list: list).identify(endpoint)
            }
            #expect(try await finding(authority.revocationList(keys: [device.deviceCertificate])).failure == "revoked")
            #expect(
                try await finding(authority.revocationList(serials: [device.deviceCertificate])).failure == "revoked")
            #expect(try await finding(authority.revocationList()).revocation == "notRevoked")
            var spoiled = try authority.revocationList()
            spoiled[spoiled.count - 1] ^= 1
            for list in [spoiled, [], [0xff], Array(spoiled.prefix(40))] {
                let error = await #expect(throws: RouterError.self) { _ = try await finding(list) }
                #expect(error?.code == .configuration)
            }
        }
    }

    @Test("R8 a simulated device that is started again shows the same key") func keptKeys() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-keys-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try CastTestAuthority.kept(in: folder)
        let again = try CastTestAuthority.kept(in: folder)
        #expect(first.rootPEM == again.rootPEM)
        let file = folder.appending(path: "simulated-cast-keys.json")
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try Data("{}".utf8).write(to: file)
        #expect(try CastTestAuthority.kept(in: folder).rootPEM != first.rootPEM)
    }
}
