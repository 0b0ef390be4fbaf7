import CastV2
import Foundation
import RouterTestKit
import SimulatedReceivers
import Testing

/// The rules of virtual connections, launches and the receiver namespace, on the wire.
@Suite struct CastRulesTests {
    private func with(
        _ change: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: (SimulatedCastReceiver, CastTestSender) async throws -> Void
    ) async throws {
        try await CastReceiverTests.withReceiver(change) { receiver, port, _ in
            let sender = try await CastTestSender(port: port)
            try await body(receiver, sender)
            await sender.close()
        }
    }

    private func launch(_ app: String, _ request: Int, _ sender: CastTestSender) async -> CastTestSender.Received? {
        await sender.say(
            ["type": "LAUNCH", "appId": .string(app), "requestId": .integer(request)], in: CastNamespace.receiver)
        return await sender.hear { $0.requestID == request && $0.namespace == CastNamespace.receiver }
    }

    @Test("R8 connType: weak and invisible are taken, other values are closed with their reason")
    func connectionTypes() async throws {
        try await with { receiver, sender in
            let app = await launch("CC1AD845", 1, sender)?.json["status"]?["applications"]?.array?.first
            let transport = try #require(app?["transportId"]?.string)
            await sender.connect(to: transport, as: "hidden", fields: ["connType": 2])
            await sender.say(["type": "GET_STATUS", "requestId": 2], in: CastNamespace.receiver)
            let status = await sender.hear("RECEIVER_STATUS", request: 2)?.json["status"]
            #expect(status?["applications"]?.array?.first?["senderConnected"]?.bool == false)
            // What an app says to an invisible sender, it says to all.
            await sender.say(
                ["type": "GET_STATUS", "requestId": 3], in: CastNamespace.media, to: transport, as: "hidden")
            #expect(await sender.hear("MEDIA_STATUS", request: 3)?.destination == "*")
            await sender.connect(to: transport, as: "weak", fields: ["connType": 1])
            await sender.connect(to: transport, as: "odd", fields: ["connType": 7])
            let close = await sender.hear("CLOSE")
            #expect(close?.destination == "odd" && close?.json["reasonCode"]?.int == 3)
            await sender.connect(to: transport, as: "text", fields: ["connType": "x"])
            #expect(await sender.hear { $0.type == "CLOSE" && $0.destination == "text" } != nil)
            #expect(await receiver.record().events("senderJoined").compactMap { $0["connType"]?.int } == [0, 2, 1])
        }
    }

    @Test("R8 an app exits when its strong sender has left and only a weak one remains, where it is told to")
    func weakSenders() async throws {
        try await with {
            $0.exitsWithWeakSenders = true
        } _: { receiver, sender in
            let app = await launch("CC1AD845", 1, sender)?.json["status"]?["applications"]?.array?.first
            let transport = try #require(app?["transportId"]?.string)
            await sender.connect(to: transport)
            await sender.connect(to: transport, as: "weak", fields: ["connType": 1])
            await sender.say(["type": "CLOSE"], in: CastNamespace.connection, to: transport)
            #expect(await sender.hear("CLOSE")?.destination == "weak")
            #expect(await receiver.record().words.contains("exited"))
        }
    }

    @Test("R8 when an app dies its senders hear CLOSE and then the status without it")
    func deathOrder() async throws {
        try await with { receiver, sender in
            let app = await launch("CC1AD845", 1, sender)?.json["status"]?["applications"]?.array?.first
            let transport = try #require(app?["transportId"]?.string)
            await sender.connect(to: transport)
            #expect(await eventually { await receiver.record().events("senderJoined").count == 2 })
            #expect(await sender.hear { $0.type == "RECEIVER_STATUS" && $0.requestID == 0 } != nil)
            let before = await sender.received.count
            receiver.control(.crash)
            #expect(await eventually { await sender.received.count >= before + 2 })
            let heard = await sender.received.dropFirst(before).map(\.type)
            #expect(heard.first == "CLOSE" && heard.dropFirst().first == "RECEIVER_STATUS")
        }
    }

