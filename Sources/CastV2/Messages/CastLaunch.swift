/// What LAUNCH asks for (`Protocols/cast` section 6).
public struct CastLaunch: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    public var appID: String
    /// BCP 47.
    public var language: String
    /// Kinds of app that the sender can talk to, in the device's words; the device chooses among them.
    public var supportedAppTypes: [String]
    /// What the app itself is handed, `appParams`: its own to define.
    public var parameters: CastJSON?
    /// Signs a person in to the app. A secret: descriptions leave it out.
    public var credentials: String?

    public init(
        appID: String, language: String = "en", supportedAppTypes: [String] = ["WEB", "ANDROID_TV"],
        parameters: CastJSON? = nil, credentials: String? = nil
    ) {
        self.appID = appID
        self.language = language
        self.supportedAppTypes = supportedAppTypes
        self.parameters = parameters
        self.credentials = credentials
    }

    public var description: String { "launch of \(appID)" }
    public var debugDescription: String { description }
}

/// Why a device did not launch an app, by the word that it gave (`Protocols/cast` section 6).
public enum CastLaunchProblem: Sendable, Hashable {
    case notFound
    case badParameter
    case cancelled
    case systemError
    /// The device's settings, or a person in front of it, said no.
    case notAllowed
    /// The device would have asked a person, but may not show notifications.
    case notificationsDisabled
    case other(String)

    /// Reads `reason` or `extendedError` of LAUNCH_ERROR, or `status` of LAUNCH_STATUS.
    public init(word: String) {
        self =
            switch word.uppercased() {
            case "NOT_FOUND": .notFound
            case "BAD_PARAMETER", "BAD_PARAMETERS": .badParameter
            case "CANCELLED", "CANCELED": .cancelled
            case "SYSTEM_ERROR": .systemError
            case "NOTIFICATIONS_DISABLED": .notificationsDisabled
            case let word where word.contains("NOT_ALLOWED") || word.contains("DENIED"): .notAllowed
            default: .other(word)
            }
    }

    /// Whether asking once more may help: a device that was busy taking another app down says so, and means "again".
    public var isPassing: Bool { self == .systemError || self == .cancelled }

    /// Whether somebody said no, so that asking again would be a nuisance.
    public var isRefusal: Bool { self == .notAllowed || self == .notificationsDisabled }

    /// In words, as a clause that follows "the receiver says that".
    public var explanation: String {
        switch self {
        case .notFound: "it does not know this app"
        case .badParameter: "the app cannot be started with these parameters"
        case .cancelled: "the launch was cancelled there"
        case .systemError: "it could not start the app"
        case .notAllowed: "the launch was not allowed there"
        case .notificationsDisabled: "nobody can be asked to allow the launch, since its notifications are off"
        case .other(let word): "it could not start the app (\(word))"
        }
    }
}

/// What single apps need of a sender, as data.
public struct CastAppQuirks: Sendable, Hashable {
    /// Time, in nanoseconds, that the app must be left alone between running and CONNECT.
    public var waitBeforeConnect: Int64 = 0

    public init(waitBeforeConnect: Int64 = 0) { self.waitBeforeConnect = waitBeforeConnect }

    /// By app id, in upper case (`Protocols/cast` section 6).
    public static let known: [String: CastAppQuirks] = [
        // Audible: spoken to at once, it never answers.
        "25456794": CastAppQuirks(waitBeforeConnect: 1_000_000_000)
    ]

    public static func of(appID: String) -> CastAppQuirks { known[appID.uppercased()] ?? CastAppQuirks() }
}
