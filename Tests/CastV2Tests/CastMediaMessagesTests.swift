import CastV2
import Testing

/// What receivers say in the media namespace beside the plainest of statuses.
@Suite struct CastMediaMessagesTests {
    private func read(_ text: String) -> CastInbound {
        CastInbound(
            CastMessage(sourceID: "t", destinationID: "s", namespace: CastNamespace.media, payload: .text(text)))
    }

    private func status(_ text: String) throws -> CastMediaStatusUpdate {
        guard case .mediaStatus(let updates, _) = read(#"{"type":"MEDIA_STATUS","status":[\#(text)]}"#) else {
            throw CastTestFailure()
        }
        return try #require(updates.first)
    }

    struct CastTestFailure: Error {}

    @Test("C10 C11 C12 C13 C15 a status with everything") func everything() throws {
        let update = try status(
            #"""
            {"mediaSessionId":5,"playerState":"PLAYING","currentTime":1,"activeTrackIds":[1,"2",null],
             "currentItemId":11,"loadingItemId":12,"preloadedItemId":"13","repeatMode":"repeat_all",
             "items":[{"itemId":11,"media":{"contentId":"a"},"startTime":"3","orderId":0},{"media":{}},null,
              {"itemId":12,"preloadTime":20,"activeTrackIds":[7],"customData":{"t":1}}],
             "queueData":{"id":"q","name":"N","queueType":"PLAYLIST","shuffle":"true","repeatMode":"REPEAT_ALL",
              "startIndex":2,"containerMetadata":{"title":"C"}},
             "liveSeekableRange":{"start":"10","end":70,"isMovingWindow":1,"isLiveDone":false},
             "videoInfo":{"width":3840,"height":"2160","hdrType":"DV"},
             "breakStatus":{"breakId":"b","breakClipId":"c","currentBreakTime":2,"currentBreakClipTime":"1.5",
              "whenSkippable":5},
             "customData":{"z":[]}}
            """#)
        #expect(update.activeTrackIDs == [1, 2])
        #expect(update.currentItemID == 11)
        #expect(update.loadingItemID == 12)
        #expect(update.preloadedItemID == 13)
        #expect(update.repeatMode == .all)
        #expect(update.items?.map(\.itemID) == [11, 12])
        #expect(update.items?.first?.startTime == 3)
        #expect(update.items?.last?.activeTrackIDs == [7])
        #expect(update.items?.last?.customData == ["t": 1])
        #expect(update.queueData?.kind == .playlist)
        #expect(update.queueData?.shuffle == true)
        #expect(update.liveRange == CastLiveRange(start: 10, end: 70, isMovingWindow: true))
        #expect(update.video == CastVideoInformation(width: 3840, height: 2160, hdrType: "dv"))
        #expect(update.video?.dynamicRange == .dv)
        #expect(
            update.breakStatus
                == CastBreakStatus(breakID: "b", clipID: "c", breakTime: 2, clipTime: 1.5, whenSkippable: 5))
        #expect(update.customData == ["z": []])
    }

    @Test(
        "malformed parts are left out, and the rest is read",
        arguments: [
            #""activeTrackIds":"1""#, #""items":{"itemId":1}"#, #""queueData":[]"#, #""liveSeekableRange":{"start":1}"#,
            #""liveSeekableRange":null"#, #""videoInfo":{"width":-1,"height":5}"#, #""videoInfo":"4K""#,
            #""breakStatus":{}"#, #""breakStatus":7"#, #""repeatMode":"SOMETIMES""#, #""currentItemId":{}"#,
            #""currentItemId":1e300"#, #""customData":null"#,
        ])
    func malformed(field: String) throws {
        let update = try status(#"{"mediaSessionId":5,"playerState":"PAUSED",\#(field)}"#)
        #expect(update == CastMediaStatusUpdate(mediaSessionID: 5, playerState: .paused))
    }

    @Test(
        "tracks and breaks without what makes them one are none",
        arguments: [
            (#"{"type":"TEXT"}"#, 0), (#"{"trackId":1}"#, 0), (#"{"trackId":1,"type":"SMELL"}"#, 0), ("null", 0),
            (#"{"trackId":"1","type":"text","subtype":"KARAOKE","roles":"x"}"#, 1),
        ])
    func tracks(text: String, count: Int) throws {
        let update = try status(#"{"media":{"contentId":"a","tracks":[\#(text)],"breaks":[{"id":"b"},{}]}}"#)
        #expect(update.media?.tracks.count == count)
        #expect(update.media?.breaks.isEmpty == true)
        #expect(update.media?.tracks.first?.subtype == nil)
    }

    @Test(
        "C10 C6 the queue and the stored session",
        arguments: [
            (
                #"{"type":"QUEUE_ITEM_IDS","requestId":4,"itemIds":[3,"1",null,2],"sequenceNumber":"8"}"#,
                CastInbound.queueItemIDs([3, 1, 2], sequenceNumber: 8, requestID: 4)
            ),
            (#"{"type":"QUEUE_ITEM_IDS","itemIds":null}"#, .queueItemIDs([], sequenceNumber: nil, requestID: 0)),
            (
                #"{"type":"QUEUE_ITEMS","requestId":4,"items":[{"itemId":1},{}]}"#,
                .queueItems([CastQueueItem(itemID: 1)], requestID: 4)
            ),
            (
                #"{"type":"QUEUE_CHANGE","changeType":"insert","itemIds":[5],"insertBefore":2,"sequenceNumber":3}"#,
                .queueChange(
                    CastQueueChange(kind: .insert, itemIDs: [5], insertBefore: 2, sequenceNumber: 3), requestID: 0)
            ),
            (
                #"{"type":"QUEUE_CHANGE","changeType":"UPDATE","reorderItemIds":[2,1]}"#,
                .queueChange(CastQueueChange(kind: .update, reorderItemIDs: [2, 1]), requestID: 0)
            ),
            (#"{"type":"QUEUE_CHANGE","changeType":9}"#, .queueChange(CastQueueChange(kind: nil), requestID: 0)),
            (
                #"{"type":"SESSION_STATE","requestId":4,"sessionState":{"loadRequestData":{"media":null}}}"#,
                .storedSession(CastStoredSession(json: ["loadRequestData": ["media": nil]]), requestID: 4)
            ),
            (
                #"{"type":"SESSION_STATE","requestId":4}"#,
                .storedSession(CastStoredSession(json: nil), requestID: 4)
            ),
        ])
    func queueMessages(text: String, expected: CastInbound) {
        #expect(read(text) == expected)
    }

    @Test("C6 a stored session holds a load, or not") func stored() {
        #expect(CastStoredSession(json: nil).isEmpty)
        #expect(CastStoredSession(json: ["loadRequestData": ["media": nil]]).load == nil)
        let json: CastJSON = [
            "loadRequestData": [
                "media": ["contentId": "u", "contentType": "t"], "currentTime": "12", "autoplay": "false",
            ]
        ]
        let load = CastStoredSession(json: json).load
        #expect(load?.media?.contentID == "u")
        #expect(load?.currentTime == 12)
        #expect(load?.autoplay == false)
    }

    @Test("C21 failures tell item, player code and severity") func failures() {
        guard
            case .loadFailed(let failure, 3) = read(
                #"{"type":"LOAD_FAILED","requestId":3,"itemId":"4","detailedErrorCode":905,"customData":{"why":"x"}}"#)
        else {
            Issue.record("not a failure")
            return
        }
        #expect(failure.code == 905)
        #expect(failure.itemID == 4)
        #expect(failure.customData == ["why": "x"])
        guard
            case .mediaError(let error, 0) = read(
                #"{"type":"ERROR","detailedErrorCode":104,"severity":1,"playerErrorCode":"4"}"#)
        else {
            Issue.record("not an error")
            return
        }
        #expect(error.severity == 1)
        #expect(error.playerCode == 4)
        #expect(error.kind == .unsupported)
    }

    @Test(
        "C21 every refusal has its kind and its words",
        arguments: [
            ("INVALID_COMMAND", .unsupported), ("INVALID_PARAMS", .malformed),
            ("INVALID_MEDIA_SESSION_ID", .gone), ("INVALID_REQUEST", .malformed),
            ("SKIP_LIMIT_REACHED", .limited), ("NOT_SUPPORTED", .unsupported),
            ("LANGUAGE_NOT_SUPPORTED", .unsupported), ("END_OF_QUEUE", .endOfQueue),
            ("DUPLICATE_REQUEST_ID", .malformed), ("VIDEO_DEVICE_REQUIRED", .unsupported),
            ("PREMIUM_ACCOUNT_REQUIRED", .account), ("APP_ERROR", .other), ("AUTHENTICATION_EXPIRED", .account),
            ("CONCURRENT_STREAM_LIMIT", .limited), ("PARENTAL_CONTROL_RESTRICTED", .forbidden),
            ("CONTENT_FILTERED", .forbidden), ("NOT_AVAILABLE_IN_REGION", .forbidden),
            ("CONTENT_ALREADY_PLAYING", .other), ("GENERIC_LOAD_ERROR", .other),
        ] as [(String, CastRefusal.Kind)])
    func refusals(reason: String, kind: CastRefusal.Kind) {
        let refusal = CastRefusal(rawValue: reason.lowercased())
        #expect(refusal.kind == kind)
        #expect(!refusal.explanation.contains(reason))
        #expect(CastRefusal(rawValue: "X_Y").explanation.contains("X_Y"))
    }

    @Test("supportedMediaCommands by name; bits that nobody knows have none") func commands() {
        #expect(
            CastMediaCommands(rawValue: 12_303).names == [
                "pause", "seek", "streamVolume", "streamMute", "editTracks", "playbackRate",
            ])
        #expect(CastMediaCommands(rawValue: 274_447).contains([.streamTransfer, .editTracks]))
        #expect(CastMediaCommands(rawValue: 3072) == [.repeatAll, .repeatOne])
        #expect(CastMediaCommands(rawValue: 1 << 40).names == [])
        #expect(Set(CastMediaCommands.named.map(\.name)).count == 20)
    }
}
