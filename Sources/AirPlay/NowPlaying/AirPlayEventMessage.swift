/// What a receiver says on the event channel: the body of its `POST /command`
/// (`Protocols/airplay`, “Commands from the receiver”).
public enum AirPlayEventMessage: Sendable, Hashable {
    case command(AirPlayRemoteCommand)
    /// Something of `/info` has changed; the keys are those of `/info`.
    case updateInfo(PropertyList)
    /// A kind, or a command, that is not known: to be answered like any other, and passed over.
    case unknown(type: String, value: String?)

    /// Nil where it is no dictionary with a `type`.
    public init?(_ body: PropertyList) {
        guard let type = body["type"]?.string else { return nil }
        switch type {
        case "sendMediaRemoteCommand":
            let value = body["value"]?.string ?? body["params"]?["value"]?.string
            guard let value, let command = AirPlayRemoteCommand(eventValue: value) else {
                self = .unknown(type: type, value: value)
                return
            }
            self = .command(command)
        case "updateInfo":
            self = .updateInfo(body["value"] ?? body["params"] ?? .dictionary([:]))
        default: self = .unknown(type: type, value: body["value"]?.string)
        }
    }

    /// Nil where the bytes are no property list, or no such dictionary.
    public init?(parsing bytes: [UInt8]) {
        guard let list = try? PropertyList(parsing: bytes) else { return nil }
        self.init(list)
    }

    /// For whoever plays the receiver; nil for a command that has no letters here.
    public var body: PropertyList? {
        switch self {
        case .command(let command):
            command.eventValue.map {
                .dictionary(["type": .string("sendMediaRemoteCommand"), "value": .string($0)])
            }
        case .updateInfo(let info): .dictionary(["type": .string("updateInfo"), "value": info])
        case .unknown(let type, let value):
            .dictionary(["type": .string(type)].merging(value.map { ["value": .string($0)] } ?? [:]) { $1 })
        }
    }

    /// The volume that an `updateInfo` tells, in the AirPlay number.
    public var volume: Double? {
        guard case .updateInfo(let info) = self, let volume = (info["volume"] ?? info["initialVolume"])?.real,
            volume.isFinite
        else { return nil }
        return volume
    }
}
