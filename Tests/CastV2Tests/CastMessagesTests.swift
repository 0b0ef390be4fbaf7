import CastV2
import Testing

/// What is sent, byte for byte, and what is read, out of what devices send.
@Suite struct CastMessagesTests {
    private func read(_ namespace: String, _ text: String) -> CastInbound {
        CastInbound(
            CastMessage(sourceID: "receiver-0", destinationID: "me", namespace: namespace, payload: .text(text)))
    }

    private func text(_ message: CastTransportMessage) -> String? { message.message(from: "me", to: "x").text }

    @Test("C3 CONNECT in its shortest form, and with everything") func connect() {
        let plain = CastSender(userAgent: "router")
        #expect(
            text(.connect(plain, .strong)) == #"{"origin":{},"type":"CONNECT","userAgent":"router"}"#)
        #expect(
            text(.connect(plain, .weak)) == #"{"connType":1,"origin":{},"type":"CONNECT","userAgent":"router"}"#)
        #expect(
            text(.connect(plain, .invisible))
                == #"{"connType":2,"origin":{},"type":"CONNECT","userAgent":"router"}"#)
        let full = CastSender(
            userAgent: "r",
            information: CastSender.Information(
                sdkType: 2, version: "1", browserVersion: "2", platform: 4, systemVersion: "3", connectionType: 1),
            protocolVersions: [0, 3, 1])
        #expect(
            text(.connect(full, .strong))
                == #"{"origin":{},"protocolVersion":3,"protocolVersionList":[0,3,1],"#
                + #""senderInfo":{"browserVersion":"2","connectionType":1,"platform":4,"sdkType":2,"#
                + #""systemVersion":"3","version":"1"},"type":"CONNECT","userAgent":"r"}"#)
    }

    @Test("C5 CLOSE with and without a reason", arguments: CastCloseReason.allCases)
    func close(reason: CastCloseReason) {
        #expect(text(.close(nil)) == #"{"type":"CLOSE"}"#)
        let text = text(.close(reason)) ?? ""
        #expect(text == #"{"reasonCode":\#(reason.rawValue),"type":"CLOSE"}"#)
        #expect(read(CastNamespace.connection, text) == .close(reasonCode: reason.rawValue))
    }

