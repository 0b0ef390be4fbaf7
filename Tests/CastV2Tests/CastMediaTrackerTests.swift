import CastV2
import Testing

@Suite struct CastMediaTrackerTests {
    private let song = CastMediaInformation(contentID: "song", contentType: "audio/flac", duration: 100)
    private let other = CastMediaInformation(contentID: "other", contentType: "audio/flac", duration: 10)

    @Test("deltas are merged: what is left out stays")
    func merging() {
        var tracker = CastMediaTracker()
        tracker.apply(
            [CastMediaStatusUpdate(mediaSessionID: 1, playerState: .buffering, currentTime: 5, media: song)], now: 0)
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing)], now: 2_000_000_000)
        let status = tracker.current
        #expect(status?.playerState == .playing)
        #expect(status?.currentTime == 5)
        #expect(status?.media == song)
        #expect(status?.position(at: 12_000_000_000) == 15)
        #expect(status?.position(at: 900_000_000_000) == 100)
        // A change of the volume says nothing of the time, which goes on.
        tracker.apply(
            [CastMediaStatusUpdate(mediaSessionID: 1, volume: CastVolume(level: 0.5))], now: 6_000_000_000)
        #expect(tracker.current?.position(at: 12_000_000_000) == 15)
        // Paused without a time: where it had come to.
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 1, playerState: .paused)], now: 7_000_000_000)
        #expect(tracker.current?.position(at: 90_000_000_000) == 10)
    }

    @Test("a duration learnt once is kept when later media leaves it out")
    func duration() {
        var tracker = CastMediaTracker()
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing, media: song)], now: 0)
        var bare = song
        bare.duration = nil
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 1, media: bare)], now: 1)
        #expect(tracker.current?.media?.duration == 100)
    }

    @Test("the end of the old item is not the end of the new one")
    func twoItems() {
        var tracker = CastMediaTracker()
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing, media: song)], now: 0)
        tracker.apply(
            [
                CastMediaStatusUpdate(mediaSessionID: 1, playerState: .idle, idleReason: .interrupted),
                CastMediaStatusUpdate(mediaSessionID: 2, playerState: .buffering, media: other),
            ], now: 1)
        #expect(tracker.currentID == 2)
        #expect(tracker[1]?.idleReason == .interrupted)
        #expect(tracker.current?.media == other)
        // In the other order, and late.
        tracker.apply(
            [
                CastMediaStatusUpdate(mediaSessionID: 2, playerState: .playing),
                CastMediaStatusUpdate(mediaSessionID: 1, playerState: .idle, idleReason: .finished),
            ], now: 2)
        #expect(tracker.currentID == 2)
        #expect(tracker.current?.idleReason == nil)
    }

    @Test("IDLE with an extended status of LOADING is loading, under the new media session")
    func loading() {
        var tracker = CastMediaTracker()
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing, media: song)], now: 0)
        tracker.apply(
            [
                CastMediaStatusUpdate(
                    mediaSessionID: 1, playerState: .idle, idleReason: .interrupted,
                    loading: .init(mediaSessionID: 2, media: other))
            ], now: 1)
        #expect(tracker.currentID == 2)
        #expect(tracker.current?.playerState == .loading)
        #expect(tracker.current?.media == other)
        #expect(tracker[1]?.hasEnded == true)
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 2, playerState: .playing)], now: 2)
        #expect(tracker.current?.playerState == .playing)
    }

    @Test("after the last item: an IDLE of no media session, and an empty list")
    func nothing() {
        for last in [[CastMediaStatusUpdate(playerState: .idle)], []] {
            var tracker = CastMediaTracker()
            tracker.apply(
                [CastMediaStatusUpdate(mediaSessionID: 4, playerState: .idle, idleReason: .finished)], now: 0)
            tracker.apply(last, now: 1)
            #expect(tracker.current == nil)
            #expect(tracker[4]?.idleReason == .finished)
        }
    }

    @Test("only the newest media sessions are kept")
    func bounded() {
        var tracker = CastMediaTracker()
        for id in 1...1000 {
            tracker.apply([CastMediaStatusUpdate(mediaSessionID: id, playerState: .playing)], now: Int64(id))
        }
        #expect(tracker[1000] != nil)
        #expect(tracker[993] != nil)
        #expect(tracker[992] == nil)
    }
}
