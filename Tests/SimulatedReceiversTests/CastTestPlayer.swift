import CastV2
import Foundation
import RouterTestKit
import SimulatedReceivers
import Testing

/// A receiver whose media player a test sender has launched and joined.
struct CastTestPlayer {
    let receiver: SimulatedCastReceiver
    let sender: CastTestSender
    let transport: String
    let port: Int

    static func with(
        _ change: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: (CastTestPlayer) async throws -> Void
    ) async throws {
        try await CastReceiverTests.withReceiver(change) { receiver, port, _ in
            let sender = try await CastTestSender(port: port)
            let transport = try #require(await sender.launchPlayer())
            try await body(
                CastTestPlayer(receiver: receiver, sender: sender, transport: transport, port: port))
            await sender.close()
        }
    }

    func say(_ type: String, _ request: Int, _ fields: [String: JSONValue] = [:], session: Int? = 1) async {
        var message: [String: JSONValue] = ["type": .string(type), "requestId": .integer(request)]
        message["mediaSessionId"] = session.map { .integer($0) }
        await sender.say(.object(message.merging(fields) { $1 }), in: CastNamespace.media, to: transport)
    }

    /// Says it and waits for the answer, whatever its type.
    func ask(
        _ type: String, _ request: Int, _ fields: [String: JSONValue] = [:], session: Int? = 1
    ) async -> CastTestSender.Received? {
        await say(type, request, fields, session: session)
        return await sender.hear { $0.namespace == CastNamespace.media && $0.requestID == request }
    }

    /// The first status in an answer.
    func status(
        _ type: String, _ request: Int, _ fields: [String: JSONValue] = [:], session: Int? = 1
    ) async -> JSONValue? {
        await ask(type, request, fields, session: session)?.json["status"]?.array?.first
    }

    static func media(_ url: String, _ fields: [String: JSONValue] = [:]) -> JSONValue {
        .object(
            ["contentId": .string(url), "contentType": "audio/flac", "streamType": "BUFFERED"].merging(fields) { $1 })
    }

    static func items(_ urls: [String], _ fields: [String: JSONValue] = [:]) -> JSONValue {
        .array(urls.map { .object(fields.merging(["media": media($0)]) { $1 }) })
    }

    func itemIDs(_ request: Int, session: Int = 1) async -> [Int] {
        await ask("QUEUE_GET_ITEM_IDS", request, session: session)?.json["itemIds"]?.array?.compactMap(\.int) ?? []
    }
}
