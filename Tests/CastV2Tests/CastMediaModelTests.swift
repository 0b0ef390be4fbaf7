import CastV2
import Testing

@Suite struct CastMediaModelTests {
    private static let second: Int64 = 1_000_000_000

    // MARK: Ads

    /// An item of 100 s with a break of two clips at 30 s, one of one clip after its end, and an embedded one.
    private func media() -> CastMediaInformation {
        var media = CastMediaInformation(contentID: "u", contentType: "video/mp4", duration: 100)
        media.breaks = [
            CastMediaBreak(id: "end", clipIDs: ["c"], position: -1),
            CastMediaBreak(id: "mid", clipIDs: ["a", "b"], position: 30),
            CastMediaBreak(id: "start", clipIDs: ["c"], position: 0, isWatched: true),
            CastMediaBreak(id: "inside", clipIDs: ["c"], position: 50, isEmbedded: true),
        ]
        media.breakClips = [
            CastMediaBreakClip(id: "a", title: "Soap", duration: 10, whenSkippable: 5),
            CastMediaBreakClip(id: "b", duration: 20),
            CastMediaBreakClip(id: "c", duration: 5, whenSkippable: -1),
        ]
        return media
    }

    private func tracker(_ clip: CastBreakStatus?, state: CastPlayerState = .playing, time: Double = 30)
        -> CastMediaTracker
    {
        var tracker = CastMediaTracker()
        var update = CastMediaStatusUpdate(mediaSessionID: 1, playerState: state, currentTime: time, media: media())
        update.breakStatus = clip
        tracker.apply([update], now: 0)
        return tracker
    }

