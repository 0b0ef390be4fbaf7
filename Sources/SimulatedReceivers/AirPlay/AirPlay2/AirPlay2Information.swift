import AirPlay
import HomeKitPairing

extension SimulatedAirPlay2Configuration {
    /// The body of an answer to GET /info (`Protocols/airplay/README.md`, “GET /info”).
    ///
    /// - Parameter record: its `_airplay._tcp` record, where the sender asked for that too.
    func information(_ identity: PairingServerBook, volume: Double, record: [String: String]?) -> PropertyList {
        var list: [String: PropertyList] = [
            "deviceID": .string(deviceID), "features": .integer(Int64(bitPattern: features.rawValue)),
            "statusFlags": .integer(Int64(statusFlags)), "pk": .data(identity.key.publicKey),
            "pi": .string(identity.identifier), "psi": .string(identity.identifier), "model": .string(model),
            "name": .string(name), "manufacturer": .string("router"), "sourceVersion": .string("366.0"),
            "protocolVersion": .string("1.1"), "vv": .integer(2), "initialVolume": .real(volume),
            "volumeControlType": .integer(3), "keepAliveSendStatsAsBody": .bool(true),
            "audioLatencies": .array([
                .dictionary([
                    "type": .integer(Int64(StreamKind.realtime.rawValue)), "audioType": .string("default"),
                    "inputLatencyMicros": .integer(0), "outputLatencyMicros": .integer(0),
                ])
            ]),
        ]
        var formats: [String: PropertyList] = [:]
        if streams.contains(.realtime) { formats["audioStream"] = .integer(Int64(bitPattern: realtimeFormats)) }
        if streams.contains(.buffered) { formats["bufferStream"] = .integer(Int64(bitPattern: bufferedFormats)) }
        list["supportedFormats"] = .dictionary(formats)
        if let record { list["txtAirPlay"] = .data(Self.recordData(record)) }
        return .dictionary(list)
    }

    /// As DNS has it: each entry behind its length. Entries of more than 255 bytes cannot be.
    private static func recordData(_ record: [String: String]) -> [UInt8] {
        record.sorted { $0.key < $1.key }.flatMap { key, value -> [UInt8] in
            let entry = Array("\(key)=\(value)".utf8)
            return entry.count > 255 ? [] : [UInt8(entry.count)] + entry
        }
    }
}
