import CastV2
import Foundation
import PeerSupport
import RouterTestKit
import SimulatedReceivers
import Testing

/// The simulated Cast receiver over real sockets on loopback.
@Suite struct CastReceiverTests {
    static func withReceiver(
        _ change: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: (SimulatedCastReceiver, Int, Int?) async throws -> Void
    ) async throws {
        var configuration = SimulatedCastConfiguration(name: "Küche", port: 0, httpPort: nil)
        change(&configuration)
        let receiver = try SimulatedCastReceiver(configuration)
        let ports = try await receiver.start()
        do {
            try await body(receiver, ports.port, ports.httpPort)
        } catch {
            await receiver.stop()
            throw error
        }
        await receiver.stop()
    }

    @Test("R8 status, volume and availability are answered to the asker and pushed to all")
    func receiverNamespace() async throws {
        try await Self.withReceiver { _, port, _ in
            let sender = try await CastTestSender(port: port)
            let other = try await CastTestSender(port: port)
            await sender.say(["type": "GET_STATUS", "requestId": 1], in: CastNamespace.receiver)
            let status = await sender.hear("RECEIVER_STATUS", request: 1)
            #expect(status?.destination == "sender-0")
            #expect(status?.json["status"]?["applications"]?.array?.first?["appId"]?.string == "E8C28D3C")
            #expect(status?.json["status"]?["applications"]?.array?.first?["isIdleScreen"]?.bool == true)

            await other.say(["type": "GET_STATUS", "requestId": 1], in: CastNamespace.receiver)
            _ = await other.hear("RECEIVER_STATUS", request: 1)
            await sender.say(
                ["type": "SET_VOLUME", "requestId": 2, "volume": ["level": 0.25]], in: CastNamespace.receiver)
            let pushed = await other.hear { $0.destination == "*" && $0.type == "RECEIVER_STATUS" }
            #expect(pushed?.requestID == 0)
            #expect(pushed?.json["status"]?["volume"]?["level"]?.double == 0.25)
            #expect(await sender.hear("RECEIVER_STATUS", request: 2) != nil)

            await sender.say(
                ["type": "GET_APP_AVAILABILITY", "requestId": 3, "appId": ["CC1AD845", "233637DE"]],
                in: CastNamespace.receiver)
            let available = await sender.hear { $0.requestID == 3 }
            #expect(available?.json["type"] == nil)
            #expect(available?.json["availability"]?["CC1AD845"]?.string == "APP_AVAILABLE")
            #expect(available?.json["availability"]?["233637DE"]?.string == "APP_UNAVAILABLE")
            await sender.close()
            await other.close()
        }
    }

