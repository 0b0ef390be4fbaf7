import CastV2
import Testing

@Suite struct CastInboundTests {
    private func read(_ namespace: String, _ text: String) -> CastInbound {
        CastInbound(
            CastMessage(sourceID: "receiver-0", destinationID: "s", namespace: namespace, payload: .text(text)))
    }

    @Test(arguments: [
        (#"{"a":"12","b":12.7,"c":"x","d":null}"#, [12, 12, nil, nil] as [Int?]),
        (#"{"a":" 3 ","b":1e300,"c":true,"d":[1]}"#, [3, nil, nil, nil]),
    ])
    func numbersAreReadOutOfStrings(text: String, expected: [Int?]) throws {
        let json = try #require(CastJSON(text: text))
        #expect(["a", "b", "c", "d"].map { json[$0].int } == expected)
    }

    @Test func truthValues() throws {
        let json = try #require(CastJSON(text: #"{"a":"True","b":0,"c":"no","d":false}"#))
        #expect(["a", "b", "c", "d"].map { json[$0].bool } == [true, false, nil, false])
    }

    @Test func whatIsNoJSONIsUnreadable() {
        for text in ["", "{", "PING", "[]", "3", "null", "{\"type\":}", "\u{0}", String(repeating: "[", count: 60_000)]
        {
            #expect(read(CastNamespace.receiver, text) == .unreadable)
        }
    }

    @Test func writingKeepsIntegersAndSlashes() {
        let json: CastJSON = ["url": "http://a/b", "requestId": 7, "level": 0.5, "list": [true, nil]]
        #expect(json.text == #"{"level":0.5,"list":[true,null],"requestId":7,"url":"http://a/b"}"#)
        #expect(CastJSON.number(.infinity).text == "null")
    }

    @Test func numbersThatNoDoubleHoldsSpoilNothingElse() {
        let inbound = read(CastNamespace.connection, #"{"type":"CLOSE","reasonCode":5,"x":1e999}"#)
        #expect(inbound == .close(reasonCode: 5) || inbound == .unreadable)
    }

    @Test("a receiver status with null, strings and missing parts")
    func receiverStatus() throws {
        let text = #"""
            {"type":"RECEIVER_STATUS","requestId":"4","status":{"applications":[
              {"appId":"CC1AD845","sessionId":"s1","transportId":"t1","namespaces":null,"isIdleScreen":"false"},
              {"appId":""},null,{"appId":"E8C28D3C"}],
              "volume":{"level":"0.4","muted":"false","controlType":"ATTENUATION","stepInterval":0},"isStandBy":null}}
            """#
        guard case .receiverStatus(let status, 4) = read(CastNamespace.receiver, text) else {
            Issue.record("not a receiver status")
            return
        }
        #expect(status.applications.map(\.appID) == ["CC1AD845", "E8C28D3C"])
        #expect(status.applications.map(\.isIdleScreen) == [false, true])
        #expect(status.activeApplication?.transportID == "t1")
        #expect(status.volume == CastVolume(level: 0.4, muted: false, controlType: .attenuation))
        #expect(status.application(appID: "cc1ad845")?.sessionID == "s1")
        #expect(
            read(CastNamespace.receiver, #"{"type":"RECEIVER_STATUS","requestId":1,"status":null}"#)
                == .receiverStatus(CastReceiverStatus(), requestID: 1))
        // As news it would end a session that is well.
        for broken in [#""status":null"#, #""x":1"#, #""requestId":1,"status":7"#, #""requestId":1,"status":[]"#] {
            guard case .other = read(CastNamespace.receiver, #"{"type":"RECEIVER_STATUS",\#(broken)}"#) else {
                Issue.record("\(broken) was believed")
                continue
            }
        }
    }

    @Test(
        "replies of the receiver namespace",
        arguments: [
            (
                #"{"type":"LAUNCH_STATUS","launchRequestId":3,"status":"USER_ALLOWED"}"#,
                CastInbound.launchStatus("USER_ALLOWED", requestID: 3)
            ),
            (
                #"{"type":"LAUNCH_ERROR","requestId":3,"reason":"NOT_FOUND"}"#,
                .launchError(reason: "NOT_FOUND", extended: nil, requestID: 3)
            ),
            (
                #"{"responseType":"GET_APP_AVAILABILITY","requestId":5,"availability":{"A":"APP_AVAILABLE","B":"APP_UNAVAILABLE","C":null}}"#,
                .appAvailability(["A": true, "B": false], requestID: 5)
            ),
            (
                #"{"type":"INVALID_REQUEST","requestId":6,"reason":"INVALID_COMMAND"}"#,
                .invalidRequest(reason: "INVALID_COMMAND", requestID: 6)
            ),
        ])
    func receiverReplies(text: String, expected: CastInbound) {
        #expect(read(CastNamespace.receiver, text) == expected)
    }

    @Test(
        "replies of the media namespace",
        arguments: [
            (
                #"{"type":"LOAD_FAILED","requestId":9,"detailedErrorCode":"104"}"#,
                CastInbound.loadFailed(CastMediaFailure(code: 104), requestID: 9)
            ),
            (#"{"type":"LOAD_CANCELLED","requestId":9}"#, .loadCancelled(requestID: 9)),
            (#"{"type":"INVALID_PLAYER_STATE","requestId":9}"#, .invalidPlayerState(requestID: 9)),
            (
                #"{"type":"ERROR","requestId":0,"detailedErrorCode":301,"reason":"X"}"#,
                .mediaError(CastMediaFailure(code: 301, reason: "X"), requestID: 0)
            ),
            (#"{"type":"MEDIA_STATUS","status":[]}"#, .mediaStatus([], requestID: 0)),
            (
                #"{"type":"MEDIA_STATUS","status":{"mediaSessionId":1}}"#,
                .mediaStatus([CastMediaStatusUpdate(mediaSessionID: 1)], requestID: 0)
            ),
            (#"{"type":"media_status","requestId":2}"#, .mediaStatus([], requestID: 2)),
            (#"{"type":"SOMETHING_NEW","x":1}"#, .other(type: "SOMETHING_NEW", ["type": "SOMETHING_NEW", "x": 1])),
        ])
    func mediaReplies(text: String, expected: CastInbound) {
        #expect(read(CastNamespace.media, text) == expected)
    }

    @Test func aFullMediaStatus() {
        let text = #"""
            {"type":"MEDIA_STATUS","requestId":0,"status":[{"mediaSessionId":2,"playerState":"IDLE","currentTime":"1.5",
            "playbackRate":1,"supportedMediaCommands":12303,"volume":{"level":1,"muted":false},
            "media":{"contentId":"u","contentType":"audio/mp4","streamType":"buffered","duration":-1,
              "metadata":{"metadataType":"3","title":"T","trackNumber":"7","images":[{"url":"i","width":"60"},{}]}},
            "extendedStatus":{"playerState":"LOADING","mediaSessionId":3,"media":null}}]}
            """#
        guard case .mediaStatus(let updates, 0) = read(CastNamespace.media, text), let update = updates.first else {
            Issue.record("not a media status")
            return
        }
        #expect(update.currentTime == 1.5)
        #expect(update.supportedMediaCommands?.isSuperset(of: [.pause, .seek, .streamVolume, .streamMute]) == true)
        #expect(update.media?.duration == nil)
        #expect(update.media?.streamType == .buffered)
        #expect(update.media?.metadata?.kind == .musicTrack)
        #expect(update.media?.metadata?[number: .trackNumber] == 7)
        #expect(update.media?.metadata?.images == [CastImage(url: "i", width: 60)])
        #expect(update.loading == CastMediaStatusUpdate.Loading(mediaSessionID: 3))
    }

    @Test(
        "C9 each type of metadata sends the fields that it knows, and they come back",
        arguments: CastMediaMetadata.Kind.allCases)
    func metadata(kind: CastMediaMetadata.Kind) throws {
        var metadata = CastMediaMetadata(kind: kind, images: [CastImage(url: "http://a/i.jpg", width: 1, height: 2)])
        for field in CastMediaMetadata.Field.allCases {
            metadata[text: field] = field.rawValue
        }
        let json = try #require(CastJSON(text: metadata.json.text))
        #expect(json["metadataType"].int == kind.rawValue)
        let keys = Set(json.object?.keys.map { $0 } ?? []).subtracting(["metadataType", "images"])
        #expect(keys == Set(CastMediaMetadata.fields(of: kind).map(\.rawValue)))
        #expect(json["images"].elements.first?["height"].int == 2)
    }

    @Test func everyErrorCodeHasItsWords() {
        var seen: Set<String> = []
        for code in [
            100, 101, 102, 103, 104, 110, 201, 202, 203, 300, 301, 311, 312, 313, 314, 315, 316, 321, 322, 331,
            332, 400, 411, 412, 420, 421, 422, 423, 431, 500, 600, 900, 901, 902, 903, 904, 905, 906, 909,
        ] {
            let failure = CastMediaFailure(code: code)
            #expect(failure.explanation.contains("code \(code)"))
            seen.insert(failure.explanation)
        }
        #expect(seen.count == 39)
        #expect(CastMediaFailure().explanation == "it could not load the media")
        #expect(CastMediaFailure(code: 301).kind == .unreachable)
        #expect(CastMediaFailure(code: 104).kind == .unsupported)
    }

    @Test("device authentication: our challenge and the three kinds of answer")
    func deviceAuthentication() throws {
        // Field 1 (challenge): sender_nonce (2) of two bytes, hash_algorithm (3) 1.
        let challenge = CastAuthenticationChallenge(nonce: [7, 8]).message(from: "s")
        #expect(challenge.payload == .binary([0x0a, 0x06, 0x12, 0x02, 7, 8, 0x18, 0x01]))
        #expect(
            CastAuthenticationChallenge(nonce: [], wantsSHA256: false).message(from: "s").payload
                == .binary([0x0a, 0x00]))
        func answer(_ bytes: [UInt8]) -> CastInbound {
            CastInbound(
                CastMessage(
                    sourceID: "receiver-0", destinationID: "s", namespace: CastNamespace.deviceAuthentication,
                    payload: .binary(bytes)))
        }
        guard
            case .deviceAuthentication(.response(let response)) = answer(
                [0x12, 0x0c, 0x0a, 0x01, 1, 0x12, 0x01, 2, 0x1a, 0x01, 3, 0x2a, 0x01, 4])
        else {
            Issue.record("no response")
            return
        }
        #expect(response.signature == [1])
        #expect(response.certificate == [2])
        #expect(response.intermediates == [[3]])
        #expect(response.nonce == [4])
        #expect(!response.usesSHA256)
        #expect(answer([0x1a, 0x02, 0x08, 0x01]) == .deviceAuthentication(.refused(.noTLS)))
        #expect(answer([]) == .deviceAuthentication(.empty))
        // Bytes that are no protobuf, and a response without its certificate.
        #expect(answer([0xff]) == .deviceAuthentication(.unreadable))
        #expect(answer([0x12, 0x03, 0x0a, 0x01, 1]) == .deviceAuthentication(.unreadable))
        let text = CastMessage(
            sourceID: "receiver-0", destinationID: "s", namespace: CastNamespace.deviceAuthentication,
            payload: .text("{}"))
        #expect(CastInbound(text) == .deviceAuthentication(.notBinary))
    }
}
