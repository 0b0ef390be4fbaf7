import AirPlay
import Foundation

/// An Apple TV's side of a data stream of type 130 (`Protocols/mrp`), for one connection. Pure: bytes in, bytes and what was
/// pressed out. It shares frames and messages with our sender, and nothing else.
public struct SimulatedMRPDevice: Sendable {
    /// What it says it plays.
    public struct Playing: Sendable, Hashable {
        public var identifier: String
        public var title: String
        public var artist: String?
        public var album: String?
        /// In seconds.
        public var duration: Double?
        public var elapsed: Double
        /// 1 playing, 2 paused, 3 stopped.
        public var state: Int32

        public init(
            identifier: String = "item", title: String, artist: String? = nil, album: String? = nil,
            duration: Double? = nil, elapsed: Double = 0, state: Int32 = 1
        ) {
            self.identifier = identifier
            self.title = title
            self.artist = artist
            self.album = album
            self.duration = duration
            self.elapsed = elapsed
            self.state = state
        }
    }

    /// What the other side says it plays here.
    public struct Shown: Sendable, Hashable {
        public var app: String?
        public var identifier: String
        public var title: String?
        public var artist: String?
        public var album: String?
        public var duration: Double?
        public var elapsed: Double?
        /// 1 playing, 2 paused, 3 stopped.
        public var state: Int32?
        public var artwork: [UInt8]
        /// Numbers of the commands that it takes.
        public var commands: [Int32]
    }

    public struct Faults: Sendable, Hashable {
        /// Never answers the first message.
        public var staysSilent = false
        /// Refuses every command with this `sendError`.
        public var refusesCommands: Int32?
        /// Leaves commands unanswered.
        public var ignoresCommands = false

        public init() {}
    }

    public var faults = Faults()
    public let name: String
    public private(set) var playing: Playing?
    /// 0 to 1.
    public private(set) var volume: Float = 0.5
    /// Numbers of the commands that came, in order.
    public private(set) var pressed: [Int32] = []
    /// Who the other side says it is; nil before it has.
    public private(set) var controller: String?
    /// What the other side plays, as it says; nil before it has.
    public private(set) var shown: Shown?
    /// `sendError` of the answers to what was pressed here, in order.
    public private(set) var results: [Int32] = []
    /// Kinds of all messages that came, in order.
    public private(set) var heard: [Int32] = []
    private var isConnected = false
    private var wantsUpdates = false
    private var held: [UInt8] = []
    private var sequence: UInt64 = 0x2_0000_0000
    private static let bundle = "com.example.player"
    /// Seconds from 1970 to 2001.
    private static let epoch = 978_307_200.0
    private static let keptNumbers = 1000

    public init(name: String, playing: Playing? = nil) {
        self.name = name
        self.playing = playing
    }

    /// Takes bytes from the stream. Throws where they are no frame: the connection is to be closed then.
    public mutating func receive(_ bytes: some Sequence<UInt8>, now: Date = Date()) throws -> [UInt8] {
        held += bytes
        var answers: [UInt8] = []
        var start = 0
        while let (frame, used) = try MRPFrame.decode(held[start...]) {
            start += used
            guard frame.kind == .sync else { continue }
            answers += MRPFrame(kind: .reply, sequence: frame.sequence).encoded()
            for message in (try? MRPPayload.decode(frame.payload)) ?? [] { answers += take(message, now) }
        }
        held.removeFirst(start)
        return answers
    }

    /// Plays something else, or goes on differently; the bytes are to be sent.
    public mutating func play(_ playing: Playing?, now: Date = Date()) -> [UInt8] {
        self.playing = playing
        return wantsUpdates ? state(now) : []
    }

    /// Somebody turns its knob; the bytes are to be sent.
    public mutating func turn(to volume: Float) -> [UInt8] {
        self.volume = volume
        return wantsUpdates ? told(volume) : []
    }

