import CastV2
import Foundation
import RouterTestKit
import SimulatedReceivers
import Testing

/// Other senders, restarts, sleep, groups and leaders that move.
@Suite struct CastControlTests {
    private static let url = "http://127.0.0.1:1/song"

    private func withQueue(
        _ change: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: (CastTestPlayer) async throws -> Void
    ) async throws {
        try await CastTestPlayer.with {
            $0.playsSilence = true
            change(&$0)
        } _: { player in
            let items = CastTestPlayer.items((0..<3).map { "\(Self.url)\($0)" })
            _ = await player.status("QUEUE_LOAD", 10, ["items": items], session: nil)
            #expect(await player.sender.hearState("PLAYING") != nil)
            try await body(player)
        }
    }

    @Test("C4 C11 another sender edits, pauses, sets volume and takes over, and this one is told of all of it")
    func otherSender() async throws {
        try await withQueue { player in
            let receiver = player.receiver
            receiver.control(.otherSender(.remove(at: 1)))
            #expect(await player.sender.hear("QUEUE_CHANGE")?.json["changeType"] != nil)
            receiver.control(.otherSender(.insert(url: Self.url, contentType: "audio/flac", before: 0)))
            receiver.control(.otherSender(.move(from: 2, to: 0)))
            #expect(await eventually { await receiver.record().events("queue").count == 4 })
            #expect(await player.itemIDs(11) == [3, 4, 1])
            receiver.control(.otherSender(.pause))
            #expect(await player.sender.hearState("PAUSED") != nil)
            receiver.control(.otherSender(.deviceVolume(0.3)))
            #expect(await player.sender.hear { $0.json["status"]?["volume"]?["level"]?.double == 0.3 } != nil)
            receiver.control(.otherSender(.launch(app: "ECC0ECC0")))
            #expect(await player.sender.hear("CLOSE")?.source == player.transport)
        }
    }

    @Test("R8 a script runs by itself after the first sound")
    func script() async throws {
        try await withQueue {
            $0.script = [
                SimulatedCastStep(after: .milliseconds(300), .otherSender(.pause)),
                SimulatedCastStep(after: .milliseconds(600), .takeOver(app: "YouTube")),
            ]
        } _: { player in
            #expect(await player.sender.hearState("PAUSED") != nil)
            #expect(await player.sender.hear("CLOSE")?.source == player.transport)
        }
    }

    @Test("C3 restart: sessions are gone, or kept", arguments: [true, false])
    func restart(_ keeps: Bool) async throws {
        try await withQueue { player in
            player.receiver.control(.restart(keepsSessions: keeps))
            #expect(await eventually { await player.sender.closed })
            #expect(await eventually { await player.receiver.record().events("listening").count == 2 })
            let back = try await CastTestSender(port: player.port)
            await back.say(["type": "GET_STATUS", "requestId": 1], in: CastNamespace.receiver)
            let app = await back.hear("RECEIVER_STATUS", request: 1)?.json["status"]?["applications"]?.array?.first
            #expect(app?["appId"]?.string == (keeps ? "CC1AD845" : "E8C28D3C"))
            if keeps {
                await back.connect(to: player.transport)
                await back.say(
                    ["type": "GET_STATUS", "requestId": 2], in: CastNamespace.media, to: player.transport)
                let status = await back.hear("MEDIA_STATUS", request: 2)?.json["status"]?.array?.first
                #expect(status?["mediaSessionId"]?.int == 1 && status?["playerState"]?.string == "PLAYING")
            }
            await back.close()
        }
    }

    @Test("C3 a device that sleeps answers nobody, and comes back")
    func sleep() async throws {
        try await withQueue { player in
            player.receiver.control(.sleep)
            #expect(await eventually { await player.receiver.record().words.contains("asleep") })
            await player.sender.say(CastTestSender.ping, in: CastNamespace.heartbeat)
            await #expect(throws: (any Error).self) { _ = try await CastTestSender(port: player.port) }
            #expect(await player.sender.received.contains { $0.type == "PONG" } == false)
            player.receiver.control(.wake(keepsSessions: true))
            #expect(await eventually { await player.receiver.record().events("listening").count == 2 })
            let back = try await CastTestSender(port: player.port)
            await back.say(["type": "GET_STATUS", "requestId": 1], in: CastNamespace.receiver)
            #expect(await back.hear("RECEIVER_STATUS", request: 1) != nil)
            await back.close()
        }
    }

    @Test("R8 what plays breaks with any code")
    func mediaError() async throws {
        try await withQueue { player in
            player.receiver.control(.mediaError(code: 102))
            #expect(await player.sender.hear("ERROR")?.json["detailedErrorCode"]?.int == 102)
            #expect(await player.sender.hearState("IDLE")?["idleReason"]?.string == "ERROR")
        }
    }

    // MARK: Groups

