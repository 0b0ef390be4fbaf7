import CastV2
import Pacing
import RouteModel

/// What goes wrong with a stream, in words for people.
extension CastErrors {
    /// Of a stream that has not come about.
    func streaming(_ error: any Error) -> RouterError {
        switch error {
        case CastStreamingError.noApp:
            return RouterError(
                .unsupported, "\(name) has no app that takes streams", hint: "Play by URL: --via cast", scope: .route)
        case CastStreamingError.unanswered:
            return RouterError(
                .timeout, "\(name) did not answer the offer of a stream",
                hint: "Restart the device, or play by URL: --via cast", scope: .route, retry: .later)
        case CastStreamingError.answer(let error):
            return RouterError(
                .unsupported, "\(name) takes no stream of ours: \(error)",
                hint: "Old devices may need ?unencrypted=1; others play by URL: --via cast", scope: .route)
        case CastStreamingError.otherStream:
            return RouterError(
                .protocolViolation, "\(name) answered the offer of a stream with another one",
                hint: "Restart the device, or play by URL: --via cast", scope: .route)
        case CastStreamingError.gone:
            return RouterError(
                .routeLost, "\(name) closed the streaming app before it had answered", hint: "Try again",
                scope: .route, retry: .later)
        case let error as DatagramSocketError:
            return RouterError(
                .internal, "no UDP socket could be opened for \(name)",
                hint: "Check the limits on open files and on the network", scope: .route, causes: ["\(error)"])
        default: return opening(error)
        }
    }

    var streamSilent: RouterError {
        RouterError(
            .routeLost, "\(name) has stopped answering the stream",
            hint: "Check that the device is on and that no firewall holds UDP back", scope: .route, retry: .later)
    }

    var takesNoURL: RouterError {
        RouterError(.unsupported, "\(name) is sent a stream and fetches nothing", hint: "Use --via cast", scope: .item)
    }
}
