import AirPlay
import Foundation
import HomeKitPairing
import PeerSupport
import RouterTestKit
import Testing

/// Our ladders against `peers/pairing_server.py`, a device made of srptools and cryptography, over a socket.
@Suite(
    "R6 pairing with an independent device", .enabled(if: PairingPeer.absence == nil, "\(PairingPeer.absence ?? "")"))
struct PairingServerTests {
    let identity = ControllerIdentity(identifier: "5D7F7A4C-1B0E-4A77-9C33-0A1B2C3D4E5F", signingKey: .random())

    // What the device prints comes by a pipe of its own, a little after its answer: hence `eventually`.
    private let octets = "application/octet-stream"
    private let plist = "application/x-apple-binary-plist"

    /// Runs a device, gives its port to the body, and checks that it had no trouble.
    private func device(
        _ options: String..., body: (_ port: Int, _ peer: PeerProgram) async throws -> Void
    ) async throws {
        let peer = try PairingPeer.program(options)
        let port = try await peer.start()
        do { try await body(port, peer) } catch {
            await peer.stop()
            throw error
        }
        await peer.stop()
        #expect(await peer.events("not authentic").isEmpty)
    }

    @Test("R6 PIN, then verify, then who is paired, in both spellings", arguments: [RTSPVersion.rtsp1, .http11])
    func pin(version: RTSPVersion) async throws {
        try await device("--pin", "4711", "--spelling", version == .rtsp1 ? "rtsp" : "http") { port, peer in
            let setup = try PairingSocket(port: port, version: version).client
            let challenge = try await setup.beginPIN(identity)
            #expect(await eventually { await peer.events("pin shown").count == 1 })
            let result = try await setup.finishPIN(challenge, pin: " 4711 ")
            let credentials = try #require(result.credentials)
            #expect(credentials.accessoryIdentifier == Array("11:22:33:44:55:66".utf8))
            let requests = ["/pair-pin-start 3 "] + repeatElement("/pair-setup 3 \(octets)", count: 3)
            #expect(await eventually { await peer.headers() == requests })

            let socket = try PairingSocket(port: port, version: version)
            let kept = try HomeKitCredentials(parsing: credentials.encoded())
            try await socket.encrypt(socket.client.verify(kept).secret)
            let ours = PairedController(
                identifier: Array(identity.identifier.utf8), publicKey: identity.signingKey.publicKey, isAdmin: true)
            #expect(try await socket.client.list() == [ours])
            let guest = PairedController(
                identifier: Array("GUEST".utf8), publicKey: SigningKey.random().publicKey, isAdmin: false)
            try await socket.client.add(guest)
            #expect(try await socket.client.list() == [ours, guest])
            try await socket.client.remove(identifier: guest.identifier)
            #expect(try await socket.client.list() == [ours])
            // An answer of several frames.
            let long = try await socket.perform(RTSPRequest(method: "POST", uri: "/feedback", version: version))
            #expect(long.body == (0..<5_000).map { UInt8($0 % 251) })
            // Forgotten, by our own wish.
            try await socket.client.remove(identifier: ours.identifier)
            let again = try PairingSocket(port: port, version: version).client
            await #expect(throws: PairingError.refused(.authentication, at: .verifyM4)) {
                try await again.verify(kept)
            }
        }
    }

    @Test("R6 transient: the next byte is encrypted", arguments: [RTSPVersion.rtsp1, .http11])
    func transient(version: RTSPVersion) async throws {
        try await device { port, peer in
            let socket = try PairingSocket(port: port, version: version)
            let result = try await socket.client.transient()
            #expect(result.secret.count == 64)
            try await socket.encrypt(result.secret)
            let answer = try await socket.perform(RTSPRequest(method: "POST", uri: "/feedback", version: version))
            #expect(answer.body.count == 5_000)
            let requests = repeatElement("/pair-setup 4 \(octets)", count: 2) + ["/feedback  "]
            #expect(await eventually { await peer.headers() == requests })
            // Nobody of a transient pairing may ask who is paired.
            await #expect(throws: PairingError.refused(.authentication, at: .listM2)) {
                try await socket.client.list()
            }
        }
    }

    @Test("R6 a password takes the place of the code, transient and for good")
    func password() async throws {
        try await device("--password", "öffne dich") { port, _ in
            let transient = try PairingSocket(port: port, version: .rtsp1)
            await #expect(throws: PairingError.refused(.authentication, at: .setupM4)) {
                try await transient.client.transient()
            }
            #expect(try await transient.client.transient(password: "öffne dich").secret.count == 64)
            let socket = try PairingSocket(port: port, version: .rtsp1)
            let result = try await socket.client.finishPassword(
                socket.client.beginPassword(identity), password: "öffne dich")
            let credentials = try #require(result.credentials)
            _ = try await PairingSocket(port: port, version: .rtsp1).client.verify(credentials)
        }
    }

    @Test("R6 a wrong PIN, the right one on the same connection, and no try left")
    func wrongPIN() async throws {
        try await device("--pin", "4711", "--tries", "2") { port, _ in
            let client = try PairingSocket(port: port, version: .rtsp1).client
            let wrong = PairingError.refused(.authentication, at: .setupM4)
            await #expect(throws: wrong) { try await client.finishPIN(client.beginPIN(identity), pin: "0000") }
            _ = try await client.finishPIN(client.beginPIN(identity), pin: "4711")
            await #expect(throws: wrong) { try await client.finishPIN(client.beginPIN(identity), pin: "0000") }
            await #expect(throws: wrong) { try await client.finishPIN(client.beginPIN(identity), pin: "0000") }
            await #expect(throws: PairingError.refused(.maxTries, at: .setupM2)) {
                try await client.beginPIN(identity)
            }
        }
    }

    @Test(
        "R6 what a device may refuse with, said as what it is",
        arguments: [
            ("--error=3@2 --retry=30", PairingError.refused(.backOff(seconds: 30), at: .setupM2)),
            ("--error=4@6", .refused(.maxPeers, at: .setupM6)), ("--error=6@2", .refused(.unavailable, at: .setupM2)),
            ("--error=7@4", .refused(.busy, at: .setupM4)), ("--error=1@4", .refused(.unknown, at: .setupM4)),
            ("--status=470@/pair-setup", .connectionAuthorizationRequired),
            ("--status=403@/pair-pin-start", .forbidden), ("--status=401@/pair-setup", .unauthorized),
            ("--status=500@/pair-setup", .status(500, at: .setupM2)),
        ])
    func refusals(options: String, error: PairingError) async throws {
        let peer = try PairingPeer.program(options.split(separator: " ").map(String.init))
        let port = try await peer.start()
        let client = try PairingSocket(port: port, version: .rtsp1).client
        await #expect(throws: error) { try await client.finishPIN(client.beginPIN(identity), pin: "1234") }
        await peer.stop()
    }

    @Test("R6 transient is not allowed: 470, and the PIN works on the same connection")
    func transientNotAllowed() async throws {
        try await device("--no-transient") { port, _ in
            let client = try PairingSocket(port: port, version: .rtsp1).client
            await #expect(throws: PairingError.connectionAuthorizationRequired) { try await client.transient() }
            #expect(try await client.finishPIN(client.beginPIN(identity), pin: "1234").credentials != nil)
        }
    }

    @Test("R6 legacy PIN, then verify, in both spellings", arguments: [RTSPVersion.rtsp1, .http11])
    func legacyPIN(version: RTSPVersion) async throws {
        try await device("--pin", "0815", "--spelling", version == .rtsp1 ? "rtsp" : "http") { port, peer in
            let client = try PairingSocket(port: port, version: version).client
            await #expect(throws: PairingError.refused(.authentication, at: .legacySetupProof)) {
                try await client.finishLegacyPIN(client.beginLegacyPIN(identity), pin: "0000")
            }
            let credentials = try await client.finishLegacyPIN(client.beginLegacyPIN(identity), pin: "0815")
            #expect(credentials.accessoryKey?.count == 32)
            let kept = try LegacyCredentials(parsing: credentials.encoded())
            _ = try await PairingSocket(port: port, version: version).client.verifyLegacy(kept)
            #expect(await eventually { await peer.events("verified").count == 1 })
            let attempt = ["/pair-pin-start  "] + repeatElement("/pair-setup-pin  \(plist)", count: 3)
            let verify = repeatElement("/pair-verify  \(octets)", count: 2)
            // The first try ends with the second request.
            #expect(await eventually { await peer.headers() == attempt.dropLast() + attempt + verify })
            // Somebody whom it does not know.
            let stranger = LegacyCredentials(
                controller: ControllerIdentity(identifier: "0123456789ABCDEF", signingKey: .random()),
                accessoryKey: credentials.accessoryKey)
            await #expect(throws: PairingError.connectionAuthorizationRequired) {
                try await PairingSocket(port: port, version: version).client.verifyLegacy(stranger)
            }
        }
    }

    @Test("R6 a device that takes one spelling only says no to the other")
    func spelling() async throws {
        try await device("--spelling", "rtsp") { port, _ in
            let client = try PairingSocket(port: port, version: .http11).client
            await #expect(throws: PairingError.status(400, at: .pinStart)) {
                try await client.beginLegacyPIN(identity)
            }
        }
    }

    @Test("R6 legacy without a PIN: keys swapped, then verify on the same connection")
    func legacyOpen() async throws {
        try await device { port, peer in
            let client = try PairingSocket(port: port, version: .rtsp1).client
            let credentials = try await client.openLegacy(identity)
            _ = try await client.verifyLegacy(credentials)
            #expect(await eventually { await peer.events("verified").count == 1 })
            // Another device in its place.
            let other = LegacyCredentials(
                controller: credentials.controller, accessoryKey: SigningKey.random().publicKey)
            await #expect(throws: PairingError.wrongSignature(at: .legacyVerifyKey)) {
                try await client.verifyLegacy(other)
            }
        }
    }
}

extension PeerProgram {
    /// Path, `X-Apple-HKP` and `Content-Type` of each request that came in.
    fileprivate func headers() -> [String] {
        events("request").map { request in
            ["path", "hkp", "type"].map { request[$0] as? String ?? "?" }.joined(separator: " ")
        }
    }
}

/// `peers/pairing_server.py`, run by the Python of `ROUTER_PEERS` (default `.build/peers`).
enum PairingPeer {
    private static let python =
        (ProcessInfo.processInfo.environment["ROUTER_PEERS"] ?? ".build/peers") + "/bin/python3"

    /// Why tests with it cannot run here; nil if they can.
    static var absence: String? {
        FileManager.default.isExecutableFile(atPath: python) ? nil : "\(python): Tests/setup.sh tests installs it"
    }

    static func program(_ options: [String]) throws -> PeerProgram {
        try PeerProgram(
            "../../HomeKitPairingTests/peers/pairing_server.py", ["--until-eof"] + options, interpreter: python)
    }
}
