/// Why no stream came about.
public enum CastStreamingError: Error, Sendable, Hashable {
    /// The device can run none of the apps that take streams.
    case noApp
    /// OFFER was not answered in time.
    case unanswered
    case answer(CastAnswerError)
    /// It took another stream than the one that was offered.
    case otherStream
    /// The connection or the app went before there was an answer.
    case gone
}

extension CastSession {
    /// Plays audio that it is streamed; the app of devices without a screen.
    public static let audioStreamingAppID = "85CDB22F"
    /// Plays audio and video that it is streamed.
    public static let streamingAppID = "0F5096E8"

    /// Launches the first of these apps that the device has, or joins it.
    ///
    /// Asks what the device can run; where it does not say, a launch that fails leads to the next app.
    ///
    /// - Parameter consent: told when a person must allow the launch at the device.
    /// - Throws: `CastStreamingError.noApp`, `CastRequestFailure`, `CancellationError`.
    public func launchStreaming(
        apps: [String] = [CastSession.audioStreamingAppID, CastSession.streamingAppID],
        consent: @escaping @Sendable () -> Void = {}
    ) async throws -> CastAppSession {
        var available: [String: Bool] = [:]
        let asked = await request(.receiver(.getAppAvailability(appIDs: apps))).result()
        if case .completed(.appAvailability(let answer)) = asked {
            available = Dictionary(answer.map { ($0.key.uppercased(), $0.value) }) { first, _ in first }
        }
        var failure: CastRequestFailure?
        for app in apps where available[app] ?? true {
            do {
                return try await launchOrJoin(appID: app, consent: consent)
            } catch let error as CastRequestFailure {
                guard case .launchFailed = error else { throw error }
                failure = error
            }
        }
        if let failure, available.isEmpty { throw failure }
        throw CastStreamingError.noApp
    }

    /// Offers streams to the app that runs, as soon as it lists the namespace, and waits for its answer.
    ///
    /// - Parameters:
    ///   - sequence: a number that no offer of this session had before.
    ///   - patience: nanoseconds.
    /// - Throws: `CastStreamingError`, `CancellationError`.
    public nonisolated func offer(
        _ offer: CastOffer, sequence: Int, patience: Int64, clock: CastClock
    ) async throws -> CastAnswer {
        let channel: CastChannel
        do {
            channel = try await self.channel(CastNamespace.webRTC)
        } catch {
            throw CastStreamingError.gone
        }
        let text = CastStreamingMessage(sequence: sequence, .offer(offer)).json.text
        let deadline = clock.now() + patience
        do {
            let answer = try await withThrowingTaskGroup(of: CastAnswer.self) { group in
                group.addTask { try await Self.answer(to: offer, sequence: sequence, text: text, in: channel) }
                group.addTask {
                    try await clock.sleepUntil(deadline)
                    throw CastStreamingError.unanswered
                }
                group.addTask {
                    // An app that goes takes its answer with it, also before it has listed the namespace.
                    for await state in await self.states() where state.runningApp == nil { break }
                    throw CastStreamingError.gone
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() else { throw CastStreamingError.gone }
                return answer
            }
            await channel.close()
            return answer
        } catch {
            await channel.close()
            throw error
        }
    }

    private static func answer(
        to offer: CastOffer, sequence: Int, text: String, in channel: CastChannel
    ) async throws -> CastAnswer {
        for await event in channel.events {
            switch event {
            case .attached:
                do {
                    try await channel.send(text: text)
                } catch {
                    throw CastStreamingError.gone
                }
            case .detached: throw CastStreamingError.gone
            case .missed: continue
            case .message(let message):
                // Some devices leave the number out.
                guard let text = message.text, let reply = CastStreamingMessage(text: text),
                    reply.sequence ?? sequence == sequence
                else { continue }
                switch reply.body {
                case .answer(let answer):
                    let offered = Set(offer.streams.map(\.index))
                    guard answer.indexes.allSatisfy(offered.contains) else { throw CastStreamingError.otherStream }
                    return answer
                case .noAnswer(let error): throw CastStreamingError.answer(error)
                default: continue
                }
            }
        }
        try Task.checkCancellation()
        throw CastStreamingError.gone
    }
}