    @Test("C15 the break that plays is counted between pushes, and not beyond the clip") func countdown() throws {
        let status = try #require(
            tracker(CastBreakStatus(breakID: "mid", clipID: "a", breakTime: 1, clipTime: 1, whenSkippable: 5)).current)
        let ads = CastAdTimeline(status)
        let clip = try #require(ads.clip(at: 3 * Self.second))
        #expect(clip.title == "Soap")
        #expect(clip.time == 4)
        #expect(clip.remaining == 6)
        #expect(clip.breakRemaining == 26)
        #expect(clip.number == 1)
        #expect(clip.count == 2)
        #expect(clip.skippableIn == 1)
        #expect(ads.clip(at: 60 * Self.second)?.time == 10)
        #expect(ads.clip(at: 60 * Self.second)?.remaining == 0)
        // The item stands still meanwhile.
        #expect(status.position(at: 60 * Self.second) == 30)
    }

    @Test("C15 a clip may be skipped when, and only when, it has played for whenSkippable")
    func skipping() throws {
        let first = CastBreakStatus(breakID: "mid", clipID: "a", clipTime: 1, whenSkippable: 5)
        let ads = CastAdTimeline(try #require(tracker(first).current))
        #expect(throws: CastAdTimeline.SkipRefusal.tooEarly(seconds: 0.5)) {
            try ads.checkSkip(at: 7 * Self.second / 2)
        }
        try ads.checkSkip(at: 4 * Self.second)
        // A clip that is held does not come nearer to it.
        let held = CastAdTimeline(try #require(tracker(first, state: .paused).current))
        #expect(throws: CastAdTimeline.SkipRefusal.tooEarly(seconds: 4)) { try held.checkSkip(at: 60 * Self.second) }
        // What the status leaves out, the clip has.
        let bare = CastAdTimeline(
            try #require(tracker(CastBreakStatus(breakID: "mid", clipID: "a", clipTime: 6)).current))
        try bare.checkSkip(at: 0)
        for never in [
            CastBreakStatus(breakID: "mid", clipID: "b", clipTime: 15),
            CastBreakStatus(breakID: "start", clipID: "c", clipTime: 4),
            CastBreakStatus(breakID: "x", clipID: "y", clipTime: 4, whenSkippable: -1),
        ] {
            let ads = CastAdTimeline(try #require(tracker(never).current))
            #expect(throws: CastAdTimeline.SkipRefusal.neverSkippable) { try ads.checkSkip(at: 60 * Self.second) }
        }
        let none = CastAdTimeline(try #require(tracker(nil).current))
        #expect(throws: CastAdTimeline.SkipRefusal.noBreakPlays) { try none.checkSkip(at: 0) }
    }

    @Test("C15 a push without the time of the clip leaves the count as it runs; one that tells no break ends it")
    func pushes() {
        var tracker = tracker(CastBreakStatus(breakID: "mid", clipID: "a", clipTime: 1, whenSkippable: 5))
        var push = CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing)
        push.breakStatus = CastBreakStatus(breakID: "mid", clipID: "a")
        tracker.apply([push], now: 2 * Self.second)
        #expect(tracker.current.flatMap { CastAdTimeline($0).clip(at: 3 * Self.second) }?.time == 4)
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 1, volume: CastVolume(level: 1))], now: 3 * Self.second)
        #expect(tracker.current?.breakStatus != nil)
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 1, playerState: .playing)], now: 4 * Self.second)
        #expect(tracker.current?.breakStatus == nil)
    }

    @Test("C15 which break comes next, and which a seek passes over") func timeline() throws {
        var status = try #require(tracker(nil, time: 10).current)
        #expect(CastAdTimeline(status).breaks.map(\.id) == ["start", "mid", "inside", "end"])
        #expect(CastAdTimeline(status).next(at: 5 * Self.second)?.place.id == "mid")
        #expect(CastAdTimeline(status).next(at: 5 * Self.second)?.seconds == 15)
        status.playbackRate = 2
        #expect(CastAdTimeline(status).next(at: 0)?.seconds == 10)
        status.currentTime = 60
        status.playbackRate = 1
        #expect(CastAdTimeline(status).next(at: 0)?.place.id == "end")
        #expect(CastAdTimeline(status).next(at: 0)?.seconds == 40)
        status.media?.duration = nil
        #expect(CastAdTimeline(status).next(at: 0)?.seconds == nil)
        let ads = CastAdTimeline(status)
        #expect(ads.crossed(from: 0, to: 90).map(\.id) == ["mid"])
        #expect(ads.crossed(from: 30, to: 90).isEmpty)
        #expect(ads.crossed(from: 90, to: 0).isEmpty)
        #expect(ads.crossed(from: .nan, to: 90).isEmpty)
    }

    // MARK: Live

    @Test(
        "C11 a window moves with time, as the receiver says that it does",
        arguments: [
            (true, false, 20.0, 80.0), (false, false, 10, 80), (false, true, 10, 70), (true, true, 10, 70),
        ])
    func window(moving: Bool, done: Bool, start: Double, end: Double) throws {
        var tracker = CastMediaTracker()
        var update = CastMediaStatusUpdate(mediaSessionID: 1, playerState: .paused, currentTime: 40)
        update.liveRange = CastLiveRange(start: 10, end: 70, isMovingWindow: moving, isLiveDone: done)
        tracker.apply([update], now: 0)
        tracker.apply([CastMediaStatusUpdate(mediaSessionID: 1, currentTime: 40)], now: 5 * Self.second)
        let window = try #require(tracker.current.flatMap { CastLiveWindow($0, at: 10 * Self.second) })
        #expect(window.start == start)
        #expect(window.end == end)
        #expect(window.nearest(to: 0) == start)
        #expect(window.nearest(to: 1e9) == end)
        #expect(window.nearest(to: .nan) == end)
        #expect(window.contains(40))
        #expect(window.behind(40) == end - 40)
        #expect(window.behind(1e9) == 0)
    }

    @Test("C11 a live stream without a window plays or stops; what is told otherwise counts") func liveStream() {
        var status = CastMediaStatus(mediaSessionID: 1, observed: 0)
        status.media = CastMediaInformation(contentID: "u", contentType: "audio/mpeg", streamType: .live)
        #expect(status.isLive && !status.canPause && !status.canSeek)
        status.supportedMediaCommands = [.pause, .seek]
        #expect(!status.canPause && !status.canSeek)
        status.supportedMediaCommands = nil
        #expect(CastLiveWindow(status, at: 0) == nil)
        status.liveRange = CastLiveRange(start: 5, end: 1)
        #expect(status.canSeek && status.canPause)
        #expect(status.liveRange?.end == 5)
        status.supportedMediaCommands = [.pause]
        #expect(status.canPause && !status.canSeek)
        status.media?.streamType = .buffered
        status.liveRange = nil
        status.supportedMediaCommands = nil
        #expect(!status.isLive && status.canPause && status.canSeek)
    }

    // MARK: Tracks

    private static let tracks = [
        CastMediaTrack(id: 1, kind: .video),
        CastMediaTrack(id: 2, kind: .audio, name: "Stereo", language: "en-US"),
        CastMediaTrack(id: 3, kind: .audio, name: "Kommentar", language: "de"),
        CastMediaTrack(id: 4, kind: .text, subtype: .captions, language: "de-DE"),
        CastMediaTrack(id: 5, kind: .text, subtype: .subtitles, language: "de-AT"),
        CastMediaTrack(id: 6, kind: .text, subtype: .chapters, language: "fr"),
        CastMediaTrack(id: 7, kind: .text, subtype: .subtitles, language: "ger", roles: ["forced"]),
    ]

    @Test(
        "C12 tracks by language, name and number",
        arguments: [
            ("de", 5), ("de-DE", 4), ("DE_de", 4), ("deu", 5), ("ger", 7), ("fr", 6), ("fre", 6), ("4", 4), ("it", nil),
            ("", nil), ("2", nil),
        ])
    func textTracks(words: String, expected: Int?) {
        #expect(CastTrackChoice.find(words, in: Self.tracks.filter { $0.kind == .text })?.id == expected)
    }

    @Test("C12 one kind is chosen, the others stay") func choosing() throws {
        let now = [1, 2, 4, 99]
        let tracks = Self.tracks
        #expect(try CastTrackChoice(text: .words("fr")).activeTrackIDs(of: tracks, now: now) == [6, 2, 1, 99])
        #expect(try CastTrackChoice(text: .off).activeTrackIDs(of: tracks, now: now) == [2, 1, 99])
        #expect(
            try CastTrackChoice(audio: .words("kommentar")).activeTrackIDs(of: tracks, now: now) == [4, 3, 1, 99])
        #expect(try CastTrackChoice().activeTrackIDs(of: tracks, now: now) == [4, 2, 1, 99])
        do {
            _ = try CastTrackChoice(audio: .words("it")).activeTrackIDs(of: tracks, now: now)
            Issue.record("there is no Italian")
        } catch {
            #expect(error.kind == .audio)
            #expect(error.tracks.map(\.id) == [2, 3])
        }
    }

    @Test("C14 what is no rate leaves the last one", arguments: ["1e12", "-1e300", "-1", "1e300", "\"fast\"", "null"])
    func wrongRate(rate: String) throws {
        var tracker = CastMediaTracker()
        for rate in ["1.5", rate] {
            let json = try #require(
                CastJSON(text: #"{"mediaSessionId":1,"playerState":"PLAYING","playbackRate":\#(rate)}"#))
            tracker.apply([CastMediaStatusUpdate(json: json)], now: 0)
        }
        #expect(tracker.current?.playbackRate == 1.5)
    }
}
