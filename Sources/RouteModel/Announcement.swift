/// Something said into rooms, over what plays there (`model.md` section 9). It enters no queue and no history.
public struct AnnounceRequest: Codable, Sendable, Hashable {
    public enum Priority: String, Codable, Sendable, Hashable, CaseIterable {
        /// Lowers what plays, where the route can, and else waits for the end of the item.
        case low
        /// Interrupts what plays.
        case high
    }

    /// A file or a URL.
    public var what: String
    /// Rooms, groups, devices; empty: the only room there is.
    public var rooms: [String]
    /// How loud it is said; nil leaves the volume as it is.
    public var volume: VolumePosition?
    public var priority: Priority
    /// It is over after this long at the latest, 1 s to 10 min, and everything is restored.
    public var deadline: MediaTime
    /// Relative paths are taken from here.
    public var workingDirectory: String

    public init(
        what: String, rooms: [String] = [], volume: VolumePosition? = nil, priority: Priority = .high,
        deadline: MediaTime = MediaTime(seconds: 60), workingDirectory: String = "/"
    ) {
        self.what = what
        self.rooms = rooms
        self.volume = volume
        self.priority = priority
        self.deadline = deadline
        self.workingDirectory = workingDirectory
    }
}

/// What became of an announcement, room by room.
public struct AnnounceReport: Codable, Sendable, Hashable {
    public struct RoomReport: Codable, Sendable, Hashable {
        public enum Restored: String, Codable, Sendable, Hashable, CaseIterable {
            /// What played there plays on from where it was.
            case resumed
            /// It was paused there, and is again.
            case paused
            /// Nothing played there, and nothing was started.
            case nothing
            /// Somebody gave another command meanwhile, which stands.
            case overruled
            /// What somebody else's sender played there cannot be brought back.
            case foreign
            /// It could not be brought back: `error` says why.
            case failed
        }

        public var room: String
        /// Whether it was said there.
        public var said: Bool
        public var restored: Restored
        public var error: RouterError?

        public init(room: String, said: Bool, restored: Restored, error: RouterError? = nil) {
            self.room = room
            self.said = said
            self.restored = restored
            self.error = error
        }
    }

    public var title: String
    public var rooms: [RoomReport]

    public init(title: String, rooms: [RoomReport]) {
        self.title = title
        self.rooms = rooms
    }
}
