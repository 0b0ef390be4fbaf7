import CastV2
import Foundation
import RouterTestKit
import SimulatedReceivers
import Testing

/// The queue of the simulated media app.
@Suite struct CastQueueTests {
    private static let url = "http://127.0.0.1:1/song"

    /// A queue of so many silent items, 1 to n, nothing fetched.
    private func withQueue(_ count: Int, _ body: (CastTestPlayer) async throws -> Void) async throws {
        try await CastTestPlayer.with {
            $0.playsSilence = true
        } _: { player in
            let items = CastTestPlayer.items((0..<count).map { "\(Self.url)\($0)" })
            let loaded = await player.status("QUEUE_LOAD", 10, ["items": items], session: nil)
            #expect(loaded?["currentItemId"]?.int == 1)
            try await body(player)
        }
    }

    private func change(_ type: String, _ player: CastTestPlayer, sequence: Int) async -> JSONValue? {
        await player.sender.hear {
            $0.type == "QUEUE_CHANGE" && $0.json["changeType"]?.string == type
                && $0.json["sequenceNumber"]?.int == sequence
        }?.json
    }

    @Test("C11 edits mint ids, keep what plays, and every sender hears of them")
    func edits() async throws {
        try await withQueue(3) { player in
            let other = try await CastTestSender(port: player.port)
            await other.connect(to: player.transport)
            _ = await player.status("GET_STATUS", 11)
            let inserted = await player.status(
                "QUEUE_INSERT", 12, ["items": CastTestPlayer.items([Self.url]), "insertBefore": 1])
            #expect(inserted?["currentItemId"]?.int == 1)
            #expect(await player.itemIDs(13) == [4, 1, 2, 3])
            let insert = await change("INSERT", player, sequence: 2)
            #expect(insert?["itemIds"]?.array?.compactMap(\.int) == [4])
            #expect(insert?["insertBefore"]?.int == 1)
            #expect(await other.hear("QUEUE_CHANGE")?.json["changeType"]?.string == "INSERT")

            _ = await player.status("QUEUE_REORDER", 14, ["itemIds": [3, 2], "insertBefore": 4])
            #expect(await player.itemIDs(15) == [3, 2, 4, 1])
            #expect(
                await change("UPDATE", player, sequence: 3)?["reorderItemIds"]?.array?.compactMap(\.int) == [3, 2])
            _ = await player.status("QUEUE_REMOVE", 16, ["itemIds": [2, 99]])
            #expect(await player.itemIDs(17) == [3, 4, 1])
            #expect(await change("REMOVE", player, sequence: 4)?["itemIds"]?.array?.compactMap(\.int) == [2])
            _ = await player.status(
                "QUEUE_UPDATE", 18, ["items": [["itemId": 4, "customData": ["colour": "red"]]]])
            #expect(await change("ITEMS_CHANGE", player, sequence: 5) != nil)
            let found = await player.ask("QUEUE_GET_ITEMS", 19, ["itemIds": [4]])?.json["items"]?.array
            #expect(found?.first?["customData"]?["colour"]?.string == "red")
            // What plays was never touched.
            #expect(await player.receiver.record().loads.count == 1)
            #expect(await player.status("GET_STATUS", 20)?["currentItemId"]?.int == 1)
            await other.close()
        }
    }

    @Test("C11 the current item removed: the next one plays; the last one removed: the session ends")
    func removeCurrent() async throws {
        try await withQueue(3) { player in
            let next = await player.status("QUEUE_REMOVE", 11, ["itemIds": [1, 2]])
            #expect(next?["currentItemId"]?.int == 3)
            let ended = await player.status("QUEUE_REMOVE", 12, ["itemIds": [3]])
            #expect(ended?["playerState"]?.string == "IDLE" && ended?["idleReason"]?.string == "CANCELLED")
        }
    }

    @Test("C11 windows, ranges and sequence numbers")
    func reading() async throws {
        try await withQueue(8) { player in
            let status = await player.status("QUEUE_UPDATE", 11, ["currentItemId": 5])
            #expect(status?["items"]?.array?.compactMap { $0["itemId"]?.int } == [4, 5, 6])
            func range(_ request: Int, _ fields: [String: JSONValue]) async -> [Int]? {
                await player.ask("QUEUE_GET_ITEM_RANGE", request, fields)?.json["items"]?.array?.compactMap {
                    $0["itemId"]?.int
                }
            }
            #expect(await range(12, ["itemId": 5, "nextCount": 2]) == [5, 6])
            #expect(await range(13, ["itemId": 5, "prevCount": 3]) == [2, 3, 4])
            #expect(await range(14, ["itemId": 8, "nextCount": 1_000_000]) == [8])
            #expect(await range(15, ["itemId": 5, "nextCount": 1, "prevCount": 1]) == nil)
            #expect(await range(16, ["itemId": 99, "nextCount": 1]) == nil)
            let number = await player.ask("QUEUE_GET_ITEM_IDS", 17)?.json["sequenceNumber"]?.int ?? -1
            let late = await player.ask("QUEUE_REMOVE", 18, ["itemIds": [8], "sequenceNumber": .integer(number - 1)])
            #expect(late?.type == "INVALID_REQUEST" && late?.json["reason"]?.string == "INVALID_PARAMS")
            let right = await player.ask("QUEUE_REMOVE", 19, ["itemIds": [8], "sequenceNumber": .integer(number)])
            #expect(right?.type == "MEDIA_STATUS")
        }
    }

    @Test("C11 repeat and shuffle decide where a jump leads")
    func modes() async throws {
        try await withQueue(4) { player in
            #expect(await player.ask("QUEUE_UPDATE", 11, ["jump": -1])?.json["reason"]?.string == "END_OF_QUEUE")
            _ = await player.status("QUEUE_UPDATE", 12, ["repeatMode": "REPEAT_ALL"])
            #expect(await player.status("QUEUE_UPDATE", 13, ["jump": -1])?["currentItemId"]?.int == 4)
            #expect(await player.status("QUEUE_UPDATE", 14, ["jump": 2])?["currentItemId"]?.int == 2)
            let shuffled = await player.status("QUEUE_UPDATE", 15, ["shuffle": true])
            #expect(shuffled?["queueData"]?["shuffle"]?.bool == true)
            let order = await player.itemIDs(16)
            #expect(order.first == 2 && Set(order) == [1, 2, 3, 4])
            let wrong = await player.ask("QUEUE_UPDATE", 17, ["repeatMode": "REPEAT_NEVER"])
            #expect(wrong?.json["reason"]?.string == "INVALID_PARAMS")
        }
    }

    @Test("C11 C14 the next item is preloaded, and follows without a gap in time or in the recording")
    func gapless() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-castsim-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let tone = try await CastTestTone.make(seconds: 4, format: "wav")
        let server = try await CastTestMediaServer(tone, .init(contentType: "audio/wav"))
        try await CastTestPlayer.with {
            $0.recordingFolder = folder
        } _: { player in
            let items = CastTestPlayer.items([server.url, server.url])
            _ = await player.ask("QUEUE_LOAD", 10, ["items": items], session: nil)
            let preloaded = await player.sender.hear {
                $0.json["status"]?.array?.first?["preloadedItemId"]?.int == 2
            }
            #expect(preloaded != nil)
            #expect(await player.sender.hearState("IDLE")?["idleReason"]?.string == "FINISHED")
            let record = await player.receiver.record()
            #expect(record.words.contains("handover"))
            let intervals = record.intervals
            #expect(intervals.count == 2)
            #expect(intervals.first?.hostEnd == intervals.last?.hostStart)
            #expect(record.heardFrames == 8 * 44_100)
            let wav = Array(try Data(contentsOf: try #require(record.recording)).dropFirst(44))
            let sound = Array(tone.suffix(4 * 44_100 * 4))
            #expect(wav == sound + sound)
        }
        await server.stop()
    }

    @Test("C11 an item's playbackDuration ends it, and autoplay false waits")
    func itemFields() async throws {
        let server = try await CastTestMediaServer(try await CastTestTone.make(seconds: 5))
        try await CastTestPlayer.with { player in
            let items: JSONValue = [
                ["media": CastTestPlayer.media(server.url), "startTime": 1, "playbackDuration": 1],
                ["media": CastTestPlayer.media(server.url), "autoplay": false],
            ]
            _ = await player.ask("QUEUE_LOAD", 10, ["items": items], session: nil)
            #expect(await player.sender.hearState("PAUSED")?["currentItemId"]?.int == 2)
            #expect(await player.receiver.record().heardFrames == 44_100)
        }
        await server.stop()
    }

    @Test(
        "C11 queue requests that cannot be",
        arguments: [
            ("QUEUE_INSERT", #"{"items":[]}"#), ("QUEUE_INSERT", #"{"items":"x"}"#),
            ("QUEUE_INSERT", #"{"items":[{"itemId":3,"media":{"contentId":"a","contentType":"audio/mp3"}}]}"#),
            ("QUEUE_REMOVE", #"{"itemIds":null}"#), ("QUEUE_REORDER", #"{"itemIds":[1,1]}"#),
            ("QUEUE_GET_ITEMS", #"{}"#), ("QUEUE_UPDATE", #"{"jump":9223372036854775807}"#),
            ("QUEUE_UPDATE", #"{"jump":-9223372036854775808}"#),
            ("QUEUE_GET_ITEM_RANGE", #"{"itemId":1,"nextCount":-1}"#),
        ])
    func refused(_ type: String, _ fields: String) async throws {
        try await withQueue(2) { player in
            let answer = await player.ask(type, 11, try #require(JSONValue(text: fields)?.object))
            #expect(answer?.type == "INVALID_REQUEST" && answer?.json["reason"]?.string == "INVALID_PARAMS")
            #expect(await player.itemIDs(12) == [1, 2])
        }
    }
}
