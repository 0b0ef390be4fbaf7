import Foundation
import RouteModel

/// What the bridge to the desktop is told by its owner.
public struct MPRISConfiguration: Sendable {
    /// The bus, as D-Bus writes addresses; nil: the session bus that the environment names.
    public var address: String?
    /// A folder of our own for pictures, made if it is not there, with mode 0700; nil shows none.
    public var artFolder: String?
    /// The clock of `SessionSnapshot.now`, in nanoseconds.
    public var now: @Sendable () -> Int64
    /// The picture of an item as JPEG, PNG, GIF or WebP; nil where it has none.
    public var picture: @Sendable (QueueItem) async -> [UInt8]?
    /// Told once that there is no bus, or that it does not let us in: all else goes on.
    public var notice: @Sendable (Notice) -> Void

    public init(
        address: String? = nil, artFolder: String? = nil, now: @escaping @Sendable () -> Int64,
        picture: @escaping @Sendable (QueueItem) async -> [UInt8]? = { _ in nil },
        notice: @escaping @Sendable (Notice) -> Void = { _ in }
    ) {
        self.address = address
        self.artFolder = artFolder
        self.now = now
        self.picture = picture
        self.notice = notice
    }
}
