import CastV2

extension CastDeviceReport {
    init(name: String, address: String, state: CastSessionState, now: Int64) {
        self.name = name
        self.address = address
        volume = state.receiver?.volume.map(Volume.init)
        app = state.receiver?.activeApplication.map(App.init)
        isStandBy = state.receiver?.isStandBy
        isActiveInput = state.receiver?.isActiveInput
        if state.group != nil {
            members = state.memberPlayback.map { playback in
                Member(
                    id: playback.member.deviceID, name: playback.member.name,
                    volume: playback.member.volume.map(Volume.init), plays: playback.plays)
            }
        }
        media = state.media.current.map { CastMediaReport($0, queue: state.media.queue, now: now) }
    }
}

extension CastDeviceReport.Volume {
    init(_ volume: CastVolume) {
        self.init(
            level: volume.level, muted: volume.muted, kind: volume.controlType?.rawValue, step: volume.stepInterval)
    }
}

extension CastDeviceReport.App {
    init(_ app: CastApplication) {
        self.init(
            id: app.appID, name: app.displayName, sessionID: app.sessionID, statusText: app.statusText,
            namespaces: app.namespaces)
    }
}

extension CastMediaReport {
    init(_ status: CastMediaStatus, queue: CastQueueMirror, now: Int64) {
        let media = status.media
        let metadata = media?.metadata?.json.object ?? [:]
        self.init(
            mediaSessionID: status.mediaSessionID, state: status.playerState.rawValue.lowercased(),
            idleReason: status.idleReason?.rawValue.lowercased(),
            url: media.map { $0.contentURL ?? $0.contentID }, contentType: media?.contentType,
            stream: media?.streamType?.rawValue.lowercased(), metadataType: media?.metadata?.kind.rawValue,
            metadata: metadata.filter { $0.key != "images" && $0.key != "metadataType" },
            images: media?.metadata?.images.map(\.url) ?? [], position: status.position(at: now),
            duration: media?.duration, rate: status.playbackRate,
            commands: status.supportedMediaCommands?.names ?? [],
            streamVolume: status.volume.map(CastDeviceReport.Volume.init), queue: Queue(queue, status), tracks: [],
            ad: nil, breaks: [], live: nil, video: nil, customData: status.customData)
        tracks = (media?.tracks ?? []).map { Track($0, active: status.activeTrackIDs) }
        let ads = CastAdTimeline(status)
        ad = ads.clip(at: now).map(Ad.init)
        breaks = ads.breaks.map {
            Break(
                id: $0.id, position: $0.position, clips: $0.clipIDs, watched: $0.isWatched, embedded: $0.isEmbedded)
        }
        live = CastLiveWindow(status, at: now).map {
            Live(
                start: $0.start, end: $0.end, behind: $0.behind(position), movingWindow: $0.isMoving, done: $0.isDone)
        }
        video = status.video.map { Video(width: $0.width, height: $0.height, hdr: $0.hdrType) }
    }
}

extension CastMediaReport.Queue {
    /// Nil where the receiver has told of no queue.
    init?(_ mirror: CastQueueMirror, _ status: CastMediaStatus?) {
        guard mirror.exists else { return nil }
        let order = mirror.itemIDs ?? mirror.window
        let mode = mirror.repeatMode
        self.init(
            count: order.count, complete: mirror.itemIDs != nil && !mirror.isStale && !mirror.isPartial,
            index: mirror.currentIndex, sequenceNumber: mirror.sequenceNumber,
            repeatMode: mode.map(CastControl.name), shuffle: mirror.isShuffled ?? mode.map { $0 == .allAndShuffle },
            items: order.enumerated().compactMap { index, id in
                // Of a long queue, the part that is known.
                mirror.items[id].map { CastMediaReport.Item($0, id: id, index: index, mirror) }
            })
    }
}

extension CastMediaReport.Item {
    init(_ item: CastQueueItem, id: Int, index: Int, _ mirror: CastQueueMirror) {
        let mark =
            id == mirror.currentItemID
            ? "current" : id == mirror.loadingItemID ? "loading" : id == mirror.preloadedItemID ? "preloaded" : nil
        let metadata = item.media?.metadata
        self.init(
            itemID: id, index: index, mark: mark, url: item.media.map { $0.contentURL ?? $0.contentID },
            contentType: item.media?.contentType, title: metadata?[text: .title],
            artist: metadata?[text: .artist] ?? metadata?[text: .subtitle], duration: item.media?.duration,
            startTime: item.startTime, preloadTime: item.preloadTime,
            customData: item.customData ?? item.media?.customData)
    }

    /// The title, or the last part of the address where there is none.
    public var name: String { title ?? CastMediaReport.name(of: url) ?? "item \(itemID)" }
}

extension CastMediaReport.Track {
    init(_ track: CastMediaTrack, active: [Int]) {
        self.init(
            id: track.id, kind: track.kind.rawValue.lowercased(), subtype: track.subtype?.rawValue.lowercased(),
            language: track.language, name: track.name, url: track.contentID, active: active.contains(track.id))
    }
}

extension CastMediaReport.Ad {
    init(_ clip: CastAdTimeline.Clip) {
        self.init(
            breakID: clip.breakID, clipID: clip.clipID, title: clip.title, clip: clip.number, clips: clip.count,
            position: clip.time, duration: clip.duration, breakRemaining: clip.breakRemaining,
            skippableIn: clip.skippableIn)
    }
}
