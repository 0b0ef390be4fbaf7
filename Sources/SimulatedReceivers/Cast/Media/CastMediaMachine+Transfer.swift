/// Stored sessions: what plays, taken to another device (`Protocols/cast` section 7).
extension CastMediaMachine {
    mutating func storeSession(_ asker: CastAsker, _ now: Int64) {
        guard configuration.storesSessions else { return refuse(asker, "NOT_SUPPORTED") }
        var load = loadRequest.filter { !["requestId", "type", "sessionId", "items"].contains($0.key) }
        load["media"] = currentMedia
        load["currentTime"] = .number(position(at: now))
        load["autoplay"] = .bool(wantsPlay)
        load["playbackRate"] = .number(rate)
        if !activeTracks.isEmpty { load["activeTrackIds"] = .array(activeTracks.map { .integer($0) }) }
        if items.count > 1 {
            load["queueData"] = .object(
                queueData.merging([
                    "items": .array(items.map { .object($0.fields) }), "startIndex": .integer(currentIndex),
                    "repeatMode": .string(repeatMode), "shuffle": false,
                ]) { $1 })
        }
        note("storeSession", ["position": .number(position(at: now)), "items": .integer(items.count)])
        let state: JSONValue = ["loadRequestData": .object(load), "customData": loadRequest["customData"] ?? .null]
        actions.append(.reply(asker, message("SESSION_STATE", ["sessionState": state])))
    }

    mutating func resumeSession(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        guard configuration.storesSessions else { return refuse(asker, "NOT_SUPPORTED") }
        guard let stored = request["sessionState"]?["loadRequestData"], stored.object != nil else {
            return refuse(asker, "INVALID_PARAMS")
        }
        note("resumeSession")
        load(stored, asker, now)
    }
}
