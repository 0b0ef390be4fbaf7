import AirPlay
import RouteModel

/// AirPlay 2's own refusals, in the product's one error.
extension AirPlayErrors {
    static func routerError(_ error: AirPlay2Error, endpoint: Endpoint) -> RouterError {
        let name = endpoint.name
        switch error {
        case .rtsp(let error): return routerError(error, endpoint: endpoint)
        case .pairingRequired: return pairingWanted(endpoint)
        case .notValidNow(let method):
            return RouterError(
                .unavailable, "\(name) takes no \(method) in its present state", hint: "Try again when it plays",
                scope: .route, retry: .now)
        case .malformedAnswer(let method, _):
            return RouterError(
                .protocolViolation, "\(name) answered \(method) with what cannot be read",
                hint: "Update or restart the device, or try another protocol with --via", scope: .route,
                causes: ["\(error)"])
        case .incompleteAnswer(let method, let key):
            return RouterError(
                .protocolViolation, "\(name) answered \(method) without what audio needs (\(key))",
                hint: "Restart the device, or try another protocol with --via", scope: .route)
        case .wrongOrder:
            return RouterError(
                .cancelled, "the session on \(name) has ended", hint: "Play again", scope: .session)
        }
    }

    /// Of a session that has not come about.
    static func opening(_ error: AirPlay2Error, endpoint: Endpoint) -> RouterError {
        if case .rtsp(let error) = error { return opening(error, endpoint: endpoint) }
        return routerError(error, endpoint: endpoint)
    }

    /// Our own clock cannot be had, or cannot be told to this device.
    static func clock(_ error: PTPError, endpoint: Endpoint) -> RouterError {
        RouterError(
            .dependencyMissing, "\(endpoint.name) cannot be given the time: \(error)", hint: error.cure, scope: .route,
            retry: .afterUserAction)
    }
}
