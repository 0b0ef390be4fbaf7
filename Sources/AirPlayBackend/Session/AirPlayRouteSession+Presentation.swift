import AirPlay
import Logging
import RouteBackend
import RouteModel

/// What the device was last shown, so that it isn't sent again.
struct ShownByDevice {
    var text: RAOPTrackMetadata?
    var artwork: Artwork?
}

/// Titles, pictures, progress and volume.
extension AirPlayRouteSession {
    public func present(_ nowPlaying: NowPlaying) async throws {
        try checkUsable()
        self.nowPlaying = nowPlaying
        // Before the first start there is no RTP time to tie it to; it goes along with the start.
        guard run != nil else {
            // Paused before anybody could say what it is.
            if pausedRun != nil, state.value.media == .paused { try await draw(.paused) }
            return
        }
        try await sendNowPlaying()
    }

    public func setVolume(_ volume: VolumeState) async throws {
        try checkUsable()
        volumeEpoch += 1
        // Some devices forget, or refuse, a volume that comes before the stream.
        guard started else {
            pendingVolume = volume
            state.update { $0.volume = volume }
            return
        }
        try await send(volume)
    }

    func sendPendingVolume() async throws {
        guard let volume = pendingVolume else { return }
        pendingVolume = nil
        try await send(volume)
    }

    private func send(_ volume: VolumeState) async throws {
        let value = VolumeCurve.airplay.deviceValue(volume.level, muted: volume.muted)
        do {
            try await withWire { wire async throws(AirPlayWireError) in try await wire.setVolume(value) }
        } catch {
            guard error.retry == .now, error.code == .unavailable else { throw error }
            // It is not in the mood for it yet: the next sign of life brings it again.
            pendingVolume = pendingVolume ?? volume
        }
        state.update { $0.volume = volume }
    }

    /// Sends what changed of titles and picture, and always the progress: a pause has moved it.
    func sendNowPlaying() async throws {
        presentation += 1
        let newest = presentation
        guard let nowPlaying, let run, let feed = loaded?.feed else { return }
        try await draw(.playing)
        guard newest == presentation else { return }
        let kinds = plan.metadataKinds
        // What the engine counts is of the feed's rate.
        func frames(_ feedFrames: Int64) -> Int64 {
            let rate = plan.format.sampleRate
            guard rate != feed.sampleRate else { return feedFrames }
            return MediaTime(frames: feedFrames, sampleRate: feed.sampleRate).frames(sampleRate: rate)
        }
        let start = run.timestamp(ofFrame: frames(nowPlaying.startFrame))
        // Where the item was begun in its middle, it starts with the run.
        let from = UInt32(truncatingIfNeeded: max(start, run.clock.timestamp))
        if kinds.contains(.text) {
            let text = Self.track(nowPlaying, feedRate: feed.sampleRate)
            if shown.text != text {
                // Noted before it is sent, for a newer call compares with it.
                shown.text = text
                try await show("titles") { wire async throws(AirPlayWireError) in
                    try await wire.setMetadata(text, timestamp: from)
                }
                guard newest == presentation else { return }
            }
        }
        if kinds.contains(.artwork), shown.artwork != nowPlaying.artwork {
            let artwork = nowPlaying.artwork
            shown.artwork = artwork
            try await show("artwork") { wire async throws(AirPlayWireError) in
                try await wire.setArtwork(
                    mimeType: artwork?.mimeType ?? "image/none", bytes: artwork?.bytes ?? [], timestamp: from)
            }
            guard newest == presentation else { return }
        }
        if kinds.contains(.progress), let duration = nowPlaying.durationFrames {
            let now = max(run.clock.timestamp(at: hostClock.now()), run.clock.timestamp, start)
            try await show("progress") { wire async throws(AirPlayWireError) in
                try await wire.setProgress(
                    start: UInt32(truncatingIfNeeded: start), now: UInt32(truncatingIfNeeded: now),
                    end: UInt32(truncatingIfNeeded: start + frames(duration)))
            }
        }
    }

    /// A device that refuses what it is shown plays all the same.
    private func show(
        _ what: String, _ body: (any AirPlayWire) async throws(AirPlayWireError) -> Void
    ) async throws {
        do {
            try await withWire(body)
        } catch {
            try checkUsable()
            logger.debug("not shown", metadata: ["what": "\(what)", "error": "\(error)"])
        }
    }

    private static func track(_ nowPlaying: NowPlaying, feedRate: Int) -> RAOPTrackMetadata {
        let id = itemNumber(nowPlaying.item)
        let metadata = nowPlaying.metadata
        var track = RAOPTrackMetadata(persistentID: id)
        track.title = metadata.title
        track.artist = metadata.artist ?? metadata.seriesTitle ?? metadata.subtitle
        track.album = metadata.album
        track.albumArtist = metadata.albumArtist
        track.genre = metadata.genre
        track.composer = metadata.composer
        track.trackNumber = metadata.trackNumber
        track.discNumber = metadata.discNumber
        track.year = metadata.releaseDate.flatMap { Int($0.prefix(4)) }
        track.durationMilliseconds = nowPlaying.durationFrames.map { Int($0 * 1000 / Int64(feedRate)) }
        return track
    }
}