    @Test("C17 a group's members follow its volume; one at 0 stays there, or comes back", arguments: [true, false])
    func memberVolumes(_ zeroStays: Bool) async throws {
        try await CastReceiverTests.withReceiver {
            $0.volume = 0.5
            $0.group = SimulatedCastGroup(
                members: [.init(id: "a", name: "A", level: 0.4), .init(id: "b", name: "B", level: 0.6)],
                zeroStays: zeroStays)
        } _: { receiver, port, _ in
            let sender = try await CastTestSender(port: port)
            func levels(_ request: Int) async -> [Double] {
                await sender.say(["type": "GET_STATUS", "requestId": .integer(request)], in: CastNamespace.multizone)
                let status = await sender.hear("MULTIZONE_STATUS", request: request)?.json["status"]
                return status?["devices"]?.array?.compactMap { $0["volume"]?["level"]?.double } ?? []
            }
            func set(_ level: Double, _ request: Int) async {
                await sender.say(
                    ["type": "SET_VOLUME", "requestId": .integer(request), "volume": ["level": .number(level)]],
                    in: CastNamespace.receiver)
                _ = await sender.hear("RECEIVER_STATUS", request: request)
            }
            await set(0.25, 1)
            #expect(await levels(2) == [0.2, 0.3])
            #expect(await sender.hear("DEVICE_UPDATED")?.json["device"]?["deviceId"]?.string == "a")
            await set(0, 3)
            await set(0.5, 4)
            #expect(await levels(5) == (zeroStays ? [0, 0] : [0.4, 0.6]))
            receiver.control(.memberVolume(id: "b", level: 1))
            #expect(await sender.hear { $0.json["device"]?["volume"]?["level"]?.double == 1 } != nil)
            receiver.control(.addMember(.init(id: "c", name: "C")))
            #expect(await sender.hear("DEVICE_ADDED")?.json["device"]?["name"]?.string == "C")
            receiver.control(.removeMember(id: "a"))
            #expect(await sender.hear("DEVICE_REMOVED")?.json["deviceId"]?.string == "a")
            await sender.close()
        }
    }

    @Test("C17 members that are receivers: volumes follow both ways, and they are shown as playing")
    func linkedMembers() async throws {
        try await CastReceiverTests.withReceiver {
            $0.name = "Study"
        } _: { member, _, _ in
            try await CastTestPlayer.with {
                $0.name = "Both"
                $0.group = SimulatedCastGroup()
                $0.playsSilence = true
            } _: { group in
                await member.join(group.receiver)
                #expect(await group.sender.hear("DEVICE_ADDED")?.json["device"]?["name"]?.string == "Study")
                #expect(await eventually { await member.txtRecord["rs"] == "Default Media Receiver" })
                group.receiver.control(.turnVolume(0.5))
                #expect(await eventually { await member.record().level == 0.5 })
                member.control(.turnVolume(0.25))
                #expect(await eventually { await group.receiver.record().level == 0.25 })
            }
        }
    }

    @Test("C3 C17 the leader moves: the old endpoint closes, the session goes on at the new one")
    func leaderMoves() async throws {
        try await withQueue {
            $0.group = SimulatedCastGroup(members: [.init(id: "a", name: "A")])
        } _: { player in
            let before = await player.receiver.record().position
            player.receiver.control(.moveLeader())
            #expect(await eventually { await player.sender.closed })
            let place = await player.receiver.endpoint
            #expect(place.port != player.port)
            await #expect(throws: (any Error).self) { _ = try await CastTestSender(port: player.port) }
            let back = try await CastTestSender(port: place.port)
            await back.connect(to: player.transport)
            await back.say(["type": "GET_STATUS", "requestId": 1], in: CastNamespace.media, to: player.transport)
            let status = await back.hear("MEDIA_STATUS", request: 1)?.json["status"]?.array?.first
            #expect(status?["playerState"]?.string == "PLAYING" && status?["mediaSessionId"]?.int == 1)
            #expect((status?["currentTime"]?.double ?? 0) >= before)
            #expect(await player.receiver.record().words.contains("moved"))
            await back.close()
        }
    }

    @Test("R8 a hundred loads at a receiver without latency keep its records bounded")
    func manyCycles() async throws {
        try await CastTestPlayer.with {
            $0.playsSilence = true
        } _: { player in
            let media = CastTestPlayer.media("http://127.0.0.1:1/a", ["duration": 30])
            for cycle in 1...100 {
                let request = cycle * 10
                _ = await player.status("LOAD", request, ["media": media], session: nil)
                _ = await player.status("PAUSE", request + 1, session: cycle)
                _ = await player.status("SEEK", request + 2, ["currentTime": 20], session: cycle)
                let stopped = await player.status("STOP", request + 3, session: cycle)
                #expect(stopped?["idleReason"]?.string == "CANCELLED")
                await player.sender.forget()
            }
            let record = await player.receiver.record()
            #expect(record.loads.count == 100)
            #expect(record.events.count <= SimulatedCastRecord.maximumEvents && record.fetches.isEmpty)
        }
    }
}
