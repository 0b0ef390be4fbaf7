/// A wish to have what plays in other rooms (`model.md` section 10).
public struct TransferRequest: Codable, Sendable, Hashable {
    public enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
        /// It goes on in these rooms and in no other.
        case move
        /// It goes on in these rooms as well.
        case expand
        /// It goes on without these rooms.
        case shrink
        /// A second session plays a copy of the queue in these rooms, from the same place.
        case copy
    }

    public var kind: Kind
    /// Nil: the only one.
    public var session: SessionID?
    public var rooms: [String]
    /// Tells what would be lost, and does nothing.
    public var preflight: Bool

    public init(_ kind: Kind, session: SessionID? = nil, rooms: [String], preflight: Bool = false) {
        self.kind = kind
        self.session = session
        self.rooms = rooms
        self.preflight = preflight
    }
}

/// What a transfer did: what played in some rooms goes on in others (`model.md` section 10).
public struct TransferResult: Codable, Sendable, Hashable {
    public enum Method: String, Codable, Sendable, Hashable, CaseIterable {
        /// The device's app stored what it played, and another one resumed it.
        case session
        /// It was loaded again at its position.
        case load
    }

    /// The rooms that it played in, and those that it plays in now.
    public var from: [String]
    public var to: [String]
    public var method: Method
    /// Of what plays.
    public var title: String
    /// Where in the item it went on.
    public var position: MediaTime
    /// What the new rooms cannot do and the old ones could, in words: “no subtitles”.
    public var losses: [String]
    /// As it is after the transfer.
    public var session: SessionSnapshot

    public init(
        from: [String], to: [String], method: Method, title: String, position: MediaTime, losses: [String],
        session: SessionSnapshot
    ) {
        self.from = from
        self.to = to
        self.method = method
        self.title = title
        self.position = position
        self.losses = losses
        self.session = session
    }
}
