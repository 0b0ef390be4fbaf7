import CastV2
import RouteBackend
import RouteModel
import Testing

@testable import CastBackend

@Suite struct CastUpdatesTests {
    private let token = MediaToken(rawValue: "t")
    private let app = CastAppSession(
        appID: "CC1AD845", displayName: "Default Media Receiver", sessionID: "s", transportID: "a", origin: .launched)
    private var mapping: CastUpdates {
        CastUpdates(
            errors: CastErrors(
                endpoint: Endpoint(
                    id: EndpointID(rawValue: "cast:x"), protocol: .cast, name: "Kitchen", host: "192.0.2.1",
                    port: 8009, origin: .stated)))
    }

    private func state(_ updates: [CastMediaStatusUpdate]...) -> CastSessionState {
        var state = CastSessionState()
        state.app = .running(app)
        state.receiver = CastReceiverStatus(volume: CastVolume(level: 0.5, muted: true))
        for list in updates { state.media.apply(list, now: 7) }
        return state
    }

    private func media(_ url: String, title: String? = nil) -> CastMediaInformation {
        var metadata = CastMediaMetadata(kind: .musicTrack)
        metadata[text: .title] = title
        return CastMediaInformation(contentID: url, contentType: "audio/flac", duration: 60, metadata: metadata)
    }

    private func loaded(_ id: Int?, started: Bool = true) -> CastLoaded {
        CastLoaded(token: token, url: "u", mediaSessionID: id, started: started)
    }

