/// A protocol that an endpoint speaks.
public enum RouteProtocol: String, Codable, Sendable, Hashable, CaseIterable {
    case cast
    case castStreaming
    case raop
    case airplay2
    case airplayVideo
    case mpris

    /// The family that `--via` names.
    public var family: RouteFamily {
        switch self {
        case .cast, .castStreaming: .cast
        case .raop, .airplay2, .airplayVideo: .airplay
        case .mpris: .mpris
        }
    }

    /// What people call it.
    public var displayName: String {
        switch self {
        case .cast: "Google Cast"
        case .castStreaming: "Cast Streaming"
        case .raop: "AirPlay 1 (RAOP)"
        case .airplay2: "AirPlay 2"
        case .airplayVideo: "AirPlay video"
        case .mpris: "MPRIS"
        }
    }
}

/// Protocols as people choose among them.
public enum RouteFamily: String, Codable, Sendable, Hashable, CaseIterable {
    case airplay
    case cast
    case mpris

    public var displayName: String {
        switch self {
        case .airplay: "AirPlay"
        case .cast: "Google Cast"
        case .mpris: "MPRIS"
        }
    }
}

/// What `--via` or a room's preference says.
public enum ViaPreference: String, Codable, Sendable, Hashable, CaseIterable {
    case auto
    case airplay
    case cast
    /// Google Cast, sent a stream in place of a URL.
    case castStreaming = "cast-streaming"

    public var family: RouteFamily? {
        switch self {
        case .auto: nil
        case .airplay: .airplay
        case .cast, .castStreaming: .cast
        }
    }
}