    @Test("C3 LAUNCH with everything that it can say, and no secret in its description") func launch() {
        #expect(
            CastReceiverRequest.launch(CastLaunch(appID: "A")).json(requestID: 3).text
                == #"{"appId":"A","language":"en","requestId":3,"supportedAppTypes":["WEB","ANDROID_TV"],"type":"LAUNCH"}"#
        )
        let launch = CastLaunch(
            appID: "A", language: "de-AT", supportedAppTypes: ["WEB"], parameters: ["room": "k"], credentials: "s3cret")
        #expect(
            CastReceiverRequest.launch(launch).json(requestID: 4).text
                == #"{"appId":"A","appParams":{"room":"k"},"credentials":"s3cret","language":"de-AT","requestId":4,"#
                + #""supportedAppTypes":["WEB"],"type":"LAUNCH"}"#)
        #expect(!"\(CastRequest.receiver(.launch(launch)))".contains("s3cret"))
    }

    @Test(
        "C3 the words of a failed launch",
        arguments: [
            ("NOT_FOUND", false, false), ("BAD_PARAMETER", false, false), ("CANCELLED", true, false),
            ("SYSTEM_ERROR", true, false), ("NOT_ALLOWED", false, true), ("USER_NOT_ALLOWED", false, true),
            ("NOTIFICATIONS_DISABLED", false, true), ("user_denied", false, true), ("ELSE", false, false),
        ])
    func launchProblems(word: String, passing: Bool, refusal: Bool) {
        let problem = CastLaunchProblem(word: word)
        #expect(problem.isPassing == passing)
        #expect(problem.isRefusal == refusal)
        #expect(!problem.explanation.isEmpty)
        #expect(word != "ELSE" || problem.explanation.contains("ELSE"))
        #expect(CastRequestFailure.launchFailed(reason: word).launchProblem == problem)
    }

    @Test("C17 multizone requests") func multizoneRequests() {
        let expected: [(CastMultizoneRequest, String)] = [
            (.getStatus, #"{"requestId":1,"type":"GET_STATUS"}"#),
            (.getCastingGroups, #"{"requestId":1,"type":"GET_CASTING_GROUPS"}"#),
            (
                .setVolume(deviceID: "d", level: 0.25),
                #"{"deviceId":"d","requestId":1,"type":"SET_DEVICE_VOLUME","volume":{"level":0.25}}"#
            ),
            (
                .setVolume(deviceID: "d", level: 7),
                #"{"deviceId":"d","requestId":1,"type":"SET_DEVICE_VOLUME","volume":{"level":1}}"#
            ),
            (
                .setVolume(deviceID: "d", level: .nan),
                #"{"deviceId":"d","requestId":1,"type":"SET_DEVICE_VOLUME","volume":{"level":0}}"#
            ),
            (
                .setMuted(deviceID: "d", true),
                #"{"deviceId":"d","requestId":1,"type":"SET_DEVICE_VOLUME","volume":{"muted":true}}"#
            ),
        ]
        for (request, text) in expected { #expect(request.json(requestID: 1).text == text) }
    }

    @Test("C17 multizone news, whole and in part") func multizoneNews() {
        let status = #"""
            {"type":"MULTIZONE_STATUS","requestId":2,"status":{"devices":[
            {"deviceId":"A","name":"Kitchen","capabilities":"2052","volume":{"level":0.5,"muted":false}},
            {"deviceId":"B","volume":null},{"name":"no id"},null,{"deviceId":"a","volume":{"level":"0.7"}}],
            "isMultichannel":"false","playbackSession":{"appAllowsGrouping":true,"streamTransferSupported":1}}}
            """#
        guard case .multizone(.status(let group), 2) = read(CastNamespace.multizone, status) else {
            Issue.record("no status")
            return
        }
        // One device twice, in two spellings, is one.
        #expect(group.members.map(\.deviceID) == ["A", "B"])
        #expect(group["a"]?.volume == CastVolume(level: 0.7, muted: false))
        #expect(group["A"]?.capabilities == 2052)
        #expect(group.isMultichannel == false)
        #expect(group.playbackSession == CastPlaybackSession(appAllowsGrouping: true, streamTransferSupported: true))
        let news: [(String, CastMultizoneNews)] = [
            (
                #"{"type":"DEVICE_ADDED","device":{"deviceId":"C","name":"Hall"}}"#,
                .memberAdded(CastGroupMember(deviceID: "C", name: "Hall"))
            ),
            (
                #"{"type":"DEVICE_UPDATED","device":{"deviceId":"C","volume":{"muted":"true"}}}"#,
                .memberUpdated(CastGroupMember(deviceID: "C", volume: CastVolume(muted: true)))
            ),
            (#"{"type":"DEVICE_REMOVED","deviceId":"C"}"#, .memberRemoved(deviceID: "C")),
            (#"{"type":"PLAYBACK_SESSION_UPDATED","playbackSession":{}}"#, .playbackSession(nil)),
            (
                #"{"type":"PLAYBACK_SESSION_UPDATED","status":{"playbackSession":{"isVideoContent":true}}}"#,
                .playbackSession(CastPlaybackSession(isVideoContent: true))
            ),
            (
                #"{"type":"CASTING_GROUPS","status":{"groups":[{"deviceId":"g","name":"House"},{"name":"x"}]}}"#,
                .castingGroups([CastCastingGroup(id: "g", name: "House")])
            ),
            (#"{"type":"CASTING_GROUPS","groups":null}"#, .castingGroups([])),
        ]
        for (text, expected) in news {
            #expect(read(CastNamespace.multizone, text) == .multizone(expected, requestID: 0))
        }
        for odd in [
            #"{"type":"DEVICE_ADDED"}"#, #"{"type":"DEVICE_UPDATED","device":null}"#,
            #"{"type":"DEVICE_REMOVED","deviceId":""}"#, #"{"type":"DEVICE_REMOVED","deviceId":[]}"#,
        ] {
            guard case .other = read(CastNamespace.multizone, odd) else {
                Issue.record("\(odd)")
                continue
            }
        }
        #expect(
            read(CastNamespace.multizone, #"{"type":"INVALID_REQUEST","requestId":4,"reason":"R"}"#)
                == .invalidRequest(reason: "R", requestID: 4))
    }

    @Test("C17 a group takes its news in, and never grows without limit") func groupStatus() {
        var group = CastMultizoneStatus(members: [
            CastGroupMember(deviceID: "a", name: "A", volume: CastVolume(level: 0.5, muted: false))
        ])
        group.apply(.memberUpdated(CastGroupMember(deviceID: "A", volume: CastVolume(level: 0.6))))
        #expect(
            group.members == [
                CastGroupMember(deviceID: "a", name: "A", volume: CastVolume(level: 0.6, muted: false))
            ])
        group.apply(.memberAdded(CastGroupMember(deviceID: "b")))
        group.apply(.memberRemoved(deviceID: "A"))
        group.apply(.memberRemoved(deviceID: "never there"))
        #expect(group.members.map(\.deviceID) == ["b"])
        group.apply(.playbackSession(CastPlaybackSession(isVideoContent: false)))
        #expect(group.playbackSession?.isVideoContent == false)
        for index in 0..<1000 { group.apply(.memberAdded(CastGroupMember(deviceID: "x\(index)"))) }
        #expect(group.members.count == CastMultizoneStatus.maximumMembers)
        group.apply(.status(CastMultizoneStatus()))
        #expect(group.members.isEmpty)
    }

    @Test("C2 what a device says of itself") func deviceInformation() {
        let text = #"""
            {"type":"GET_DEVICE_INFO","requestId":7,"deviceId":"d","friendlyName":"Küche","deviceModel":"M",
            "deviceCapabilities":"6149","controlNotifications":1,"receiverMetricsId":null,"deviceIconUrl":3}
            """#
        guard case .deviceInformation(let information, 7) = read(CastNamespace.discovery, text) else {
            Issue.record("no information")
            return
        }
        #expect(information.friendlyName == "Küche")
        #expect(information.capabilities == 6149)
        #expect(information.receiverMetricsID == nil)
        let setup = #"""
            {"type":"eureka_info","request_id":8,"response_code":200,"response_string":"OK","data":{"name":"N","version":12,
            "device_info":{"manufacturer":"Google","product_name":"p","ssdp_udn":"u"},"build_info":{"x":1}}}
            """#
        guard case .eurekaInformation(let eureka, 8) = read(CastNamespace.setup, setup) else {
            Issue.record("no eureka_info")
            return
        }
        #expect(eureka.isAnswer)
        #expect([eureka.name, eureka.manufacturer, eureka.productName, eureka.udn] == ["N", "Google", "p", "u"])
        #expect(eureka.data["build_info"]["x"].int == 1)
        guard
            case .eurekaInformation(let refused, 0) = read(
                CastNamespace.setup, #"{"type":"eureka_info","response_code":"404","data":null}"#)
        else {
            Issue.record("no refusal")
            return
        }
        #expect(!refused.isAnswer)
        #expect(refused.name == nil)
    }

    @Test("C17 volume: kinds, and steps that meet the same levels up and down")
    func volumes() throws {
        func volume(_ text: String) throws -> CastVolume {
            guard
                case .receiverStatus(let status, _) = read(
                    CastNamespace.receiver, #"{"type":"RECEIVER_STATUS","status":{"volume":\#(text)}}"#)
            else { throw CastRequestFailure.timedOut }
            return try #require(status.volume)
        }
        let attenuation = try volume(#"{"controlType":"attenuation","level":0.52,"stepInterval":0.1}"#)
        #expect(attenuation.isAdjustable)
        #expect(attenuation.level(stepping: 1).map { ($0 * 1000).rounded() } == 600)
        #expect(attenuation.level(stepping: -1).map { ($0 * 1000).rounded() } == 500)
        #expect(attenuation.level(stepping: 100) == 1)
        #expect(attenuation.level(stepping: -100) == 0)
        #expect(try volume(#"{"controlType":"master","level":1}"#).controlType == .master)
        let fixed = try volume(#"{"controlType":"fixed","level":1,"stepInterval":0.05}"#)
        #expect(!fixed.isAdjustable)
        #expect(fixed.level(stepping: 1) == nil)
        let odd = try volume(#"{"controlType":"else","level":"-3","muted":null,"stepInterval":7}"#)
        #expect(odd == CastVolume(level: 0))
        #expect(odd.isAdjustable)
    }
}
