/// Our side of a data stream of type 130 (`Protocols/mrp`, “Order”). Pure: frames in, frames and news out.
public struct MRPClientStateMachine: Sendable {
    public enum Stage: Sendable, Hashable {
        case idle
        /// We said who we are, and wait for the same.
        case introducing
        /// We said what we want to be told.
        case subscribing
        case askingKeyboard
        case ready
    }

    public enum Action: Sendable, Hashable {
        case send(MRPFrame)
        case ready(MRPDeviceInfo)
        /// Something of `playback` is different now.
        case changed
        /// The answer to a message that was sent under this identifier.
        case answered(identifier: String, MRPProtocolMessage)
        /// Somebody asks for something at the device. It is answered already.
        case asked(AirPlayRemoteCommand)
        /// The device wants to know what plays here, under this identifier.
        case askedQueue(identifier: String)
    }

    public private(set) var stage = Stage.idle
    public private(set) var playback = MRPPlayback()
    public private(set) var device = MRPDeviceInfo()
    private let own: MRPDeviceInfo
    private var sequence: UInt64
    private var identifiers = 0
    private let prefix: String

    /// - Parameters:
    ///   - device: who we are.
    ///   - firstSequence: random, and beyond 32 bits as Apple's are.
    ///   - prefix: of the identifiers of our messages: unlike anybody else's.
    public init(device: MRPDeviceInfo, firstSequence: UInt64, prefix: String) {
        own = device
        sequence = firstSequence
        self.prefix = prefix
    }

    /// The first words. Call it once.
    public mutating func begin() -> [Action] {
        stage = .introducing
        var message = MRPProtocolMessage(.deviceInfo, identifier: identifier())
        message.deviceInfo = own
        return [.send(frame(message))]
    }

    /// Takes a frame. Throws where its payload is malformed; the stream may go on.
    public mutating func receive(_ frame: MRPFrame) throws(MRPDecodingError) -> [Action] {
        guard frame.kind == .sync else { return [] }
        // Answered in any case: the device waits for that, whatever we make of it.
        var actions: [Action] = [.send(MRPFrame(kind: .reply, sequence: frame.sequence))]
        for message in try MRPPayload.decode(frame.payload) { actions += take(message) }
        return actions
    }

    /// A message of ours with a new identifier, in its frame.
    public mutating func ask(_ message: MRPProtocolMessage) -> (identifier: String, frame: MRPFrame) {
        var message = message
        message.identifier = identifier()
        return (message.identifier, frame(message))
    }

    /// A message of ours that nobody answers, in its frame.
    public mutating func tell(_ message: MRPProtocolMessage) -> MRPFrame { frame(message) }

    private mutating func take(_ message: MRPProtocolMessage) -> [Action] {
        var actions: [Action] = []
        switch (stage, message.kind) {
        case (_, .sendCommand):
            let command = message.sendCommand.remoteCommand
            var answer = MRPProtocolMessage(.sendCommandResult, identifier: message.identifier)
            answer.sendCommandResult.sendError = command == nil ? Self.ignored : 0
            answer.sendCommandResult.handlerReturnStatus = 0
            return [.send(frame(answer))] + (command.map { [.asked($0)] } ?? [])
        case (_, .playbackQueueRequest): return [.askedQueue(identifier: message.identifier)]
        case (.introducing, .deviceInfo):
            device = message.deviceInfo
            stage = .subscribing
            var connected = MRPProtocolMessage(.setConnectionState)
            connected.setConnectionState.state = 2
            var wanted = MRPProtocolMessage(.clientUpdatesConfig, identifier: identifier())
            wanted.clientUpdatesConfig.artwork = true
            wanted.clientUpdatesConfig.nowPlaying = false
            wanted.clientUpdatesConfig.volume = true
            wanted.clientUpdatesConfig.keyboard = true
            wanted.clientUpdatesConfig.outputDevices = true
            actions = [.send(frame(connected)), .send(frame(wanted))]
        case (.subscribing, _) where isOurs(message):
            stage = .askingKeyboard
            var keyboard = MRPProtocolMessage(.getKeyboardSession, identifier: identifier())
            keyboard.getKeyboardSession = ""
            actions = [.send(frame(keyboard))]
        case (.askingKeyboard, _) where isOurs(message):
            stage = .ready
            actions = [.ready(device)]
        case (.ready, _) where isOurs(message):
            actions = [.answered(identifier: message.identifier, message)]
        case (_, .deviceInfo), (_, .deviceInfoUpdate):
            if message.hasDeviceInfo { device = message.deviceInfo }
        default: break
        }
        if playback.take(message) { actions.append(.changed) }
        return actions
    }

    /// `sendError` of a command that we have no use for.
    private static let ignored: Int32 = 3

    private func isOurs(_ message: MRPProtocolMessage) -> Bool { message.identifier.hasPrefix(prefix) }

    private mutating func identifier() -> String {
        identifiers += 1
        return "\(prefix)-\(identifiers)"
    }

    private mutating func frame(_ message: MRPProtocolMessage) -> MRPFrame {
        var message = message
        message.uniqueIdentifier = message.hasIdentifier ? message.identifier : identifier()
        let frame = MRPFrame(kind: .sync, sequence: sequence, payload: MRPPayload.encode([message]))
        sequence &+= 1
        return frame
    }
}
