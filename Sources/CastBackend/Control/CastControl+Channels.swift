import CastV2
import Foundation
import RouteBackend
import RouteModel

/// What happens in a custom channel, for programs (C16).
public struct CastChannelReport: Codable, Sendable, Hashable {
    public var namespace: String
    /// attached, message, missed or detached.
    public var event: String
    /// The app's id, when it is attached.
    public var app: String?
    public var text: String?
    /// The same, where it is JSON.
    public var json: CastJSON?
    /// Base 64.
    public var binary: String?
    /// It was said to all senders.
    public var broadcast: Bool?
    /// Messages that were lost.
    public var missed: Int?
    public var reason: String?

    init(_ namespace: String, _ event: CastChannelEvent) {
        self.namespace = namespace
        switch event {
        case .attached(let app):
            self.event = "attached"
            self.app = app.appID
        case .message(let message):
            self.event = "message"
            broadcast = message.isBroadcast
            switch message.payload {
            case .text(let text):
                self.text = text
                json = message.json
            case .binary(let bytes): binary = Data(bytes).base64EncodedString()
            }
        case .missed(let count):
            self.event = "missed"
            missed = count
        case .detached(let why):
            self.event = "detached"
            switch why {
            case .appGone: reason = "the app is gone"
            case .namespaceGone: reason = "the app does not speak it any more"
            case .connectionLost(let error): reason = "the connection is gone: \(error)"
            }
        }
    }
}

extension CastControl {
    /// Says something to the app that runs, in a namespace that it lists; with `appID`, to that app, which is launched
    /// where it does not run. What the app answers in the next `wait` seconds goes to `heard`.
    ///
    /// Nothing tells whether the app took it.
    public func send(
        _ text: String, in namespace: String, appID: String? = nil, wait: Double = 0,
        heard: @escaping @Sendable (CastChannelReport) -> Void = { _ in }
    ) async throws {
        try check(namespace)
        do {
            if let appID {
                _ = try await session.launchOrJoin(appID: appID)
            } else if case .joined = try await session.joinRunning(speaking: namespace) {
            } else {
                throw CastChannelError.notAttached
            }
            let channel = try await session.channel(namespace)
            try await send(text, channel)
            if wait > 0 { await listen(channel, for: wait, heard) }
            await channel.close()
        } catch let error as CastChannelError {
            throw self.error(error, namespace)
        } catch let error as RouterError {
            throw error
        } catch {
            throw errors.opening(error)
        }
    }

    /// An app that was just launched lists its namespaces a moment later.
    private func send(_ text: String, _ channel: CastChannel) async throws {
        let deadline = clock.now() + Self.joinLimit
        let states = await session.states()
        let clock = clock
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in states {
                    do throws(any Error) {
                        try await channel.send(text: text)
                        return true
                    } catch CastChannelError.notAttached {
                        continue
                    }
                }
                return false
            }
            group.addTask {
                try await clock.sleep(until: deadline)
                return false
            }
            defer { group.cancelAll() }
            guard try await group.next() == true else { throw CastChannelError.notAttached }
        }
    }

    private func listen(
        _ channel: CastChannel, for seconds: Double, _ heard: @escaping @Sendable (CastChannelReport) -> Void
    ) async {
        let clock = clock
        let deadline = clock.now() + Int64(min(seconds, 86_400) * 1e9)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in channel.events {
                    if case .attached = event { continue }
                    heard(CastChannelReport(channel.namespace, event))
                }
            }
            group.addTask { try? await clock.sleep(until: deadline) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Tells what happens in these namespaces, of whatever apps run, until the connection ends or the task is
    /// cancelled. Throws `routeLost` when the device ends it.
    public func listen(
        _ namespaces: [String], _ heard: @escaping @Sendable (CastChannelReport) -> Void
    ) async throws {
        for namespace in namespaces { try check(namespace) }
        var channels: [CastChannel] = []
        for namespace in namespaces {
            do {
                channels.append(try await session.channel(namespace))
            } catch {
                throw self.error(error, namespace)
            }
        }
        let (states, session, wanted) = (await session.states(), session, Set(namespaces))
        await withTaskGroup(of: Void.self) { group in
            for channel in channels {
                group.addTask {
                    for await event in channel.events { heard(CastChannelReport(channel.namespace, event)) }
                }
            }
            group.addTask {
                for await state in states where state.runningApp == nil {
                    let apps = state.receiver?.applications ?? []
                    guard apps.contains(where: { !wanted.isDisjoint(with: $0.namespaces) }) else { continue }
                    // One that has gone meanwhile is no harm: the next status tells.
                    _ = try? await session.joinRunning()
                }
            }
        }
        for channel in channels { await channel.close() }
        if case .closed(let reason) = await session.current.connection, reason != .ended { throw errors.lost(reason) }
    }

    private func check(_ namespace: String) throws {
        do throws(CastChannelError) {
            try CastChannel.check(namespace: namespace)
        } catch {
            throw self.error(error, namespace)
        }
    }

    private func error(_ error: any Error, _ namespace: String) -> RouterError {
        guard let error = error as? CastChannelError else { return errors.opening(error) }
        func wrong(_ code: RouterError.Code, _ hint: String) -> RouterError {
            RouterError(code, "“\(namespace)” on \(errors.name): \(error)", hint: hint, scope: .command)
        }
        switch error {
        case .notANamespace: return wrong(.configuration, "Write it as urn:x-cast:org.example.name")
        case .reserved: return wrong(.configuration, "Use the verbs of router cast for it")
        case .notAttached: return wrong(.unavailable, "See what runs: router cast status; or launch it: --app ID")
        case .unsendable: return wrong(.configuration, "Shorten it: a message holds 64 KiB with its addresses")
        case .congested: return wrong(.unavailable, "Try again later")
        case .connectionLost(let reason): return errors.lost(reason)
        }
    }
}
