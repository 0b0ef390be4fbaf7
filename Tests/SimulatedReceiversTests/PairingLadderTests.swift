import AirPlay
import HomeKitPairing
import SimulatedReceivers
import Testing

/// Our ladders against the simulated receiver's side of pairing: two programs apart, in one process and without a wire.
@Suite("R6 ladders against the simulated receiver")
struct PairingLadderTests {
    /// A device, and one connection to it at a time.
    actor Device {
        private let policy: PairingServerPolicy
        private var server: PairingServer
        private var book = PairingServerBook(name: "Ladder")
        /// The last that a connection came to.
        private(set) var secret: [UInt8]?

        init(_ policy: PairingServerPolicy) {
            self.policy = policy
            server = PairingServer(policy)
        }

        func reconnect() {
            server.end(in: &book)
            server = PairingServer(policy)
        }

        func send(_ request: PairingRequest) -> PairingAnswer {
            let spelled = request.rtsp(.rtsp1)
            let answer = server.answer(
                path: spelled.uri, headers: spelled.headers, body: spelled.body, in: &book, at: 0)
            secret = answer.secretEstablished
            return PairingAnswer(
                RTSPResponse(status: answer.status, headers: answer.headers, body: answer.body), to: request)
        }

        nonisolated var client: PairingClient { PairingClient { await self.send($0) } }
    }

    private let identity = ControllerIdentity(
        identifier: "5D7F7A4C-1B0E-4A77-9C33-0A1B2C3D4E5F", signingKey: .random())

    @Test("R6 PIN, verify, add, list and remove")
    func pin() async throws {
        let device = Device(.code(.fixed("0815")))
        let client = device.client
        await #expect(throws: PairingError.refused(.authentication, at: .setupM4)) {
            try await client.finishPIN(client.beginPIN(identity), pin: "0816")
        }
        let result = try await client.finishPIN(client.beginPIN(identity), pin: "0815")
        let credentials = try #require(result.credentials)
        await device.reconnect()
        #expect(try await client.verify(credentials).secret == device.secret)
        let guest = PairedController(
            identifier: Array("Guest".utf8), publicKey: SigningKey.random().publicKey, isAdmin: false)
        try await client.add(guest)
        #expect(try await client.list().count == 2)
        #expect(try await client.list().contains(guest))
        try await client.remove(identifier: Array(identity.identifier.utf8))
        await device.reconnect()
        await #expect(throws: PairingError.refused(.authentication, at: .verifyM4)) {
            try await client.verify(credentials)
        }
    }

    @Test("R6 transient, with the password and without")
    func transient() async throws {
        let everybody = Device(.everybody)
        #expect(try await everybody.client.transient().secret == everybody.secret)
        let locked = Device(.password("offen"))
        await #expect(throws: PairingError.refused(.authentication, at: .setupM4)) {
            try await locked.client.transient()
        }
        #expect(try await locked.client.transient(password: "offen").secret == locked.secret)
        await #expect(throws: PairingError.forbidden) { try await Device(.accessControl()).client.transient() }
        await #expect(throws: PairingError.connectionAuthorizationRequired) {
            try await Device(.code(.fixed("0815"))).client.transient()
        }
    }

    @Test("R6 legacy, with a PIN and without")
    func legacy() async throws {
        let device = Device(.legacy(.code(.fixed("0815"))))
        let client = device.client
        await #expect(throws: PairingError.refused(.authentication, at: .legacySetupProof)) {
            try await client.finishLegacyPIN(client.beginLegacyPIN(identity), pin: "0816")
        }
        let credentials = try await client.finishLegacyPIN(client.beginLegacyPIN(identity), pin: "0815")
        #expect(credentials.accessoryKey != nil)
        await device.reconnect()
        _ = try await client.verifyLegacy(credentials)
        #expect(await device.secret == nil)
        let open = Device(.legacy(.open)).client
        _ = try await open.verifyLegacy(open.openLegacy(identity))
    }

    @Test(
        "R6 mistakes of a device are found out",
        arguments: [
            (PairingServerStep.setup4, PairingServerFault.Kind.wrongProof, PairingError.wrongProof),
            (.setup6, .wrongSignature, .wrongSignature(at: .setupM6)),
            (.verify2, .wrongSignature, .wrongSignature(at: .verifyM2)),
            (.verify2, .wrongIdentity, .wrongIdentifier),
            (.setup2, .error(.backOff, retryAfter: 7), .refused(.backOff(seconds: 7), at: .setupM2)),
            (.setup6, .error(.busy, retryAfter: nil), .refused(.busy, at: .setupM6)),
        ])
    func mistakes(step: PairingServerStep, kind: PairingServerFault.Kind, error: PairingError) async throws {
        var policy = PairingServerPolicy.code(.fixed("0815"))
        policy.faults[step] = PairingServerFault(kind)
        let client = Device(policy).client
        await #expect(throws: error) {
            let result = try await client.finishPIN(client.beginPIN(identity), pin: "0815")
            _ = try await client.verify(#require(result.credentials))
        }
    }
}
