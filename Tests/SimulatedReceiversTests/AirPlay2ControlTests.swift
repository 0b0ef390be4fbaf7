import AirPlay
import Foundation
import HomeKitPairing
import RouteBackend
import RouterTestKit
import Testing

@testable import SimulatedReceivers

/// Ways from a receiver to its sender, and streams that hold no sound.
@Suite("AirPlay receivers: buttons by DACP, data streams")
struct AirPlay2ControlTests {
    /// The server of senders, found by mDNS that is not one.
    func commanded(
        _ body: (DACPSession, InMemoryDiscovery, RTSPHeaders) async throws -> Void
    ) async throws {
        let server = try await DACPServer.start(hosts: ["127.0.0.1"])
        let session = await server.open()
        let discovery = InMemoryDiscovery()
        discovery.appear(
            ServiceRecord(
                key: .init(type: DACPServer.serviceType, name: server.serviceName), hostName: "x.local",
                addresses: ["127.0.0.1"], port: server.port, txt: [:]))
        let headers: RTSPHeaders = [
            "DACP-ID": session.address.dacpID, "Active-Remote": String(session.address.activeRemote),
        ]
        do {
            try await body(session, discovery, headers)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test("A10 a button on an AirPlay 1 speaker reaches the sender that announces itself, and only with its number")
    func speaker() async throws {
        try await commanded { session, discovery, headers in
            let receiver = SimulatedRAOPReceiver(SimulatedRAOPConfiguration(port: 0), browser: discovery)
            let port = try await receiver.start()
            try await sending(to: port) { sender in
                #expect(await receiver.press(.next) == false, "it does not know the sender yet")
                _ = try await sender.ask("OPTIONS", uri: "*", headers)
                #expect(await receiver.press(.next))
                #expect(await receiver.press(.playPause))
                var commands = session.commands.makeAsyncIterator()
                #expect(await commands.next() == .next)
                #expect(await commands.next() == .toggle)
                var foreign = headers
                foreign["Active-Remote"] = "1"
                _ = try await sender.ask("OPTIONS", uri: "*", foreign)
                #expect(await receiver.press(.next) == false)
                #expect(await receiver.record().remoteAnswers == [204, 204, 403])
            }
            await receiver.stop()
        }
    }

    @Test("A10 an AirPlay 2 receiver whose event port nobody opened takes the same way")
    func receiver() async throws {
        try await commanded { session, discovery, headers in
            var configuration = SimulatedAirPlay2Configuration(
                port: 0, timing: [.ntp], pairing: PairingServerPolicy(code: nil, admitsStrangers: true))
            configuration.buttons = [.init(after: 0.1, .volumeUp)]
            let receiver = SimulatedAirPlay2Receiver(configuration, browser: discovery)
            let port = try await receiver.start()
            try await sending(to: port) { sender in
                _ = try await sender.ask("OPTIONS", uri: "*", headers)
                _ = try await sender.beginAirPlay2(96, 0x800)
                var commands = session.commands.makeAsyncIterator()
                #expect(await commands.next() == .volumeUp)
                #expect(await eventually { await receiver.record().remoteAnswers == [204] })
            }
            await receiver.stop()
        }
    }

    /// Says everything twice.
    struct Echo: SimulatedDataSpeaker {
        mutating func take(_ bytes: [UInt8]) throws -> [UInt8] { bytes + bytes }
    }

    /// Numbers what it says.
    struct Counter: SimulatedDataSpeaker {
        var count = 0

        mutating func take(_ bytes: [UInt8]) throws -> [UInt8] { next() }

        mutating func next() -> [UInt8] {
            defer { count += 1 }
            return Array("POST /\(count) RTSP/1.0\r\n\r\n".utf8)
        }
    }

    private static let dataStreamRequest = PropertyList.dictionary([
        "streams": .array([
            .dictionary([
                "type": .integer(130), "controlType": .integer(2), "channelID": .string("C"), "seed": .integer(-7),
                "wantsDedicatedSocket": .bool(true),
            ])
        ])
    ])

    private static let remoteSetup = PropertyList.dictionary([
        "timingProtocol": .string("None"), "isRemoteControlOnly": .bool(true), "sessionUUID": .string("S"),
    ])

    /// A receiver with this at the end of its data streams, and its answer to who asks for one.
    private func askingForDataStream(
        to speaker: (any SimulatedDataSpeaker)?,
        _ body: (SimulatedAirPlay2Receiver, (Int, PropertyList?)) async throws -> Void
    ) async throws {
        var configuration = SimulatedAirPlay2Configuration(
            port: 0, timing: [.ntp], pairing: PairingServerPolicy(code: nil, admitsStrangers: true))
        configuration.dataSpeaker = speaker
        let receiver = SimulatedAirPlay2Receiver(configuration)
        let port = try await receiver.start()
        try await sending(to: port) { sender in
            #expect(try await sender.tell("SETUP", Self.remoteSetup).0 == 200)
            #expect(try await sender.ask("RECORD").status == 200)
            try await body(receiver, try await sender.tell("SETUP", Self.dataStreamRequest))
        }
        await receiver.stop()
    }

    private func dataStream(_ answer: (Int, PropertyList?)) async throws -> AirPlay2TestSocket {
        try await AirPlay2TestSocket(
            port: try #require(answer.1?["streams"]?.array?.first?["dataPort"]?.port))
    }

    @Test("A10 what goes out on a data stream at the same time keeps its order, without which it could not be opened")
    func dataStreamOrder() async throws {
        try await askingForDataStream(to: Counter()) { receiver, answer in
            let socket = try await dataStream(answer)
            try await socket.send([0])
            #expect(try await socket.request().uri == "/0")
            await withDiscardingTaskGroup { group in
                for _ in 0..<300 { group.addTask { await receiver.change(Counter.self) { $0.next() } } }
            }
            for number in 1...300 {
                let uri = try await socket.request().uri
                guard uri == "/\(number)" else {
                    Issue.record("\(uri) came in place of /\(number)")
                    break
                }
            }
            await socket.close()
        }
    }

    @Test("A10 a data stream leads to what the receiver has at its end; without that it is refused")
    func dataStream() async throws {
        try await askingForDataStream(to: nil) { #expect($1.0 == 415) }
        try await askingForDataStream(to: Echo()) { receiver, answer in
            let socket = try await dataStream(answer)
            try await socket.send(Array("POST /a RTSP/1.0\r\n\r\n".utf8))
            #expect(try await socket.request().uri == "/a")
            #expect(try await socket.request().uri == "/a")
            await receiver.change(Echo.self) { _ in Array("POST /b RTSP/1.0\r\n\r\n".utf8) }
            #expect(try await socket.request().uri == "/b")
            await socket.close()
        }
    }
}
