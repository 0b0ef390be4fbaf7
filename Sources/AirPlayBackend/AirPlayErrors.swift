import AirPlay
import RouteModel

/// The border: what the wire says, in the product's one error.
enum AirPlayErrors {
    /// Of a session that has not come about: nothing is lost that never was.
    static func opening(_ error: RAOPError, endpoint: Endpoint) -> RouterError {
        guard error == .closed else { return routerError(error, endpoint: endpoint) }
        return RouterError(
            .routeUnreachable, "\(endpoint.name) closed the connection before it was ready to play",
            hint: "Check that \(endpoint.address) is an AirPlay receiver; try again, or restart the device",
            scope: .route, retry: .later)
    }

    /// The system gave us no socket.
    static func noSocket(_ error: any Error, endpoint: Endpoint) -> RouterError {
        RouterError(
            .internal, "no UDP socket could be opened for \(endpoint.name)",
            hint: "Check the limits on open files and on the network", scope: .route, causes: ["\(error)"])
    }

    static func routerError(_ error: RAOPError, endpoint: Endpoint) -> RouterError {
        let name = endpoint.name
        switch error {
        case .unreachable(let reason):
            return RouterError(
                .routeUnreachable, "\(name) cannot be reached at \(endpoint.address): \(reason)",
                hint: "Check that it is on and on this network", scope: .route, retry: .later)
        case .connectTimedOut:
            return RouterError(
                .routeUnreachable, "\(name) does not answer at \(endpoint.address)",
                hint: "Check that it is on and on this network, and that no firewall is between", scope: .route,
                retry: .later)
        case .closed:
            return RouterError(
                .routeLost, "\(name) closed the connection", hint: "Try again; if it stays so, restart the device",
                scope: .route, retry: .later)
        case .timedOut(let method):
            return RouterError(
                .timeout, "\(name) did not answer \(method) in time", hint: "Try again, or restart the device",
                scope: .route, retry: .later)
        case .passwordRequired:
            return RouterError(
                .authRequired, "\(name) wants a password",
                hint: "Set ROUTER_PASSWORD, or the device's password in the configuration file", scope: .route,
                retry: .afterUserAction)
        case .passwordRefused:
            return RouterError(
                .authFailed, "\(name) refused the password",
                hint: "Correct ROUTER_PASSWORD, or the device's password in the configuration file", scope: .route,
                retry: .afterUserAction)
        case .busy:
            return RouterError(
                .routeBusy, "\(name) is busy: somebody else plays there",
                hint: "Stop the other sender, or wait until it has finished", scope: .route, retry: .later)
        case .forbidden(let method):
            return RouterError(
                .authFailed, "\(name) does not let this sender in (\(method) was forbidden)",
                hint: "Allow access for everyone on the network in the device's AirPlay settings", scope: .route,
                retry: .afterUserAction)
        case .refused(_, 470, _): return pairingWanted(endpoint)
        case .refused(let method, let status, let reason):
            return RouterError(
                .protocolViolation, "\(name) refused \(method) with \(status) \(reason.prefix(60))",
                hint: "Restart the device, or try another protocol with --via", scope: .route)
        case .malformed:
            return RouterError(
                .protocolViolation, "what answers at \(endpoint.address) does not speak RTSP",
                hint: "Check the address and the port; RAOP is usually on port 5000", scope: .route,
                causes: ["\(error)"])
        case .incompleteSetup:
            return RouterError(
                .protocolViolation, "\(name) named no port for audio",
                hint: "The device may take protected audio only; try another protocol with --via", scope: .route)
        case .encryptionFailed:
            return RouterError(
                .internal, "the key for \(name) could not be encrypted",
                hint: "Check the installation of OpenSSL", scope: .route)
        }
    }
}
