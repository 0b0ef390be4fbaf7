import RouteModel

/// What a device has stored of what it plays, for another one to resume: it means something to one backend only.
public struct TransferState: Sendable, Hashable {
    /// More than this is in no backend's message.
    public static let maximumBytes = 65_536

    /// Who can read it.
    public let family: RouteFamily
    public let bytes: [UInt8]

    /// Nil for nothing, and for more than `maximumBytes`.
    public init?(family: RouteFamily, bytes: [UInt8]) {
        guard (1...Self.maximumBytes).contains(bytes.count) else { return nil }
        self.family = family
        self.bytes = bytes
    }
}
