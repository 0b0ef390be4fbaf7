import AirPlay
import Foundation
import RouteBackend
import RouteModel

/// What devices with a screen draw, where they draw what `/command` says.
extension AirPlayRouteSession {
    /// Has a device with a screen draw what plays, where it draws by `/command` or by its stream for remote control.
    func draw(_ playing: AirPlayNowPlaying.State) async throws {
        let remote = mediaRemote.flatMap { $0.shows ? $0 : nil }
        guard nowPlayingSender != nil || remote != nil, let item = drawn(playing) else { return }
        await remote?.session.show(item)
        guard var sender = nowPlayingSender else { return }
        let messages = sender.show(item)
        nowPlayingSender = sender
        for message in messages {
            do {
                try await withWire { wire async throws(AirPlayWireError) in try await wire.command(message) }
            } catch {
                try checkUsable()
                guard var sender = nowPlayingSender, let other = sender.refused(message) else { continue }
                nowPlayingSender = sender
                _ = try? await withWire { wire async throws(AirPlayWireError) in try await wire.command(other) }
            }
        }
    }

    private func drawn(_ playing: AirPlayNowPlaying.State) -> AirPlayNowPlaying? {
        guard let nowPlaying, let feed = loaded?.feed else { return nil }
        let rate = plan.format.sampleRate
        let start = MediaTime(frames: nowPlaying.startFrame, sampleRate: feed.sampleRate).seconds
        // What is not heard yet has not begun: devices count on from an instant that is still to come.
        let now = max(hostClock.now(), run.map { $0.clock.instant(of: $0.clock.timestamp) } ?? .min)
        let heard = lastHeardFrame(at: now).map { Double($0) / Double(rate) } ?? start
        let metadata = nowPlaying.metadata
        var item = AirPlayNowPlaying(
            identifier: Self.itemNumber(nowPlaying.item), title: metadata.title,
            artist: metadata.artist ?? metadata.seriesTitle ?? metadata.subtitle, album: metadata.album,
            duration: nowPlaying.durationFrames.map { MediaTime(frames: $0, sampleRate: feed.sampleRate).seconds },
            isLive: nowPlaying.durationFrames == nil, elapsed: max(0, heard - start),
            instant: wallClock(at: now), state: playing)
        item.genre = metadata.genre
        item.composer = metadata.composer
        item.trackNumber = metadata.trackNumber
        item.discNumber = metadata.discNumber
        item.artwork = nowPlaying.artwork.map { picture in
            AirPlayNowPlaying.Artwork(
                mimeType: picture.mimeType, bytes: picture.bytes,
                identifier: String(Self.hash(picture.bytes), radix: 16))
        }
        return item
    }

    /// The frame, of the format's rate, that is heard, or was when the run ended.
    private func lastHeardFrame(at now: Int64) -> Int64? {
        guard let run = run ?? pausedRun else { return nil }
        let instant = self.run == nil ? haltedAt ?? now : now
        return run.firstFrame + max(0, run.clock.timestamp(at: instant) - run.clock.timestamp)
    }

    /// FNV-1a: the same number for the same item, whatever the process.
    static func itemNumber(_ item: ItemID) -> UInt64 { hash(Array(item.rawValue.utf8)) }

    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
