import AirPlay
import HomeKitPairing
import RouteModel

/// Pairing, in the product's one error: every reason in words, with what to do.
extension AirPlayErrors {
    /// What was being done when it failed.
    enum PairingPurpose: Sendable {
        /// A code or password is being exchanged for keys.
        case pairing(PairingKind)
        /// Keys from an earlier pairing are shown.
        case verifying
        /// A session begins without either, or with the device's password.
        case letIn(password: Bool)
    }

    static func routerError(_ error: PairingError, _ purpose: PairingPurpose, endpoint: Endpoint) -> RouterError {
        let name = endpoint.name
        switch error {
        case .refused(let refusal, _): return refused(refusal, purpose, endpoint: endpoint)
        case .connectionAuthorizationRequired: return pairingWanted(endpoint)
        case .unauthorized: return passwordError(purpose, endpoint: endpoint)
        case .forbidden:
            if case .pairing = purpose {
                return RouterError(
                    .pairingDenied, "\(name) pairs with nobody but members of its home",
                    hint: "Allow access for everyone on the network in the device's AirPlay settings", scope: .route,
                    retry: .afterUserAction)
            }
            return RouterError(
                .authFailed, "\(name) does not let this sender in: its access control keeps it out",
                hint: "Allow access for everyone on the network in the device's AirPlay settings", scope: .route,
                retry: .afterUserAction)
        case .wrongProof, .notAuthentic, .wrongSignature:
            if case .pairing(let kind) = purpose { return wrongCode(kind, endpoint: endpoint) }
            if case .letIn(let password) = purpose {
                return password ? passwordError(purpose, endpoint: endpoint) : notByProtocol(error, endpoint)
            }
            return RouterError(
                .authFailed, "\(name) could not prove that it is the device that was paired",
                hint: "If it was reset, run “router pair remove \(quoted(name))” and pair it again", scope: .route,
                retry: .afterUserAction)
        case .wrongIdentifier:
            return RouterError(
                .authFailed, "at \(endpoint.address) another device answers than the one that was paired as \(name)",
                hint: "Check the address; pair again if the device was replaced", scope: .route,
                retry: .afterUserAction)
        case .impossibleCode:
            return RouterError(
                .authFailed, "that can be no code or password of \(name)",
                hint: "Type the digits as the device shows them", scope: .route, retry: .now)
        case .status(let status, let message):
            return RouterError(
                .protocolViolation, "\(name) answered \(message.rawValue) with status \(status)",
                hint: "Restart the device and try again", scope: .route, causes: ["\(error)"])
        case .malformed, .unreadable, .wrongState, .missing, .missingEntry, .wrongLength, .weakKey:
            return notByProtocol(error, endpoint)
        }
    }

    private static func notByProtocol(_ error: PairingError, _ endpoint: Endpoint) -> RouterError {
        RouterError(
            .protocolViolation, "\(endpoint.name) does not pair as the protocol says",
            hint: "Check that \(endpoint.address) is an AirPlay receiver; update or restart it", scope: .route,
            causes: ["\(error)"])
    }

    /// A device that wants to know us first.
    static func pairingWanted(_ endpoint: Endpoint) -> RouterError {
        RouterError(
            .authRequired, "\(endpoint.name) wants to be paired with this sender first",
            hint: "Run “router pair \(quoted(endpoint.name))” and type the code that the device shows", scope: .route,
            retry: .afterUserAction)
    }

    private static func refused(
        _ refusal: PairingRefusal, _ purpose: PairingPurpose, endpoint: Endpoint
    ) -> RouterError {
        let name = endpoint.name
        switch refusal {
        case .authentication:
            switch purpose {
            case .pairing(let kind): return wrongCode(kind, endpoint: endpoint)
            case .letIn(let password):
                return password ? passwordError(purpose, endpoint: endpoint) : pairingWanted(endpoint)
            case .verifying:
                return RouterError(
                    .authRequired, "\(name) does not know this sender any more",
                    hint: "Run “router pair \(quoted(name))” again", scope: .route, retry: .afterUserAction)
            }
        case .backOff(let seconds):
            let wait = seconds.map { "for \($0) seconds" } ?? "for a while"
            return RouterError(
                .rateLimited, "\(name) takes no tries \(wait), for there were too many wrong ones",
                hint: "Wait \(wait), then begin again", scope: .route, retry: .later)
        case .maxTries:
            return RouterError(
                .pairingDenied, "\(name) takes no more tries", hint: "Restart the device, then begin again",
                scope: .route, retry: .afterUserAction)
        case .maxPeers:
            return RouterError(
                .pairingDenied, "\(name) knows as many senders as it can",
                hint: "Remove one in the device's AirPlay settings", scope: .route, retry: .afterUserAction)
        case .unavailable:
            return RouterError(
                .pairingDenied, "\(name) does not pair at present",
                hint: "Allow it in the device's AirPlay settings; it may be paired to its own home already",
                scope: .route, retry: .afterUserAction)
        case .busy:
            return RouterError(
                .routeBusy, "\(name) is pairing with somebody else", hint: "Try again in a minute", scope: .route,
                retry: .later)
        case .unknown, .other:
            // Some answer a transient pairing that they do not allow like this.
            if case .letIn(password: false) = purpose { return pairingWanted(endpoint) }
            return RouterError(
                .pairingDenied, "\(name) refused to pair and does not say why",
                hint: "Restart the device and try again", scope: .route, retry: .later)
        }
    }

    private static func wrongCode(_ kind: PairingKind, endpoint: Endpoint) -> RouterError {
        let what = kind == .password ? "password" : "code"
        return RouterError(
            .authFailed, "\(endpoint.name) says that this is not its \(what)",
            hint: kind == .password
                ? "Look the password up in the device's settings" : "Begin again, and type the new code it shows",
            scope: .route, retry: .now)
    }

    private static func passwordError(_ purpose: PairingPurpose, endpoint: Endpoint) -> RouterError {
        if case .letIn(password: true) = purpose { return routerError(.passwordRefused, endpoint: endpoint) }
        return routerError(.passwordRequired, endpoint: endpoint)
    }

    /// A name as a shell takes it.
    private static func quoted(_ name: String) -> String {
        let plain = !name.isEmpty && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
        return plain ? name : "'" + name.replacing("'", with: "'\\''") + "'"
    }
}
