/// From a load to its end (`Protocols/cast` section 7).
extension CastMediaMachine {
    /// Types of media that a device has a player for.
    static func hasPlayer(for contentType: String) -> Bool {
        let type = contentType.lowercased().prefix { $0 != ";" }
        return ["audio/", "video/", "image/"].contains(where: type.hasPrefix)
            || ["mpegurl", "dash+xml", "sstr+xml", "/ogg", "/mp4"].contains(where: type.contains)
    }

    mutating func load(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let queued = request["queueData"]?["items"]?.array?.compactMap(\.object) ?? []
        var single: [String: JSONValue] = [:]
        for field in ["media", "autoplay", "activeTrackIds", "customData"] { single[field] = request[field] }
        let fields = queued.isEmpty ? [single] : queued
        let index = queued.isEmpty ? 0 : request["queueData"]?["startIndex"]?.int ?? 0
        guard fields.indices.contains(index), fields.count <= Self.maximumItems,
            fields.allSatisfy({ $0["itemId"] == nil && Self.isPlayable($0["media"]) })
        else { return refuse(asker, "INVALID_PARAMS") }
        makeWay(at: now)
        loadRequest = request.object ?? [:]
        setQueue(fields, data: request["queueData"]?.object ?? [:], startingAt: index)
        activeTracks = Self.trackIDs(request["activeTrackIds"] ?? fields[index]["activeTrackIds"])
        textTrackStyle = fields[index]["media"]?["textTrackStyle"]
        let url = Self.url(of: fields[index]["media"]) ?? ""
        note("load", ["request": request, "sender": .string(asker.sender), "url": .string(url)])
        let start =
            request["currentTime"]?.double ?? request["queueData"]?["startTime"]?.double
            ?? fields[index]["startTime"]?.double
        // VLC sends the string "false", never sends PLAY, and does play on devices: they take it as JavaScript does.
        begin(
            currentIndex, from: start ?? 0, autoplay: request["autoplay"]?.isTruthy ?? true,
            rate: request["playbackRate"]?.double, newSession: true, loader: asker, at: now)
    }

    /// A media item must say what it is and where.
    static func isPlayable(_ media: JSONValue?) -> Bool {
        url(of: media) != nil && media?["contentType"]?.string.map { !$0.isEmpty } ?? false
    }

    static func url(of media: JSONValue?) -> String? {
        let url = media?["contentUrl"]?.string ?? media?["contentId"]?.string
        return url?.isEmpty ?? true ? nil : url
    }

    /// Starts an item of the queue.
    mutating func begin(
        _ index: Int, from start: Double, autoplay: Bool, rate: Double? = nil, newSession: Bool, loader: CastAsker?,
        at now: Int64
    ) {
        stopClock(at: now)
        cancelLoad()
        dropPreload()
        if newSession {
            mediaSessionID = nextMediaSessionID
            nextMediaSessionID += 1
        } else if index != currentIndex {
            activeTracks = Self.trackIDs(items[index].fields["activeTrackIds"])
        }
        enter(index)
        phase = .loading
        wantsPlay = autoplay
        self.loader = loader
        self.rate = rate.map { min(2, max(0.5, $0)) } ?? 1
        basePosition = max(0, start)
        generation = nextGeneration()
        pushLoading(at: now)
        if let (code, reason) = failure(of: items[index].media) {
            actions.append(.player(.stop))
            return fail(code: code, reason: reason, at: now)
        }
        actions.append(.player(.load(playerLoad(of: index, from: basePosition), generation: generation, keeping: nil)))
        fetchTracks()
    }

    /// Forgets what was of the item before.
    mutating func enter(_ index: Int) {
        currentIndex = index
        duration = nil
        picture = nil
        live = nil
        adBreak = nil
        watchedBreaks = []
        cues = [:]
    }

    func playerLoad(of index: Int, from start: Double) -> PlayerLoad {
        let media = items[index].media
        var load = PlayerLoad(
            url: Self.url(of: media) ?? "", contentType: media?["contentType"]?.string ?? "", start: start)
        load.end = stretchEnd(of: index, from: start)
        load.needsOrigin = configuration.needsOrigin
        if configuration.playsSilence {
            load.silence = min(Self.silenceSeconds, max(0, media?["duration"]?.double ?? Self.silenceSeconds))
        }
        return load
    }

    /// How long media is of which nothing is fetched, at most and if nobody says.
    static let silenceSeconds: Double = 3_600

    /// Why media will not load, as far as the device knows without fetching it.
    func failure(of media: JSONValue?) -> (code: Int, reason: String)? {
        if let code = configuration.faults.loadFails { return (code, "a fault that was asked for") }
        let type = media?["contentType"]?.string ?? ""
        guard Self.hasPlayer(for: type), !configuration.refusedContentTypes.contains(type) else {
            return (104, "no player for \(type)")
        }
        if configuration.refusesHostNames, let url = Self.url(of: media), !MediaFetcher.namesAddress(url) {
            return (103, "the host name is unknown to 8.8.8.8, where this device asks")
        }
        return nil
    }

    mutating func cancelLoad() {
        guard let loader else { return }
        actions.append(.reply(loader, message("LOAD_CANCELLED", ["itemId": itemID])))
        note("loadCancelled")
        self.loader = nil
    }

    /// Ends what was loaded before in favour of a new load, while the queue is still the old one.
    mutating func makeWay(at now: Int64) {
        stopClock(at: now)
        if loader != nil {
            cancelLoad()
        } else if isActive {
            push([status(idle: "INTERRUPTED", session: mediaSessionID, at: now)])
        }
    }