    /// Somebody presses a button on it that is meant for the other side; the bytes are to be sent.
    ///
    /// - Parameters:
    ///   - number: of the protobuf messages (`Protocols/mrp`, “Two numberings”).
    ///   - position: in seconds, of a seek.
    public mutating func press(_ number: Int32, position: Double? = nil) -> [UInt8] {
        guard wantsUpdates else { return [] }
        var message = MRPProtocolMessage(.sendCommand, identifier: UUID().uuidString)
        message.sendCommand.command = number
        if let position { message.sendCommand.options.playbackPosition = position }
        return framed(message)
    }

    private mutating func hear(_ state: MRPSetState) {
        var now = shown ?? Shown(identifier: "", artwork: [], commands: [])
        if state.hasDisplayName { now.app = state.displayName }
        if state.hasPlaybackState { now.state = state.playbackState }
        if state.hasSupportedCommands {
            now.commands = state.supportedCommands.commands.filter(\.enabled).map(\.command)
        }
        if state.hasPlaybackQueue, let item = state.playbackQueue.contentItems.first {
            now = Shown(
                app: now.app, identifier: item.identifier, title: item.metadata.title,
                artist: item.metadata.hasTrackArtistName ? item.metadata.trackArtistName : nil,
                album: item.metadata.hasAlbumName ? item.metadata.albumName : nil,
                duration: item.metadata.hasDuration ? item.metadata.duration : nil,
                elapsed: item.metadata.hasElapsedTime ? item.metadata.elapsedTime : nil, state: now.state,
                artwork: Array(item.artworkData), commands: now.commands)
        }
        shown = now
    }

    private mutating func take(_ message: MRPProtocolMessage, _ now: Date) -> [UInt8] {
        if heard.count < Self.keptNumbers { heard.append(message.type) }
        switch message.kind {
        case .deviceInfo:
            controller = message.deviceInfo.name
            guard !faults.staysSilent else { return [] }
            var answer = MRPProtocolMessage(.deviceInfo, identifier: message.identifier)
            answer.deviceInfo.uniqueIdentifier = "A0000000-0000-4000-8000-000000000001"
            answer.deviceInfo.name = name
            answer.deviceInfo.modelName = "Apple TV"
            answer.deviceInfo.modelID = "AppleTV14,1"
            answer.deviceInfo.systemBuildVersion = "22J000"
            answer.deviceInfo.protocolVersion = 1
            answer.deviceInfo.lastSupportedMessageType = 139
            answer.deviceInfo.deviceClass = 4
            answer.deviceInfo.logicalDeviceCount = 1
            answer.deviceInfo.deviceUid = "A0000000-0000-4000-8000-000000000001"
            return framed(answer)
        case .setConnectionState:
            isConnected = message.setConnectionState.state == 2
            return []
        case .clientUpdatesConfig:
            guard isConnected else { return [] }
            wantsUpdates = true
            var able = MRPProtocolMessage(.volumeControlCapabilitiesDidChange)
            able.volumeControlCapabilitiesDidChange.capabilities.available = true
            able.volumeControlCapabilitiesDidChange.capabilities.capabilities = 3
            able.volumeControlCapabilitiesDidChange.outputDeviceUid = "A0000000-0000-4000-8000-000000000001"
            return framed(MRPProtocolMessage(.clientUpdatesConfig, identifier: message.identifier)) + state(now)
                + framed(able) + told(volume)
        case .getKeyboardSession:
            var answer = MRPProtocolMessage(.keyboard, identifier: message.identifier)
            answer.keyboard.state = 1
            return framed(answer)
        case .sendCommand: return obey(message, now)
        case .sendCommandResult:
            if results.count < Self.keptNumbers { results.append(message.sendCommandResult.sendError) }
            return []
        case .setState:
            hear(message.setState)
            return []
        case .updateContentItem:
            for item in message.updateContentItem.contentItems where item.identifier == shown?.identifier {
                if item.metadata.hasElapsedTime { shown?.elapsed = item.metadata.elapsedTime }
            }
            return []
        case .setVolume:
            volume = min(1, max(0, message.setVolume.volume))
            return told(volume)
        case .playbackQueueRequest: return state(now, answering: message.identifier)
        default:
            return message.hasIdentifier ? framed(MRPProtocolMessage(.generic, identifier: message.identifier)) : []
        }
    }

