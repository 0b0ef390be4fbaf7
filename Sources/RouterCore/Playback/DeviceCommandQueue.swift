import RouteModel

/// Commands of one device that wait to be done. What a turning knob or a dragged slider says in a row becomes one.
struct DeviceCommandQueue: Sendable {
    /// How long the last of a row is waited for.
    static let settlingNanoseconds: Int64 = 150_000_000
    /// A press that comes by two ways (DACP and the event channel, say) comes within this time.
    static let doublingNanoseconds: Int64 = 100_000_000
    /// What waits at most: who presses more often than can be done is not heard.
    static let limit = 16

    private(set) var waiting: [RemoteCommand] = []
    private var lastToggle: Int64?

    /// - Returns: whether it was taken, or became part of one that was.
    @discardableResult
    mutating func add(_ command: RemoteCommand, at now: Int64) -> Bool {
        if command == .toggle {
            // Two of them undo each other.
            if let last = lastToggle, now - last < Self.doublingNanoseconds { return false }
            lastToggle = now
        }
        if let last = waiting.last, let merged = Self.merged(last, command) {
            waiting[waiting.count - 1] = merged
            return true
        }
        guard waiting.count < Self.limit else { return false }
        waiting.append(command)
        return true
    }

    /// Whether more of what is next may follow at once.
    var settles: Bool { waiting.first.map { Self.merged($0, $0) != nil } ?? false }

    mutating func take() -> RemoteCommand? { waiting.isEmpty ? nil : waiting.removeFirst() }

    /// Of two in a row: the later place, the sum of steps.
    private static func merged(_ first: RemoteCommand, _ second: RemoteCommand) -> RemoteCommand? {
        switch (first, second) {
        case (.setVolume(_, let one), .setVolume(_, let two)) where one == two,
            (.stepVolume(_, let one), .setVolume(_, let two)) where one == two:
            second
        case (.stepVolume(let one, let room), .stepVolume(let two, let same)) where room == same:
            .stepVolume(one + two, room: room)
        case (.seek, .seek), (.seekBy, .seek): second
        case (.seekBy(let one), .seekBy(let two)): .seekBy(one + two)
        default: nil
        }
    }
}