    @Test(
        "each player state, with token, position and volume",
        arguments: [
            (CastPlayerState.playing, MediaState.playing, 1.0), (.paused, .paused, 0), (.buffering, .buffering, 0),
            (.loading, .loading, 0),
        ])
    func states(player: CastPlayerState, expected: MediaState, rate: Double) {
        let state = state([
            CastMediaStatusUpdate(mediaSessionID: 1, playerState: player, currentTime: 12, media: media("u"))
        ])
        let update = mapping.update(state, loaded: loaded(1))
        #expect(update.media == expected)
        #expect(update.connection == .connected)
        #expect(update.loaded == token)
        #expect(
            update.position
                == ReportedPosition(
                    time: MediaTime(seconds: 12), instant: 7, rate: rate, duration: MediaTime(seconds: 60)))
        #expect(update.volume == VolumeState(level: VolumePosition(0.5), muted: true))
        #expect(update.foreign == nil)
    }

    @Test(
        "each reason to be idle",
        arguments: [
            (CastIdleReason.finished, StopReason.finished), (.cancelled, .cancelled), (.interrupted, .replaced),
            (.error, .error),
        ])
    func idle(reason: CastIdleReason, expected: StopReason) {
        let state = state(
            [CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing, media: media("u"))],
            [CastMediaStatusUpdate(mediaSessionID: 1, playerState: .idle, idleReason: reason)],
            // What follows belongs to no media session.
            [CastMediaStatusUpdate(playerState: .idle)])
        let update = mapping.update(state, loaded: loaded(1))
        #expect(update.media == .stopped)
        #expect(update.stopReason == expected)
        #expect((update.error != nil) == (reason == .error))
        #expect(update.connection == .connected)
    }

    @Test("the end of the item before is not the end of this one") func olderItem() {
        let state = state([
            CastMediaStatusUpdate(mediaSessionID: 1, playerState: .idle, idleReason: .finished, media: media("u"))
        ])
        // Not named by the device yet, and of the same URL.
        let update = mapping.update(state, loaded: loaded(nil, started: false))
        #expect(update.media == .loading)
        #expect(update.stopReason == nil)
    }

    @Test("idle without a reason: not yet, or not any more") func idleWithoutReason() {
        let state = state([CastMediaStatusUpdate(mediaSessionID: 1, playerState: .idle)])
        #expect(mapping.update(state, loaded: loaded(1, started: false)).media == .loading)
        #expect(mapping.update(state, loaded: loaded(1)).stopReason == .cancelled)
    }

    @Test("C6 K2 another sender loads something else in our app") func foreignMedia() {
        let first = CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing, media: media("u"))
        let second = CastMediaStatusUpdate(
            mediaSessionID: 2, playerState: .playing, media: media("v", title: "Their song"))
        let update = mapping.update(state([first], [second]), loaded: loaded(1))
        #expect(update.media == .stopped)
        #expect(update.stopReason == .replaced)
        #expect(update.foreign == "Their song")
        #expect(update.position?.rate == 0)
        // Before anything of ours was loaded.
        let before = mapping.update(state([second]), loaded: nil)
        #expect(before.media == .none)
        #expect(before.foreign == "Their song")
        #expect(before.loaded == nil)
        // Ours, before the answer that names it.
        #expect(mapping.update(state([first]), loaded: loaded(nil, started: false)).foreign == nil)
    }

    @Test("another app takes the device: ended, superseded, by whom") func takenOver() {
        var state = state([CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing, media: media("u"))])
        state.app = .gone(by: CastApplication(appID: "Y", displayName: "YouTube", sessionID: "y", transportID: "y"))
        var update = mapping.update(state, loaded: loaded(1))
        #expect(update.connection == .ended)
        #expect(update.media == .stopped)
        #expect(update.stopReason == .superseded)
        #expect(update.foreign == "YouTube")
        state.app = .gone(by: nil)
        update = mapping.update(state, loaded: loaded(1))
        #expect(update.stopReason == .cancelled)
    }

    @Test("C5 the device is lost, or we ended it") func closed() {
        var state = state([CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing, media: media("u"))])
        state.connection = .closed(.silent)
        let lost = mapping.update(state, loaded: loaded(1))
        #expect(lost.connection == .failed)
        #expect(lost.stopReason == .deviceGone)
        #expect(lost.error?.code == .routeLost)
        #expect(lost.position == nil)
        state.connection = .closed(.ended)
        #expect(mapping.update(state, loaded: loaded(1)).connection == .ended)
        #expect(mapping.update(state, loaded: loaded(1)).error == nil)
    }

    @Test("a foreign app that was there before us is only seen") func foreignApp() {
        var state = CastSessionState()
        state.receiver = CastReceiverStatus(applications: [
            CastApplication(
                appID: "Y", displayName: "YouTube", sessionID: "y", transportID: "y", statusText: "Cats")
        ])
        let update = mapping.update(state, loaded: nil)
        #expect(update.connection == .connected)
        #expect(update.foreign == "Cats")
    }

    @Test("C21 every failure has a code, a sentence without a full stop and a hint") func errors() {
        let connection: [(CastConnectionError, RouterError.Code)] = [
            (.nameNotFound, .routeUnreachable), (.refused, .routeUnreachable), (.unreachable("x"), .routeUnreachable),
            (.timedOut, .routeUnreachable), (.closedByPeer, .routeUnreachable), (.silent, .routeUnreachable),
            (.notTLS, .protocolViolation), (.tlsFailed("x"), .protocolViolation),
            (.notCast(.emptyFrame), .protocolViolation), (.flooded, .routeUnreachable),
            (.network("x"), .routeUnreachable),
        ]
        let requests: [(CastRequestFailure, RouterError.Code)] = [
            (.timedOut, .timeout), (.launchFailed(reason: "NOT_FOUND"), .unsupported),
            (.launchFailed(reason: nil), .unavailable), (.launchFailed(reason: "NOT_ALLOWED"), .routeBusy),
            (.launchDenied(status: "X"), .routeBusy), (.connectionLost(.silent), .routeLost),
            (.invalidRequest(reason: "X"), .unavailable), (.invalidPlayerState, .unavailable),
            (.loadFailed(CastMediaFailure(code: 104)), .mediaUnsupported),
            (.loadFailed(CastMediaFailure(code: 301)), .mediaUnreachable),
            (.mediaError(CastMediaFailure()), .itemFailed), (.appClosed, .commandSuperseded),
            (.unsendable(.emptyFrame), .protocolViolation),
        ]
        let all =
            connection.map { (mapping.errors.opening($0), $1) }
            + requests.map { (mapping.errors.request($0, doing: "seeking"), $1) }
        for (error, code) in all {
            #expect(error.code == code, "\(error)")
            #expect(!error.message.hasSuffix("."))
            #expect(error.hint?.isEmpty == false)
        }
        #expect(Set(connection.map { mapping.errors.opening($0.0).message }).count == connection.count)
        #expect(mapping.errors.opening(CancellationError()).code == .cancelled)
    }

    @Test(
        "the answer to LOAD names our media session, whatever else it lists",
        arguments: [
            // The end of the item before, and ours by its URL.
            (
                [
                    CastMediaStatusUpdate(mediaSessionID: 4, playerState: .idle, idleReason: .interrupted),
                    CastMediaStatusUpdate(
                        mediaSessionID: 5, playerState: .buffering,
                        media: CastMediaInformation(contentID: "u", contentType: "t")),
                ], 5
            ),
            // No media: the newest.
            ([CastMediaStatusUpdate(mediaSessionID: 5), CastMediaStatusUpdate(mediaSessionID: 4)], 5),
            // Only what is being loaded.
            (
                [
                    CastMediaStatusUpdate(
                        mediaSessionID: 4, playerState: .idle, idleReason: .interrupted,
                        loading: .init(mediaSessionID: 6, media: nil))
                ], 6
            ),
            // A receiver that gives every item the same id.
            ([CastMediaStatusUpdate(mediaSessionID: 4, playerState: .buffering)], 4),
            // Nothing but the end of the item before; and nothing at all.
            ([CastMediaStatusUpdate(mediaSessionID: 4, playerState: .idle, idleReason: .finished)], nil), ([], nil),
        ] as [([CastMediaStatusUpdate], Int?)])
    func answers(updates: [CastMediaStatusUpdate], expected: Int?) {
        var loaded = CastLoaded(token: token, url: "u", before: 4)
        loaded.answer(updates)
        #expect(loaded.mediaSessionID == expected)
    }

    @Test("pushes name it too: by the URL before the answer, by being new after an empty one") func observes() {
        let old = CastMediaStatusUpdate(mediaSessionID: 4, playerState: .idle, idleReason: .finished, media: media("u"))
        let new = CastMediaStatusUpdate(mediaSessionID: 5, playerState: .playing)
        for (media, answered, expected) in [
            ([old], false, nil), ([old], true, nil), ([old, new], false, nil), ([old, new], true, 5),
        ] as [([CastMediaStatusUpdate], Bool, Int?)] {
            var loaded = CastLoaded(token: token, url: "u", before: 4)
            if answered { loaded.answer([]) }
            loaded.observe(state(media).media)
            #expect(loaded.mediaSessionID == expected)
            #expect(loaded.started == (expected != nil))
        }
        var early = CastLoaded(token: token, url: "u", before: 4)
        early.observe(
            state([CastMediaStatusUpdate(mediaSessionID: 5, playerState: .loading, media: media("u"))]).media)
        #expect(early.mediaSessionID == 5)
        #expect(!early.started)
    }

    @Test("C8 C9 an item becomes a LOAD") func load() {
        var metadata = MediaMetadata(
            kind: .music, title: "T", artist: "A", album: "L", albumArtist: "AA", composer: "C", trackNumber: 3,
            discNumber: 1, releaseDate: "1999", duration: MediaTime(seconds: 12.5),
            images: [MediaImage(url: "http://a/c.jpg", width: 600, height: 500)])
        func load(live: Bool = false) -> CastLoad {
            CastLoad(
                PullMedia(
                    token: token, url: "http://a/m", contentType: "audio/flac", live: live, metadata: metadata,
                    start: MediaTime(seconds: 3)), autoplay: false)
        }
        let json = CastMediaRequest.load(load()).json(requestID: 5, sessionID: "s")
        #expect(json["type"] == "LOAD")
        #expect(json["requestId"] == 5)
        #expect(json["sessionId"] == "s")
        #expect(json["autoplay"] == false)
        #expect(json["currentTime"] == 3)
        let sent = json["media"]
        #expect(sent["contentId"] == "http://a/m")
        #expect(sent["contentType"] == "audio/flac")
        #expect(sent["streamType"] == "BUFFERED")
        #expect(sent["duration"] == 12.5)
        #expect(
            sent["metadata"] == [
                "metadataType": 3, "title": "T", "artist": "A", "albumName": "L", "albumArtist": "AA",
                "composer": "C", "trackNumber": 3, "discNumber": 1, "releaseDate": "1999",
                "images": [["url": "http://a/c.jpg", "width": 600, "height": 500]],
            ])
        metadata.releaseDate = "sometime in 1999"
        let live = CastMediaRequest.load(load(live: true)).json(requestID: 5, sessionID: nil)
        #expect(live["media"]["streamType"] == "LIVE")
        #expect(live["media"]["duration"] == .null)
        // Zero would be the beginning of the window, not where it is live.
        #expect(live["currentTime"] == .null)
        #expect(live["media"]["metadata"]["releaseDate"] == .null)
        #expect(live["sessionId"] == .null)
    }

    @Test(
        "C9 kinds of metadata",
        arguments: [
            (MediaMetadata.Kind.generic, 0), (.movie, 1), (.episode, 2), (.music, 3), (.photo, 4),
            (.audiobookChapter, 5),
            (.podcastEpisode, 0), (.live, 0),
        ])
    func kinds(kind: MediaMetadata.Kind, type: Int) {
        let metadata = CastMediaMetadata(
            MediaMetadata(kind: kind, title: "T", artist: "A", seriesTitle: "S", season: 1, episode: 2))
        #expect(metadata.kind.rawValue == type)
        #expect(metadata.json["title"] == "T")
        #expect(metadata.json["season"] == (kind == .episode ? 1 : .null))
        #expect(metadata.json["subtitle"] == (type == 0 ? "A" : .null))
    }
}
