// Custom channels (C16; `Protocols/cast`, “Custom channels”).

extension CastSession {
    struct ChannelListener {
        var namespace: String
        var continuation: AsyncStream<CastChannelEvent>.Continuation
        /// The app session that it is attached to.
        var attached: String?
        var missed = 0
    }

    /// Opens a channel for a namespace of apps. Any number may be open, also of the same namespace.
    ///
    /// Throws `CastChannelError`: `notANamespace`, `reserved`, `connectionLost`.
    public func channel(_ namespace: String) throws -> CastChannel {
        try CastChannel.check(namespace: namespace)
        if case .closed(let error) = state.connection { throw CastChannelError.connectionLost(error) }
        let (events, continuation) = AsyncStream.makeStream(
            of: CastChannelEvent.self, bufferingPolicy: .bufferingOldest(CastLimits.channelBacklog))
        lastListener += 1
        listeners[lastListener] = ChannelListener(namespace: namespace, continuation: continuation)
        followChannels()
        return CastChannel(namespace: namespace, events: events, session: self, id: lastListener)
    }

    /// Runs a handler in its namespace until the connection ends or the task is cancelled.
    ///
    /// Throws `CastChannelError`, as `channel`.
    public nonisolated func serve(_ handler: some CastChannelHandler) async throws {
        let channel = try await self.channel(handler.namespace)
        for await event in channel.events {
            switch event {
            case .attached(let app): await handler.attached(to: app, by: channel)
            case .message(let message): await handler.received(message)
            case .missed(let count): await handler.missed(count)
            case .detached(let why): await handler.detached(why)
            }
        }
        await channel.close()
    }

    /// Says something to the app, in a namespace that it lists. Throws `CastChannelError`.
    public func send(_ payload: CastMessage.Payload, in namespace: String) async throws {
        try CastChannel.check(namespace: namespace)
        if case .closed(let error) = state.connection { throw CastChannelError.connectionLost(error) }
        let isAttached = listeners.values.contains { $0.namespace == namespace && $0.attached != nil }
        guard let app = state.runningApp, isAttached || listedNamespaces.contains(namespace) else {
            throw CastChannelError.notAttached
        }
        guard connection.takesMore else { throw CastChannelError.congested }
        let actions: [CastChannelStateMachine.Action]
        do throws(CastFramingError) {
            actions = try machine.say(payload, in: namespace, to: app.transportID, now: clock.now())
        } catch {
            throw CastChannelError.unsendable(error)
        }
        await apply(actions)
    }

    func closeChannel(_ id: Int) { listeners.removeValue(forKey: id)?.continuation.finish() }

    /// A message of a namespace that is not the protocol's own.
    func hand(_ message: CastMessage) {
        guard message.sourceID == state.runningApp?.transportID else { return }
        let event = CastChannelEvent.message(
            CastChannelMessage(
                payload: message.payload, isBroadcast: message.destinationID == CastAddress.broadcast))
        for id in listeners.keys.sorted() where listeners[id]?.namespace == message.namespace {
            // An app that speaks a namespace before its status lists it: the news of that is on its way.
            if listeners[id]?.attached == nil, let app = state.runningApp {
                listeners[id]?.attached = app.sessionID
                tell(id, .attached(app))
            }
            tell(id, event)
        }
    }

    /// Attaches and detaches, as the app and its namespaces now are.
    func followChannels() {
        let app = state.runningApp
        let listed = listedNamespaces
        for id in listeners.keys.sorted() {
            guard let listener = listeners[id] else { continue }
            let wanted = listed.contains(listener.namespace) ? app?.sessionID : nil
            guard wanted != listener.attached else { continue }
            if let before = listener.attached {
                tell(id, .detached(before == app?.sessionID ? .namespaceGone : .appGone))
            }
            listeners[id]?.attached = wanted
            if let app, wanted != nil { tell(id, .attached(app)) }
        }
    }

    /// The connection has ended, and every channel with it.
    func endChannels(_ error: CastConnectionError) {
        for id in listeners.keys.sorted() {
            if listeners[id]?.attached != nil { tell(id, .detached(.connectionLost(error))) }
            closeChannel(id)
        }
    }

    private var listedNamespaces: Set<String> {
        guard let app = state.runningApp else { return [] }
        return Set(state.receiver?.application(sessionID: app.sessionID)?.namespaces ?? [])
    }

    private func tell(_ id: Int, _ event: CastChannelEvent) {
        guard let listener = listeners[id] else { return }
        if listener.missed > 0, case .enqueued = listener.continuation.yield(.missed(listener.missed)) {
            listeners[id]?.missed = 0
        }
        switch listener.continuation.yield(event) {
        case .enqueued: break
        case .dropped: listeners[id]?.missed += 1
        case .terminated: listeners[id] = nil
        @unknown default: break
        }
    }
}
