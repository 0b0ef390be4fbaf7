/// What a transfer did: what played in some rooms goes on in others (`model.md` section 10).
public struct TransferResult: Codable, Sendable, Hashable {
    public enum Method: String, Codable, Sendable, Hashable {
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
