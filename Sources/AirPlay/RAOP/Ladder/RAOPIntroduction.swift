import CSodium

/// The first rung: OPTIONS. Each rung holds the request to send and makes the next rung from its answer, so that a
/// wrong order does not compile.
public struct RAOPIntroduction: Sendable {
    public let parameters: RAOPSessionParameters
    public let request: RTSPRequest

    /// - Parameter challenge: 16 random bytes; sent only when RSA is used, for some receivers stumble over it otherwise.
    public init(_ parameters: RAOPSessionParameters, challenge: [UInt8]) {
        self.parameters = parameters
        var headers = RTSPHeaders()
        if parameters.encryption != nil { headers["Apple-Challenge"] = Base64.withoutPadding(challenge) }
        request = parameters.request("OPTIONS", uri: "*", headers: headers)
    }

    /// What follows: authentication where the receiver needs it, else the announcement.
    public enum Next: Sendable {
        case authSetup(RAOPAuthSetup)
        case announcement(RAOPAnnouncement)
    }

    /// An answer that isn't success is passed over, but for those that ANNOUNCE would get as well: some receivers do
    /// not know OPTIONS.
    public func accept(_ response: RTSPResponse) throws(RAOPError) -> Next {
        if let error = RAOPError(method: request.method, response: response) {
            switch error {
            case .busy, .forbidden, .passwordRefused: throw error
            default: break
            }
        }
        return parameters.needsAuthSetup
            ? .authSetup(RAOPAuthSetup(parameters)) : .announcement(RAOPAnnouncement(parameters))
    }
}

/// `/auth-setup`: receivers with `et` 4 forbid ANNOUNCE before it. Their proof is not checked: it shows only that Apple
/// certified the hardware.
public struct RAOPAuthSetup: Sendable {
    private let parameters: RAOPSessionParameters
    public let request: RTSPRequest

    init(_ parameters: RAOPSessionParameters) {
        self.parameters = parameters
        var secret = [UInt8](repeating: 0, count: 32)
        var publicKey = [UInt8](repeating: 0, count: 32)
        randombytes_buf(&secret, secret.count)
        _ = crypto_scalarmult_base(&publicKey, secret)
        // 1: no encryption wanted.
        request = parameters.request(
            "POST", uri: "/auth-setup", contentType: "application/octet-stream", body: [1] + publicKey)
    }

    /// Whatever it says: where it mattered, ANNOUNCE is forbidden next.
    public func accept(_ response: RTSPResponse) -> RAOPAnnouncement { RAOPAnnouncement(parameters) }
}

/// ANNOUNCE: format and key.
public struct RAOPAnnouncement: Sendable {
    private let parameters: RAOPSessionParameters
    public let request: RTSPRequest

    init(_ parameters: RAOPSessionParameters) {
        self.parameters = parameters
        let description = RAOPSessionDescription(
            sessionID: parameters.sessionID, senderAddress: parameters.senderAddress,
            receiverAddress: parameters.receiverAddress, codec: parameters.codec, encryption: parameters.encryption,
            minimumLatency: 11_025)
        request = parameters.request(
            "ANNOUNCE", contentType: RAOPSessionDescription.contentType, body: description.encoded())
    }

    public func accept(_ response: RTSPResponse) throws(RAOPError) -> RAOPAnnounced {
        if let error = RAOPError(method: request.method, response: response) { throw error }
        return RAOPAnnounced(parameters: parameters)
    }
}

/// The receiver knows what will come, and not yet where from.
public struct RAOPAnnounced: Sendable {
    fileprivate let parameters: RAOPSessionParameters

    /// - Parameters:
    ///   - controlPort: our UDP port for sync and resends.
    ///   - timingPort: our UDP port for questions of time.
    public func setup(controlPort: Int, timingPort: Int) -> RAOPSetup {
        RAOPSetup(parameters, controlPort: controlPort, timingPort: timingPort)
    }
}

/// SETUP: ports on both sides.
public struct RAOPSetup: Sendable {
    private let parameters: RAOPSessionParameters
    public let request: RTSPRequest

    fileprivate init(_ parameters: RAOPSessionParameters, controlPort: Int, timingPort: Int) {
        self.parameters = parameters
        let transport = RTSPTransport(controlPort: controlPort, timingPort: timingPort)
        request = parameters.request("SETUP", headers: ["Transport": transport.text])
    }

    /// Throws `incompleteSetup` where no port for audio is named. The session's name may be missing.
    public func accept(_ response: RTSPResponse) throws(RAOPError) -> RAOPReady {
        if let error = RAOPError(method: request.method, response: response) { throw error }
        let transport = RTSPTransport(parsing: response.headers["Transport"] ?? "")
        guard let serverPort = transport.serverPort, serverPort > 0 else { throw .incompleteSetup }
        // A time-out may follow the name: `1;timeout=60`.
        let session = response.headers["Session"]?.split(separator: ";").first.map { $0.trimmed }
        return RAOPReady(
            parameters: parameters, session: session,
            ports: RAOPPorts(server: serverPort, control: transport.controlPort.flatMap { $0 > 0 ? $0 : nil }))
    }
}

/// The receiver's UDP ports.
public struct RAOPPorts: Sendable, Hashable {
    /// For audio.
    public var server: Int
    /// For sync packets and resends.
    public var control: Int?
}
