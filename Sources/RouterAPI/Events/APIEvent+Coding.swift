import Foundation
import RouteModel

/// JSON as the API writes it.
public enum APIJSON {
    public static func encode(_ value: any Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return try encoder.encode(value)
    }

    public static func decode<Value: Decodable>(_ type: Value.Type, from bytes: some Sequence<UInt8>) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}

extension APIEvent {
    /// As it goes over the stream. Throws `EncodingError`.
    public func frame(sequence: Int) throws -> [UInt8] {
        Array("id: \(sequence)\nevent: \(name)\ndata: ".utf8) + Array(try APIJSON.encode(payload))
            + Array("\n\n".utf8)
    }

    /// Nil for an event of a later version, which is passed over. Throws `DecodingError`.
    public init?(_ event: ServerSentEvent) throws {
        func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try APIJSON.decode(type, from: event.data)
        }
        switch event.name {
        case "snapshot": self = .snapshot(try read(StateSnapshot.self))
        case "route.changed": self = .routeChanged(try read(RouteChange.self))
        case "rooms.changed": self = .roomsChanged(try read(RoomsChange.self))
        case "session.changed": self = .sessionChanged(try read(SessionChange.self))
        case "queue.changed": self = .queueChanged(try read(QueueUpdate.self))
        case "volume.changed": self = .volumeChanged(try read(VolumeChange.self))
        case "position.anchor": self = .positionAnchor(try read(AnchorChange.self))
        case "command.result": self = .commandResult(try read(CommandReport.self))
        case "scene.step": self = .sceneStep(try read(SceneRun.self))
        case "pairing.prompt": self = .pairingPrompt(try read(PairingProgress.self))
        case "notice": self = .notice(try read(Notice.self))
        case "phase": self = .phase(try read(PhaseStep.self))
        case "log": self = .log(try read(LogLine.self))
        default: return nil
        }
    }
}
