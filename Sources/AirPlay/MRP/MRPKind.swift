/// The kinds of messages that we know, by their numbers (`Protocols/mrp`, “Messages”).
public enum MRPKind: Int32, Sendable, Hashable {
    case sendCommand = 1
    case sendCommandResult = 2
    case getState = 3
    case setState = 4
    case setArtwork = 5
    case deviceInfo = 15
    case clientUpdatesConfig = 16
    case volumeControlAvailability = 17
    case keyboard = 23
    case getKeyboardSession = 24
    case playbackQueueRequest = 32
    case deviceInfoUpdate = 37
    case setConnectionState = 38
    case wakeDevice = 41
    case generic = 42
    case setNowPlayingClient = 46
    case setNowPlayingPlayer = 47
    case getVolume = 49
    case getVolumeResult = 50
    case setVolume = 51
    case volumeDidChange = 52
    case removeClient = 53
    case removePlayer = 54
    case updateClient = 55
    case updateContentItem = 56
    case updateContentItemArtwork = 57
    case volumeControlCapabilitiesDidChange = 64
    case setDefaultSupportedCommands = 72
}

extension MRPProtocolMessage {
    /// A message of this kind, under an identifier where an answer is wanted.
    public init(_ kind: MRPKind, identifier: String? = nil) {
        self.init()
        type = kind.rawValue
        if let identifier { self.identifier = identifier }
    }

    /// Nil for a kind that we do not know.
    public var kind: MRPKind? { MRPKind(rawValue: type) }
}
