import NIOCore

/// What a simulated AirPlay 2 receiver keeps of the session that it has, from the first SETUP to its end. Belongs to the
/// receiver's actor.
final class AirPlay2Session {
    /// Something that runs for as long as the session, or a stream of it.
    typealias Work = Task<Void, Never>

    /// Which connection it came by.
    let connection: Int
    /// Nil in one of remote control alone.
    let ports: RAOPDatagramPorts?
    let clock: AirPlay2SenderClock
    let events: SimulatedEventChannel
    /// What keys are made of; nil in the clear. Secret.
    let secret: [UInt8]?
    /// The sender's address.
    let sender: String
    /// The grandmaster's identity, where SETUP told it.
    var masterID: UInt64?
    var realtime: AirPlay2RealtimeStream?
    var buffered: AirPlay2BufferedStream?
    /// Data streams by their ids, with what serves them.
    var data: [Int: (stream: SimulatedDataStream, server: Work)] = [:]
    /// What reads the connection of the buffered stream, ended with it.
    var bufferedServer: Work?
    /// Which streams are which.
    var realtimeID: Int?
    var bufferedID: Int?
    /// When RECORD came.
    var recordedAt: Int64?
    /// Those that somebody is yet to press.
    var buttons: [SimulatedAirPlayButton.Timed]
    /// Nothing of it is heard: RECORD came too late.
    var isMute = false
    /// Whether the last tick brought sound.
    var sounds = false
    /// What reads, ticks and serves, owned by the receiver.
    var tasks: [Work] = []

    init(
        connection: Int, ports: RAOPDatagramPorts?, clock: AirPlay2SenderClock, events: SimulatedEventChannel,
        secret: [UInt8]?, sender: String, buttons: [SimulatedAirPlayButton.Timed]
    ) {
        self.connection = connection
        self.ports = ports
        self.clock = clock
        self.events = events
        self.secret = secret
        self.sender = sender
        self.buttons = buttons
    }

    /// An address of the sender; nil for no port.
    func address(_ port: Int?) -> SocketAddress? {
        guard let port, port > 0 else { return nil }
        return try? SocketAddress(ipAddress: sender, port: port)
    }
}
