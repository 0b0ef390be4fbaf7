import RouteModel

extension RouterClient {
    /// How many events a slow reader may lag behind before it loses the oldest.
    private static let lagLimit = 1000

    /// Events in order; the first has the full state. Ends at once where no daemon answers, or it lets nobody in.
    ///
    /// When the connection is lost, or the daemon is started anew, this goes on: with what was missed, or else with the
    /// full state again, after a notice of either.
    public func events() async -> AsyncStream<RouterEvent> { events(topics: []) }

    /// The same, of some topics only; none is all of them.
    public func events(topics: Set<EventTopic>) -> AsyncStream<RouterEvent> { followed(topics) { $0 } }

    /// Each new state of every scene's run. Ends as `events` does.
    public func sceneUpdates() async -> AsyncStream<SceneRun> {
        followed([.scenes]) { event in if case .scene(let run) = event.body { run } else { nil } }
    }

    private func followed<Element: Sendable>(
        _ topics: Set<EventTopic>, _ pick: @escaping @Sendable (RouterEvent) -> Element?
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(Self.lagLimit))
        let follower = EventFollower(client: self, topics: topics)
        let reader = Task {
            await follower.run { event in
                guard let element = pick(event) else { return true }
                if case .terminated = continuation.yield(element) { return false }
                return true
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in reader.cancel() }
        return stream
    }
}

/// Reads the daemon's events and connects again whenever it has to.
struct EventFollower: Sendable {
    let client: RouterClient
    let topics: Set<EventTopic>
    /// Milliseconds between attempts: doubled from the first to the last.
    var firstPause = 100
    var lastPause = 5000
    /// A daemon gives a sign of life every 15 s: one that is silent for three of them is gone, whatever the network says.
    private static let silenceSeconds: Int64 = 45

    /// What is known of the stream so far.
    private struct Progress {
        var replay = EventReplay()
        var lastID: String?
        var sequence = 0
        var pause: Int
        /// It has been told that the daemon is there again, and what it sent did not fit.
        var isGreeted = false
    }

    /// Why a connection was given up, where that was the reader's choice.
    private enum GivenUp: Error {
        /// The stream does not fit to what is known.
        case needsSnapshot
        /// Nobody reads any more.
        case nobodyReads
    }

    /// False when nobody reads any more.
    typealias Tell = @Sendable (RouterEvent) -> Bool

    /// Runs until cancelled, or until nobody reads; returns at once where the first connection fails.
    func run(_ tell: Tell) async {
        var progress = Progress(pause: firstPause)
        var connected = false
        while !Task.isCancelled {
            do {
                try await follow(&progress, reconnecting: connected, tell) { connected = true }
            } catch GivenUp.nobodyReads {
                return
            } catch GivenUp.needsSnapshot {
                progress.lastID = nil
                progress.isGreeted = connected
                continue
            } catch let error as RouterError where error.code == .cancelled {
                return
            } catch let error as RouterError
                where error.code != .daemonUnavailable && !(connected && error.retry == .later)
            {
                // It is there and will not have us: asking again changes nothing.
                if connected { _ = tell(event(.notice(Notice(.error, error.message, hint: error.hint)), progress)) }
                return
            } catch {
                guard connected, !Task.isCancelled else { return }
                if progress.pause == firstPause {
                    let notice = Notice(.warning, "the daemon has gone", hint: "It is waited for")
                    guard tell(event(.notice(notice), progress)) else { return }
                }
            }
            guard connected else { return }
            try? await Task.sleep(for: .milliseconds(progress.pause))
            progress.pause = min(progress.pause * 2, lastPause)
        }
    }

    private func event(_ body: RouterEvent.Body, _ progress: Progress) -> RouterEvent {
        RouterEvent(sequence: progress.sequence, body: body)
    }

    /// One connection, to its end. Always throws.
    private func follow(
        _ progress: inout Progress, reconnecting: Bool, _ tell: Tell, connected: () -> Void
    ) async throws {
        guard let operation = RouteTable.operation(.followEvents) else { return }
        let query = topics.isEmpty ? "" : "?topics=" + topics.map(\.rawValue).sorted().joined(separator: ",")
        var request = HTTPExchange.Request(method: operation.method, path: operation.path + query)
        request.fields = client.fields([("Accept", operation.contentType)])
        if let id = progress.lastID { request.fields.append((name: "Last-Event-ID", value: id)) }
        var decoder = ServerSentEventDecoder()
        var refusal: HTTPExchange.Head?
        var refused: [UInt8] = []
        do {
            try await HTTPExchange(place: client.place, silenceSeconds: Self.silenceSeconds).run(
                request,
                head: { head in
                    guard head.status == 200 else {
                        refusal = head
                        return
                    }
                    connected()
                    progress.pause = firstPause
                    if reconnecting, !progress.isGreeted {
                        _ = tell(event(.notice(Notice(.info, "reconnected to the daemon")), progress))
                    }
                    progress.isGreeted = false
                },
                part: { bytes in
                    guard refusal == nil else {
                        refused += bytes.prefix(1 << 16)
                        return true
                    }
                    for event in try decoder.push(bytes) { try take(event, &progress, tell) }
                    return true
                })
        } catch let choice as GivenUp {
            throw choice
        } catch is DecodingError, is ServerSentEventDecoder.TooLarge {
            throw RouterError(
                .protocolViolation, "the daemon's events cannot be read",
                hint: "Run the daemon and this command in the same version")
        } catch {
            throw HTTPExchange.translated(error, client.place)
        }
        if let refusal { throw RouterClient.error(refusal, refused) }
        // The daemon ends the stream of a reader that is too slow, and at its own end.
        throw HTTPExchange.lost
    }

    private func take(_ event: ServerSentEvent, _ progress: inout Progress, _ tell: Tell) throws {
        guard let read = try APIEvent(event) else { return }
        do {
            let bodies = try progress.replay.apply(read)
            progress.lastID = event.id
            progress.sequence = event.id.flatMap { Int($0) } ?? progress.sequence
            for body in bodies {
                guard tell(self.event(body, progress)) else { throw GivenUp.nobodyReads }
            }
        } catch is EventReplay.LostTrack {
            throw GivenUp.needsSnapshot
        }
    }
}
