import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import RouteBackend
import RouteModel
import RouterAPI

/// Answers requests: lets clients in or not, reads what they want by the route table, has it done, and says how it ended.
struct APIResponder: Sendable {
    let handlers: APIHandlers
    let guardian: RequestGuard
    let limiter: RateLimiter
    let keys: IdempotencyKeys
    let reader: RequestReader
    let limits: ServiceLimits
    let clock: any HostClock
    let logger: Logger

    private enum Reply: Sendable {
        case whole(APIAnswer)
        case events(EventHub.Subscription)
    }

    /// - Parameter owner: the request came by the socket, which only its owner may open.
    func respond(
        to request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel, owner: Bool
    ) async throws {
        let began = clock.now()
        var operation: APIOperation?
        let reply: Reply
        do {
            reply = try await self.reply(to: request, channel, owner: owner, operation: &operation)
        } catch let problem as Problem {
            reply = .whole(APIAnswer(problem))
        } catch {
            reply = .whole(APIAnswer(Problem(RouterError(wrapping: error))))
        }
        switch reply {
        case .whole(var answer):
            if answer.status >= 500 { logger.notice("\(operation?.id.rawValue ?? "request"): status \(answer.status)") }
            await handlers.meter.count(operation?.id, status: answer.status, nanoseconds: clock.now() - began)
            if answer.status == 413 || answer.status == 408 {
                // What still comes is not waited for; but what was said has to be read before the connection goes.
                answer.fields[.connection] = "close"
                channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.close(promise: nil) }
            }
            if request.method == .head {
                try await writer.writeResponse(answer.head)
            } else {
                try await writer.write(response: answer.head, body: ResponseBody(byteBuffer: answer.body))
            }
        case .events(let subscription):
            await handlers.meter.count(operation?.id, status: 200, nanoseconds: clock.now() - began)
            try await stream(subscription, to: writer, channel)
        }
    }

    // MARK: Reading

    private func reply(
        to request: Request, _ channel: any Channel, owner: Bool, operation: inout APIOperation?
    ) async throws -> Reply {
        let arriving: ServiceClient =
            owner ? .owner : .network(address: channel.remoteAddress?.ipAddress ?? "", trusted: false)
        let client: ServiceClient
        do {
            client = try guardian.admit(request.head, from: arriving)
        } catch {
            // What another site's page sends in the name of this address is not on its account.
            if let wait = await limiter.take(arriving, refused: true) { return .whole(Self.tooMany(wait)) }
            throw error
        }
        if let wait = await limiter.take(arriving) { return .whole(Self.tooMany(wait)) }
        let parts = (request.head.path ?? "/").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = String(parts.first ?? "/")
        let found: (operation: APIOperation, values: [String])
        switch RouteTable.match(method: request.method.rawValue, path: path) {
        case .operation(let operation, let values):
            // A stream has no head without its body.
            guard operation.id != .followEvents || request.method == .get else {
                return .whole(Self.otherMethods(request, ["GET"]))
            }
            found = (operation, values)
        case .otherMethods(let methods): return .whole(Self.otherMethods(request, methods))
        case .nothing:
            throw RequestGuard.error(
                .requestNotFound, "there is nothing at “\(path.prefix(128))”",
                "See \(APIVersion.prefix)/openapi.json for what there is")
        }
        operation = found.operation
        let call = try APICall(
            operation: found.operation, values: found.values, query: parts.count > 1 ? String(parts[1]) : "",
            fields: request.headers, body: try await body(of: request, found.operation, channel), client: client,
            reader: reader)
        if found.operation.id == .followEvents { return try await subscribe(call, channel) }
        return .whole(try await done(call))
    }

    private static func otherMethods(_ request: Request, _ methods: [String]) -> APIAnswer {
        var answer = APIAnswer(
            Problem(
                RequestGuard.error(
                    .requestNotFound, "\(request.method.rawValue.prefix(16)) is not possible at this path",
                    "Use \(methods.joined(separator: " or "))"), status: 405))
        answer.fields[.allow] = methods.joined(separator: ", ")
        return answer
    }

    private static func tooMany(_ seconds: Int) -> APIAnswer {
        var answer = APIAnswer(
            Problem(
                RouterError(
                    .rateLimited, "too many requests", hint: "Wait \(seconds) s; follow the events in place of asking",
                    retry: .later)))
        answer.fields[.retryAfter] = String(seconds)
        return answer
    }

    private func body(of request: Request, _ operation: APIOperation, _ channel: any Channel) async throws -> [UInt8] {
        let length = request.headers[.contentLength].flatMap { Int($0) }
        guard operation.request != nil else {
            let unwanted = APICall.invalid("\(operation.method) \(operation.path) takes no body")
            guard (length ?? 0) == 0 else { throw unwanted }
            // Some clients send an empty body in chunks.
            if request.headers[.transferEncoding] != nil {
                for try await part in request.body where part.readableBytes > 0 { throw unwanted }
            }
            return []
        }
        try RequestGuard.requireJSON(request.head)
        let limit = operation.bodyLimit
        let tooLarge = Problem(
            RequestGuard.error(
                .requestTooLarge, "the body has more than \(limit / 1024) KiB", "Send less, in several requests"),
            status: 413)
        guard (length ?? 0) <= limit else { throw tooLarge }
        let clock = clock
        let seconds = limits.bodySeconds
        return try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            group.addTask {
                var bytes: [UInt8] = []
                for try await part in request.body {
                    guard bytes.count + part.readableBytes <= limit else { throw tooLarge }
                    bytes += part.readableBytesView
                }
                return bytes
            }
            group.addTask {
                try await clock.sleep(nanoseconds: seconds * 1_000_000_000)
                return nil
            }
            defer { group.cancelAll() }
            guard let bytes = try await group.next() ?? nil else {
                throw Problem(
                    RequestGuard.error(.timeout, "the body did not come within \(seconds) s", "Send it faster"),
                    status: 408)
            }
            return bytes
        }
    }

    // MARK: Doing

    /// Once for each key, now or later as the client prefers. Throws `RouterError` and `Problem`.
    private func done(_ call: APICall) async throws -> APIAnswer {
        guard let key = Self.key.flatMap({ call.fields[$0] }),
            call.operation.parameters.contains(where: { $0.name == "Idempotency-Key" })
        else { return try await doneAsPreferred(call) { await self.answer(call) } }
        var hasher = Hasher()
        hasher.combine(call.body)
        hasher.combine(call.query)
        hasher.combine(call.fields[.ifMatch])
        let scope = call.client == .owner ? "owner" : "network"
        let whole = "\(scope) \(call.operation.id.rawValue) \(call.values.joined(separator: "/")) \(key)"
        switch await keys.begin(whole, request: hasher.finalize()) {
        case .answered(let answer): return answer
        case .another:
            throw RequestGuard.error(
                .keyReused, "this idempotency key was used for another request", "Make a new key for each request")
        case .underWay:
            throw Problem(
                RouterError(
                    .routeBusy, "the request with this idempotency key is under way", hint: "Ask again in a moment",
                    scope: .command, retry: .later), status: 409)
        case .new: break
        }
        let answer = try await doneAsPreferred(call) {
            let answer = await self.answer(call)
            await keys.end(whole, answer)
            return answer
        }
        // It was not begun.
        if answer.status == 429 { await keys.forget(whole) }
        return answer
    }

    private func answer(_ call: APICall) async -> APIAnswer {
        do {
            return try await handlers.perform(call)
        } catch let problem as Problem {
            return APIAnswer(problem)
        } catch {
            return APIAnswer(Problem(RouterError(wrapping: error)))
        }
    }

    private func doneAsPreferred(
        _ call: APICall, _ body: @escaping @Sendable () async -> APIAnswer
    ) async throws -> APIAnswer {
        let takesPreference = call.operation.parameters.contains { $0.name == "Prefer" }
        guard takesPreference, let wait = Self.prefer.flatMap({ call.fields[$0] }).flatMap(Self.wait) else {
            return await body()
        }
        guard let (work, outcome) = await handlers.desk.begin(call.operation.id, body) else {
            return Self.tooMany(1)
        }
        if wait > 0, let answer = await first(of: outcome, within: wait) { return answer }
        var answer = try APIAnswer.json(work, status: 202)
        answer.fields[.location] = "\(APIVersion.prefix)/work/\(work.id)"
        return answer
    }

    private func first(of outcome: LatestValue<APIAnswer?>, within seconds: Int64) async -> APIAnswer? {
        let clock = clock
        return await withTaskGroup(of: APIAnswer?.self) { group in
            group.addTask {
                for await answer in outcome.stream() { if let answer { return answer } }
                return nil
            }
            group.addTask {
                try? await clock.sleep(nanoseconds: seconds * 1_000_000_000)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// Seconds to wait for the end (RFC 7240, sections 4.1 and 4.3); nil: for as long as it takes.
    static func wait(_ preferences: String) -> Int64? {
        var result: Int64?
        for part in preferences.lowercased().split(whereSeparator: { $0 == "," || $0 == ";" }) {
            let words = part.filter { $0 != " " && $0 != "\"" }.split(separator: "=")
            if words == ["respond-async"] { result = result ?? 0 }
            if words.count == 2, words[0] == "wait", let seconds = Int64(words[1]), seconds >= 0 {
                result = min(seconds, 600)
            }
        }
        return result
    }

    // MARK: Events

    private func subscribe(_ call: APICall, _ channel: any Channel) async throws -> Reply {
        let last = Self.lastEventID.flatMap { call.fields[$0] }.flatMap { Int($0) }
        let topics = call.list("topics").compactMap(EventTopic.init(rawValue:))
        let subscription = await handlers.hub.subscribe(
            after: last, topics: Set(topics), routes: Set(call.list("route").map(RouteID.init(rawValue:))),
            close: { channel.close(promise: nil) })
        guard let subscription else {
            throw Problem(
                RouterError(
                    .rateLimited, "too many readers of events", hint: "Try again later", retry: .later), status: 429)
        }
        channel.closeFuture.whenComplete { _ in subscription.stop() }
        return .events(subscription)
    }

    private func stream(
        _ subscription: EventHub.Subscription, to writer: consuming ResponseWriter, _ channel: any Channel
    ) async throws {
        var fields = HTTPFields()
        fields[.contentType] = "text/event-stream"
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        let hub = handlers.hub
        do {
            var body = try await writer.writeHead(HTTPResponse(status: .ok, headerFields: fields))
            for await _ in subscription.wakes {
                while let (batch, isAll) = await hub.take(for: subscription.id) {
                    try await body.write(batch)
                    if isAll { break }
                }
            }
            while let batch = await hub.next(subscription.id) { try await body.write(batch) }
            await hub.unsubscribe(subscription.id)
            try await body.finish(nil)
        } catch {
            await hub.unsubscribe(subscription.id)
            throw error
        }
        // A stream that ends has nothing more to say on this connection.
        channel.close(promise: nil)
    }

    private static let key = HTTPField.Name("Idempotency-Key")
    private static let prefer = HTTPField.Name("Prefer")
    private static let lastEventID = HTTPField.Name("Last-Event-ID")
}
