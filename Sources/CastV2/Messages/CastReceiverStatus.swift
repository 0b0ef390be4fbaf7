/// What runs on a device and how loud it is (`Protocols/cast` section 6). Always whole: devices push the full status.
public struct CastReceiverStatus: Sendable, Hashable {
    public var applications: [CastApplication]
    public var volume: CastVolume?
    public var isActiveInput: Bool?
    public var isStandBy: Bool?

    public init(
        applications: [CastApplication] = [], volume: CastVolume? = nil, isActiveInput: Bool? = nil,
        isStandBy: Bool? = nil
    ) {
        self.applications = applications
        self.volume = volume
        self.isActiveInput = isActiveInput
        self.isStandBy = isStandBy
    }

    /// Reads the `status` object of RECEIVER_STATUS; whatever it lacks counts as not there.
    public init(json: CastJSON) {
        applications = json["applications"].elements.compactMap(CastApplication.init(json:))
        volume = json["volume"].object.map { _ in CastVolume(json: json["volume"]) }
        isActiveInput = json["isActiveInput"].bool
        isStandBy = json["isStandBy"].bool
    }

    /// The app that people see: not the idle screen.
    public var activeApplication: CastApplication? { applications.first { !$0.isIdleScreen } }

    public func application(appID: String) -> CastApplication? {
        applications.first { $0.appID.caseInsensitiveCompare(to: appID) }
    }

    public func application(sessionID: String) -> CastApplication? {
        applications.first { $0.sessionID == sessionID }
    }
}

/// One running app.
public struct CastApplication: Sendable, Hashable {
    /// The app that shows pictures while nothing is cast.
    public static let backdropID = "E8C28D3C"
    /// The app that plays a URL without any app of one's own.
    public static let defaultMediaReceiverID = "CC1AD845"

    public var appID: String
    public var displayName: String?
    public var sessionID: String
    /// Where messages for the app go. Often equal to the session id, which must not be relied upon.
    public var transportID: String
    public var statusText: String?
    public var isIdleScreen: Bool
    public var namespaces: [String]

    public init(
        appID: String, displayName: String? = nil, sessionID: String, transportID: String, statusText: String? = nil,
        isIdleScreen: Bool = false, namespaces: [String] = []
    ) {
        self.appID = appID
        self.displayName = displayName
        self.sessionID = sessionID
        self.transportID = transportID
        self.statusText = statusText
        self.isIdleScreen = isIdleScreen
        self.namespaces = namespaces
    }

    /// An app without an id is none; one without a transport id cannot be talked to, but it is there.
    init?(json: CastJSON) {
        guard let appID = json["appId"].string, !appID.isEmpty else { return nil }
        let sessionID = json["sessionId"].string ?? ""
        self.init(
            appID: appID, displayName: json["displayName"].string, sessionID: sessionID,
            transportID: json["transportId"].string ?? "", statusText: json["statusText"].string,
            isIdleScreen: json["isIdleScreen"].bool ?? (appID == Self.backdropID),
            namespaces: json["namespaces"].elements.compactMap { $0["name"].string ?? $0.string })
    }
}

/// A volume as devices and streams report it.
public struct CastVolume: Sendable, Hashable {
    public enum ControlType: String, Sendable, Hashable {
        /// The device weakens its own sound.
        case attenuation
        /// Nothing that a sender can change.
        case fixed
        /// The volume of the whole set, as a television's own remote control changes it.
        case master
    }

    /// 0 to 1.
    public var level: Double?
    public var muted: Bool?
    public var controlType: ControlType?
    /// The smallest change that the device makes, 0 to 1.
    public var stepInterval: Double?

    public init(
        level: Double? = nil, muted: Bool? = nil, controlType: ControlType? = nil, stepInterval: Double? = nil
    ) {
        self.level = level
        self.muted = muted
        self.controlType = controlType
        self.stepInterval = stepInterval
    }

    /// Whether a sender can change it. Devices that do not say so can.
    public var isAdjustable: Bool { controlType != .fixed }

    /// The level `steps` of the device's own steps up, or down; nil where it is fixed or not known.
    public func level(stepping steps: Int) -> Double? {
        guard isAdjustable, let level else { return nil }
        let step = stepInterval ?? 0.05
        // From step to step, so that up and down meet the same levels whatever was set in between.
        let place = steps >= 0 ? (level / step + 1e-6).rounded(.down) : (level / step - 1e-6).rounded(.up)
        return min(1, max(0, (place + Double(steps)) * step))
    }

    init(json: CastJSON) {
        level = json["level"].double.map { min(1, max(0, $0)) }
        muted = json["muted"].bool
        controlType = json["controlType"].string.flatMap { ControlType(rawValue: $0.lowercased()) }
        stepInterval = json["stepInterval"].double.flatMap { $0 > 0 && $0 <= 1 ? $0 : nil }
    }
}

extension String {
    fileprivate func caseInsensitiveCompare(to other: String) -> Bool { lowercased() == other.lowercased() }
}
