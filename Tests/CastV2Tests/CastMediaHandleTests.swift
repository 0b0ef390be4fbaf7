import CastV2
import Testing

/// What becomes of each request of the media namespace (C7): completed, failed, replaced, cancelled.
@Suite struct CastMediaHandleTests {
    static let media = CastMediaInformation(contentID: "u", contentType: "audio/mpeg")

    private func opened() -> CastChannelStateMachine {
        var machine = CastChannelStateMachine(
            sourceID: "me", sender: CastSender(userAgent: "test"), timeouts: CastTimeouts(), now: 0)
        _ = machine.opened(now: 0)
        return machine
    }

    private func asked(_ request: CastMediaRequest) -> CastRequest { .media(request, transport: "app", session: "s") }

    private func message(_ text: String, from source: String = "app") -> CastMessage {
        CastMessage(
            sourceID: source, destinationID: "me", namespace: CastNamespace.media, payload: .text(text))
    }

    private func result(_ actions: [CastChannelStateMachine.Action]) -> CastRequestResult? {
        actions.lazy.compactMap { if case .finish(_, let result) = $0 { result } else { nil } }.first
    }

    @Test(
        "C7 C10 C6 each answer completes the request that it names, once, and only from the app that was asked",
        arguments: [
            (
                .queueGetItemIDs(mediaSessionID: 1), #"{"type":"QUEUE_ITEM_IDS","requestId":1,"itemIds":[4,5]}"#,
                .queueItemIDs([4, 5], sequenceNumber: nil)
            ),
            (
                .queueGetItems(mediaSessionID: 1, itemIDs: [4]),
                #"{"type":"QUEUE_ITEMS","requestId":1,"items":[{"itemId":4}]}"#,
                .queueItems([CastQueueItem(itemID: 4)])
            ),
            (
                .queueRemove(mediaSessionID: 1, itemIDs: [4]),
                #"{"type":"QUEUE_CHANGE","requestId":1,"changeType":"REMOVE","itemIds":[4]}"#,
                .queueChange(CastQueueChange(kind: .remove, itemIDs: [4]))
            ),
            (
                .storeSession(mediaSessionID: 1), #"{"type":"SESSION_STATE","requestId":1,"sessionState":{"a":1}}"#,
                .storedSession(CastStoredSession(json: ["a": 1]))
            ),
            (
                .queueInsert(mediaSessionID: 1, CastQueueInsertion(items: [])),
                #"{"type":"MEDIA_STATUS","requestId":1,"status":[]}"#, .mediaStatus([])
            ),
        ] as [(CastMediaRequest, String, CastReply)])
    func completed(request: CastMediaRequest, answer: String, reply: CastReply) {
        var machine = opened()
        #expect(machine.request(asked(request), now: 0).id == 1)
        #expect(result(machine.received(message(answer, from: "other"), now: 1)) == nil)
        #expect(
            result(machine.received(message(answer.replacing(":1,", with: ":2,")), now: 1)) == nil
                || !answer.contains(":1,"))
        #expect(result(machine.received(message(answer), now: 1)) == .completed(reply))
        #expect(result(machine.received(message(answer), now: 1)) == nil)
        #expect(machine.pendingRequests == 0)
    }

    static let everyLoad: [CastMediaRequest] = [
        .load(CastLoad(media: media)), .queueLoad(CastQueueLoad(items: [])), .loadByEntity(entity: "e", shuffle: nil),
        .resumeSession(CastStoredSession(json: [:])),
    ]

    @Test("C7 every load replaces every other, and LOAD_FAILED and LOAD_CANCELLED end each", arguments: everyLoad)
    func loads(request: CastMediaRequest) {
        for newer in Self.everyLoad {
            var machine = opened()
            _ = machine.request(asked(request), now: 0)
            let (id, actions) = machine.request(asked(newer), now: 0)
            #expect(result(actions) == .replaced)
            let failed = machine.received(
                message(#"{"type":"LOAD_FAILED","requestId":\#(id),"detailedErrorCode":104}"#), now: 1)
            #expect(result(failed) == .failed(.loadFailed(CastMediaFailure(code: 104))))
        }
        var machine = opened()
        _ = machine.request(asked(request), now: 0)
        // A receiver that failed late names no request.
        #expect(result(machine.received(message(#"{"type":"LOAD_CANCELLED"}"#), now: 1)) == .replaced)
    }

    @Test(
        "C7 what only its last value counts of replaces itself, and nothing else does",
        arguments: [
            (.seek(mediaSessionID: 1, position: 1, resume: nil), true),
            (.setPlaybackRate(mediaSessionID: 1, 1), true),
            (.editTracks(mediaSessionID: 1, CastTracksEdit()), true),
            (.setVolume(mediaSessionID: 1, level: 1), true),
            (.focusState(inFocus: true), true),
            (.seekBy(mediaSessionID: 1, offset: 5, resume: nil), false),
            (.changePlaybackRate(mediaSessionID: 1, factor: 2), false),
            (.queueUpdate(mediaSessionID: 1, CastQueueUpdate(jump: 1)), false),
            (.queueInsert(mediaSessionID: 1, CastQueueInsertion(items: [])), false),
            (.queueRemove(mediaSessionID: 1, itemIDs: []), false),
            (.skipAd(mediaSessionID: 1), false),
            (.storeSession(mediaSessionID: 1), false),
        ] as [(CastMediaRequest, Bool)])
    func replacing(request: CastMediaRequest, replaced: Bool) {
        var machine = opened()
        _ = machine.request(asked(request), now: 0)
        #expect((result(machine.request(asked(request), now: 0).actions) == .replaced) == replaced)
        // Of another app it is another matter.
        let elsewhere = CastRequest.media(request, transport: "app2", session: nil)
        #expect(result(machine.request(elsewhere, now: 0).actions) == nil)
    }

    @Test("C7 cancelled, refused, timed out and lost") func otherEnds() {
        var machine = opened()
        let (first, _) = machine.request(asked(.queueRemove(mediaSessionID: 1, itemIDs: [1])), now: 0)
        #expect(result(machine.cancel(first)) == .cancelled)
        let (second, _) = machine.request(asked(.skipAd(mediaSessionID: 1)), now: 0)
        #expect(
            result(
                machine.received(
                    message(#"{"type":"INVALID_REQUEST","requestId":\#(second),"reason":"SKIP_LIMIT_REACHED"}"#), now: 1
                ))
                == .failed(.invalidRequest(reason: "SKIP_LIMIT_REACHED")))
        let (third, _) = machine.request(asked(.storeSession(mediaSessionID: 1)), now: 0)
        #expect(
            result(
                machine.received(message(#"{"type":"INVALID_PLAYER_STATE","requestId":\#(third)}"#), now: 1))
                == .failed(.invalidPlayerState))
        _ = machine.request(asked(.queueGetItemIDs(mediaSessionID: 1)), now: 0)
        #expect(result(machine.timePassed(now: 8_000_000_000)) == .failed(.timedOut))
        // A whole queue takes as long to load as one item.
        _ = machine.request(asked(.queueLoad(CastQueueLoad(items: []))), now: 8_000_000_000)
        _ = machine.received(message(#"{"type":"MEDIA_STATUS"}"#), now: 12_000_000_000)
        #expect(result(machine.timePassed(now: 17_000_000_000)) == nil)
        #expect(result(machine.transportClosed(.closedByPeer)) == .failed(.connectionLost(.closedByPeer)))
        #expect(machine.pendingRequests == 0)
    }

    @Test("C10 a queue too large for a frame is not sent") func tooLarge() {
        var machine = opened()
        let items = (0..<2000).map {
            CastQueueItem(
                media: CastMediaInformation(contentID: "http://192.168.1.10/\($0)", contentType: "audio/mpeg"))
        }
        let (_, actions) = machine.request(asked(.queueLoad(CastQueueLoad(items: items))), now: 0)
        guard case .failed(.unsendable) = result(actions) else {
            Issue.record("it was sent")
            return
        }
    }
}