    @Test("R8 a launch waits for somebody's permission, and goes on or is cancelled", arguments: [true, false])
    func authorization(_ allowed: Bool) async throws {
        try await with {
            $0.launchStyle = .userAuthorization
        } _: { receiver, sender in
            await sender.say(
                ["type": "LAUNCH", "appId": "CC1AD845", "requestId": 4], in: CastNamespace.receiver)
            let pending = await sender.hear("LAUNCH_STATUS")
            #expect(pending?.json["status"]?.string == "USER_PENDING_AUTHORIZATION")
            #expect(pending?.json["launchRequestId"]?.int == 4)
            receiver.control(allowed ? .allowLaunch : .refuseLaunch)
            let answer = await sender.hear { $0.requestID == 4 }
            #expect(answer?.type == (allowed ? "RECEIVER_STATUS" : "LAUNCH_ERROR"))
            if !allowed { #expect(answer?.json["reason"]?.string == "CANCELLED") }
        }
    }

    @Test(
        "R8 each launch error", arguments: ["NOT_FOUND", "CANCELLED", "BAD_PARAMETER", "SYSTEM_ERROR", "NOT_ALLOWED"])
    func launchErrors(_ reason: String) async throws {
        try await with {
            $0.faults.launchError = reason
            $0.faults.launchErrorDetail = "words"
        } _: { _, sender in
            let error = await launch("CC1AD845", 1, sender)
            #expect(error?.type == "LAUNCH_ERROR" && error?.json["reason"]?.string == reason)
            #expect(error?.json["extendedError"]?.string == "words")
        }
    }

    @Test("C16 the echo app lists its namespaces and sends text and binary back")
    func echo() async throws {
        try await with { receiver, sender in
            let app = await launch("ECC0ECC0", 1, sender)?.json["status"]?["applications"]?.array?.first
            let names = app?["namespaces"]?.array?.compactMap { $0["name"]?.string }
            #expect(names == [CastNamespace.media, SimulatedCastApp.echoText, SimulatedCastApp.echoSecond])
            let transport = try #require(app?["transportId"]?.string)
            // Not connected: dropped.
            try await sender.say(text: "early", in: SimulatedCastApp.echoText, to: transport)
            await sender.connect(to: transport)
            try await sender.say(text: "not even JSON", in: SimulatedCastApp.echoText, to: transport)
            try await sender.say(binary: [0, 255, 1], in: SimulatedCastApp.echoSecond, to: transport)
            #expect(await sender.hear { $0.binary == [0, 255, 1] }?.source == transport)
            let messages = await receiver.record().events("appMessage")
            #expect(messages.compactMap { $0["text"]?.string } == ["not even JSON"])
        }
    }

    @Test("R8 a repeated request id is refused where the device counts them")
    func duplicates() async throws {
        try await with {
            $0.refusesDuplicateRequestIDs = true
        } _: { _, sender in
            for _ in 0..<2 { await sender.say(["type": "GET_STATUS", "requestId": 5], in: CastNamespace.receiver) }
            #expect(await sender.hear("INVALID_REQUEST", request: 5)?.json["reason"]?.string == "DUPLICATE_REQUEST_ID")
        }
    }

    @Test("C17 volume kinds and steps; a fixed one cannot be set", arguments: ["attenuation", "fixed", "master"])
    func volumes(_ kind: String) async throws {
        let control = try #require(SimulatedCastConfiguration.VolumeControl(rawValue: kind))
        try await with {
            $0.volumeControl = control
            $0.volumeStep = 0.02
        } _: { _, sender in
            await sender.say(
                ["type": "SET_VOLUME", "requestId": 1, "volume": ["level": 0.5]], in: CastNamespace.receiver)
            let answer = await sender.hear { $0.requestID == 1 }
            guard control != .fixed else {
                #expect(answer?.type == "INVALID_REQUEST")
                return
            }
            let volume = answer?.json["status"]?["volume"]
            #expect(volume?["controlType"]?.string == kind && volume?["stepInterval"]?.double == 0.02)
            #expect(volume?["level"]?.double == 0.5)
        }
    }

    @Test("R8 STOP may be answered by the broadcast alone; stand-by is told")
    func stopAndStandBy() async throws {
        try await with {
            $0.stopStyle = .broadcastOnly
        } _: { receiver, sender in
            _ = await launch("CC1AD845", 1, sender)
            let before = await sender.received.count
            await sender.say(["type": "STOP", "requestId": 2], in: CastNamespace.receiver)
            #expect(await eventually { await sender.received.count > before })
            receiver.control(.standBy(true))
            let off = await sender.hear { $0.json["status"]?["isStandBy"]?.bool == true }
            #expect(off?.json["status"]?["isActiveInput"]?.bool == false)
            #expect(await sender.received.contains { $0.requestID == 2 } == false)
        }
    }

    @Test("R8 an idle virtual connection is closed with its reason")
    func idle() async throws {
        let clock = ManualClock()
        var configuration = SimulatedCastConfiguration(name: "idle", port: 0, httpPort: nil)
        configuration.idleLimit = .seconds(2)
        let receiver = try SimulatedCastReceiver(configuration, clock: clock)
        let sender = try await CastTestSender(port: try await receiver.start().port)
        let transport = try #require(await sender.launchPlayer())
        #expect(await eventually { await receiver.record().events("senderJoined").count == 2 })
        for _ in 0..<10 {
            _ = await eventually { clock.sleepers > 0 }
            clock.advance(seconds: 0.25)
        }
        let close = await sender.hear("CLOSE")
        #expect(close?.source == transport && close?.json["reasonCode"]?.int == 4)
        await sender.close()
        await receiver.stop()
    }

    @Test(
        "R8 what senders get wrong is refused or dropped, and the receiver lives on",
        arguments: [
            "not json", "[]", "null", "\"x\"", "{}", #"{"type":7,"requestId":3}"#,
            #"{"type":"LAUNCH","requestId":"3"}"#,
            #"{"type":"SET_VOLUME","requestId":3,"volume":null}"#,
            #"{"type":"SET_VOLUME","requestId":3,"volume":{"level":"loud"}}"#,
            #"{"type":"SET_VOLUME","requestId":3,"volume":{"level":1e308}}"#,
            #"{"type":"GET_APP_AVAILABILITY","requestId":3,"appId":"CC1AD845"}"#,
            #"{"type":"STOP","requestId":99999999999999999999,"sessionId":{}}"#,
            #"{"type":"LAUNCH","requestId":3,"appId":["CC1AD845"]}"#,
        ])
    func badSenders(_ text: String) async throws {
        try await CastTestPlayer.with {
            $0.playsSilence = true
        } _: { player in
            let sender = player.sender
            for namespace in [
                CastNamespace.receiver, CastNamespace.multizone, CastNamespace.setup, CastNamespace.discovery,
                CastNamespace.heartbeat, CastNamespace.connection, CastNamespace.deviceAuthentication,
            ] { try await sender.say(text: text, in: namespace, to: CastAddress.platformReceiver) }
            try await sender.say(text: text, in: CastNamespace.media, to: player.transport)
            try await sender.say(binary: [1, 2, 3], in: CastNamespace.media, to: player.transport)
            try await sender.say(binary: [], in: CastNamespace.receiver, to: CastAddress.platformReceiver)
            await sender.say(["type": "GET_STATUS", "requestId": 900], in: CastNamespace.receiver)
            #expect(await sender.hear("RECEIVER_STATUS", request: 900) != nil)
        }
    }

    @Test(
        "R8 media requests with senseless values are refused and change nothing",
        arguments: [
            #"{"type":"SEEK","requestId":20,"mediaSessionId":1,"currentTime":"x"}"#,
            #"{"type":"SET_PLAYBACK_RATE","requestId":20,"mediaSessionId":1,"playbackRate":0}"#,
            #"{"type":"SET_VOLUME","requestId":20,"mediaSessionId":1,"volume":[]}"#,
            #"{"type":"PLAY","requestId":20,"mediaSessionId":"1"}"#,
            #"{"type":"EDIT_TRACKS_INFO","requestId":20,"mediaSessionId":1,"activeTrackIds":[1,2,3]}"#,
            #"{"type":"LOAD","requestId":20,"media":{"contentId":"","contentType":"audio/mp3"}}"#,
            #"{"type":"LOAD","requestId":20,"media":[],"queueData":{"items":[],"startIndex":-1}}"#,
            #"{"type":"LOAD_BY_ENTITY","requestId":20,"entity":"x"}"#,
            #"{"type":"RESUME_SESSION","requestId":20,"sessionState":[]}"#,
            #"{"type":"QUEUE_EXPLODE","requestId":20,"mediaSessionId":1}"#,
        ])
    func badMedia(_ text: String) async throws {
        try await CastTestPlayer.with {
            $0.playsSilence = true
        } _: { player in
            let media = CastTestPlayer.media("http://127.0.0.1:1/a")
            _ = await player.status("LOAD", 10, ["media": media], session: nil)
            try await player.sender.say(text: text, in: CastNamespace.media, to: player.transport)
            #expect(await player.sender.hear("INVALID_REQUEST", request: 20) != nil)
            #expect(await player.status("GET_STATUS", 21)?["mediaSessionId"]?.int == 1)
        }
    }
}
