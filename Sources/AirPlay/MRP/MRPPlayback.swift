import SwiftProtobuf

/// What a device plays, as its messages tell it piece by piece (`Protocols/mrp`, “Now playing”). Pure.
public struct MRPPlayback: Sendable, Hashable {
    public enum State: Int32, Sendable, Hashable {
        case unknown = 0
        case playing = 1
        case paused = 2
        case stopped = 3
        case interrupted = 4
        case seeking = 5
    }

    /// One app, or one player of an app that has several.
    struct Player: Sendable, Hashable {
        var state = State.unknown
        var items: [MRPContentItem] = []
        var location = 0
        var commands: Set<MRPCommand> = []
    }

    /// Apps and players that are kept; a device that tells of more is not listened to.
    static let maximumPlayers = 64
    static let maximumItems = 256

    private var players: [String: Player] = [:]
    private var names: [String: String] = [:]
    private var activeClient: String?
    private var activePlayers: [String: String] = [:]

    /// 0 to 1; nil where the device does not tell it.
    public private(set) var volume: Double?
    /// The device whose volume it is.
    public private(set) var outputDevice: String?
    public private(set) var setsVolume = false

    public init() {}

    private var player: Player? {
        activeClient.flatMap { players[Self.key($0, activePlayers[$0])] ?? players[Self.key($0, nil)] }
    }

    /// How many apps and players it remembers.
    public var keptPlayers: Int { players.count }

    /// The app that plays, as people call it.
    public var app: String? { activeClient.map { names[$0] ?? $0 } }
    public var state: State { player?.state ?? .unknown }
    public var item: MRPContentItem? {
        guard let player else { return nil }
        return player.items.indices.contains(player.location) ? player.items[player.location] : player.items.first
    }
    public var title: String? { item.flatMap { $0.metadata.hasTitle ? $0.metadata.title : nil } }
    /// What the device says it takes.
    public var commands: Set<MRPCommand> { player?.commands ?? [] }

    /// Takes a message in. Returns whether anything changed.
    mutating func take(_ message: MRPProtocolMessage) -> Bool {
        let before = self
        switch message.kind {
        case .setState: take(message.setState)
        case .setDefaultSupportedCommands: take(message.setDefaultSupportedCommands)
        case .setNowPlayingClient:
            let client = message.setNowPlayingClient.client
            activeClient = client.hasBundleIdentifier ? client.bundleIdentifier : nil
            name(client)
        case .setNowPlayingPlayer:
            let path = message.setNowPlayingPlayer.playerPath
            activePlayers[path.client.bundleIdentifier] = path.player.identifier
            if activePlayers.count > Self.maximumPlayers { activePlayers = [:] }
        case .updateClient: name(message.updateClient.client)
        case .removeClient:
            let bundle = message.removeClient.client.bundleIdentifier
            players = players.filter { !$0.key.hasPrefix(bundle + "\n") }
            if activeClient == bundle { activeClient = nil }
        case .removePlayer: players[Self.key(message.removePlayer.playerPath)] = nil
        case .updateContentItem: update(message.updateContentItem)
        case .updateContentItemArtwork: update(message.updateContentItemArtwork)
        case .volumeDidChange: takeVolume(message.volumeDidChange.volume, of: message.volumeDidChange.outputDeviceUid)
        case .getVolumeResult: takeVolume(message.getVolumeResult.volume, of: "")
        case .volumeControlAvailability: takeAbility(message.volumeControlAvailability)
        case .volumeControlCapabilitiesDidChange:
            outputDevice = message.volumeControlCapabilitiesDidChange.outputDeviceUid
            takeAbility(message.volumeControlCapabilitiesDidChange.capabilities)
        default: break
        }
        return self != before
    }

    private mutating func take(_ state: MRPSetState) {
        let key = Self.key(state.playerPath)
        guard players[key] != nil || players.count < Self.maximumPlayers else { return }
        var player = players[key] ?? Player()
        if state.hasPlaybackState { player.state = State(rawValue: state.playbackState) ?? .unknown }
        if state.hasPlaybackQueue {
            player.items = Array(state.playbackQueue.contentItems.prefix(Self.maximumItems))
            player.location = Int(state.playbackQueue.location)
        }
        if state.hasSupportedCommands {
            player.commands = Set(
                state.supportedCommands.commands.filter(\.enabled).compactMap { MRPCommand(rawValue: $0.command) })
        }
        players[key] = player
        name(state.playerPath.client)
        if state.hasDisplayName, names.count < Self.maximumPlayers {
            names[state.playerPath.client.bundleIdentifier] = state.displayName
        }
    }

    /// Fields that an update carries replace those that were there; the others stay.
    private mutating func update(_ update: MRPUpdateContentItems) {
        let key = Self.key(update.playerPath)
        guard var player = players[key] else { return }
        for item in update.contentItems {
            guard let index = player.items.firstIndex(where: { $0.identifier == item.identifier }),
                let bytes: [UInt8] = try? item.serializedBytes()
            else { continue }
            try? player.items[index].merge(serializedBytes: bytes)
        }
        players[key] = player
    }

    private mutating func takeVolume(_ value: Float, of device: String) {
        guard (0...1).contains(value) else { return }
        volume = Double(value)
        if !device.isEmpty { outputDevice = device }
    }

    private mutating func takeAbility(_ ability: MRPVolumeControlAvailability) {
        // 2: absolute, 3: both.
        setsVolume = ability.available && ability.capabilities >= 2
    }

    private mutating func name(_ client: MRPNowPlayingClient) {
        guard client.hasBundleIdentifier, client.hasDisplayName, names.count < Self.maximumPlayers else { return }
        names[client.bundleIdentifier] = client.displayName
    }

    private static func key(_ path: MRPPlayerPath) -> String {
        key(path.client.bundleIdentifier, path.player.hasIdentifier ? path.player.identifier : nil)
    }

    private static func key(_ client: String, _ player: String?) -> String { "\(client)\n\(player ?? "")" }
}