    private mutating func obey(_ message: MRPProtocolMessage, _ now: Date) -> [UInt8] {
        if pressed.count < Self.keptNumbers { pressed.append(message.sendCommand.command) }
        guard !faults.ignoresCommands else { return [] }
        var result = MRPProtocolMessage(.sendCommandResult, identifier: message.identifier)
        result.sendCommandResult.sendError = faults.refusesCommands ?? 0
        result.sendCommandResult.handlerReturnStatus = 0
        guard faults.refusesCommands == nil, let before = playing else { return framed(result) }
        switch message.sendCommand.command {
        case 1: playing?.state = 1
        case 2: playing?.state = 2
        case 3: playing?.state = before.state == 1 ? 2 : 1
        case 4: playing?.state = 3
        case 45: playing?.elapsed = message.sendCommand.options.playbackPosition
        default: break
        }
        return framed(result) + (playing == before ? [] : state(now))
    }

    private mutating func told(_ volume: Float) -> [UInt8] {
        var message = MRPProtocolMessage(.volumeDidChange)
        message.volumeDidChange.volume = volume
        message.volumeDidChange.outputDeviceUid = "A0000000-0000-4000-8000-000000000001"
        return framed(message)
    }

    private var path: MRPPlayerPath {
        var path = MRPPlayerPath()
        path.origin.type = 1
        path.origin.displayName = name
        path.client.bundleIdentifier = Self.bundle
        path.client.displayName = "Player"
        path.player.identifier = "player"
        path.player.displayName = "Player"
        return path
    }

    private mutating func state(_ now: Date, answering identifier: String? = nil) -> [UInt8] {
        var client = MRPProtocolMessage(.setNowPlayingClient)
        guard let playing else {
            client.setNowPlayingClient = MRPSetNowPlayingClient()
            return framed(client)
        }
        client.setNowPlayingClient.client = path.client
        var player = MRPProtocolMessage(.setNowPlayingPlayer)
        player.setNowPlayingPlayer.playerPath = path
        var item = MRPContentItem()
        item.identifier = playing.identifier
        item.metadata.title = playing.title
        if let artist = playing.artist { item.metadata.trackArtistName = artist }
        if let album = playing.album { item.metadata.albumName = album }
        if let duration = playing.duration { item.metadata.duration = duration }
        item.metadata.elapsedTime = playing.elapsed
        item.metadata.elapsedTimeTimestamp = now.timeIntervalSince1970 - Self.epoch
        item.metadata.playbackRate = playing.state == 1 ? 1 : 0
        item.metadata.mediaType = 1
        var message = MRPProtocolMessage(.setState, identifier: identifier)
        message.setState.playerPath = path
        message.setState.displayID = Self.bundle
        message.setState.displayName = "Player"
        message.setState.playbackState = playing.state
        message.setState.playbackStateTimestamp = now.timeIntervalSince1970 - Self.epoch
        message.setState.playbackQueue.location = 0
        message.setState.playbackQueue.contentItems = [item]
        message.setState.supportedCommands.commands = [1, 2, 3, 4, 5, 6, 45].map { (number: Int32) in
            var command = MRPCommandInfo()
            command.command = number
            command.enabled = true
            return command
        }
        return framed(client) + framed(player) + framed(message)
    }

    private mutating func framed(_ message: MRPProtocolMessage) -> [UInt8] {
        var message = message
        message.uniqueIdentifier = UUID().uuidString
        sequence &+= 1
        return MRPFrame(kind: .sync, sequence: sequence, payload: MRPPayload.encode([message])).encoded()
    }
}
