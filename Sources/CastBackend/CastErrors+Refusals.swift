import CastV2
import RouteModel

extension CastErrors {
    /// Of a command that is not among the `supportedMediaCommands` of what plays.
    func notTaken(_ doing: String, live: Bool) -> RouterError {
        RouterError(
            .unsupported, "\(name) does not allow \(doing) with what plays there",
            hint: live ? "It is live: stop it, and play it again" : "See what it can do now: router cast status",
            scope: .command)
    }

    /// Of INVALID_REQUEST; `doing` is what the request was for.
    func refused(_ reason: String?, doing: String) -> RouterError {
        guard let reason, !reason.isEmpty else {
            return RouterError(
                .unavailable, "\(name) refused the request (\(doing))",
                hint: "Something else may play there by now", scope: .command)
        }
        let refusal = CastRefusal(rawValue: reason)
        let message = "\(name) says that \(refusal.explanation) (\(doing))"
        func error(
            _ code: RouterError.Code, _ hint: String, retry: RouterError.Retry = .never
        ) -> RouterError {
            RouterError(code, message, hint: hint, scope: .command, retry: retry, causes: [refusal.rawValue])
        }
        switch refusal.kind {
        case .unsupported: return error(.unsupported, "See what it can do now: router cast status")
        case .gone: return error(.commandSuperseded, "Something else plays there by now: router cast status")
        case .account:
            return error(.authRequired, "Sign in to the account in the app's own program", retry: .afterUserAction)
        case .forbidden: return error(.unavailable, "Choose something else, or change the account's settings")
        case .limited: return error(.rateLimited, "Wait, or stop it elsewhere", retry: .later)
        case .endOfQueue: return error(.unavailable, "Set it to repeat, or add something")
        case .malformed, .other: return error(.unavailable, "Something else may play there by now")
        }
    }
}
