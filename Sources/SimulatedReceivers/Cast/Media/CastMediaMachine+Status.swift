/// What a MEDIA_STATUS says (`Protocols/cast` section 7).
extension CastMediaMachine {
    mutating func reply(_ asker: CastAsker, at now: Int64) {
        actions.append(.reply(asker, message("MEDIA_STATUS", ["status": .array(statuses(at: now, withMedia: true))])))
    }

    mutating func replyAndPush(_ asker: CastAsker, at now: Int64) {
        reply(asker, at: now)
        pushStatus(at: now)
    }

    mutating func pushStatus(at now: Int64, withMedia: Bool = false) { push(statuses(at: now, withMedia: withMedia)) }

    mutating func push(_ statuses: [JSONValue]) {
        actions.append(.push(message("MEDIA_STATUS", ["requestId": 0, "status": .array(statuses)])))
    }

    mutating func pushLoading(at now: Int64) {
        var fields = baseStatus(at: now)
        fields["mediaSessionId"] = mediaSessionID.map { .integer($0) }
        fields["playerState"] = "IDLE"
        fields["loadingItemId"] = itemID
        fields["extendedStatus"] = [
            "playerState": "LOADING", "media": currentMedia ?? .null,
            "mediaSessionId": mediaSessionID.map { .integer($0) } ?? .null,
        ]
        push([.object(fields)])
    }

    private var canSeek: Bool { duration != nil || !isActive || phase == .loading }

    private var supportedCommands: Int {
        // Basic media and, where sessions can be stored, STREAM_TRANSFER.
        var commands = 12_303 | (configuration.storesSessions ? 262_144 : 0)
        if !canSeek || live != nil { commands &= ~8_192 }
        if !canSeek { commands &= ~2 }
        if items.count > 1 { commands |= 64 | 128 | 256 | 1_024 | 2_048 }
        if adBreak?.clip.skippableAfter != nil { commands |= 512 }
        return commands
    }

    private func baseStatus(at now: Int64) -> [String: JSONValue] {
        var fields: [String: JSONValue] = [
            "currentTime": .number(position(at: now)), "playbackRate": .number(rate),
            "supportedMediaCommands": .integer(supportedCommands), "repeatMode": .string(repeatMode),
            "volume": ["level": .number(streamLevel), "muted": .bool(streamMuted)],
        ]
        fields["customData"] = loadRequest["customData"]
        if let live {
            fields["liveSeekableRange"] = [
                "start": .number(live.start(at: now)), "end": .number(live.edge(at: now)), "isMovingWindow": true,
                "isLiveDone": .bool(live.isDone(at: now)),
            ]
        }
        if let picture, adBreak == nil {
            fields["videoInfo"] = [
                "width": .integer(picture.width), "height": .integer(picture.height), "hdrType": .string(picture.range),
            ]
        }
        return fields
    }

    func status(idle reason: String, session: Int?, at now: Int64) -> JSONValue {
        var fields = baseStatus(at: now)
        fields["playerState"] = "IDLE"
        fields["idleReason"] = .string(reason)
        fields["mediaSessionId"] = session.map { .integer($0) }
        fields["currentItemId"] = session == nil ? nil : itemID
        return .object(fields)
    }

    /// The list of a MEDIA_STATUS. Media and items are left out where nothing changed: senders merge.
    func statuses(at now: Int64, withMedia: Bool) -> [JSONValue] {
        var fields = baseStatus(at: now)
        switch phase {
        case .empty: return []
        case .idle(let reason): return [status(idle: reason, session: nil, at: now)]
        case .loading where adBreak != nil: fields["playerState"] = "BUFFERING"
        case .loading: fields["playerState"] = "IDLE"
        case .buffering, .playing, .paused: fields["playerState"] = .string(phase.word)
        }
        fields["mediaSessionId"] = mediaSessionID.map { .integer($0) }
        fields["currentItemId"] = itemID
        if phase == .loading, adBreak == nil { fields["extendedStatus"] = ["playerState": "LOADING"] }
        if let preload, preload.isReady { fields["preloadedItemId"] = .integer(preload.item) }
        if !activeTracks.isEmpty || currentMedia?["tracks"] != nil {
            fields["activeTrackIds"] = .array(activeTracks.map { .integer($0) })
        }
        fields["breakStatus"] = breakStatus(at: now)
        guard withMedia else { return [.object(fields)] }
        fields["media"] = mediaInformation
        // At most the item before and the one after go along.
        let window = max(0, currentIndex - 1)...min(items.count - 1, currentIndex + 1)
        fields["items"] = .array(items[window].map(\.wire))
        if !queueData.isEmpty || isShuffled {
            fields["queueData"] = .object(
                queueData.merging(["repeatMode": .string(repeatMode), "shuffle": .bool(isShuffled)]) { $1 })
        }
        return [.object(fields)]
    }

    /// The media that plays, with what the device has found out about it.
    private var mediaInformation: JSONValue? {
        guard var media = currentMedia?.object else { return nil }
        let length = adBreak?.contentDuration ?? duration
        if let length, live == nil { media["duration"] = .number(length) }
        // catt leaves the type open, and seeks only in what the device calls buffered.
        if media["streamType"]?.string == nil { media["streamType"] = length == nil ? "LIVE" : "BUFFERED" }
        media["textTrackStyle"] = textTrackStyle ?? media["textTrackStyle"]
        if let breaks = media["breaks"]?.array {
            media["breaks"] = .array(
                breaks.map { entry in
                    guard var fields = entry.object, let id = entry["id"]?.string else { return entry }
                    fields["isWatched"] = .bool(watchedBreaks.contains(id) || entry["isWatched"]?.bool == true)
                    return .object(fields)
                })
        }
        return .object(media)
    }
}