    @Test(
        "R8 bad requests are refused with the reason of real devices",
        arguments: [
            (#"{"type":"SET_VOLUME","requestId":7}"#, "INVALID_REQUEST", "INVALID_PARAMS"),
            (#"{"type":"STOP","requestId":7,"sessionId":"nobody"}"#, "INVALID_REQUEST", "INVALID_SESSION_ID"),
            (#"{"type":"DANCE","requestId":7}"#, "INVALID_REQUEST", "INVALID_COMMAND"),
            (#"{"type":"LAUNCH","requestId":7,"appId":"00000000"}"#, "LAUNCH_ERROR", "NOT_FOUND"),
            (#"{"type":"LAUNCH","requestId":7}"#, "LAUNCH_ERROR", "BAD_PARAMETER"),
        ])
    func refusals(_ request: String, _ type: String, _ reason: String) async throws {
        try await Self.withReceiver { _, port, _ in
            let sender = try await CastTestSender(port: port)
            await sender.say(try #require(JSONValue(text: request)), in: CastNamespace.receiver)
            let answer = await sender.hear(type, request: 7)
            #expect(answer?.json["reason"]?.string == reason)
            await sender.close()
        }
    }

    @Test("R8 who did not connect is not answered, and an unknown transport is closed")
    func virtualConnections() async throws {
        try await Self.withReceiver { receiver, port, _ in
            let sender = try await CastTestSender(port: port, joining: false)
            await sender.say(["type": "GET_STATUS", "requestId": 1], in: CastNamespace.receiver)
            #expect(await eventually { await receiver.record().words.contains("dropped") })
            await sender.connect(to: "web-99")
            let close = await sender.hear("CLOSE")
            #expect(close?.source == "web-99")
            await sender.connect(to: CastAddress.platformReceiver, fields: ["protocolVersionList": [0, 2]])
            #expect(await sender.hear("CONNECTED")?.json["protocolVersion"]?.int == 2)
            await sender.say(["type": "GET_STATUS", "requestId": 2], in: CastNamespace.receiver)
            #expect(await sender.hear("RECEIVER_STATUS", request: 2) != nil)
            #expect(await sender.received.contains { $0.requestID == 1 } == false)
            await sender.close()
        }
    }

    @Test("R8 both launch styles", arguments: [SimulatedCastConfiguration.LaunchStyle.classic, .launchStatus])
    func launch(_ style: SimulatedCastConfiguration.LaunchStyle) async throws {
        try await Self.withReceiver {
            $0.launchStyle = style
        } _: { receiver, port, _ in
            let sender = try await CastTestSender(port: port)
            let transport = await sender.launchPlayer(request: 5)
            #expect(transport != nil)
            let types = await sender.received.filter { $0.requestID == 5 || $0.json["launchRequestId"]?.int == 5 }
                .compactMap(\.type)
            #expect(types == (style == .classic ? ["RECEIVER_STATUS"] : ["LAUNCH_STATUS", "RECEIVER_STATUS"]))
            #expect(await receiver.txtRecord["st"] == "1")
            #expect(await receiver.txtRecord["rs"] == "Default Media Receiver")

            // A second launch of the same app joins it.
            await sender.say(
                ["type": "LAUNCH", "appId": "CC1AD845", "requestId": 6], in: CastNamespace.receiver)
            let again = await sender.hear("RECEIVER_STATUS", request: 6)
            let app = again?.json["status"]?["applications"]?.array?.first
            #expect(app?["transportId"]?.string == transport)

            await receiver.anotherAppTakesOver()
            let closed = await sender.hear("CLOSE")
            #expect(closed?.source == transport)
            await sender.close()
        }
    }

    @Test("R8 heartbeats are answered, also those with a requestId, and frames may be joined or split")
    func heartbeat() async throws {
        try await Self.withReceiver { _, port, _ in
            let sender = try await CastTestSender(port: port)
            let ping = try #require(
                CastTestSender.frame(["type": "PING", "requestId": 9], in: CastNamespace.heartbeat))
            let status = try #require(
                CastTestSender.frame(["type": "GET_STATUS", "requestId": 1], in: CastNamespace.receiver))
            await sender.say(raw: ping + status + ping.prefix(3))
            #expect(await sender.hear("RECEIVER_STATUS", request: 1) != nil)
            for byte in ping.dropFirst(3) { await sender.say(raw: [byte]) }
            #expect(await eventually { await sender.received.filter { $0.type == "PONG" }.count == 2 })
            await sender.close()
        }
    }

    @Test(
        "R8 answers arrive however they are cut into records",
        arguments: [SimulatedCastConfiguration.RecordStyle.separate, .joined, .split])
    func records(_ style: SimulatedCastConfiguration.RecordStyle) async throws {
        try await Self.withReceiver {
            $0.recordStyle = style
            $0.launchStyle = .launchStatus
        } _: { _, port, _ in
            let sender = try await CastTestSender(port: port)
            #expect(await sender.launchPlayer() != nil)
            await sender.close()
        }
    }

    @Test("R8 the device describes itself alike in TXT, GET_DEVICE_INFO, setup and eureka_info")
    func identity() async throws {
        try await Self.withReceiver {
            $0.httpPort = 0
        } _: { receiver, port, httpPort in
            let id = try #require(await receiver.txtRecord["id"])
            #expect(id.count == 32 && id.allSatisfy(\.isHexDigit))
            #expect(await receiver.txtRecord["fn"] == "Küche")
            let sender = try await CastTestSender(port: port)
            await sender.say(["type": "GET_DEVICE_INFO", "requestId": 1], in: CastNamespace.discovery)
            #expect(await sender.hear("GET_DEVICE_INFO")?.json["deviceId"]?.string == id)
            await sender.say(["type": "eureka_info", "request_id": 2], in: CastNamespace.setup)
            #expect(await sender.hear("eureka_info")?.json["data"]?["name"]?.string == "Küche")
            await sender.close()

            let web = try #require(httpPort)
            func get(_ host: String?) async throws -> (Int32, String) {
                let outcome = try await Command.run(
                    "curl",
                    ["-s", "-f", "http://127.0.0.1:\(web)/setup/eureka_info?params=name"]
                        + (host.map { ["-H", "Host: \($0)"] } ?? []))
                return (outcome.status, outcome.output)
            }
            let (code, body) = try await get(nil)
            #expect(code == 0)
            let udn = JSONValue(text: body)?["device_info"]?["ssdp_udn"]?.string
            #expect(udn?.replacing("-", with: "") == id)
            // curl's own code for an HTTP error: firmware refuses names.
            #expect(try await get("chromecast.local").0 == 22)
        }
    }

    @Test("faults: never answers, drops at a message, refuses, bad frame length, launch error, app that dies")
    func faults() async throws {
        try await Self.withReceiver {
            $0.faults.neverAnswers = true
        } _: { receiver, port, _ in
            let sender = try await CastTestSender(port: port)
            await sender.say(CastTestSender.ping, in: CastNamespace.heartbeat)
            #expect(await eventually { await receiver.record().words.contains("connected") })
            #expect(await sender.received.isEmpty)
            await sender.close()
        }
        try await Self.withReceiver {
            $0.faults.dropsConnectionAtMessage = 3
        } _: { receiver, port, _ in
            let sender = try await CastTestSender(port: port)
            await sender.say(CastTestSender.ping, in: CastNamespace.heartbeat)
            #expect(await sender.hear("PONG") != nil)
            await sender.say(CastTestSender.ping, in: CastNamespace.heartbeat)
            #expect(await eventually { await sender.closed })
            #expect(await receiver.record().words.contains("droppedConnection"))
        }
        try await Self.withReceiver {
            $0.faults.refusesConnections = true
        } _: { _, port, _ in
            let sender = try await CastTestSender(port: port)
            #expect(await eventually { await sender.closed })
        }
        try await Self.withReceiver {
            $0.faults.launchError = "NOT_ALLOWED"
        } _: { _, port, _ in
            let sender = try await CastTestSender(port: port)
            await sender.say(["type": "LAUNCH", "appId": "CC1AD845", "requestId": 1], in: CastNamespace.receiver)
            #expect(await sender.hear("LAUNCH_ERROR")?.json["reason"]?.string == "NOT_ALLOWED")
            await sender.close()
        }
        try await Self.withReceiver {
            $0.faults.closesAfterLaunch = true
        } _: { _, port, _ in
            let sender = try await CastTestSender(port: port)
            let transport = await sender.launchPlayer()
            await sender.connect(to: transport ?? "")
            #expect(await sender.hear("CLOSE")?.source == transport)
            await sender.close()
        }
        for length in [0, UInt32.max] {
            try await Self.withReceiver {
                $0.faults.firstFrameLength = length
            } _: { _, port, _ in
                let sender = try await CastTestSender(port: port)
                await sender.say(CastTestSender.ping, in: CastNamespace.heartbeat)
                // The sender's decoder refuses the length and leaves.
                #expect(await eventually { await sender.closed })
            }
        }
    }

    @Test("a port that is taken is said, and a taken HTTP port is done without")
    func takenPorts() async throws {
        try await Self.withReceiver {
            $0.httpPort = 0
        } _: { _, port, httpPort in
            var configuration = SimulatedCastConfiguration(name: "second", port: port, httpPort: nil)
            let second = try SimulatedCastReceiver(configuration)
            await #expect(throws: SimulatedReceiverError.self) { _ = try await second.start() }
            await second.stop()
            configuration.port = 0
            configuration.httpPort = httpPort
            let third = try SimulatedCastReceiver(configuration)
            let ports = try await third.start()
            #expect(ports.httpPort == nil)
            #expect(await third.record().words.contains("httpPortTaken"))
            await third.stop()
        }
    }
}
