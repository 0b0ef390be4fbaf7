import Foundation
import RouteModel

/// Why something was not done, as the bus tells it: an error's name and a sentence.
struct BusFailure: Error, Sendable, Hashable {
    var name: String
    var message: String

    init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }

    /// - Parameter code: a negative errno, as sd-bus answers.
    init(code: Int32, doing what: String) {
        let reason = String(cString: strerror(-code))
        self.init(code == -EACCES || code == -EPERM ? Name.accessDenied : Name.failed, "cannot \(what): \(reason)")
    }

    /// Names that other programs know (D-Bus specification, “Standard errors” by use).
    enum Name {
        static let failed = standard + "Failed"
        static let accessDenied = standard + "AccessDenied"
        static let invalidArguments = standard + "InvalidArgs"
        static let unknownInterface = standard + "UnknownInterface"
        static let unknownMethod = standard + "UnknownMethod"
        static let unknownProperty = standard + "UnknownProperty"
        static let readOnly = standard + "PropertyReadOnly"
        static let notSupported = standard + "NotSupported"
        static let fileNotFound = standard + "FileNotFound"
        static let timeout = standard + "Timeout"
        static let limits = standard + "LimitsExceeded"

        private static let standard = "org.freedesktop.DBus.Error."
    }

    /// The router's own error. What has no standard name gets one of ours, with the error's code.
    init(_ error: RouterError) {
        let name =
            switch error.code {
            case .unsupported, .unavailable, .mediaUnsupported: Name.notSupported
            case .mediaNotFound: Name.fileNotFound
            case .timeout: Name.timeout
            default: "org.router.Error." + error.code.rawValue.filter { $0.isASCII && $0.isLetter }
            }
        self.init(name, error.description)
    }

    /// Nil for what is no failure on this bus: a command without an object has no effect, as MPRIS has it.
    init?(_ outcome: CommandOutcome) {
        switch outcome {
        case .succeeded, .accepted, .unverified, .superseded, .noSuchContent, .noActionableItem: return nil
        case .deviceNotFound: self.init(Name.failed, "none of the session's rooms is there")
        case .unsupported: self.init(Name.notSupported, "what plays there cannot do that")
        case .denied: self.init(Name.accessDenied, "that is not allowed from here")
        case .timedOut: self.init(Name.timeout, "the rooms did not answer in time")
        case .failed(let error): self.init(error)
        }
    }
}
