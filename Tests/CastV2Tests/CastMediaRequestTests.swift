import CastV2
import Testing

/// What goes out in the media namespace, byte for byte: built by hand from what the protocol says, keys in order.
@Suite struct CastMediaRequestTests {
    private func text(_ request: CastMediaRequest, session: String? = nil) -> String {
        request.json(requestID: 7, sessionID: session).text
    }

    @Test(
        "C7 C8 C14 transport",
        arguments: [
            (.getStatus, #"{"requestId":7,"type":"GET_STATUS"}"#),
            (.play(mediaSessionID: 3), #"{"mediaSessionId":3,"requestId":7,"type":"PLAY"}"#),
            (.pause(mediaSessionID: 3), #"{"mediaSessionId":3,"requestId":7,"type":"PAUSE"}"#),
            (.stop(mediaSessionID: 3), #"{"mediaSessionId":3,"requestId":7,"type":"STOP"}"#),
            (
                .seek(mediaSessionID: 3, position: 12.5, resume: .start),
                #"{"currentTime":12.5,"mediaSessionId":3,"requestId":7,"resumeState":"PLAYBACK_START","type":"SEEK"}"#
            ),
            (
                .seekBy(mediaSessionID: 3, offset: -30, resume: .pause),
                #"{"mediaSessionId":3,"relativeTime":-30,"requestId":7,"resumeState":"PLAYBACK_PAUSE","type":"SEEK"}"#
            ),
            (
                .setVolume(mediaSessionID: 3, level: 2),
                #"{"mediaSessionId":3,"requestId":7,"type":"SET_VOLUME","volume":{"level":1}}"#
            ),
            (
                .setMuted(mediaSessionID: 3, true),
                #"{"mediaSessionId":3,"requestId":7,"type":"SET_VOLUME","volume":{"muted":true}}"#
            ),
            (
                .changePlaybackRate(mediaSessionID: 3, factor: 1.1),
                #"{"mediaSessionId":3,"relativePlaybackRate":1.1,"requestId":7,"type":"SET_PLAYBACK_RATE"}"#
            ),
        ] as [(CastMediaRequest, String)])
    func transport(request: CastMediaRequest, expected: String) {
        #expect(text(request) == expected)
    }

    @Test(
        "C14 the rate is kept between 0.5 and 2",
        arguments: [(1.25, "1.25"), (0.1, "0.5"), (9, "2"), (.nan, "1"), (-.infinity, "0.5")])
    func rate(asked: Double, sent: String) {
        #expect(
            text(.setPlaybackRate(mediaSessionID: 3, asked))
                == #"{"mediaSessionId":3,"playbackRate":\#(sent),"requestId":7,"type":"SET_PLAYBACK_RATE"}"#)
    }

    @Test("C8 LOAD with every field that it has") func fullLoad() {
        var media = CastMediaInformation(
            contentID: "id", contentURL: "http://h/a.m3u8", contentType: "application/x-mpegurl",
            streamType: .buffered, duration: 60.5, customData: ["k": 1])
        media.entity = "e"
        media.atvEntity = "ae"
        media.hlsSegmentFormat = .tsAAC
        media.hlsVideoSegmentFormat = .mpeg2TS
        media.category = .video
        media.startAbsoluteTime = 1000
        var style = CastTextTrackStyle()
        style.fontScale = 1.5
        style.foregroundColor = "#FFFF00FF"
        style.edgeType = .dropShadow
        style.fontGenericFamily = .monospacedSansSerif
        media.textTrackStyle = style
        media.tracks = [
            CastMediaTrack(
                id: 1, kind: .text, subtype: .subtitles, name: "English", language: "en",
                contentID: "http://h/en.vtt", contentType: "text/vtt", isInband: false, roles: ["main"])
        ]
        media.breaks = [CastMediaBreak(id: "b", clipIDs: ["c"], position: -1)]
        var clip = CastMediaBreakClip(
            id: "c", title: "Ad", duration: 10, contentID: "http://h/ad.mp4", contentType: "video/mp4",
            whenSkippable: 5)
        clip.clickThroughURL = "http://h/click"
        clip.posterURL = "http://h/poster"
        clip.hlsSegmentFormat = "ts"
        clip.vastAdsRequest = CastVASTAdsRequest(adTagURL: "http://h/vast")
        media.breakClips = [clip]
        media.vmapAdsRequest = CastVASTAdsRequest(adsResponse: "<VMAP/>")
        media.userActionStates = [["userAction": "LIKE"]]
        var load = CastLoad(media: media, autoplay: false, currentTime: 3)
        load.activeTrackIDs = [1]
        load.playbackRate = 3
        load.credentials = "secret"
        load.credentialsType = "t"
        load.atvCredentials = "as"
        load.atvCredentialsType = "at"
        load.loadOptions = ["contentFilteringMode": "FILTER_EXPLICIT"]
        load.customData = ["x": true]
        var queue = CastQueueData()
        queue.name = "Q"
        queue.kind = .album
        queue.startIndex = 0
        load.queueData = queue
        let expected =
            #"{"activeTrackIds":[1],"atvCredentials":"as","atvCredentialsType":"at","autoplay":false,"#
            + #""credentials":"secret","credentialsType":"t","currentTime":3,"customData":{"x":true},"#
            + #""loadOptions":{"contentFilteringMode":"FILTER_EXPLICIT"},"media":{"atvEntity":"ae","#
            + #""breakClips":[{"clickThroughUrl":"http://h/click","contentId":"http://h/ad.mp4","#
            + #""contentType":"video/mp4","duration":10,"hlsSegmentFormat":"ts","id":"c","#
            + #""posterUrl":"http://h/poster","title":"Ad","vastAdsRequest":{"adTagUrl":"http://h/vast"},"#
            + #""whenSkippable":5}],"breaks":[{"breakClipIds":["c"],"id":"b","isEmbedded":false,"isWatched":false,"#
            + #""position":-1}],"contentId":"id","contentType":"application/x-mpegurl","#
            + #""contentUrl":"http://h/a.m3u8","customData":{"k":1},"duration":60.5,"entity":"e","#
            + #""hlsSegmentFormat":"ts_aac","hlsVideoSegmentFormat":"mpeg2_ts","mediaCategory":"VIDEO","#
            + #""startAbsoluteTime":1000,"streamType":"BUFFERED","textTrackStyle":{"edgeType":"DROP_SHADOW","#
            + ##""fontGenericFamily":"MONOSPACED_SANS_SERIF","fontScale":1.5,"foregroundColor":"#FFFF00FF"},"##
            + #""tracks":[{"isInband":false,"language":"en","name":"English","roles":["main"],"#
            + #""subtype":"SUBTITLES","trackContentId":"http://h/en.vtt","trackContentType":"text/vtt","trackId":1,"#
            + #""type":"TEXT"}],"userActionStates":[{"userAction":"LIKE"}],"#
            + #""vmapAdsRequest":{"adsResponse":"<VMAP/>"}},"playbackRate":2,"#
            + #""queueData":{"name":"Q","queueType":"ALBUM","startIndex":0},"requestId":7,"sessionId":"s","#
            + #""type":"LOAD"}"#
        #expect(text(.load(load), session: "s") == expected)
        // And what was written can be read: it is what a stored session holds.
        #expect(CastJSON(text: load.json.text).flatMap(CastLoad.init(json:))?.media == media)
    }

    @Test("C8 a plain LOAD has no more in it than it needs") func plainLoad() {
        let media = CastMediaInformation(contentID: "http://h/a.mp3", contentType: "audio/mpeg", streamType: .live)
        #expect(
            text(.load(CastLoad(media: media, currentTime: nil)))
                == #"{"autoplay":true,"media":{"contentId":"http://h/a.mp3","contentType":"audio/mpeg","#
                + #""streamType":"LIVE"},"requestId":7,"type":"LOAD"}"#)
    }

    private static let song = CastQueueItem(
        itemID: 9, media: CastMediaInformation(contentID: "u", contentType: "audio/mpeg"), autoplay: true,
        startTime: 1, playbackDuration: 2, preloadTime: 20, activeTrackIDs: [4], orderID: 5, customData: ["t": "x"])

    @Test(
        "C10 queue requests",
        arguments: [
            (
                .queueLoad(CastQueueLoad(items: [song], startIndex: 0, currentTime: 4, repeatMode: .all)),
                #"{"currentTime":4,"items":[{"activeTrackIds":[4],"autoplay":true,"customData":{"t":"x"},"#
                    + #""media":{"contentId":"u","contentType":"audio/mpeg"},"orderId":5,"playbackDuration":2,"#
                    + #""preloadTime":20,"startTime":1}],"repeatMode":"REPEAT_ALL","requestId":7,"startIndex":0,"#
                    + #""type":"QUEUE_LOAD"}"#
            ),
            (
                .queueInsert(
                    mediaSessionID: 3,
                    CastQueueInsertion(
                        items: [CastQueueItem(itemID: 1)], insertBefore: 8, currentItemIndex: 0,
                        place: CastQueuePlace(currentTime: 2, sequenceNumber: 6))),
                #"{"currentItemIndex":0,"currentTime":2,"insertBefore":8,"items":[{}],"mediaSessionId":3,"#
                    + #""requestId":7,"sequenceNumber":6,"type":"QUEUE_INSERT"}"#
            ),
            (
                .queueUpdate(mediaSessionID: 3, CastQueueUpdate(jump: -1)),
                #"{"jump":-1,"mediaSessionId":3,"requestId":7,"type":"QUEUE_UPDATE"}"#
            ),
            (
                .queueUpdate(
                    mediaSessionID: 3,
                    CastQueueUpdate(
                        items: [CastQueueItem(itemID: 2, startTime: 5)], repeatMode: .allAndShuffle, shuffle: true,
                        place: CastQueuePlace(currentItemID: 2))),
                #"{"currentItemId":2,"items":[{"itemId":2,"startTime":5}],"mediaSessionId":3,"#
                    + #""repeatMode":"REPEAT_ALL_AND_SHUFFLE","requestId":7,"shuffle":true,"type":"QUEUE_UPDATE"}"#
            ),
            (
                .queueRemove(mediaSessionID: 3, itemIDs: [1, 2], CastQueuePlace(currentItemID: 4)),
                #"{"currentItemId":4,"itemIds":[1,2],"mediaSessionId":3,"requestId":7,"type":"QUEUE_REMOVE"}"#
            ),
            (
                .queueReorder(mediaSessionID: 3, itemIDs: [5], insertBefore: 1),
                #"{"insertBefore":1,"itemIds":[5],"mediaSessionId":3,"requestId":7,"type":"QUEUE_REORDER"}"#
            ),
            (
                .queueReorder(mediaSessionID: 3, itemIDs: [5], insertBefore: nil),
                #"{"itemIds":[5],"mediaSessionId":3,"requestId":7,"type":"QUEUE_REORDER"}"#
            ),
            (
                .queueGetItemIDs(mediaSessionID: 3),
                #"{"mediaSessionId":3,"requestId":7,"type":"QUEUE_GET_ITEM_IDS"}"#
            ),
            (
                .queueGetItems(mediaSessionID: 3, itemIDs: [1, 9]),
                #"{"itemIds":[1,9],"mediaSessionId":3,"requestId":7,"type":"QUEUE_GET_ITEMS"}"#
            ),
            (
                .queueGetItemRange(mediaSessionID: 3, itemID: 4, .next(10)),
                #"{"itemId":4,"mediaSessionId":3,"nextCount":10,"requestId":7,"type":"QUEUE_GET_ITEM_RANGE"}"#
            ),
            (
                .queueGetItemRange(mediaSessionID: 3, itemID: 4, .previous(0)),
                #"{"itemId":4,"mediaSessionId":3,"prevCount":1,"requestId":7,"type":"QUEUE_GET_ITEM_RANGE"}"#
            ),
            (.queueNext(mediaSessionID: 3), #"{"mediaSessionId":3,"requestId":7,"type":"QUEUE_NEXT"}"#),
            (.queuePrevious(mediaSessionID: 3), #"{"mediaSessionId":3,"requestId":7,"type":"QUEUE_PREV"}"#),
        ] as [(CastMediaRequest, String)])
    func queue(request: CastMediaRequest, expected: String) {
        #expect(text(request) == expected)
    }

    @Test(
        "C6 C12 C15 tracks, ads, stored sessions and the rest",
        arguments: [
            (
                .editTracks(
                    mediaSessionID: 3,
                    CastTracksEdit(
                        activeTrackIDs: [], enableTextTracks: false, language: "de", isSuggestedLanguage: true)),
                #"{"activeTrackIds":[],"enableTextTracks":false,"isSuggestedLanguage":true,"language":"de","#
                    + #""mediaSessionId":3,"requestId":7,"type":"EDIT_TRACKS_INFO"}"#
            ),
            (
                .editAudioTracks(mediaSessionID: 3, language: "fr", isSuggested: nil),
                #"{"language":"fr","mediaSessionId":3,"requestId":7,"type":"EDIT_AUDIO_TRACKS"}"#
            ),
            (.skipAd(mediaSessionID: 3), #"{"mediaSessionId":3,"requestId":7,"type":"SKIP_AD"}"#),
            (.playAgain(mediaSessionID: 3), #"{"mediaSessionId":3,"requestId":7,"type":"PLAY_AGAIN"}"#),
            (
                .userAction(mediaSessionID: nil, CastUserAction("LIKE", context: "TRACK", clear: true)),
                #"{"clear":true,"requestId":7,"type":"USER_ACTION","userAction":"LIKE","userActionContext":"TRACK"}"#
            ),
            (
                .setCredentials("c", forRequestID: 2),
                #"{"credentials":"c","forRequestId":2,"requestId":7,"type":"SET_CREDENTIALS"}"#
            ),
            (
                .storeSession(mediaSessionID: 3), #"{"mediaSessionId":3,"requestId":7,"type":"STORE_SESSION"}"#
            ),
            (
                .resumeSession(CastStoredSession(json: ["a": 1])),
                #"{"requestId":7,"sessionState":{"a":1},"type":"RESUME_SESSION"}"#
            ),
            (.displayStatus(mediaSessionID: 3), #"{"mediaSessionId":3,"requestId":7,"type":"DISPLAY_STATUS"}"#),
            (.focusState(inFocus: true), #"{"requestId":7,"state":"IN_FOCUS","type":"FOCUS_STATE"}"#),
            (.precache(data: "d"), #"{"precacheData":"d","requestId":7,"type":"PRECACHE"}"#),
            (
                .preload(CastLoad(media: nil, currentTime: nil), itemID: 4),
                #"{"autoplay":true,"itemId":4,"requestId":7,"type":"PRELOAD"}"#
            ),
            (
                .loadByEntity(entity: "e", shuffle: false),
                #"{"entity":"e","requestId":7,"shuffle":false,"type":"LOAD_BY_ENTITY"}"#
            ),
        ] as [(CastMediaRequest, String)])
    func others(request: CastMediaRequest, expected: String) {
        #expect(text(request) == expected)
    }

    @Test(
        "C12 every value of a style goes out under its name and comes back",
        arguments: CastTextTrackStyle.GenericFamily.allCases)
    func style(family: CastTextTrackStyle.GenericFamily) throws {
        for (index, edge) in CastTextTrackStyle.EdgeType.allCases.enumerated() {
            var style = CastTextTrackStyle()
            style.fontGenericFamily = family
            style.edgeType = edge
            style.edgeColor = "#00000080"
            style.backgroundColor = "#11223344"
            style.windowColor = "#55667788"
            style.windowType = CastTextTrackStyle.WindowType.allCases[index % 3]
            style.windowRoundedCornerRadius = 8
            style.fontFamily = "Droid Sans"
            style.fontStyle = CastTextTrackStyle.FontStyle.allCases[index % 4]
            style.fontScale = 0.75
            #expect(CastTextTrackStyle(json: try #require(CastJSON(text: style.json.text))) == style)
        }
    }

    @Test(
        "C12 colours",
        arguments: [
            ("#ff0000", "#FF0000FF"), ("00ff0080", "#00FF0080"), ("#12345", nil), ("red", nil), ("#GG000000", nil),
            ("", nil),
        ])
    func colour(text: String, expected: String?) {
        #expect(CastTextTrackStyle.colour(text) == expected)
    }
}