    // MARK: The player

    mutating func receive(_ event: PlayerEvent, at now: Int64) {
        if case .fetched(let fetch) = event.kind { note("fetch", fetch.details) }
        if case .content(let bytes, let digest) = event.kind, isActive {
            note("content", ["bytes": .integer(bytes), "sha256": .string(digest)])
        }
        if event.generation == preload?.generation { return receivePreload(event.kind, at: now) }
        guard event.generation == generation, isActive else { return }
        switch event.kind {
        case .fetched, .content: break
        case .loaded(let duration, let picture): loaded(duration, picture, at: now)
        case .buffered:
            guard phase == .buffering else { return }
            if wantsPlay { start(at: now) } else { phase = .paused }
            note(wantsPlay ? "playing" : "paused", ["position": .number(position(at: now))])
            pushStatus(at: now)
        case .starved(let frames):
            guard phase == .playing else { return }
            stopClock(heardFrames: frames, at: now)
            phase = .buffering
            note("starved", ["position": .number(basePosition)])
            pushStatus(at: now)
        case .ended(let frames):
            let end = since.map { $0 + Self.nanoseconds(frames) } ?? now
            stopClock(heardFrames: frames, at: now)
            stretchEnded(at: end, now)
        case .failed(let code, let reason):
            if adBreak != nil { return clipFailed(reason, at: now) }
            fail(code: code, reason: reason, at: now)
        }
    }

    static func nanoseconds(_ frames: Int) -> Int64 { Int64(Double(frames) * 1e9 / Double(AudioDecoder.sampleRate)) }

    private mutating func loaded(_ duration: Double?, _ picture: MediaProbe.Picture?, at now: Int64) {
        guard phase == .loading else { return }
        self.duration = duration
        self.picture = picture
        phase = .buffering
        if adBreak != nil { return pushStatus(at: now, withMedia: true) }
        note("loaded", ["duration": duration.map { .number($0) } ?? .null])
        openLiveWindow(at: now)
        // A stream begins where it is; a rate needs a restart of the decoder.
        if duration == nil {
            basePosition = 0
            rate = 1
        }
        if let loader { reply(loader, at: now) }
        loader = nil
        pushStatus(at: now, withMedia: true)
        if startBreak(between: basePosition, and: basePosition, at: now) { return }
        if rate != 1 || live != nil { restart(from: basePosition, at: now) }
    }

    mutating func start(at now: Int64) {
        phase = .playing
        since = now
        cuesShownUntil = basePosition
        actions.append(.player(.play(since: now)))
    }

    /// Falls silent at an instant, or where the player itself ran out.
    mutating func stopClock(heardFrames: Int? = nil, at now: Int64) {
        guard let since else { return }
        showCues(at: now)
        let elapsed = heardFrames.map(Self.nanoseconds) ?? max(0, now - since)
        let from = basePosition
        basePosition = heardPosition(at: since + elapsed)
        self.since = nil
        playedBefore += elapsed
        if heardFrames == nil { actions.append(.player(.halt(at: now))) }
        var details: [String: JSONValue] = [
            "hostStart": .integer(Int(since)), "hostEnd": .integer(Int(since + elapsed)), "from": .number(from),
            "to": .number(basePosition), "rate": .number(rate),
        ]
        details["clip"] = adBreak.map { .string($0.clip.id) }
        note("played", details)
    }

    /// The player came to the end of what it was told to play, which need not be the end of the item.
    private mutating func stretchEnded(at end: Int64, _ now: Int64) {
        if adBreak != nil { return clipEnded(at: now) }
        if startBreak(between: basePosition, and: basePosition, at: now) { return }
        if startPostRoll(at: now) { return }
        finish(at: end, now)
    }

    /// The item is over: what comes next, if anything.
    mutating func finish(at end: Int64, _ now: Int64) {
        note("finished", ["position": .number(basePosition)])
        guard let next = following() else { return self.end(reason: "FINISHED", at: now, answering: nil) }
        if takePreload(next, at: end, now) { return }
        if next <= currentIndex, repeatMode == "REPEAT_ALL_AND_SHUFFLE" { shuffle(keepingCurrent: false) }
        let start = items[next].fields["startTime"]?.double ?? 0
        begin(
            next, from: start, autoplay: items[next].fields["autoplay"]?.isTruthy ?? true, newSession: false,
            loader: nil, at: now)
    }

    mutating func fail(code: Int, reason: String, at now: Int64) {
        note("failed", ["code": .integer(code), "reason": .string(reason)])
        if let loader {
            var fields: [String: JSONValue] = ["detailedErrorCode": .integer(code), "itemId": itemID]
            fields["customData"] = configuration.faults.loadFailureData
            actions.append(.reply(loader, message("LOAD_FAILED", fields)))
            self.loader = nil
        } else {
            actions.append(
                .push(message("ERROR", ["detailedErrorCode": .integer(code), "requestId": 0, "severity": 1])))
        }
        end(reason: "ERROR", at: now, answering: nil)
    }

    /// Ends the media session; the last status that names it says why.
    mutating func end(reason: String, at now: Int64, answering asker: CastAsker?) {
        stopClock(at: now)
        cancelLoad()
        adBreak = nil
        let last = status(idle: reason, session: mediaSessionID, at: now)
        phase = .idle(reason)
        mediaSessionID = nil
        generation = nextGeneration()
        items = []
        queueData = [:]
        preload = nil
        live = nil
        cues = [:]
        actions.append(.player(.stop))
        if let asker { actions.append(.reply(asker, message("MEDIA_STATUS", ["status": [last]]))) }
        push([last])
    }
}
