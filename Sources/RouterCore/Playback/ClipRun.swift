import RouteBackend
import RouteModel

/// What is announced.
struct Clip: Sendable {
    var item: QueueItem
    /// What it may be called by the devices that fetch it.
    var token: MediaToken
    /// When it is over at the latest, in host nanoseconds.
    var deadline: Int64

    var title: String { item.title }
}

/// A room that a clip is played in: what plays there has lent its connection, or one was opened for it.
struct ClipRoom: Sendable {
    var name: String
    var session: any RouteSession
    var offsetNanoseconds: Int64
    /// How loud it is said; nil leaves the volume as it is.
    var volume: VolumeState?
    /// What the device says, from now on.
    var updates: AsyncStream<RouteSessionUpdate>
    /// Ends it early there when it finishes.
    var cut: AsyncStream<Void>
    /// Calls the session when nobody else does.
    var call: @Sendable (_ body: @escaping @Sendable (any RouteSession) async throws -> Void) async throws -> Void
    /// A load has returned, in whichever way.
    var loadReturned: @Sendable () async -> Void = {}
    /// Tells it how loud the clip is. A clip that is as loud as what played is better than none.
    var tellVolume: @Sendable (VolumeState) async -> Void

    var push: PushRequirements? {
        if case .push(let requirements) = session.descriptor.delivery { requirements } else { nil }
    }
}

/// Plays one clip in rooms of both kinds at once, each for itself once it has begun.
struct ClipRun: Sendable {
    var media: any MediaPreparing
    var clock: any HostClock
    var clip: Clip

    /// How it went in one room; nil: it was heard to its end.
    typealias Outcome = RouterError?

    /// What rooms that are sent packets play together; nil where there are none.
    struct Beginning: Sendable {
        var feed: any AudioFeed
        var timeline: Timeline
    }

    /// Returns when it is over there, in whichever way.
    func play(in room: ClipRoom, _ begun: Beginning?) async -> Outcome {
        await withTaskGroup(of: Outcome.self) { group in
            group.addTask { await playWhole(in: room, begun) }
            group.addTask {
                try? await clock.sleep(until: clip.deadline)
                return Self.cutOff
            }
            group.addTask {
                for await _ in room.cut {}
                return Self.overruled
            }
            let outcome = await group.next() ?? Self.cutOff
            group.cancelAll()
            return outcome
        }
    }

    /// What is told of a room where it was not heard to its end.
    static var cutOff: RouterError {
        RouterError(
            .timeout, "it was cut off before its end", hint: "Give it a longer deadline", scope: .command)
    }

    static var overruled: RouterError {
        RouterError(.commandSuperseded, "something else was asked for there meanwhile", scope: .command)
    }

    // MARK: Together

    /// The feed of the rooms that are sent packets, and when its first frame is heard.
    func begin(_ rooms: [ClipRoom]) async throws -> Beginning? {
        let push = rooms.compactMap { room in room.push.map { (room, $0) } }
        guard let need = push.map(\.1).max(by: { $0.leadNanoseconds < $1.leadNanoseconds }) else { return nil }
        let feed = try await media.feed(
            FeedItem(item: clip.item.id, source: clip.item.source, start: clip.item.start),
            events: FeedEvents(next: { _ in nil }, started: { _, _, _ in }, ended: { _, _, _ in }))
        let isReady = await isReady(feed, need)
        let lead = push.map { room, need in
            (isReady ? need.startLeadNanoseconds : need.leadNanoseconds) - room.offsetNanoseconds
        }
        let instant = clock.now() + max(0, lead.max() ?? 0) + startSlackNanoseconds
        return Beginning(feed: feed, timeline: Timeline(hostNanoseconds: instant, mediaTime: .zero))
    }

    /// Whether the feed has what fills the rooms' queues, so that they can begin sooner.
    private func isReady(_ feed: any AudioFeed, _ need: PushRequirements) async -> Bool {
        guard need.startLeadNanoseconds < need.leadNanoseconds else { return false }
        let depth = MediaTime(nanoseconds: need.leadNanoseconds).frames(sampleRate: feed.sampleRate)
        let opening = FeedOpening(feed, need.format, from: depth)
        let patience: Int64 =
            if case .file = clip.item.source {
                readAheadPatienceNanoseconds.file
            } else {
                readAheadPatienceNanoseconds.other
            }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await opening.opened()) != nil }
            group.addTask {
                try? await clock.sleep(nanoseconds: patience)
                return false
            }
            let ready = await group.next() ?? false
            group.cancelAll()
            return ready
        }
    }

    // MARK: In one room

    private func playWhole(in room: ClipRoom, _ begun: Beginning?) async -> Outcome {
        do {
            if room.push != nil, let begun {
                let timeline = begun.timeline.shifted(byNanoseconds: room.offsetNanoseconds)
                try await load(.push(PushMedia(feed: begun.feed, fromFrame: 0)), timeline, autoplay: true, in: room)
                // Before its first frame is heard, and after the device has a stream to be loud with.
                await setVolume(in: room)
            } else {
                await setVolume(in: room)
                try await load(in: room, begun?.timeline)
            }
        } catch {
            return RouterError(wrapping: error)
        }
        return await end(in: room)
    }

    private func load(in room: ClipRoom, _ timeline: Timeline?) async throws {
        guard case .pull(let requirements) = room.session.descriptor.delivery else { return }
        var prepared = try await media.publish(
            clip.item, token: clip.token, for: requirements, by: room.session.descriptor.capabilities)
        prepared.start = clip.item.start
        try await load(.pull(prepared), nil, autoplay: timeline == nil, in: room)
        guard let timeline else { return }
        try await clock.sleep(until: timeline.hostNanoseconds + room.offsetNanoseconds)
        try await room.call { _ = try await $0.perform(.play(timeline, fromFrame: 0)) }
    }

    private func load(_ media: PreparedMedia, _ timeline: Timeline?, autoplay: Bool, in room: ClipRoom) async throws {
        do {
            try await room.call { try await $0.load(media, timeline: timeline, autoplay: autoplay) }
        } catch {
            await room.loadReturned()
            throw error
        }
        await room.loadReturned()
    }

    private func setVolume(in room: ClipRoom) async {
        if let volume = room.volume { await room.tellVolume(volume) }
    }

    private func end(in room: ClipRoom) async -> Outcome {
        var hasBegun = false
        for await update in room.updates {
            switch update.connection {
            case .failed, .ended:
                return update.error
                    ?? RouterError(.routeLost, "\(room.name) was lost meanwhile", scope: .route, retry: .later)
            default: break
            }
            if room.push == nil, update.loaded != clip.token {
                // What was there before is told first.
                guard hasBegun, update.loaded != nil else { continue }
                return Self.overruled
            }
            if update.media == .playing || update.media == .buffering { hasBegun = true }
            guard update.media == .stopped else { continue }
            switch update.stopReason {
            case .error:
                return update.error
                    ?? RouterError(.itemFailed, "\(room.name) could not play it", scope: .item)
            case .cancelled, .superseded, .replaced: return Self.overruled
            default: return nil
            }
        }
        guard Task.isCancelled else {
            return RouterError(.routeLost, "\(room.name) was lost meanwhile", scope: .route, retry: .later)
        }
        return Self.cutOff
    }
}
