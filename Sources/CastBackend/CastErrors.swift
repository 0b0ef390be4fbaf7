import CastV2
import RouteModel

/// What goes wrong on the wire, in words for people.
struct CastErrors: Sendable {
    var name: String
    var address: String

    init(endpoint: Endpoint) {
        name = "“\(endpoint.name)”"
        address = endpoint.address
    }

    /// Of `open`.
    func opening(_ error: any Error) -> RouterError {
        switch error {
        case let error as RouterError: return error
        case is CancellationError, CastConnectionError.ended:
            return RouterError(.cancelled, "connecting to \(name) was cancelled", scope: .route)
        case let error as CastConnectionError: return connection(error)
        case CastRequestFailure.connectionLost(let error): return connection(error)
        case CastRequestFailure.timedOut:
            return RouterError(
                .timeout, "\(name) took the connection and never answered",
                hint: "Restart the device, or check that \(address) is a Cast device", scope: .route, retry: .later)
        case let failure as CastRequestFailure: return request(failure, doing: "launching the receiver app")
        default: return RouterError(.internal, "\(name) could not be opened", scope: .route)
        }
    }

    /// Of a connection that did not come about.
    func connection(_ error: CastConnectionError) -> RouterError {
        let causes = [error.description]
        func unreachable(_ message: String, _ hint: String, retry: RouterError.Retry = .later) -> RouterError {
            RouterError(.routeUnreachable, message, hint: hint, scope: .route, retry: retry, causes: causes)
        }
        func notCast(_ message: String) -> RouterError {
            RouterError(
                .protocolViolation, message, hint: "Check the address and the port: Cast devices listen on 8009",
                scope: .route, causes: causes)
        }
        switch error {
        case .nameNotFound:
            return unreachable("there is no address for \(address)", "Check the name, or use a numeric address")
        case .refused:
            return unreachable(
                "nothing listens at \(address)", "Check the port (8009 for a device) and that the device is on")
        case .unreachable(let reason):
            return unreachable(
                "there is no way to \(address) (\(reason))", "Check that the device is on and in the same network")
        case .timedOut:
            return unreachable(
                "\(address) did not answer in time", "Check that the device is on and in the same network")
        case .notTLS: return notCast("what listens at \(address) is no Cast device: it does not speak TLS")
        case .tlsFailed(let reason): return notCast("no TLS connection to \(address) came about (\(reason))")
        case .notCast(let error):
            return notCast("what listens at \(address) speaks TLS, but not Cast: it sent \(error)")
        case .closedByPeer:
            return unreachable(
                "\(address) closed the connection before it had answered",
                "Check that it is a Cast device, and try again")
        case .silent, .flooded, .network, .ended:
            return unreachable("the connection to \(name) failed: \(error)", "Try again")
        }
    }

    /// Of a session that had come about.
    func lost(_ error: CastConnectionError) -> RouterError {
        RouterError(
            .routeLost, "\(name) was lost: \(error)", hint: "Check that the device is on and in the network",
            scope: .route, retry: .later)
    }

    /// Of one request; `doing` is what it was for, as in "seeking".
    func request(_ failure: CastRequestFailure, doing: String) -> RouterError {
        switch failure {
        case .connectionLost(let error): return lost(error)
        case .timedOut:
            return RouterError(
                .timeout, "\(name) did not answer in time (\(doing))", hint: "Try again, or restart the device",
                scope: .command, retry: .later)
        case .launchFailed(let reason): return launch(reason)
        case .launchDenied:
            return RouterError(
                .routeBusy, "\(name) does not allow the launch",
                hint: "Allow it on the device's screen or in its settings", scope: .route, retry: .afterUserAction)
        case .invalidRequest(let reason): return refused(reason, doing: doing)
        case .invalidPlayerState:
            return RouterError(
                .unavailable, "\(name) cannot do that in its present state (\(doing))",
                hint: "Start something first", scope: .command)
        case .loadFailed(let failure), .mediaError(let failure): return media(failure)
        case .appClosed: return superseded(by: nil)
        case .tooManyRequests:
            return RouterError(
                .unavailable, "\(name) has not answered what was asked before (\(doing))",
                hint: "Wait until it has, or restart the device", scope: .command, retry: .later)
        case .unsendable(let error):
            return RouterError(
                .protocolViolation, "the request to \(name) cannot be sent: \(error)",
                hint: "Shorten its title and other texts", scope: .command)
        }
    }

    /// Of media that the device could not play.
    func media(_ failure: CastMediaFailure) -> RouterError {
        let message = "\(name) says that \(failure.explanation)"
        switch failure.kind {
        case .unreachable, .keys:
            return RouterError(
                .mediaUnreachable, message,
                hint:
                    "Check that the device can reach the address that serves the media: it asks DNS servers of its own",
                scope: .item)
        case .unsupported, .decoding:
            return RouterError(
                .mediaUnsupported, message, hint: "Try another format, or play it by AirPlay", scope: .item)
        case .aborted, .other:
            return RouterError(
                .itemFailed, message, hint: "Check that the device can fetch the media and plays this format",
                scope: .item)
        }
    }

    func superseded(by app: String?) -> RouterError {
        RouterError(
            .commandSuperseded, app.map { "\($0) took \(name) over" } ?? "the receiver app on \(name) was closed",
            hint: "Play again to take the device back", scope: .route, retry: .afterUserAction)
    }

    private func launch(_ reason: String?) -> RouterError {
        switch reason?.uppercased() {
        case "NOT_FOUND":
            RouterError(
                .unsupported, "\(name) does not know the receiver app", hint: "Check the app id (?app=)", scope: .route)
        case "NOT_ALLOWED":
            RouterError(
                .routeBusy, "\(name) does not allow the launch",
                hint: "Allow it on the device's screen or in its settings", scope: .route, retry: .afterUserAction)
        default:
            RouterError(
                .unavailable, "\(name) could not launch the receiver app\(reason.map { " (\($0))" } ?? "")",
                hint: "Try again, or restart the device", scope: .route, retry: .later)
        }
    }
}

extension Endpoint {
    /// By what a person can name it on a command line: one that was given by its address is found by no other name.
    var words: String { origin == .stated ? "cast://\(address)" : "“\(name)”" }
}
