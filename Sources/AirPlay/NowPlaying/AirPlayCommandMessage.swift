import SwiftProtobuf

/// The body of a `POST /command` of ours (`Protocols/airplay`, “Now playing”).
public enum AirPlayCommandMessage: Sendable, Hashable {
    /// Who we are: before everything else.
    case deviceInfo(MRPDeviceInfo)
    /// All of it, in place of what was there.
    case replace(AirPlayNowPlaying)
    /// Its place alone: what is drawn stays.
    case update(AirPlayNowPlaying)
    case supportedCommands([NowPlayingCommandNumber])
    case playbackState(AirPlayNowPlaying.State)
    case nowPlayingClient(MRPNowPlayingClient)

    public static let path = "/command"
    public static let contentType = "application/x-apple-binary-plist"

    public var body: PropertyList {
        switch self {
        case .deviceInfo(let info):
            var message = MRPProtocolMessage(.deviceInfo)
            message.deviceInfo = info
            message.uniqueIdentifier = info.uniqueIdentifier
            return .dictionary(["params": .dictionary(["data": .data(MRPPayload.lengthPrefixed([message]))])])
        case .replace(let item): return Self.information(item.whole, policy: "replace")
        case .update(let item): return Self.information(item.timeline, policy: "update")
        case .supportedCommands(let commands):
            let list = commands.map { command in
                PropertyList.data(
                    PropertyList.dictionary([
                        "kCommandInfoCommandKey": .integer(command.rawValue), "kCommandInfoEnabledKey": .bool(true),
                    ]).encoded())
            }
            return Self.message("updateMRSupportedCommands", ["mrSupportedCommandsFromSender": .array(list)])
        case .playbackState(let state):
            return Self.message("updateMRPlaybackState", ["mrPlaybackState": .integer(state.rawValue)])
        case .nowPlayingClient(let client):
            let bytes: [UInt8] = (try? client.serializedBytes()) ?? []
            return Self.message("updateMRNowPlayingClient", ["mrNowPlayingClient": .data(bytes)])
        }
    }

    private static func information(_ keys: [String: PropertyList], policy: String) -> PropertyList {
        message(
            "updateMRNowPlayingInfo",
            ["type": .string("npi-text"), "mergePolicy": .string(policy), "params": .dictionary(keys)])
    }

    private static func message(_ type: String, _ params: [String: PropertyList]) -> PropertyList {
        .dictionary(["type": .string(type), "params": .dictionary(params)])
    }
}

/// Decides what to send when what plays has changed: as little as does it, for each `replace` makes the receiver draw
/// everything anew.
public struct AirPlayNowPlayingSender: Sendable {
    /// Seconds that the receiver's own counting may be off before it is told.
    static let tolerance = 0.25

    private let device: MRPDeviceInfo
    private let client: MRPNowPlayingClient
    private var last: AirPlayNowPlaying?
    private var refusesUpdates = false

    /// - Parameters:
    ///   - identifier: ours, the same for all of the installation.
    ///   - name: how this sender calls itself.
    ///   - sessionID, groupID: those of SETUP.
    public init(identifier: String, name: String, sessionID: String, groupID: String, processIdentifier: Int32) {
        var device = MRPDeviceInfo(ours: identifier, name: name)
        device.routingContextID = sessionID
        device.airPlayGroupID = groupID
        self.device = device
        var client = MRPNowPlayingClient()
        client.processIdentifier = processIdentifier
        client.bundleIdentifier = MRPDeviceInfo.bundle
        client.displayName = name
        self.client = client
    }

    /// The messages that tell of this, in order. None where the receiver knows all of it.
    public mutating func show(_ item: AirPlayNowPlaying) -> [AirPlayCommandMessage] {
        guard let before = last else {
            last = item
            return [
                .deviceInfo(device), .replace(item), .supportedCommands(NowPlayingCommandNumber.offered),
                .playbackState(item.state), .nowPlayingClient(client),
            ]
        }
        last = item
        let state: [AirPlayCommandMessage] = before.state == item.state ? [] : [.playbackState(item.state)]
        guard item.isSameItem(as: before) else { return [.replace(item)] + state }
        // At the end nobody counts any more.
        if item.state == .stopped { return state }
        let drift = before.extrapolated(to: item.instant) - item.elapsed
        if state.isEmpty, abs(drift) <= Self.tolerance {
            // As told: later drift is measured from there.
            last = before
            return []
        }
        return [refusesUpdates ? .replace(item) : .update(item)] + state
    }

    /// What to send in place of a message that was refused; nil where there is nothing else.
    public mutating func refused(_ message: AirPlayCommandMessage) -> AirPlayCommandMessage? {
        guard case .update(let item) = message, !refusesUpdates else { return nil }
        refusesUpdates = true
        return .replace(item)
    }

    /// A new connection knows nothing.
    public mutating func reset() { last = nil }
}

extension MRPDeviceInfo {
    static let bundle = "router"

    /// This sender, as devices are told of it.
    ///
    /// - Parameters:
    ///   - identifier: ours, the same for all of the installation.
    ///   - name: how this sender calls itself.
    public init(ours identifier: String, name: String) {
        self.init()
        uniqueIdentifier = identifier
        self.name = name
        modelName = "Computer"
        applicationBundleIdentifier = Self.bundle
        protocolVersion = 1
        lastSupportedMessageType = 139
        deviceUid = identifier
        deviceClass = 9
        logicalDeviceCount = 1
    }
}

extension AirPlay2Command {
    /// As the control channel takes it.
    public init(_ message: AirPlayCommandMessage) {
        let list = message.body
        type = list["type"]?.string ?? ""
        propertyList = list
    }
}

extension AirPlayEventMessage {
    /// As the event channel gave it.
    public init(_ command: AirPlay2Command) {
        self = AirPlayEventMessage(command.propertyList) ?? .unknown(type: command.type, value: command.value)
    }
}
